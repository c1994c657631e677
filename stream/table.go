package stream

import (
	"errors"
	"fmt"

	"github.com/mpga/mpga/internal/invariants"
	"github.com/mpga/mpga/kernels"
	"github.com/mpga/mpga/partition"
)

// table is the one table of RouteTable or RouteHybrid.
type table struct {
	kernels.Table
	buffer  kernels.Buffer
	groups  int64         // that the last load has told
	growth  float64       // groups that the last load has added for each of its rows
	loading int64         // rows under way
	last    *guardedEvent // of the last load: loads follow each other
}

// packedMin returns the least slots of a packed table for all rows of the run; false: the shape
// cannot be packed.
func (d *device) packedMin() (slots int64, ok bool) {
	if !d.run.opt.Shape.Packs() {
		return 0, false
	}
	rows := d.run.opt.Rows
	if rows <= 0 {
		rows = 1 << 32
	}
	return kernels.PackedSlotsMin(rows), true
}

// tableMax returns the largest table: packed, if there is room for the smallest packed table.
func (d *device) tableMax() kernels.Table {
	bytes := d.limit / 8 * tableShare
	if least, ok := d.packedMin(); ok {
		if slots := kernels.PackedSlotsIn(bytes); slots >= least {
			return kernels.Table{Slots: slots, Packed: true}
		}
	}
	return kernels.Table{Slots: slotsIn(&d.run.opt.Shape, bytes)}
}

// tableFor returns a table of `slots` slots, or of as many as there is room for. It is packed where it
// can be and either `slots` reaches packedMin, or a table that is not packed has no room for `slots`:
// a packed table has at least packedMin slots.
func (d *device) tableFor(slots int64) kernels.Table {
	most, unpacked := d.tableMax(), slotsIn(&d.run.opt.Shape, d.limit/8*tableShare)
	least, _ := d.packedMin()
	if most.Packed && (slots >= least || slots > unpacked) {
		return kernels.Table{Slots: min(max(slots, least), most.Slots), Packed: true}
	}
	return kernels.Table{Slots: max(min(slots, unpacked), 1)}
}

// tableHolds returns the most groups for which one table is expected to be enough. Searches of a
// packed table stay short until it is full.
func (d *device) tableHolds() float64 {
	t := d.tableMax()
	feedback := d.run.opt.feedback(t.Slots)
	if t.Packed {
		return feedback.PlannedGroups()
	}
	return feedback.GroupsMin()
}

// newTable makes the device's table, of `slots` slots if they fit.
func (d *device) newTable(slots int64, s *guardedStream) (err error) {
	shape := &d.run.opt.Shape
	tab := &table{Table: d.tableFor(slots), growth: 1}
	if err = d.alloc(&tab.buffer, tab.Bytes(shape)); err != nil {
		return err
	}
	tab.Memory = kernels.Span{Buffer: tab.buffer}
	d.table = tab
	if err := s.ResetTable(shape, tab.Table); err != nil {
		return errors.Join(err, d.finish(s))
	}
	return tab.follow(s)
}

func (d *device) dropTable() error {
	if d.table == nil {
		return nil
	}
	err := errors.Join(d.freeBuffer(&d.table.buffer), d.table.last.Close())
	d.table = nil
	return err
}

// follow lets the next load wait for the work that a stream has been given so far.
func (tab *table) follow(s *guardedStream) error {
	var err error
	if tab.last != nil {
		err = s.drop(tab.last)
		tab.last = nil
	}
	if err == nil {
		tab.last, err = s.Record()
	}
	return err
}

// insert enqueues a load of the table, after the loads before it. Requires: the device's lock is
// held.
func (t *Tile) insert(rows, overflow *kernels.Rows, status kernels.Span) error {
	tab := t.device.table
	return firstError(
		func() error { return t.stream.WaitFor(tab.last) },
		func() error { return t.stream.Insert(&t.device.run.opt.Shape, rows, tab.Table, overflow, status) },
		func() error { return tab.follow(t.stream) },
	)
}

// hasRoom reports whether the table may take a tile, and seals the table when it is full. Where
// hasRoom waited, the run may have gone on to another route: it returns false. Requires: d.mu is
// held.
func (d *device) hasRoom(t *Tile) bool {
	tab := d.table
	if tab.Sealed {
		return true
	}
	switch d.run.opt.feedback(tab.Slots).Admit(tab.groups, tab.growth, tab.loading, d.tableRows(t)) {
	case partition.Admitted:
		return true
	case partition.AdmitLater:
		d.idle.Wait()
		return false
	}
	tab.Sealed = true
	d.run.leaveRoute(RouteTable, d.foretellGroups())
	return false
}

// tableRows returns how many rows of a tile go to the table, about.
func (d *device) tableRows(t *Tile) int64 {
	resident, radix := d.run.Resident()
	if resident == 0 {
		return int64(t.Rows)
	}
	return int64(t.Rows) * int64(resident) >> radix
}

// foretellGroups returns how many groups all rows would have if they went on as the rows that have
// filled the table, whose groups were more than had been expected. Requires: d.mu is held.
func (d *device) foretellGroups() int64 {
	r := d.run
	r.mu.Lock()
	defer r.mu.Unlock()
	return partition.Continue(d.table.groups, r.counters.Rows, r.totalRows())
}

// lastGroups takes the groups of the table out of the device, and drops the table: all groups at
// once where pinned memory has room for them, else in parts. No tile is under way, and none will
// come: the memory of tiles is free.
func (d *device) lastGroups(take func(g *Groups, all bool) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.dropTiles(); err != nil {
		return err
	}
	shape, tab, t := &d.run.opt.Shape, d.table, d.tiles[0]
	room := d.limit - d.used
	l := newGroupLayout(shape, max(min(tab.groups, groupsIn(shape, room)), 1))
	step := tab.Slots
	if l.capacity < tab.groups {
		if step = l.capacity - slotsBehind; step < 1 {
			return fmt.Errorf("%d B of device memory for groups of %d B: %w", room, groupBytes(shape), kernels.ErrOutOfMemory)
		}
	}
	if err := d.alloc(&t.output, l.bytes); err != nil {
		return err
	}
	out := tableOut{device: d, tile: t, layout: l, take: take, all: d.pinnedGroups(tab.groups)}
	err := t.stream.WaitFor(tab.last)
	for first := int64(0); err == nil && first < tab.Slots; first += step {
		err = out.slots(first, min(first+step, tab.Slots))
	}
	if err == nil && out.done != tab.groups {
		err = fmt.Errorf("table of %d groups: %d came out", tab.groups, out.done)
	}
	if err == nil {
		err = errors.Join(d.freeBuffer(&t.output), d.dropTable())
	}
	if err != nil {
		if out.all != nil {
			d.orphan(out.all.pinned)
		}
		return errors.Join(err, t.closeMarks())
	}
	if out.all == nil {
		return nil
	}
	return d.unlocked(func() error { return take(out.all, true) })
}

// tableOut is the groups of a table on their way out.
type tableOut struct {
	device *device
	tile   *Tile // whose output takes the groups, on the device
	layout groupLayout
	take   func(g *Groups, all bool) error
	all    *Groups // takes all groups; nil where there is no room for all
	done   int64   // groups that are out
}

// slotsBehind is how many slots behind the last one a compaction up to the last slot reads, at
// most.
const slotsBehind = 4

// partBytes is the most bytes of a part, where the groups are too many for pinned memory.
const partBytes = 16 << 20

// slots takes out the groups of the slots [first, end) of the table. Requires: the device's lock is
// held; slots lets it go while it waits.
func (o *tableOut) slots(first, end int64) error {
	d, t, l := o.device, o.tile, &o.layout
	into := l.groups(kernels.Span{Buffer: t.output})
	err := firstError(
		func() error { return errors.Join(t.mark(0), t.mark(1)) },
		func() error { return t.stream.Compact(l.shape, d.table.Table, first, end, into) },
		func() error { return t.mark(2) },
		func() error { return t.stream.Copy(t.statusOut(into.Status)) },
	)
	if err = errors.Join(err, d.finishLocked(t.stream)); err != nil {
		return err
	}
	s := t.status()
	n := int64(s.Groups)
	if s.Overflow > 0 || o.done+n > d.table.groups {
		return fmt.Errorf("table of %d groups: %d of them and %d more in slots %d to %d, %d without room",
			d.table.groups, o.done, n, first, end, s.Overflow)
	}
	if o.all != nil {
		err := o.copyOut(0, o.all, o.done, n)
		o.done += n
		return err
	}
	step := max(min(partBytes, d.run.opt.PinnedLimit/setPinned)/groupBytes(l.shape), 1)
	for from := int64(0); from < n; from += step {
		part := min(step, n-from)
		invariants.Sometimes("stream: the groups of a table leave in parts")
		g := d.newGroups(part)
		if err := o.copyOut(from, g, 0, part); err != nil {
			d.orphan(g.pinned)
			return err
		}
		if err := d.unlocked(func() error { return o.take(g, false) }); err != nil {
			return err
		}
		o.done += part
	}
	return nil
}

// copyOut copies n of the compacted groups, from one on, to groups of the host, from row on.
// Requires: as slots.
func (o *tableOut) copyOut(from int64, g *Groups, row, n int64) error {
	d, t := o.device, o.tile
	copies := o.layout.copies(kernels.Span{Buffer: t.output}, from, g, row, n, true)
	d.bytesOut.Add(copiedBytes(copies))
	var errs []error
	for i := range t.marks[:lanes] { // of a part that is not the first, only this copy is marked
		if t.marks[i] == nil {
			errs = append(errs, t.mark(i))
		}
	}
	err := firstError(
		func() error { return errors.Join(errs...) },
		func() error { return t.stream.CopyBatch(copies) },
		func() error { return t.mark(lanes) },
	)
	if err = errors.Join(err, d.finishLocked(t.stream)); err != nil {
		return err
	}
	return t.note("compact")
}

// pinnedGroups returns n groups in pinned memory, or nil where there is no room.
func (d *device) pinnedGroups(n int64) *Groups {
	p, err := d.guard.allocPinned(n * groupBytes(&d.run.opt.Shape))
	if err != nil {
		return nil
	}
	g := hostGroups(&d.run.opt.Shape, p.Bytes(), n)
	g.pinned = p
	return g
}

// insertGroups merges groups of the host into the table; the CPU gets groups that find no slot. No
// tile is under way, and none will come.
func (d *device) insertGroups(g *Groups) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.dropTiles(); err != nil {
		return err
	}
	shape, t := &d.run.opt.Shape, d.tiles[0]
	// Half of the memory takes groups, and the other half the groups that are refused.
	l := newGroupLayout(shape, max(min(groupsIn(shape, (d.limit-d.used)/2), int64(g.Count)), 1))
	err := firstError(
		func() error { return d.alloc(&t.input, l.bytes) },
		func() error { return d.alloc(&t.output, l.bytes) },
		func() error { return t.stream.WaitFor(d.table.last) },
	)
	for row := int64(0); err == nil && row < int64(g.Count); row += l.capacity {
		err = d.insertGroupsAt(t, &l, g, row, min(l.capacity, int64(g.Count)-row))
	}
	if err != nil {
		d.orphan(g.pinned) // which the stream may still read
		g.pinned = nil
		return errors.Join(err, t.closeMarks())
	}
	return d.dropTiles()
}

// insertGroupsAt is insertGroups of n of the groups, from row on. Requires: the device's lock is
// held; insertGroupsAt lets it go while it waits.
func (d *device) insertGroupsAt(t *Tile, l *groupLayout, g *Groups, row, n int64) error {
	in, refused := l.groups(kernels.Span{Buffer: t.input}), l.groups(kernels.Span{Buffer: t.output})
	copies := l.copies(in.Status, 0, g, row, n, false)
	d.bytesIn.Add(copiedBytes(copies))
	err := t.send(
		func() error { return t.stream.CopyBatch(copies) },
		func() error { return t.stream.InsertGroups(l.shape, in, n, d.table.Table, refused, refused.Status) },
		func() error { return t.stream.Copy(t.statusOut(refused.Status)) },
	)
	if err = errors.Join(err, d.finishLocked(t.stream)); err != nil {
		return err
	}
	if err := errors.Join(t.note("merge"), d.table.follow(t.stream)); err != nil {
		return err
	}
	s := t.status()
	d.table.groups = int64(s.Groups)
	if s.Overflow == 0 {
		return nil
	}
	invariants.Sometimes("stream: a table refuses groups of another")
	out, err := d.groupsOut(l, refused.Status, int64(s.Overflow), t.stream, noCopy, noCopy)
	if err != nil {
		return err
	}
	return d.run.giveStates(out)
}
