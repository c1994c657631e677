package engine

import (
	"slices"
	"sync/atomic"

	"github.com/mpga/mpga/cpuagg"
	"github.com/mpga/mpga/internal/rowdata"
)

// most chooses the groups with the largest counts, before their keys and aggregates are made to
// columns: strings of keys are most of that work. All writers of a query share it.
type most struct {
	bound *rowdata.Bound
	fold  int // whose state is the count
	n     int // groups that are asked for, from 1

	least atomic.Uint64 // some n groups have at least this count
}

func newMost(b *rowdata.Bound, n, count int) *most {
	return &most{bound: b, fold: b.Outputs[count].Fold, n: n}
}

// of returns the groups that may be among the n with the largest counts: the given groups, or copies
// of some, which refer to the given groups' strings. Groups with equal counts stay together.
func (m *most) of(g *cpuagg.Groups) *cpuagg.Groups {
	if g.Len <= m.n || g.HasRuns(0, g.Len) {
		return g
	}
	width := m.bound.Folds[m.fold].Words
	states := g.States[m.fold]
	largest := make([]uint64, 0, m.n) // ascending
	least := m.least.Load()
	for at := 0; at < len(states); at += width {
		count := states[at]
		if count < least || len(largest) == m.n && count <= largest[0] {
			continue
		}
		if len(largest) == m.n {
			largest = slices.Delete(largest, 0, 1)
		}
		place, _ := slices.BinarySearch(largest, count)
		largest = slices.Insert(largest, place, count)
	}
	if len(largest) == m.n {
		least = m.raise(largest[0])
	}
	var chosen []int
	for i := range g.Len {
		if states[i*width] >= least {
			chosen = append(chosen, i)
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
		states[f] = pick(g.States[f], m.bound.Folds[f].Words)
	}
	return cpuagg.GroupsOf(len(chosen), pick(g.Keys, m.bound.Keys.Words), states)
}
