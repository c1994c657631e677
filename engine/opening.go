package engine

import (
	"context"
	"errors"
	"sync"

	"github.com/mpga/mpga/cpuagg"
	"github.com/mpga/mpga/engine/device"
	"github.com/mpga/mpga/internal/spawn"
)

// opening is devices that are being opened while readers decode the input. What is decoded in the meantime
// waits, and is aggregated by whoever it turns out to be:
//
//		splits -> reader -> batches that wait -> the devices' tiles, or the CPU's workers
//
//	  - O1 (bounded): batches that wait take a small part of the memory; then readers wait, too.
//	  - O2 (whole): the input is not used up while a batch waits.
type opening struct {
	query   *execution
	cancel  context.CancelFunc
	workers []*cpuagg.Worker // of the query
	room    int64            // bytes that may wait
	done    chan struct{}    // closed when it is known who aggregates
	use     sync.Once        // of what it has come to

	devices *device.Aggregator // nil when the CPU does, once done is closed
	err     error              // why

	mu   sync.Mutex
	held []piece
	used int64
}

// openingShare is the part of the memory that batches may take which wait for devices: as much as a store
// leaves free.
const openingShare = 8

// open begins to open devices, by a function that returns an aggregator, or why there is none. Its context is done
// when the query needs no devices any more.
func (q *execution) open(ctx context.Context, prepare func(context.Context) (*device.Aggregator, error)) {
	ctx, cancel := context.WithCancel(ctx)
	o := &opening{query: q, cancel: cancel, room: q.engine.memory.Limit() / openingShare, done: make(chan struct{})}
	q.opening, q.openedDevices = o, true
	spawn.Go(func() (err error) {
		o.devices, err = prepare(ctx)
		return err
	}, func(err error) {
		o.err = err
		close(o.done)
	})
}

// opened makes it so, once it is known who aggregates.
func (o *opening) opened() {
	<-o.done
	o.use.Do(func() {
		o.query.tookDevices(o.devices, o.err)
		if o.devices != nil {
			o.devices.Begin(o.workers)
		}
	})
}

// hold keeps a piece for later, if there is room for it: O1.
func (o *opening) hold(p piece) bool {
	const valueBytes = 16 // of any type
	bytes := p.batch.NumRows() * p.batch.NumCols() * valueBytes
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.used+bytes > o.room {
		return false
	}
	o.used += bytes
	p.batch.Retain()
	o.query.feed.begin() // O2
	o.held = append(o.held, p)
	return true
}

// take returns a piece that has waited.
func (o *opening) take() (piece, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.held) == 0 {
		return piece{}, false
	}
	p := o.held[0]
	o.held = o.held[1:]
	return p, true
}

// end waits for the devices, which are then the query's to release, and drops what still waits if it has failed.
func (o *opening) end() {
	if o == nil {
		return
	}
	o.cancel() // it may wait for others
	o.opened()
	for p, ok := o.take(); ok; p, ok = o.take() {
		p.batch.Release()
	}
}

// holds keeps a piece if it is not known yet who aggregates it; or it waits until it is.
func (r *reader) holds(ctx context.Context, p piece) (bool, error) {
	o := r.opening
	if o == nil {
		return false, nil
	}
	select {
	case <-o.done:
	default:
		if o.hold(p) {
			return true, nil
		}
	}
	return false, r.settle(ctx)
}

// settle waits until it is known who aggregates.
func (r *reader) settle(ctx context.Context) error {
	if r.opening == nil {
		return nil
	}
	r.thread.Does("")
	r.thread.Give()
	select {
	case <-r.opening.done:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	r.opening.opened()
	if err := r.opening.err; errors.Is(err, spawn.ErrInternal) {
		return err
	}
	r.opening = nil
	r.devices = r.query.devices
	r.encoder.Dense = r.query.run.Dense() && r.devices == nil && r.filter == nil
	return r.thread.Take(ctx)
}

// readHeld aggregates what has waited.
func (r *reader) readHeld(ctx context.Context) error {
	o := r.query.opening
	if o == nil {
		return nil
	}
	if err := r.settle(ctx); err != nil {
		return err
	}
	for {
		p, ok := o.take()
		if !ok {
			return nil
		}
		err := r.readPiece(ctx, p)
		if err == nil {
			err = r.thread.Yield(ctx)
		}
		if err != nil {
			return err
		}
	}
}
