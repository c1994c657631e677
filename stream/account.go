package stream

import (
	"context"
	"errors"
	"sync"

	"github.com/mpga/mpga/internal/invariants"
	"github.com/mpga/mpga/internal/spawn"
	"github.com/mpga/mpga/kernels"
)

// account holds a run to M1 and M2 where invariants are checked: all rows are somewhere, and no key is emitted twice, or
// emitted and given to the CPU after the input has ended.
type account struct {
	mu      sync.Mutex
	rows    int64           // that a table, or an aggregation of a tile, has taken
	ended   bool            // the input
	emitted map[string]bool // keys; false of keys that were given to the CPU after the end of the input
}

// checkStatus panics unless an operator has accounted for all its rows (K4).
func checkStatus(s kernels.GroupsStatus, rows int64) {
	invariants.Checkf(s.Rows+s.Overflow == uint64(rows), "K4: of %d rows %d were aggregated and %d refused", rows, s.Rows, s.Overflow)
}

// checkFailure panics where an error of a device is not ErrDevice (M3).
func checkFailure(err error) {
	for _, of := range []error{kernels.ErrOutOfMemory, kernels.ErrPinnedLimit, kernels.ErrDeviceLost, ErrTimeout} {
		invariants.Checkf(!errors.Is(err, of) || errors.Is(err, ErrDevice) || errors.Is(err, spawn.ErrInternal), "M3: %v is not ErrDevice", err)
	}
}

// took notes what a table or an aggregation has taken of the rows of a tile.
func (a *account) took(s kernels.GroupsStatus, rows int64) {
	checkStatus(s, rows)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.rows += int64(s.Rows)
}

// endInput panics unless all rows that were submitted are where a route takes them (M1).
func (a *account) endInput(r *Run) {
	var waiting int64
	for _, b := range r.blocks {
		waiting += b.offsets[len(b.offsets)-1] - b.offsets[0]
	}
	c := r.Counters()
	a.mu.Lock()
	defer a.mu.Unlock()
	invariants.Checkf(c.Rows == a.rows+waiting+c.RowsOut, "M1: of %d rows %d are in groups, %d in partitions, %d the CPU's",
		c.Rows, a.rows, waiting, c.RowsOut)
	a.ended = true
}

// given notes keys that the CPU has got.
func (a *account) given(keys []byte, n, keyBytes int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ended {
		for i := range n {
			a.note(keys[i*keyBytes:(i+1)*keyBytes], false)
		}
	}
}

// note notes a key. Requires: a.mu is held.
func (a *account) note(key []byte, emitted bool) {
	if a.emitted == nil {
		a.emitted = make(map[string]bool)
	}
	before, known := a.emitted[string(key)]
	invariants.Checkf(!known || !before && !emitted, "M2: the key %x, emitted: %v, is emitted: %v", key, before, emitted)
	a.emitted[string(key)] = emitted
}

// checked returns emit with a check of what it is called with.
func (a *account) checked(r *Run, emit func(context.Context, *Groups) error) func(context.Context, *Groups) error {
	return func(ctx context.Context, g *Groups) error {
		a.emits(g, r.opt.Shape.KeyBytes)
		return emit(ctx, g)
	}
}

// emits notes the keys of groups that are emitted.
func (a *account) emits(g *Groups, keyBytes int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range g.Count {
		a.note(g.Keys[i*keyBytes:(i+1)*keyBytes], true)
	}
}
