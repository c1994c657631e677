package papers

import (
	"math"
	"strings"
	"testing"
)

// twoSystems is a result of one panel with two systems.
func twoSystems(unit string, fast, slow []Point) *Result {
	return &Result{Figure: &Figure{}, Panels: []Panel{{Y: Axis{Unit: unit},
		Series: []*Series{{Name: "fast", Points: fast}, {Name: "slow", Points: slow}}}}}
}

// Would catch times and rates that are mixed up, places that should not count, and a verdict without a GPU.
func TestVerdicts(t *testing.T) {
	at := func(ys ...float64) (list []Point) {
		for i, y := range ys {
			list = append(list, Point{float64(i), y})
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
		{"times", gpu, twoSystems("ms", at(1, 1, 2), at(2, 3, 5)), allFaster(0, "fast", "slow", 0, 9, 1.16, 5.39),
			Holds, "2 to 3 times"},
		{"rates", gpu, twoSystems("G rows/s", at(2, 3), at(1, 1)), allFaster(0, "fast", "slow", 0, 9, 1.16, 0), Holds,
			"2 to 3 times"},
		{"one is slow", gpu, twoSystems("ms", at(1, 1), at(2, 1.1)), allFaster(0, "fast", "slow", 0, 9, 1.16, 0),
			Differs, "1.1 to 2 times"},
		{"the slow one does not count", gpu, twoSystems("ms", at(1, 1), at(1.1, 2)),
			allFaster(0, "fast", "slow", 1, 9, 1.16, 0), Holds, "2 times"},
		{"no GPU", double, twoSystems("ms", at(1), at(2)), allFaster(0, "fast", "slow", 0, 9, 1, 0), Unmeasured, ""},
		{"not there", gpu, twoSystems("ms", at(1), at(2)), allFaster(0, "fast", "other", 0, 9, 1, 0), Unmeasured, ""},
		{"nowhere both", gpu, twoSystems("ms", at(1), at(2)), allFaster(0, "fast", "slow", 5, 9, 1, 0), Unmeasured, ""},
		{"similar", gpu, twoSystems("ms", at(1, 1), at(1.2, .85)), similar(0, "fast", "slow", 0, 9, 1.25), Holds,
			"0.85 to 1.2 times"},
		{"not similar", gpu, twoSystems("ms", at(1, 1), at(1.3, .85)), similar(0, "fast", "slow", 0, 9, 1.25),
			Differs, "0.85 to 1.3 times"},
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
	r := &Result{Figure: figures[0], Panels: []Panel{{Series: []*Series{
		{Name: SPEGA, Points: []Point{{.99, 1.57}}, Paper: Table1SPEGA},
		{Name: LPHGA, Points: []Point{{.99, 50.5}}, Paper: Table1LPHGA},
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
	s := &Series{Name: "4-byte keys", Paper: []Point{{4, 1}, {8, 3}}, Points: []Point{{4, 1}, {8, 2}}}
	r := &Result{Figure: &Figure{}, Panels: []Panel{{Series: []*Series{s}}}}
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
	p := Panel{X: Axis{Names: []string{Feedback, Split, MPEGA, "hgb"}},
		Series: []*Series{{Points: []Point{{0, 58}, {1, 100}, {2, 3}, {3, 2}}}}}
	r := &Result{Figure: &Figure{}, Panels: []Panel{p}}
	if f := fewerBytes(r); !f.holds || f.ours != "42.0% fewer" || f.ratio < .99 || f.ratio > 1.01 {
		t.Errorf("%+v", f)
	}
	if f := fastestOf(0, MPEGA)(r); f.holds || f.lacking != "" {
		t.Errorf("%+v", f)
	}
	p.Series[0].Points = []Point{{2, 1}, {3, 2}}
	if f := fastestOf(0, MPEGA)(r); !f.holds {
		t.Errorf("%+v", f)
	}
}

// Would catch a report that JSON cannot hold.
func TestNoNumber(t *testing.T) {
	c := claim{test: func(*Result) finding { return finding{ratio: math.NaN()} }}
	if v := c.verdict(&Result{}, &Machine{}); v.Ratio != 0 || v.Status != Differs {
		t.Errorf("%+v", v)
	}
	var p Panel
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
