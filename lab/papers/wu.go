package papers

import (
	"fmt"
	"math"
	"slices"

	"github.com/mpga/mpga/app/chart"
)

// Table2 is the least number of payload columns for which codes pay, by key bytes and by the largest
// number of groups of each row of table 2.
var Table2 = map[int][]chart.Point{
	4: points(1<<14, 1, 1<<16, 3, 1<<22, 5, 1<<24, 14),
	8: points(1<<21, 1, 1<<26, 3, 1<<27, 4, 1<<28, 5),
}

var inf = math.Inf(1)

var wuFigures = []*Figure{
	{Paper: "003", Name: "figure15", Section: "5.2.3, figure 15", Title: "HGB and one table in device memory",
		Claim: "A table in shared memory beats one table in device memory (there cuDF's) up to 2^14 groups; beyond, it " +
			"does not.",
		claims: []claim{
			{text: "HGB is faster than one table in device memory up to 2^14 groups",
				timed: true, test: allFaster(0, HGB, LPHGA, 0, 1<<14, 1, 0)},
			{text: "it is similar or slower from 2^16 groups on",
				timed: true, test: allFaster(0, LPHGA, HGB, 1<<16, inf, .8, 0)},
		}},
	{Paper: "003", Name: "figure16", Section: "5.2.5, figure 16", Title: "SGB-UR less SGB-TR, and the paper's model",
		Claim: "Sorting the payload pays from about 2^4 groups on; the model says 2^3.",
		claims: []claim{
			{text: "the model turns at about 2^4 groups", paper: "15 groups by its formula",
				test: turns("model", 8, 32)},
			{text: "the measured difference turns at about 2^4 groups", paper: "2^4",
				timed: true, test: turns("measured", 8, 32)},
		}},
	{Paper: "003", Name: "figure17", Section: "5.2.4 to 5.2.6, figure 17",
		Title:  "Group-bys by number of groups, 4-byte keys",
		Claim:  "HGB is fastest for few groups, PGB-TR beyond 2^18; transformed columns (TR) beat gathers (UR).",
		claims: familyClaims(4)},
	{Paper: "003", Name: "figure18", Section: "5.2.8, figure 18", Title: "Group-bys by number of groups, 8-byte keys",
		Claim:  "As with 4-byte keys, but sorts with transformed columns lose to gathers unless the keys are encoded.",
		claims: familyClaims(8)},
	{Paper: "003", Name: "figure19", Section: "5.2.6, figure 19", Title: "SGB-TR less SGB-DE-TR, and the paper's model",
		Claim: "Codes make sorts faster up to 2^16 groups of 4-byte keys, and up to 2^22 of 8-byte keys.",
		claims: []claim{
			{text: "codes pay up to 2^14 groups of 4-byte keys", paper: "by 28% at most",
				timed: true, test: positive("4-byte keys, measured", 1<<14)},
			{text: "codes pay up to 2^22 groups of 8-byte keys", paper: "by 65% at most",
				timed: true, test: positive("8-byte keys, measured", 1<<22)},
		}},
	{Paper: "003", Name: "table2", Section: "4.4, table 2", Title: "Payload columns from which codes pay, by the model",
		Claim: "With 4-byte keys 1, 3, 5 and 14 columns are needed as groups grow; with 8-byte keys 1, 3, 4 and 5.",
		claims: []claim{
			{text: "the formulas of 4.4 give the table's rows for 4-byte keys", paper: "1, 3, 5, 14",
				test: sameTable("4-byte keys")},
			{text: "and for 8-byte keys", paper: "1, 3, 4, 5", test: sameTable("8-byte keys")},
		}},
	{Paper: "003", Name: "figure20", Section: "5.2.7, figure 20", Title: "Group-bys by skew",
		Claim: "Sorts do not mind skew, partitions do. HGB does not with 2^12 groups and does with 2^16.",
		claims: []claim{
			{text: "SGB-UR is as fast at Zipf 1.5 as with uniform keys, or faster",
				timed: true, test: lastByFirst(0, SGBUR, .95, inf)},
			{text: "HGB is robust with 2^12 groups", timed: true, test: lastByFirst(0, HGB, .8, inf)},
			{text: "PGB-TR gets much slower with skew", timed: true, test: lastByFirst(0, PGBTR, 0, .7)},
			{text: "HGB loses with 2^16 groups and high skew", timed: true, test: lastByFirst(1, HGB, 0, .9)},
		}},
	{Paper: "003", Name: "figure21", Section: "5.2.9, figure 21",
		Title: "The decision tree, mpga's choice, and the fastest",
		Claim: "HGB where shared memory has room, else PGB-TR, or a sort if the exponent of a Zipf distribution is 1 " +
			"or more.",
		claims: []claim{
			{text: "the tree's system takes at most 1.1 times the time of the fastest",
				timed: true, test: allNear("the tree's")},
			{text: "mpga's choice takes at most 1.1 times the time of the fastest", timed: true, test: allNear(Chosen)},
		}},
}

// familyClaims are the claims of figure 17, of 4-byte keys, or of figure 18.
func familyClaims(keyBytes int) []claim {
	list := []claim{
		{text: "PGB-TR beats HGB beyond 2^18 groups", timed: true, test: allFaster(0, PGBTR, HGB, 1<<18+1, inf, 1, 0)},
		{text: "HGB beats PGB-TR up to 2^16 groups", timed: true, test: allFaster(0, HGB, PGBTR, 0, 1<<16, 1, 0)},
	}
	if keyBytes == 4 {
		return append(list,
			claim{text: "PGB-TR beats SGB-TR above 2^4 groups", paper: "up to 1.68 times",
				timed: true, test: allFaster(0, PGBTR, SGBTR, 17, inf, 1, 1.68)},
			claim{text: "SGB-TR beats SGB-UR above 2^4 groups", paper: "up to 1.7 times",
				timed: true, test: allFaster(0, SGBTR, SGBUR, 17, inf, 1, 1.7)},
			claim{text: "PGB-TR beats PGB-UR from 2^18 groups on", paper: "up to 2.2 times",
				timed: true, test: allFaster(0, PGBTR, PGBUR, 1<<18, inf, 1, 2.2)},
			claim{text: "PGB-UR and PGB-TR are similar up to 2^14 groups",
				timed: true, test: similar(0, PGBUR, PGBTR, 0, 1<<14, 1.25)},
			claim{text: "SGB-DE-TR beats SGB-TR below 2^16 groups", paper: "up to 1.28 times",
				timed: true, test: allFaster(0, SGBDE, SGBTR, 0, 1<<16-1, 1, 1.28)})
	}
	return append(list,
		claim{text: "SGB-UR beats SGB-TR", timed: true, test: allFaster(0, SGBUR, SGBTR, 0, inf, 1, 0)},
		claim{text: "SGB-DE-TR beats SGB-UR where codes pay", paper: "up to 1.39 times",
			timed: true, test: allFaster(0, SGBDE, SGBUR, 0, 1<<14, 1, 1.39)},
		claim{text: "PGB-UR beats PGB-TR below 2^16 groups",
			timed: true, test: allFaster(0, PGBUR, PGBTR, 0, 1<<16-1, 1, 0)},
		claim{text: "PGB-TR beats PGB-UR above 2^16 groups",
			timed: true, test: allFaster(0, PGBTR, PGBUR, 1<<16+1, inf, 1, 0)},
		claim{text: "SGB-DE-TR beats SGB-TR up to 2^22 groups", paper: "up to 1.65 times",
			timed: true, test: allFaster(0, SGBDE, SGBTR, 0, 1<<22, 1, 1.65)})
}

// turns tests where a series crosses 0 for good: the first positive point is between two numbers of groups, both
// included, and so are all later points positive. Points must be on both sides of 0, or reach the greater number.
func turns(series string, low, high float64) func(*Result) finding {
	return func(r *Result) finding {
		s := r.Series(0, series)
		if s == nil {
			return finding{lacking: "SGB-TR, " + series}
		}
		end := s.Points[len(s.Points)-1].X
		i := slices.IndexFunc(s.Points, func(p chart.Point) bool { return p.Y > 0 })
		switch {
		case i < 0 && end < high:
			return finding{lacking: series + " " + shortOf(end, high) + " groups"}
		case i < 0:
			return finding{ours: "positive nowhere up to " + number(end) + " groups"}
		case i == 0 && s.Points[0].X >= low:
			return finding{lacking: series + " below " + number(s.Points[0].X) +
				" groups, where it is positive already"}
		}
		at, later := s.Points[i].X, s.Points[i:]
		if j := slices.IndexFunc(later, func(p chart.Point) bool { return p.Y <= 0 }); j >= 0 {
			return finding{ours: "positive at " + number(at) + " groups",
				why: "not at " + number(later[j].X) + " groups, where it is " + number(later[j].Y) + " ms"}
		}
		return finding{ours: "positive from " + number(at) + " to " + number(end) + " groups",
			holds: at >= low && at <= high}
	}
}

// positive tests whether a series is above 0 up to a number of groups, which its points must reach.
func positive(series string, high float64) func(*Result) finding {
	return func(r *Result) finding {
		s := r.Series(0, series)
		if s == nil {
			return finding{lacking: "SGB-TR and SGB-DE-TR"}
		}
		within := slices.DeleteFunc(slices.Clone(s.Points), func(p chart.Point) bool { return p.X > high })
		end := s.Points[len(s.Points)-1].X
		switch {
		case len(within) == 0:
			return finding{lacking: series + " up to " + number(high) + " groups"}
		case end < high:
			return finding{lacking: series + " " + shortOf(end, high) + " groups"}
		}
		for _, p := range within {
			if p.Y <= 0 {
				return finding{ours: number(p.Y) + " ms at " + number(p.X) + " groups"}
			}
		}
		return finding{ours: "above 0 " + covers(within[0].X, within[len(within)-1].X) + " groups", holds: true}
	}
}

func sameTable(series string) func(*Result) finding {
	return func(r *Result) finding {
		s := r.Series(0, series)
		if s == nil {
			return finding{lacking: series}
		}
		f := finding{holds: true}
		for _, p := range s.Paper {
			y, ok := s.At(p.X)
			if !ok {
				return finding{lacking: series + " at " + number(p.X) + " groups"}
			}
			if f.ours != "" {
				f.ours += ", "
			}
			f.ours += number(y)
			if y != p.Y {
				f.holds, f.why = false, f.why+fmt.Sprintf("%s groups need %s columns by the formulas, %s by the table. "+
					"", number(p.X), number(y), number(p.Y))
			}
		}
		return f
	}
}

// lastByFirst tests the last value of a series of rates by its first.
func lastByFirst(panel int, name string, low, high float64) func(*Result) finding {
	return func(r *Result) finding {
		s := r.Series(panel, name)
		if s == nil || len(s.Points) < 2 {
			return finding{lacking: name}
		}
		last := s.Points[len(s.Points)-1]
		times := last.Y / s.Points[0].Y
		f := finding{ours: number(times) + " times at Zipf " + number(last.X), holds: times >= low && times <= high}
		switch {
		case times < low:
			f.why = "at least " + number(low) + " times would do"
		case times > high:
			f.why = "at most " + number(high) + " times would do"
		}
		return f
	}
}

// allNear tests whether a series of times by the fastest is at most 1.1 everywhere.
func allNear(name string) func(*Result) finding {
	return func(r *Result) finding {
		s := r.Series(0, name)
		if s == nil {
			return finding{lacking: name}
		}
		worst, near := s.Points[0], 0
		for _, p := range s.Points {
			if p.Y <= 1.1 {
				near++
			}
			if p.Y > worst.Y {
				worst = p
			}
		}
		return finding{ours: fmt.Sprintf("in %d of %d cases; %s times at worst", near, len(s.Points), number(worst.Y)),
			holds: near == len(s.Points), why: "worst at " + r.Panels[0].NameAt(worst.X)}
	}
}
