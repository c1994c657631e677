package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"golang.org/x/sync/semaphore"

	"github.com/mpga/mpga/engine/device"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/arbiter"
	"github.com/mpga/mpga/internal/budget"
	"github.com/mpga/mpga/internal/invariants"
	"github.com/mpga/mpga/internal/knob"
	"github.com/mpga/mpga/internal/mem"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/spawn"
	"github.com/mpga/mpga/internal/store"
	"github.com/mpga/mpga/internal/trace"
	"github.com/mpga/mpga/internal/vfs"
)

// Engine answers queries. It is safe for concurrent use: queries that run at the same time share
// its threads.
type Engine struct {
	opt     Options
	threads *semaphore.Weighted // E1
	memory  *mem.Memory
	temp    *store.Temp
	budget  *budget.Budget
	arbiter *arbiter.Arbiter // of memory
	made    memory.Allocator // of batches that others make, see Allocator
	devices *device.Devices
	leave   func(why error) error // closes the devices, or gives them back to Options.Devices
	life    *lifetime
}

// Open returns an engine. Its errors name every option that is out of bounds.
func Open(opt Options) (*Engine, error) {
	opt.EnsureDefaults()
	if err := opt.Validate(); err != nil {
		return nil, err
	}
	e := &Engine{
		opt:     opt,
		life:    newLifetime(),
		threads: semaphore.NewWeighted(int64(opt.Threads)),
		memory:  mem.NewMemory(opt.MemoryLimit),
		temp:    store.NewTemp(opt.FS, opt.TempDir, opt.TempLimit),
	}
	e.arbiter = arbiter.New(e.memory.Limit)
	e.memory.SetReclaim(e.arbiter.Reclaim, e.arbiter.IsShared)
	var err error
	e.devices, e.leave, err = opt.Devices.Open(device.Options{
		Device:      opt.Device,
		DeviceLimit: opt.DeviceMemoryLimit,
		MemoryLimit: opt.MemoryLimit,
		MeasureLink: opt.MeasureLink,
		Algorithm:   opt.Algorithm,
		Ablation:    opt.Ablation,
		Join:        opt.JoinAlgorithm,
		Log:         opt.Logger,
		Knobs:       opt.testing.Device,
	})
	if err != nil {
		return nil, err
	}
	if err := e.devices.Check(context.Background()); err != nil {
		err = errors.Join(err, e.leave(ErrClosed))
		if opt.Device == "auto" {
			name, algorithm := knob.Name("engine.Algorithm"), opt.Algorithm
			if join := e.devices.JoinAlgorithm(); join != "" {
				name, algorithm = knob.Name("engine.JoinAlgorithm"), join
			}
			return nil, knob.Errorf("%s (%q) needs a device, and there is none: %w; %s \"host:4GiB\" tries it on the CPU",
				name, algorithm, err, knob.Name("engine.Device"))
		}
		return nil, knob.Errorf("%s (%q): %w", knob.Name("engine.Device"), opt.Device, err)
	}
	e.made = e.newAllocator(e.memory)
	e.budget = budget.New(e.memory, opt.MemoryLimit, opt.testing.MemoryBytes)
	return e, nil
}

// Close ends all queries with ErrClosed and waits until they have given everything back. A query
// whose source does not answer holds it up.
func (e *Engine) Close() error {
	l := e.life
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.cancel(ErrClosed)
	l.queries.Wait()
	if used := e.memory.Used(); invariants.Enabled && used != 0 {
		panic(fmt.Sprintf("engine: closed with %d B in use", used))
	}
	e.budget.Close()
	err := e.leave(ErrClosed)
	if e.memory.Used() == 0 { // else somebody reads a batch of Rows that was not released
		e.memory.Close()
	}
	return err
}

// share returns the part of the memory limit that is one worker's, in bytes.
func (e *Engine) share() int64 { return e.opt.MemoryLimit / int64(e.opt.Threads) }

// Observer watches queries. The zero value watches nothing.
type Observer struct {
	Progress func(Progress)  // as Options.Progress
	Trace    *trace.Recorder // as Options.Trace
}

// Observed returns the engine as a caller sees it who has other observers than the engine's options
// name: everything else is the engine's own. It is not closed by itself.
func (e *Engine) Observed(by Observer) *Engine {
	of := *e
	of.opt.Progress, of.opt.Trace = by.Progress, by.Trace
	return &of
}

// WarmDevices opens the devices that Options.Device lets queries use, before one needs them, and returns why
// there are none. A program that stays need not wait for a query that would be worth the opening.
func (e *Engine) WarmDevices(ctx context.Context) error { return e.devices.Warm(ctx) }

// Threads returns how many threads all queries of the engine use together.
func (e *Engine) Threads() int { return e.opt.Threads }

// MaxRecursion returns how many iterations a recursion may have.
func (e *Engine) MaxRecursion() int64 { return e.opt.MaxRecursion }

// MaxPairs returns how many pairs of rows a join without a key may compare.
func (e *Engine) MaxPairs() int64 { return e.opt.MaxPairs }

// Warn tells Options.Logger what is worth a look: names and values in turns say more of it.
func (e *Engine) Warn(message string, args ...any) { e.opt.Logger.Warn(message, args...) }

// MemoryLimit returns the limit of the process, in bytes.
func (e *Engine) MemoryLimit() int64 { return e.budget.Limit() }

// ResidentPeak returns the most bytes that the process had resident while queries ran.
func (e *Engine) ResidentPeak() int64 { return e.budget.Peak() }

// Allocator returns an allocator of the Go heap, within the engine's budget, for batches that are
// made of results. Where the budget has no room, spawn.Fail ends the caller's work with the error.
func (e *Engine) Allocator() memory.Allocator { return e.made }

// Budget returns the engine's budget, for memory that is taken for results in other ways.
func (e *Engine) Budget() rowdata.Budget { return e.memory }

// CreateTemp returns a temporary file beside the files of queries, which counts for Options.TempLimit until it is
// closed; each byte of it is written once. Errors of writes are ErrTempLimit where it has no room.
func (e *Engine) CreateTemp() (vfs.TempFile, error) { return e.temp.Create() }

// Aggregate starts a query and returns its result, which must be released. Batches arrive as they
// are ready; errors that appear after the start come from Result.Err. An error that is ErrQuery
// says that the query does not suit the source.
func (e *Engine) Aggregate(ctx context.Context, src scan.Source, q query.Query) (result *Result, err error) {
	return e.Statement(ctx).Groups(ctx, src, q, GroupsOptions{})
}

// Explain returns the plan of a query without running it, and a forecast by a sample of at most
// 65,536 rows. A source that can be read once only is not sampled.
func (e *Engine) Explain(ctx context.Context, src scan.Source, q query.Query) (plan *Plan, err error) {
	err = spawn.Call(func() (err error) {
		plan, err = e.explain(ctx, src, q)
		return err
	})
	return plan, spawn.InQuery(err, q.String())
}

func (e *Engine) explain(ctx context.Context, src scan.Source, q query.Query) (plan *Plan, err error) {
	bound, splits, err := e.plan(ctx, src, q)
	if err != nil {
		return nil, err
	}
	run := newAggregation(e.Statement(ctx), bound, src, splits, time.Now())
	defer func() {
		_, releaseErr := run.cpu.Release(err)
		err = errors.Join(err, releaseErr)
	}()
	forecast, err := run.forecast(ctx)
	if err != nil {
		return nil, err
	}
	var foretold *device.Forecast
	if run.devices != nil {
		foretold, err = run.devices.Foretell(ctx, forecast.size())
	}
	if err != nil {
		return nil, err
	}
	route := "cpu"
	if foretold != nil && foretold.Devices != "" {
		route = "device"
	}
	return &Plan{
		Pruning:     scan.PruningOf(src),
		Route:       route,
		Device:      foretold,
		Threads:     e.opt.Threads,
		Table:       tableKind(bound, run.cpu.Run().Dense()),
		Splits:      len(splits),
		RowsTotal:   run.progress.rowsTotal,
		BytesTotal:  run.progress.bytesTotal,
		MemoryLimit: e.opt.MemoryLimit,
		TempDir:     e.opt.TempDir,
		TempLimit:   e.opt.TempLimit,
		Forecast:    forecast,
		Bound:       bound,
	}, nil
}

// OnDevices reports whether devices are expected to make all groups of a query. Devices that are not asked for
// are expected to do nothing unless they are open.
func (e *Engine) OnDevices(ctx context.Context, src scan.Source, q query.Query) (bool, error) {
	if !e.devices.Ready() {
		return false, nil
	}
	plan, err := e.Explain(ctx, src, q)
	if err != nil { // which the query has, too, if it is the input's
		return false, context.Cause(ctx)
	}
	if plan.Device == nil || !plan.Device.Alone {
		return false, nil
	}
	// Where devices number the strings of an argument, there are to be few of them, as of a key.
	for _, a := range q.Aggregates {
		for _, arg := range a.Args {
			i := slices.IndexFunc(plan.Bound.Columns, func(c rowdata.Column) bool {
				return c.Name == arg && c.Kind == rowdata.Bytes
			})
			if i < 0 || a.Func == query.Count {
				continue
			}
			of, err := e.Explain(ctx, src, query.Query{Keys: []query.Key{{Column: arg}}})
			if err != nil || of.Device == nil || of.Device.Devices == "" {
				return false, context.Cause(ctx)
			}
		}
	}
	return true, nil
}

// plan binds a query to a source and cuts the source into splits.
func (e *Engine) plan(ctx context.Context, src scan.Source, q query.Query) (*rowdata.Bound, []scan.Split, error) {
	return e.planBy(ctx, src, q, rowdata.Bind)
}

// binder is rowdata.Bind or rowdata.BindCanonical.
type binder func(query.Query, *arrow.Schema, []rowdata.ColumnStats) (*rowdata.Bound, error)

func (e *Engine) planBy(ctx context.Context, src scan.Source, q query.Query,
	bind binder) (*rowdata.Bound, []scan.Split, error) {
	if e.life.isClosed() {
		return nil, nil, ErrClosed
	}
	stats := src.Stats()
	bound, err := bind(q, src.Schema(), stats.Columns)
	if err != nil {
		return nil, nil, err
	}
	columns := make([]int, len(bound.Columns))
	for i := range columns {
		columns[i] = bound.Columns[i].Index
	}
	splits, err := src.Splits(ctx, columns)
	if err != nil {
		return nil, nil, err
	}
	return bound, splits, nil
}
