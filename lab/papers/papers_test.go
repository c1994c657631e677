package papers

import (
	"slices"
	"strings"
	"testing"

	"github.com/mpga/mpga/app/chart"
)

// Would catch a figure that a name does not find, two figures of one name, or an entry that says nothing.
func TestCatalogue(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range Figures() {
		if seen[f.ID()] {
			t.Errorf("%s is there twice", f.ID())
		}
		seen[f.ID()] = true
		if f.Title == "" || f.Section == "" || f.Claim == "" || len(f.claims) == 0 {
			t.Errorf("%s: %+v", f.ID(), f)
		}
		found, err := Select([]string{f.Paper}, []string{f.Name})
		if err != nil || len(found) != 1 || found[0] != f {
			t.Errorf("%s: %v, %v", f.ID(), found, err)
		}
	}
	if len(seen) != 37 {
		t.Errorf("%d figures", len(seen))
	}
}

// Would catch a wrong name that is taken for no name, and an error that does not say what there is.
func TestSelect(t *testing.T) {
	for _, c := range []struct {
		papers, figures []string
		want            int
		err             string
	}{
		{nil, nil, 37, ""},
		{[]string{"004"}, nil, 9, ""},
		{[]string{"ega", "libcudf"}, nil, 11, ""},
		{nil, []string{"figure5"}, 3, ""},
		{nil, []string{"ega-figure5"}, 1, ""},
		{[]string{"005"}, nil, 0, `no paper "005": want some of 004 (ega), 003 (wu)`},
		{[]string{"000"}, []string{"table1"}, 0, `no figure "table1": want some of cliff, init`},
	} {
		got, err := Select(c.papers, c.figures)
		if len(got) != c.want || c.err == "" && err != nil || c.err != "" &&
			(err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%v %v: %d figures, %v", c.papers, c.figures, len(got), err)
		}
	}
}

// Would catch a claim that fails, or has a verdict, where a figure has no points or too few.
func TestNothingMeasured(t *testing.T) {
	for _, f := range Figures() {
		for _, panels := range [][]chart.Panel{nil, {{}}, {{Series: []*chart.Series{{Name: "other"}}}, {}}} {
			r := &Result{Figure: f, Panels: panels}
			r.Judge(&Machine{IsGPU: true})
			if len(r.Verdicts) != len(f.claims) {
				t.Errorf("%s: %d verdicts", f.ID(), len(r.Verdicts))
			}
			for _, v := range r.Verdicts {
				if v.Status != Unmeasured || v.Why == "" {
					t.Errorf("%s: %+v", f.ID(), v)
				}
			}
		}
	}
}

// Would catch tables of the paper that differ from its text.
func TestPaperNumbers(t *testing.T) {
	ratio := Table1LPHGA[8].Y / Table1SPEGA[8].Y // 53.56 / 2.13: 96% fewer probes
	if len(Table1SPEGA) != 9 || len(Table1LPHGA) != 9 || 1-1/ratio < .96 || 1-1/ratio > .961 {
		t.Errorf("%v %v", Table1SPEGA, Table1LPHGA)
	}
	if !slices.Equal(Figure7, points(1e7, 1.61, 1e9, 5.64)) || len(stagesOfCopies) != len(Stages) {
		t.Errorf("%v", Figure7)
	}
}
