package papers

import (
	"fmt"
	"slices"
	"strings"
)

// Paper is one of the papers.
type Paper struct {
	Number  string `json:"number"` // "004"
	Name    string `json:"name"`   // "ega", as on the command line
	Title   string `json:"title"`
	Authors string `json:"authors"`
	Machine string `json:"machine"` // on which the paper measures
}

// Papers are all papers, the main one first.
var Papers = []Paper{
	{"004", "ega", "EGA: An Efficient GPU Accelerated Groupby Aggregation Algorithm",
		"Wang, Shen, Lei, Applied Sciences 2025",
		"A100 PCIe 40 GB, Xeon Gold 6230R, CUDA 12.3"},
	{"003", "wu", "Efficiently Processing Joins and Grouped Aggregations on GPUs",
		"Wu, Koutsoukos, Alonso, SIGMOD 2025",
		"A100 40 GB, CUDA 12.2"},
	{"002", "karnagel", "Optimizing GPU-accelerated Group-By and Aggregation", "Karnagel, Müller, Lohman, ADMS 2015",
		"GTX Titan"},
	{"001", "chen", "Rapids Group-by GPU Hash Based Implementation",
		"Chen, Cui, Kiran, Patterson, 2019, a student project",
		"a laboratory's GPU, not named"},
	{"000", "libcudf", "Inside RAPIDS libcudf: a deep dive into a simple GroupBy aggregation",
		"2026, of RAPIDS 26.02", "GB10"},
}

// PaperOf returns the paper of a number.
//
// Requires: a paper has the number.
func PaperOf(number string) *Paper {
	return &Papers[slices.IndexFunc(Papers, func(p Paper) bool { return p.Number == number })]
}

// Figure is a figure or a table of a paper, or a claim of its text that is measured like one.
type Figure struct {
	Paper   string `json:"paper"` // number
	Name    string `json:"name"`  // "figure5", as on the command line
	Title   string `json:"title"`
	Section string `json:"section"`
	Claim   string `json:"claim"` // what the paper says, in words of our own

	claims []claim
}

// ID names the figure among the figures of all papers: "ega-figure5".
func (f *Figure) ID() string { return PaperOf(f.Paper).Name + "-" + f.Name }

// Figures returns the figures of all papers, in the order of Papers.
func Figures() []*Figure {
	return slices.Concat(egaFigures, wuJoinFigures, wuFigures, karnagelFigures, chenFigures, libcudfFigures)
}

// Select returns the figures of some papers, by number or name, that have some names; no papers or no
// names are all of them. It fails with the list of what there is on a name that nothing has.
func Select(of, names []string) ([]*Figure, error) {
	for _, name := range of {
		if !slices.ContainsFunc(Papers, func(p Paper) bool { return p.is(name) }) {
			return nil, fmt.Errorf("no paper %q: want some of %s", name, strings.Join(paperNames(), ", "))
		}
	}
	figures := slices.DeleteFunc(Figures(), func(f *Figure) bool {
		return len(of) > 0 && !slices.ContainsFunc(of, PaperOf(f.Paper).is)
	})
	for _, name := range names {
		if !slices.ContainsFunc(figures, func(f *Figure) bool { return f.is(name) }) {
			return nil, fmt.Errorf("no figure %q: want some of %s", name, strings.Join(figureNames(figures), ", "))
		}
	}
	return slices.DeleteFunc(figures, func(f *Figure) bool {
		return len(names) > 0 && !slices.ContainsFunc(names, f.is)
	}), nil
}

func (p Paper) is(name string) bool { return name == p.Number || name == p.Name }

func (f *Figure) is(name string) bool { return name == f.Name || name == f.ID() }

func paperNames() (names []string) {
	for _, p := range Papers {
		names = append(names, p.Number+" ("+p.Name+")")
	}
	return names
}

func figureNames(figures []*Figure) (names []string) {
	for _, f := range figures {
		if !slices.Contains(names, f.Name) {
			names = append(names, f.Name)
		}
	}
	return names
}
