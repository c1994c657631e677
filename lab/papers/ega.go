package papers

import (
	"fmt"
	"math"

	"github.com/mpga/mpga/app/chart"
)

// Names of systems that claims and measurements share.
const (
	HGB     = "HGB"
	PGBTR   = "PGB-TR"
	PGBUR   = "PGB-UR"
	SGBUR   = "SGB-UR"
	SGBTR   = "SGB-TR"
	SGBDE   = "SGB-DE-TR"
	SPEGA   = "SP-EGA"
	LPHGA   = "LPHGA"
	Libcudf = "libcudf"
	Chosen  = "mpga's choice"
	DuckDB  = "DuckDB"
	MPEGA   = "mp-ega"
	Auto    = "auto"
	CPU     = "cpu"
	Authors = "the authors' program on an H200"
	// LinkFloor is the time in which the rows cross the link to the device, or the groups back, whichever is longer.
	LinkFloor = "the link's floor"
	Third     = "SP-EGA, first phase in a third"
	Feedback  = "feedback (mp-ega)"
	Split     = "split again"
)

// Table1SPEGA and Table1LPHGA are all values of table 1, by load factor.
var (
	Table1SPEGA = points(.91, 1.66, .92, 1.71, .93, 1.76, .94, 1.81, .95, 1.86, .96, 1.92, .97, 1.99, .98, 2.06, .99, 2.13)
	Table1LPHGA = points(.91, 5.64, .92, 6.32, .93, 7.18, .94, 8.36, .95, 9.97, .96, 12.52, .97, 16.69, .98, 25.30, .99, 53.56)
)

// Figure7 is what the text says of MP-EGA's time, in seconds by number of groups, for 1e9 rows.
var Figure7 = points(1e7, 1.61, 1e9, 5.64)

// AuthorsH200 are the seconds of the authors' own program on an H200, by rows and groups.
var AuthorsH200 = map[float64][]chart.Point{
	1e9: points(1e7, 1.9, 1e8, 2.8, 1e9, 3.0),
	2e9: points(1e7, 3.9, 1e9, 6.2),
}

var egaFigures = []*Figure{
	{Paper: "004", Name: "table1", Section: "5.3, table 1", Title: "Probes a row by load factor",
		Claim: "SP-EGA's probes stay near 2 up to a load factor of .99, where linear probing needs more than 50.",
		claims: []claim{
			{text: "SP-EGA looks at no more slots than the paper's does, at a load factor of .99", paper: "2.13",
				test: paperPoint(0, SPEGA, .99, atMost(1), "")},
			{text: "linear probing looks at so many slots at .99", paper: "53.56",
				test: paperPoint(0, LPHGA, .99, withinFactor(1.25),
					"the same is within 1.25 times; on a GPU a row gives up after 4,096 steps, which makes ours "+
						"fewer")},
			{text: "SP-EGA saves nearly all probes of linear probing at .99", paper: "96%", test: fewerProbes},
		}},
	{Paper: "004", Name: "figure5", Section: "5.2, figure 5", Title: "SP-EGA and LPHGA by load factor",
		Claim: "Both are about as fast up to a load factor of .9. Above it LPHGA falls off and SP-EGA does not.",
		claims: []claim{
			{text: "SP-EGA is at least 1.16 times as fast as LPHGA at load factors above .9, up to .99",
				paper: "1.16 to 5.39 times", timed: true,
				test: allFaster(0, SPEGA, LPHGA, .905, .99, 1.16, 5.39)},
			{text: "SP-EGA and LPHGA are similar below .9", timed: true, test: similar(0, SPEGA, LPHGA, 0, .895, 1.25)},
		}},
	{Paper: "004", Name: "figure6", Section: "5.2, figure 6",
		Title: "SP-EGA and LPHGA by skew, at a load factor of .95",
		Claim: "SP-EGA is about as fast for each distribution of the keys. LPHGA's time varies.",
		claims: []claim{
			{text: "SP-EGA is steady from uniform keys to Zipf .8", timed: true, test: steady(0, SPEGA, 1.25)},
			{text: "LPHGA is not", timed: true, test: not(steady(0, LPHGA, 1.25))},
		}},
	{Paper: "004", Name: "figure7", Section: "5.4, figure 7", Title: "Out of core: MP-EGA and CPUs by rows and groups",
		Claim: "MP-EGA beats DuckDB throughout. Fewer groups make it faster, twice the rows take about twice as long.",
		claims: []claim{
			{text: "MP-EGA takes 1e9 rows of 1e7 groups in the paper's time or less", paper: "1.61 s", timed: true,
				test: paperPoint(0, MPEGA, 1e7, atMost(1), "")},
			{text: "MP-EGA takes 1e9 rows of 1e9 groups in the paper's time or less", paper: "5.64 s", timed: true,
				test: paperPoint(0, MPEGA, 1e9, atMost(1), "")},
			{text: "fewer groups make MP-EGA faster", paper: "3.5 times, 1e9 to 1e7 groups",
				timed: true, test: fewerGroupsFaster},
			{text: "twice the rows take MP-EGA about twice as long", paper: "about 2 times", timed: true,
				test: twiceTheRows},
			{text: "MP-EGA beats DuckDB throughout (DuckDB is measured for 1e9 rows only)",
				paper: "6.45 to 29.12 times", timed: true, test: allFaster(0, MPEGA, DuckDB, 0, math.Inf(1), 1, 29.12)},
			{text: "what mpga takes by itself is as fast as MP-EGA at least",
				timed: true, test: inPanels([]string{"1e9 rows", "2e9 rows"}, func(panel int) func(*Result) finding {
					return allFaster(panel, Auto, MPEGA, 0, math.Inf(1), .95, 0)
				})},
		}},
	{Paper: "004", Name: "figure8", Section: "5.5, figure 8", Title: "Stages of MP-EGA, one stream",
		Claim: "Copies over the link, with the collection of the partitions' pieces, take most of the time.",
		claims: []claim{
			{text: "copies take about two thirds of the time of copies and kernels", paper: "68.2%",
				timed: true, test: copiesShare},
		}},
	{Paper: "004", Name: "theorem1", Section: "4.2.1, Theorem 1", Title: "Partitions that a bound of groups asks for",
		Claim: "With as many partitions as Theorem 1 says, one reaches the bound with a probability of p at most.",
		claims: []claim{
			{text: "no more than a share p of the trials has a partition at the bound, by Theorem 1", paper: "p = .01",
				test: seldomOver("Theorem 1")},
			{text: "nor by the binomial tail, which mpga also computes", test: seldomOver("binomial tail")},
			{text: "Theorem 1 asks for about e times as many partitions as there must be, for large bounds",
				paper: "e = 2.72",
				test:  theoremCost},
		}},
	{Paper: "004", Name: "merge", Section: "4.2.3, Algorithm 1, Theorem 2", Title: "Greedy merge of small partitions",
		Claim: "Merged sets are fewer than twice the fewest possible, and fewer sets make the second phase faster.",
		claims: []claim{
			{text: "the greedy merge makes fewer than twice the fewest sets", paper: "below 2 times",
				test: belowTwice("greedy")},
			{text: "so does the merge of neighbours, which devices use", test: belowTwice("neighbours")},
			{text: "MP-EGA is faster with the merge than without",
				timed: true, test: allFaster(1, "merged", "not merged", 0, math.Inf(1), 1, 0)},
		}},
	{Paper: "004", Name: "feedback", Section: "4.2.2", Title: "Feedback load of partitions larger than the memory",
		Claim: "Loads stop between LFmin and LFmax; what is left goes to the CPU.",
		claims: []claim{
			{text: "the fullest table is between LFmin and LFmax", paper: "LFmin to LFmax", test: loadsWithin},
		}},
	{Paper: "004", Name: "coprocessing42", Section: "6.3 and 7",
		Title: "Bytes over the link by the way partitions are processed",
		Claim: "Feedback loading moves 42% fewer bytes over PCIe than static partitioning.",
		claims: []claim{
			{text: "feedback loading moves fewer bytes than partitioning again", paper: "42% fewer", test: fewerBytes},
			{text: "MP-EGA is the fastest of the systems of the papers", timed: true, test: fastestOf(1, MPEGA)},
		}},
}

func fewerProbes(r *Result) finding {
	ega, linear := r.Series(0, SPEGA), r.Series(0, LPHGA)
	if ega == nil || linear == nil {
		return finding{lacking: "both systems"}
	}
	a, hasEGA := ega.At(.99)
	b, hasLinear := linear.At(.99)
	if !hasEGA || !hasLinear || b == 0 {
		return finding{lacking: "a load factor of .99"}
	}
	saved := 1 - a/b
	return finding{ours: percent(saved), ratio: saved / .96, holds: saved >= .955}
}

func percent(part float64) string { return fmt.Sprintf("%.1f%%", 100*part) }

func fewerGroupsFaster(r *Result) finding {
	s := r.Series(0, MPEGA)
	if s == nil || len(s.Points) < 2 {
		return finding{lacking: MPEGA + " by groups"}
	}
	times := s.Points[len(s.Points)-1].Y / s.Points[0].Y
	return finding{ours: number(times) + " times", ratio: times / 3.5, holds: times > 1.1}
}

func twiceTheRows(r *Result) finding {
	once, twice := r.Series(0, MPEGA), r.Series(1, MPEGA)
	if once == nil || twice == nil {
		return finding{lacking: MPEGA + " for both numbers of rows"}
	}
	worst, best := 0.0, math.Inf(1)
	for _, p := range twice.Points {
		if y, ok := once.At(p.X); ok && y > 0 {
			worst, best = max(worst, p.Y/y), min(best, p.Y/y)
		}
	}
	if worst == 0 {
		return finding{lacking: MPEGA + " with the same groups"}
	}
	return finding{ours: number(best) + " to " + number(worst) + " times", ratio: worst / 2,
		holds: best >= 1.6 && worst <= 2.5,
		why:   "about is from 1.6 to 2.5 times"}
}

func copiesShare(r *Result) finding {
	copies, all := 0.0, 0.0
	panel := r.first(0)
	if panel == nil {
		return finding{lacking: "stages"}
	}
	for _, p := range panel.Series[0].Points {
		all += p.Y
		if i := int(p.X); i < len(stagesOfCopies) && stagesOfCopies[i] {
			copies += p.Y
		}
	}
	if all <= 0 {
		return finding{lacking: "stages"}
	}
	share := copies / all
	return finding{ours: percent(share), ratio: share / .682, holds: share >= .55 && share <= .8,
		why: "about is from 55% to 80%"}
}

// Stages are the stages of MP-EGA that the panel of figure 8 has, and stagesOfCopies which of them copy.
var (
	Stages = []string{"copy in and out, phase 1", "SP-EGA, phase 1", "scatter, phase 1",
		"copy in and out, phase 2", "SP-EGA and feedback, phase 2"}
	stagesOfCopies = []bool{true, false, false, true, false}
)

// ThrowsOver is the p of the trials of Theorem 1.
const ThrowsOver = .01

func seldomOver(series string) func(*Result) finding {
	return func(r *Result) finding {
		s := r.Series(1, series)
		if s == nil {
			return finding{lacking: series}
		}
		worst := most(s).Y
		return finding{ours: percent(worst) + " at worst", holds: worst <= 2*ThrowsOver,
			why: "of the trials; up to 2% may be chance"}
	}
}

func theoremCost(r *Result) finding {
	s, binomial := r.Series(0, "Theorem 1"), r.Series(0, "binomial tail")
	if s == nil || binomial == nil {
		return finding{lacking: "both bounds"}
	}
	last := s.Points[len(s.Points)-1]
	times := last.Y
	tail, ok := binomial.At(last.X)
	if !ok {
		return finding{lacking: "binomial tail at " + number(last.X)}
	}
	return finding{ours: number(times) + " times", ratio: times / math.E, holds: times >= 2.5 && times <= 3,
		why: "the binomial tail asks for " + number(tail) + " times"}
}

func belowTwice(series string) func(*Result) finding {
	return func(r *Result) finding {
		s := r.Series(0, series)
		if s == nil {
			return finding{lacking: series}
		}
		worst := most(s).Y
		return finding{ours: number(worst) + " times at most", ratio: worst / 2, holds: worst < 2}
	}
}

func loadsWithin(r *Result) finding {
	s, low, high := r.Series(0, "fullest table"), r.Series(0, "LFmin"), r.Series(0, "LFmax")
	if s == nil || low == nil || high == nil {
		return finding{lacking: "load factors"}
	}
	f := finding{holds: true}
	for _, p := range s.Points {
		least, hasLeast := low.At(p.X)
		most, hasMost := high.At(p.X)
		if !hasLeast || !hasMost {
			return finding{lacking: "LFmin and LFmax of " + r.Panels[0].NameAt(p.X)}
		}
		if f.ours != "" {
			f.ours += ", "
		}
		f.ours += number(p.Y)
		if p.Y < least || p.Y > most {
			f.holds, f.why = false, number(p.Y)+" is not in "+r.Panels[0].NameAt(p.X)
		}
	}
	return f
}

func fewerBytes(r *Result) finding {
	p := r.first(0)
	if p == nil {
		return finding{lacking: "bytes"}
	}
	feedback, hasFeedback := p.Named(Feedback)
	split, hasSplit := p.Named(Split)
	if !hasFeedback || !hasSplit || split == 0 {
		return finding{lacking: Feedback + " and " + Split}
	}
	saved := 1 - feedback/split
	return finding{ours: percent(saved) + " fewer", ratio: saved / .42, holds: saved >= .3,
		why: "of partitions that are too large, by what static partitioning is taken for here; 30% would do"}
}

// fastestOf tests whether a name of the x axis has the least y of the papers' systems, which mpga's choice and the CPU
// are not.
func fastestOf(panel int, name string) func(*Result) finding {
	return func(r *Result) finding {
		p := r.first(panel)
		if p == nil {
			return finding{lacking: name}
		}
		ours, measured := p.Named(name)
		if !measured {
			return finding{lacking: name}
		}
		best, which := math.Inf(1), ""
		for _, at := range p.Series[0].Points {
			if other := p.NameAt(at.X); other != name && other != Auto && other != CPU && at.Y < best {
				best, which = at.Y, other
			}
		}
		if which == "" {
			return finding{lacking: "other systems than " + name}
		}
		return finding{ours: number(ours/best) + " times the time of " + which, ratio: ours / best, holds: ours <= best}
	}
}
