package grouptest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/query"
)

// dictionaryCases have dictionaries that mean something else in every batch, repeat themselves, or
// hold NULLs.
func dictionaryCases() []Case {
	dt := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int16, ValueType: str}
	schema := arrow.NewSchema([]arrow.Field{field("k", dt), field("d", dt), field("v", i64)}, nil)
	batch := func(dictionary []any, first int64) arrow.RecordBatch {
		const n = 200
		index := func(step int) []any {
			return cells(n, func(i int) any {
				if i%17 == 0 {
					return nil
				}
				return int64(i * step % len(dictionary))
			})
		}
		return Batch(schema, DictionaryArray(dt, index(1), dictionary), DictionaryArray(dt, index(7), dictionary),
			Array(i64, cells(n, func(i int) any { return first + int64(i) })))
	}
	aggregates := []query.Aggregate{call(query.CountStar), call(query.Sum, "v"),
		call(query.Count, "d"), call(query.CountDistinct, "d"),
		call(query.ApproxCountDistinct, "d"), call(query.Min, "d"), call(query.Max, "d"),
		call(query.First, "d"), call(query.Last, "d"), call(query.Mode, "d"),
		call(query.ArgMax, "v", "d"), call(query.ArgMin, "d", "v"), call(query.List, "d"),
		call(query.StringAgg, "d"), call(query.MinN, "d")}
	q := query.Query{Keys: keys("k"), Aggregates: aggregates}
	variants := map[string][][]any{
		"the same in every batch":    {{"a", "b", "c"}, {"a", "b", "c"}},
		"another order":              {{"a", "b", "c"}, {"c", "a", "b"}},
		"other values":               {{"a", "b", "c"}, {"x", "b"}, {"a string that is longer than the rest"}},
		"repeated values":            {{"a", "b", "a", "b", "b"}, {"b", "b"}},
		"a NULL in it":               {{"a", nil, "c"}, {nil, "a"}, {nil}},
		"empty strings":              {{"", "a"}, {"a", ""}},
		"large, and then a small":    {cells(1000, func(i int) any { return fmt.Sprintf("value %d", i) }), {"value 7"}},
		"small, and then a large":    {{"value 7"}, cells(1000, func(i int) any { return fmt.Sprintf("value %d", i) })},
		"many batches of two values": nil,
	}
	for i := range 50 {
		variants["many batches of two values"] = append(variants["many batches of two values"],
			[]any{fmt.Sprint(i), fmt.Sprint(i + 1)})
	}
	var list []Case
	for _, name := range slices.Sorted(maps.Keys(variants)) {
		dictionaries := variants[name]
		list = append(list, Case{"dictionaries: " + name, schema, func() []arrow.RecordBatch {
			var batches []arrow.RecordBatch
			for i, d := range dictionaries {
				batches = append(batches, batch(d, int64(1000*i)))
			}
			return batches
		}, q})
	}
	sliced := list[slices.IndexFunc(list, func(c Case) bool { return strings.HasSuffix(c.Name, "another order") })]
	whole := sliced.Batches
	sliced.Name = "dictionaries: slices"
	sliced.Batches = func() []arrow.RecordBatch {
		var batches []arrow.RecordBatch
		for _, b := range whole() {
			batches = append(batches, b.NewSlice(3, 50), b.NewSlice(50, 50), b.NewSlice(50, b.NumRows()))
		}
		return batches
	}
	allNull := Case{"dictionaries: only NULL indexes, no values", schema, func() []arrow.RecordBatch {
		nulls := cells(10, func(int) any { return nil })
		return []arrow.RecordBatch{Batch(schema, DictionaryArray(dt, nulls, nil),
			DictionaryArray(dt, nulls, nil), Array(i64, nulls))}
	}, q}
	return append(list, sliced, allNull)
}

// batchCases cut one table in different ways: where it is cut must not matter.
func batchCases() []Case {
	const n = 3000
	schema, whole := table(
		[]arrow.Field{field("k", i64), field("s", str), field("b", arrow.FixedWidthTypes.Boolean),
			field("v", i64), field("f", f64)},
		cells(n, func(i int) any { return int64(i % 13) }),
		cells(n, func(i int) any { return []any{"", "short", nil, "longer than twelve bytes"}[i%4] }),
		cells(n, func(i int) any { return []any{true, nil, false, true, true}[i%5] }),
		cells(n, func(i int) any { return int64(i) }),
		cells(n, func(i int) any { return []any{float64(i), nil, 0.5}[i%3] }))
	q := query.Query{Keys: keys("s", "b"), Aggregates: append(usual(), call(query.Last, "v"), call(query.List, "k"),
		call(query.BoolAnd, "b"), call(query.CountDistinct, "s"), call(query.Median, "f"),
		call(query.Mode, "k"), call(query.ArgMin, "s", "k"))}
	by := func(size int64) func() []arrow.RecordBatch {
		return func() []arrow.RecordBatch {
			b := whole()[0]
			empty := b.NewSlice(0, 0)
			batches := []arrow.RecordBatch{empty, empty}
			for start := int64(0); start < n; start += size {
				batches = append(batches, b.NewSlice(start, min(n, start+size)))
				if start/size%7 == 0 {
					batches = append(batches, empty)
				}
			}
			return append(batches, empty)
		}
	}
	var list []Case
	for _, size := range []int64{1, 7, 31, 1000, n} {
		list = append(list, Case{fmt.Sprintf("batches of %d rows", size), schema, by(size), q})
	}
	return append(list, Case{"only empty batches", schema, func() []arrow.RecordBatch {
		b := whole()[0]
		return []arrow.RecordBatch{b.NewSlice(0, 0), b.NewSlice(5, 5)}
	}, q})
}

// randomCases are some random tables, always the same.
func randomCases() []Case {
	var list []Case
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 2))
		rows := []int{10, 300, 3000, 20_000}[seed%4]
		schema, batches := RandomTable(rng, rows)
		list = append(list, Case{fmt.Sprintf("random %d", seed), schema,
			func() []arrow.RecordBatch { return batches }, RandomQuery(rng, schema)})
	}
	return list
}
