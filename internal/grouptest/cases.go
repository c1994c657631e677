package grouptest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/query"
)

// Case is a query on a table, with a name that says what could go wrong.
type Case struct {
	Name    string
	Schema  *arrow.Schema
	Batches func() []arrow.RecordBatch
	Query   query.Query
}

// Want returns the oracle's answer.
func (c Case) Want() (*Rows, error) { return Oracle(c.Schema, c.Batches(), c.Query) }

// Cases lists what every route must answer as the oracle does. Names are unique.
func Cases() []Case { return slices.Clone(cases()) }

// cases makes the cases once: their random tables take as long as a tenth of them to answer.
var cases = sync.OnceValue(func() []Case {
	return slices.Concat(shapeCases(), keyCases(), aggregateCases(), sumCases(), statisticCases(),
		textCases(), dictionaryCases(), batchCases(), randomCases())
})

// The types that most columns of the cases have.
var (
	i64 = arrow.PrimitiveTypes.Int64
	f64 = arrow.PrimitiveTypes.Float64
	str = arrow.BinaryTypes.String
)

// field makes a nullable column.
func field(name string, dt arrow.DataType) arrow.Field {
	return arrow.Field{Name: name, Type: dt, Nullable: true}
}

// table returns a schema and one batch of columns of cells.
func table(fields []arrow.Field, columns ...[]any) (*arrow.Schema, func() []arrow.RecordBatch) {
	schema := arrow.NewSchema(fields, nil)
	return schema, func() []arrow.RecordBatch {
		arrays := make([]arrow.Array, len(columns))
		for i, cells := range columns {
			arrays[i] = Array(fields[i].Type, cells)
		}
		return []arrow.RecordBatch{Batch(schema, arrays...)}
	}
}

func keys(names ...string) []query.Key {
	list := make([]query.Key, len(names))
	for i, name := range names {
		list[i].Column = name
	}
	return list
}

func call(f query.Func, args ...string) query.Aggregate {
	a := query.Aggregate{Func: f, Args: args}
	switch f.Param() {
	case query.FractionParam:
		a.Fraction = 0.3
	case query.LengthParam:
		a.Length = 3
	case query.SeparatorParam:
		a.Separator = ","
	}
	return a
}

// usual are the aggregates that the cases about rows and keys ask for, of columns v and f.
func usual() []query.Aggregate {
	return []query.Aggregate{call(query.CountStar), call(query.Count, "v"), call(query.Sum, "v"), call(query.Min, "v"),
		call(query.Max, "f"), call(query.Avg, "f"), call(query.First, "v")}
}

// cells makes a column of n cells.
func cells(n int, value func(i int) any) []any {
	list := make([]any, n)
	for i := range list {
		list[i] = value(i)
	}
	return list
}

// shape is a table of n rows with a key k, an integer v and a float f.
func shape(name string, n int, key, v, f func(i int) any) Case {
	schema, batches := table(
		[]arrow.Field{field("k", i64), field("v", arrow.PrimitiveTypes.Int32), field("f", f64)},
		cells(n, key), cells(n, v), cells(n, f))
	return Case{name, schema, batches, query.Query{Keys: keys("k"), Aggregates: usual()}}
}

func null(int) any { return nil }

// shapeCases vary the number of rows and groups, and which cells are NULL.
func shapeCases() []Case {
	v := func(i int) any { return int64(i%1000 - 500) }
	f := func(i int) any { return float64(i%4096) / 8 }
	modulo := func(n int) func(int) any { return func(i int) any { return int64(i % n) } }
	spread := func(i int) any { return int64(uint64(i) * 0x9e3779b97f4a7c15) } // distinct, over all 64 bits
	some := func(every int, value func(int) any) func(int) any {
		return func(i int) any {
			if i%every == 0 {
				return nil
			}
			return value(i)
		}
	}
	list := []Case{
		shape("no rows", 0, null, null, null),
		shape("one row", 1, modulo(1), v, f),
		shape("one row of NULLs", 1, null, null, null),
		shape("one group", 1000, modulo(1), v, f),
		shape("one group, its key NULL", 1000, null, v, f),
		shape("only NULLs", 1000, null, null, null),
		shape("only NULLs as values", 1000, modulo(7), null, null),
		shape("NULLs everywhere", 5000, some(3, modulo(50)), some(2, v), some(5, f)),
		shape("all distinct", 5000, spread, v, f),
		shape("one heavy key", 20_000, func(i int) any {
			if i%10 == 0 {
				return int64(i)
			}
			return int64(-1)
		}, v, f),
		shape("growing keys", 20_000, func(i int) any { return int64(i / 3) }, v, f),
		shape("runs of one key", 20_000, func(i int) any { return int64(i / 5000) }, v, f),
	}
	for _, n := range []int{31, 32, 33, 2047, 2048, 2049} {
		list = append(list, shape(fmt.Sprintf("%d rows", n), n, modulo(10), v, f),
			shape(fmt.Sprintf("%d distinct rows", n), n, spread, v, f))
	}
	for _, n := range []int{1<<16 - 1, 1 << 16, 1<<16 + 1, 1<<17 - 1, 1 << 17, 1<<17 + 1} {
		c := shape(fmt.Sprintf("%d rows", n), n, some(1000, modulo(3000)), v, f)
		if n > 1<<16 {
			c = shape(fmt.Sprintf("%d distinct rows", n), n, spread, v, some(2, f))
		}
		c.Query.Aggregates = c.Query.Aggregates[:3]
		list = append(list, c)
	}
	for _, n := range []int{0, 1, 5000} {
		c := shape(fmt.Sprintf("no keys, %d rows", n), n, modulo(7), some(2, v), f)
		c.Query.Keys = nil
		list = append(list, c)
	}
	noValues := shape("no keys, only NULLs", 100, null, null, null)
	noValues.Query.Keys = nil
	distinct := shape("no aggregates", 5000, some(11, modulo(700)), v, f)
	distinct.Query.Aggregates = nil
	names := shape("names", 100, modulo(7), v, f)
	names.Query.Keys[0].Name = "the key"
	names.Query.Aggregates = []query.Aggregate{{Func: query.Sum, Args: []string{"v"}, Name: "k"},
		{Func: query.Sum, Args: []string{"v"}}}
	keyAsValue := shape("key is also a value", 1000, some(4, modulo(7)), v, f)
	keyAsValue.Query.Aggregates = []query.Aggregate{call(query.Sum, "k"), call(query.Count, "k"),
		call(query.Max, "k"), call(query.List, "k")}
	noBatches := shape("no batches", 0, null, null, null)
	noBatches.Batches = func() []arrow.RecordBatch { return nil }
	return append(list, noValues, distinct, names, keyAsValue, noBatches)
}

// keyCases group by every type, and by several columns.
func keyCases() []Case {
	var list []Case
	for _, dt := range append(Types(), DictionaryTypes()...) {
		c := keyCase(dt)
		list = append(list, c, twiceCase(c))
	}
	for n := 2; n <= 6; n++ {
		list = append(list, compositeCase(fmt.Sprintf("%d key columns", n), Types(), n))
	}
	small := []arrow.DataType{arrow.FixedWidthTypes.Boolean, arrow.PrimitiveTypes.Int8,
		arrow.PrimitiveTypes.Uint16, arrow.FixedWidthTypes.Date32}
	wide := []arrow.DataType{str, i64, &arrow.Decimal128Type{Precision: 38}, f64}
	return append(list, compositeCase("4 small key columns", small, 4), compositeCase("20 key columns", Types(), 20),
		compositeCase("4 wide key columns", wide, 4), compositeCase("a long decimal and a string", []arrow.DataType{wide[2], str}, 2), fullRangeCase())
}

// keyCase has every edge value of a type and NULL as keys, each several times, also with other
// bits for the same value.
func keyCase(dt arrow.DataType) Case {
	distinct := append(Edges(dt), nil)
	n := 5 * len(distinct)
	schema, batches := table([]arrow.Field{field("k", dt), field("v", i64), field("f", arrow.PrimitiveTypes.Float32)},
		cells(n, func(i int) any { return distinct[i*7%n%len(distinct)] }),
		cells(n, func(i int) any { return int64(i) }),
		cells(n, func(i int) any { return float64(i % 16) }))
	return Case{"key of type " + dt.String(), schema, batches, query.Query{Keys: keys("k"), Aggregates: usual()}}
}

// twiceCase has the key of a case as two further keys, on both sides of another column, and as a
// value.
func twiceCase(c Case) Case {
	c.Name += ", three times"
	c.Query.Keys = []query.Key{{Column: "k"}, {Column: "k", Name: "again"}, {Column: "v"},
		{Column: "k", Name: "once more"}}
	c.Query.Aggregates = []query.Aggregate{call(query.CountStar), call(query.Count, "k"),
		call(query.CountDistinct, "k"), call(query.First, "k"), call(query.Sum, "v")}
	return c
}

// compositeCase groups by n columns of some types, with few distinct values and NULLs in each.
func compositeCase(name string, types []arrow.DataType, n int) Case {
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	const rows = 3000
	fields := []arrow.Field{field("v", i64), field("f", f64)}
	columns := [][]any{
		cells(rows, func(i int) any { return int64(i) }),
		cells(rows, func(i int) any { return float64(i) }),
	}
	var names []string
	for i := range n {
		dt := types[(n+i*5)%len(types)]
		distinct := append(Edges(dt), nil)
		distinct = distinct[max(0, len(distinct)-3):]
		names = append(names, fmt.Sprintf("k%d", i))
		fields = append(fields, field(names[i], dt))
		columns = append(columns, cells(rows, func(int) any { return pick(rng, distinct) }))
	}
	schema, batches := table(fields, columns...)
	return Case{name, schema, batches, query.Query{Keys: keys(names...), Aggregates: usual()}}
}

// fullRangeCase has keys that no range of 64 bits can reserve one of, nor subtract without
// overflow.
func fullRangeCase() Case {
	edges := append(Edges(i64), nil)
	n := len(edges) * len(edges)
	schema, batches := table(
		[]arrow.Field{field("a", i64), field("b", i64), field("v", i64), field("f", f64)},
		cells(2*n, func(i int) any { return edges[i%n/len(edges)] }),
		cells(2*n, func(i int) any { return edges[i%len(edges)] }),
		cells(2*n, func(i int) any { return int64(i) }),
		cells(2*n, func(i int) any { return float64(i) }))
	return Case{"two keys of full range", schema, batches, query.Query{Keys: keys("a", "b"), Aggregates: usual()}}
}
