package engine_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/internal/order"
	"github.com/mpga/mpga/internal/testknobs"
)

// togetherRows is how many rows the statements of TestStatementsTogether read: with their keys and
// states some 20 MB.
const togetherRows = 200_000

// togetherTable writes rows to Parquet, in an order that helps neither groups nor sorts: each row has its own
// key, a text with the key in it, and a number.
func togetherTable(t *testing.T) scan.Source {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "k", Type: arrow.PrimitiveTypes.Int64}, {Name: "s", Type: arrow.BinaryTypes.String},
		{Name: "v", Type: arrow.PrimitiveTypes.Int64},
	}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	for i := range int64(togetherRows) {
		k := i * 7919 % togetherRows
		b.Field(0).(*array.Int64Builder).Append(k << 30)
		b.Field(1).(*array.StringBuilder).Append(fmt.Sprintf("the text of %012d", k))
		b.Field(2).(*array.Int64Builder).Append(k % 1000)
	}
	path := writeParquet(t, schema, []arrow.RecordBatch{b.NewRecordBatch()},
		parquet.WithDictionaryDefault(false), parquet.WithMaxRowGroupLength(togetherRows/8))
	src, err := dataset.Open(t.Context(), []string{path}, dataset.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// togetherStatements are statements whose groups or rows do not fit the memory of
// TestStatementsTogether. Each returns how many rows it has.
func togetherStatements() map[string]func(ctx context.Context, e *engine.Engine, src scan.Source) (int64, error) {
	groups := query.Query{
		Keys:       []query.Key{{Column: "k"}, {Column: "s"}},
		Aggregates: []query.Aggregate{{Func: query.Sum, Args: []string{"v"}}, {Func: query.Max, Args: []string{"v"}}},
	}
	lists := query.Query{
		Keys:       []query.Key{{Column: "v"}},
		Aggregates: []query.Aggregate{{Func: query.List, Args: []string{"s"}}, {Func: query.Median, Args: []string{"k"}}},
	}
	aggregate := func(q query.Query) func(context.Context, *engine.Engine, scan.Source) (int64, error) {
		return func(ctx context.Context, e *engine.Engine, src scan.Source) (int64, error) {
			result, err := e.Aggregate(ctx, src, q)
			if err != nil {
				return 0, err
			}
			defer result.Release()
			return rowsIn(result)
		}
	}
	return map[string]func(ctx context.Context, e *engine.Engine, src scan.Source) (int64, error){
		"many groups": aggregate(groups),
		"lists":       aggregate(lists),
		"sorted groups": func(ctx context.Context, e *engine.Engine, src scan.Source) (int64, error) {
			s := e.Statement(ctx)
			result, err := s.Groups(ctx, src, groups, engine.GroupsOptions{})
			if err != nil {
				return 0, err
			}
			sorted, err := s.Sort(ctx, result, order.By{Keys: []order.Key{{Column: 1}}})
			result.Release()
			if err != nil {
				return 0, err
			}
			defer sorted.Release()
			return rowsIn(sorted)
		},
	}
}

// rowsIn counts the rows of a reader.
func rowsIn(r array.RecordReader) (rows int64, err error) {
	for r.Next() {
		rows += r.RecordBatch().NumRows()
	}
	return rows, r.Err()
}

// Would catch a statement that is refused, or has another answer, beside others in an engine with as
// much memory for each as it needs alone: statements that came first and keep what others are to have,
// readers that take batches as if they were alone, sorts that merge with all memory.
func TestStatementsTogether(t *testing.T) {
	const each = 4 << 20 // bytes, which are just enough for a statement alone
	src := togetherTable(t)
	statements := togetherStatements()
	names := []string{"many groups", "sorted groups", "lists"}
	open := func(n int64) *engine.Engine {
		opt := engine.Options{Threads: 2, Device: "cpu", MemoryLimit: n * 128 << 20, TempDir: t.TempDir()}
		eng, err := engine.Open(testknobs.With(opt, testknobs.Engine{MemoryBytes: n * each}))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := eng.Close(); err != nil {
				t.Error(err)
			}
		})
		return eng
	}
	want := map[string]int64{"many groups": togetherRows, "sorted groups": togetherRows, "lists": 1000}
	for _, name := range names {
		if rows, err := statements[name](t.Context(), open(1), src); err != nil || rows != want[name] {
			t.Fatalf("%s, alone: %d rows, %v", name, rows, err)
		}
	}
	together := []int{2, 20}
	if testing.Short() {
		together = []int{4}
	}
	for _, n := range together {
		eng := open(int64(n))
		var all sync.WaitGroup
		for i := range n {
			name := names[i%len(names)]
			all.Go(func() {
				if rows, err := statements[name](t.Context(), eng, src); err != nil || rows != want[name] {
					t.Errorf("%d statements, %s: %d rows, %v", n, name, rows, err)
				}
			})
		}
		all.Wait()
	}
}
