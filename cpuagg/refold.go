package cpuagg

import "github.com/mpga/mpga/internal/rowdata"

// Refold folds the distinct values that a set has kept into states of another fold, which does not
// grow. It belongs to one goroutine, and must be released.
type Refold struct {
	fold   rowdata.Fold
	states *states
	gids   []uint32
}

// NewRefold returns empty states of n groups.
func NewRefold(f *rowdata.Fold, n int) *Refold {
	r := &Refold{fold: *f}
	r.states = newStates(rowdata.GoMemory, &rowdata.Bound{Folds: []rowdata.Fold{r.fold}})
	r.states.grow(n)
	return r
}

// Add folds values into the state of a group. values is their number; inputs are the inputs of the
// fold, in their encodings.
func (r *Refold) Add(group, values int, inputs [3][]uint64) {
	r.gids = rowdata.Grow(r.gids, values)
	for i := range r.gids {
		r.gids[i] = uint32(group)
	}
	r.states.accumulateFold(&r.fold, r.states.words[0], r.gids, inputs)
}

// States returns the states, by group. They are valid until Release.
func (r *Refold) States() []uint64 { return r.states.words[0][:r.states.groups*r.fold.Words] }

// Release gives back the memory of the states.
func (r *Refold) Release() { r.states.release() }
