package device

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mpga/mpga/engine/internal/aggregator"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/threads"
	"github.com/mpga/mpga/stream"
)

// filler lets all readers fill the tiles of devices together: a reader reserves a range of rows and
// writes them. Whoever writes the last range of a full tile submits the tile.
type filler struct {
	devices *coprocessor

	waits atomic.Int64 // nanoseconds that opening a tile waited for one, on average
	helps atomic.Int64 // nanoseconds that the CPU's workers took for a range, on average; 0 before

	next sync.Mutex // held while a tile is opened
	mu   sync.Mutex
	open *openTile // nil when the last one is full
}

// openTile is a tile that is being filled.
type openTile struct {
	*stream.Tile
	reserved int // rows
	pending  int // ranges that are being written
	full     bool
}

// fillRows is how many rows are reserved at a time: few enough that readers share a tile evenly,
// many enough that they seldom meet.
const fillRows = 256 << 10

// take writes up to to-from rows of the reader's batch to a tile, or gives them to a worker of the
// CPU, and returns how many.
func (f *filler) take(ctx context.Context, r *aggregator.Rows, from, to int) (int, error) {
	o, at, n, err := f.reserve(ctx, r.Thread, min(to-from, fillRows))
	if err != nil {
		return 0, err
	}
	if o == nil {
		r.Thread.Does(threads.WorkAggregate)
		start := time.Now()
		err := f.devices.with(ctx, func(w *cpuWorker) error {
			return r.Tiles(from, from+n, w.Add)
		})
		follow(&f.helps, time.Since(start))
		return n, err
	}
	r.Thread.Does(threads.WorkFill)
	if f.devices.layout.refers {
		f.devices.batches.keep(o.Tile, r.Piece().Batch)
	}
	if !f.devices.layout.copyPlain(o.Tile, at, r.Encoder(), from, n) {
		err = r.Tiles(from, from+n, func(t *rowdata.Tile) error {
			err := f.devices.layout.stage(o.Tile, at, t)
			at += t.Rows
			return err
		})
		if err == nil {
			err = f.devices.query.limitStrings(f.devices.layout)
		}
		if err != nil {
			return 0, err
		}
	}
	return n, f.commit(ctx, r.Thread, o)
}

// reserve returns a range of a tile, or no tile when the CPU is to take the rows: groups are so few that
// the CPU is as fast, and all tiles are under way, or devices decode pages, to which tiles are left.
func (f *filler) reserve(ctx context.Context, th *threads.Thread, want int) (o *openTile, at, n int, err error) {
	q, l := f.devices.query, f.devices.layout
	switch isNamed := q.Devices.named(); {
	case isNamed && l.isOneGroup():
		return nil, 0, want, q.refuse(errNoPages)
	case !isNamed && l.numbered || l.isOneGroup() || !isNamed && f.devices.run.Decoding() != nil && f.areFew():
		return nil, 0, want, nil
	}
	for {
		if o, at, n = f.reserveOpen(want); o != nil {
			return o, at, n, nil
		}
		th.Give()
		opened, err := f.openNext(ctx)
		if err == nil {
			err = th.Take(ctx)
		}
		if err != nil || !opened {
			return nil, 0, want, err
		}
	}
}

// errNoPages: rows that a device did not decode have no key.
var errNoPages = errors.New("there is one group, and rows do not come to the device as pages of a file")

// reserveOpen reserves a range of the open tile, if there is one.
func (f *filler) reserveOpen(want int) (o *openTile, at, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if o = f.open; o == nil {
		return nil, 0, 0
	}
	at, n = o.reserved, min(want, o.Capacity-o.reserved)
	o.reserved += n
	o.pending++
	if o.reserved == o.Capacity {
		o.full, f.open = true, nil
	}
	return o, at, n
}

// openNext opens a tile if none is open, and may wait for a free tile. It returns false when the
// CPU is to take the rows.
func (f *filler) openNext(ctx context.Context) (opened bool, err error) {
	f.next.Lock()
	defer f.next.Unlock()
	f.mu.Lock()
	open := f.open != nil
	f.mu.Unlock()
	if open {
		return true, nil
	}
	run := f.devices.run
	t, err := run.TryTile()
	if err == nil && t == nil {
		if f.cpuHelps() {
			return false, nil
		}
		start := time.Now()
		t, err = run.Tile(ctx)
		follow(&f.waits, time.Since(start))
	} else {
		follow(&f.waits, 0)
	}
	if err != nil {
		return false, err
	}
	for _, bitmap := range t.Valid {
		clear(bitmap)
	}
	f.mu.Lock()
	f.open = &openTile{Tile: t}
	f.mu.Unlock()
	return true, nil
}

// commit says that a range is written. The last range of a full tile submits the tile.
func (f *filler) commit(ctx context.Context, th *threads.Thread, o *openTile) error {
	f.mu.Lock()
	o.pending--
	last := o.full && o.pending == 0
	f.mu.Unlock()
	if !last {
		return nil
	}
	o.Rows = o.reserved
	th.Give() // the device may have to wait for other tiles
	if err := f.devices.run.Submit(o.Tile); err != nil {
		return err
	}
	return th.Take(ctx)
}

// flush submits the open tile. Requires: no reader is left.
func (f *filler) flush() error {
	if f.open == nil {
		return nil
	}
	o := f.open
	f.open, o.Rows = nil, o.reserved
	return f.devices.run.Submit(o.Tile)
}

// follow moves an average of durations towards the last one.
func follow(average *atomic.Int64, d time.Duration) {
	const weight = 8
	old := average.Load()
	if old == 0 {
		average.Store(max(int64(d), 1))
		return
	}
	average.Store(max(old+(int64(d)-old)/weight, 1)) // one of two at once may be lost
}

// cpuHelps reports whether the CPU's workers take rows when all tiles are under way: where a range
// of rows takes a worker no longer than a reader waits for a tile, and while the groups stay in the
// workers' tables.
func (f *filler) cpuHelps() bool {
	helps := f.helps.Load()
	return f.areFew() && (helps == 0 || helps <= f.waits.Load())
}

// tileGroupsMax is up to how many groups the CPU takes tiles beside RouteGroups. 1e9 rows of 1e7, 1e8 and 1e9 groups
// take 0.67, 0.87 and 0.96 s on an H100, and 0.72, 1.09 and 4.4 beside the CPU; of 1e3 groups 0.23 and 0.19.
const tileGroupsMax = 1 << 14

// areFew reports whether the groups, as far as they are known, stay in the workers' tables.
func (f *filler) areFew() bool {
	c := f.devices
	switch route, groups := c.run.Route(); {
	case groups == 0 || route != stream.RouteAggregate && route != stream.RouteGroups:
		return false
	case route == stream.RouteGroups && groups > tileGroupsMax: // all of which the CPU would have to merge
		return false
	}
	_, _, scattered := c.query.CPU.Run().Scatter()
	return !scattered
}
