package engine_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
)

// benchRows is how many rows BenchmarkAggregate goes through.
const benchRows = 1 << 23

// rangedSource is a source whose statistics promise a range of its first column.
type rangedSource struct {
	scan.Source
	max int64
}

func (s rangedSource) Stats() scan.Stats {
	stats := s.Source.Stats()
	stats.Columns[0].HasRange, stats.Columns[0].Max = true, s.max
	return stats
}

// benchSource returns rows of random keys, one for each value of next, and v in [0, 1000). A key is
// NULL in one row of nullEvery, if that is above 0.
func benchSource(keyTypes []arrow.DataType, nullEvery int, next func() []any) scan.Source {
	rng := rand.New(rand.NewPCG(3, 4))
	var fields []arrow.Field
	for i, dt := range keyTypes {
		fields = append(fields, arrow.Field{Name: fmt.Sprintf("k%d", i), Type: dt, Nullable: true})
	}
	fields = append(fields, arrow.Field{Name: "v", Type: arrow.PrimitiveTypes.Int64, Nullable: true})
	schema := arrow.NewSchema(fields, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	b.Reserve(benchRows)
	for range benchRows {
		for i, key := range next() {
			switch field := b.Field(i).(type) {
			case *array.Int64Builder:
				if nullEvery > 0 && rng.IntN(nullEvery) == 0 {
					field.AppendNull()
				} else {
					field.Append(key.(int64))
				}
			case *array.Int32Builder:
				field.Append(key.(int32))
			case *array.StringBuilder:
				field.Append(key.(string))
			}
		}
		b.Field(len(keyTypes)).(*array.Int64Builder).Append(rng.Int64N(1000))
	}
	return scan.Batches(schema, []arrow.RecordBatch{b.NewRecordBatch()})
}

// BenchmarkAggregate answers queries over record batches in memory, on one thread: from the batch
// to the released result. Its ns/row are what tells.
func BenchmarkAggregate(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	i64, i32, text := arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Int32, arrow.BinaryTypes.String
	one := func(dt arrow.DataType) []arrow.DataType { return []arrow.DataType{dt} }
	uniform := func(groups int64) func() []any {
		return func() []any { return []any{rng.Int64N(groups)} }
	}
	sparse := func(groups int64) func() []any {
		return func() []any { return []any{int64(rng.Uint64N(uint64(groups)) * 0x9E3779B97F4A7C15)} }
	}
	texts := func(format string, groups int64) func() []any {
		names := make([]string, groups)
		for i := range names {
			names[i] = fmt.Sprintf(format, i)
		}
		return func() []any { return []any{names[rng.Int64N(groups)]} }
	}
	zipf := rand.NewZipf(rng, 1.2, 1, 1e6-1)
	sum := []query.Aggregate{{Func: query.Sum, Args: []string{"v"}}}
	several := []query.Aggregate{
		{Func: query.CountStar}, {Func: query.Sum, Args: []string{"v"}}, {Func: query.Avg, Args: []string{"v"}},
		{Func: query.Min, Args: []string{"v"}}, {Func: query.Max, Args: []string{"v"}},
	}
	for _, c := range []struct {
		name       string
		types      []arrow.DataType
		next       func() []any
		nullEvery  int
		max        int64 // of the key, where statistics know it
		aggregates []query.Aggregate
	}{
		{"dense/groups=10", one(i64), uniform(10), 0, 9, sum},
		{"dense/groups=1e3", one(i64), uniform(1e3), 0, 999, sum},
		{"hash/groups=1", one(i64), uniform(1), 0, 0, sum},
		{"hash/groups=10", one(i64), uniform(10), 0, 0, sum},
		{"hash/groups=1e3", one(i64), uniform(1e3), 0, 0, sum},
		{"hash/groups=1e5", one(i64), uniform(1e5), 0, 0, sum},
		{"hash/groups=2e5", one(i64), uniform(2e5), 0, 0, sum},
		{"hash/groups=1e6", one(i64), uniform(1e6), 0, 0, sum},
		{"sparse/groups=10", one(i64), sparse(10), 0, 0, sum},
		{"sparse/groups=1e3", one(i64), sparse(1e3), 0, 0, sum},
		{"sparse/groups=1e5", one(i64), sparse(1e5), 0, 0, sum},
		{"several/groups=1e3", one(i64), uniform(1e3), 0, 0, several},
		{"several/groups=1e6", one(i64), uniform(1e6), 0, 0, several},
		{"pair/groups=1e6", []arrow.DataType{i32, i32}, func() []any { return []any{rng.Int32N(1000), rng.Int32N(1000)} }, 0, 0, sum},
		{"short/groups=1e3", one(text), texts("id%03d", 1e3), 0, 0, sum},
		{"long/groups=1e3", one(text), texts("customer number %09d", 1e3), 0, 0, sum},
		{"short/groups=1e6", one(text), texts("id%07d", 1e6), 0, 0, sum},
		{"nulls/groups=1e3", one(i64), uniform(1e3), 10, 0, sum},
		{"nulls/groups=1e6", one(i64), uniform(1e6), 10, 0, sum},
		{"zipf/groups=1e6", one(i64), func() []any { return []any{int64(zipf.Uint64())} }, 0, 0, sum},
		{"heavy/groups=1e6", one(i64), func() []any { return []any{rng.Int64N(2) * rng.Int64N(1e6)} }, 0, 0, sum},
	} {
		b.Run(c.name, func(b *testing.B) {
			src := benchSource(c.types, c.nullEvery, c.next)
			if c.max > 0 {
				src = rangedSource{src, c.max}
			}
			q := query.Query{Aggregates: c.aggregates}
			for i := range c.types {
				q.Keys = append(q.Keys, query.Key{Column: fmt.Sprintf("k%d", i)})
			}
			eng, err := engine.Open(engine.Options{Threads: 1})
			if err != nil {
				b.Fatal(err)
			}
			defer eng.Close()
			for b.Loop() {
				result, err := eng.Aggregate(b.Context(), src, q)
				if err != nil {
					b.Fatal(err)
				}
				for result.Next() {
				}
				if err := result.Err(); err != nil {
					b.Fatal(err)
				}
				result.Release()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchRows, "ns/row")
		})
	}
}
