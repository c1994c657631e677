package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"golang.org/x/sync/semaphore"

	"github.com/mpga/mpga/cpuagg"
	"github.com/mpga/mpga/engine/device"
	"github.com/mpga/mpga/engine/internal/aggregator"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/arbiter"
	"github.com/mpga/mpga/internal/budget"
	"github.com/mpga/mpga/internal/invariants"
	"github.com/mpga/mpga/internal/knob"
	"github.com/mpga/mpga/internal/machine"
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
	arbiter *arbiter.Arbiter   // of memory
	shared  *arbiter.Statement // whose sinks all of this engine's are; nil: each call is a statement
	decoded memory.Allocator   // of decoded columns
	results memory.Allocator   // of result batches
	made    memory.Allocator   // of batches that others make, see Allocator
	devices *device.Devices
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
	e.devices, err = device.New(device.Options{
		Device:      opt.Device,
		DeviceLimit: opt.DeviceMemoryLimit,
		MemoryLimit: opt.MemoryLimit,
		MeasureLink: opt.MeasureLink,
		Algorithm:   opt.Algorithm,
		Ablation:    opt.Ablation,
		Log:         opt.Logger,
		Knobs:       opt.testing.Device,
	})
	if err != nil {
		return nil, err
	}
	if err := e.devices.Check(context.Background()); err != nil {
		err = errors.Join(err, e.devices.Close(ErrClosed))
		if opt.Device == "auto" {
			return nil, knob.Errorf(
				"%s (%q) needs a device, and there is none: %w; %s \"host:4GiB\" tries it on the CPU",
				knob.Name("engine.Algorithm"), opt.Algorithm, err, knob.Name("engine.Device"))
		}
		return nil, knob.Errorf("%s (%q): %w", knob.Name("engine.Device"), opt.Device, err)
	}
	e.decoded = opt.Allocator
	if _, own := opt.Allocator.(*budget.Pool); own {
		e.decoded = budget.NewBlocks(e.memory, e.share())
	}
	e.results = budget.NewBounded(opt.Allocator, e.memory, e.share())
	e.made = budget.NewBounded(memory.DefaultAllocator, e.memory, e.share())
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
	err := e.devices.Close(ErrClosed)
	if e.memory.Used() == 0 { // else somebody reads a batch of Rows that was not released
		e.memory.Close()
	}
	return err
}

// share returns the part of the memory limit that is one worker's, in bytes.
func (e *Engine) share() int64 { return e.opt.MemoryLimit / int64(e.opt.Threads) }

// readShare is the part of a worker's share of the memory limit that a batch of a source may take:
// the batch, the tiles that are made of it and the buffers of decoders are in memory at the same
// time. readBytesMin is the least size to ask for: smaller batches save nothing beside the buffers
// of decoders.
const (
	readShare    = 16
	readBytesMin = 256 << 10
	readBytesMax = 64 << 20
)

// readOptions returns how splits of a statement are opened. Borrow, Wait and Progress are the caller's
// to set.
func (e *Engine) readOptions(by *arbiter.Statement) scan.OpenOptions {
	return scan.OpenOptions{
		Allocator:  e.decoded,
		Budget:     e.memory,
		BatchRows:  e.opt.testing.BatchRows,
		BatchBytes: max(min(by.Part(e.share())/readShare, readBytesMax), readBytesMin),
	}
}

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

// Statement returns the engine as the steps of one statement see it, which share one statement's part
// of the memory. Each call of another engine is a statement by itself. It is not closed by itself.
func (e *Engine) Statement() *Engine {
	of := *e
	of.shared = e.arbiter.NewStatement()
	return &of
}

// statement returns the statement that a call's sinks join.
func (e *Engine) statement() *arbiter.Statement {
	if e.shared != nil {
		return e.shared
	}
	return e.arbiter.NewStatement()
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

// GroupsOptions say what Engine.Groups returns. The zero value is all groups as they are.
type GroupsOptions struct {
	// Coded is for a result that is grouped again: string keys that are grouped by the codes of
	// dictionaries are dictionary arrays, all batches with one dictionary, and keys whose names are in
	// Counted are Booleans, as rowdata.BindCoded says.
	Coded   bool
	Counted []string

	// Most is for a caller who looks at some groups only: the others may be missing. The default, nil, is
	// all groups.
	Most *Most

	// NewMap returns what the threads that finish groups make of them, one map for each thread at work,
	// and Schema the columns of that. The defaults are the groups.
	NewMap func() RowMap
	Schema *arrow.Schema
}

// Aggregate starts a query and returns its result, which must be released. Batches arrive as they
// are ready; errors that appear after the start come from Result.Err. An error that is ErrQuery
// says that the query does not suit the source.
func (e *Engine) Aggregate(ctx context.Context, src scan.Source, q query.Query) (result *Result, err error) {
	return e.Groups(ctx, src, q, GroupsOptions{})
}

// Groups is Aggregate for a caller who takes other groups than all, or makes something else of them.
func (e *Engine) Groups(ctx context.Context, src scan.Source, q query.Query, opt GroupsOptions) (
	result *Result, err error,
) {
	err = spawn.Call(func() (err error) {
		result, err = e.groups(ctx, src, q, opt)
		return err
	})
	return result, spawn.InQuery(err, q.String())
}

func (e *Engine) groups(ctx context.Context, src scan.Source, q query.Query, opt GroupsOptions) (*Result, error) {
	started := time.Now()
	bind := rowdata.Bind
	if opt.Coded {
		bind = func(q query.Query, schema *arrow.Schema, stats []rowdata.ColumnStats) (*rowdata.Bound, error) {
			return rowdata.BindCoded(q, schema, stats, opt.Counted)
		}
	}
	bound, splits, err := e.planBy(ctx, src, q, bind)
	if err != nil {
		return nil, err
	}
	return e.stream(ctx, newAggregation(e, bound, src, splits, started), opt)
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
	run := newAggregation(e, bound, src, splits, time.Now())
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

// stream starts a query and returns its result.
func (e *Engine) stream(ctx context.Context, run *execution, opt GroupsOptions) (*Result, error) {
	qctx, cancel, done, err := e.life.enter(ctx)
	if err != nil {
		return nil, err
	}
	result := newResult(cmp.Or(opt.Schema, run.shared.Bound.Schema), run)
	result.cancel = cancel
	out := &batchOutput{query: run, to: &result.batchStream, varies: run.final.Varies(), maps: rowMaps{made: opt.NewMap}}
	if opt.Most != nil {
		out.most = newMost(run.shared.Bound, *opt.Most)
	}
	result.output = out
	run.setOutput(out)
	spawn.Go(func() error {
		defer out.maps.release()
		return run.execute(qctx)
	}, func(err error) {
		result.finish(err)
		done()
	})
	return result, nil
}

// enterBudgeted is enter for work that is no query: until done is called, the process is kept
// within its limit. The error of done is that it could not be.
func (e *Engine) enterBudgeted(ctx context.Context) (_ context.Context,
	cancel context.CancelCauseFunc, done func() error, err error) {
	ctx, cancel, leave, err := e.life.enter(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	stop, err := e.budget.Start(cancel)
	if err != nil {
		cancel(nil)
		leave()
		return nil, nil, nil, err
	}
	return ctx, cancel, func() error {
		defer leave()
		defer cancel(nil)
		return stop()
	}, nil
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

// cpuOptions returns what the CPU's aggregator of a query works with. rowsExpected returns about how
// many rows the query will read, or 0; ranges, whether no device scatters by hashes.
func (e *Engine) cpuOptions(q *aggregator.Query, rowsExpected func() int64, ranges func() bool) aggregator.CPUOptions {
	knobs := &e.opt.testing
	return aggregator.CPUOptions{
		Memory:   e.memory,
		Temp:     e.temp,
		SpillAll: knobs.SpillAll,
		Log:      e.opt.Logger,
		Run: cpuagg.Options{
			Memory:       e.memory,
			CacheBytes:   machine.LastCache().Share(q.Workers),
			ForceSplits:  knobs.ForceSplits,
			TotalRows:    rowsExpected,
			Ranges:       ranges,
			TableGroups:  knobs.TableGroups,
			RadixBits:    knobs.RadixBits,
			NoPreAgg:     knobs.NoPreAgg,
			AlwaysPreAgg: knobs.AlwaysPreAgg,
			NoDense:      knobs.NoDense,

			EstimateFactor: knobs.EstimateFactor,
		},
	}
}
