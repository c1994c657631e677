package tests

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/grouptest"
	"github.com/mpga/mpga/internal/testknobs"
)

// Groups whose values alone pass the budget many times are answered as DuckDB does, which holds
// them in memory.
func TestGroupsLargerThanMemoryAgainstDuckDB(t *testing.T) {
	rows := 200_000
	if testing.Short() {
		rows /= 4
	}
	rng := rand.New(rand.NewPCG(12, 12))
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "k", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
		{Name: "x", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
		{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
	}, nil)
	k, x, s := make([]any, rows), make([]any, rows), make([]any, rows)
	for i := range rows {
		k[i] = int64(min(rng.IntN(3), 1)) // 2 heavy groups, and one for some rows
		if i%5 == 0 {
			k[i] = int64(i)
		}
		if rng.IntN(10) > 0 {
			x[i] = float64(rng.IntN(rows)) / 8
		}
		if rng.IntN(10) > 0 {
			s[i] = strings.Repeat("s", rng.IntN(20)) + fmt.Sprint(rng.IntN(rows/3))
		}
	}
	var batches []arrow.RecordBatch
	for from := 0; from < rows; from += 50_000 {
		to := min(from+50_000, rows)
		batches = append(batches, grouptest.Batch(schema, grouptest.Array(schema.Field(0).Type, k[from:to]),
			grouptest.Array(schema.Field(1).Type, x[from:to]), grouptest.Array(schema.Field(2).Type, s[from:to])))
	}
	aggregates := []query.Aggregate{
		{Func: query.CountStar}, {Func: query.Max, Args: []string{"s"}},
		{Func: query.Median, Args: []string{"x"}}, {Func: query.QuantileDisc, Args: []string{"s"}, Fraction: 0.9},
		{Func: query.CountDistinct, Args: []string{"x"}}, {Func: query.CountDistinct, Args: []string{"s"}},
		{Func: query.MaxN, Args: []string{"x"}, Length: 50},
		{Func: query.Median, Args: []string{"x"}, Distinct: true}, {Func: query.Sum, Args: []string{"x"}, Distinct: true},
		{Func: query.List, Args: []string{"x"}, Distinct: true, Descending: true}, {Func: query.StringAgg, Args: []string{"s"}, Separator: "+", Distinct: true},
		{Func: query.MaxN, Args: []string{"s"}, Length: 50, Distinct: true},
	}
	db := openDuckDB(t)
	if err := db.Load(schema, batches); err != nil {
		t.Fatal(err)
	}
	for _, keys := range [][]query.Key{nil, {{Column: "k"}}} {
		q := query.Query{Keys: keys, Aggregates: aggregates}
		want, err := db.Answer(schema, q)
		if err != nil {
			t.Fatal(err)
		}
		for _, limit := range []int64{24 << 20, 48 << 20} { // string_agg is one value, eight times as much until it is in a file
			opt := testknobs.With(engine.Options{Threads: 2, TempDir: t.TempDir()}, testknobs.Engine{MemoryBytes: limit})
			got, err := ask(t, opt, scan.Batches(schema, batches), q)
			if err == nil {
				err = grouptest.Equal(want, got)
			}
			if err != nil {
				t.Errorf("by %v in %d MiB: %v", keys, limit>>20, err)
			}
		}
	}
}
