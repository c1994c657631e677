package engine_test

import (
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/app/gen"
	"github.com/mpga/mpga/cpuagg"
	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/grouptest"
	"github.com/mpga/mpga/internal/testknobs"
)

// within reports whether two figures differ by no more than a factor, or both are at most few.
func within(factor float64, few, a, b int64) bool {
	x, y := float64(max(a, few, 1)), float64(max(b, few, 1))
	return x <= factor*y && y <= factor*x
}

// Would catch a forecast that has little to do with what happens: groups by a factor of 2 where
// they are alike and 10 where they are skewed, what is scattered and spilled by 2, and another
// route.
func TestForecast(t *testing.T) {
	if testing.Short() {
		t.Skip("eleven million rows, to compare numbers")
	}
	const rows = 1 << 20
	for _, c := range []struct {
		pairs  gen.PairsOptions
		memory int64
		factor float64
		routes []cpuagg.Route
	}{
		{gen.PairsOptions{Groups: 1}, 64 << 20, 1, []cpuagg.Route{cpuagg.RouteDense}},
		{gen.PairsOptions{Groups: 1000}, 64 << 20, 1, []cpuagg.Route{cpuagg.RouteDense}},
		{gen.PairsOptions{Groups: 1000, Sparse: true}, 64 << 20, 1.1, []cpuagg.Route{cpuagg.RouteHash}},
		{gen.PairsOptions{Groups: 10_000, Sparse: true}, 64 << 20, 1.2, []cpuagg.Route{cpuagg.RouteHash}},
		{gen.PairsOptions{Groups: 100_000}, 64 << 20, 1.2, []cpuagg.Route{cpuagg.RouteHash}}, // found by distance
		{gen.PairsOptions{Groups: 200_000}, 64 << 20, 1.5, []cpuagg.Route{cpuagg.RouteHash}},
		{gen.PairsOptions{Groups: 100_000, Sparse: true, Key: arrow.BinaryTypes.String}, 64 << 20, 1.5, []cpuagg.Route{cpuagg.RouteScatter}},
		{gen.PairsOptions{Groups: 300_000, Sparse: true}, 16 << 20, 1.5, []cpuagg.Route{cpuagg.RouteScatter}},
		{gen.PairsOptions{Groups: rows}, 16 << 20, 1.5, []cpuagg.Route{cpuagg.RouteScatter}},
		{gen.PairsOptions{Groups: 400_000, Dist: gen.Zipf, Zipf: 1.2, Sparse: true}, 16 << 20, 10, []cpuagg.Route{cpuagg.RouteScatter, cpuagg.RoutePreAgg}},
		{gen.PairsOptions{Groups: 400_000, Dist: gen.Heavy, Heavy: 0.5}, 16 << 20, 10, []cpuagg.Route{cpuagg.RouteScatter, cpuagg.RoutePreAgg}},
	} {
		c.pairs.Rows, c.pairs.Seed = rows, 7
		name := fmt.Sprintf("%s %d %v", c.pairs.Dist, c.pairs.Groups, c.pairs.Sparse)
		t.Run(name, func(t *testing.T) {
			src, err := gen.Pairs(c.pairs)
			if err != nil {
				t.Fatal(err)
			}
			compareForecast(t, src, c.memory, c.factor, c.routes)
		})
	}
}

// compareForecast runs a query and compares what it did with what was foretold.
func compareForecast(t *testing.T, src scan.Source, memoryBytes int64, factor float64, routes []cpuagg.Route) {
	t.Helper()
	opt := testknobs.With(engine.Options{Threads: 2, TempDir: t.TempDir()}, testknobs.Engine{MemoryBytes: memoryBytes})
	eng := openChecked(t, opt)
	q := query.Query{Keys: []query.Key{{Column: "key"}}, Aggregates: []query.Aggregate{{Func: query.Sum, Args: []string{"value"}}, {Func: query.CountStar}}}
	plan, err := eng.Explain(t.Context(), src, q)
	if err != nil {
		t.Fatal(err)
	}
	res, err := eng.Aggregate(t.Context(), src, q)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Release()
	for res.Next() {
	}
	if err := res.Err(); err != nil {
		t.Fatal(err)
	}
	f, s := plan.Forecast, res.Stats()
	t.Logf("%s\n%+v", plan, s)
	if f.Groups < f.Least || f.Most >= 0 && f.Groups > f.Most || s.Groups < f.Least || f.Most >= 0 && s.Groups > f.Most {
		t.Errorf("about %d groups, from %d to %d; there are %d", f.Groups, f.Least, f.Most, s.Groups)
	}
	found := false
	for _, route := range routes {
		found = found || f.Route == route
	}
	if !found {
		t.Errorf("route %q, want one of %q", f.Route, routes)
	}
	const fewRows, fewBytes = 1 << 16, 1 << 20
	for _, c := range []struct {
		name           string
		few            int64
		factor         float64
		foretold, real int64
	}{
		{"groups", 0, factor, f.Groups, s.Groups},
		{"rows scattered", fewRows, 2, f.RowsScattered, s.RowsScattered},
		{"bytes spilled", 4 * fewBytes, 2, f.SpillBytes, s.SpilledBytes},
		{"states scattered", fewRows, 4, f.StatesScattered, s.StatesScattered},
		{"tasks", 2, 4, max(f.Tasks, 1), int64(s.PartitionsMerged)},
	} {
		if !within(c.factor, c.few, c.foretold, c.real) {
			t.Errorf("%s: %d foretold, %d real", c.name, c.foretold, c.real)
		}
	}
}

// Sorted rows show few groups in any one place: would catch an estimate that takes the first rows
// of splits for a random sample.
func TestForecastSorted(t *testing.T) {
	const splits, rows, each = 64, 32_768, 200
	schema := arrow.NewSchema([]arrow.Field{{Name: "k", Type: arrow.PrimitiveTypes.Int64}}, nil)
	var batches []arrow.RecordBatch
	for i := range splits {
		b := array.NewInt64Builder(memory.NewGoAllocator())
		for row := range rows {
			b.Append(int64(i*rows+row) / each << 30) // no table of codes
		}
		batches = append(batches, grouptest.Batch(schema, b.NewArray()))
	}
	eng := openChecked(t, engine.Options{Threads: 2})
	plan, err := eng.Explain(t.Context(), scan.Batches(schema, batches), query.Query{Keys: []query.Key{{Column: "k"}}})
	if err != nil {
		t.Fatal(err)
	}
	if want := int64(splits * rows / each); !within(1.5, 0, plan.Forecast.Groups, want) {
		t.Errorf("%d groups foretold of %d", plan.Forecast.Groups, want)
	}
}

// Would catch a forecast that uses up a source which can be read once, or that reads much of
// another.
func TestForecastReads(t *testing.T) {
	eng := openChecked(t, engine.Options{Threads: 2})
	q := query.Query{Keys: []query.Key{{Column: "k"}}, Aggregates: []query.Aggregate{{Func: query.CountStar}}}
	made := &madeSource{splits: 1, batches: 3, rows: 1000, groups: 10}
	splits, err := made.Splits(t.Context(), []int{0, 1, 2})
	if err != nil {
		t.Fatal(err)
	}
	stream, err := splits[0].Open(t.Context(), scan.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Release()
	once := scan.Reader(stream)
	plan, err := eng.Explain(t.Context(), once, q)
	if err != nil {
		t.Fatal(err)
	}
	if f := plan.Forecast; f.Groups != -1 || f.RowsSampled != 0 || f.MemoryBytes != -1 {
		t.Errorf("of a stream: %+v", f)
	}
	if rows := readRows(t, eng, once, q); rows != 10 {
		t.Errorf("%d groups after the forecast, want 10", rows)
	}

	many := &madeSource{splits: 100, batches: 1000, rows: 500, groups: 10}
	if plan, err = eng.Explain(t.Context(), many, q); err != nil {
		t.Fatal(err)
	}
	if n := plan.Forecast.RowsSampled; n == 0 || n > 1<<16 {
		t.Errorf("%d rows sampled", n)
	}
	if plan, err = eng.Explain(t.Context(), unknownSize{many}, q); err != nil {
		t.Fatal(err)
	}
	if got, want := plan.Forecast.Rows, many.total(); !within(1.5, 0, got, want) {
		t.Errorf("%d rows foretold of %d", got, want)
	}
}

// readRows runs a query and returns the rows of its result.
func readRows(t *testing.T, eng *engine.Engine, src scan.Source, q query.Query) (rows int64) {
	t.Helper()
	res, err := eng.Aggregate(t.Context(), src, q)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Release()
	for res.Next() {
		rows += res.RecordBatch().NumRows()
	}
	if err := res.Err(); err != nil {
		t.Fatal(err)
	}
	return rows
}
