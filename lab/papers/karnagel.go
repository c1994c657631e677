package papers

// Names of the placements of figure 11 of Karnagel, Müller, Lohman (2015).
const (
	PlaceGlobal = "one table in device memory"
	PlaceBlock  = "a table for each block"
	PlaceThread = "a table for each thread"
	PlaceShared = "mpga's table for each block"
)

var karnagelFigures = []*Figure{
	{Paper: "002", Name: "figure11", Section: "5.1, figure 11", Title: "Placement of tables, few groups",
		Claim: "For up to 64 groups one table in device memory suffers from contention. A table for each thread is " +
			"best up to 6 groups, then one for each block.",
		claims: []claim{
			{text: "tables of blocks beat one table in device memory",
				timed: true, test: allFaster(0, PlaceBlock, PlaceGlobal, 0, 64, 1, 0)},
			{text: "tables of threads beat tables of blocks up to 6 groups",
				timed: true, test: allFaster(0, PlaceThread, PlaceBlock, 0, 6, 1, 0)},
			{text: "tables of blocks beat tables of threads beyond 6 groups",
				timed: true, test: allFaster(0, PlaceBlock, PlaceThread, 7, inf, 1, 0)},
			{text: "mpga's tables of blocks take about as long for any few groups",
				timed: true, test: steady(0, PlaceShared, 1.3)},
		}},
	{Paper: "002", Name: "figure13", Section: "5.2, figure 13", Title: "Sort or hash, by number of groups",
		Claim: "Hashing is faster up to 200,000 groups, an unstrided sort beyond.",
		claims: []claim{
			{text: "one hash table beats the sort up to 200,000 groups",
				timed: true, test: allFaster(0, LPHGA, SGBUR, 0, 2e5, 1, 0)},
			{text: "the sort beats one hash table beyond", timed: true,
				test: allFaster(0, SGBUR, LPHGA, 2e5+1, inf, 1, 0)},
			{text: "mpga's choice beats the sort throughout", timed: true,
				test: allFaster(0, Chosen, SGBUR, 0, inf, 1, 0)},
		}},
	{Paper: "002", Name: "fill", Section: "4, figure 7", Title: "Fill factor of one table",
		Claim: "In the L2 cache emptier tables are faster; beyond it half full is best, and fuller still where tables " +
			"outgrow 2 GB.",
		claims: []claim{
			{text: "83% full is slower than 25% while the tables fit L2",
				timed: true, test: allFaster(0, "25% full", "83% full", 0, 2e5, 1, 0)},
			{text: "half full is no slower than 25% beyond L2",
				timed: true, test: allFaster(0, "50% full", "25% full", 1e7, inf, .95, 0)},
			{text: "fuller tables need more probes", test: fullerProbes},
		}},
}

func fullerProbes(r *Result) finding {
	first := r.Series(1, FillNames[0])
	if first == nil {
		return finding{lacking: "probes, " + FillNames[0]}
	}
	groups := first.Points[len(first.Points)-1].X
	f := finding{holds: true, why: "a row, for " + number(groups) + " groups, from 25% to 90% full"}
	last := 0.0
	for _, name := range FillNames {
		s := r.Series(1, name)
		if s == nil {
			return finding{lacking: "probes, " + name}
		}
		y, ok := s.At(groups)
		if !ok {
			return finding{lacking: "probes, " + name + ", " + number(groups) + " groups"}
		}
		if f.ours != "" {
			f.ours += ", "
		}
		f.ours += number(y)
		f.holds, last = f.holds && y > last, y
	}
	return f
}

// Fills are the fill factors of a table, and FillNames their series.
var (
	Fills     = []float64{.25, .5, .83, .9}
	FillNames = []string{"25% full", "50% full", "83% full", "90% full"}
)
