package engine

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"golang.org/x/sync/errgroup"

	"github.com/mpga/mpga/cpuagg"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/spec"
	"github.com/mpga/mpga/partition"
	"github.com/mpga/mpga/stream"
)

// query is one execution.
type query struct {
	engine   *Engine
	bound    *spec.Bound
	splits   []scan.Split
	feed     *feed
	run      *cpuagg.Run
	store    *stream.Store // nil until something is scattered
	final    finalizer
	progress *progress
	started  time.Time
	times    map[Phase]time.Duration

	tasks      []cpuagg.Task
	partitions int
	nextTask   atomic.Int64
	batches    atomic.Int64
}

func newQuery(e *Engine, b *spec.Bound, stats scan.Stats, splits []scan.Split, started time.Time) *query {
	q := &query{
		engine:  e,
		bound:   b,
		splits:  splits,
		feed:    newFeed(splits),
		final:   finalizer{bound: b, mem: e.opt.Allocator, interners: newInterners(b)},
		started: started,
		times:   map[Phase]time.Duration{PhasePlan: time.Since(started)},
	}
	q.progress = newProgress(e.opt.Progress, stats, splits, started)
	q.run = cpuagg.NewRun(b, e.aggOptions(q.progress.rowsTotal), func(radix partition.Radix) cpuagg.Store {
		q.store = stream.NewStore(radix)
		return q.store
	})
	return q
}

// execute runs the query and sends its result batches to out.
func (q *query) execute(ctx context.Context, out chan<- arrow.RecordBatch) (err error) {
	stop := q.progress.start()
	defer func() {
		stop(err == nil)
		q.engine.opt.Logger.Info("query ended", slog.Any("stats", q.stats()), slog.Any("error", err))
	}()
	workers := make([]*cpuagg.Worker, q.engine.opt.Threads)
	err = q.phase(PhasePartition, func() error { return q.generate(ctx, workers) })
	if err != nil {
		return err
	}
	return q.phase(PhaseProcess, func() error {
		q.tasks, q.partitions = q.run.Tasks(workers)
		q.progress.setTasks(len(q.tasks))
		return q.parallel(ctx, len(workers), func(ctx context.Context, i int) error {
			return q.process(ctx, workers[i], out)
		})
	})
}

func (q *query) phase(p Phase, f func() error) error {
	q.progress.setPhase(p)
	start := time.Now()
	err := f()
	q.times[p] = time.Since(start)
	return err
}

// parallel runs a function on n goroutines, each of which holds one of the engine's threads.
func (q *query) parallel(ctx context.Context, n int, f func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	for i := range n {
		group.Go(func() error {
			if err := q.acquire(ctx); err != nil {
				return err
			}
			defer q.releaseThread()
			return f(ctx, i)
		})
	}
	err := group.Wait()
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return err
}

// acquire takes one of the engine's threads.
func (q *query) acquire(ctx context.Context) error {
	if err := q.engine.threads.Acquire(ctx, 1); err != nil {
		return context.Cause(ctx)
	}
	return nil
}

func (q *query) releaseThread() { q.engine.threads.Release(1) }

// yield lets the workers of other queries have the thread for a while.
func (q *query) yield(ctx context.Context) error {
	q.releaseThread()
	return q.reacquire(ctx)
}

// reacquire takes the thread back that the caller has given up, also when the context is done:
// the caller still holds it when it returns.
func (q *query) reacquire(ctx context.Context) error {
	if q.engine.threads.TryAcquire(1) {
		return context.Cause(ctx)
	}
	if err := q.engine.threads.Acquire(context.WithoutCancel(ctx), 1); err != nil {
		return err
	}
	return context.Cause(ctx)
}

// generate is the partition-generating phase.
func (q *query) generate(ctx context.Context, workers []*cpuagg.Worker) error {
	err := q.parallel(ctx, len(workers), func(ctx context.Context, i int) error {
		workers[i] = q.run.NewWorker()
		r := &reader{query: q, worker: workers[i], encoder: newEncoder(q.bound, q.final.interners)}
		if err := r.readAll(ctx); err != nil {
			return err
		}
		return workers[i].Close()
	})
	if err != nil || !q.run.MustScatter(workers) {
		return err
	}
	return q.parallel(ctx, len(workers), func(ctx context.Context, i int) error {
		return workers[i].ScatterRest()
	})
}

// process is one worker's part of the partition-processing phase.
func (q *query) process(ctx context.Context, w *cpuagg.Worker, out chan<- arrow.RecordBatch) error {
	for {
		t := int(q.nextTask.Add(1)) - 1
		if t >= len(q.tasks) {
			return nil
		}
		if err := q.yield(ctx); err != nil {
			return err
		}
		groups, err := w.Process(q.tasks[t])
		if err != nil {
			return err
		}
		for from := 0; from < groups.Len; from += q.engine.opt.testing.ResultRows {
			to := min(from+q.engine.opt.testing.ResultRows, groups.Len)
			if err := q.emit(ctx, groups, from, to, out); err != nil {
				return err
			}
		}
		q.progress.tasksDone.Add(1)
	}
}

// emit finalizes groups from to to and sends them, in halves where one array cannot hold them.
func (q *query) emit(ctx context.Context, g *cpuagg.Groups, from, to int, out chan<- arrow.RecordBatch) error {
	batch, err := q.final.batch(g, from, to)
	if errors.Is(err, errBatchTooLarge) && to-from > 1 {
		mid := (from + to) / 2
		if err := q.emit(ctx, g, from, mid, out); err != nil {
			return err
		}
		return q.emit(ctx, g, mid, to, out)
	}
	if err != nil {
		return err
	}
	q.releaseThread()
	select {
	case out <- batch:
		q.batches.Add(1)
		q.progress.groups.Add(int64(to - from))
	case <-ctx.Done():
		batch.Release()
	}
	return q.reacquire(ctx)
}

// stats describes what the query has done.
func (q *query) stats() Stats {
	s := Stats{
		Route:            "cpu",
		Threads:          q.engine.opt.Threads,
		RowsRead:         q.progress.rows.Load(),
		BytesRead:        q.progress.bytes.Load(),
		Splits:           len(q.splits),
		Groups:           q.progress.groups.Load(),
		ResultBatches:    q.batches.Load(),
		Table:            tableKind(q.bound, q.run.Dense()),
		KeyBytes:         q.bound.Keys.Bytes(),
		RowsPreAgg:       q.run.Counters().RowsPreAgg.Load(),
		RowsScattered:    q.run.Counters().RowsScattered.Load(),
		StatesScattered:  q.run.Counters().StatesScattered.Load(),
		Partitions:       q.partitions,
		PartitionsMerged: len(q.tasks),
		PhaseTimes:       q.times,
		Elapsed:          time.Since(q.started),
	}
	if _, estimated, ok := q.run.Scatter(); ok {
		s.EstimatedGroups = estimated
		s.PartitionBytes = q.store.BytesPeak()
	}
	return s
}

func tableKind(b *spec.Bound, dense bool) string {
	switch {
	case b.Keys.Words == 0:
		return "single group"
	case dense:
		return "dense"
	}
	return "hash"
}
