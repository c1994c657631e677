package stream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/mpga/mpga/internal/invariants"
	"github.com/mpga/mpga/internal/spawn"
	"github.com/mpga/mpga/kernels"
	"github.com/mpga/mpga/partition"
)

// Route is what a run does with its tiles.
type Route uint8

// The routes. A run begins with the one that its first tile suggests, and goes on to a later one
// when the groups are more than it was chosen for.
const (
	// RouteAggregate: tiles are aggregated one by one, and their few groups leave the device.
	RouteAggregate Route = iota
	// RouteTable: one table takes all rows; P = 1.
	RouteTable
	// RouteHybrid: one table takes rows until it is full, and from then on the rows of keys that it
	// has. Other rows are scattered to partitions, as in a hybrid hash join, where some
	// partitions stay in memory and the others wait (DeWitt et al., SIGMOD 1984). Where a full
	// table is foreseen, it gets the partitions that it has room for, and is not asked for others.
	RouteHybrid
	// RouteScatter: rows are scattered to partitions, which are aggregated when all rows are there. It is
	// the route of folds that need all values of a group at once.
	RouteScatter
	// RouteGroups: each tile is aggregated, and its groups are scattered to partitions, which are aggregated when all
	// groups are there: MPEGA's route.
	RouteGroups
	// RoutePartition: rows are scattered to partitions, which Options.Parts aggregates. A run never
	// leaves it.
	RoutePartition
)

var routeNames = [...]string{
	RouteAggregate: "aggregate each tile", RouteTable: "one table",
	RouteHybrid: "one table and partitions", RouteScatter: "partitions",
	RouteGroups: "partitions of the groups of tiles", RoutePartition: "partitions for the CPU",
}

// String names the route for people.
func (r Route) String() string { return routeNames[r] }

// Run is the aggregation of one query. Any number of goroutines fill and submit tiles; then one
// calls EndInput and Process. Release comes last, always.
type Run struct {
	opt      Options
	waiting  rowShape        // of what waits in partitions: rows, or groups of tiles
	ctx      context.Context // done when the run has failed, or is released
	cancel   context.CancelCauseFunc
	devices  []*device
	free     chan *Tile     // tiles that may be filled
	work     sync.WaitGroup // tiles under way
	decoding sync.WaitGroup // encoded tiles that are not decoded
	resting  chan struct{}  // a place for each tile: rests of Options.Decoded that are under way
	decide   sync.Once      // chooses the first route

	mu       sync.Mutex // guards the fields below, until the input has ended
	route    Route
	estimate int64            // groups of all rows; 0 before the first tile
	sizing   partition.Sizing // by which radix was chosen; zero where it was fixed
	sized    bool             // the partitions have been chosen
	// how many of the highest bits of a hash name a partition; 0 before rows are scattered, or of one
	// partition
	radix      int
	firstRatio float64  // groups for each row of the first tile; 1 where it was not sampled
	resident   int      // RouteHybrid: the table takes partitions [0, resident); 0 means all
	blocks     []*block // partitions that wait
	held       *Groups  // of the table of RouteHybrid, while partitions are aggregated; nil otherwise
	reduces    float64  // the most groups a row that an aggregated set had; 0 before the first
	counters   Counters
	rankings   []*ranking // of columns whose values become ranks, once all rows have come

	account account // where invariants are checked
	closed  invariants.CloseChecker
}

// rowShape is the shape of rows, and which of its columns have NULLs.
type rowShape struct {
	*kernels.Shape
	nullable []bool
}

// bytes returns the bytes of a row; each of its bits counts as a byte.
func (s *rowShape) bytes() int64 { return rowBytes(s.Shape, s.nullable) }

// layout returns the layout of `rows` rows.
func (s *rowShape) layout(rows int64) layout { return newLayout(s.Shape, s.nullable, rows) }

// newRun returns a run that has no devices.
func newRun(opt Options) *Run {
	r := &Run{opt: opt}
	r.waiting = rowShape{&r.opt.Shape, opt.Nullable}
	if opt.Algorithm == MPEGA {
		if merged, err := mergedShape(&opt.Shape); err == nil { // else Validate tells
			r.waiting = rowShape{&merged, make([]bool, len(merged.Columns))}
		}
	}
	return r
}

// New allocates the ring of each device. An error of a device is ErrDevice. The run is to be
// released after an error, too.
func New(ctx context.Context, opt Options) (*Run, error) {
	streams := opt.Streams
	opt.EnsureDefaults()
	opt.Shape.Folds = slices.Clone(opt.Shape.Folds) // whose units the run chooses
	r := newRun(opt)
	r.closed.Open("a run")
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	if err := opt.Validate(); err != nil {
		return r, err
	}
	return r, spawn.Call(func() error { return r.open(streams) })
}

// open opens the devices, and makes their tiles free. streams is Options.Streams as it was given.
func (r *Run) open(streams int) error {
	for i, dev := range r.opt.Devices {
		r.devices = append(r.devices, newDevice(r, i, dev))
	}
	if err := r.layOut(streams); err != nil {
		return failure(err)
	}
	for _, d := range r.devices {
		if err := d.open(); err != nil {
			return failure(err)
		}
	}
	tiles := len(r.devices) * r.opt.Streams
	r.free, r.resting = make(chan *Tile, tiles), make(chan struct{}, tiles)
	for i := range r.opt.Streams {
		for _, d := range r.devices {
			r.free <- d.tiles[i]
		}
	}
	return nil
}

// Tile waits for a tile to fill. It returns the cause when the context is done or the run has
// failed.
func (r *Run) Tile(ctx context.Context) (*Tile, error) {
	select {
	case t := <-r.free:
		return t, context.Cause(r.ctx)
	case <-r.ctx.Done():
		return nil, context.Cause(r.ctx)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// TryTile is Tile without the wait: it returns nil when all tiles are under way.
func (r *Run) TryTile() (*Tile, error) {
	select {
	case t := <-r.free:
		return t, context.Cause(r.ctx)
	default:
		return nil, context.Cause(r.ctx)
	}
}

// put makes a tile free to be filled.
func (r *Run) put(t *Tile) {
	t.Rows, t.Encoded, t.decoded = 0, nil, false
	r.free <- t
}

// Submit hands a tile over. It may wait for other tiles, and returns ErrDevice when the run has
// failed.
func (r *Run) Submit(t *Tile) error {
	if t.Rows == 0 {
		r.put(t)
		return nil
	}
	r.decide.Do(func() { r.fail(r.choose(t)) })
	if err := context.Cause(r.ctx); err != nil {
		return err
	}
	err := spawn.Call(func() error { return t.device.submit(t) })
	r.fail(err)
	return err
}

// fail ends the run with an error, if there is one.
func (r *Run) fail(err error) {
	if err == nil {
		return
	}
	if invariants.Enabled {
		checkFailure(err)
	}
	r.cancel(err)
}

// TileRows returns the capacity of a tile.
func (r *Run) TileRows() int {
	if len(r.devices) == 0 {
		return 0
	}
	return int(r.devices[0].layout.capacity)
}

// Tiles returns how many tiles there are.
func (r *Run) Tiles() int { return cap(r.free) }

// Route returns the present route, and the groups that were expected when it was chosen.
func (r *Run) Route() (Route, int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.route, r.estimate
}

// rowsUnknown stands in for the size of an input that does not tell it.
const rowsUnknown = 1 << 30

// reductionMin is how many rows a group of a tile has at least for the tile to be aggregated by
// itself: groups of fewer rows would be merged no faster than the rows are aggregated.
const reductionMin = 4

// totalRows returns how many rows are expected.
func (r *Run) totalRows() int64 {
	if r.opt.Rows > 0 {
		return r.opt.Rows
	}
	return rowsUnknown
}

// choose picks the route by the groups of the first tile.
func (r *Run) choose(t *Tile) error {
	groups, exact, ratio := r.opt.Groups, r.opt.Shape.ExactFolds() > 0, 1.0
	if groups == 0 || exact {
		distinct, err := t.device.sample(t)
		ratio = float64(distinct) / float64(t.Rows)
		if err == nil && exact {
			err = r.chooseUnits(t)
		}
		if err != nil {
			return err
		}
		if groups == 0 {
			groups = partition.EqualGroups(int64(t.Rows), distinct, max(r.totalRows(), int64(t.Rows)))
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.estimate, r.firstRatio = max(groups, 1), ratio
	if parts := r.opt.Parts; parts != nil {
		r.route, r.radix, r.sized = RoutePartition, parts.Radix(r.estimate), true
		r.counters.Partitions = 1 << r.radix
	} else {
		r.route = r.devices[0].routeFor(groups)
	}
	r.counters.Routes = append(r.counters.Routes, r.route)
	return nil
}

// routeFor returns the route for an input of `groups` groups.
func (d *device) routeFor(groups int64) Route {
	rows := d.layout.capacity
	switch {
	case d.run.opt.Algorithm == MPEGA:
		return RouteGroups
	case d.run.opt.isLate() || d.run.opt.Algorithm != Auto:
		return RouteScatter
	case groups <= rows/reductionMin && d.planFor(&d.run.opt.Shape, rows, groups).Kernel == kernels.KernelShared:
		return RouteAggregate
	case float64(groups) <= d.tableHolds():
		return RouteTable
	case d.hybridPays(groups):
		return RouteHybrid
	}
	return RouteScatter
}

// hybridShareMin is the least part of the groups for which a table beside partitions is worth its
// while.
const hybridShareMin = 0.1

// hybridPays reports whether a table beside partitions is worth its while: the table has room for
// some part of all groups, and the rows of that part would take more memory than its slots. The
// tables of several devices would have groups of one key, which the CPU would have to merge.
func (d *device) hybridPays(groups int64) bool {
	o := &d.run.opt
	t := d.tableMax()
	holds, group := o.feedback(t.Slots).GroupsMax(), float64(t.Bytes(&o.Shape))/o.feedback(max(t.Slots, 1)).GroupsMax()
	row := float64(d.run.waiting.bytes())
	return len(o.Devices) == 1 && holds > hybridShareMin*float64(groups) &&
		float64(d.run.totalRows())*row > float64(groups)*group
}

// leaveRoute goes on from a route that has turned out to be for fewer groups, unless another tile
// has done so. groups is a better estimate.
func (r *Run) leaveRoute(from Route, groups int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.route != from {
		return
	}
	invariants.Sometimes("stream: a route is left for another")
	r.estimate = max(r.estimate, groups)
	r.route = max(r.devices[0].routeFor(r.estimate), RouteTable)
	if from == RouteTable {
		r.route = RouteHybrid
	}
	r.counters.Routes = append(r.counters.Routes, r.route)
}

// EndInput waits until all tiles that were submitted are where their route takes them, and the CPU
// has all groups that it is to have before partitions are processed.
func (r *Run) EndInput() error {
	r.work.Wait()
	if err := context.Cause(r.ctx); err != nil {
		return err
	}
	err := r.checkUnits()
	if err == nil {
		err = r.mergeTables()
	}
	if err == nil {
		err = r.holdTable()
	}
	err = wrapDevice(err)
	r.fail(err)
	if invariants.Enabled && err == nil {
		r.account.endInput(r)
	}
	return err
}

// Release gives everything back, once nobody uses the run any more. A device that does not answer
// gives back when it answers: released is closed then, and otherwise at once.
func (r *Run) Release() (released <-chan struct{}, err error) {
	r.closed.Close()
	r.cancel(context.Canceled)
	r.work.Wait()
	done := make(chan struct{})
	err = r.release()
	for _, d := range r.devices {
		if bug := d.guard.bug.Load(); bug != nil {
			err = errors.Join(err, *bug)
		}
	}
	if !r.silent() {
		close(done)
		return done, err
	}
	spawn.Go(func() error {
		for r.silent() {
			for _, d := range r.devices {
				d.guard.awaken()
			}
			_ = r.release()
		}
		return nil
	}, func(error) { close(done) }) // nobody is left to be told of errors
	if errors.Is(err, spawn.ErrInternal) {
		return done, err
	}
	return done, nil
}

// silent reports whether a device does not answer.
func (r *Run) silent() bool {
	return slices.ContainsFunc(r.devices, func(d *device) bool { return d.guard.silent() })
}

// release gives everything back, unless a device is silent. It may be called again.
func (r *Run) release() error {
	var errs []error
	for _, d := range r.devices {
		errs = append(errs, d.stop())
	}
	if r.silent() {
		return errors.Join(errs...) // the silent device may be using memory of the others
	}
	for _, b := range r.blocks {
		errs = append(errs, b.release())
	}
	r.blocks = nil
	if r.held != nil {
		errs = append(errs, r.held.Release())
		r.held = nil
	}
	for _, d := range r.devices {
		errs = append(errs, d.release())
	}
	return errors.Join(errs...)
}

// Counters tell what a run has done.
type Counters struct {
	Routes       []Route // in order
	Estimate     int64   // groups of all rows
	Tiles        int64   // submitted
	Rows         int64   // submitted
	Decoded      int64   // rows that devices have decoded
	Kept         int64   // of these, that have passed a filter there
	Refused      int64   // rows that devices could not decode
	NewStrings   int64   // strings that were new to a device
	RowsOut      int64   // given to TakeRows, or to Parts
	GroupsOut    int64   // given to TakeStates
	BytesIn      int64   // copied to devices
	BytesEncoded int64   // of these, pages
	BytesOut     int64   // copied from devices
	CopyIn       int64   // nanoseconds in which some tile or partition was copied in, by the device's clock
	Kernel       int64   // nanoseconds in which some tile or partition was aggregated or scattered
	CopyOut      int64   // nanoseconds in which some tile or partition was copied out
	Busy         int64   // nanoseconds in which any of the three happened
	Partitions   int     // 2^RadixBits; 0 if rows were never scattered
	Resident     int     // partitions that a table was planned for
	Sizing       partition.Sizing
	Sizes        []int64   // rows of each partition
	Tasks        []int64   // rows of each set of partitions after the merge
	Rounds       int64     // feedback loads
	Probes       int64     // slots of tables in device memory that rows looked at, of kernels that count them
	Probed       int64     // rows of these kernels
	Loads        []float64 // load factors after the first loadsKept feedback loads
	Split        int64     // sets of partitions that were split again
	OnCPU        int64     // sets of partitions that the CPU had to finish
	KeptBytes    int64     // of partitions that stayed on devices
	HostBytes    int64     // of partitions in pinned memory
	DevicePeak   int64     // bytes of device memory: the sum of the devices' peaks
}

// Counters returns what the run has done so far.
func (r *Run) Counters() Counters {
	r.mu.Lock()
	c := r.counters
	c.Estimate, c.Sizing, c.Sizes = r.estimate, r.sizing, slices.Clone(c.Sizes)
	r.mu.Unlock()
	for _, d := range r.devices {
		d.addTo(&c)
	}
	return c
}

func (r *Run) count(f func(*Counters)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f(&r.counters)
}

// loadsKept is how many load factors the counters keep.
const loadsKept = 1 << 10

func (r *Run) countLoad(groups, slots int64) {
	r.count(func(c *Counters) {
		c.Rounds++
		if len(c.Loads) < loadsKept {
			c.Loads = append(c.Loads, float64(groups)/float64(slots))
		}
	})
}

// countProbes counts the slots that rows looked at, if the kernel has.
func (r *Run) countProbes(s kernels.GroupsStatus) {
	if s.Probes > 0 {
		r.count(func(c *Counters) { c.Probes, c.Probed = c.Probes+int64(s.Probes), c.Probed+int64(s.Rows+s.Overflow) })
	}
}

// countOnCPU counts a set of partitions that the CPU has to finish.
func (r *Run) countOnCPU() { r.count(func(c *Counters) { c.OnCPU++ }) }

// takeRows gives the rows of a tile to the CPU.
func (r *Run) takeRows(t *Tile) error {
	r.count(func(c *Counters) { c.RowsOut += int64(t.Rows) })
	if invariants.Enabled {
		r.account.note(t.Keys, t.Rows, r.opt.Shape.KeyBytes, false)
	}
	return r.opt.TakeRows(r.ctx, t)
}

// takeWaiting gives what waited in partitions to the CPU: rows, or groups of tiles.
func (r *Run) takeWaiting(t *Tile) error {
	if r.opt.Algorithm != MPEGA {
		return r.takeRows(t)
	}
	return r.takeStates(&Groups{Shape: &r.opt.Shape, Count: t.Rows, Keys: t.Keys, States: t.Columns})
}

// waitingOf returns how many rows wait in partitions where the input has `rows` rows: all of them, or, of MPEGA, the
// groups of their tiles.
// Requires: r.mu is held.
func (r *Run) waitingOf(rows int64) int64 {
	if r.opt.Algorithm != MPEGA {
		return rows
	}
	return max(int64(float64(rows)*r.firstRatio), 1)
}

// takeParts gives the rows of a scattered tile to Options.Parts.
func (r *Run) takeParts(t *Tile, offsets []uint64) error {
	r.count(func(c *Counters) {
		c.RowsOut += int64(t.Rows)
		if c.Sizes == nil {
			c.Sizes = make([]int64, len(offsets)-1)
		}
		for p := range c.Sizes {
			c.Sizes[p] += int64(offsets[p+1] - offsets[p])
		}
	})
	return r.opt.Parts.Take(r.ctx, t, offsets)
}

// takeStates gives groups to the CPU.
func (r *Run) takeStates(g *Groups) error {
	r.count(func(c *Counters) { c.GroupsOut += int64(g.Count) })
	if invariants.Enabled {
		r.account.note(g.Keys, g.Count, r.opt.Shape.KeyBytes, false)
	}
	return r.opt.TakeStates(r.ctx, g)
}

func errorf(format string, args ...any) error { return failure(fmt.Errorf(format, args...)) }
