// Package threads shares a number of threads among the workers of all queries of an engine.
package threads

import (
	"context"
	"errors"

	"golang.org/x/sync/semaphore"

	"github.com/mpga/mpga/internal/spawn"
	"github.com/mpga/mpga/internal/trace"
)

// What a worker does, as a trace names it. What it waits for is shown by its doing nothing.
const (
	WorkRead      = "read"
	WorkAggregate = "aggregate"
	WorkFill      = "fill tiles"
	WorkScatter   = "scatter"
	WorkProcess   = "process"
	WorkMerge     = "merge"
	WorkWrite     = "write"
)

// Thread is a worker's right to compute. The worker holds it while it computes, and gives it back
// while it waits.
type Thread struct {
	of   *semaphore.Weighted
	held bool
	row  *trace.Row // of the worker; nil without a trace
	work string     // what the worker does, for the trace; "" is not shown

	shown string // work that row shows at present; "" while it shows none
}

// New returns a thread that a semaphore counts. The thread is not held yet, and not in a trace.
func New(of *semaphore.Weighted) *Thread { return &Thread{of: of} }

// Take waits for a thread. It returns the cause when the context is done, and then holds none.
func (t *Thread) Take(ctx context.Context) error {
	if err := t.of.Acquire(ctx, 1); err != nil {
		return context.Cause(ctx)
	}
	t.held = true
	t.Does(t.work)
	return nil
}

// Give gives the thread back, if it is held.
func (t *Thread) Give() {
	if t.held {
		t.row.End()
		t.of.Release(1)
		t.held, t.shown = false, ""
	}
}

// Yield lets the workers of other queries have the thread for a while.
func (t *Thread) Yield(ctx context.Context) error {
	t.Give()
	return t.Take(ctx)
}

// Wait calls a function that waits for another query: the thread is that query's in the meantime,
// which may need it to go on. It returns the cause when the context ends before the thread is there
// again.
func (t *Thread) Wait(ctx context.Context, f func()) error {
	t.Give()
	f()
	return t.Take(ctx)
}

// Borrow lends another goroutine a thread that no worker waits for. ok is false where there is none.
func (t *Thread) Borrow() (give func(), ok bool) {
	return func() { t.of.Release(1) }, t.of.TryAcquire(1)
}

// Does says what the worker does from now on, whenever it holds a thread. Work that goes on is one
// span of the trace, however often the worker says so.
func (t *Thread) Does(work string) {
	t.work = work
	if t.row == nil || !t.held || t.shown == work {
		return
	}
	t.shown = work
	if work == "" {
		t.row.End()
	} else {
		t.row.Begin(work)
	}
}

// WillDo says what the worker does from the time when it takes a thread.
func (t *Thread) WillDo(work string) { t.work = work }

// Parallel runs a function on n goroutines, each of which holds a thread. row, where it is not nil,
// returns the row of a worker in a trace.
func Parallel(ctx context.Context, of *semaphore.Weighted, n int, row func(i int) *trace.Row,
	f func(ctx context.Context, i int, t *Thread) error) error {
	group, groupCtx := spawn.WithContext(ctx)
	for i := range n {
		group.Go(func() error {
			t := New(of)
			if row != nil {
				t.row = row(i)
			}
			defer t.Give()
			if err := t.Take(groupCtx); err != nil {
				return err
			}
			return f(groupCtx, i, t)
		})
	}
	err := group.Wait()
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		err = context.Cause(ctx) // a source may know no more than that it was cancelled
	}
	return err
}
