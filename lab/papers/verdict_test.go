package papers

import (
	"math"
	"strings"
	"testing"

	"github.com/mpga/mpga/app/chart"
)

// twoSystems is a result of one panel with two systems.
func twoSystems(unit string, fast, slow []chart.Point) *Result {
	return &Result{Figure: &Figure{}, Panels: []chart.Panel{{Y: chart.Axis{Unit: unit},
		Series: []*chart.Series{{Name: "fast", Points: fast}, {Name: "slow", Points: slow}}}}}
}

// Would catch times and rates that are mixed up, places that should not count, and a verdict without a GPU.
func TestVerdicts(t *testing.T) {
	at := func(ys ...float64) (list []chart.Point) {
		for i, y := range ys {
			list = append(list, chart.Point{X: float64(i), Y: y})
		}
		return list
	}
	gpu, double := &Machine{IsGPU: true}, &Machine{}
	for _, c := range []struct {
		name    string
		machine *Machine
		r       *Result
		test    func(*Result) finding
		want    Status
		ours    string
	}{
		{"times", gpu, twoSystems("ms", at(1, 1, 2), at(2, 3, 5)), allFaster(0, "fast", "slow", 0, 2, 1.16, 5.39),
			Holds, "2 to 3 times from 0 to 2"},
		{"rates", gpu, twoSystems("G rows/s", at(2, 3), at(1, 1)), allFaster(0, "fast", "slow", 0, inf, 1.16, 0), Holds,
			"2 to 3 times from 0 to 1"},
		{"one is slow", gpu, twoSystems("ms", at(1, 1), at(2, 1.1)), allFaster(0, "fast", "slow", 0, 1, 1.16, 0),
			Differs, "1.1 to 2 times from 0 to 1"},
		{"the slow one does not count", gpu, twoSystems("ms", at(1, 1), at(1.1, 2)),
			allFaster(0, "fast", "slow", 1, inf, 1.16, 0), Holds, "2 times at 1"},
		{"a point beyond the bound does", gpu, twoSystems("ms", at(1, 1), at(2, 1)),
			allFaster(0, "fast", "slow", 0, .5, 1.16, 0), Holds, "2 times at 0"},
		{"no GPU", double, twoSystems("ms", at(1), at(2)), allFaster(0, "fast", "slow", 0, 0, 1, 0), Unmeasured, ""},
		{"not there", gpu, twoSystems("ms", at(1), at(2)), allFaster(0, "fast", "other", 0, 0, 1, 0), Unmeasured, ""},
		{"nowhere both", gpu, twoSystems("ms", at(1), at(2)), allFaster(0, "fast", "slow", 5, 9, 1, 0), Unmeasured, ""},
		{"short of the bound", gpu, twoSystems("ms", at(1, 1, 1), at(2, 2)), allFaster(0, "fast", "slow", 0, 2, 1, 0),
			Unmeasured, ""},
		{"similar", gpu, twoSystems("ms", at(1, 1), at(1.2, .85)), similar(0, "fast", "slow", 0, 1, 1.25), Holds,
			"0.85 to 1.2 times from 0 to 1"},
		{"not similar", gpu, twoSystems("ms", at(1, 1), at(1.3, .85)), similar(0, "fast", "slow", 0, 1, 1.25),
			Differs, "0.85 to 1.3 times from 0 to 1"},
		{"similar, short of the bound", gpu, twoSystems("ms", at(1, 1), at(1, 1)),
			similar(0, "fast", "slow", 0, 2, 1.25), Unmeasured, ""},
		{"steady", gpu, twoSystems("ms", at(1, 1.2), nil), steady(0, "fast", 1.25), Holds, "1.2 times"},
		{"not steady", gpu, twoSystems("ms", at(1, 1.2), nil), not(steady(0, "fast", 1.25)), Differs, "1.2 times"},
	} {
		claims := claim{text: c.name, timed: true, test: c.test}
		if v := claims.verdict(c.r, c.machine); v.Status != c.want || v.Ours != c.ours {
			t.Errorf("%s: %+v", c.name, v)
		}
	}
}

// Would catch a count that is judged as a time is, a ratio that is turned around, or a paper's number that is taken
// for ours.
func TestTable1Verdicts(t *testing.T) {
	figures, err := Select([]string{"004"}, []string{"table1"})
	if err != nil {
		t.Fatal(err)
	}
	r := &Result{Figure: figures[0], Panels: []chart.Panel{{Series: []*chart.Series{
		{Name: SPEGA, Points: points(.99, 1.57), Paper: Table1SPEGA},
		{Name: LPHGA, Points: points(.99, 50.5), Paper: Table1LPHGA},
	}}}}
	r.Judge(&Machine{})
	for _, v := range r.Verdicts {
		if v.Status != Holds {
			t.Errorf("%+v", v)
		}
	}
	if got := r.Verdicts[0].Ratio; got < .73 || got > .74 {
		t.Errorf("1.57 / 2.13: %g", got)
	}
	r.Panels[0].Series[0].Points[0].Y, r.Panels[0].Series[1].Points[0].Y = 2.5, 20
	r.Judge(&Machine{})
	for _, v := range r.Verdicts {
		if v.Status != Differs {
			t.Errorf("%+v", v)
		}
	}
}

// Would catch a table that agrees in name only.
func TestTable2Verdict(t *testing.T) {
	s := &chart.Series{Name: "4-byte keys", Paper: points(4, 1, 8, 3), Points: points(4, 1, 8, 2)}
	r := &Result{Figure: &Figure{}, Panels: []chart.Panel{{Series: []*chart.Series{s}}}}
	if f := sameTable("4-byte keys")(r); f.holds || f.ours != "1, 2" || !strings.Contains(f.why,
		"8 groups need 2 columns by the formulas, 3 by the table") {
		t.Errorf("%+v", f)
	}
	s.Points[1].Y = 3
	if f := sameTable("4-byte keys")(r); !f.holds {
		t.Errorf("%+v", f)
	}
}

// Would catch names of an axis that are mistaken for each other.
func TestNamedVerdicts(t *testing.T) {
	p := chart.Panel{X: chart.Axis{Names: []string{Feedback, Split, MPEGA, "hgb"}},
		Series: []*chart.Series{{Points: points(0, 58, 1, 100, 2, 3, 3, 2)}}}
	r := &Result{Figure: &Figure{}, Panels: []chart.Panel{p}}
	if f := fewerBytes(r); !f.holds || f.ours != "42.0% fewer" || f.ratio < .99 || f.ratio > 1.01 {
		t.Errorf("%+v", f)
	}
	if f := fastestOf(0, MPEGA)(r); f.holds || f.lacking != "" {
		t.Errorf("%+v", f)
	}
	p.Series[0].Points = points(2, 1, 3, 2)
	if f := fastestOf(0, MPEGA)(r); !f.holds {
		t.Errorf("%+v", f)
	}
	p.Series[0].Points = points(2, 1)
	if f := fastestOf(0, MPEGA)(r); f.lacking == "" {
		t.Errorf("no other system: %+v", f)
	}
}

// panelOf is a panel with one series, whose x axis may have names.
func panelOf(series string, list []chart.Point, names ...string) chart.Panel {
	return chart.Panel{Title: series, X: chart.Axis{Names: names}, Series: []*chart.Series{{Name: series, Points: list}}}
}

// panelsOf is a result with panels.
func panelsOf(panels ...chart.Panel) *Result { return &Result{Figure: &Figure{}, Panels: panels} }

// Would catch a claim that holds by points which break it, that differs by points which hold it, or that has a verdict
// without the points that decide it.
func TestClaims(t *testing.T) {
	tables := []string{Chosen, SetName, SmallSetName}
	loads := func(fullest, low, high []chart.Point) *Result {
		return panelsOf(chart.Panel{X: chart.Axis{Names: []string{".3 to .5", ".6 to .8"}}, Series: []*chart.Series{
			{Name: "fullest table", Points: fullest}, {Name: "LFmin", Points: low}, {Name: "LFmax", Points: high}}})
	}
	crossing, codes := turns("model", 8, 32), positive("codes", 64)
	skewed, near := lastByFirst(0, HGB, .8, 1.2), allNear(Chosen)
	roomIn := func(panel int) func(*Result) finding { return roomEnough("pairs", panel, 100) }
	room, sketch := roomIn(0), inPanels([]string{"uniform", "skewed"}, roomIn)
	low, high := points(0, .3, 1, .6), points(0, .5, 1, .8)
	for _, c := range []struct {
		name string
		test func(*Result) finding
		r    *Result
		want Status
	}{
		{"turns", crossing, panelsOf(panelOf("model", points(4, -1, 16, 1, 64, 2))), Holds},
		{"turns too late", crossing, panelsOf(panelOf("model", points(4, -1, 16, -1, 64, 2))), Differs},
		{"turns too early", crossing, panelsOf(panelOf("model", points(2, -1, 4, 1, 64, 2))), Differs},
		{"turns back", crossing, panelsOf(panelOf("model", points(4, -1, 16, 1, 64, -2))), Differs},
		{"turns nowhere", crossing, panelsOf(panelOf("model", points(4, -1, 64, -1))), Differs},
		{"ends before it may turn", crossing, panelsOf(panelOf("model", points(4, -1, 16, -1))), Unmeasured},
		{"begins after it turned", crossing, panelsOf(panelOf("model", points(16, 1, 64, 1))), Unmeasured},
		{"no series turns", crossing, panelsOf(panelOf("measured", points(4, -1, 16, 1))), Unmeasured},

		{"positive", codes, panelsOf(panelOf("codes", points(4, 1, 64, 1, 256, -1))), Holds},
		{"not positive", codes, panelsOf(panelOf("codes", points(4, 1, 16, 0, 64, 1))), Differs},
		{"positive so far", codes, panelsOf(panelOf("codes", points(4, 1, 16, 1))), Unmeasured},
		{"positive beyond", codes, panelsOf(panelOf("codes", points(256, 1))), Unmeasured},

		{"as fast with skew", skewed, panelsOf(panelOf(HGB, points(0, 10, 1.5, 9))), Holds},
		{"slower with skew", skewed, panelsOf(panelOf(HGB, points(0, 10, 1.5, 7))), Differs},
		{"faster with skew", skewed, panelsOf(panelOf(HGB, points(0, 10, 1.5, 13))), Differs},
		{"one skew", skewed, panelsOf(panelOf(HGB, points(0, 10))), Unmeasured},

		{"all near", near, panelsOf(panelOf(Chosen, points(0, 1, 1, 1.1), "a", "b")), Holds},
		{"one far", near, panelsOf(panelOf(Chosen, points(0, 1, 1, 1.2), "a", "b")), Differs},
		{"no choice", near, panelsOf(panelOf("the tree's", points(0, 1), "a")), Unmeasured},

		{"loads within", loadsWithin, loads(points(0, .4, 1, .7), low, high), Holds},
		{"a load above", loadsWithin, loads(points(0, .4, 1, .9), low, high), Differs},
		{"a load below", loadsWithin, loads(points(0, .2, 1, .7), low, high), Differs},
		{"no bound of a load", loadsWithin, loads(points(0, .4, 1, .7), low[:1], high), Unmeasured},
		{"no loads", loadsWithin, loads(nil, low, high), Unmeasured},

		{"room enough", room, panelsOf(panelOf("pairs", points(10, 1, 100, .5, 1000, .1))), Holds},
		{"too little room", room, panelsOf(panelOf("pairs", points(10, 1, 100, .3))), Differs},
		{"room so far", room, panelsOf(panelOf("pairs", points(10, 1))), Unmeasured},
		{"room beyond", room, panelsOf(panelOf("pairs", points(1000, 1))), Unmeasured},
		{"room in both panels", sketch,
			panelsOf(panelOf("pairs", points(100, 1)), panelOf("pairs", points(100, .5))), Holds},
		{"room in one panel", sketch,
			panelsOf(panelOf("pairs", points(100, .1)), panelOf("pairs", points(100, 1))), Differs},
		{"one panel", sketch, panelsOf(panelOf("pairs", points(100, 1))), Unmeasured},

		{"no cliff", noCliff, panelsOf(panelOf(Chosen, points(64, 1, 128, 1.3, 256, 1))), Holds},
		{"a cliff up", noCliff, panelsOf(panelOf(Chosen, points(64, 1, 128, 1.5))), Differs},
		{"a cliff down", noCliff, panelsOf(panelOf(Chosen, points(64, 1.5, 128, 1))), Differs},
		{"one number of groups", noCliff, panelsOf(panelOf(Chosen, points(64, 1))), Unmeasured},

		{"an edge", edgeOfBlock, panelsOf(panelOf(Libcudf, points(120, 1, 128, 2, 136, 2.1))), Holds},
		{"no edge", edgeOfBlock, panelsOf(panelOf(Libcudf, points(128, 2, 136, 2))), Differs},
		{"nothing beyond the edge", edgeOfBlock, panelsOf(panelOf(Libcudf, points(120, 2, 128, 2))), Unmeasured},
		{"nothing before the edge", edgeOfBlock, panelsOf(panelOf(Libcudf, points(136, 2))), Unmeasured},
		{"a large share", setShare, panelsOf(panelOf("time", points(1, 4, 2, 3), tables...)), Holds},
		{"a small share", setShare, panelsOf(panelOf("time", points(1, 4, 2, 3.1), tables...)), Differs},
		{"no small set", setShare, panelsOf(panelOf("time", points(1, 4), tables...)), Unmeasured},
		{"no large set", setShare, panelsOf(panelOf("time", points(2, 4), tables...)), Unmeasured},

		{"less memory", lessMemory, panelsOf(chart.Panel{}, panelOf("memory", points(0, 1, 1, 800), tables...)), Holds},
		{"more memory", lessMemory, panelsOf(chart.Panel{}, panelOf("memory", points(0, 801, 1, 800), tables...)), Differs},
		{"no set", lessMemory, panelsOf(chart.Panel{}, panelOf("memory", points(0, 1), tables...)), Unmeasured},
		{"no choice of memory", lessMemory, panelsOf(chart.Panel{}, panelOf("memory", points(1, 800), tables...)),
			Unmeasured},
		{"faster than the set", chosenBeatsSet, panelsOf(panelOf("time", points(0, 1, 1, 2), tables...)), Holds},
		{"slower than the set", chosenBeatsSet, panelsOf(panelOf("time", points(0, 2, 1, 1), tables...)), Differs},
		{"no time of the choice", chosenBeatsSet, panelsOf(panelOf("time", points(1, 1), tables...)), Unmeasured},

		{"twice the rows", twiceTheRows,
			panelsOf(panelOf(MPEGA, points(1e7, 1, 1e8, 2)), panelOf(MPEGA, points(1e7, 2))), Holds},
		{"three times the time", twiceTheRows,
			panelsOf(panelOf(MPEGA, points(1e7, 1)), panelOf(MPEGA, points(1e7, 3))), Differs},
		{"the same time", twiceTheRows,
			panelsOf(panelOf(MPEGA, points(1e7, 1)), panelOf(MPEGA, points(1e7, 1))), Differs},
		{"other groups", twiceTheRows,
			panelsOf(panelOf(MPEGA, points(1e7, 1)), panelOf(MPEGA, points(1e9, 2))), Unmeasured},
		{"one number of rows", twiceTheRows, panelsOf(panelOf(MPEGA, points(1e7, 1))), Unmeasured},

		{"copies take most", copiesShare, panelsOf(panelOf("time", points(0, 40, 1, 20, 2, 5, 3, 30, 4, 5))), Holds},
		{"copies take little", copiesShare, panelsOf(panelOf("time", points(0, 10, 1, 80, 3, 10))), Differs},
		{"no time in any stage", copiesShare, panelsOf(panelOf("time", points(0, 0, 1, 0))), Unmeasured},
		{"no stages", copiesShare, panelsOf(panelOf("time", nil)), Unmeasured},

		{"probes of other groups", fullTableProbes, panelsOf(chart.Panel{}, chart.Panel{Series: []*chart.Series{
			{Name: "1 slot a group", Points: points(10, 9)}, {Name: "1.3 slots a group", Points: points(100, 2)}}}),
			Unmeasured},
		{"SP-EGA without .99", fewerProbes, panelsOf(chart.Panel{Series: []*chart.Series{
			{Name: SPEGA, Points: points(.98, 2)}, {Name: LPHGA, Points: points(.99, 50)}}}), Unmeasured},
	} {
		by := claim{text: c.name, test: c.test}
		v := by.verdict(c.r, &Machine{})
		if v.Status != c.want || v.Status == Unmeasured && !strings.HasPrefix(v.Why, "no points of ") {
			t.Errorf("%s: %+v", c.name, v)
		}
	}
}

// Would catch a verdict on points of a measurement that was broken off.
func TestErrorHasNoVerdict(t *testing.T) {
	for _, f := range Figures() {
		r := &Result{Figure: f, Error: "out of memory", Panels: []chart.Panel{
			{Series: []*chart.Series{{Name: SPEGA, Points: points(.99, 1), Paper: Table1SPEGA}}}}}
		for _, m := range []*Machine{{}, {IsGPU: true}} {
			r.Judge(m)
			if len(r.Verdicts) != len(f.claims) {
				t.Errorf("%s: %d verdicts", f.ID(), len(r.Verdicts))
			}
			for _, v := range r.Verdicts {
				if v.Status != Unmeasured || !strings.Contains(v.Why, "out of memory") {
					t.Errorf("%s: %+v", f.ID(), v)
				}
			}
		}
	}
}

// Would catch a report that JSON cannot hold.
func TestNoNumber(t *testing.T) {
	c := claim{test: func(*Result) finding { return finding{ratio: math.NaN()} }}
	if v := c.verdict(&Result{}, &Machine{}); v.Ratio != 0 || v.Status != Differs {
		t.Errorf("%+v", v)
	}
	var p chart.Panel
	p.Add("a", 1, math.Inf(1))
	if len(p.Series) != 0 {
		t.Errorf("%+v", p.Series[0])
	}
}

// Would catch numbers that lose digits.
func TestNumber(t *testing.T) {
	for x, want := range map[float64]string{0: "0", 1.234: "1.23", 53.56: "53.6", 1234: "1234", .0123: "0.0123",
		2e6: "2e+06", 65536: "65536", 100: "100"} {
		if got := number(x); got != want {
			t.Errorf("%g: %s, want %s", x, got, want)
		}
	}
}
