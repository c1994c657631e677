package engine_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/grouptest"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/testknobs"
)

// madeSource is a source of made-up rows: row i has k = i % groups, v = i and s = k as text. hook
// is called before each batch; the batch or the error that it returns comes in place of the made
// one.
type madeSource struct {
	splits, batches, rows, groups int
	stats                         []scan.ColumnStats
	hook                          func(ctx context.Context, split, batch int, mem memory.Allocator) (arrow.RecordBatch, error)
}

var madeSchema = arrow.NewSchema([]arrow.Field{
	{Name: "k", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	{Name: "v", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
}, nil)

func (s *madeSource) Schema() *arrow.Schema { return madeSchema }
func (s *madeSource) total() int64          { return int64(s.splits * s.batches * s.rows) }
func (s *madeSource) Stats() scan.Stats {
	return scan.Stats{Rows: s.total(), Bytes: 100 * s.total(), Columns: s.stats}
}

func (s *madeSource) Splits(_ context.Context, columns []int) ([]scan.Split, error) {
	list := make([]scan.Split, s.splits)
	for i := range list {
		list[i] = &madeSplit{s, i, columns}
	}
	return list, nil
}

type madeSplit struct {
	source  *madeSource
	index   int
	columns []int
}

func (s *madeSplit) Position() uint64 { return uint64(s.index * s.source.batches * s.source.rows) }
func (s *madeSplit) Rows() int64      { return int64(s.source.batches * s.source.rows) }
func (s *madeSplit) Bytes() int64     { return 100 * s.Rows() }
func (s *madeSplit) Name() string     { return fmt.Sprintf("made-up part %d", s.index) }
func (s *madeSplit) Open(ctx context.Context, opt scan.OpenOptions) (array.RecordReader, error) {
	opt.EnsureDefaults()
	return &madeReader{madeSplit: s, ctx: ctx, opt: opt, refs: 1}, nil
}

type madeReader struct {
	*madeSplit
	ctx   context.Context
	opt   scan.OpenOptions
	next  int
	batch arrow.RecordBatch
	err   error
	refs  int
}

func (r *madeReader) Schema() *arrow.Schema          { return madeSchema }
func (r *madeReader) RecordBatch() arrow.RecordBatch { return r.batch }
func (r *madeReader) Record() arrow.RecordBatch      { return r.batch }
func (r *madeReader) Err() error                     { return r.err }
func (r *madeReader) Retain()                        { r.refs++ }
func (r *madeReader) Release() {
	if r.refs--; r.refs == 0 {
		r.drop()
	}
}

func (r *madeReader) drop() {
	if r.batch != nil {
		r.batch.Release()
		r.batch = nil
	}
}

func (r *madeReader) Next() bool {
	r.drop()
	if r.next == r.source.batches {
		return false
	}
	if r.source.hook != nil {
		r.batch, r.err = r.source.hook(r.ctx, r.index, r.next, r.opt.Allocator)
	}
	if r.err != nil {
		return false
	}
	if r.batch == nil {
		r.batch = r.make(int(r.Position()) + r.next*r.source.rows)
	}
	r.next++
	if r.opt.Progress != nil {
		r.opt.Progress(int64(100 * r.source.rows))
	}
	return true
}

// make returns the asked-for columns of the rows from position on.
func (r *madeReader) make(position int) arrow.RecordBatch {
	fields := make([]arrow.Field, len(r.columns))
	columns := make([]arrow.Array, len(r.columns))
	for i, c := range r.columns {
		fields[i] = madeSchema.Field(c)
		b := array.NewBuilder(r.opt.Allocator, fields[i].Type)
		for row := position; row < position+r.source.rows; row++ {
			k := row % r.source.groups
			switch b := b.(type) {
			case *array.StringBuilder:
				b.Append(fmt.Sprintf("the group number %d", k))
			case *array.Int64Builder:
				b.Append(int64(map[bool]int{true: k, false: row}[c == 0]))
			}
		}
		columns[i] = b.NewArray()
		b.Release()
	}
	batch := array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, int64(r.source.rows))
	for _, c := range columns {
		c.Release()
	}
	return batch
}

// madeQuery groups by k and counts; checkMade knows its answer.
var madeQuery = query.Query{
	Keys:       []query.Key{{Column: "k"}},
	Aggregates: []query.Aggregate{{Func: query.CountStar}, {Func: query.Sum, Args: []string{"v"}}, {Func: query.Max, Args: []string{"s"}}},
}

// readMade reads a result to its end and returns how many rows its groups count.
func readMade(result *engine.Result) (groups int, rows int64, err error) {
	for result.Next() {
		batch := result.RecordBatch()
		groups += int(batch.NumRows())
		for i := range int(batch.NumRows()) {
			rows += batch.Column(1).(*array.Int64).Value(i)
		}
	}
	return groups, rows, result.Err()
}

// openChecked opens an engine whose memory must all be back when the test ends.
func openChecked(t *testing.T, opt engine.Options) *engine.Engine {
	t.Helper()
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	opt.Allocator = mem
	if opt.Logger == nil {
		opt.Logger = leakLogger(t)
	}
	eng, err := engine.Open(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := eng.Close(); err != nil {
			t.Error(err)
		}
		mem.AssertSize(t, 0)
	})
	return eng
}

func mustAggregate(t *testing.T, eng *engine.Engine, src scan.Source, q query.Query) *engine.Result {
	t.Helper()
	result, err := eng.Aggregate(t.Context(), src, q)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// fails runs a query and returns what Result.Err says.
func fails(t *testing.T, eng *engine.Engine, src scan.Source, q query.Query) error {
	t.Helper()
	result := mustAggregate(t, eng, src, q)
	defer result.Release()
	_, _, err := readMade(result)
	if err == nil {
		t.Error("the query has an answer")
	}
	return err
}

// scatterKnobs make small inputs take the way of large ones.
var scatterKnobs = testknobs.Engine{NoDense: true, AlwaysPreAgg: true, TableGroups: 4, RadixBits: 4, ResultRows: 5}

// Would catch queries that mix up their groups, their stores or their memory when they share an
// engine's threads, and a query that waits for ever for a thread. Floats are left out: where their
// sums pass the range of a double, the answer follows from the order.
func TestQueriesTogether(t *testing.T) {
	seed := newSeed(t)
	types := slices.DeleteFunc(append(grouptest.Types(), grouptest.DictionaryTypes()...), func(dt arrow.DataType) bool {
		kind, err := rowdata.KindOf(dt)
		return err != nil || kind == rowdata.Float64
	})
	for _, threads := range []int{1, 2, 5} {
		eng := openChecked(t, testknobs.With(engine.Options{Threads: threads}, testknobs.Engine{ResultRows: 50, TableGroups: 10}))
		var wg sync.WaitGroup
		for client := range 6 {
			wg.Go(func() {
				rng := rand.New(rand.NewPCG(seed, uint64(100*threads+client)))
				for range 4 {
					schema, batches := grouptest.RandomTable(rng, rng.IntN(3000), types...)
					q := grouptest.RandomQuery(rng, schema)
					want, wantErr := grouptest.Oracle(schema, batches, q)
					got, err := answer(eng, scan.Batches(schema, batches), q)
					switch {
					case (wantErr != nil) != (err != nil):
						t.Errorf("%v over %v: error %v, want %v", q.Aggregates, q.Keys, err, wantErr)
					case err == nil:
						if err := grouptest.Equal(want, got); err != nil {
							t.Errorf("%v over %v: %v", q.Aggregates, q.Keys, err)
						}
					}
				}
			})
		}
		wg.Wait()
	}
}

// Would catch a Close that waits for a reader who never comes, that leaves a query running, or
// whose queries end as if all were well.
func TestCloseEndsQueries(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	eng, err := engine.Open(testknobs.With(engine.Options{Threads: 3, Allocator: mem}, scatterKnobs))
	if err != nil {
		t.Fatal(err)
	}
	blocked := make(chan struct{}, 1)
	var read atomic.Int64 // batches of a source
	sources := []*madeSource{
		{splits: 2, batches: 3, rows: 1000, groups: 500},
		{splits: 4, batches: 50, rows: 1000, groups: 5000, hook: func(context.Context, int, int, memory.Allocator) (arrow.RecordBatch, error) {
			read.Add(1)
			return nil, nil
		}},
		{splits: 1, batches: 2, rows: 10, groups: 3, hook: func(ctx context.Context, _, batch int, _ memory.Allocator) (arrow.RecordBatch, error) {
			if batch == 0 {
				return nil, nil
			}
			blocked <- struct{}{}
			<-ctx.Done()
			return nil, ctx.Err()
		}},
	}
	var results []*engine.Result
	for _, src := range sources {
		results = append(results, mustAggregate(t, eng, src, madeQuery))
	}
	if !results[0].Next() {
		t.Error("the first result has no batch")
	}
	<-blocked
	ends(t, "Close", func() {
		if err := eng.Close(); err != nil {
			t.Error(err)
		}
	})
	before := read.Load()
	for i, result := range results {
		if _, _, err := readMade(result); !errors.Is(err, engine.ErrClosed) {
			t.Errorf("query %d ended with %v", i, err)
		}
		result.Release()
	}
	if _, err := eng.Aggregate(t.Context(), sources[0], madeQuery); !errors.Is(err, engine.ErrClosed) {
		t.Errorf("a query on a closed engine: %v", err)
	}
	if err := eng.Close(); err != nil {
		t.Errorf("closing again: %v", err)
	}
	if after := read.Load(); after != before {
		t.Errorf("%d batches were read after Close", after-before)
	}
}

// Would catch a query that goes on after its context has ended, that hides why it ended, or that
// loses memory at some point of its life: it is cancelled at random moments, at every batch of its
// source, and after every batch of its result.
func TestCancel(t *testing.T) {
	rng := rand.New(rand.NewPCG(newSeed(t), 2))
	cause := errors.New("the user is gone")
	for i := range 60 {
		eng := openChecked(t, testknobs.With(engine.Options{Threads: 1 + i%4}, scatterKnobs))
		ctx, cancel := context.WithCancelCause(t.Context())
		src := &madeSource{splits: 3, batches: 6, rows: 200, groups: 300}
		var calls, resultBatches atomic.Int64
		at, readAt := int64(-1), int64(-1)
		switch i % 3 {
		case 0:
			at = int64(i / 3)
		case 1:
			readAt = int64(i / 3)
		default:
			time.AfterFunc(time.Duration(rng.IntN(5000))*time.Microsecond, func() { cancel(cause) })
		}
		src.hook = func(context.Context, int, int, memory.Allocator) (arrow.RecordBatch, error) {
			if calls.Add(1) == at {
				cancel(cause)
			}
			return nil, nil
		}
		result, err := eng.Aggregate(ctx, src, madeQuery)
		if err != nil {
			if !errors.Is(err, cause) && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			cancel(nil)
			continue
		}
		for more := true; more; more = result.Next() {
			if resultBatches.Add(1) == readAt {
				cancel(cause)
			}
		}
		if err := result.Err(); err != nil && !errors.Is(err, cause) {
			t.Errorf("cancelled at batch %d of the source, %d of the result: %v", at, readAt, err)
		}
		if err := result.Err(); err == nil && at > 0 && at <= 18 {
			t.Errorf("cancelled at batch %d of the source, and nobody noticed", at)
		}
		result.Release()
		cancel(nil)
	}
}

// Would catch a query that is cancelled and reads on, or that does not end while its source or its
// own result keeps it waiting.
func TestCancelIsQuick(t *testing.T) {
	const threads = 2
	eng := openChecked(t, testknobs.With(engine.Options{Threads: threads}, scatterKnobs))
	for _, src := range []*madeSource{
		{splits: 100, batches: 100, rows: 5000, groups: 100_000}, // minutes of work
		{splits: 1, batches: 1, rows: 1000, groups: 900},         // waits for its reader
		{splits: 2, batches: 1, rows: 10, groups: 3},             // does not answer
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		begun := make(chan struct{}, src.splits*src.batches)
		var late atomic.Int64 // batches that are read of a query that has been cancelled
		src.hook = func(ctx context.Context, _, _ int, _ memory.Allocator) (arrow.RecordBatch, error) {
			if ctx.Err() != nil {
				late.Add(1)
			}
			begun <- struct{}{}
			if src.rows == 10 {
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return nil, nil
		}
		result, err := eng.Aggregate(ctx, src, madeQuery)
		if err != nil {
			t.Fatal(err)
		}
		<-begun
		if src.rows == 1000 && !result.Next() {
			t.Error("the result has no batch")
		}
		cancel(context.DeadlineExceeded)
		ends(t, "a query that was cancelled", func() { _, _, err = readMade(result) })
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the query ended with %v", err)
		}
		if n := late.Load(); n > threads { // each may have been about to
			t.Errorf("%d batches were read after the query was cancelled", n)
		}
		result.Release()
	}
}

// Would catch a result that keeps its query alive after Release, that takes a batch away which its
// reader has retained, or that ends with the first of two references.
func TestReleaseInMidResult(t *testing.T) {
	for reads := range 12 {
		eng := openChecked(t, testknobs.With(engine.Options{Threads: 3}, scatterKnobs))
		result := mustAggregate(t, eng, &madeSource{splits: 3, batches: 2, rows: 300, groups: 100}, madeQuery)
		var kept arrow.RecordBatch
		for range reads {
			if !result.Next() {
				t.Fatalf("the result ends: %v", result.Err())
			}
			if kept == nil {
				kept = result.RecordBatch()
				kept.Retain()
			}
		}
		result.Retain()
		result.Release()
		if !result.Next() || result.Err() != nil || result.Stats().Route != "" {
			t.Errorf("with a reference left: %v, %+v", result.Err(), result.Stats())
		}
		result.Release()
		if s := result.Stats(); s.Route != "cpu" || s.RowsRead != 1800 || result.Err() != nil {
			t.Errorf("released: %v, %+v", result.Err(), s)
		}
		if kept != nil {
			if got := kept.Column(1).(*array.Int64).Value(0); got != 18 {
				t.Errorf("a batch that was retained counts %d, want 18", got)
			}
			kept.Release()
		}
	}
}

// Would catch a decoder's panic that ends the process, or whose error quotes the program; at
// every batch of every split.
func TestSourcePanics(t *testing.T) {
	for n := range 6 {
		eng := openChecked(t, engine.Options{Threads: 2})
		src := &madeSource{splits: 2, batches: 3, rows: 100, groups: 10}
		src.hook = func(_ context.Context, split, batch int, _ memory.Allocator) (arrow.RecordBatch, error) {
			if 3*split+batch == n {
				var none []int
				_ = none[batch]
			}
			return nil, nil
		}
		if err := fails(t, eng, src, madeQuery); !errors.Is(err, engine.ErrCorrupt) || !strings.Contains(err.Error(), "lies beyond their end") {
			t.Errorf("batch %d: %v", n, err)
		}
	}
}

// Would catch an error of the source that is lost, or replaced by the cancelling of the other
// workers.
func TestSourceErrors(t *testing.T) {
	errSource := errors.New("the disk is on fire")
	for n := range 6 {
		for _, threads := range []int{1, 4} {
			eng := openChecked(t, engine.Options{Threads: threads})
			src := &madeSource{splits: 2, batches: 3, rows: 100, groups: 10}
			src.hook = func(_ context.Context, split, batch int, _ memory.Allocator) (arrow.RecordBatch, error) {
				if 3*split+batch == n {
					return nil, errSource
				}
				return nil, nil
			}
			if err := fails(t, eng, src, madeQuery); !errors.Is(err, errSource) {
				t.Errorf("batch %d: %v", n, err)
			}
		}
	}
}

// Would catch batches that contradict the schema or the statistics and change an answer, or crash,
// in place of an error that names the column.
func TestSourceContradictsItself(t *testing.T) {
	i64, i32, text := arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Int32, arrow.BinaryTypes.String
	ok := []arrow.Array{
		grouptest.Array(i64, []any{int64(1), int64(2)}), grouptest.Array(i64, []any{int64(1), int64(2)}), grouptest.Array(text, []any{"a", "b"}),
	}
	replace := func(c int, dt arrow.DataType, cells ...any) []arrow.Array {
		columns := append([]arrow.Array(nil), ok...)
		columns[c] = grouptest.Array(dt, cells)
		return columns
	}
	noNulls := scan.ColumnStats{NoNulls: true}
	ranged := scan.ColumnStats{NoNulls: true, HasRange: true, Min: 1, Max: 100_000}
	small := scan.ColumnStats{HasRange: true, Min: -3, Max: 10}
	for _, c := range []struct {
		name    string
		columns []arrow.Array
		stats   []scan.ColumnStats
		want    []string // in the error; nil for an answer
	}{
		{"nothing wrong", ok, []scan.ColumnStats{ranged, noNulls, noNulls}, nil},
		{"narrower integers", replace(0, i32, int64(1), int64(2)), nil, []string{`"k"`, "int32", "int64"}},
		{"a string for an integer", replace(1, text, "1", "2"), nil, []string{`"v"`, "utf8", "int64"}},
		{"an integer for a string", replace(2, i64, int64(1), int64(2)), nil, []string{`"s"`, "int64", "utf8"}},
		{"a column too few", ok[:2], nil, []string{"2 columns", "3"}},
		{"a NULL key", replace(0, i64, int64(1), nil), []scan.ColumnStats{noNulls, {}, {}}, []string{`"k"`, "NULL"}},
		{"a NULL value", replace(1, i64, nil, int64(1)), []scan.ColumnStats{{}, noNulls, {}}, []string{`"v"`, "NULL"}},
		{"a NULL string", replace(2, text, "a", nil), []scan.ColumnStats{{}, {}, noNulls}, []string{`"s"`, "NULL"}},
		{"a key below its range", replace(0, i64, int64(1), int64(0)), []scan.ColumnStats{ranged, {}, {}}, []string{`"k"`, "holds 0", "1 to 100000"}},
		{"a key above its range", replace(0, i64, int64(1<<40), int64(1)), []scan.ColumnStats{ranged, {}, {}}, []string{`"k"`, "1099511627776"}},
		{"a key where its NULL would be", replace(0, i64, int64(11), int64(1)), []scan.ColumnStats{small, {}, {}}, []string{`"k"`, "holds 11", "-3 to 10"}},
		{"a NULL in a range", replace(0, i64, nil, int64(1)), []scan.ColumnStats{small, {}, {}}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			eng := openChecked(t, engine.Options{Threads: 2})
			src := &madeSource{splits: 2, batches: 2, rows: 2, groups: 2, stats: c.stats}
			src.hook = func(_ context.Context, split, batch int, _ memory.Allocator) (arrow.RecordBatch, error) {
				if split+batch < 2 && c.want != nil {
					return grouptest.Batch(columnsSchema(ok), ok...), nil
				}
				return grouptest.Batch(columnsSchema(c.columns), c.columns...), nil
			}
			if c.want == nil {
				result := mustAggregate(t, eng, src, madeQuery)
				defer result.Release()
				if _, rows, err := readMade(result); err != nil || rows != 8 {
					t.Errorf("%d rows, want 8: %v", rows, err)
				}
				return
			}
			err := fails(t, eng, src, madeQuery)
			for _, want := range append(c.want, "made-up part 1") {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not say %q", err, want)
				}
			}
		})
	}
}

// columnsSchema is the schema of columns.
func columnsSchema(columns []arrow.Array) *arrow.Schema {
	fields := make([]arrow.Field, len(columns))
	for i, c := range columns {
		fields[i] = arrow.Field{Name: madeSchema.Field(i).Name, Type: c.DataType(), Nullable: true}
	}
	return arrow.NewSchema(fields, nil)
}

// Would catch progress that falls, also where pages go to disk and tasks are split, that ends
// elsewhere than at the whole, or that comes from two goroutines of a query at once.
func TestProgress(t *testing.T) {
	split := scatterKnobs
	split.SpillAll, split.ForceSplits = true, 2
	for i, knobs := range []testknobs.Engine{scatterKnobs, scatterKnobs, split, split} {
		unknown := i%2 == 1
		var calls []engine.Progress
		var inside atomic.Int32
		eng := openChecked(t, testknobs.With(engine.Options{Threads: 3, Progress: func(p engine.Progress) {
			if inside.Add(1) != 1 {
				t.Error("two calls at once")
			}
			calls = append(calls, p)
			runtime.Gosched()
			inside.Add(-1)
		}, TempDir: t.TempDir()}, knobs))
		made := &madeSource{splits: 4, batches: 5, rows: 100, groups: 200}
		made.hook = func(context.Context, int, int, memory.Allocator) (arrow.RecordBatch, error) {
			time.Sleep(50 * time.Millisecond)
			return nil, nil
		}
		var src scan.Source = made
		if unknown {
			src = unknownSize{made}
		}
		result := mustAggregate(t, eng, src, madeQuery)
		for result.Next() {
			time.Sleep(3 * time.Millisecond)
		}
		if err := result.Err(); err != nil {
			t.Fatal(err)
		}
		checkProgress(t, calls, made.total(), unknown, false)
		result.Release()
	}
}

// unknownSize is a source that does not know how large it is.
type unknownSize struct{ *madeSource }

func (s unknownSize) Stats() scan.Stats { return scan.Stats{Rows: -1, Bytes: -1} }

// checkProgress checks all calls of a query, which may have begun again.
func checkProgress(t *testing.T, calls []engine.Progress, total int64, unknown, again bool) {
	t.Helper()
	if len(calls) < 3 {
		t.Fatalf("%d calls", len(calls))
	}
	order := map[engine.Phase]int{engine.PhasePlan: 0, engine.PhasePartition: 1, engine.PhaseProcess: 2}
	before := engine.Progress{Fraction: -1, Phase: engine.PhasePlan}
	for i, p := range calls {
		if p.Fraction < before.Fraction || p.RowsRead < before.RowsRead || p.BytesRead < before.BytesRead || p.Groups < before.Groups ||
			p.Elapsed < before.Elapsed || order[p.Phase] < order[before.Phase] && !again {
			t.Errorf("call %d falls from %+v to %+v", i, before, p)
		}
		if p.Left < -1 || p.Left >= 0 && p.Fraction <= 0 || p.Reading > p.Elapsed || p.Reading < before.Reading {
			t.Errorf("call %d: %v left, %v of reading", i, p.Left, p.Reading)
		}
		if p.Fraction > 1 || p.RowsRead > total || p.Done != (i == len(calls)-1) {
			t.Errorf("call %d of %d: %+v", i, len(calls), p)
		}
		if wantTotal := map[bool]int64{true: -1, false: total}[unknown]; p.RowsTotal != wantTotal {
			t.Errorf("call %d: %d rows in all, want %d", i, p.RowsTotal, wantTotal)
		}
		before = p
	}
	if before.Fraction != 1 || before.RowsRead != total || before.BytesRead != 100*total || before.Groups != 200 {
		t.Errorf("the last call is %+v", before)
	}
}

// Would catch figures that do not add up: rows that are neither pre-aggregated nor scattered,
// groups that no batch held, partitions of a query that made none.
func TestStats(t *testing.T) {
	src := &madeSource{splits: 4, batches: 5, rows: 1000, groups: 300, stats: []scan.ColumnStats{{NoNulls: true}, {}, {}}}
	small := *src
	small.stats = []scan.ColumnStats{{NoNulls: true, HasRange: true, Max: 299}, {}, {}}
	for _, c := range []struct {
		name       string
		src        *madeSource
		keys       []query.Key
		knobs      testknobs.Engine
		table      string
		keyBytes   int
		groups     int64
		batches    int64
		partitions int
		scattered  func(s engine.Stats) bool
	}{
		{"hash", src, madeQuery.Keys, testknobs.Engine{}, "hash", 8, 300, 1, 1, nothingScattered},
		{"dense", &small, madeQuery.Keys, testknobs.Engine{ResultRows: 100}, "dense", 4, 300, 3, 1, nothingScattered},
		{"no keys", src, nil, testknobs.Engine{}, "single group", 0, 1, 1, 1, nothingScattered},
		{"rows scattered", src, madeQuery.Keys, testknobs.Engine{NoPreAgg: true, RadixBits: 5}, "hash", 8, 300, -1, 32,
			func(s engine.Stats) bool { return s.RowsScattered == s.RowsRead && s.PartitionBytes >= 8*s.RowsRead }},
		{"states scattered", src, madeQuery.Keys, scatterKnobs, "hash", 8, 300, -1, 16,
			func(s engine.Stats) bool { return s.StatesScattered >= s.Groups && s.PartitionBytes > 0 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			eng := openChecked(t, testknobs.With(engine.Options{Threads: 3}, c.knobs))
			q := madeQuery
			q.Keys = c.keys
			result := mustAggregate(t, eng, c.src, q)
			defer result.Release()
			var batches int64
			for result.Next() {
				batches++
				if result.Stats().Route != "" {
					t.Error("statistics before the end")
				}
			}
			s := result.Stats()
			if s.Route != "cpu" || s.Threads != 3 || s.Splits != 4 || s.Table != c.table || s.KeyBytes != c.keyBytes {
				t.Errorf("the route: %+v", s)
			}
			if s.RowsRead != c.src.total() || s.BytesRead != 100*c.src.total() || s.Groups != c.groups || s.ResultBatches != batches || c.batches > 0 && batches != c.batches {
				t.Errorf("what was read and emitted in %d batches: %+v", batches, s)
			}
			if s.RowsPreAgg+s.RowsScattered != s.RowsRead || s.Partitions != c.partitions || s.PartitionsMerged < 1 || s.PartitionsMerged > s.Partitions || !c.scattered(s) {
				t.Errorf("what was scattered: %+v", s)
			}
			if len(s.PhaseTimes) != 3 || s.PhaseTimes[engine.PhasePartition]+s.PhaseTimes[engine.PhaseProcess] > s.Elapsed {
				t.Errorf("times %v of %v", s.PhaseTimes, s.Elapsed)
			}
		})
	}
}

func nothingScattered(s engine.Stats) bool {
	return s.RowsScattered == 0 && s.StatesScattered == 0 && s.PartitionBytes == 0 && s.EstimatedGroups == 0
}

// Would catch answers that follow the order in which threads come to the rows: first, last, lists,
// joined strings and ties must follow the input, however it is cut and handed around.
func TestInputOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(newSeed(t), 3))
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "k", Type: arrow.PrimitiveTypes.Int64, Nullable: true}, {Name: "v", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
	}, nil)
	const rows = 30_000
	keys, values, texts := make([]any, rows), make([]any, rows), make([]any, rows)
	for i := range rows {
		keys[i] = int64(rng.IntN(7))
		if rng.IntN(10) > 0 {
			values[i], texts[i] = int64(rng.IntN(4)), fmt.Sprint(i)
		}
	}
	whole := grouptest.Batch(schema, grouptest.Array(madeSchema.Field(0).Type, keys), grouptest.Array(madeSchema.Field(1).Type, values),
		grouptest.Array(madeSchema.Field(2).Type, texts))
	var cut []arrow.RecordBatch
	for from := int64(0); from < rows; {
		to := min(from+1+rng.Int64N(2000), rows)
		cut = append(cut, whole.NewSlice(from, to))
		from = to
	}
	q := query.Query{Keys: []query.Key{{Column: "k"}}}
	for _, f := range []query.Func{query.First, query.Last, query.AnyValue, query.List, query.StringAgg} {
		q.Aggregates = append(q.Aggregates, query.Aggregate{Func: f, Args: []string{"s"}, Separator: "|"})
	}
	q.Aggregates = append(q.Aggregates, query.Aggregate{Func: query.Mode, Args: []string{"v"}},
		query.Aggregate{Func: query.ArgMin, Args: []string{"s", "v"}}, query.Aggregate{Func: query.ArgMax, Args: []string{"s", "v"}})
	want, err := grouptest.Oracle(schema, []arrow.RecordBatch{whole}, q)
	if err != nil {
		t.Fatal(err)
	}
	for _, threads := range []int{1, 2, 8} {
		for _, knobs := range []testknobs.Engine{{}, {NoDense: true, NoPreAgg: true, RadixBits: 2}, scatterKnobs} {
			for _, batches := range [][]arrow.RecordBatch{{whole}, cut} {
				check(t, schema, batches, q, want, nil, testknobs.With(engine.Options{Threads: threads}, knobs))
			}
		}
	}
}
