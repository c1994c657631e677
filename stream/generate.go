package stream

import (
	"errors"

	"github.com/mpga/mpga/internal/invariants"
	"github.com/mpga/mpga/kernels"
	"github.com/mpga/mpga/partition"
)

const (
	groupsRoom     = 4         // times the estimate of its groups a tile has room for
	fewGroupsBytes = 256 << 10 // a block of groups that is copied out with its status, however many there are
)

// tailBytes returns how many bytes are at the end of the host memory of each tile.
func (d *device) tailBytes() int64 {
	const share = 8 // of the memory of rows, a block of few groups takes a part at most
	return max(tailBytesMin, min(fewGroupsBytes, d.layout.bytes/share&^(columnAlignment-1)))
}

// tileGroups returns the most groups of a tile that RouteAggregate has room for: the host memory of
// a tile takes them.
func (d *device) tileGroups(estimate int64) int64 {
	shape := &d.run.opt.Shape
	most := min(max(groupsRoom*estimate, tileRowsMin), d.layout.bytes/groupBytes(shape), d.layout.capacity)
	return max(most, 1)
}

// enterAggregate: each tile has room for its groups.
func (d *device) enterAggregate(estimate int64) error {
	shape := &d.run.opt.Shape
	plan := d.planFor(shape, d.layout.capacity, estimate)
	groups := newGroupLayout(shape, d.tileGroups(estimate))
	d.expected = estimate
	return d.enterTiles(groups.bytes, plan.AggregateScratch(shape, d.layout.capacity, d.props))
}

// sendAggregate aggregates a tile; few groups leave the device. A tile that has more is the CPU's,
// and the run goes on to another route. Requires: the device's lock is held.
func (t *Tile) sendAggregate() (end func() error, err error) {
	d := t.device
	r, shape := d.run, &d.run.opt.Shape
	estimate := d.expected // the run's may be of the next route by now
	plan := d.planFor(shape, int64(t.Rows), estimate)
	l := newGroupLayout(shape, d.tileGroups(estimate))
	groups, rows := l.groups(kernels.Span{Buffer: t.output}), t.rows()
	err = t.send(t.copyIn,
		func() error { return t.stream.Aggregate(shape, plan, &rows, groups, kernels.Span{Buffer: t.scratch}) },
		func() error {
			if l.bytes > d.tailBytes() {
				return t.stream.Copy(t.statusOut(groups.Status))
			}
			d.bytesOut.Add(l.bytes)
			return t.stream.Copy(kernels.Copy{Device: groups.Status, Host: t.tail()[:l.bytes], Out: true})
		},
	)
	return func() error {
		s := t.status()
		if s.Overflow > 0 || int64(s.Groups) > l.capacity {
			r.leaveRoute(RouteAggregate, int64(s.Groups))
			return t.giveRows()
		}
		if invariants.Enabled {
			r.account.took(s, int64(t.Rows))
		}
		if l.bytes <= d.tailBytes() { // which have come with the status
			return taken(r.takeStates(l.hostGroups(t.tail(), int64(s.Groups))))
		}
		// The rows are not needed any more: their memory takes the groups.
		out := hostGroups(shape, t.host.Bytes(), int64(s.Groups))
		if err := d.copyOut(t.stream, l.copies(groups.Status, 0, out, 0, int64(s.Groups), true)); err != nil {
			return err
		}
		return taken(r.takeStates(out))
	}, err
}

// groupsTile is how the memory of a tile's output is shared out by RouteGroups: its groups, and behind them the same
// groups by partition.
type groupsTile struct {
	groups  groupLayout
	rows    layout
	scratch int64
}

func (d *device) groupsTile(rows int64) groupsTile {
	shape := &d.run.opt.Shape
	return groupsTile{
		groups:  newGroupLayout(shape, rows),
		rows:    d.run.waiting.layout(rows),
		scratch: max(d.planFor(shape, rows, rows).AggregateScratch(shape, rows, d.props), scatterBytes(radixBitsMax)),
	}
}

// bytes returns the bytes of a tile beside its input.
func (l groupsTile) bytes() int64 { return l.groups.bytes + l.rows.bytes + l.scratch }

// enterGroups: each tile has room for as many groups as rows, twice.
func (d *device) enterGroups() error {
	d.run.size(d)
	l := d.groupsTile(d.layout.capacity)
	return d.enterTiles(l.groups.bytes+l.rows.bytes, l.scratch)
}

// sendGroups aggregates a tile, whose groups are then scattered (section 4.2.5, Algorithm 2 of Wang, Shen, Lei, with
// the aggregation of its section 4.1 before it). Requires: the device's lock is held.
func (t *Tile) sendGroups() (end func() error, err error) {
	d := t.device
	l := newGroupLayout(&d.run.opt.Shape, d.layout.capacity)
	groups := l.groups(kernels.Span{Buffer: t.output})
	expected := max(int64(float64(t.Rows)*d.run.groupsPerTileRow()), 1)
	err = t.send(t.copyIn,
		func() error { return t.aggregateTo(groups, expected) },
		func() error { return t.stream.Copy(t.statusOut(groups.Status)) },
	)
	return func() error { return t.scatterGroups(&l, groups) }, err
}

// groupsPerTileRow returns how many groups a row of a tile is expected to have.
func (r *Run) groupsPerTileRow() float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.firstRatio
}

// aggregateTo enqueues an aggregation of the tile to groups. expected is how many groups the tile is
// expected to have.
func (t *Tile) aggregateTo(groups *kernels.Groups, expected int64) error {
	d, rows := t.device, t.rows()
	shape := &d.run.opt.Shape
	return t.stream.Aggregate(shape, d.planFor(shape, rows.Count, expected), &rows, groups,
		kernels.Span{Buffer: t.scratch})
}

// scatterGroups scatters the groups of a tile that was aggregated. A tile with more groups than were expected is
// aggregated once more.
func (t *Tile) scatterGroups(l *groupLayout, groups *kernels.Groups) error {
	d := t.device
	s := t.status()
	if s.Overflow > 0 {
		invariants.Sometimes("stream: a tile has more groups than were expected")
		err := t.send(noCopy,
			func() error { return t.aggregateTo(groups, int64(t.Rows)) },
			func() error { return t.stream.Copy(t.statusOut(groups.Status)) },
		)
		if err = errors.Join(err, t.finish(routeWork[RouteGroups])); err != nil {
			return err
		}
		if s = t.status(); s.Overflow > 0 {
			return errorf("device %d: %d of %d rows of a tile found no slot, though each could have one",
				d.number, s.Overflow, t.Rows)
		}
	}
	d.run.countProbes(s)
	rows := kernels.Rows{Count: int64(s.Groups), Keys: groups.Keys, Columns: groups.States,
		Valid: make([]kernels.Span, len(groups.States))}
	d.mu.Lock()
	end, err := t.scatter(noCopy, &rows, kernels.Span{Buffer: t.output, Offset: l.bytes})
	d.mu.Unlock()
	if errors.Is(err, kernels.ErrPinnedLimit) {
		invariants.Sometimes("stream: pinned memory has no room for the groups of a tile")
		return t.giveRows()
	}
	if invariants.Enabled && err == nil {
		d.run.account.took(s, int64(t.Rows))
	}
	if err = errors.Join(err, t.finish(routeWork[RouteScatter])); err != nil {
		return err
	}
	return end()
}

// copyOut makes copies and waits for them.
func (d *device) copyOut(s *guardedStream, copies []kernels.Copy) error {
	d.bytesOut.Add(copiedBytes(copies))
	return errors.Join(s.CopyBatch(copies), d.finish(s))
}

func copiedBytes(copies []kernels.Copy) (bytes int64) {
	for _, c := range copies {
		bytes += int64(len(c.Host))
	}
	return bytes
}

// enterTable: a table of `slots` slots, or of as many as a tile needs if these are more, if they fit;
// and room for the rows that the table refuses.
func (d *device) enterTable(slots int64, s *guardedStream) error {
	least := d.run.opt.feedback(0).SlotsFor(d.layout.capacity)
	return errors.Join(d.newTable(max(slots, least), s),
		d.enterTiles(d.layout.bytes, scatterBytes(radixBitsMax)+statusBytes))
}

// enterTiles gets the buffers of each tile: output bytes and scratch bytes.
func (d *device) enterTiles(output, scratch int64) error {
	for _, t := range d.tiles {
		if err := d.alloc(&t.output, output); err != nil {
			return err
		}
		if err := d.alloc(&t.scratch, scratch); err != nil {
			return err
		}
	}
	return nil
}

// sendInsert loads a tile into the table: one round of feedback loading. Requires: the device's
// lock is held, and the table has room.
func (t *Tile) sendInsert() (end func() error, err error) {
	d := t.device
	rows, overflow := t.rows(), d.layout.rows(t.output, 0, int64(t.Rows))
	at := kernels.Span{Buffer: t.scratch, Offset: scatterBytes(radixBitsMax)}
	d.table.loading += int64(t.Rows)
	err = t.send(t.copyIn,
		func() error { return t.insert(&rows, &overflow, at) },
		func() error { return t.stream.Copy(t.statusOut(at)) },
	)
	return func() error { return t.inserted(int64(t.Rows), t.output, t.input) }, err
}

// statusOut is the copy of a status to the host, where status then reads it.
func (t *Tile) statusOut(at kernels.Span) kernels.Copy {
	return kernels.Copy{Device: at, Host: t.tail()[:statusBytes], Out: true}
}

func (t *Tile) status() kernels.GroupsStatus { return kernels.StatusOf(t.tail()) }

// inserted notes the result of a load. Rows that the table has refused are scattered, by way of a
// buffer that is free.
func (t *Tile) inserted(loaded int64, overflow, by kernels.Buffer) error {
	d, tab, s := t.device, t.device.table, t.status()
	d.mu.Lock()
	if groups := int64(s.Groups); groups > tab.groups && loaded > 0 {
		tab.growth = float64(groups-tab.groups) / float64(loaded)
		tab.groups = groups
	}
	tab.loading -= loaded
	groups := tab.groups
	if invariants.Enabled {
		d.run.account.took(s, loaded)
	}
	d.mu.Unlock()
	d.run.countLoad(groups, tab.Slots)
	d.run.countProbes(s)
	if s.Overflow == 0 {
		return nil
	}
	invariants.Sometimes("stream: a table refuses rows of a tile")
	d.run.size(d)
	refused := d.layout.rows(overflow, 0, int64(s.Overflow))
	d.mu.Lock()
	end, err := t.scatter(noCopy, &refused, kernels.Span{Buffer: by})
	d.mu.Unlock()
	if errors.Is(err, kernels.ErrPinnedLimit) {
		invariants.Sometimes("stream: pinned memory has no room for rows that a table refuses")
		t.Rows = int(s.Overflow)
		if err := d.copyOut(t.stream, d.layout.copies(overflow, 0, t.host.Bytes(), int64(t.Rows), true)); err != nil {
			return err
		}
		return taken(d.run.takeRows(t))
	}
	if err = errors.Join(err, t.finish(routeWork[RouteScatter])); err != nil {
		return err
	}
	return end()
}

func noCopy() error { return nil }

// sendHybrid scatters a tile. Rows of the table's partitions come first: the host must know how
// many they are before they are inserted and the other rows leave. Requires: the device's lock is
// held.
func (t *Tile) sendHybrid() (end func() error, err error) {
	d := t.device
	resident, radix := d.run.Resident()
	rows, into := t.rows(), d.layout.rows(t.output, 0, int64(t.Rows))
	loading := d.tableRows(t)
	d.table.loading += loading
	err = t.send(t.copyIn,
		func() error { return t.scatterRows(&rows, &into, radix) },
		func() error { return t.stream.Copy(t.offsetsOut(radix)) },
	)
	return func() error { return t.split(resident, loading) }, err
}

// split inserts the first rows of a scattered tile into the table, and takes the others to a block.
// Where pinned memory has no room for a block, the tile is the CPU's.
func (t *Tile) split(partitions int, loading int64) error {
	d := t.device
	offsets := wordsOf[uint64](t.offsets(d.run.RadixBits()))
	resident := int64(offsets[partitions])
	first := resident &^ 31 // of a whole word of bitmaps
	d.mu.Lock()
	b, err := d.newBlock(int64(t.Rows)-first, d.run.RadixBits())
	if err != nil {
		d.table.loading -= loading
		d.mu.Unlock()
		if errors.Is(err, kernels.ErrPinnedLimit) {
			invariants.Sometimes("stream: pinned memory has no room for a tile beside a table")
			return t.giveRows()
		}
		return err
	}
	for p, at := range offsets {
		b.offsets[p] = max(int64(at), resident) - first
	}
	loaded, overflow := d.layout.rows(t.output, 0, resident), d.layout.rows(t.input, 0, resident)
	at := kernels.Span{Buffer: t.scratch, Offset: scatterBytes(radixBitsMax)}
	copies := append(b.copiesOut(kernels.Span{Buffer: t.output}, &d.layout, first), t.statusOut(at))
	d.bytesOut.Add(copiedBytes(copies))
	d.table.loading += resident - loading
	err = t.send(noCopy,
		func() error { return t.insert(&loaded, &overflow, at) },
		func() error { return t.stream.CopyBatch(copies) },
	)
	d.mu.Unlock()
	if err = errors.Join(err, t.finish(routeWork[RouteTable])); err != nil {
		return err
	}
	return t.inserted(resident, t.input, t.output)
}

// groupsOut does work of a stream that leaves n groups at a place, copies the groups out, does the
// work after the copies, and waits. Requires: the device's lock is held, which it lets go while it
// waits.
func (d *device) groupsOut(l *groupLayout, from kernels.Span, n int64, s *guardedStream,
	work, after func() error) (*Groups, error) {
	g := d.newGroups(n)
	copies := l.copies(from, 0, g, 0, n, true)
	d.bytesOut.Add(copiedBytes(copies))
	err := firstError(work, func() error { return s.CopyBatch(copies) }, after)
	if err = errors.Join(err, d.finishLocked(s)); err != nil {
		d.orphan(g.pinned)
		return nil, err
	}
	return g, nil
}

// newGroups returns room for n groups.
func (d *device) newGroups(n int64) *Groups {
	host, pinned := d.hostMemory(n * groupBytes(&d.run.opt.Shape))
	g := hostGroups(&d.run.opt.Shape, host, n)
	g.pinned = pinned
	return g
}

// orphan remembers pinned memory that a stream may still use, until the streams are closed.
// Requires: the device's lock is held.
func (d *device) orphan(p kernels.Pinned) {
	if p != nil {
		d.orphans = append(d.orphans, p)
	}
}

// finishLocked is finish without the device's lock. Requires: it is held.
func (d *device) finishLocked(s *guardedStream) error {
	return d.unlocked(func() error { return d.finish(s) })
}

// unlocked calls a function without the device's lock. Requires: it is held.
func (d *device) unlocked(f func() error) error {
	d.mu.Unlock()
	defer d.mu.Lock()
	return f()
}

// hostMemory returns pinned memory, or ordinary memory and nil where there is no more pinned
// memory.
func (d *device) hostMemory(n int64) ([]byte, kernels.Pinned) {
	if p, err := d.guard.allocPinned(n); err == nil {
		return p.Bytes(), p
	}
	invariants.Sometimes("stream: pinned memory has no room for groups")
	return make([]byte, n), nil
}

// sendPartition scatters a tile, whose rows come back to the tile's own memory. Requires: the
// device's lock is held.
func (t *Tile) sendPartition() (end func() error, err error) {
	d := t.device
	radix := d.run.RadixBits()
	rows, into := t.rows(), d.layout.rows(t.output, 0, int64(t.Rows))
	copies := append(d.layout.copies(t.output, 0, t.host.Bytes(), int64(t.Rows), true), t.offsetsOut(radix))
	d.bytesOut.Add(copiedBytes(copies))
	err = t.send(t.copyIn,
		func() error { return t.scatterRows(&rows, &into, radix) },
		func() error { return t.stream.CopyBatch(copies) },
	)
	return func() error { return taken(d.run.takeParts(t, wordsOf[uint64](t.offsets(radix)))) }, err
}

// scatterBytes are the offsets and the scratch of a scatter.
func scatterBytes(radix int) int64 { return offsetsBytes(radix) + align(kernels.ScatterScratch(radix)) }

func offsetsBytes(radix int) int64 { return align(8<<radix + 8) }

// partitionFailure is the probability of Theorem 1 that some partition has more groups than an area
// of the second phase takes at once. Such a partition takes several loads.
const partitionFailure = 0.01

// size chooses the number of partitions, once.
func (r *Run) size(d *device) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sized {
		return
	}
	r.sized = true
	defer func() { r.counters.Partitions = 1 << r.radix }()
	if r.opt.RadixBits > 0 {
		r.radix = r.opt.RadixBits
		return
	}
	total := r.waitingOf(r.totalRows())
	memory := d.limit
	if d.table == nil {
		memory -= d.limit / 8 * keepShare
	}
	if r.gathers() && (r.opt.Rows == 0 || total <= d.areaRows(memory)) {
		return // P = 1
	}
	area := d.areaRows(memory / areas)
	// As many groups as rows, if the estimate says nothing else.
	groups := max(min(r.estimate, total), 1)
	perArea := max(int64(float64(area)*float64(groups)/float64(total)), 2)
	r.radix = radixBitsMax
	if s, err := partition.Size(groups, perArea, partitionFailure); err == nil {
		switch bound := r.opt.Bound; {
		case bound == BoundTheorem || bound == "" && r.opt.Algorithm == MPEGA:
			s.Partitions = s.Theorem
		case bound == BoundTail:
			s.Partitions = s.Tail
		}
		r.sizing = s
		r.radix = min(max(int(s.Radix()), 1), radixBitsMax)
	}
}

// gathers reports whether all rows are grouped at once, if there is room for them. Where nobody knows how many will
// come, they are partitioned when there is none.
func (r *Run) gathers() bool {
	return r.opt.Algorithm != Auto && r.opt.Algorithm != MPEGA && len(r.opt.Devices) == 1
}

// planResident chooses the partitions that the table of RouteHybrid has room for.
func (r *Run) planResident(slots int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	partitions := 1 << r.radix
	if n := r.opt.feedback(slots).Resident(r.estimate, partitions); n < partitions {
		r.resident = n
	}
	r.counters.Resident = r.resident
}

// Resident returns of how many partitions, of 2^radix, a table takes rows; 0: of all.
func (r *Run) Resident() (partitions, radix int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.resident, r.radix
}

// RadixBits returns how many of the highest bits of a hash name a partition; 0 before rows are
// scattered, and of one partition.
func (r *Run) RadixBits() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.radix
}

// sendScatter scatters a tile; where pinned memory has no room, its rows are the CPU's. Requires:
// the device's lock is held.
func (t *Tile) sendScatter() (end func() error, err error) {
	rows := t.rows()
	end, err = t.scatter(t.copyIn, &rows, kernels.Span{Buffer: t.output})
	if errors.Is(err, kernels.ErrPinnedLimit) {
		invariants.Sometimes("stream: pinned memory has no room for a tile")
		return t.giveRows, nil
	}
	return end, err
}

// scatter scatters rows to a block, which stays on the device while there is room, or goes to
// pinned memory by way of memory as large as the rows. Where pinned memory has no room either,
// scatter only returns kernels.ErrPinnedLimit. Requires: the device's lock is held.
func (t *Tile) scatter(copyIn func() error, rows *kernels.Rows, by kernels.Span) (end func() error, err error) {
	d := t.device
	r := d.run
	radix := r.RadixBits()
	b, err := d.newBlock(rows.Count, radix)
	if err != nil {
		return nil, err
	}
	if b.buffer != nil {
		by = kernels.Span{Buffer: b.buffer}
	}
	into := b.layout.rows(by.Buffer, by.Offset, rows.Count)
	copies := b.copiesOut(by, &b.layout, 0)
	if radix > 0 {
		copies = append(copies, t.offsetsOut(radix))
	}
	d.bytesOut.Add(copiedBytes(copies))
	err = t.send(copyIn,
		func() error { return t.scatterRows(rows, &into, radix) },
		func() error { return t.stream.CopyBatch(copies) },
	)
	return func() error {
		if radix == 0 {
			b.offsets[1] = b.rows
		} else {
			b.setOffsets(t.offsets(radix))
		}
		return nil
	}, err
}

// scatterRows enqueues a scatter, whose offsets and scratch are the tile's; of one partition, a copy.
func (t *Tile) scatterRows(rows, into *kernels.Rows, radix int) error {
	r := t.device.run
	if radix > 0 {
		return t.stream.Scatter(r.waiting.Shape, rows, r.opt.Seed, radix, into, kernels.Span{Buffer: t.scratch},
			kernels.Span{Buffer: t.scratch, Offset: offsetsBytes(radix)})
	}
	err := t.stream.CopyWithin(into.Keys, rows.Keys, rows.Count*int64(r.waiting.KeyBytes))
	for c, typ := range r.waiting.Columns {
		err = errors.Join(err, t.stream.CopyWithin(into.Columns[c], rows.Columns[c], rows.Count*int64(typ.Bytes())))
		if into.Valid[c].Buffer != nil {
			err = errors.Join(err, t.stream.CopyWithin(into.Valid[c], rows.Valid[c], kernels.BitmapBytes(rows.Count)))
		}
	}
	return err
}

// offsetsOut is the copy of the offsets of a scatter to the host.
func (t *Tile) offsetsOut(radix int) kernels.Copy {
	return kernels.Copy{Device: kernels.Span{Buffer: t.scratch}, Host: t.offsets(radix), Out: true}
}

// offsets is where the host has the offsets of a scattered tile, in bytes.
func (t *Tile) offsets(radix int) []byte { return t.tail()[statusBytes:][:8<<radix+8] }
