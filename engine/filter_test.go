package engine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/arrow/scalar"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/engine/sink"
	"github.com/mpga/mpga/internal/grouptest"
	"github.com/mpga/mpga/internal/testknobs"
)

// everyThird keeps the rows between two values of a 64-bit column that three divides.
type everyThird struct{ column, from, to int }

func (f everyThird) Columns() []int { return []int{f.column} }

func (f everyThird) Select(_ context.Context, batch arrow.RecordBatch, selected []byte) (rows int, err error) {
	for i, v := range batch.Column(0).(*array.Int64).Int64Values() {
		if f.keeps(int(v)) {
			bitutil.SetBit(selected, i)
			rows++
		}
	}
	return rows, nil
}

func (f everyThird) keeps(v int) bool { return v >= f.from && v < f.to && v%3 == 0 }

func (f everyThird) predicate() scan.Predicate {
	return scan.Predicate{Rows: f, Terms: []scan.Term{
		{Column: f.column, Op: scan.OpGreaterOrEqual, Values: []scalar.Scalar{scalar.NewInt64Scalar(int64(f.from))}},
		{Column: f.column, Op: scan.OpLess, Values: []scalar.Scalar{scalar.NewInt64Scalar(int64(f.to))}},
	}}
}

// filterTable is rows in the order of "at", and those of them that a filter keeps.
func filterTable(seed uint64, rows int, filter everyThird) (all, kept arrow.RecordBatch) {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "k", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
		{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "v", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
		{Name: "at", Type: arrow.PrimitiveTypes.Int64},
	}, nil)
	rng := rand.New(rand.NewPCG(seed, 1))
	var columns, keptColumns [4][]any
	for at := range rows {
		row := [4]any{int64(rng.IntN(50)), fmt.Sprint("a text that is longer than twelve bytes ", rng.IntN(20)), float64(rng.IntN(1000)), int64(at)}
		for c := range 3 {
			if rng.IntN(10) == 0 {
				row[c] = nil
			}
		}
		for c, cell := range row {
			columns[c] = append(columns[c], cell)
			if filter.keeps(at) {
				keptColumns[c] = append(keptColumns[c], cell)
			}
		}
	}
	build := func(columns [4][]any) arrow.RecordBatch {
		arrays := make([]arrow.Array, len(columns))
		for c := range columns {
			arrays[c] = grouptest.Array(schema.Field(c).Type, columns[c])
		}
		return grouptest.Batch(schema, arrays...)
	}
	return build(columns), build(keptColumns)
}

// A query over a filtered file is the query over the rows that the filter keeps: also where their
// order decides, and whichever worker has read them.
func TestFilteredSource(t *testing.T) {
	const rows = 60_000
	seed := newSeed(t)
	filter := everyThird{column: 3, from: 20_500, to: 41_000}
	all, kept := filterTable(seed, rows, filter)
	path := filepath.Join(t.TempDir(), "f.parquet")
	out, err := sink.Create(t.Context(), path, all.Schema(), sink.Options{RowGroupRows: 10_000})
	if err != nil {
		t.Fatal(err)
	}
	if err := out.Write(all); err != nil {
		t.Fatal(err)
	}
	if err := out.Commit(); err != nil {
		t.Fatal(err)
	}
	src, err := dataset.Open(t.Context(), []string{path}, dataset.Options{})
	if err != nil {
		t.Fatal(err)
	}
	q := query.Query{
		Keys: []query.Key{{Column: "k"}},
		Aggregates: []query.Aggregate{
			{Func: query.CountStar}, {Func: query.Sum, Args: []string{"v"}}, {Func: query.First, Args: []string{"s"}}, {Func: query.Last, Args: []string{"v"}},
			{Func: query.List, Args: []string{"at"}}, {Func: query.Max, Args: []string{"s"}},
		},
	}
	want, err := grouptest.Oracle(kept.Schema(), []arrow.RecordBatch{kept}, q)
	if err != nil {
		t.Fatal(err)
	}
	for _, knobs := range []testknobs.Engine{{}, {BatchRows: 700}, {BatchRows: 5000, NoPreAgg: true}} {
		mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
		eng := openChecked(t, testknobs.With(engine.Options{Threads: 3, Allocator: mem}, knobs))
		filtered, err := scan.Filter(t.Context(), src, filter.predicate())
		if err != nil {
			t.Fatal(err)
		}
		plan, err := eng.Explain(t.Context(), filtered, q)
		if err != nil {
			t.Fatal(err)
		}
		if text := plan.String(); plan.Splits != 3 || !strings.Contains(text, "30,000 of 60,000 rows to read, leaves out 3 row groups by statistics") {
			t.Errorf("%d splits\n%s", plan.Splits, text)
		}
		got, err := answer(eng, filtered, q)
		if err != nil {
			t.Fatal(err)
		}
		if err := grouptest.Equal(want, got); err != nil {
			t.Errorf("%+v: %v", knobs, err)
		}
		mem.AssertSize(t, 0)
	}
}
