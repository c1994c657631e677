package aggregator

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/mpga/mpga/cpuagg"
	"github.com/mpga/mpga/engine/partial"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/arbiter"
	"github.com/mpga/mpga/internal/mem"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/scatter"
	"github.com/mpga/mpga/internal/spawn"
	"github.com/mpga/mpga/internal/store"
	"github.com/mpga/mpga/internal/threads"
)

// CPU is the Aggregator of the CPU: the goroutines of a query as workers of package cpuagg, with
// their store.
//
//	Take -> Worker.Add -> tables, or partitions in the store
//	Process: ScatterRest -> Tasks -> Worker.Process -> Writer
//	                          ^ a task whose groups do not fit comes back as others
type CPU struct {
	query   *Query
	opt     CPUOptions
	run     *cpuagg.Run
	store   *store.Store
	workers []*cpuagg.Worker // by worker of the query; nil before Begin
	adopted bool             // partial states, in place of rows

	counters atomic.Pointer[cpuagg.Counters] // of run, for whoever watches
	grant    *arbiter.Grant                  // of the memory, from Begin to Release; nil before
	planned  int                             // partitions of the first scatter
	merged   int                             // tasks that they were merged to
	released bool                            // since the last Begin
}

// CPUOptions say what a CPU works with.
type CPUOptions struct {
	Memory   *mem.Memory // of tables and pages
	Temp     *store.Temp // where pages go that do not fit the memory
	SpillAll bool        // write every page there, for tests
	Run      cpuagg.Options
	Log      *slog.Logger
}

var _ Aggregator = (*CPU)(nil)

// NewCPU returns an aggregator that must be released.
func NewCPU(q *Query, opt CPUOptions) *CPU {
	c := &CPU{query: q, opt: opt}
	c.renew()
	return c
}

// renew makes an empty run and its store.
func (c *CPU) renew() {
	rows, states := c.query.Bound.RowLayout(), c.query.Bound.StateLayout()
	c.store = store.NewStore(store.StoreOptions{
		Memory:   c.opt.Memory,
		Temp:     c.opt.Temp,
		Layouts:  [scatter.Contents]*rowdata.RowLayout{cpuagg.Rows: &rows, cpuagg.States: &states},
		Writers:  c.query.Workers,
		SpillAll: c.opt.SpillAll,
		Reclaim:  c.query.Share.Reclaim,
		Trace:    c.query.Trace.Rows("disk"),
	})
	c.grant = nil
	c.opt.Run.WorkerBytes = c.workerBytes
	c.run = cpuagg.NewRun(c.query.Bound, c.opt.Run, c.store)
	c.counters.Store(c.run.Counters())
	c.workers, c.released = nil, false
}

// workerBytes returns one worker's share of the memory: before Begin, what it would be.
func (c *CPU) workerBytes() int64 {
	if c.grant == nil {
		return c.query.Share.Offer() / int64(c.query.Workers)
	}
	return c.grant.Bytes() / int64(c.query.Workers)
}

// workerBytesMin is the least memory that a worker goes on with, in bytes.
const workerBytesMin = 256 << 10

// Run returns what the workers share: since the last Begin, if there was any.
func (c *CPU) Run() *cpuagg.Run { return c.run }

// Store returns the store of the same run.
func (c *CPU) Store() *store.Store { return c.store }

// MemoryLimit returns how many bytes of memory there are for tables and pages.
func (c *CPU) MemoryLimit() int64 { return c.opt.Memory.Limit() }

// Workers returns the workers since the last Begin. Each belongs to one goroutine at a time.
func (c *CPU) Workers() []*cpuagg.Worker { return c.workers }

// Counters returns what the run has done so far. It may be called at any time.
func (c *CPU) Counters() *cpuagg.Counters { return c.counters.Load() }

// Partitions returns how many partitions there were, and how many tasks they were merged to: 0
// before Process.
func (c *CPU) Partitions() (partitions, tasks int) { return c.planned, c.merged }

// Begin implements Aggregator.
func (c *CPU) Begin(context.Context) error {
	if c.released {
		c.renew()
	}
	c.grant = c.query.Share.Join(workerBytesMin*int64(c.query.Workers), arbiter.All, c.store)
	for range c.query.Workers {
		c.workers = append(c.workers, c.run.NewWorker())
	}
	return nil
}

// Adopt takes partial states in place of rows.
func (c *CPU) Adopt(states *partial.Pass) {
	c.adopted = true
	c.run.Adopt(states.Radix(), states, states.Bytes())
}

// TakeSplit implements Aggregator: the CPU takes batches.
func (c *CPU) TakeSplit(context.Context, *Rows, scan.Split) (bool, error) { return false, nil }

// Take implements Aggregator: it takes a tile.
func (c *CPU) Take(_ context.Context, r *Rows, from, to int) (int, error) {
	r.Thread.Does(threads.WorkAggregate)
	r.encoder.Dense = c.run.Dense()
	to = min(to, from+rowdata.TileRows)
	return to - from, r.Tiles(from, to, c.workers[r.Worker].Add)
}

// EndInput implements Aggregator. The workers stay open, since devices may give them groups until
// Process.
func (c *CPU) EndInput(context.Context) ([]scan.Split, error) { return nil, nil }

// Process implements Aggregator.
func (c *CPU) Process(ctx context.Context) error {
	if err := c.scatterRest(ctx); err != nil {
		return err
	}
	tasks, partitions := c.run.Tasks(c.workers)
	c.planned, c.merged = partitions, len(tasks)
	c.addWork(tasks)
	queue := scatter.NewQueue(tasks)
	return c.query.Parallel(ctx, func(ctx context.Context, i int, th *threads.Thread) error {
		p := &processor{cpu: c, thread: th, worker: c.workers[i], queue: queue, out: c.query.Output.Writer()}
		return p.all(ctx)
	})
}

// scatterRest ends the partition-generating phase of the workers.
func (c *CPU) scatterRest(ctx context.Context) error {
	for _, w := range c.workers {
		if err := w.Close(); err != nil {
			return err
		}
	}
	if c.adopted || !c.run.MustScatter(c.workers) {
		return nil
	}
	return c.query.Parallel(ctx, func(_ context.Context, i int, th *threads.Thread) error {
		th.Does(threads.WorkScatter)
		return c.workers[i].ScatterRest()
	})
}

// processor is one worker's part of the partition-processing phase.
type processor struct {
	cpu    *CPU
	thread *threads.Thread
	worker *cpuagg.Worker
	queue  *scatter.Queue[cpuagg.Task]
	out    Writer
}

// all processes tasks until none is left.
func (p *processor) all(ctx context.Context) error {
	defer p.out.Release()
	for {
		p.thread.Give()
		task, ok := p.queue.Take(ctx)
		if !ok {
			if err := context.Cause(ctx); err != nil {
				return err
			}
			return p.out.Close()
		}
		if err := p.one(ctx, task); err != nil {
			return err
		}
	}
}

// one takes a thread and processes a task from the queue.
func (p *processor) one(ctx context.Context, task cpuagg.Task) error {
	defer p.queue.Release()
	spawn.Step()
	p.thread.WillDo(threads.WorkProcess)
	if err := p.thread.Take(ctx); err != nil {
		return err
	}
	return p.cpu.guard(func() error { return p.write(ctx, task) })
}

// write writes the groups of a task, or puts the tasks that it was split to into the queue.
func (p *processor) write(ctx context.Context, task cpuagg.Task) error {
	groups, split, err := p.worker.Process(ctx, task)
	if err != nil {
		return err
	}
	defer func() { p.cpu.query.WorkDone.Add(workOf(&task)) }()
	if groups == nil {
		p.cpu.addWork(split)
		p.queue.Put(split)
		return nil
	}
	defer groups.Release()
	p.thread.Does(threads.WorkWrite)
	return p.out.Write(ctx, p.thread, groups)
}

// guard calls a function that processes a task. Partial states with right checksums may still be of
// no program of this version: what trips over them becomes an error, as what a decoder trips over
// does. Their references have been checked.
func (c *CPU) guard(f func() error) error {
	if !c.adopted {
		return f()
	}
	panicked, err := spawn.Catch(f)
	if panicked == nil {
		return err
	}
	c.opt.Log.Debug("a merge panicked", slog.Any("panic", panicked.Value), slog.String("stack", string(panicked.Stack)))
	return fmt.Errorf("partial states: %w: %v", scan.ErrCorrupt, panicked.Value)
}

// addWork counts tasks that wait.
func (c *CPU) addWork(tasks []cpuagg.Task) {
	for i := range tasks {
		c.query.Work.Add(workOf(&tasks[i]))
	}
}

// workOf returns what a task counts for in the query's progress.
func workOf(t *cpuagg.Task) int64 { return max(t.Rows, 1) }

// Release implements Aggregator. It does nothing once it was called.
func (c *CPU) Release(error) (again bool, err error) {
	if c.released {
		return false, nil
	}
	c.released = true
	if c.grant != nil {
		c.grant.Leave()
	}
	for _, w := range c.workers {
		w.Release()
	}
	return false, c.store.Close()
}
