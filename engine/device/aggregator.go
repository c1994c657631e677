package device

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/mpga/mpga/engine/internal/aggregator"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/spawn"
	"github.com/mpga/mpga/internal/threads"
	"github.com/mpga/mpga/stream"
)

// Aggregator aggregates by devices beside the CPU where they suit the query, and otherwise by the
// CPU alone:
//
//	Begin --devices are open, and asked for-> devices and CPU --a device fails-> Release -> Begin: the CPU takes the rest
//	   \--devices may be of use----> opening --open----^
//	    \--no device suits the query-----------\-not opened, or not worth it-> CPU --it takes long: changeover--> devices and CPU
type Aggregator struct {
	query  *Query
	stats  Stats
	layout *Layout // of the last Begin; nil where devices do not suit the query
	// devices that open while readers read; nil where none were to be opened since Begin
	opening *opening
	devices atomic.Pointer[coprocessor] // nil when the CPU aggregates
	change  *changeover                 // nil where the CPU aggregates whatever happens, or devices do
	failed  bool                        // the devices, before the last Begin
	refused bool                        // splits of the input, which devices do not take again
	late    bool                        // devices were opened while the input was read, which then took longer

	rest    *rest        // what the devices of before the last Begin have left to the CPU; nil for all of the input
	filters []*rowFilter // of the rows of rest, by worker; nil where rest is
}

var _ aggregator.Aggregator = (*Aggregator)(nil)

// NewAggregator returns an aggregator that must be released. It releases the query's CPU, too.
func NewAggregator(q *Query) *Aggregator { return &Aggregator{query: q} }

// Begin implements aggregator.Aggregator.
func (a *Aggregator) Begin(ctx context.Context) error {
	if err := a.query.CPU.Begin(ctx); err != nil {
		return err
	}
	a.refused = false
	if a.failed {
		return a.beginRest()
	}
	layout, err := a.query.suits()
	a.layout = layout
	if a.query.insists(err) {
		return a.beginNamed(ctx, layout, err)
	}
	a.change = a.newChangeover(ctx, layout)
	opened, asked := a.query.Devices.Opened(), a.query.Devices.Asked()
	switch {
	case err != nil:
		a.chose(nil, err)
	case opened && asked:
		var devices *coprocessor
		devices, err = a.open(ctx, layout, Size{})
		a.chose(devices, err)
	default:
		a.late = !opened
		measure := func(ctx context.Context) (Size, error) {
			size, err := a.query.measure(layout, func() (Size, error) { return a.query.Forecast(ctx) })
			if err != nil && size.Rows > 0 {
				a.query.Devices.missed(a.query.compare(layout, size, a.query.Devices.rates.fastestLink()).saves(size.Rows))
			}
			return size, err
		}
		open := func(ctx context.Context, size Size) (*coprocessor, error) { return a.open(ctx, layout, size) }
		a.opening = newOpening(ctx, a.query.CPU.MemoryLimit()/openingShare, measure, open)
	}
	if errors.Is(err, spawn.ErrInternal) {
		return err
	}
	return nil
}

// beginNamed is Begin for the algorithm that the user asked for, which does the query, or nothing does. err is why it
// cannot.
func (a *Aggregator) beginNamed(ctx context.Context, layout *Layout, err error) error {
	var devices *coprocessor
	if err == nil {
		devices, err = a.open(ctx, layout, Size{})
	}
	switch {
	case err == nil:
		a.chose(devices, nil)
		return nil
	case context.Cause(ctx) != nil || errors.Is(err, spawn.ErrInternal):
		return err
	}
	return a.query.refuse(err)
}

// open opens devices for the query, or returns why the CPU is to aggregate.
func (a *Aggregator) open(ctx context.Context, layout *Layout, size Size) (*coprocessor, error) {
	devices, rates, err := a.query.open(ctx, layout, size)
	a.stats.Rates = rates
	return devices, err
}

// chose notes which devices aggregate, or why the CPU does.
func (a *Aggregator) chose(devices *coprocessor, err error) {
	if err == nil {
		devices.describe(&a.stats)
		devices.begin(a.query.CPU.Workers())
		a.devices.Store(devices)
		return
	}
	if a.change != nil {
		a.change.watch(err)
	}
	a.stats.Reason = err.Error()
	level := slog.LevelDebug
	if a.query.Devices.Asked() && err != errGroups {
		level = slog.LevelWarn
	}
	a.query.Devices.log.Log(context.Background(), level, "the CPU aggregates", slog.Any("reason", err))
}

// beginRest makes the CPU ready for what devices that failed have left.
func (a *Aggregator) beginRest() error {
	if a.rest == nil {
		return nil
	}
	for range a.query.Workers {
		a.filters = append(a.filters, a.rest.newFilter())
	}
	return a.rest.addHeld(a.query.CPU.Workers()[0])
}

// Take implements aggregator.Aggregator. While devices open, rows wait.
func (a *Aggregator) Take(ctx context.Context, r *aggregator.Rows, from, to int) (int, error) {
	if o := a.opening; o != nil && !o.settled.Load() {
		if n := o.hold(r.Piece(), from, to); n > 0 {
			return n, nil
		}
		if err := a.settle(ctx, r.Thread); err != nil {
			return 0, err
		}
	}
	devices := a.devicesFor(r)
	switch {
	case devices != nil:
		return devices.filler.take(ctx, r, from, to)
	case a.filters != nil:
		r.Thread.Does(threads.WorkAggregate)
		to = min(to, from+rowdata.TileRows)
		filter, worker := a.filters[r.Worker], a.query.CPU.Workers()[r.Worker]
		return to - from, r.Tiles(from, to, func(t *rowdata.Tile) error { return worker.Add(filter.keep(t)) })
	}
	return a.query.CPU.Take(ctx, r, from, to)
}

// Absent reports whether no device takes part, to a worker whose rows the CPU takes.
func (a *Aggregator) Absent() bool { return a.devices.Load() == nil }

// settle waits until the devices are open, or it is known why the CPU aggregates.
func (a *Aggregator) settle(ctx context.Context, th *threads.Thread) error {
	o := a.opening
	th.Does("")
	th.Give()
	select {
	case <-o.done:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	o.choose(a)
	if errors.Is(o.err, spawn.ErrInternal) {
		return o.err
	}
	return th.Take(ctx)
}

// EndInput implements aggregator.Aggregator.
func (a *Aggregator) EndInput(ctx context.Context) ([]scan.Split, error) {
	if refused, err := a.decoded(); err != nil || len(refused) > 0 {
		return refused, err
	}
	return nil, a.endBatches(ctx)
}

// endBatches is EndInput once no split waits to be decoded.
func (a *Aggregator) endBatches(ctx context.Context) error {
	if a.opening != nil {
		if !a.query.Devices.Asked() && !a.query.Devices.Opened() && a.opening.isLate(ctx, a.query) {
			a.opening.leave(a)
		}
		if err := a.query.Parallel(ctx, a.takeHeld); err != nil {
			return err
		}
	}
	if c := a.devices.Load(); c != nil {
		if a.change != nil {
			a.change.lendAll(c)
		}
		return c.endInput()
	}
	return nil
}

// takeHeld takes pieces that have waited, as one of the workers.
func (a *Aggregator) takeHeld(ctx context.Context, worker int, th *threads.Thread) error {
	if err := a.settle(ctx, th); err != nil {
		return err
	}
	r := a.query.NewRows(worker, th)
	for {
		p, ok := a.opening.next()
		if !ok {
			return nil
		}
		if err := a.takePiece(ctx, r, p); err != nil {
			return err
		}
		if err := th.Yield(ctx); err != nil {
			return err
		}
	}
}

// takePiece takes all rows of a piece, and gives its batch back.
func (a *Aggregator) takePiece(ctx context.Context, r *aggregator.Rows, p aggregator.Piece) error {
	defer p.Batch.Release()
	if err := r.SetPiece(p); err != nil {
		return err
	}
	for from := p.From; from < p.To; {
		spawn.Step()
		n, err := a.Take(ctx, r, from, p.To)
		if err == nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return err
		}
		from += n
	}
	return nil
}

// Process implements aggregator.Aggregator: what the CPU's workers have comes last.
func (a *Aggregator) Process(ctx context.Context) error {
	if c := a.devices.Load(); c != nil {
		process := c.process
		if c.layout.forCPU() != nil {
			process = func(context.Context) error { return a.releaseDevices(nil) } // others may have them
		}
		if err := process(ctx); err != nil {
			return err
		}
	}
	return a.query.CPU.Process(ctx)
}

// Release implements aggregator.Aggregator. After a device has failed, the CPU alone can begin
// anew.
func (a *Aggregator) Release(cause error) (again bool, err error) {
	var bug error
	if a.opening != nil {
		bug = a.opening.end(a)
		a.opening = nil
	}
	if a.change != nil {
		bug = cmp.Or(bug, a.change.end())
		a.change = nil
	}
	bug = cmp.Or(bug, a.releaseDevices(cause))
	_, err = a.query.CPU.Release(cause)
	isDevice := errors.Is(cause, stream.ErrDevice) && !errors.Is(cause, spawn.ErrInternal)
	if err = cmp.Or(bug, err); err == nil && isDevice && !a.query.Devices.named() {
		a.failed, a.stats.Reason = true, cause.Error()
		return true, nil
	}
	return false, err
}

// releaseDevices ends the devices' part. Its error is a bug.
func (a *Aggregator) releaseDevices(cause error) error {
	c := a.devices.Load()
	if c == nil {
		return nil
	}
	c.report(&a.stats)
	a.rest = c.rest()
	err := c.release(cause)
	a.devices.Store(nil) // the device's goroutines have ended: Absent
	return err
}

// Foretell says what devices would do with an input of such a size, or why they would do nothing.
// Its error is a bug.
func (a *Aggregator) Foretell(ctx context.Context, input Size) (*Forecast, error) {
	f, err := a.query.foretell(ctx, input)
	switch {
	case errors.Is(err, spawn.ErrInternal):
		return nil, err
	case err != nil && a.query.insists(err):
		return nil, a.query.refuse(err)
	case err != nil:
		return &Forecast{Reason: err.Error()}, nil
	}
	return f, nil
}

// Learn lets the rates of the machine follow the query: first is how long its first phase took, both
// how long both phases took, for `rows` rows of `groups` groups; few says that a condition has left few of all rows.
func (a *Aggregator) Learn(rows, groups int64, first, both time.Duration, few bool) {
	if a.late {
		return
	}
	t := took{rows: rows, groups: groups, workers: a.query.Workers, first: first, both: both, few: few}
	if l := a.layout; l != nil && l.filters() {
		t.few, t.filtered = true, l.decoder.bytes
	}
	a.query.Devices.learn(&a.stats, t)
}

// Stats tells what the devices have done, once the aggregator was released.
func (a *Aggregator) Stats() *Stats { return &a.stats }

// Route names who has aggregated, once the aggregator was released: "cpu", "device" or "cpu and
// device".
func (a *Aggregator) Route() string {
	s := &a.stats
	switch {
	case s.Rows+s.Decoded == 0 || s.Reason != "" && s.Emitted == 0:
		return "cpu"
	case s.Reason != "" || s.Finisher != "" || s.RowsBack+s.GroupsBack > 0,
		a.query.CPU.Counters().RowsPreAgg.Load() > 0:
		return "cpu and device"
	}
	return "device"
}
