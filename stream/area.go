package stream

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/mpga/mpga/internal/invariants"
	"github.com/mpga/mpga/kernels"
	"github.com/mpga/mpga/partition"
)

// areaLayout is how the memory of an area is shared out.
type areaLayout struct {
	rows    layout
	groups  groupLayout
	scratch int64
}

func (d *device) areaLayout(rows int64) areaLayout {
	s := &d.run.waiting
	return areaLayout{
		rows:   s.layout(rows),
		groups: newGroupLayout(s.Shape, rows),
		scratch: max(d.planFor(s.Shape, rows, rows).AggregateScratch(s.Shape, rows, d.props),
			s.TableBytes(1)+align(statusBytes), scatterBytes(splitBitsMax)),
	}
}

func (l *areaLayout) bytes() int64 { return l.rows.bytes + l.groups.bytes + align(l.scratch) }

// areaRows returns the most rows of an area of `bytes` bytes.
func (d *device) areaRows(bytes int64) int64 {
	const step = areaStep
	s := d.run.waiting.Shape
	most := min(d.run.opt.PinnedLimit/setPinned/groupBytes(s), math.MaxUint32) / step // kernels list rows by 32 bits
	// In steps: the first fits, or nothing does.
	low, high := int64(1), min(bytes/step/int64(s.KeyBytes)+1, max(most, 1))+1
	for high-low > 1 {
		mid := (low + high) / 2
		if l := d.areaLayout(mid * step); l.bytes() <= bytes {
			low = mid
		} else {
			high = mid
		}
	}
	return low * step
}

// area is the memory in which one partition at a time is aggregated.
type area struct {
	markedStream
	memory kernels.Buffer
	layout areaLayout
	host   []byte         // a status, or offsets, in areaHeadBytes; then the bitmaps of a load
	pinned kernels.Pinned // holds host; nil where host is ordinary memory
}

// areaStep is what the rows of an area are a multiple of.
const areaStep = 32

// newArea returns an area of `rows` rows, or of as many as `bytes` bytes have room for.
func (d *device) newArea(number int, bytes, rows int64) (*area, error) {
	rows = min(d.areaRows(bytes), ceilDiv(rows, areaStep)*areaStep)
	a := &area{layout: d.areaLayout(rows), markedStream: markedStream{device: d, number: len(d.tiles) + number}}
	d.mu.Lock()
	err := d.alloc(&a.memory, a.layout.bytes())
	d.mu.Unlock()
	if err == nil {
		a.stream, err = d.guard.newStream()
	}
	if err != nil {
		return nil, errors.Join(err, a.release())
	}
	a.host, a.pinned = d.hostMemory(areaHeadBytes + a.layout.rows.bytes - a.layout.rows.bitmaps)
	return a, nil
}

func (a *area) release() error {
	_ = a.stop() // the work has told its errors
	a.device.mu.Lock()
	defer a.device.mu.Unlock()
	return errors.Join(a.device.freeBuffer(&a.memory), freePinned(&a.pinned))
}

func (a *area) groupsAt() kernels.Span {
	return kernels.Span{Buffer: a.memory, Offset: a.layout.rows.bytes}
}

func (a *area) scratchAt() kernels.Span {
	return a.groupsAt().At(a.layout.groups.bytes)
}

// process aggregates a set of partitions and emits their groups.
func (a *area) process(ctx context.Context, set []int, rows int64, emit func(context.Context, *Groups) error) error {
	r := a.device.run
	in := &pieces{blocks: r.blocks, ranges: rangesOf(set)}
	sorts := r.waiting.Sorts()
	if sorts && slices.ContainsFunc(set, r.opt.OnCPU) {
		invariants.Sometimes("stream: the CPU has rows of a set whose groups cannot be merged")
		r.countOnCPU()
		return r.takePieces(in, rows)
	}
	if sorts && rows > a.layout.rows.capacity && float64(a.layout.rows.capacity)*r.groupsPerRow(rows) < 1 {
		invariants.Sometimes("stream: the groups of a set are too large to be sorted")
		r.countOnCPU()
		return r.takePieces(in, rows)
	}
	if rows > a.layout.rows.capacity {
		switch a.oversized(rows) {
		case OversizedSplit:
			return a.split(ctx, set, in, rows, emit)
		case OversizedCPU:
			r.countOnCPU()
			return r.takePieces(in, rows)
		}
	}
	groups, err := a.groupsOf(in, rows)
	if err == nil && groups == nil {
		r.countOnCPU()
	}
	if err != nil || groups == nil {
		return err
	}
	groups.Partitions, groups.Rows = set, rows
	return taken(emit(ctx, groups))
}

// oversized returns what becomes of a set of more rows than the area has room for. A table has no folds that sort.
func (a *area) oversized(rows int64) string {
	r := a.device.run
	switch of := r.opt.Oversized; {
	case r.waiting.Sorts() && of != OversizedCPU:
		return OversizedSplit
	case of != "":
		return of
	case r.opt.Algorithm == MPEGA:
		return OversizedFeedback
	case r.opt.Algorithm != Auto || float64(r.expect(rows)) > r.opt.feedback(a.feedSlots()).GroupsMax():
		return OversizedSplit
	}
	return OversizedFeedback
}

// groupsOf returns the groups of rows; nil, where the CPU has got them. Requires: the area takes rows of folds
// that sort at once.
func (a *area) groupsOf(in *pieces, rows int64) (*Groups, error) {
	if rows <= a.layout.rows.capacity {
		return a.aggregate(in, rows)
	}
	return a.feed(in, rows)
}

// planForAll returns a plan for as many groups as rows, whose scratch the area has: fewer rows may
// ask for more scratch.
func (a *area) planForAll(rows int64) kernels.Plan {
	d, shape := a.device, a.device.run.waiting.Shape
	plan := d.planFor(shape, rows, rows)
	if plan.AggregateScratch(shape, rows, d.props) > a.layout.scratch {
		capacity := a.layout.rows.capacity
		plan = d.planFor(shape, capacity, capacity)
	}
	return plan
}

// planOf returns a plan for a number of groups, whose scratch the area has.
func (a *area) planOf(rows, groups int64) kernels.Plan {
	d, shape := a.device, a.device.run.waiting.Shape
	plan := d.planFor(shape, rows, groups)
	if plan.AggregateScratch(shape, rows, d.props) > a.layout.scratch {
		plan = a.planForAll(rows)
	}
	return plan
}

// aggregate groups all rows of a set at once.
func (a *area) aggregate(in *pieces, rows int64) (*Groups, error) {
	d, shape := a.device, a.device.run.waiting.Shape
	expected := d.run.expect(rows)
	defer func() { _ = a.closeMarks() }()
	into := a.layout.groups.groups(a.groupsAt())
	status := a.host[:statusBytes]
	loaded := a.layout.rows.rows(a.memory, 0, rows)
	run := func(plan kernels.Plan) (kernels.GroupsStatus, error) {
		err := firstError(
			func() error { return a.stream.Aggregate(shape, plan, &loaded, into, a.scratchAt()) },
			func() error { return a.mark(2) },
			func() error { return a.stream.Copy(kernels.Copy{Device: into.Status, Host: status, Out: true}) },
		)
		if err = errors.Join(err, d.finish(a.stream)); err != nil {
			return kernels.GroupsStatus{}, err
		}
		return kernels.StatusOf(status), nil
	}
	err := a.load(in, rows, &a.layout.rows)
	if err == nil {
		err = a.rank(&loaded)
	}
	isChen := d.run.opt.Algorithm == Chen && !shape.Sorts()
	if err == nil && isChen {
		expected, err = a.groupsByTriples(&loaded)
	}
	if err != nil {
		return nil, errors.Join(err, d.finish(a.stream))
	}
	plan := a.planOf(rows, expected)
	s, err := run(plan)
	for isChen && err == nil && expected < rows && isChenFull(s, plan) {
		expected = moreGroups(s, expected, rows)
		plan = a.planOf(rows, expected)
		_ = d.guard.closeEvents(a.marks[2:3])
		s, err = run(plan)
	}
	if err == nil && s.Overflow > 0 {
		invariants.Sometimes("stream: a set has more groups than were expected")
		_ = d.guard.closeEvents(a.marks[2:3])
		s, err = run(a.planForAll(rows)) // the plan for as many groups as rows
	}
	if err != nil {
		return nil, err
	}
	d.run.learn(rows, int64(s.Groups))
	d.run.countProbes(s)
	if s.Overflow > 0 {
		return nil, errorf("device %d: %d of %d rows found no slot, though each could have one", d.number, s.Overflow, rows)
	}
	if invariants.Enabled {
		checkStatus(s, rows)
	}
	d.mu.Lock()
	groups, err := a.copyOut(int64(s.Groups), noCopy, func() error { return a.mark(3) })
	d.mu.Unlock()
	if err == nil {
		_ = a.note("aggregate") // its work has told its errors
	}
	return groups, err
}

// expect returns the groups that rows of some partitions may have: by the partitions that were
// aggregated before, and, until then, by the estimate for all rows.
func (r *Run) expect(rows int64) int64 { return partition.Expect(r.groupsPerRow(rows), rows) }

// groupsPerRow is the ratio that expect goes by, which has no margin.
func (r *Run) groupsPerRow(rows int64) float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.reduces > 0 {
		return r.reduces
	}
	return float64(r.estimate) / float64(max(r.waitingOf(r.opt.Rows), rows))
}

// learn notes how many groups rows had.
func (r *Run) learn(rows, groups int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reduces = max(r.reduces, float64(groups)/float64(rows))
}

// copyOut is groupsOut of the area's groups. Requires: the device's lock is held.
func (a *area) copyOut(n int64, work, after func() error) (*Groups, error) {
	return a.device.groupsOut(&a.layout.groups, a.groupsAt(), n, a.stream, work, after)
}

// feedSlots returns the slots of the table of a feedback load: the table has the memory of the
// scratch, but for the status, and no more slots than there is room for groups when it is
// compacted.
func (a *area) feedSlots() int64 {
	s := a.device.run.waiting.Shape
	return min(max(slotsIn(s, align(a.layout.scratch)-align(statusBytes)), 1), a.layout.groups.capacity)
}

// half is the layout of half as many rows, so that the memory of the area's rows takes two such
// layouts.
func (a *area) half() layout {
	s := &a.device.run.waiting
	half := s.layout(a.layout.rows.capacity / 2)
	for half.bytes*2 > a.layout.rows.bytes { // since columns are aligned
		half = s.layout(half.capacity / 2)
	}
	return half
}

// feed loads the rows of a set into a table, load by load (section 4.2.2). When the table is full,
// the CPU gets its groups and the rows that are left, and feed returns nil.
func (a *area) feed(in *pieces, rows int64) (*Groups, error) {
	d := a.device
	r, shape := d.run, d.run.waiting.Shape
	slots := a.feedSlots()
	feedback := r.opt.feedback(slots)
	at := a.scratchAt()
	tab := kernels.Table{Slots: slots, Memory: at.At(align(statusBytes))}
	half := a.half()
	if half.capacity == 0 {
		return nil, r.takePieces(in, rows)
	}
	if err := a.stream.ResetTable(shape, tab); err != nil {
		return nil, errors.Join(err, d.finish(a.stream))
	}
	status := a.host[:statusBytes]
	defer func() { _ = a.closeMarks() }()
	var groups, refused int64
	for rows > 0 {
		n := feedback.Next(groups, rows, half.capacity)
		if n == 0 {
			break
		}
		overflow := half.rows(a.memory, half.bytes, n)
		loaded := half.rows(a.memory, 0, n)
		err := firstError(
			func() error { return a.load(in, n, &half) },
			func() error { return a.rank(&loaded) },
			func() error { return a.stream.Insert(shape, &loaded, tab, &overflow, at) },
			func() error { return a.mark(2) },
			func() error { return a.stream.Copy(kernels.Copy{Device: at, Host: status, Out: true}) },
			func() error { return a.mark(3) },
		)
		if err = errors.Join(err, d.finish(a.stream)); err != nil {
			return nil, err
		}
		_ = a.note("insert")
		s := kernels.StatusOf(status)
		if invariants.Enabled {
			checkStatus(s, n)
		}
		groups = int64(s.Groups)
		r.countLoad(groups, slots)
		r.countProbes(s)
		rows -= n
		if s.Overflow > 0 {
			invariants.Sometimes("stream: a table refuses rows of a load")
			refused += int64(s.Overflow)
			if err := a.takeOverflow(&half, int64(s.Overflow)); err != nil {
				return nil, err
			}
		}
	}
	out, err := a.compact(tab, groups)
	if err != nil {
		return nil, err
	}
	if rows == 0 && refused == 0 {
		return out, nil
	}
	invariants.Sometimes("stream: a set does not fit the table that it is loaded into")
	return nil, errors.Join(r.giveStates(out), r.takePieces(in, rows))
}

// compact copies the groups of a table that has been fed to the host.
func (a *area) compact(tab kernels.Table, groups int64) (*Groups, error) {
	d := a.device
	d.mu.Lock()
	out, err := a.copyOut(groups, func() error {
		return firstError(
			func() error { return errors.Join(a.mark(0), a.mark(1)) },
			func() error {
				return a.stream.Compact(d.run.waiting.Shape, tab, 0, tab.Slots,
					a.layout.groups.groups(a.groupsAt()))
			},
			func() error { return a.mark(2) },
		)
	}, func() error { return a.mark(3) })
	d.mu.Unlock()
	if err != nil {
		return nil, err
	}
	_ = a.note("compact")
	return out, nil
}

// takeOverflow gives the rows that a table has refused to the CPU.
func (a *area) takeOverflow(l *layout, n int64) error {
	d := a.device
	host, pinned := d.hostMemory(l.bytes)
	if err := d.copyOut(a.stream, l.copies(a.memory, l.bytes, host, n, true)); err != nil {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.orphan(pinned)
		return err
	}
	rows := hostTile(l, host, n)
	d.run.unrank(rows)
	return errors.Join(taken(d.run.takeWaiting(rows)), freePinned(&pinned))
}
