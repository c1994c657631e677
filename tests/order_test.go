package tests

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/internal/grouptest"
	"github.com/mpga/mpga/internal/order"
	"github.com/mpga/mpga/internal/testknobs"
)

// Rows of all types come in DuckDB's order, in memory and by runs on disk: NaN, NULL, -0.0, strings
// with zero bytes, decimals.
func TestOrderAgainstDuckDB(t *testing.T) {
	db := openDuckDB(t)
	t.Logf("-seed=%d", *seedFlag)
	types := slices.DeleteFunc(grouptest.Types(), func(dt arrow.DataType) bool { return !order.Sortable(dt) })
	for i := range uint64(24) {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(*seedFlag, i))
			schema, batches := grouptest.RandomTable(rng, 1+rng.IntN(20_000), types...)
			var by order.By
			for _, c := range rng.Perm(schema.NumFields())[:1+rng.IntN(2)] {
				by.Keys = append(by.Keys, order.Key{Column: c, Descending: rng.IntN(2) == 0, NullsFirst: rng.IntN(2) == 0})
			}
			if rng.IntN(2) == 0 {
				by.Limited, by.Limit, by.Offset = true, int64(rng.IntN(3000)), int64(rng.IntN(100))
			}
			if err := db.Load(schema, batches); err != nil {
				t.Fatal(err)
			}
			want, err := db.Positions(schema, by)
			if err != nil {
				t.Fatal(err)
			}
			if got := positionsInOrder(t, schema, batches, by); !slices.Equal(got, want) {
				t.Errorf("%v: %+v: rows %v, DuckDB %v", schema, by, head(got), head(want))
			}
		})
	}
}

func head(positions []int64) []int64 { return positions[:min(len(positions), 20)] }

// positionsInOrder sorts batches with a column of positions beside the others.
func positionsInOrder(t *testing.T, schema *arrow.Schema, batches []arrow.RecordBatch, by order.By) (positions []int64) {
	t.Helper()
	numbered := arrow.NewSchema(append(slices.Clone(schema.Fields()), arrow.Field{Name: "position", Type: arrow.PrimitiveTypes.Int64}), nil)
	next := int64(0)
	var with []arrow.RecordBatch
	for _, b := range batches {
		cells := make([]any, b.NumRows())
		for i := range cells {
			cells[i] = next
			next++
		}
		columns := append(slices.Clone(b.Columns()), grouptest.Array(arrow.PrimitiveTypes.Int64, cells))
		with = append(with, array.NewRecordBatch(numbered, columns, b.NumRows()))
	}
	in, err := array.NewRecordReader(numbered, with)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Release()
	eng, err := engine.Open(testknobs.With(engine.Options{Threads: 2, TempDir: t.TempDir()}, testknobs.Engine{MemoryBytes: 8 << 20}))
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	sorted, err := eng.Statement(t.Context()).Sort(t.Context(), in, by)
	if err != nil {
		t.Fatal(err)
	}
	defer sorted.Release()
	for sorted.Next() {
		column := sorted.RecordBatch().Column(schema.NumFields()).(*array.Int64)
		for i := range column.Len() {
			positions = append(positions, column.Value(i))
		}
	}
	if err := sorted.Err(); err != nil {
		t.Fatal(err)
	}
	return positions
}
