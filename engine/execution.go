package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/cpuagg"
	"github.com/mpga/mpga/engine/device"
	"github.com/mpga/mpga/engine/encode"
	"github.com/mpga/mpga/engine/finalize"
	"github.com/mpga/mpga/engine/partial"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/spawn"
	"github.com/mpga/mpga/internal/store"
	"github.com/mpga/mpga/internal/threads"
	"github.com/mpga/mpga/internal/trace"
	"github.com/mpga/mpga/internal/vector"
	"github.com/mpga/mpga/stream"
)

// query is one execution.
type execution struct {
	engine   *Engine
	bound    *rowdata.Bound
	source   scan.Source // nil of a merge
	splits   []scan.Split
	feed     *feed
	run      *cpuagg.Run
	store    *store.Store
	counters atomic.Pointer[cpuagg.Counters] // of run
	workers  int
	once     bool // the input cannot be read again
	final    finalize.Finalizer
	progress *progress
	trace    *trace.Query
	started  time.Time
	times    map[Phase]time.Duration

	opening *opening           // of devices, while the input is read; nil when it is known who aggregates
	devices *device.Aggregator // nil when the CPU works alone
	rest    *device.Rest       // what devices that failed have left to the CPU; nil for all of the input
	device  *device.Stats      // nil when none was tried
	begun   bool               // the output

	openedDevices bool // while the input was read, which then took longer

	adopted *partial.Pass // in place of splits, where partial states are merged
	output  output
	span    atomic.Uint64 // positions that the input takes: one more than the largest

	tasks      *cpuagg.TaskQueue
	partitions int
	merged     int // tasks that the partitions were merged to
	batches    atomic.Int64

	roomLargest atomic.Int64 // bytes of the largest results that room was asked for
}

func newQuery(e *Engine, b *rowdata.Bound, stats scan.Stats, splits []scan.Split, started time.Time) *execution {
	q := &execution{
		engine:  e,
		bound:   b,
		splits:  splits,
		final:   finalize.Finalizer{Bound: b, Allocator: e.results, Interners: encode.NewInterners(b)},
		trace:   e.opt.Trace.Query(started),
		started: started,
		times:   map[Phase]time.Duration{PhasePlan: time.Since(started)},
	}
	q.progress = newProgress(e.opt.Progress, stats, splits, started)
	q.once = stats.Once
	q.workers = int(min(int64(e.opt.Threads), max(e.memory.Limit()/workerBytesMin, 1)))
	q.final.Room = q.room
	q.reset()
	q.progress.scattered = func() int64 {
		c := q.counters.Load()
		return c.RowsScattered.Load() + c.StatesScattered.Load()
	}
	return q
}

// reset makes what takes the input: for a first time, or for another when a device has failed.
func (q *execution) reset() {
	e, b := q.engine, q.bound
	rows, states := b.RowLayout(), b.StateLayout()
	q.feed = newFeed(q.splits)
	q.store = store.NewStore(store.StoreOptions{
		Memory:   e.memory,
		Temp:     e.temp,
		Rows:     &rows,
		States:   &states,
		Writers:  q.workers,
		SpillAll: e.opt.testing.SpillAll,
		Trace:    q.trace.Rows("disk"),
	})
	q.run = cpuagg.NewRun(b, e.aggOptions(q.progress.rowsTotal, q.workers), q.store)
	q.counters.Store(q.run.Counters())
}

// workerBytesMin is the least memory that a worker is started with.
const workerBytesMin = 4 << 20

// output takes finished groups.
type output interface {
	// begin is called when the input is used up.
	begin() error

	// writer returns one worker's way to the output.
	writer() device.Writer

	// end is called when every writer has been closed.
	end() error
}

// execute runs the query.
func (q *execution) execute(ctx context.Context) (err error) {
	defer q.trace.End()
	stop := q.progress.start()
	defer func() {
		if stopErr := stop(err == nil); err == nil {
			err = stopErr
		}
		q.engine.opt.Logger.Info("query ended", slog.Any("stats", q.stats()), slog.Any("error", err))
	}()
	err = spawn.Call(func() error { return q.answer(ctx) })
	return q.explainLimit(errors.Join(err, q.store.Close()))
}

// answer runs the query, on the CPU again if a device fails.
func (q *execution) answer(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stopBudget, err := q.engine.budget.Start(cancel)
	if err != nil {
		return err
	}
	defer stopBudget()
	if err := q.useDevices(ctx); err != nil {
		return err
	}
	q.traceBegin()
	err = q.attempt(ctx)
	if errors.Is(err, stream.ErrDevice) && !errors.Is(err, spawn.ErrInternal) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err = q.fallBack(err); err == nil {
			err = q.attempt(ctx)
		}
	}
	if err == nil {
		q.learnRates()
	}
	return err
}

// attempt takes the input through both phases.
func (q *execution) attempt(ctx context.Context) (err error) {
	defer q.engine.memory.AddReclaimer(q.store.Reclaim)()
	workers := make([]*cpuagg.Worker, q.workers)
	defer func() {
		if bug := q.releaseDevices(err); bug != nil {
			err = bug
		}
		for _, w := range workers {
			if w != nil {
				w.Release()
			}
		}
	}()
	return spawn.Call(func() error { return q.bothPhases(ctx, workers) })
}

func (q *execution) bothPhases(ctx context.Context, workers []*cpuagg.Worker) error {
	err := q.phase(PhasePartition, func() error { return q.generate(ctx, workers) })
	if err != nil {
		return err
	}
	return q.phase(PhaseProcess, func() error {
		if !q.begun {
			if err := q.output.begin(); err != nil {
				return err
			}
			q.begun = true
		}
		switch {
		case q.devices == nil:
		case q.devices.ForCPU():
			if err := q.releaseDevices(nil); err != nil { // others may have them
				return err
			}
		default:
			if err := q.devices.Process(ctx, workers); err != nil {
				return err
			}
		}
		if err := q.scatterRest(ctx, workers); err != nil {
			return err
		}
		var tasks []cpuagg.Task
		tasks, q.partitions = q.run.Tasks(workers)
		q.merged = len(tasks)
		q.tasks = cpuagg.NewTaskQueue(tasks)
		q.progress.addTasks(tasks)
		err := q.parallel(ctx, len(workers), func(ctx context.Context, i int, t *threads.Thread) error {
			return q.process(ctx, t, workers[i])
		})
		if err != nil {
			return err
		}
		return q.output.end()
	})
}

func (q *execution) phase(p Phase, f func() error) error {
	q.progress.setPhase(p)
	start := time.Now()
	row := q.trace.Row(traceQuery, "phase", 0)
	row.Begin(string(p))
	defer row.End()
	err := f()
	q.times[p] = time.Since(start)
	return err
}

// parallel runs a function on n goroutines, each of which holds one of the engine's threads.
func (q *execution) parallel(ctx context.Context, n int, f func(ctx context.Context, i int, t *threads.Thread) error) error {
	return threads.Parallel(ctx, q.engine.threads, n, q.traceWorker, f)
}

// generate is the partition-generating phase.
func (q *execution) generate(ctx context.Context, workers []*cpuagg.Worker) error {
	if q.adopted != nil {
		for i := range workers {
			workers[i] = q.run.NewWorker()
		}
		q.run.Adopt(q.adopted.Radix(), q.adopted, q.adopted.Bytes())
		return nil
	}
	for i := range workers {
		workers[i] = q.run.NewWorker()
	}
	if q.rest != nil {
		if err := q.rest.AddHeld(workers[0]); err != nil {
			return err
		}
	}
	devices := q.devices // devices that are still being opened come to each reader when opening has ended
	if devices != nil {
		devices.Begin(workers)
	}
	if q.opening != nil {
		q.opening.workers = workers
	}
	err := q.parallel(ctx, len(workers), func(ctx context.Context, i int, t *threads.Thread) error {
		r := &reader{query: q, thread: t, worker: workers[i], encoder: encode.NewEncoder(q.bound, q.final.Interners), devices: devices, opening: q.opening}
		if q.rest != nil {
			r.filter = q.rest.NewFilter()
		}
		return r.readAll(ctx)
	})
	if err == nil && q.devices != nil {
		err = q.devices.EndInput()
	}
	if err == nil {
		err = q.checkRows()
	}
	return err
}

// scatterRest ends the workers' part of the partition-generating phase.
func (q *execution) scatterRest(ctx context.Context, workers []*cpuagg.Worker) error {
	for _, w := range workers {
		if err := w.Close(); err != nil {
			return err
		}
	}
	if q.adopted != nil || !q.run.MustScatter(workers) {
		return nil
	}
	return q.parallel(ctx, len(workers), func(ctx context.Context, i int, t *threads.Thread) error {
		t.Does(threads.WorkScatter)
		return workers[i].ScatterRest()
	})
}

// checkRows compares the rows read with those that the source has promised.
func (q *execution) checkRows() error {
	if read, promised := q.progress.rows.Load(), q.progress.rowsTotal; promised >= 0 && read != promised {
		return fmt.Errorf("the source has %d rows, its statistics say %d: %w", read, promised, ErrCorrupt)
	}
	return nil
}

// process is one worker's part of the partition-processing phase.
func (q *execution) process(ctx context.Context, th *threads.Thread, w *cpuagg.Worker) error {
	out := q.output.writer()
	defer out.Release()
	for {
		th.Give()
		task, ok := q.tasks.Take(ctx)
		if !ok {
			if err := context.Cause(ctx); err != nil {
				return err
			}
			return out.Close()
		}
		if err := q.processTask(ctx, th, w, task, out); err != nil {
			return err
		}
	}
}

// processTask takes a thread and processes a task from the queue.
func (q *execution) processTask(ctx context.Context, th *threads.Thread, w *cpuagg.Worker, task cpuagg.Task, out device.Writer) error {
	defer q.tasks.Release()
	spawn.Step()
	th.WillDo(threads.WorkProcess)
	if err := th.Take(ctx); err != nil {
		return err
	}
	return q.guard(func() error { return q.emitTask(ctx, th, w, task, out) })
}

// emitTask emits the groups of a task, or puts the tasks that it was split to into the queue.
func (q *execution) emitTask(ctx context.Context, th *threads.Thread, w *cpuagg.Worker, task cpuagg.Task, out device.Writer) error {
	groups, split, err := w.Process(ctx, task)
	if err != nil {
		return err
	}
	if groups == nil {
		q.progress.addTasks(split)
		q.progress.endTask(task)
		q.tasks.Put(split)
		return nil
	}
	defer groups.Release()
	th.Does(threads.WorkWrite)
	if err := out.Write(ctx, th, groups); err != nil {
		return err
	}
	q.progress.endTask(task)
	return nil
}

// batchOutput finalizes groups and sends them as record batches. It is every worker's writer too.
type batchOutput struct {
	query  *execution
	to     chan<- arrow.RecordBatch
	varies bool // some column has values of no fixed width
}

func (o *batchOutput) begin() error          { return nil }
func (o *batchOutput) writer() device.Writer { return o }
func (o *batchOutput) end() error            { return nil }
func (o *batchOutput) Close() error          { return nil }
func (o *batchOutput) Release()              {}

// Write implements device.Writer.
func (o *batchOutput) Write(ctx context.Context, th *threads.Thread, g *cpuagg.Groups) error {
	rows := o.batchRows(g)
	for from := 0; from < g.Len; from += rows {
		if err := o.emit(ctx, th, g, from, min(from+rows, g.Len)); err != nil {
			return err
		}
	}
	return nil
}

// batchShare is the part of a worker's share of the memory limit that a batch of results may take, and batchBytesMax
// the most. There are some at a time: that which is made, that which waits, that which is written.
const (
	batchShare    = 32
	batchBytesMax = 32 << 20
)

// batchRows returns how many of the groups are a batch: fewer where their strings or lists are long.
func (o *batchOutput) batchRows(g *cpuagg.Groups) int {
	e := o.query.engine
	rows := e.opt.testing.ResultRows
	if g.Len == 0 || !o.varies {
		return rows
	}
	perGroup := g.Bytes()/int64(g.Len) + 1
	return int(min(max(min(e.share()/batchShare, batchBytesMax)/perGroup, 1), int64(rows)))
}

// emit finalizes groups from to to and sends them, in halves where one array cannot hold them.
func (o *batchOutput) emit(ctx context.Context, th *threads.Thread, g *cpuagg.Groups, from, to int) error {
	q := o.query
	var batch arrow.RecordBatch
	err := vector.ErrTooLarge
	if to-from == 1 || !g.HasRuns(from, to) {
		batch, err = q.final.Batch(ctx, g, from, to)
	}
	if errors.Is(err, vector.ErrTooLarge) && to-from > 1 {
		mid := (from + to) / 2
		if err := o.emit(ctx, th, g, from, mid); err != nil {
			return err
		}
		return o.emit(ctx, th, g, mid, to)
	}
	if err != nil {
		return err
	}
	return o.send(ctx, th, batch)
}

// send hands a batch to the reader of the result.
func (o *batchOutput) send(ctx context.Context, th *threads.Thread, batch arrow.RecordBatch) error {
	rows := batch.NumRows()
	th.Give()
	select {
	case o.to <- batch:
		o.query.batches.Add(1)
		o.query.progress.groups.Add(rows)
	case <-ctx.Done():
		batch.Release()
	}
	return th.Take(ctx)
}

// stats describes what the query has done.
func (q *execution) stats() Stats {
	s := Stats{
		Route:            q.route(),
		Device:           q.device,
		Threads:          q.workers,
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
		PartitionsMerged: q.merged,
		PartitionsSplit:  q.run.Counters().Splits.Load(),
		SortedRuns:       q.run.Counters().Runs.Load(),
		SpilledBytes:     q.store.Spilled(),
		SpilledStored:    q.store.Stored(),
		SpillFiles:       q.store.Files(),
		MemoryLimit:      q.engine.memory.Limit(),
		MemoryPeak:       q.engine.memory.Peak(),
		ResidentLimit:    q.engine.opt.MemoryLimit,
		ResidentPeak:     q.engine.budget.Peak(),
		PhaseTimes:       q.times,
		Elapsed:          time.Since(q.started),
	}
	if s.Groups > 0 {
		s.Reduction = float64(s.RowsRead) / float64(s.Groups)
	}
	if q.adopted != nil {
		s.Splits = q.adopted.Blobs()
	}
	s.Filter = scan.PruningOf(q.source)
	if _, estimated, ok := q.run.Scatter(); ok {
		s.EstimatedGroups = estimated
		s.PartitionBytes = q.store.BytesPeak()
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
