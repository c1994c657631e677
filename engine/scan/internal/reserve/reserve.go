package reserve

import (
	"errors"
	"sync"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/spawn"
)

// Allocator is the allocator of one reader: it takes memory only where a budget has room for it,
// and else ends the work of its goroutine by spawn.Fail. Its buffers may outlive the reader.
type Allocator struct {
	of      memory.Allocator
	budget  rowdata.Budget       // nil: there is room for all
	counted func(size int) int64 // bytes of the budget that a buffer of of takes without being reserved
	unasked int64                // bytes that may be held without asking: unaskedBytes, or as many as the budget says

	// Margin returns how many bytes of the budget must be left for others. The default returns 0.
	Margin func() int64

	mu       sync.Mutex
	held     int64 // bytes of the buffers that do not count by themselves, and bytes held by Hold
	reserved int64 // bytes of the budget, held less unasked at least
	blocks   int64 // bytes of the budget that buffers take by themselves
	refused  error // the last refusal that Refusal has not returned; else nil
}

// reservedStep is how many bytes are reserved at a time for small buffers: asking for each buffer
// would cost more than filling it.
const reservedStep = 128 << 10

// unaskedBytes is how many bytes a reader may hold, and how many its blocks may take, unasked: the
// budget keeps a margin for them, and a query whose tables have filled the budget reads on.
const unaskedBytes = 512 << 10

// New returns an allocator within a budget, which may be nil.
func New(of memory.Allocator, budget rowdata.Budget) *Allocator {
	r := &Allocator{of: of, budget: budget, unasked: unaskedBytes, Margin: func() int64 { return 0 }}
	r.counted = func(int) int64 { return 0 }
	if a, ok := of.(interface{ Counted(size int) int64 }); ok {
		r.counted = a.Counted
	}
	if b, ok := budget.(interface{ Unasked() int64 }); ok {
		r.unasked = b.Unasked()
	}
	return r
}

// Allocate implements memory.Allocator.
func (r *Allocator) Allocate(size int) []byte {
	r.take(size)
	b := r.of.Allocate(size)
	r.taken(size, b)
	return b
}

// Reallocate implements memory.Allocator.
func (r *Allocator) Reallocate(size int, b []byte) []byte {
	before := cap(b)
	if size <= before {
		b = r.of.Reallocate(size, b)
		if cap(b) != before { // it has moved to less
			r.taken(0, b)
			r.give(before)
		}
		return b
	}
	r.take(size)
	b = r.of.Reallocate(size, b)
	r.taken(size, b)
	r.give(before)
	return b
}

// Free implements memory.Allocator.
func (r *Allocator) Free(b []byte) {
	size := cap(b)
	r.of.Free(b)
	r.give(size)
}

// Limited says whether there is a budget.
func (r *Allocator) Limited() bool { return r.budget != nil }

// take makes sure that there is room for a buffer. Once a step has been refused, all of its
// goroutines are, at once.
func (r *Allocator) take(size int) {
	checkSize(size)
	if r.budget == nil {
		return
	}
	counted := r.counted(size)
	r.mu.Lock()
	refused, unasked := r.refused, r.blocks+counted <= r.unasked
	r.mu.Unlock()
	switch {
	case refused != nil:
		spawn.Fail(refused)
	case counted == 0:
		r.Hold(int64(size))
	case !unasked:
		r.Room(counted)
	}
}

// taken counts the bytes that a buffer has beyond its size.
func (r *Allocator) taken(size int, b []byte) {
	if r.budget == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if counted := r.counted(cap(b)); counted > 0 {
		r.blocks += counted
	} else {
		r.held += int64(cap(b) - size) // of which the next step of the reservation takes account
	}
}

// give counts a buffer no more.
func (r *Allocator) give(size int) {
	counted := r.counted(size)
	switch {
	case r.budget == nil:
	case counted == 0:
		r.Drop(int64(size))
	default:
		r.mu.Lock()
		defer r.mu.Unlock()
		r.blocks -= counted
	}
}

// Hold reserves bytes that are taken from elsewhere.
func (r *Allocator) Hold(bytes int64) {
	if r.budget == nil {
		return
	}
	r.mu.Lock()
	r.held += bytes
	more := r.stepped() - r.reserved
	r.mu.Unlock()
	if more <= 0 {
		return
	}
	var err error
	if margin := r.Margin(); margin > 0 {
		err = r.budget.Room(more + margin)
	}
	if err == nil {
		err = r.budget.Reserve(more) // may take a while
	}
	r.mu.Lock()
	if err == nil {
		r.reserved += more
	} else {
		r.held -= bytes
		r.refused = err
	}
	r.mu.Unlock()
	if err != nil {
		spawn.Fail(err)
	}
}

// Drop gives back bytes that Hold has reserved.
func (r *Allocator) Drop(bytes int64) {
	if r.budget == nil {
		return
	}
	r.mu.Lock()
	r.held -= bytes
	less := r.reserved - r.stepped()
	if r.held > 0 && less <= 2*reservedStep {
		less = 0
	}
	r.reserved -= less
	r.mu.Unlock()
	if less > 0 {
		r.budget.Unreserve(less)
	}
}

// DropAll gives back all that is held.
func (r *Allocator) DropAll() { r.Drop(r.held) }

// stepped returns how many bytes are to be reserved for the bytes that are held.
// Requires: r.mu is held.
func (r *Allocator) stepped() int64 {
	return (max(r.held-r.unasked, 0) + reservedStep - 1) / reservedStep * reservedStep
}

// Refusal returns the error of the last allocation that was refused, once; else nil.
func (r *Allocator) Refusal() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := r.refused
	r.refused = nil
	return err
}

// HasRefused says whether an error is that of the last refusal.
func (r *Allocator) HasRefused(err error) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.refused != nil && errors.Is(err, r.refused)
}

// Room makes sure that there is room for all buffers of a step, before the first is taken.
func (r *Allocator) Room(bytes int64) {
	if err := r.Ask(bytes); err != nil {
		spawn.Fail(err)
	}
}

// Ask is Room for a caller that returns errors.
func (r *Allocator) Ask(bytes int64) error {
	if r.budget == nil {
		return nil
	}
	err := r.budget.Room(bytes + r.Margin())
	if err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.refused = err
	}
	return err
}

// Fits says whether the budget has bytes left, and Margin bytes more. A budget that says what is left
// makes no room for the answer.
func (r *Allocator) Fits(bytes int64) bool {
	bytes += r.Margin()
	switch b := r.budget.(type) {
	case nil:
		return true
	case interface{ Left() int64 }:
		return b.Left() >= bytes
	}
	return r.budget.Room(bytes) == nil
}

// LargeBytes is the size from which on a page's memory is asked for at once and given back when it
// is not needed: asking for it takes no time beside filling it.
const LargeBytes = 4 << 20
