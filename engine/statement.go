package engine

import (
	"context"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/cpuagg"
	"github.com/mpga/mpga/engine/internal/aggregator"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/arbiter"
	"github.com/mpga/mpga/internal/budget"
	"github.com/mpga/mpga/internal/machine"
	"github.com/mpga/mpga/internal/mem"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/scatter"
	"github.com/mpga/mpga/internal/spawn"
	"github.com/mpga/mpga/internal/store"
)

// Statement is what the steps of one statement share: a part of the engine's memory, and the engine's threads,
// temporary files and devices. Its methods begin steps: Groups, Rows, Sort, Keep, Hash, and others. A statement holds
// nothing by itself, and needs no end. It is safe for concurrent use.
type Statement struct {
	engine  *Engine
	memory  *mem.Memory        // the engine's; reservations stop waiting where the statement's context ends
	share   *arbiter.Statement // of memory
	decoded memory.Allocator   // of decoded columns
	results memory.Allocator   // of result batches
	made    memory.Allocator   // of batches that others make, see Allocator
}

// Statement begins a statement of several steps. Where its context ends, none of them waits for memory any longer;
// a step ends with the context that it is begun with.
func (e *Engine) Statement(ctx context.Context) *Statement {
	m := e.memory.WithContext(ctx)
	s := &Statement{
		engine: e, memory: m, share: e.arbiter.NewStatement(),
		decoded: e.opt.Allocator, results: budget.NewBounded(e.opt.Allocator, m, e.share()), made: e.newAllocator(m),
	}
	if _, own := e.opt.Allocator.(*budget.Pool); own {
		s.decoded = budget.NewBlocks(m, e.share())
	}
	return s
}

// newAllocator returns an allocator of the Go heap, within the budget of a memory.
func (e *Engine) newAllocator(m *mem.Memory) memory.Allocator {
	return budget.NewBounded(memory.DefaultAllocator, m, e.share())
}

// Engine returns the engine of the statement.
func (s *Statement) Engine() *Engine { return s.engine }

// Allocator is Engine.Allocator, for batches of the statement.
func (s *Statement) Allocator() memory.Allocator { return s.made }

// enter begins a step: until leave is called, the process is kept within its limit, and the context ends with the
// engine, and where the process cannot be kept within the limit, which is the error of leave, too. The caller calls
// leave, which ends the context, when the step has given everything back.
func (s *Statement) enter(ctx context.Context) (_ context.Context, cancel context.CancelCauseFunc,
	leave func() error, err error) {
	ctx, cancel, done, err := s.engine.life.enter(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	stop, err := s.engine.budget.Start(cancel)
	if err != nil {
		cancel(nil)
		done()
		return nil, nil, nil, err
	}
	return ctx, cancel, func() error {
		defer done()
		defer cancel(nil)
		return stop()
	}, nil
}

// newQuery returns what a number of workers share, which read the rows of a step.
func (s *Statement) newQuery(workers int) *aggregator.Query {
	return &aggregator.Query{Workers: workers, Share: s.share, Threads: s.engine.threads}
}

// newBatchStore returns a store of batches, which a number of workers write.
func (s *Statement) newBatchStore(writers int) *store.Store {
	return store.NewStore(store.StoreOptions{
		Memory:   s.memory,
		Temp:     s.engine.temp,
		Layouts:  [scatter.Contents]*rowdata.RowLayout{&store.BatchLayout, &store.BatchLayout},
		Writers:  writers,
		SpillAll: s.engine.opt.testing.SpillAll,
		Reclaim:  s.share.Reclaim,
	})
}

// GroupsOptions say what Statement.Groups returns. The zero value is all groups as they are.
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

// Groups is Engine.Aggregate for a caller who takes other groups than all, or makes something else of them.
func (s *Statement) Groups(ctx context.Context, src scan.Source, q query.Query, opt GroupsOptions) (
	result *Result, err error,
) {
	err = spawn.Call(func() (err error) {
		result, err = s.groups(ctx, src, q, opt)
		return err
	})
	return result, spawn.InQuery(err, q.String())
}

func (s *Statement) groups(ctx context.Context, src scan.Source, q query.Query, opt GroupsOptions) (*Result, error) {
	started := time.Now()
	bind := rowdata.Bind
	if opt.Coded {
		bind = func(q query.Query, schema *arrow.Schema, stats []rowdata.ColumnStats) (*rowdata.Bound, error) {
			return rowdata.BindCoded(q, schema, stats, opt.Counted)
		}
	}
	bound, splits, err := s.engine.planBy(ctx, src, q, bind)
	if err != nil {
		return nil, err
	}
	return newAggregation(s, bound, src, splits, started).stream(ctx, opt)
}

// readShare is the part of a worker's share of the memory limit that a batch of a source may take:
// the batch, the tiles that are made of it and the buffers of decoders are in memory at the same
// time. readBytesMin is the least size to ask for: smaller batches save nothing beside the buffers
// of decoders.
const (
	readShare    = 16
	readBytesMin = 256 << 10
	readBytesMax = 64 << 20
)

// openOptions returns how splits are opened by a step, whose context ends the waiting for memory. Borrow, Wait and
// Progress are the caller's to set.
func (s *Statement) openOptions(ctx context.Context) scan.OpenOptions {
	return scan.OpenOptions{
		Allocator:  s.decoded,
		Budget:     s.memory.WithContext(ctx),
		BatchRows:  s.engine.opt.testing.BatchRows,
		BatchBytes: max(min(s.share.Part(s.engine.share())/readShare, readBytesMax), readBytesMin),
	}
}

// cpuOptions returns what the CPU's aggregator of a query works with. rowsExpected returns about how
// many rows the query will read, or 0; ranges, whether no device scatters by hashes.
func (s *Statement) cpuOptions(
	q *aggregator.Query, rowsExpected func() int64, ranges func() bool,
) aggregator.CPUOptions {
	knobs := &s.engine.opt.testing
	return aggregator.CPUOptions{
		Memory:   s.memory,
		Temp:     s.engine.temp,
		SpillAll: knobs.SpillAll,
		Log:      s.engine.opt.Logger,
		Run: cpuagg.Options{
			Memory:       s.memory,
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
