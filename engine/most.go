package engine

import (
	"slices"
	"sync/atomic"

	"github.com/mpga/mpga/cpuagg"
	"github.com/mpga/mpga/internal/rowdata"
)

// Most says which groups a caller looks at: N groups, from 1, with the largest counts.
type Most struct {
	N     int
	Count int  // index into Query.Aggregates, of a count(*) or count
	Ties  bool // and all groups whose counts equal the N-th largest; else it may be any of these
}

// most chooses the groups with the largest counts, before their keys and aggregates are made to
// columns: strings of keys are most of that work. All writers of a query share it.
type most struct {
	Most
	bound *rowdata.Bound
	fold  int // whose state is the count

	least atomic.Uint64 // some N groups have at least this count
}

func newMost(b *rowdata.Bound, of Most) *most {
	return &most{Most: of, bound: b, fold: b.Outputs[of.Count].Fold}
}

// of returns the groups that may be among those asked for: the given groups, or copies of some,
// which refer to the given groups' strings.
func (m *most) of(g *cpuagg.Groups) *cpuagg.Groups {
	if g.Len <= m.N || g.HasRuns(0, g.Len) {
		return g
	}
	width := m.bound.Folds[m.fold].Words
	states := g.States[m.fold]
	largest := make([]uint64, 0, m.N) // ascending
	least := m.least.Load()
	for at := 0; at < len(states); at += width {
		count := states[at]
		if count < least || len(largest) == m.N && count <= largest[0] {
			continue
		}
		if len(largest) == m.N {
			largest = slices.Delete(largest, 0, 1)
		}
		place, _ := slices.BinarySearch(largest, count)
		largest = slices.Insert(largest, place, count)
	}
	if len(largest) == m.N {
		least = m.raise(largest[0])
	}
	equal := g.Len // groups that may be chosen with the least count
	if !m.Ties {
		equal = m.N
		for _, count := range largest {
			if count > least {
				equal--
			}
		}
	}
	var chosen []int
	for i := range g.Len {
		switch count := states[i*width]; {
		case count > least:
			chosen = append(chosen, i)
		case count == least && equal > 0:
			chosen = append(chosen, i)
			equal--
		}
	}
	return m.copies(g, chosen)
}

// raise lets least be a count at least, and returns what it is.
func (m *most) raise(count uint64) uint64 {
	for {
		least := m.least.Load()
		if count <= least {
			return least
		}
		if m.least.CompareAndSwap(least, count) {
			return count
		}
	}
}

// copies returns copies of groups.
func (m *most) copies(g *cpuagg.Groups, chosen []int) *cpuagg.Groups {
	pick := func(words []uint64, width int) []uint64 {
		picked := make([]uint64, 0, len(chosen)*width)
		for _, i := range chosen {
			picked = append(picked, words[i*width:(i+1)*width]...)
		}
		return picked
	}
	states := make([][]uint64, len(g.States))
	for f := range states {
		if g.States[f] != nil {
			states[f] = pick(g.States[f], m.bound.Folds[f].Words)
		}
	}
	copies := cpuagg.GroupsOf(len(chosen), pick(g.Keys, m.bound.Keys.Words), states)
	for _, found := range g.Quantiles {
		if found != nil {
			found = pick(found, rowdata.QuantileWords)
		}
		copies.Quantiles = append(copies.Quantiles, found)
	}
	return copies
}
