package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/mpga/mpga/engine/device"
	"github.com/mpga/mpga/engine/internal/aggregator"
	"github.com/mpga/mpga/engine/internal/encode"
	"github.com/mpga/mpga/engine/internal/finalize"
	"github.com/mpga/mpga/engine/partial"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/budget"
	"github.com/mpga/mpga/internal/knob"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/spawn"
)

// execution conducts one query: it reads the input to an aggregator, which writes the groups to the
// output.
//
//	plan -> begin -> partition: read -> process -> released
//	          ^------------------------------------/  a device failed, the CPU takes the input anew
type execution struct {
	pipeline               // to devices, or to cpu where these are nil
	adopted  *partial.Pass // states to merge, in place of splits; else nil
	cpu      *aggregator.CPU
	devices  *device.Aggregator // nil where the CPU alone is asked for
	final    finalize.Finalizer
	output   output      // nil where the query is only planned
	alone    func() bool // reports whether no other query of the engine was executed since this one is
}

// newQuery returns the execution of a bound query, which must be released.
func newQuery(e *Engine, b *rowdata.Bound, stats scan.Stats, splits []scan.Split, started time.Time) *execution {
	q := &execution{final: finalize.Finalizer{Bound: b, Allocator: e.results, Interners: encode.NewInterners(b)}}
	q.pipeline = pipeline{engine: e, feed: newFeed(splits), progress: newProgress(e.opt.Progress, stats, splits, started)}
	room, share := resultRoom{memory: e.memory}, e.statement()
	q.final.Room = room.find
	q.shared = &aggregator.Query{
		Bound:      b,
		Interners:  q.final.Interners,
		Rows:       q.progress.rowsTotal,
		Once:       stats.Once,
		Groups:     stats.Groups,
		Workers:    int(min(int64(e.opt.Threads), max(share.Offer()/workerBytesMin, 1))),
		Share:      share,
		ResultRows: e.opt.testing.ResultRows,
		Threads:    e.threads,
		Trace:      e.opt.Trace.Query(started),
		Work:       &q.progress.work,
		WorkDone:   &q.progress.workDone,
	}
	alone := func() bool { return q.devices == nil || q.devices.Absent() }
	q.cpu = aggregator.NewCPU(q.shared, e.cpuOptions(q.shared, q.rowsExpected, alone))
	q.sink = q.cpu
	q.progress.foreseen = alone
	q.progress.scattered = func() int64 {
		c := q.cpu.Counters()
		return c.RowsScattered.Load() + c.StatesScattered.Load()
	}
	return q
}

// newAggregation returns the execution of a query over a source.
func newAggregation(e *Engine, b *rowdata.Bound, source scan.Source, splits []scan.Split,
	started time.Time) *execution {
	q := newQuery(e, b, source.Stats(), splits, started)
	q.source = source
	if !e.devices.CPU() {
		q.devices = device.NewAggregator(&device.Query{
			Query:   q.shared,
			Devices: e.devices,
			Splits:  splits,
			CPU:     q.cpu,
			Passed:  q.progress.passed,
			Read:    q.progress.read,
			Forecast: func(ctx context.Context) (device.Size, error) {
				f, err := q.forecast(ctx)
				return f.size(), err
			},
			Strings: q.valuesOf,
		})
		q.sink = q.devices
	}
	return q
}

// workerBytesMin is the least share of the grants that a worker is started with.
const workerBytesMin = 3 << 20

// rowsExpected returns about how many rows the query will read in all, or 0 where nothing tells. A
// filter may leave any part of the rows that a file has.
func (q *execution) rowsExpected() int64 {
	if rows := q.progress.rowsExpected(); rows > 0 {
		return rows
	}
	if s, ok := q.source.(scan.Expecter); ok {
		return s.RowsExpected()
	}
	return 0
}

// setOutput says where the groups go.
func (q *execution) setOutput(out output) {
	q.output = out
	q.shared.Output.Writer = out.writer
	if batches, ok := out.(*batchOutput); ok {
		if _, own := q.engine.opt.Allocator.(*budget.Pool); own {
			q.shared.Output.Send = batches.send
		}
	}
}

// forecast looks at a sample and says what the query will do.
func (q *execution) forecast(ctx context.Context) (Forecast, error) {
	f := forecaster{engine: q.engine, query: q.shared, splits: q.feed.splits,
		bytes: q.progress.bytesTotal, sampler: q.cpu.Run().NewSampler()}
	return f.forecast(ctx)
}

// valuesOf returns how many values of a column are expected to differ.
func (q *execution) valuesOf(ctx context.Context, column int) (size device.Size, err error) {
	e := q.engine
	key := query.Query{Keys: []query.Key{{Column: q.shared.Bound.Columns[column].Name}}}
	bound, splits, err := e.plan(ctx, q.source, key)
	if err != nil {
		return size, err
	}
	of := newQuery(e, bound, q.source.Stats(), splits, time.Now())
	f, err := of.forecast(ctx)
	_, releaseErr := of.cpu.Release(err)
	return f.size(), errors.Join(err, releaseErr)
}

// execute runs the query and releases it.
func (q *execution) execute(ctx context.Context) (err error) {
	defer q.shared.Trace.End()
	var end func()
	q.alone, end = q.engine.life.begin()
	defer end()
	stop := q.progress.start()
	defer func() {
		if stopErr := stop(err == nil); err == nil {
			err = stopErr
		}
		q.engine.opt.Logger.Info("query ended", slog.Any("stats", q.stats()), slog.Any("error", err))
	}()
	err = spawn.Call(func() error { return q.answer(ctx) })
	return q.explainLimit(err)
}

// answer runs the query, on the CPU again if a device fails.
func (q *execution) answer(ctx context.Context) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stopBudget, err := q.engine.budget.Start(cancel)
	if err != nil {
		_, releaseErr := q.sink.Release(err)
		return errors.Join(err, releaseErr)
	}
	defer func() { err = cmp.Or(err, stopBudget()) }()
	for {
		err := spawn.Call(func() error { return q.attempt(ctx) })
		again, releaseErr := q.sink.Release(err)
		switch {
		case errors.Is(releaseErr, spawn.ErrInternal):
			return releaseErr
		case err == nil && releaseErr == nil:
			q.learnRates()
			return nil
		case !again:
			return errors.Join(err, releaseErr)
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case q.shared.Once:
			return knob.Errorf(
				"%w; the input can be read once only, so that the CPU cannot go on: %s=cpu does without devices", err,
				knob.Name("engine.Device"))
		}
		q.engine.opt.Logger.Warn("a device failed; the CPU goes on", slog.Any("error", err))
		q.feed = newFeed(q.feed.splits)
		q.progress.again()
	}
}

// attempt takes the input through both phases.
func (q *execution) attempt(ctx context.Context) error {
	if err := q.sink.Begin(ctx); err != nil {
		return err
	}
	q.progress.trace(q.shared)
	if err := q.progress.run(PhasePartition, func() error { return q.read(ctx) }); err != nil {
		return err
	}
	return q.progress.run(PhaseProcess, func() error {
		if err := q.output.begin(); err != nil {
			return err
		}
		if err := q.sink.Process(ctx); err != nil {
			return err
		}
		return q.output.end()
	})
}

// read is the partition-generating phase.
func (q *execution) read(ctx context.Context) error {
	if q.adopted != nil {
		q.cpu.Adopt(q.adopted)
		return nil
	}
	if err := q.readAll(ctx); err != nil {
		return err
	}
	if read, promised := q.progress.rows.Load(), q.progress.rowsTotal; promised >= 0 && read != promised {
		return fmt.Errorf("the source has %d rows, its statistics say %d: %w", read, promised, ErrCorrupt)
	}
	return nil
}

// learnRates lets the machine's rates follow what the query took. Beside another it waits for threads and devices,
// which is no rate of the machine.
func (q *execution) learnRates() {
	if q.devices != nil && q.alone() {
		first, second := q.progress.times[PhasePartition], q.progress.times[PhaseProcess]
		rows := q.progress.rows.Load()
		if p := scan.PruningOf(q.source); p != nil && p.RowsTested-rows > rows/3 {
			return // rows that do not pass have taken a good part of the time
		}
		q.devices.Learn(rows, q.progress.groups.Load(), first, first+second)
	}
}

// stats describes what the query has done.
func (q *execution) stats() Stats {
	run, stored := q.cpu.Run(), q.cpu.Store()
	s := Stats{
		Route:           "cpu",
		Threads:         q.shared.Workers,
		RowsRead:        q.progress.rows.Load(),
		BytesRead:       q.progress.bytes.Load(),
		Splits:          len(q.feed.splits),
		Groups:          q.progress.groups.Load(),
		Table:           tableKind(q.shared.Bound, run.Dense()),
		KeyBytes:        q.shared.Bound.Keys.Bytes(),
		RowsPreAgg:      run.Counters().RowsPreAgg.Load(),
		RowsScattered:   run.Counters().RowsScattered.Load(),
		StatesScattered: run.Counters().StatesScattered.Load(),
		PartitionsSplit: run.Counters().Splits.Load(),
		SortedRuns:      run.Counters().Runs.Load(),
		SpilledBytes:    stored.Spilled(),
		SpilledStored:   stored.Stored(),
		SpillFiles:      stored.Files(),
		PhaseTimes:      q.progress.times,
		Elapsed:         time.Since(q.progress.started),
	}
	q.engine.memoryStats(&s)
	s.Partitions, s.PartitionsMerged = q.cpu.Partitions()
	if q.devices != nil {
		s.Route, s.Device = q.devices.Route(), q.devices.Stats()
	}
	if out, ok := q.output.(*batchOutput); ok {
		s.ResultBatches = out.to.sent.Load()
	}
	if s.Groups > 0 {
		s.Reduction = float64(s.RowsRead) / float64(s.Groups)
	}
	if q.adopted != nil {
		s.Splits = q.adopted.Blobs()
	}
	s.RowsRejected = q.rejected.Load()
	s.Filter, s.Pages = scan.PruningOf(q.source), q.pages.List()
	if _, estimated, ok := run.Scatter(); ok {
		s.EstimatedGroups = estimated
		s.PartitionBytes = stored.BytesPeak()
	}
	return s
}

func tableKind(b *rowdata.Bound, dense bool) string {
	switch {
	case b.Keys.Words == 0:
		return "single group"
	case dense:
		return "dense"
	}
	return "hash"
}
