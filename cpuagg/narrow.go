package cpuagg

import (
	"math/bits"

	"github.com/mpga/mpga/internal/rowdata"
)

// narrowSums are sums of integers that 64 bits hold, to be added to states of 128 bits: a row takes
// one addition to memory in place of two with a carry, and a table's sums half of the cache. The
// values of each tile bound how far sums may be from 0; before a sum could overflow, all sums
// settle: they are added to the states.
//
//	states alone --rowsPerGroup rows a group--> narrow sums --a tile of wide values--> states alone
type narrowSums struct {
	sums  []uint64 // by group; nil where states are alone
	bound uint64   // no sum is further from 0
	rows  int      // accumulated while states were alone
	wide  bool     // values were too wide for narrow sums
}

// Settling costs as much as a few rows a group: narrow sums begin once that many rows have come,
// and values are too wide if their sums settle more often than every 64 tiles.
const (
	narrowRowsPerGroup = 8
	narrowBound        = 1 << 62 // narrow sums with this bound settle
	narrowTileBound    = narrowBound / 64
)

// addNarrow accumulates rows in narrow sums. It returns false, and has done nothing, where the
// states are to be used.
func (s *states) addNarrow(fold int, gids []uint32, x []uint64) bool {
	n := &s.narrow[fold]
	if n.sums == nil {
		n.rows += len(gids)
		if n.wide || n.rows < narrowRowsPerGroup*s.groups {
			return false
		}
	}
	if len(n.sums) < s.groups {
		had := len(n.sums)
		n.sums = rowdata.GrowWords(s.memory, n.sums, s.groups)
		clear(n.sums[had:])
	}
	if !n.add(s.groups, gids, x) {
		s.settleFold(fold)
		n.release(s.memory)
		n.wide = true
		return false
	}
	if n.bound >= narrowBound {
		s.settleFold(fold)
	}
	return true
}

// add accumulates rows whose group numbers are below groups. It returns false, and has done nothing,
// where the values are too wide.
func (n *narrowSums) add(groups int, gids []uint32, x []uint64) bool {
	sums := n.sums[:groups]
	x = x[:len(gids)]
	magnitude := addAll(sums, gids, x)
	bound := uint64(len(gids)) << bits.Len64(magnitude)
	if magnitude>>(63-bits.Len(rowdata.TileRows)) == 0 && bound <= narrowTileBound {
		n.bound += bound // at most narrowBound + narrowTileBound
		return true
	}
	for i, g := range gids {
		sums[g] -= x[i] // exact, whatever has overflowed
	}
	return false
}

// fewGroups is how many sums have a register each.
const fewGroups = 8

// addAll adds values to the sums of their groups. magnitude has the bits of all values, flipped
// where a value is negative.
func addAll(sums []uint64, gids []uint32, x []uint64) (magnitude uint64) {
	whole := len(gids) &^ 7
	switch {
	case whole > 0 && hasFewVectors && len(sums) <= fewGroups:
		var few [fewGroups]uint64
		copy(few[:], sums)
		magnitude = addFew(&few, &gids[0], &x[0], whole, len(sums))
		copy(sums, few[:])
	case whole > 0 && hasNarrowVectors:
		magnitude = addVectors(&sums[0], &gids[0], &x[0], whole)
	default:
		whole = 0
	}
	gids, x = gids[whole:], x[whole:]
	for i, g := range gids {
		v := x[i]
		magnitude |= v ^ uint64(int64(v)>>63)
		sums[g] += v
	}
	return magnitude
}

// settle brings the states up to date with narrow sums.
func (s *states) settle() {
	for fold := range s.narrow {
		if s.narrow[fold].bound > 0 {
			s.settleFold(fold)
		}
	}
}

func (s *states) settleFold(fold int) {
	n := &s.narrow[fold]
	sums := n.sums[:min(len(n.sums), s.groups)]
	states := rowdata.View[[2]uint64](s.words[fold])[:len(sums)]
	for g, sum := range sums {
		p := &states[g]
		low, carry := bits.Add64(p[0], sum, 0)
		p[0], p[1] = low, p[1]+uint64(int64(sum)>>63)+carry
	}
	clear(sums)
	n.bound = 0
}

// reset forgets the sums of all groups.
func (n *narrowSums) reset() {
	clear(n.sums)
	n.bound = 0
}

// release gives back the memory of the sums.
func (n *narrowSums) release(m rowdata.Memory) {
	rowdata.FreeWords(m, n.sums)
	*n = narrowSums{wide: n.wide}
}
