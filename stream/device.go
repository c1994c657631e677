package stream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mpga/mpga/internal/invariants"
	"github.com/mpga/mpga/internal/spawn"
	"github.com/mpga/mpga/kernels"
	"github.com/mpga/mpga/partition"
)

// device is one device's part of a run.
type device struct {
	run     *Run
	number  int // in Options.Devices
	guard   *guard
	props   kernels.Properties
	limit   int64          // bytes of device memory
	tiles   []*Tile        // the ring
	layout  layout         // of a tile
	encoded *encodedLayout // of an encoded tile; nil where tiles cannot be encoded
	known   kernels.StringTable
	lookups *lookups         // of Decoding.Code; nil where tiles cannot be encoded
	ranks   []kernels.Buffer // by Run.rankings

	numbering    sync.Mutex   // held while strings get numbers, and go to known
	stringsAdded atomic.Int64 // how often that has happened

	base  *guardedEvent // spans count from here; nil before open, and when it is closed
	based time.Time     // when base was recorded

	loads sync.Mutex // held while an area loads

	mu       sync.Mutex
	idle     sync.Cond // signalled when inFlight falls, or changing ends
	inFlight int       // tiles
	route    Route     // that the buffers of the tiles are for
	ready    bool      // whether the buffers of the route are there
	changing bool      // whether the buffers are on their way
	expected int64     // groups that the buffers of RouteAggregate are made for
	used     int64     // bytes of device memory
	peak     int64     // the most that used was
	kept     int64     // bytes of blocks that stay on the device
	orphans  []kernels.Pinned
	table    *table // nil without one

	bytesEncoded atomic.Int64 // of pages that were copied to the device
	bytesIn      atomic.Int64 // copied to the device
	bytesOut     atomic.Int64 // copied from the device

	spansMu sync.Mutex // may be locked while mu is
	spans   [lanes][]span
}

// The memory of a device is shared out in these parts: the ring, and beside it what the route
// needs.
const (
	ringShare   = 8 // of the memory is the ring's input; as much again takes what tiles write
	groupsShare = 2 // of the memory is what the tiles of RouteGroups have beside their input, at most
	ringPinned  = 4 // of the pinned memory is the ring's, at most
	setPinned   = 8 // of the pinned memory may take the groups of a set of partitions
	tableShare  = 5 // eighths of the memory are the one table's, or fewer
	keepShare   = 3 // eighths of the memory hold partitions that stay
)

// newDevice returns a device that has nothing yet.
func newDevice(r *Run, number int, dev kernels.Device) *device {
	d := &device{run: r, number: number, guard: &guard{device: dev, number: number,
		timeout: r.opt.Timeout}, props: dev.Properties()}
	d.idle.L = &d.mu
	return d
}

// open takes the ring. Requires: the device is laid out.
func (d *device) open() error {
	for range d.run.opt.Streams {
		t, err := d.newTile()
		if err != nil {
			return err
		}
		d.tiles = append(d.tiles, t)
	}
	if err := firstError(d.openKnown, d.openLookups); err != nil {
		return err
	}
	// A wait may end long after the event: spans by its end would end after the query does.
	d.based = time.Now()
	var err error
	if d.base, err = d.tiles[0].stream.Record(); err == nil {
		err = d.base.Wait()
	}
	return err
}

// layOut says what tiles would be, and takes no memory.
func (d *device) layOut() error {
	free, err := d.guard.freeMemory()
	if err != nil {
		return err
	}
	o := &d.run.opt
	d.limit = free
	if o.MemoryLimit > 0 {
		d.limit = min(d.limit, o.MemoryLimit)
	}
	rows := o.TileRows
	if rows == 0 {
		rows = d.tileRows()
	}
	d.layout = newLayout(&o.Shape, o.Nullable, int64(rows))
	d.layOutEncoded()
	return nil
}

// tileRows returns the rows of a tile such that the ring takes its share, and a table that is at
// LFMin has room for a tile.
func (d *device) tileRows() int {
	o := &d.run.opt
	most := min(d.limit/ringShare, o.PinnedLimit/ringPinned) / int64(o.Streams)
	bytes := min(most, tileBytesMax)
	rows := bytes / rowBytes(&o.Shape, o.Nullable)
	load := int64(math.MaxInt64) // of a table
	if o.Decoded == nil {
		load = o.feedback(d.tableMax().Slots).LoadMax()
	}
	rows = min(rows, load)
	if rows > tileRowsMin {
		rows -= rows % tileRowsMin
	}
	if o.Rows > 0 { // small inputs need no large tiles
		rows = min(rows, max(ceilDiv(o.Rows, int64(o.Streams)), tileRowsMin))
	}
	load = load / 4 * 3 // encoded tiles leave the table less memory
	if o.Decode != nil && o.Decode.GroupRows <= min(most/rowBytes(&o.Shape, o.Nullable), load) {
		rows = max(rows, o.Decode.GroupRows)
	}
	for o.Algorithm == MPEGA && rows > 32 && d.groupsTile(rows).bytes()*int64(o.Streams) > d.limit/groupsShare {
		rows = rows / 2 &^ 31
	}
	return int(max(rows, 32))
}

// planFor returns the plan of an aggregation of rows of a shape.
func (d *device) planFor(shape *kernels.Shape, rows, groups int64) kernels.Plan {
	groups = min(groups, rows)
	var plan kernels.Plan
	if a := d.run.opt.Algorithm; a != Auto && !shape.Sorts() {
		plan = a.plan(rows, groups, d.run.opt.LoadFactor).WithDefaults(shape, rows, d.props)
	} else {
		plan = kernels.Choose(shape, kernels.Estimate{Rows: rows, Groups: groups}, d.props)
	}
	plan.Seed = ^d.run.opt.Seed // not the seed of the partitions
	return plan
}

// alloc takes device memory within the limit. Requires: d.mu is held, or nobody else uses d.
func (d *device) alloc(b *kernels.Buffer, n int64) (err error) {
	if d.used+n > d.limit {
		return fmt.Errorf("%d B of device memory, %d B of %d B in use: %w", n, d.used, d.limit, kernels.ErrOutOfMemory)
	}
	if *b, err = d.guard.alloc(n); err == nil {
		d.used += n
		d.peak = max(d.peak, d.used)
	}
	return err
}

// freeBuffer gives device memory back, if there is some, and forgets it. Requires: as alloc.
func (d *device) freeBuffer(b *kernels.Buffer) error {
	if *b == nil {
		return nil
	}
	d.used -= (*b).Bytes()
	if invariants.Enabled {
		invariants.Checkf(d.used >= 0, "M4: device %d has %d B in use", d.number, d.used)
	}
	err := d.guard.free((*b).Free)
	*b = nil
	return err
}

// freePinned gives pinned memory back, if there is some, and forgets it.
func freePinned(p *kernels.Pinned) (err error) {
	if *p != nil {
		err = (*p).Free()
		*p = nil
	}
	return err
}

// finish waits for all work of a stream.
func (d *device) finish(s *guardedStream) error {
	e, err := s.Record()
	if err != nil {
		return err
	}
	return errors.Join(e.Wait(), e.Close())
}

// sketchErrorPart: two standard errors of a sketch, of 1.04 / 2^7 each, are this part of its
// estimate.
const sketchErrorPart = 61

// sample returns the number of distinct keys of a tile, and two standard errors more: too few
// partitions cost more than too many. A sketch estimates it, but where few keys come twice, since
// the number of rows then lies within the error of the sketch.
func (d *device) sample(t *Tile) (distinct int64, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err = d.alloc(&t.scratch, partition.SketchRegisters); err != nil {
		return 0, failure(err)
	}
	at, rows, host := kernels.Span{Buffer: t.scratch}, t.rows(), t.tail()[:partition.SketchRegisters]
	d.bytesIn.Add(copiedBytes(t.copies()))
	err = firstError(
		t.copyIn,
		func() error { return t.stream.Fill(at, partition.SketchRegisters, 0) },
		func() error { return t.stream.Sample(&d.run.opt.Shape, &rows, at) },
		func() error { return t.stream.Copy(kernels.Copy{Device: at, Host: host, Out: true}) },
	)
	if err = errors.Join(err, d.finishLocked(t.stream)); err != nil {
		return 0, failure(err)
	}
	distinct = int64(partition.EstimateRegisters(host) + 0.5)
	distinct += distinct / sketchErrorPart
	err = t.leave()
	if err == nil && distinct > rows.Count/2 {
		distinct, err = d.countKeys(t, distinct)
	}
	return min(distinct, rows.Count), failure(err)
}

// countKeys counts the distinct keys of a tile that is on the device, where there is memory for it.
// Requires: d.mu is held.
func (d *device) countKeys(t *Tile, otherwise int64) (distinct int64, err error) {
	shape := kernels.Shape{KeyBytes: d.run.opt.Shape.KeyBytes}
	rows := kernels.Rows{Count: int64(t.Rows), Keys: t.rows().Keys}
	plan := kernels.Choose(&shape, kernels.Estimate{Rows: rows.Count, Groups: rows.Count}, d.props)
	l := newGroupLayout(&shape, rows.Count)
	err = firstError(
		func() error { return d.alloc(&t.output, l.bytes) },
		func() error { return d.alloc(&t.scratch, plan.AggregateScratch(&shape, rows.Count, d.props)) },
	)
	if errors.Is(err, kernels.ErrOutOfMemory) {
		return otherwise, t.leave()
	}
	groups := l.groups(kernels.Span{Buffer: t.output})
	err = firstError(
		func() error { return err },
		func() error { return t.stream.Aggregate(&shape, plan, &rows, groups, kernels.Span{Buffer: t.scratch}) },
		func() error { return t.stream.Copy(t.statusOut(groups.Status)) },
	)
	if err = errors.Join(err, d.finishLocked(t.stream)); err != nil {
		return 0, err
	}
	// The rows whose keys came before are counted; their number in another tile varies by its root.
	again := float64(rows.Count - int64(t.status().Groups))
	return rows.Count - int64(max(again-2*math.Sqrt(again), 0)), t.leave()
}

// firstError calls functions until one fails.
func firstError(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// stop waits for the work of all tiles, so that memory can be freed.
func (d *device) stop() error {
	var errs []error
	for _, t := range d.tiles {
		errs = append(errs, t.stop())
	}
	return failure(errors.Join(errs...))
}

// release gives all of a device back.
func (d *device) release() error {
	errs := []error{d.stop()}
	for _, t := range d.tiles {
		errs = append(errs, t.release())
	}
	for _, p := range d.orphans {
		errs = append(errs, p.Free())
	}
	d.orphans = nil
	errs = append(errs, d.dropTable(), d.dropKnown(), d.dropLookups(), d.dropRanks(), d.base.Close())
	d.base = nil
	if invariants.Enabled {
		invariants.Checkf(d.used == 0, "M4: device %d is released with %d B in use", d.number, d.used)
	}
	return failure(errors.Join(errs...))
}

// addTo adds what the device has done.
func (d *device) addTo(c *Counters) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c.BytesIn += d.bytesIn.Load()
	c.BytesEncoded += d.bytesEncoded.Load()
	c.BytesOut += d.bytesOut.Load()
	c.DevicePeak += d.peak
	if l := d.encoded; l != nil {
		c.DevicePeak += l.bytes*int64(d.run.opt.Streams) + d.known.MemoryBytes() + d.lookups.bytes
	}
	d.spansMu.Lock()
	defer d.spansMu.Unlock()
	c.CopyIn += covered(d.spans[LaneCopyIn])
	c.Kernel += covered(d.spans[LaneKernel])
	c.CopyOut += covered(d.spans[LaneCopyOut])
	c.Busy += covered(d.spans[:]...)
}

// submit sends a tile on the present route.
func (d *device) submit(t *Tile) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for {
		if err := context.Cause(d.run.ctx); err != nil {
			return err
		}
		route, groups := d.awaitRoute()
		if err := d.enter(route, groups, t.stream); err != nil {
			return cmp.Or(context.Cause(d.run.ctx), err)
		}
		if d.table == nil || d.hasRoom(t) {
			return failure(d.send(t, route))
		}
	}
}

// send enqueues the work of a tile and sees to its end. Requires: d.mu is held.
func (d *device) send(t *Tile, route Route) error {
	var err error
	var end func() error
	d.bytesIn.Add(copiedBytes(t.copies()))
	switch route {
	case RouteAggregate:
		end, err = t.sendAggregate()
	case RouteTable, RouteHybrid:
		if resident, _ := d.run.Resident(); resident > 0 {
			end, err = t.sendHybrid()
		} else {
			end, err = t.sendInsert()
		}
	case RouteScatter:
		end, err = t.sendScatter()
	case RouteGroups:
		end, err = t.sendGroups()
	case RoutePartition:
		end, err = t.sendPartition()
	}
	d.inFlight++
	d.run.count(func(c *Counters) {
		c.Tiles++
		c.Rows += int64(t.Rows)
	})
	d.run.work.Add(1)
	spawn.Go(func() error {
		// Also after an error: what was enqueued must end before memory is freed.
		ended := errors.Join(err, t.finish(routeWork[route]))
		if ended == nil {
			spawn.Step()
			ended = end()
		}
		return wrapDevice(ended)
	}, func(ended error) {
		d.run.fail(ended) // before goroutines that wait for idle look again
		d.mu.Lock()
		d.inFlight--
		d.mu.Unlock()
		d.idle.Broadcast()
		d.run.put(t)
		d.run.work.Done()
	})
	return err
}

// wrapDevice makes an error an ErrDevice, unless it came from Options.TakeRows, TakeStates or
// Parts, or from emit.
func wrapDevice(err error) error {
	var taken *takeError
	if errors.As(err, &taken) {
		return taken.cause
	}
	return failure(err)
}

// takeError is an error of a function that takes rows or groups.
type takeError struct{ cause error }

func (e *takeError) Error() string { return e.cause.Error() }

func taken(err error) error {
	if err == nil {
		return nil
	}
	return &takeError{err}
}

// awaitRoute waits until the buffers of the present route are there, or no tile is under way. It
// returns the route when the wait has ended: a route that was left does not come back, and has no
// buffers. Requires: d.mu is held.
func (d *device) awaitRoute() (route Route, groups int64) {
	for {
		if route, groups = d.run.Route(); d.ready && d.table != nil {
			d.route = route // the table goes on
		}
		if !d.changing && (d.inFlight == 0 || d.ready && d.route == route) {
			return route, groups
		}
		d.idle.Wait()
	}
}

// enter gets the buffers of a route that awaitRoute has returned, after the buffers of the route
// before are given back. The stream is the caller's alone: others may be decoding. Requires: d.mu is
// held, which it may let go in between.
func (d *device) enter(route Route, groups int64, s *guardedStream) (err error) {
	if err := context.Cause(d.run.ctx); err != nil || d.ready && d.route == route {
		return err
	}
	d.changing = true
	err = spawn.Call(func() error { return d.change(route, groups, s) })
	d.changing, d.ready = false, err == nil
	d.run.fail(wrapDevice(err))
	d.idle.Broadcast()
	return err
}

// change gives back the buffers of the route before, and gets the buffers of another. Requires:
// d.mu is held, which it may let go in between.
func (d *device) change(route Route, groups int64, s *guardedStream) error {
	if err := d.leave(); err != nil {
		return err
	}
	d.route = route
	switch route {
	case RouteAggregate:
		return d.enterAggregate(groups)
	case RouteTable:
		return d.enterTable(2*groups, s)
	case RouteHybrid:
		if err := d.enterTable(d.tableMax().Slots, s); err != nil {
			return err
		}
		d.run.size(d)
		d.run.planResident(d.table.Slots)
		return nil
	case RouteGroups:
		return d.enterGroups()
	}
	d.run.size(d)
	return d.enterTiles(d.layout.bytes, scatterBytes(d.run.RadixBits()))
}

// leave gives the buffers of a route back. Requires: d.mu is held, and no tile is under way.
func (d *device) leave() error {
	var errs []error
	for _, t := range d.tiles {
		errs = append(errs, t.leave())
	}
	return errors.Join(errs...)
}
