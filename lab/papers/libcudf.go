package papers

import "github.com/mpga/mpga/app/chart"

import "fmt"

// LibcudfBlockGroups is the most groups that a block of libcudf has in shared memory.
const LibcudfBlockGroups = 128

var libcudfFigures = []*Figure{
	{Paper: "000", Name: "cliff", Section: "4 and 5, phase 2", Title: "Number of groups around 128 for each block",
		Claim: "A block of libcudf that meets more than 128 groups sends all rows to device memory. mpga is to have no " +
			"such edge.",
		claims: []claim{
			{text: "mpga's time differs by less than 1.4 times between neighbouring numbers of groups",
				paper: "an edge at 128 groups",
				timed: true, test: noCliff},
		}},
	{Paper: "000", Name: "init", Section: "5, phases 1 and 3; 7", Title: "A set of two slots a row, for three groups",
		Claim: "Emptying and scanning a set of two slots for each row takes 4.1 and 3.4 ms of 1e8 rows, however few " +
			"the groups are.",
		claims: []claim{
			{text: "tables by groups take less memory than two slots a row", paper: "800 MB", test: lessMemory},
			{text: "mpga's choice for 3 groups beats a table of two slots a row", timed: true, test: chosenBeatsSet},
		}},
}

func noCliff(r *Result) finding {
	s := r.Series(0, Chosen)
	if s == nil || len(s.Points) < 2 {
		return finding{lacking: Chosen}
	}
	worst, at := 1.0, s.Points[0]
	for i, p := range s.Points[1:] {
		if times := p.Y / s.Points[i].Y; max(times, 1/times) > worst {
			worst, at = max(times, 1/times), p
		}
	}
	return finding{ours: fmt.Sprintf("%s times at most", number(worst)), holds: worst < 1.4,
		why: "at " + number(at.X) + " groups"}
}

func lessMemory(r *Result) finding {
	p := r.first(1)
	if p == nil {
		return finding{lacking: "memory"}
	}
	set, ours, lacking := setAndChosen(p)
	if lacking != "" {
		return finding{lacking: lacking}
	}
	return finding{ours: number(ours) + " and " + number(set) + " MiB", holds: ours < set}
}

func chosenBeatsSet(r *Result) finding {
	p := r.first(0)
	if p == nil {
		return finding{lacking: "times"}
	}
	set, ours, lacking := setAndChosen(p)
	if lacking != "" {
		return finding{lacking: lacking}
	}
	return finding{ours: number(set/ours) + " times as fast", holds: ours < set}
}

// setAndChosen returns the values of the set and of mpga's choice. Where a table has no value, lacking is its name.
func setAndChosen(p *chart.Panel) (set, chosen float64, lacking string) {
	set, hasSet := p.Named(SetName)
	chosen, hasChosen := p.Named(Chosen)
	switch {
	case !hasSet:
		lacking = SetName
	case !hasChosen:
		lacking = Chosen
	}
	return set, chosen, lacking
}

// SetName is the table of two slots a row in the figure init.
const SetName = "two slots a row"
