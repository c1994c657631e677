package papers

import (
	"fmt"
	"slices"

	"github.com/mpga/mpga/app/chart"
)

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
			{text: "libcudf's time rises where a block meets more groups", paper: "a slower path",
				timed: true, test: edgeOfBlock},
		}},
	{Paper: "000", Name: "init", Section: "5, phases 1 and 3; 7", Title: "A set of two slots a row, for three groups",
		Claim: "Emptying and scanning a set of two slots for each row takes 4.1 and 3.4 ms of 1e8 rows, however few " +
			"the groups are.",
		claims: []claim{
			{text: "tables by groups take less memory than two slots a row", paper: "800 MB", test: lessMemory},
			{text: "mpga's choice for 3 groups beats a table of two slots a row", timed: true, test: chosenBeatsSet},
			{text: "emptying and scanning the set take a quarter of libcudf's time or more", paper: "43% of 17.5 ms",
				timed: true, test: setShare},
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

// edgeOfBlock tests whether libcudf takes longer for the first number of groups that a block has no room for.
func edgeOfBlock(r *Result) finding {
	s := r.Series(0, Libcudf)
	if s == nil {
		return finding{lacking: Libcudf}
	}
	i := slices.IndexFunc(s.Points, func(p chart.Point) bool { return p.X > LibcudfBlockGroups })
	if i < 1 {
		return finding{lacking: Libcudf + " on both sides of the edge"}
	}
	in, beyond := s.Points[i-1], s.Points[i]
	times := beyond.Y / in.Y
	return finding{ours: fmt.Sprintf("%s times from %s to %s groups", number(times), number(in.X), number(beyond.X)),
		holds: times > 1}
}

// setShare tests which part of libcudf's time a set of two slots a row takes that a small set does not.
func setShare(r *Result) finding {
	p := r.first(0)
	if p == nil {
		return finding{lacking: "times"}
	}
	set, hasSet := p.Named(SetName)
	small, hasSmall := p.Named(SmallSetName)
	switch {
	case !hasSet:
		return finding{lacking: SetName}
	case !hasSmall:
		return finding{lacking: SmallSetName}
	}
	share := 1 - small/set
	return finding{ours: fmt.Sprintf("%s%% of %s ms", number(100*share), number(set)), ratio: share / .43,
		holds: share >= .25}
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

// The sets of libcudf in the figure init: the text's, and one with room for the groups.
const (
	SetName      = "libcudf, two slots a row"
	SmallSetName = "libcudf, 64 slots"
)
