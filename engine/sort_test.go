package engine_test

import (
	"errors"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/grouptest"
	"github.com/mpga/mpga/internal/order"
	"github.com/mpga/mpga/internal/testknobs"
)

// Would catch a result that is sorted wrongly, or not within the engine's memory, and a sort that
// Close does not end.
func TestSort(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "k", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)
	keys := make([]any, 200_000)
	for i := range keys {
		keys[i] = int64(i * 7919 % len(keys))
	}
	source := scan.Batches(schema, []arrow.RecordBatch{grouptest.Batch(schema, grouptest.Array(schema.Field(0).Type, keys))})
	q := query.Query{Keys: []query.Key{{Column: "k"}}, Aggregates: []query.Aggregate{{Func: query.CountStar, Name: "n"}}}
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	eng, err := engine.Open(testknobs.With(engine.Options{Allocator: mem, TempDir: t.TempDir()}, testknobs.Engine{MemoryBytes: 8 << 20}))
	if err != nil {
		t.Fatal(err)
	}
	for _, by := range []order.By{
		{Keys: []order.Key{{Column: 0, Descending: true}}},
		{Keys: []order.Key{{Column: 0, Descending: true}}, Limited: true, Limit: 7, Offset: 100},
	} {
		result, err := eng.Aggregate(t.Context(), source, q)
		if err != nil {
			t.Fatal(err)
		}
		sorted, err := eng.Statement(t.Context()).Sort(t.Context(), result, by)
		result.Release()
		if err != nil {
			t.Fatal(err)
		}
		next := int64(len(keys)) - 1 - by.Offset
		rows := int64(0)
		for sorted.Next() {
			column := sorted.RecordBatch().Column(0).(*array.Int64)
			for i := range column.Len() {
				if column.Value(i) != next {
					t.Fatalf("row %d: %d, want %d", rows, column.Value(i), next)
				}
				next, rows = next-1, rows+1
			}
		}
		if want := int64(len(keys)); by.Limited && rows != by.Limit || !by.Limited && rows != want || sorted.Err() != nil {
			t.Errorf("%d rows, %v", rows, sorted.Err())
		}
		if s := sorted.Stats(); by.Limited != (s.Runs == 0) || s.Rows != int64(len(keys)) {
			t.Errorf("limited %v: %+v", by.Limited, s)
		}
		sorted.Release()
	}
	result, err := eng.Aggregate(t.Context(), source, q)
	if err != nil {
		t.Fatal(err)
	}
	defer result.Release()
	if _, err := eng.Statement(t.Context()).Sort(t.Context(), result, order.By{Keys: []order.Key{{Column: 2}}}); !errors.Is(err, engine.ErrQuery) {
		t.Errorf("a column that is not there: %v", err)
	}
	sorted, err := eng.Statement(t.Context()).Sort(t.Context(), result, order.By{Keys: []order.Key{{}}})
	if err != nil {
		t.Fatal(err)
	}
	closed := make(chan error)
	go func() { closed <- eng.Close() }()
	for sorted.Next() {
	}
	if err := sorted.Err(); err != nil && !errors.Is(err, engine.ErrClosed) {
		t.Errorf("a sort while the engine closes: %v", err)
	}
	sorted.Release()
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if _, err := eng.Statement(t.Context()).Sort(t.Context(), result, order.By{}); !errors.Is(err, engine.ErrClosed) {
		t.Errorf("a sort after Close: %v", err)
	}
}
