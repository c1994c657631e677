package stream

import (
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mpga/mpga/internal/invariants"
	"github.com/mpga/mpga/internal/spawn"
	"github.com/mpga/mpga/kernels"
)

// guard calls the driver of a device, and waits no longer than a timeout for each call. A device
// that does not answer is not called again until it does: calls fail with ErrTimeout, and whatever
// is given back waits.
//
//   - G1 (patience): no call takes longer than the timeout, whatever the driver does.
//   - G2 (no leaks): what a call makes after nobody waits for it any more is given back, and memory
//     only after all work of the device's streams has ended.
//   - G3 (apart): a call that nobody waits for any more reads only what it was given, and writes
//     only what it returns.
type guard struct {
	device  kernels.Device
	number  int
	timeout time.Duration

	bug atomic.Pointer[error] // the first spawn.ErrInternal of a call, whose caller may drop it: Run.Release tells it

	mu      sync.Mutex
	hung    bool                    // whether the device does not answer
	stuck   []func()                // each waits for a call that has not returned, and gives back what the call made
	later   []func() error          // what is to be given back when the device answers
	streams map[kernels.Stream]bool // open
}

// silent reports whether the device does not answer.
func (g *guard) silent() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.hung
}

func (g *guard) timedOut() error {
	return errorf("device %d: no answer for %v: %w", g.number, g.timeout, ErrTimeout)
}

// call makes a call of the driver, unless the device does not answer: then made is false. drop
// gives back what the call returns when nobody waits for the call any more.
func call[T any](g *guard, f func() (T, error), drop func(T) error) (v T, made bool, err error) {
	if g.silent() {
		return v, false, g.timedOut()
	}
	v, late, err := kernels.Await(g.timeout, f, drop)
	if late == nil {
		if errors.Is(err, spawn.ErrInternal) {
			g.bug.CompareAndSwap(nil, &err)
		}
		return v, true, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	invariants.Sometimes("stream: a device does not answer")
	g.hung = true
	g.stuck = append(g.stuck, late)
	return v, true, g.timedOut()
}

// try makes a call that returns nothing but an error.
func (g *guard) try(f func() error) (made bool, err error) {
	_, made, err = call(g, func() (struct{}, error) { return struct{}{}, f() }, nil)
	return made, err
}

// free gives something back: at once, or when the device answers again.
func (g *guard) free(f func() error) error {
	for {
		if made, err := g.try(f); made {
			return err
		}
		if g.putOff(f) {
			return nil
		}
	}
}

// putOff keeps a function until the device answers. It returns false if the device answers already.
func (g *guard) putOff(f func() error) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.hung {
		g.later = append(g.later, f)
	}
	return g.hung
}

// awaken waits until the device answers, and gives back what has waited for its answer. Until then
// more may be given back.
func (g *guard) awaken() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for len(g.stuck) > 0 {
		stuck := g.stuck
		g.stuck = nil
		g.unlocked(func() {
			for _, wait := range stuck {
				wait()
			}
		})
	}
	streams := slices.Collect(maps.Keys(g.streams))
	g.unlocked(func() { // G2
		for _, s := range streams {
			if e, err := s.Record(); err == nil {
				_ = e.Wait() // however the work ends
				_ = e.Close()
			}
		}
	})
	for len(g.later) > 0 {
		later := g.later
		g.later = nil
		g.unlocked(func() {
			for _, f := range later {
				_ = f() // nobody is left to be told
			}
		})
	}
	g.hung = false
}

// unlocked calls a function without the lock. Requires: g.mu is held.
func (g *guard) unlocked(f func()) {
	g.mu.Unlock()
	defer g.mu.Lock()
	f()
}

func (g *guard) freeMemory() (bytes int64, err error) {
	bytes, _, err = call(g, func() (int64, error) {
		free, _, err := g.device.Memory()
		return free, err
	}, nil)
	return bytes, err
}

func (g *guard) alloc(n int64) (kernels.Buffer, error) {
	b, _, err := call(g, func() (kernels.Buffer, error) { return g.device.Alloc(n) }, kernels.Buffer.Free)
	return b, err
}

func (g *guard) allocPinned(n int64) (kernels.Pinned, error) {
	p, _, err := call(g, func() (kernels.Pinned, error) { return g.device.AllocPinned(n) }, kernels.Pinned.Free)
	if err != nil {
		return nil, err
	}
	guarded := &guardedPinned{Pinned: p, guard: g}
	guarded.closed.Open("pinned memory")
	return guarded, nil
}

func (g *guard) newStream() (*guardedStream, error) {
	s, _, err := call(g, g.device.NewStream, kernels.Stream.Close)
	if err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.streams == nil {
		g.streams = make(map[kernels.Stream]bool)
	}
	g.streams[s] = true
	guarded := &guardedStream{of: s, guard: g}
	guarded.closed.Open("a stream")
	return guarded, nil
}

// guardedPinned, guardedStream and guardedEvent are pinned memory, a stream and an event of a
// device, which call its driver by way of its guard.
type (
	guardedPinned struct {
		kernels.Pinned
		guard  *guard
		closed invariants.CloseChecker
	}
	guardedStream struct {
		of    kernels.Stream
		guard *guard
		batch *batch // gathers calls, to be made as one; nil while each call is made at once

		closed invariants.CloseChecker
	}
	guardedEvent struct {
		of    kernels.Event // nil where the batch failed before the event was recorded
		guard *guard
		err   error // of the batch; nil of an event that no batch has recorded
	}
)

func (p *guardedPinned) Free() error {
	p.closed.Close()
	return p.guard.free(p.Pinned.Free)
}

// recorded reports whether the device has the event.
func (e *guardedEvent) recorded() bool { return e != nil && e.of != nil }

// bares returns the events that were recorded, as their device knows them.
func bares(events []*guardedEvent) (list []kernels.Event) {
	for _, e := range events {
		if e.recorded() {
			list = append(list, e.of)
		}
	}
	return list
}

// nanosOf returns the times of events, which were recorded, since another event.
func (g *guard) nanosOf(events []*guardedEvent, since *guardedEvent) ([]int64, error) {
	list, first := bares(events), since.of // G3
	nanos, _, err := call(g, func() (at []int64, err error) {
		for _, e := range list {
			n, err := e.Nanos(first)
			if err != nil {
				return nil, err
			}
			at = append(at, n)
		}
		return at, nil
	}, nil)
	return nanos, err
}

// closeEvents closes the events that were recorded, and forgets all of them.
func (g *guard) closeEvents(events []*guardedEvent) error {
	list := bares(events)
	clear(events)
	if len(list) == 0 {
		return nil
	}
	return g.free(func() error { return closeAll(list) })
}

func (e *guardedEvent) Wait() error {
	_, err := e.guard.try(e.of.Wait)
	return err
}

func (e *guardedEvent) Close() error {
	if !e.recorded() {
		return nil
	}
	return e.guard.free(e.of.Close)
}

// batch is calls of a stream that are made as one: a goroutine and a timer for each of thousands of
// short calls cost more than the calls do. A goroutine that has not waited for the batch touches
// nothing of it.
type batch struct {
	calls  []func(made []kernels.Event) error
	events []*guardedEvent // that the calls record
	drops  []kernels.Event // closed after the calls, also after an error
}

// together gathers the calls of the stream in f, which succeed while they are gathered, and then
// makes them, up to the first call that fails. Events that were recorded until then are there
// afterwards.
func (s *guardedStream) together(f func() error) error {
	b := &batch{}
	s.batch = b
	err := f()
	s.batch = nil
	type result struct {
		made []kernels.Event
		err  error
	}
	r, called, silent := call(s.guard, func() (result, error) {
		r := result{made: make([]kernels.Event, len(b.events)), err: err}
		for i := 0; i < len(b.calls) && r.err == nil; i++ {
			r.err = b.calls[i](r.made)
		}
		r.err = errors.Join(r.err, closeAll(b.drops))
		return r, nil
	}, func(r result) error { return closeAll(r.made) })
	if !called {
		_ = s.guard.free(func() error { return closeAll(b.drops) }) // when the device answers
	}
	failed := errors.Join(r.err, silent) // G3: the call may still read err
	for i, e := range b.events {
		if e.err = failed; i < len(r.made) {
			e.of = r.made[i]
		}
	}
	return failed
}

// closeAll closes events; nil stands for an event that was not recorded.
func closeAll(events []kernels.Event) error {
	var errs []error
	for _, e := range events {
		if e != nil {
			errs = append(errs, e.Close())
		}
	}
	return errors.Join(errs...)
}

// do makes a call of the stream, or gathers it.
func (s *guardedStream) do(f func() error) error {
	if s.batch != nil {
		s.batch.calls = append(s.batch.calls, func([]kernels.Event) error { return f() })
		return nil
	}
	_, err := s.guard.try(f)
	return err
}

// drop closes an event of any stream, after the calls that have been gathered.
func (s *guardedStream) drop(e *guardedEvent) error {
	if s.batch != nil {
		s.batch.drops = append(s.batch.drops, e.of)
		return nil
	}
	return e.Close()
}

func (s *guardedStream) Record() (*guardedEvent, error) {
	if b := s.batch; b != nil {
		i := len(b.events)
		b.events = append(b.events, &guardedEvent{guard: s.guard})
		b.calls = append(b.calls, func(made []kernels.Event) (err error) {
			made[i], err = s.of.Record()
			return err
		})
		return b.events[i], nil
	}
	e, _, err := call(s.guard, s.of.Record, kernels.Event.Close)
	if err != nil {
		return nil, err
	}
	return &guardedEvent{of: e, guard: s.guard}, nil
}

func (s *guardedStream) Close() error {
	s.closed.Close()
	return s.guard.free(func() error {
		s.guard.mu.Lock()
		delete(s.guard.streams, s.of)
		s.guard.mu.Unlock()
		return s.of.Close()
	})
}

func (s *guardedStream) WaitFor(e *guardedEvent) error {
	of, cause := e.of, e.err // G3
	return s.do(func() error {
		if of == nil {
			return errors.Join(errorf("device %d: the event was not recorded", s.guard.number), cause)
		}
		return s.of.WaitFor(of)
	})
}

func (s *guardedStream) Copy(c kernels.Copy) error {
	return s.do(func() error { return s.of.Copy(c) })
}

func (s *guardedStream) CopyBatch(c []kernels.Copy) error {
	return s.do(func() error { return s.of.CopyBatch(c) })
}

func (s *guardedStream) CopyWithin(to, from kernels.Span, bytes int64) error {
	return s.do(func() error { return s.of.CopyWithin(to, from, bytes) })
}

func (s *guardedStream) Fill(at kernels.Span, bytes int64, value byte) error {
	return s.do(func() error { return s.of.Fill(at, bytes, value) })
}

func (s *guardedStream) Sample(shape *kernels.Shape, rows *kernels.Rows, registers kernels.Span) error {
	return s.do(func() error { return s.of.Sample(shape, rows, registers) })
}

func (s *guardedStream) Exponents(shape *kernels.Shape, rows *kernels.Rows, exponents kernels.Span) error {
	return s.do(func() error { return s.of.Exponents(shape, rows, exponents) })
}

func (s *guardedStream) Aggregate(shape *kernels.Shape, plan kernels.Plan, rows *kernels.Rows,
	into *kernels.Groups, scratch kernels.Span) error {
	return s.do(func() error { return s.of.Aggregate(shape, plan, rows, into, scratch) })
}

func (s *guardedStream) Scatter(shape *kernels.Shape, rows *kernels.Rows, seed uint64,
	radixBits int, into *kernels.Rows, offsets, scratch kernels.Span) error {
	return s.do(func() error { return s.of.Scatter(shape, rows, seed, radixBits, into, offsets, scratch) })
}

func (s *guardedStream) ResetTable(shape *kernels.Shape, table kernels.Table) error {
	return s.do(func() error { return s.of.ResetTable(shape, table) })
}

func (s *guardedStream) Insert(shape *kernels.Shape, rows *kernels.Rows, table kernels.Table,
	overflow *kernels.Rows, status kernels.Span) error {
	return s.do(func() error { return s.of.Insert(shape, rows, table, overflow, status) })
}

func (s *guardedStream) InsertGroups(shape *kernels.Shape, in *kernels.Groups, count int64,
	table kernels.Table, overflow *kernels.Groups, status kernels.Span) error {
	return s.do(func() error { return s.of.InsertGroups(shape, in, count, table, overflow, status) })
}

func (s *guardedStream) DecompressSnappy(b *kernels.Blocks) error {
	return s.do(func() error { return s.of.DecompressSnappy(b) })
}

func (s *guardedStream) ExpandPages(e *kernels.Expansions) error {
	return s.do(func() error { return s.of.ExpandPages(e) })
}

func (s *guardedStream) NumberStrings(c *kernels.Strings) error {
	return s.do(func() error { return s.of.NumberStrings(c) })
}

func (s *guardedStream) AddStrings(c *kernels.Strings, missing int64) error {
	return s.do(func() error { return s.of.AddStrings(c, missing) })
}

func (s *guardedStream) DecodePages(columns []*kernels.Pages) error {
	return s.do(func() error { return s.of.DecodePages(columns) })
}

func (s *guardedStream) Evaluate(e *kernels.Evaluation) error {
	return s.do(func() error { return s.of.Evaluate(e) })
}

func (s *guardedStream) BuildTable(j *kernels.Join, t kernels.JoinTable) error {
	return s.do(func() error { return s.of.BuildTable(j, t) })
}

func (s *guardedStream) PackKeys(k *kernels.KeyParts) error {
	return s.do(func() error { return s.of.PackKeys(k) })
}

func (s *guardedStream) Recode(c *kernels.Codes) error {
	return s.do(func() error { return s.of.Recode(c) })
}

func (s *guardedStream) Compact(shape *kernels.Shape, table kernels.Table, first, end int64,
	into *kernels.Groups) error {
	return s.do(func() error { return s.of.Compact(shape, table, first, end, into) })
}
