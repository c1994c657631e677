package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/mpga/mpga/engine/device"
	"github.com/mpga/mpga/internal/budget"
	"github.com/mpga/mpga/internal/spawn"
)

// deviceQuery returns the query as devices see it.
func (q *execution) deviceQuery() *device.Query {
	e := q.engine
	d := &device.Query{
		Devices:    e.devices,
		Bound:      q.bound,
		CPU:        q.run,
		Workers:    q.workers,
		Rows:       q.progress.rowsTotal,
		Once:       q.once,
		ResultRows: e.opt.testing.ResultRows,
		Threads:    e.threads,
		Trace:      q.trace,
		Parallel:   q.parallel,
		Work:       &q.progress.work,
		WorkDone:   &q.progress.workDone,
	}
	if q.output != nil {
		d.Output = device.Output{Writer: q.output.writer}
	}
	if out, ok := q.output.(*batchOutput); ok {
		if _, own := e.opt.Allocator.(*budget.Pool); own {
			d.Send = out.send
		}
	}
	return d
}

// useDevices lets devices do the work, where they suit the query. Its error is a bug.
func (q *execution) useDevices(ctx context.Context) error {
	if q.engine.devices.CPU() || q.adopted != nil {
		return nil
	}
	q.device = &device.Stats{}
	d := q.deviceQuery()
	layout, size, err := d.Suits(func() (device.Size, error) {
		f, err := q.forecast(ctx, q.source.Stats())
		return device.Size{Rows: f.Rows, Groups: f.Groups}, err
	})
	prepare := func(ctx context.Context) (*device.Aggregator, error) {
		c, rates, err := d.Open(ctx, layout, size)
		q.device.Rates = rates
		return c, err
	}
	var prepared *device.Aggregator
	switch {
	case err != nil:
		q.tookDevices(nil, err)
	case q.engine.devices.Opened():
		prepared, err = prepare(ctx)
		q.tookDevices(prepared, err)
	default:
		q.open(ctx, prepare)
	}
	if errors.Is(err, spawn.ErrInternal) {
		return err
	}
	return nil
}

// tookDevices notes which devices aggregate, or why the CPU does.
func (q *execution) tookDevices(c *device.Aggregator, err error) {
	if q.devices = c; err == nil {
		c.Describe(q.device)
		return
	}
	q.device.Reason = err.Error()
	level := slog.LevelDebug
	if q.engine.devices.Asked() {
		level = slog.LevelWarn
	}
	q.engine.opt.Logger.Log(context.Background(), level, "the CPU aggregates", slog.Any("reason", err))
}

// learnRates lets the machine's rates follow what the query took.
func (q *execution) learnRates() {
	if q.adopted != nil || q.openedDevices {
		return
	}
	first, second := q.times[PhasePartition], q.times[PhaseProcess]
	q.engine.devices.Learn(q.device, q.progress.rows.Load(), q.progress.groups.Load(), q.workers, first, first+second)
}

// releaseDevices ends the devices' part of an attempt. Its error is a bug.
func (q *execution) releaseDevices(cause error) error {
	q.opening.end()
	q.opening = nil
	c := q.devices
	if c == nil {
		return nil
	}
	c.Report(q.device)
	q.rest = c.Rest()
	q.devices = nil
	return c.Release(cause)
}

// fallBack lets the CPU take the input again, after an error of a device.
func (q *execution) fallBack(cause error) error {
	q.device.Reason = cause.Error()
	q.engine.opt.Logger.Warn("a device failed; the CPU goes on", slog.Any("error", cause))
	if q.once {
		return fmt.Errorf("%w; the input can be read once only, so that the CPU cannot go on: --device=cpu does without devices", cause)
	}
	if err := q.store.Close(); err != nil {
		return err
	}
	q.progress.again()
	q.reset()
	return nil
}

// route names what has aggregated.
func (q *execution) route() string {
	d := q.device
	switch {
	case d == nil || d.Rows == 0 && q.devices == nil || d.Reason != "" && d.Emitted == 0:
		return "cpu"
	case d.Reason != "" || d.RowsBack+d.GroupsBack > 0 || q.counters.Load().RowsPreAgg.Load() > 0:
		return "cpu and device"
	}
	return "device"
}
