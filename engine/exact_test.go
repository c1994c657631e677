package engine_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/grouptest"
	"github.com/mpga/mpga/internal/testknobs"
)

// Would catch deterministic queries with answers that are not the exact ones, rounded once: of
// every case.
func TestDeterministicCases(t *testing.T) {
	part := newSeed(t) % 8 // so that many short tests take every case
	for i, c := range grouptest.Cases() {
		if testing.Short() && uint64(i)%8 != part {
			continue
		}
		q := c.Query
		q.Deterministic = true
		want, wantErr := grouptest.Oracle(c.Schema, c.Batches(), q)
		r := routes[4] // states are scattered and merged
		t.Run(c.Name, func(t *testing.T) {
			check(t, c.Schema, c.Batches(), q, want, wantErr, testknobs.With(r.options, r.knobs))
		})
	}
}

// momentFuncs are the functions that a deterministic query answers otherwise.
var momentFuncs = []query.Func{
	query.Sum, query.Avg, query.VarSamp, query.VarPop, query.StddevSamp, query.StddevPop, query.Skewness, query.Kurtosis,
	query.Corr, query.CovarSamp, query.CovarPop, query.RegrSlope, query.RegrIntercept, query.RegrR2,
}

// floatTable makes a table of groups whose values have a style each: one exponent or any, with or
// without values that are not finite, with NULLs.
func floatTable(rng *rand.Rand, rows int) (*arrow.Schema, [][]any) {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "g", Type: arrow.PrimitiveTypes.Int32},
		{Name: "y", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
		{Name: "x", Type: arrow.PrimitiveTypes.Float64},
	}, nil)
	value := func(group int) float64 {
		switch group % 8 {
		case 0:
			return math.Round(1e8*rng.Float64()) / 1e6
		case 1:
			return rng.NormFloat64() * math.Pow(10, 20*rng.Float64())
		case 2:
			return 1e9 + rng.Float64()
		case 3:
			return 0.1
		case 4:
			return math.Float64frombits(rng.Uint64()) // of any size, rarely not finite
		case 5:
			return math.Ldexp(rng.Float64(), -1050-rng.IntN(30))
		case 6:
			return []float64{math.MaxFloat64, -math.MaxFloat64, 1, 0, -1e-300}[rng.IntN(5)]
		}
		return float64(rng.IntN(1000))
	}
	columns := make([][]any, 3)
	for range rows {
		g := rng.IntN(1 + rows/20)
		var y any = value(g)
		if rng.IntN(20) == 0 {
			y = nil
		}
		for c, cell := range []any{int64(g), y, value(g)} {
			columns[c] = append(columns[c], cell)
		}
	}
	return schema, columns
}

// momentQuery asks for everything that a deterministic query answers otherwise.
func momentQuery() query.Query {
	q := query.Query{Keys: []query.Key{{Column: "g"}}, Deterministic: true}
	for _, f := range momentFuncs {
		q.Aggregates = append(q.Aggregates, query.Aggregate{Func: f, Args: []string{"y", "x"}[:f.Args()]})
	}
	return q
}

// Would catch a bit of a sum, a mean or a moment that depends on the order of the rows, the
// batches, the threads, or the path that a row takes; and results that are not the exact ones.
func TestDeterministicBits(t *testing.T) {
	rng := rand.New(rand.NewPCG(newSeed(t), 1))
	rows := 3000
	if testing.Short() {
		rows = 1000
	}
	schema, columns := floatTable(rng, rows)
	q := momentQuery()
	spilled := []testknobs.Engine{
		{NoDense: true, NoPreAgg: true, SpillAll: true, RadixBits: 2},
		{NoDense: true, AlwaysPreAgg: true, TableGroups: 2, SpillAll: true, ForceSplits: 2, RadixBits: 1},
	}
	var first map[int64]string
	for i := range len(routes) + len(spilled) {
		r := routes[i%len(routes)]
		if i >= len(routes) {
			r.knobs = spilled[i-len(routes)]
		}
		for threads := 1; threads <= 8; threads += 1 + i%3 {
			batches := shuffledBatches(rng, schema, columns, rows)
			if first == nil {
				want, wantErr := grouptest.Oracle(schema, batches, q)
				check(t, schema, batches, q, want, wantErr, engine.Options{})
			}
			options := r.options
			options.Threads, options.TempDir = threads, t.TempDir()
			eng, err := engine.Open(testknobs.With(options, r.knobs))
			if err != nil {
				t.Fatal(err)
			}
			got, err := answer(eng, scan.Batches(schema, batches), q)
			if err != nil {
				t.Fatal(err)
			}
			if err := eng.Close(); err != nil {
				t.Fatal(err)
			}
			bits := cellBits(got)
			if first == nil {
				first = bits
			}
			if !maps.Equal(first, bits) {
				t.Errorf("%d threads, %+v: other bits", threads, r.knobs)
			}
		}
	}
}

// shuffledBatches makes batches of random sizes of all rows in a random order.
func shuffledBatches(rng *rand.Rand, schema *arrow.Schema, columns [][]any, rows int) []arrow.RecordBatch {
	order := rng.Perm(rows)
	var batches []arrow.RecordBatch
	for len(order) > 0 {
		n := min(len(order), 1+rng.IntN(rows/3))
		arrays := make([]arrow.Array, len(columns))
		for c, cells := range columns {
			part := make([]any, n)
			for i, row := range order[:n] {
				part[i] = cells[row]
			}
			arrays[c] = grouptest.Array(schema.Field(c).Type, part)
		}
		batches = append(batches, grouptest.Batch(schema, arrays...))
		order = order[n:]
	}
	return batches
}

// cellBits writes the cells of each group such that only equal bits are equal.
func cellBits(rows *grouptest.Rows) map[int64]string {
	texts := make(map[int64]string, len(rows.Cells))
	for _, row := range rows.Cells {
		text := ""
		for _, cell := range row[1:] {
			if v, ok := cell.(float64); ok {
				cell = math.Float64bits(v)
			}
			text += fmt.Sprintf("%x ", cell)
		}
		texts[row[0].(int64)] = text
	}
	return texts
}

// Would catch deterministic queries that differ from the exact answer on tables of all types.
func TestDeterministicRandom(t *testing.T) {
	seed := newSeed(t)
	for i := range 40 {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		schema, batches := grouptest.RandomTable(rng, rng.IntN(5000))
		q := grouptest.RandomQuery(rng, schema)
		q.Deterministic = true
		want, wantErr := grouptest.Oracle(schema, batches, q)
		options := engine.Options{Threads: 1 + rng.IntN(6)}
		knobs := testknobs.Engine{NoDense: rng.IntN(2) == 0, NoPreAgg: rng.IntN(2) == 0, RadixBits: rng.IntN(4), TableGroups: []int{0, 5, 100}[rng.IntN(3)]}
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			check(t, schema, batches, q, want, wantErr, testknobs.With(options, knobs))
		})
	}
}
