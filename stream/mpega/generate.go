package mpega

import (
	"errors"

	"github.com/mpga/mpga/kernels"
	"github.com/mpga/mpga/partition"
)

// groupsRoom is how many times the estimate of its groups a tile has room for.
const groupsRoom = 4

// tileGroups returns the most groups of a tile that RouteAggregate has room for: the host memory of a
// tile takes them.
func (d *device) tileGroups(estimate int64) int64 {
	shape := &d.run.opt.Shape
	most := min(max(groupsRoom*estimate, tileRowsMin), d.layout.bytes/groupBytes(shape), d.layout.capacity)
	return max(most, 1)
}

// enterAggregate: each tile has room for its groups.
func (d *device) enterAggregate(estimate int64) (err error) {
	shape := &d.run.opt.Shape
	plan := d.planFor(d.layout.capacity, estimate)
	groups := newGroupLayout(shape, d.tileGroups(estimate))
	d.expected = estimate
	for _, t := range d.tiles {
		if t.output, err = d.alloc(groups.bytes); err != nil {
			return err
		}
		if t.scratch, err = d.alloc(plan.AggregateScratch(shape, d.layout.capacity, d.props)); err != nil {
			return err
		}
	}
	return nil
}

// sendAggregate aggregates a tile; few groups leave the device. A tile that has more is the CPU's, and
// the run goes on to another route. Requires: the device's lock is held.
func (t *Tile) sendAggregate() (end func() error, err error) {
	d := t.device
	r, shape := d.run, &d.run.opt.Shape
	estimate := d.expected // the run's may be of the next route by now
	plan := d.planFor(int64(t.Rows), estimate)
	l := newGroupLayout(shape, d.tileGroups(estimate))
	groups, rows := l.groups(t.output, 0), t.rows()
	status := t.tail()[:statusBytes]
	err = t.send(
		func() error { return t.stream.Aggregate(shape, plan, &rows, groups, kernels.Span{Buffer: t.scratch}) },
		func() error { return t.stream.Copy(kernels.Copy{Device: groups.Status, Host: status, Out: true}) },
	)
	return func() error {
		s := readStatus(status)
		if s.Overflow > 0 || int64(s.Groups) > l.capacity {
			r.leaveRoute(RouteAggregate, int64(s.Groups))
			return taken(r.takeRows(t))
		}
		// The rows are not needed any more: their memory takes the groups.
		copies, out := l.copyOut(t.output, 0, t.host.Bytes(), int64(s.Groups))
		if err := d.copyOut(t.stream, copies); err != nil {
			return err
		}
		return taken(r.takeStates(out))
	}, err
}

// copyOut makes copies and waits for them.
func (d *device) copyOut(s kernels.Stream, copies []kernels.Copy) error {
	var bytes int64
	for _, c := range copies {
		bytes += int64(len(c.Host))
	}
	d.mu.Lock()
	d.bytesOut += bytes
	d.mu.Unlock()
	return errors.Join(s.CopyBatch(copies), d.finish(s))
}

// enterTable: a table for twice the groups that are expected, and room for what it refuses.
func (d *device) enterTable(estimate int64) (err error) {
	o := &d.run.opt
	least := int64(float64(d.layout.capacity)/(o.LFMax-o.LFMin)) + 1
	slots := max(min(max(2*estimate, least), d.tableSlotsMax()), 1)
	tab := &table{Table: kernels.Table{Slots: slots}}
	if tab.buffer, err = d.alloc(o.Shape.TableBytes(slots)); err != nil {
		return err
	}
	tab.Memory = kernels.Span{Buffer: tab.buffer}
	d.table = tab
	for _, t := range d.tiles {
		if t.output, err = d.alloc(d.layout.bytes); err != nil {
			return err
		}
		if t.scratch, err = d.alloc(statusBytes); err != nil {
			return err
		}
	}
	s := d.tiles[0].stream
	if err := s.ResetTable(&o.Shape, tab.Table); err != nil {
		return errors.Join(err, d.finish(s))
	}
	return tab.follow(s)
}

// follow lets the next load wait for what a stream has been given so far.
func (tab *table) follow(s kernels.Stream) error {
	err := closeEvent(&tab.last)
	if err != nil {
		return err
	}
	tab.last, err = s.Record()
	return err
}

// sendInsert loads a tile into the table: one round of feedback loading. Requires: the device's lock is
// held, and the table has room.
func (t *Tile) sendInsert() (end func() error, err error) {
	d, tab := t.device, t.device.table
	r, shape := d.run, &d.run.opt.Shape
	rows, overflow := t.rows(), d.layout.rows(t.output, 0, int64(t.Rows))
	at := kernels.Span{Buffer: t.scratch}
	status := t.tail()[:statusBytes]
	loaded := int64(t.Rows)
	tab.loading += loaded
	err = t.send(
		func() error {
			return firstError(
				func() error { return t.stream.WaitFor(tab.last) },
				func() error { return t.stream.Insert(shape, &rows, tab.Table, &overflow, at) },
				func() error { return tab.follow(t.stream) },
			)
		},
		func() error { return t.stream.Copy(kernels.Copy{Device: at, Host: status, Out: true}) },
	)
	return func() error {
		s := readStatus(status)
		d.mu.Lock()
		tab.groups = max(tab.groups, int64(s.Groups))
		tab.loading -= loaded
		groups := tab.groups
		d.mu.Unlock()
		r.countLoad(groups, tab.Slots)
		if s.Overflow == 0 {
			return nil
		}
		t.Rows = int(s.Overflow)
		if err := d.copyOut(t.stream, d.layout.copies(t.output, 0, t.host.Bytes(), int64(t.Rows), true)); err != nil {
			return err
		}
		return taken(r.takeRows(t))
	}, err
}

// tableGroups copies the groups of the table out and drops the table. Requires: the device's lock is
// held, and no tile is under way.
func (d *device) tableGroups() (g *Groups, err error) {
	shape, tab, t := &d.run.opt.Shape, d.table, d.tiles[0] // which is free: no tile is under way
	l := newGroupLayout(shape, max(tab.groups, 1))
	out := &t.output
	if *out, err = d.alloc(l.bytes); err != nil {
		return nil, err
	}
	into := l.groups(*out, 0)
	if g, err = d.hostGroups(&l, kernels.Span{Buffer: *out}, tab.groups, t.stream, func() error {
		return firstError(
			func() error { return t.stream.WaitFor(tab.last) },
			func() error { return errors.Join(t.mark(0), t.mark(1)) },
			func() error { return t.stream.Compact(shape, tab.Table, into) },
			func() error { return t.mark(2) },
		)
	}, func() error { return t.mark(3) }); err != nil {
		return nil, err
	}
	d.noteLocked(t.number, "compact", t.marks[:])
	return g, errors.Join(t.closeMarks(), d.freeBuffer(out), d.dropTable())
}

// hostGroups does work of a stream that leaves n groups at a place, copies them out, does what comes after,
// and waits. Requires: the device's lock is held, which it lets go while it waits.
func (d *device) hostGroups(l *groupLayout, from kernels.Span, n int64, s kernels.Stream, work, after func() error) (*Groups, error) {
	host, pinned := d.hostMemory(n * groupBytes(l.shape))
	copies, g := l.copyOut(from.Buffer, from.Offset, host, n)
	g.pinned = pinned
	d.bytesOut += int64(len(host))
	err := firstError(work, func() error { return s.CopyBatch(copies) }, after)
	if err = errors.Join(err, d.finishLocked(s)); err != nil {
		d.orphan(pinned)
		return nil, err
	}
	return g, nil
}

// orphan remembers pinned memory that a stream may still write, until the streams are closed. Requires:
// the device's lock is held.
func (d *device) orphan(p kernels.Pinned) {
	if p != nil {
		d.orphans = append(d.orphans, p)
	}
}

// finishLocked is finish for who holds the device's lock.
func (d *device) finishLocked(s kernels.Stream) error {
	d.mu.Unlock()
	defer d.mu.Lock()
	return d.finish(s)
}

// hostMemory returns pinned memory, or ordinary memory where there is no more of it.
func (d *device) hostMemory(n int64) ([]byte, kernels.Pinned) {
	if p, err := d.dev.AllocPinned(n); err == nil {
		return p.Bytes(), p
	}
	return make([]byte, n), nil
}

// enterScatter: each tile has room for its rows by partition, and for their offsets.
func (d *device) enterScatter() (err error) {
	d.run.size(d)
	radix := d.run.RadixBits()
	for _, t := range d.tiles {
		if t.output, err = d.alloc(d.layout.bytes); err != nil {
			return err
		}
		if t.scratch, err = d.alloc(scatterBytes(radix)); err != nil {
			return err
		}
	}
	return nil
}

// scatterBytes are the offsets and the scratch of a scatter.
func scatterBytes(radix int) int64 { return offsetsBytes(radix) + align(kernels.ScatterScratch(radix)) }

func offsetsBytes(radix int) int64 { return align(8<<radix + 8) }

// partitionFailure is the probability of Theorem 1 that some partition has more groups than an area
// of the second phase takes at once. It then takes several loads.
const partitionFailure = 0.01

// size chooses the number of partitions, once.
func (r *Run) size(d *device) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.radix > 0 {
		return
	}
	total := r.opt.Rows
	if total <= 0 {
		total = rowsUnknown
	}
	area := d.areaRows((d.limit - d.limit/8*keepShare) / areas)
	// As many groups as rows, if the estimate says nothing else.
	groups := max(min(r.estimate, total), 1)
	perArea := max(int64(float64(area)*float64(groups)/float64(total)), 2)
	r.radix = 1
	if s, err := partition.Size(groups, perArea, partitionFailure); err == nil {
		r.sizing = s
		r.radix = min(max(int(s.Radix()), 1), radixBitsMax)
	} else {
		r.radix = radixBitsMax
	}
	if r.opt.RadixBits > 0 {
		r.radix = r.opt.RadixBits
	}
	r.counters.Partitions = 1 << r.radix
}

// RadixBits returns how many of the highest bits of a hash name a partition; 0 before rows are scattered.
func (r *Run) RadixBits() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.radix
}

// sendScatter scatters a tile to a block, which stays on the device while there is room, or goes to
// pinned memory; where that has no room either, the rows are the CPU's. Requires: the device's lock is
// held.
func (t *Tile) sendScatter() (end func() error, err error) {
	d := t.device
	r := d.run
	radix := r.RadixBits()
	b, err := d.newBlock(int64(t.Rows), radix)
	if errors.Is(err, kernels.ErrPinnedLimit) {
		return func() error { return taken(r.takeRows(t)) }, nil
	}
	if err != nil {
		return nil, err
	}
	to := t.output
	if b.buffer != nil {
		to = b.buffer
	}
	rows, into := t.rows(), b.layout.rows(to, 0, int64(t.Rows))
	offsets := kernels.Span{Buffer: t.scratch}
	host := t.tail()[:8<<radix+8]
	copies := append(b.copiesOut(to), kernels.Copy{Device: offsets, Host: host, Out: true})
	for _, c := range copies {
		d.bytesOut += int64(len(c.Host))
	}
	err = t.send(
		func() error {
			return t.stream.Scatter(&r.opt.Shape, &rows, r.opt.Seed, radix, &into, offsets,
				kernels.Span{Buffer: t.scratch, Offset: offsetsBytes(radix)})
		},
		func() error { return t.stream.CopyBatch(copies) },
	)
	return func() error {
		for i, w := range wordsOf[uint64](host) {
			b.offsets[i] = int64(w)
		}
		b.complete = true
		return nil
	}, err
}
