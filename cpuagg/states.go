package cpuagg

import (
	"math"
	"math/bits"
	"slices"

	"github.com/mpga/mpga/internal/invariants"
	"github.com/mpga/mpga/internal/rowdata"
)

// states holds the accumulator states of the groups of one table.
type states struct {
	memory rowdata.Memory
	bound  *rowdata.Bound
	groups int
	words  [][]uint64   // by fold: groups * Fold.Words, and room to grow; to be settled before they are read
	narrow []narrowSums // by fold
	heap   rowdata.Heap // of the strings and blocks that states refer to
}

func newStates(m rowdata.Memory, b *rowdata.Bound) *states {
	return &states{
		memory: m,
		bound:  b,
		words:  make([][]uint64, len(b.Folds)),
		narrow: make([]narrowSums, len(b.Folds)),
		heap:   rowdata.NewHeap(m),
	}
}

// reset forgets all groups.
func (s *states) reset() {
	s.groups = 0
	for i := range s.narrow {
		s.narrow[i].reset()
	}
	s.heap.Reset()
}

// release gives back the memory of the states.
func (s *states) release() {
	for i := range s.words {
		rowdata.FreeWords(s.memory, s.words[i])
		s.words[i] = nil
		s.narrow[i].release(s.memory)
	}
	s.reset()
}

// bytes returns how much memory the states hold.
func (s *states) bytes() int64 {
	bytes := s.heap.Bytes()
	for i, words := range s.words {
		bytes += int64(8 * (len(words) + len(s.narrow[i].sums)))
	}
	return bytes
}

// grow adds empty states up to n groups.
func (s *states) grow(n int) {
	if n <= s.groups {
		return
	}
	for i := range s.bound.Folds {
		f := &s.bound.Folds[i]
		s.words[i] = rowdata.GrowWords(s.memory, s.words[i], n*f.Words)
		fresh := s.words[i][s.groups*f.Words : n*f.Words]
		if identity := identityOf(f.Kind); identity != 0 {
			for j := range fresh {
				fresh[j] = identity
			}
		} else {
			clear(fresh)
		}
	}
	s.groups = n
}

// identityOf returns what the words of an empty state hold.
func identityOf(k rowdata.FoldKind) uint64 {
	if k == rowdata.FoldMin || k == rowdata.FoldBitAnd {
		return math.MaxUint64
	}
	return 0
}

// accumulate folds the rows of a view into the states of their groups.
func (s *states) accumulate(v *view) {
	for i := range s.bound.Folds {
		f := &s.bound.Folds[i]
		gids := v.gids[f.Selection]
		if len(gids) == 0 {
			continue
		}
		var in [3][]uint64
		for j, input := range f.Inputs {
			in[j] = v.inputs[input]
		}
		if s.groups == 1 && accumulateOne(f.Kind, s.words[i], len(gids), in[0]) {
			continue
		}
		if f.Kind != rowdata.FoldSumInt || !s.addNarrow(i, gids, in[0]) {
			s.accumulateFold(f, s.words[i], gids, in)
		}
	}
}

func (s *states) accumulateFold(f *rowdata.Fold, state []uint64, gids []uint32, in [3][]uint64) {
	x := in[0]
	switch f.Kind {
	case rowdata.FoldCount:
		if s.groups <= fewGroups {
			countFew(state[:s.groups], gids)
			return
		}
		for _, g := range gids {
			state[g]++
		}
	case rowdata.FoldSumInt:
		accumulateSumInt(rowdata.View[[2]uint64](state), gids, x)
	case rowdata.FoldSumUint:
		sums := rowdata.View[[2]uint64](state)
		x = x[:len(gids)]
		for i, g := range gids {
			p := &sums[g]
			low, carry := bits.Add64(p[0], x[i], 0)
			p[0], p[1] = low, p[1]+carry
		}
	case rowdata.FoldSumInt128:
		for i, g := range gids {
			add192(state[3*g:3*g+3], x[2*i], x[2*i+1], uint64(int64(x[2*i+1])>>63))
		}
	case rowdata.FoldSumFloat:
		x = x[:len(gids)]
		for i, g := range gids {
			state[g] = math.Float64bits(math.Float64frombits(state[g]) + math.Float64frombits(x[i]))
		}
	case rowdata.FoldMin: // Most rows change nothing, and no later row of their groups waits for a store.
		x = x[:len(gids)]
		for i, g := range gids {
			if x[i] < state[g] {
				state[g] = x[i]
			}
		}
	case rowdata.FoldMax:
		x = x[:len(gids)]
		for i, g := range gids {
			if x[i] > state[g] {
				state[g] = x[i]
			}
		}
	case rowdata.FoldBitAnd:
		for i, g := range gids {
			state[g] &= x[i]
		}
	case rowdata.FoldBitOr:
		for i, g := range gids {
			state[g] |= x[i]
		}
	case rowdata.FoldBitXor:
		for i, g := range gids {
			state[g] ^= x[i]
		}
	case rowdata.FoldMoments2:
		accumulateMoments2(state, gids, x)
	case rowdata.FoldMoments4:
		accumulateMoments4(state, gids, x)
	case rowdata.FoldComoments:
		accumulateComoments(state, gids, x, in[1])
	case rowdata.FoldExactSum, rowdata.FoldExactMoments2, rowdata.FoldExactMoments4, rowdata.FoldExactComoments:
		s.accumulateExact(f, state, gids, in)
	case rowdata.FoldBest:
		s.accumulateBest(f, state, gids, in)
	default:
		s.accumulateGrowing(f, state, gids, in)
	}
}

// accumulateSumInt adds signed integers to sums of 128 bits, low word first.
func accumulateSumInt(sums [][2]uint64, gids []uint32, x []uint64) {
	x = x[:len(gids)]
	for i, g := range gids {
		p := &sums[g]
		low, carry := bits.Add64(p[0], x[i], 0)
		high, _ := bits.Add64(p[1], uint64(int64(x[i])>>63), carry)
		p[0], p[1] = low, high
	}
}

// countFew adds 1 to the counts of the rows' groups, at most fewGroups. Four rows in turn add to
// four counts of a group: else each addition waits for the addition before it.
func countFew(counts []uint64, gids []uint32) {
	var parts [4][fewGroups]uint64
	for ; len(gids) >= len(parts); gids = gids[len(parts):] {
		four := (*[4]uint32)(gids)
		parts[0][four[0]%fewGroups]++
		parts[1][four[1]%fewGroups]++
		parts[2][four[2]%fewGroups]++
		parts[3][four[3]%fewGroups]++
	}
	for _, g := range gids {
		parts[0][g%fewGroups]++
	}
	for g := range counts {
		counts[g] += parts[0][g] + parts[1][g] + parts[2][g] + parts[3][g]
	}
}

// slice returns the states of groups from to to, by fold.
func (s *states) slice(from, to int) [][]uint64 {
	s.settle()
	parts := make([][]uint64, len(s.words))
	for i := range parts {
		w := s.bound.Folds[i].Words
		parts[i] = s.words[i][from*w : to*w]
	}
	return parts
}

// pack moves the states of some groups, in ascending order, to the first groups.
func (s *states) pack(groups []uint64) {
	s.settle()
	for i := range s.words {
		w := s.bound.Folds[i].Words
		for to, from := range groups {
			copy(s.words[i][to*w:(to+1)*w], s.words[i][int(from)*w:])
		}
	}
}

// merge folds states of other groups into the states of gids. from has len(gids) states of each
// fold, and refers to memory of its own.
func (s *states) merge(gids []uint32, from [][]uint64) {
	for i := range s.bound.Folds {
		f := &s.bound.Folds[i]
		if invariants.Enabled {
			s.checkMerge(f, len(gids), from[i])
		}
		s.mergeFold(f, s.words[i], gids, from[i])
	}
}

// checkMerge panics unless n states have the fold's number of words, and three of them merge to the
// same state in either order (W3). Rounding, and memory that states refer to, leave some folds to
// the tests.
func (s *states) checkMerge(f *rowdata.Fold, n int, from []uint64) {
	w := f.Words
	invariants.Checkf(len(from) >= n*w, "W3: %d states of %s have %d words, want %d each", n, f.Kind, len(from), w)
	if n < 3 || f.Kind > rowdata.FoldBitXor || f.Kind == rowdata.FoldSumFloat {
		return
	}
	group := []uint32{0}
	left, right := slices.Clone(from[:w]), slices.Clone(from[w:2*w])
	s.mergeFold(f, left, group, from[w:2*w])
	s.mergeFold(f, left, group, from[2*w:3*w])
	s.mergeFold(f, right, group, from[2*w:3*w])
	s.mergeFold(f, right, group, from[:w])
	invariants.Checkf(slices.Equal(left, right), "W3: states of %s merge to %x and to %x", f.Kind, left, right)
}

func (s *states) mergeFold(f *rowdata.Fold, state []uint64, gids []uint32, from []uint64) {
	switch f.Kind {
	case rowdata.FoldCount:
		for i, g := range gids {
			state[g] += from[i]
		}
	case rowdata.FoldSumInt, rowdata.FoldSumUint:
		sums, others := rowdata.View[[2]uint64](state), rowdata.View[[2]uint64](from)
		for i, g := range gids {
			var carry uint64
			sums[g][0], carry = bits.Add64(sums[g][0], others[i][0], 0)
			sums[g][1] += others[i][1] + carry
		}
	case rowdata.FoldSumInt128:
		for i, g := range gids {
			add192(state[3*g:3*g+3], from[3*i], from[3*i+1], from[3*i+2])
		}
	case rowdata.FoldSumFloat, rowdata.FoldMin, rowdata.FoldMax, rowdata.FoldBitAnd, rowdata.FoldBitOr, rowdata.FoldBitXor:
		// A state of these is a value that any row could have had.
		s.accumulateFold(f, state, gids, [3][]uint64{from})
	case rowdata.FoldMoments2:
		mergeEach(state, gids, from, (*moments2).merge)
	case rowdata.FoldMoments4:
		mergeEach(state, gids, from, (*moments4).merge)
	case rowdata.FoldComoments:
		mergeEach(state, gids, from, (*comoments).merge)
	default:
		merge := s.mergeGrowing
		switch {
		case f.Kind.Exact():
			merge = s.mergeExact
		case f.Kind == rowdata.FoldBest:
			merge = s.mergeBest
		}
		for i, g := range gids {
			merge(f, state[int(g)*f.Words:(int(g)+1)*f.Words], from[i*f.Words:(i+1)*f.Words])
		}
	}
}

// mergeEach folds states into the states of their groups.
func mergeEach[S any](state []uint64, gids []uint32, from []uint64, merge func(into, from *S)) {
	states, others := rowdata.View[S](state), rowdata.View[S](from)
	for i, g := range gids {
		merge(&states[g], &others[i])
	}
}

// add192 adds a three-word number to another in place.
func add192(sum []uint64, low, mid, high uint64) {
	var carry uint64
	sum[0], carry = bits.Add64(sum[0], low, 0)
	sum[1], carry = bits.Add64(sum[1], mid, carry)
	sum[2] += high + carry
}
