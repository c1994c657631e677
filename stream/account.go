package stream

import (
	"context"
	"errors"
	"sync"

	"github.com/mpga/mpga/internal/invariants"
	"github.com/mpga/mpga/internal/spawn"
	"github.com/mpga/mpga/kernels"
)

// account holds a run to M1 and M2 where invariants are checked: all rows are somewhere, and no key
// is emitted twice, or emitted and given to the CPU after the input has ended.
type account struct {
	mu      sync.Mutex
	rows    int64           // that a table, or the aggregation of a tile, has taken
	ended   bool            // whether the input has ended
	emitted map[string]bool // by key: true where it was emitted, false where the CPU got it after the end of the input
}

// checkStatus panics unless an operator has accounted for all its rows (K4).
func checkStatus(s kernels.GroupsStatus, rows int64) {
	invariants.Checkf(s.Rows+s.Overflow == uint64(rows),
		"K4: of %d rows %d were aggregated and %d refused", rows, s.Rows, s.Overflow)
}

// checkFailure panics where an error of a device is not ErrDevice (M3).
func checkFailure(err error) {
	for _, of := range []error{kernels.ErrOutOfMemory, kernels.ErrPinnedLimit, kernels.ErrDeviceLost, ErrTimeout} {
		invariants.Checkf(!errors.Is(err, of) || errors.Is(err, ErrDevice) ||
			errors.Is(err, spawn.ErrInternal), "M3: %v is not ErrDevice", err)
	}
}

// took notes how many of the rows of a tile a table or an aggregation has taken.
func (a *account) took(s kernels.GroupsStatus, rows int64) {
	checkStatus(s, rows)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.rows += int64(s.Rows)
}

// endInput panics unless all rows that were submitted are where a route takes them (M1).
func (a *account) endInput(r *Run) {
	var waiting int64
	if r.opt.Algorithm != MPEGA { // whose groups wait: tiles' aggregations have taken their rows
		for _, b := range r.blocks {
			waiting += b.offsets[len(b.offsets)-1] - b.offsets[0]
		}
	}
	c := r.Counters()
	a.mu.Lock()
	defer a.mu.Unlock()
	invariants.Checkf(c.Rows == a.rows+waiting+c.RowsOut,
		"M1: of %d rows %d are in groups, %d in partitions, %d the CPU's",
		c.Rows, a.rows, waiting, c.RowsOut)
	a.ended = true
}

// note notes n keys that are emitted, or that the CPU gets: before the end of the input, it may get
// any.
func (a *account) note(keys []byte, n, keyBytes int, emitted bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !emitted && !a.ended {
		return
	}
	if a.emitted == nil {
		a.emitted = make(map[string]bool)
	}
	for i := range n {
		key := keys[i*keyBytes : (i+1)*keyBytes]
		before, known := a.emitted[string(key)]
		invariants.Checkf(!known || !before && !emitted, "M2: the key %x, emitted: %v, is emitted: %v", key, before, emitted)
		a.emitted[string(key)] = emitted
	}
}

// checked returns emit, which first notes the keys of the groups.
func (a *account) checked(keyBytes int,
	emit func(context.Context, *Groups) error) func(context.Context, *Groups) error {
	return func(ctx context.Context, g *Groups) error {
		a.note(g.Keys, g.Count, keyBytes, true)
		return emit(ctx, g)
	}
}
