package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/partial"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	ordering "github.com/mpga/mpga/internal/order"
	"github.com/mpga/mpga/internal/spawn"
	"github.com/mpga/mpga/internal/testknobs"
)

// panicRoutes are the ways through an engine on which goroutines are made to panic.
var panicRoutes = map[string]struct {
	device string
	knobs  testknobs.Engine
	query  query.Query
	run    func(ctx context.Context, e *Engine, src scan.Source, q query.Query) ([]string, error)
}{
	"dense":   {"cpu", testknobs.Engine{}, panicQuery("small"), aggregated},
	"hash":    {"cpu", testknobs.Engine{NoDense: true}, panicQuery("k"), aggregated},
	"strings": {"cpu", testknobs.Engine{}, panicQuery("s"), aggregated},
	"scatter": {"cpu", testknobs.Engine{NoPreAgg: true, NoDense: true, RadixBits: 3}, panicQuery("k"), aggregated},
	"spill":   {"cpu", testknobs.Engine{SpillAll: true, NoPreAgg: true, NoDense: true, RadixBits: 3, ForceSplits: 1}, panicQuery("s"), aggregated},
	"sort":    {"cpu", testknobs.Engine{}, panicQuery("k"), sorted},
	"partial": {"cpu", testknobs.Engine{}, panicQuery("k"), merged},

	"device, each tile":       {"host:64MiB", testknobs.Engine{Device: testknobs.Device{TileRows: 900, Groups: 1}}, panicQuery("small"), aggregated},
	"device, one table":       {"host:64MiB", testknobs.Engine{Device: testknobs.Device{TileRows: 900, Groups: 3000}}, panicQuery("k"), aggregated},
	"device, partitions":      {"host:64MiB", testknobs.Engine{Device: testknobs.Device{TileRows: 900, Groups: 1 << 40, RadixBits: 3, Count: 2}}, panicQuery("k"), aggregated},
	"device, for the CPU":     {"host:64MiB", testknobs.Engine{NoDense: true, Device: testknobs.Device{TileRows: 900}}, panicQuery("s"), aggregated},
	"device, opened meantime": {"host:64MiB", testknobs.Engine{Device: testknobs.Device{TileRows: 900, Opens: time.Nanosecond}}, panicQuery("k"), aggregated},
}

func panicQuery(key string) query.Query {
	return query.Query{Keys: []query.Key{{Column: key}}, Aggregates: []query.Aggregate{
		{Func: query.CountStar, Name: "n"}, {Func: query.Sum, Args: []string{"v"}}, {Func: query.Max, Args: []string{"v"}},
	}}
}

// panicSource has four batches of two splits, of columns small, k, s and v.
func panicSource() scan.Source {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "small", Type: arrow.PrimitiveTypes.Int32}, {Name: "k", Type: arrow.PrimitiveTypes.Int64},
		{Name: "s", Type: arrow.BinaryTypes.String}, {Name: "v", Type: arrow.PrimitiveTypes.Int64},
	}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	var batches []arrow.RecordBatch
	for i := range 6000 {
		key := int64(i*7919) % 2000
		b.Field(0).(*array.Int32Builder).Append(int32(i % 9))
		b.Field(1).(*array.Int64Builder).Append(key << 30)
		b.Field(2).(*array.StringBuilder).Append(fmt.Sprintf("a key of more than twelve bytes: %d", key))
		b.Field(3).(*array.Int64Builder).Append(int64(i))
		if (i+1)%1500 == 0 {
			batches = append(batches, b.NewRecordBatch())
		}
	}
	return scan.Batches(schema, batches)
}

// textsOf returns the rows of a reader as texts, in no order.
func textsOf(r array.RecordReader) (rows []string, err error) {
	defer r.Release()
	for r.Next() {
		batch := r.RecordBatch()
		for i := range int(batch.NumRows()) {
			var cells []string
			for _, c := range batch.Columns() {
				cells = append(cells, c.ValueStr(i))
			}
			rows = append(rows, strings.Join(cells, ","))
		}
	}
	return rows, r.Err()
}

func aggregated(ctx context.Context, e *Engine, src scan.Source, q query.Query) ([]string, error) {
	result, err := e.Aggregate(ctx, src, q)
	if err != nil {
		return nil, err
	}
	rows, err := textsOf(result)
	slices.Sort(rows)
	return rows, err
}

func sorted(ctx context.Context, e *Engine, src scan.Source, q query.Query) ([]string, error) {
	result, err := e.Aggregate(ctx, src, q)
	if err != nil {
		return nil, err
	}
	reader, err := e.Statement(ctx).Sort(ctx, result, ordering.By{Keys: []ordering.Key{{Column: 2, Descending: true}, {Column: 0}}})
	result.Release()
	if err != nil {
		return nil, err
	}
	return textsOf(reader)
}

// keptBlob is a blob in memory, while it is written and afterwards.
type keptBlob struct {
	bytes.Buffer
	name string
}

func (b *keptBlob) Close() error { return nil }
func (b *keptBlob) Name() string { return b.name }
func (b *keptBlob) Open() (partial.BlobReader, error) {
	return openBlobBytes{bytes.NewReader(b.Bytes())}, nil
}

type openBlobBytes struct{ *bytes.Reader }

func (openBlobBytes) Close() error { return nil }

func merged(ctx context.Context, e *Engine, src scan.Source, q query.Query) ([]string, error) {
	var mu sync.Mutex
	var blobs []partial.Blob
	_, err := e.Partial(ctx, src, q, partial.Options{Partitions: 4, Create: func(p int) (io.WriteCloser, error) {
		mu.Lock()
		defer mu.Unlock()
		b := &keptBlob{name: fmt.Sprint("blob ", p)}
		blobs = append(blobs, b)
		return b, nil
	}})
	if err != nil {
		return nil, err
	}
	result, err := e.Merge(ctx, [][]partial.Blob{blobs}, partial.MergeOptions{})
	if err != nil {
		return nil, err
	}
	rows, err := textsOf(result)
	slices.Sort(rows)
	return rows, err
}

// panicAt makes the n-th step panic, counted from 1. fired says whether it has.
func panicAt(n int64) (fired *atomic.Bool) {
	fired = new(atomic.Bool)
	var steps atomic.Int64
	spawn.SetFault(func() {
		if steps.Add(1) == n {
			fired.Store(true)
			panic(fmt.Sprint("boom at step ", n))
		}
	})
	return fired
}

// stepsToTry returns all steps up to n, or as many as said: the first ones, the last ones and some
// in between.
func stepsToTry(n, most int64) (steps []int64) {
	for i := int64(1); i <= n; i++ {
		if third := most / 3; n <= most || i <= third || i > n-third || i%(n/third) == 0 {
			steps = append(steps, i)
		}
	}
	return steps
}

// Would catch a panic of a goroutine that ends the process, that is no error of the query or looks
// like an answer, that does not name the query, that others wait for in vain, or that leaves
// threads, memory, batches or files behind.
func TestPanics(t *testing.T) {
	defer spawn.SetFault(nil)
	src := panicSource()
	most := int64(60)
	if testing.Short() {
		most = 12
	}
	for _, name := range slices.Sorted(maps.Keys(panicRoutes)) {
		route := panicRoutes[name]
		route.knobs.MemoryBytes, route.knobs.ResultRows = 64<<20, 300
		t.Run(name, func(t *testing.T) {
			var steps atomic.Int64
			spawn.SetFault(func() { steps.Add(1) })
			e := openForPanics(t, route.device, route.knobs)
			want, err := route.run(t.Context(), e, src, route.query)
			if err != nil {
				t.Fatal(err)
			}
			closeAfterPanic(t, e, nil)
			spawn.SetFault(nil)
			for _, n := range stepsToTry(steps.Load(), most) {
				e := openForPanics(t, route.device, route.knobs)
				fired := panicAt(n)
				got, err := route.run(t.Context(), e, src, route.query)
				spawn.SetFault(nil)
				switch {
				case fired.Load() && err != nil:
					checkPanic(t, n, name, err)
				case err != nil || !slices.Equal(got, want):
					t.Errorf("step %d of %d: %d rows, %v; fired %v", n, steps.Load(), len(got), err, fired.Load())
				}
				if got, err := route.run(t.Context(), e, src, route.query); err != nil || !slices.Equal(got, want) {
					t.Errorf("step %d of %d: the next query: %d rows, want %d; %v", n, steps.Load(), len(got), len(want), err)
				}
				if closed := closeAfterPanic(t, e, err); fired.Load() && err == nil && closed == nil {
					t.Errorf("step %d of %d: nobody was told of the panic", n, steps.Load())
				}
			}
		})
	}
}

func openForPanics(t *testing.T, deviceName string, knobs testknobs.Engine) *Engine {
	t.Helper()
	e, err := Open(testknobs.With(Options{Threads: 3, Device: deviceName, MemoryLimit: 1 << 30, TempDir: t.TempDir(), Progress: func(Progress) {}}, knobs))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// checkPanic checks what an error tells of a panic.
func checkPanic(t *testing.T, n int64, route string, err error) {
	t.Helper()
	var bug *spawn.PanicError
	if !errors.As(err, &bug) || !errors.Is(err, spawn.ErrInternal) || !strings.Contains(err.Error(), fmt.Sprint("boom at step ", n)) {
		t.Errorf("step %d: %v", n, err)
		return
	}
	if !strings.Contains(string(bug.Stack), "mpga/internal/spawn.Step") {
		t.Errorf("step %d: the stack\n%s", n, bug.Stack)
	}
	if route != "partial" && route != "sort" && !strings.Contains(err.Error(), "in query SELECT ") {
		t.Errorf("step %d: %v names no query", n, err)
	}
}

// closeAfterPanic closes an engine that must hold nothing any more, and returns the bug that nobody
// was told of before.
func closeAfterPanic(t *testing.T, e *Engine, before error) error {
	t.Helper()
	if !e.threads.TryAcquire(int64(e.opt.Threads)) {
		t.Errorf("after %v: a thread is held", before)
	}
	if used, left := e.memory.Used(), e.temp.Used(); used != 0 || left != 0 {
		t.Errorf("after %v: %d B of memory are in use, and %d B of files", before, used, left)
	}
	if files, err := os.ReadDir(e.opt.TempDir); err != nil || len(files) != 0 {
		t.Errorf("after %v: %v, %v are left", before, files, err)
	}
	err := e.Close()
	if err != nil && !errors.Is(err, spawn.ErrInternal) {
		t.Error(err)
	}
	return err
}

// Would catch a query that goes on when nobody keeps the process within its limit any more.
func TestPanicOfBudget(t *testing.T) {
	defer spawn.SetFault(nil)
	e, err := Open(Options{Device: "cpu"})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	panicAt(1)
	failed := make(chan error, 1)
	stop, err := e.budget.Start(func(cause error) { failed <- cause })
	if err != nil {
		t.Fatal(err)
	}
	if err := <-failed; !errors.Is(err, spawn.ErrInternal) {
		t.Error(err)
	}
	if err := stop(); !errors.Is(err, spawn.ErrInternal) {
		t.Errorf("at the end: %v", err)
	}
	panicAt(2) // when the watch has ended
	stop, err = e.budget.Start(func(error) {})
	if err != nil {
		t.Fatal(err)
	}
	if err := stop(); !errors.Is(err, spawn.ErrInternal) {
		t.Errorf("at the end of an idle watch: %v", err)
	}
}
