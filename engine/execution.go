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
func newQuery(s *Statement, b *rowdata.Bound, stats scan.Stats, splits []scan.Split, started time.Time) *execution {
	e := s.engine
	q := &execution{final: finalize.Finalizer{Bound: b, Allocator: s.results, Interners: encode.NewInterners(b)}}
	q.pipeline = pipeline{statement: s, feed: newFeed(splits)}
	q.progress = newProgress(e.opt.Progress, stats, splits, started)
	room := resultRoom{memory: s.memory}
	q.final.Room = room.find
	q.shared = s.newQuery(int(min(int64(e.opt.Threads), max(s.share.Offer()/workerBytesMin, 1))))
	q.shared.Bound, q.shared.Interners = b, q.final.Interners
	q.shared.Rows, q.shared.Once, q.shared.Groups = q.progress.rowsTotal, stats.Once, stats.Groups
	q.shared.ResultRows, q.shared.Trace = e.opt.testing.ResultRows, e.opt.Trace.Query(started)
	q.shared.Work, q.shared.WorkDone = &q.progress.work, &q.progress.workDone
	alone := func() bool { return q.devices == nil || q.devices.Absent() }
	q.cpu = aggregator.NewCPU(q.shared, s.cpuOptions(q.shared, q.rowsExpected, alone))
	q.sink = q.cpu
	q.progress.foreseen = alone
	q.progress.scattered = func() int64 {
		c := q.cpu.Counters()
		return c.RowsScattered.Load() + c.StatesScattered.Load()
	}
	return q
}

// newAggregation returns the execution of a query over a source.
func newAggregation(s *Statement, b *rowdata.Bound, source scan.Source, splits []scan.Split,
	started time.Time) *execution {
	q := newQuery(s, b, source.Stats(), splits, started)
	q.source = source
	if !s.engine.devices.CPU() {
		q.devices = device.NewAggregator(&device.Query{
			Query:     q.shared,
			Devices:   s.engine.devices,
			Splits:    splits,
			CPU:       q.cpu,
			Allocator: s.Allocator(),
			Passed:    q.progress.passed,
			Read:      q.progress.read,
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
		if _, own := q.statement.engine.opt.Allocator.(*budget.Pool); own {
			q.shared.Output.Send = batches.send
		}
	}
}

// forecast looks at a sample and says what the query will do.
func (q *execution) forecast(ctx context.Context) (Forecast, error) {
	f := forecaster{statement: q.statement, query: q.shared, splits: q.feed.splits,
		bytes: q.progress.bytesTotal, sampler: q.cpu.Run().NewSampler()}
	return f.forecast(ctx)
}

// valuesOf returns how many values of a column are expected to differ.
func (q *execution) valuesOf(ctx context.Context, column int) (size device.Size, err error) {
	key := query.Query{Keys: []query.Key{{Column: q.shared.Bound.Columns[column].Name}}}
	bound, splits, err := q.statement.engine.plan(ctx, q.source, key)
	if err != nil {
		return size, err
	}
	of := newQuery(q.statement, bound, q.source.Stats(), splits, time.Now())
	f, err := of.forecast(ctx)
	_, releaseErr := of.cpu.Release(err)
	return f.size(), errors.Join(err, releaseErr)
}

// stream starts the query and returns its result.
func (q *execution) stream(ctx context.Context, opt GroupsOptions) (*Result, error) {
	ctx, cancel, leave, err := q.enter(ctx)
	if err != nil {
		return nil, err
	}
	result := newResult(cmp.Or(opt.Schema, q.shared.Bound.Schema), q)
	result.cancel = cancel
	out := &batchOutput{query: q, to: &result.batchStream, varies: q.final.Varies(), maps: rowMaps{made: opt.NewMap}}
	if opt.Most != nil {
		out.most = newMost(q.shared.Bound, *opt.Most)
	}
	result.output = out
	q.setOutput(out)
	spawn.Go(func() error {
		defer out.maps.release()
		return q.execute(ctx)
	}, func(err error) { result.finish(cmp.Or(err, leave())) })
	return result, nil
}

// enter is enter of the statement. After an error the query is released.
func (q *execution) enter(ctx context.Context) (_ context.Context, cancel context.CancelCauseFunc,
	leave func() error, err error) {
	if ctx, cancel, leave, err = q.statement.enter(ctx); err != nil {
		q.shared.Trace.End()
		_, releaseErr := q.sink.Release(err)
		return nil, nil, nil, errors.Join(err, releaseErr)
	}
	return ctx, cancel, leave, nil
}

// execute runs the query and releases it.
func (q *execution) execute(ctx context.Context) (err error) {
	defer q.shared.Trace.End()
	var end func()
	q.alone, end = q.statement.engine.life.begin()
	defer end()
	stop := q.progress.start()
	defer func() {
		if stopErr := stop(err == nil); err == nil {
			err = stopErr
		}
		q.statement.engine.opt.Logger.Info("query ended", slog.Any("stats", q.stats()), slog.Any("error", err))
	}()
	err = spawn.Call(func() error { return q.answer(ctx) })
	return q.explainLimit(err)
}

// answer runs the query, on the CPU again if a device fails.
func (q *execution) answer(ctx context.Context) error {
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
		q.statement.engine.opt.Logger.Warn("a device failed; the CPU goes on", slog.Any("error", err))
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
		p := scan.PruningOf(q.source)
		few := p != nil && p.RowsTested-rows > rows/3
		q.devices.Learn(rows, q.progress.groups.Load(), first, first+second, few)
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
	q.statement.engine.memoryStats(&s)
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
