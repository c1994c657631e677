package papers

import "github.com/mpga/mpga/app/chart"

var chenFigures = []*Figure{
	{Paper: "001", Name: "figure3", Section: "5, figure 3", Title: "Size of the table",
		Claim: "Tables of 1.3 and 2 slots a group are fastest. One slot a group collides much, and more than 2 bring " +
			"nothing.",
		claims: []claim{
			{text: "2 slots a group beat 1 slot",
				timed: true, test: allFaster(0, "2 slots a group", "1 slot a group", 1e4, inf, 1, 0)},
			{text: "2 slots a group are no slower than 5",
				timed: true, test: allFaster(0, "2 slots a group", "5 slots a group", 0, inf, .95, 0)},
			{text: "a full table needs many more probes than one of 1.3 slots a group", test: fullTableProbes},
		}},
	{Paper: "001", Name: "figure4", Section: "5, figure 4", Title: "CPU, sort and hash by rows",
		Claim: "Copies included, a CPU is faster up to 1e5 rows. Beyond, the GPU is, by hash before sort.",
		claims: []claim{
			{text: "hashing on the GPU beats the CPU for 1e6 rows and more", paper: "up to 78 times a serial CPU",
				timed: true,
				test:  allFaster(0, "global", CPU, 1e6, inf, 1, 0)},
			{text: "the CPU beats the GPU up to 1e5 rows", timed: true,
				test: allFaster(0, CPU, "global", 0, 1e5, 1, 0)},
			{text: "hashing beats sorting on the GPU", paper: "up to 2 times",
				timed: true, test: allFaster(0, "global", "sgb-ur", 0, inf, 1, 2)},
		}},
	{Paper: "001", Name: "figure5", Section: "5, figure 5", Title: "Where the device's time goes",
		Claim: "Most of the device's time is the copy of the rows to it.",
		claims: []claim{
			{text: "the copy to the device is most of its time", paper: "74.1%", timed: true, test: copyInShare},
		}},
	{Paper: "001", Name: "estimate", Section: "3", Title: "Estimates of the number of groups",
		Claim: "Random pairs or triples of 1% of the rows tell the number of groups, so that a table of 2.6 slots for " +
			"each was never too small.",
		claims: []claim{
			{text: "pairs never lead to too small a table: uniform keys, up to 1e4 groups",
				paper: "no relaunch in 20 runs",
				test:  roomEnough("pairs", 0, 1e4)},
			{text: "triples never lead to too small a table: uniform keys, up to 1e4 groups",
				paper: "no relaunch in 20 runs",
				test:  roomEnough("triples", 0, 1e4)},
			{text: "pairs would also do for skewed keys (Zipf 1)", test: roomEnough("pairs", 1, 1e6)},
			{text: "mpga's sketch would do for all: uniform and skewed keys",
				test: inPanels([]string{"uniform", "Zipf 1"}, func(panel int) func(*Result) finding {
					return roomEnough("sketch (mpga)", panel, 1e6)
				})},
		}},
}

func fullTableProbes(r *Result) finding {
	full, loose := r.Series(1, "1 slot a group"), r.Series(1, "1.3 slots a group")
	if full == nil || loose == nil {
		return finding{lacking: "probes"}
	}
	at := full.Points[len(full.Points)-1]
	other, ok := loose.At(at.X)
	if !ok {
		return finding{lacking: "probes of 1.3 slots a group, " + number(at.X) + " groups"}
	}
	return finding{ours: number(at.Y) + " and " + number(other) + " probes a key, " + number(at.X) + " groups",
		holds: at.Y > 2*other}
}

func copyInShare(r *Result) finding {
	panel, all := r.first(0), 0.0
	if panel == nil {
		return finding{lacking: "times"}
	}
	for _, p := range panel.Series[0].Points {
		all += p.Y
	}
	if all <= 0 {
		return finding{lacking: "times"}
	}
	share := panel.Series[0].Points[0].Y / all
	return finding{ours: percent(share), ratio: share / .741, holds: share > .5, why: "most is more than half"}
}

// roomEnough tests whether 2.6 slots for each estimated group were enough in the worst run, up to a
// number of groups, which points must reach. Points are the least estimate by the true number.
func roomEnough(series string, panel int, groupsMax float64) func(*Result) finding {
	return func(r *Result) finding {
		s := r.Series(panel, series)
		if s == nil {
			return finding{lacking: series}
		}
		if end := s.Points[len(s.Points)-1].X; end < groupsMax {
			return finding{lacking: series + " " + shortOf(end, groupsMax) + " groups"}
		}
		worst := chart.Point{Y: inf}
		for _, p := range s.Points {
			if p.X <= groupsMax && p.Y < worst.Y {
				worst = p
			}
		}
		if !isFinite(worst.Y) {
			return finding{lacking: series + " up to " + number(groupsMax) + " groups"}
		}
		return finding{ours: number(worst.Y) + " of the groups at worst", holds: tablePerEstimate*worst.Y >= 1,
			why: "for " + number(worst.X) + " groups; 0.385 is enough"}
	}
}
