package cpuagg

import (
	"slices"

	"github.com/mpga/mpga/internal/rowdata"
)

// A FoldBest state is: seen | order, 1 or 2 words | tie, 0 or 1 | payload, 0 to 2.

// bestOf is the parts of a row or of a state that FoldBest compares and keeps.
type bestOf struct {
	order   []uint64
	tie     uint64 // 0 where the fold has no tie word
	payload []uint64
}

func (s *states) accumulateBest(f *rowdata.Fold, state []uint64, gids []uint32, in [3][]uint64) {
	if f.Long && !f.Tie && f.PayloadWords == 0 {
		s.accumulateBestText(f, state, gids, in[0])
		return
	}
	order, tie, payload := in[0], in[1], in[2]
	if !f.Tie {
		payload = tie
	}
	ow, pw := f.OrderWords(), f.PayloadWords
	for i, g := range gids {
		row := bestOf{order: order[i*ow : (i+1)*ow], payload: payload[i*pw : (i+1)*pw]}
		if f.Tie {
			row.tie = tie[i]
		}
		s.offer(f, state[int(g)*f.Words:(int(g)+1)*f.Words], row)
	}
}

// accumulateBestText is accumulateBest for least and greatest strings. For most rows the words tell
// that the string kept so far stays.
func (s *states) accumulateBestText(f *rowdata.Fold, state []uint64, gids []uint32, values []uint64) {
	for i, g := range gids {
		value, kept := rowdata.AsBytes2(values[2*i:]), state[int(g)*f.Words:(int(g)+1)*f.Words]
		best := rowdata.AsBytes2(kept[1:])
		if kept[0] != 0 {
			low, high := value, best
			if f.Descending {
				low, high = best, value
			}
			if *low == *high || !low.Less(high) {
				continue
			}
		}
		kept[0] = 1
		s.heap.Replace(best, value)
	}
}

func (s *states) mergeBest(f *rowdata.Fold, state, from []uint64) {
	if from[0] != 0 {
		s.offer(f, state, bestParts(f, from))
	}
}

func bestParts(f *rowdata.Fold, state []uint64) bestOf {
	parts := bestOf{order: state[1 : 1+f.OrderWords()], payload: state[f.Words-f.PayloadWords:]}
	if f.Tie {
		parts.tie = state[1+f.OrderWords()]
	}
	return parts
}

// offer replaces what the state keeps if the row comes before it.
func (s *states) offer(f *rowdata.Fold, state []uint64, row bestOf) {
	if state[0] != 0 {
		kept := bestParts(f, state)
		c := f.Compare(row.order, kept.order)
		if f.Descending {
			c = -c
		}
		if c > 0 || c == 0 && (!f.Tie || row.tie >= kept.tie) {
			return
		}
	}
	s.replaceBest(f, state, row)
}

// replaceBest lets a state keep a row. The zero state has no long string, so that a first row takes
// new memory of the heap; a later row takes the memory of the row before it where that is enough.
func (s *states) replaceBest(f *rowdata.Fold, state []uint64, row bestOf) {
	state[0] = 1
	kept := bestParts(f, state)
	if f.Tie {
		state[1+f.OrderWords()] = row.tie
	}
	replaceValue(kept.order, row.order, f.Long, &s.heap)
	replaceValue(kept.payload, row.payload, f.PayloadLong, &s.heap)
}

func replaceValue(kept, v []uint64, long bool, h *rowdata.Heap) {
	if long {
		h.Replace(rowdata.AsBytes2(kept), rowdata.AsBytes2(v))
		return
	}
	copy(kept, v)
}

func equalKeys(f *rowdata.Fold, a, b []uint64) bool {
	if f.Long {
		return rowdata.AsBytes2(a).Equal(rowdata.AsBytes2(b))
	}
	return slices.Equal(a, b)
}
