package grouptest

import (
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/query"
)

// aggregateCases ask every function of every type it suits: groups of one value, of two, of many,
// of NULLs only, and of everything.
func aggregateCases() []Case {
	var list []Case
	for _, dt := range append(Types(), DictionaryTypes()...) {
		list = append(list, aggregateCase(dt, "aggregates of type ", Edges(dt)),
			aggregateCase(dt, "aggregates of tame values of type ", tame(dt)))
		list = append(list, distinctCase(aggregateCase(dt, "aggregates of distinct values of type ", tame(dt))))
	}
	return list
}

// distinctCase asks every function of a case for the distinct values, and for descending lists of
// distinct values, too.
func distinctCase(c Case) Case {
	aggregates := c.Query.Aggregates
	c.Query.Aggregates = nil
	add := func(a query.Aggregate) {
		a.Name = fmt.Sprintf("a%d", len(c.Query.Aggregates)) // count(x) and count_distinct(x) have one name
		c.Query.Aggregates = append(c.Query.Aggregates, a)
	}
	for _, a := range aggregates {
		a.Distinct = a.Func != query.CountStar
		add(a)
		if a.Func == query.List || a.Func == query.StringAgg {
			a.Descending = true
			add(a)
		}
	}
	return c
}

// tame returns values of a type for which no statistic is degenerate.
func tame(dt arrow.DataType) []any {
	switch valueType(dt).(type) {
	case *arrow.Float16Type, *arrow.Float32Type, *arrow.Float64Type:
		return floats(0.5, 1.25, -3, 7, 7.5, 100)
	case *arrow.Decimal32Type, *arrow.Decimal64Type, *arrow.Decimal128Type:
		return []any{big.NewInt(0), big.NewInt(5), big.NewInt(-7), big.NewInt(100), big.NewInt(12345)}
	}
	if _, _, ok := intRange(valueType(dt)); ok {
		return []any{int64(3), int64(4), int64(90), int64(17), int64(0)}
	}
	if arrow.IsUnsignedInteger(valueType(dt).ID()) {
		return []any{uint64(3), uint64(4), uint64(90), uint64(17), uint64(0)}
	}
	return Edges(dt)
}

func aggregateCase(dt arrow.DataType, name string, values []any) Case {
	// Groups by size: k has 0, 1, 2, ... values, and as many NULLs as k is odd.
	var k, x, other []any
	add := func(group int, value any) {
		k = append(k, int64(group))
		x = append(x, value)
		i := len(x)
		if other = append(other, float64(i*i%13)); i%7 == 0 {
			other[i-1] = nil
		}
	}
	for group := range 6 {
		for i := range group {
			add(group, values[(group+i)%len(values)])
		}
		if group%2 == 0 {
			add(group, nil)
		}
	}
	for i := range 3 * len(values) {
		add(100, values[i*5%len(values)])
		add(101, values[i%len(values)])
	}
	schema, batches := table([]arrow.Field{field("k", i64), field("x", dt), field("y", f64)}, k, x, other)
	return Case{name + dt.String(), schema, batches,
		query.Query{Keys: keys("k"), Aggregates: calls(dt, f64), Overflow: query.OverflowWiden}}
}

// calls asks every function that suits them of a column x, and of columns x and y.
func calls(x, y arrow.DataType) (list []query.Aggregate) {
	for _, f := range query.Funcs() {
		switch {
		case f.Args() == 0:
			list = append(list, call(f))
		case isTotal(f, valueType(x)):
			// A sum of the largest values fits no type: sumCases ask for such sums.
		case Suits(f, x):
			list = append(list, call(f, "x"))
		case Suits(f, x, y):
			list = append(list, call(f, "x", "y"), call(f, "y", "x"))
		}
	}
	return list
}

// isTotal reports whether f is a sum that overflows although integers are widened.
func isTotal(f query.Func, dt arrow.DataType) bool {
	return f == query.Sum && (arrow.IsDecimal(dt.ID()) || dt.ID() == arrow.DURATION)
}

// sumCases are about sums that fit, just fit, and do not.
func sumCases() []Case {
	const largest, smallest = int64(math.MaxInt64), int64(math.MinInt64)
	var list []Case
	add := func(name string, dt arrow.DataType, overflow query.Overflow, values ...any) {
		key := cells(len(values), func(int) any { return int64(1) })
		schema, batches := table([]arrow.Field{field("k", i64), field("x", dt)}, key, values)
		list = append(list, Case{"sum: " + name, schema, batches, query.Query{
			Keys: keys("k"), Aggregates: []query.Aggregate{call(query.Sum, "x"), call(query.Avg, "x")}, Overflow: overflow,
		}})
		if dt.ID() == arrow.DURATION {
			q := &list[len(list)-1].Query
			q.Aggregates = q.Aggregates[:1]
		}
	}
	u64 := arrow.PrimitiveTypes.Uint64
	for _, overflow := range []query.Overflow{query.OverflowError, query.OverflowWiden, query.OverflowWrap} {
		name := overflow.String()
		add("int64 just fits, "+name, i64, overflow, largest-1, int64(1))
		add("int64 passes by one, "+name, i64, overflow, largest, int64(1))
		add("int64 passes below by one, "+name, i64, overflow, smallest, int64(-1))
		add("int64 passes and comes back, "+name, i64, overflow, largest, largest, smallest, smallest, int64(5))
		add("int64 passes 64 bits, "+name, i64, overflow, largest, largest, largest, largest)
		add("uint64 just fits, "+name, u64, overflow, uint64(largest))
		add("uint64 passes by one, "+name, u64, overflow, uint64(largest), uint64(1))
		add("uint64 passes 64 bits, "+name, u64, overflow, uint64(math.MaxUint64), uint64(math.MaxUint64), uint64(3))
		add("int8, "+name, arrow.PrimitiveTypes.Int8, overflow, int64(127), int64(127), int64(-128), int64(127))
		add("duration passes, "+name, arrow.FixedWidthTypes.Duration_s, overflow, largest, int64(1))
		add("duration, "+name, arrow.FixedWidthTypes.Duration_s, overflow, largest, int64(-5))
	}
	nines := new(big.Int).Sub(decimalLimit, big.NewInt(1))
	half := new(big.Int).Exp(big.NewInt(10), big.NewInt(37), nil)
	wide := &arrow.Decimal128Type{Precision: 38, Scale: 10}
	add("decimal just fits", wide, query.OverflowError, new(big.Int).Sub(nines, big.NewInt(7)), big.NewInt(7))
	add("decimal passes by one", wide, query.OverflowError, nines, big.NewInt(1))
	add("decimal passes by one, wrap", wide, query.OverflowWrap, nines, big.NewInt(1))
	add("decimal passes 128 bits", wide, query.OverflowError, nines, nines, nines, nines, nines)
	add("decimal passes and comes back", wide, query.OverflowError, nines, nines, nines,
		new(big.Int).Neg(nines), new(big.Int).Neg(nines), half)
	narrow := &arrow.Decimal32Type{Precision: 9, Scale: 2}
	add("decimal32 passes 32 bits", narrow, query.OverflowError, big.NewInt(999_999_999),
		big.NewInt(999_999_999), big.NewInt(999_999_999))
	middle := &arrow.Decimal64Type{Precision: 18, Scale: 18}
	largest18 := big.NewInt(999_999_999_999_999_999)
	add("decimal64 passes 64 bits", middle, query.OverflowError, cells(30, func(int) any { return largest18 })...)
	add("negative scale", &arrow.Decimal128Type{Precision: 10, Scale: -2}, query.OverflowError,
		big.NewInt(12), big.NewInt(-1))
	return list
}

// statisticCases are about numbers that one-pass formulas get wrong.
func statisticCases() []Case {
	nan, inf := math.NaN(), math.Inf(1)
	groups := map[string][]float64{
		"large and a little noise":      noise(1e9, 1, 1000),
		"very large and a little noise": noise(1e12, 0.125, 1000),
		"negative, large":               noise(-1e9, 1, 100),
		"constant":                      {0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1},
		"constant, large":               {1e17, 1e17, 1e17, 1e17},
		"zeros":                         {0, math.Copysign(0, -1), 0, 0},
		"one":                           {3.5},
		"two":                           {3.5, -1},
		"three":                         {3.5, -1, 4},
		"four":                          {3, 4, 6, 11},
		"NaN":                           {1, nan, 3, 4, 5},
		"only NaN":                      {nan},
		"infinite":                      {1, inf, 3, 4, 5},
		"both infinite":                 {inf, -inf, 1},
		"only infinite":                 {inf},
		"infinite and NaN":              {-inf, nan, 2, 2},
		"cancelling":                    {1e16, 1, 1, -1e16},
		"huge":                          {1e308, 1e308, -1e308, 1},
		"tiny":                          {5e-324, 1e-310, 2e-308, 0},
		"ordinary":                      noise(0, 1, 1000),
	}
	var list []Case
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		xs := groups[name]
		list = append(list,
			statisticCase("statistics: "+name+", with noise", xs, noise(5, 2, len(xs))),
			statisticCase("statistics: "+name+", with a constant", xs, noise(0.1, 0, len(xs))),
			statisticCase("statistics: "+name+", with itself", xs, xs),
			descendingCase("quantiles from the greatest value on: "+name, xs))
	}
	return list
}

func statisticCase(name string, xs, ys []float64) Case {
	schema, batches := table([]arrow.Field{field("k", arrow.PrimitiveTypes.Int32), field("x", f64), field("y", f64)},
		cells(len(xs), func(int) any { return int64(7) }), floats(xs...), floats(ys...))
	q := query.Query{Keys: keys("k"), Aggregates: calls(f64, f64)}
	for _, fraction := range []float64{0, 0.25, 0.29, 0.5, 0.57, 1} {
		q.Aggregates = append(q.Aggregates, query.Aggregate{Func: query.QuantileCont, Args: []string{"x"},
			Fraction: fraction},
			query.Aggregate{Func: query.QuantileDisc, Args: []string{"x"}, Fraction: fraction})
	}
	return Case{name, schema, batches, q}
}

// descendingCase asks quantiles from the greatest value on, which no device counts.
func descendingCase(name string, xs []float64) Case {
	c := statisticCase(name, xs, xs)
	c.Query.Aggregates = slices.DeleteFunc(c.Query.Aggregates, func(a query.Aggregate) bool {
		return a.Func.Param() != query.FractionParam
	})
	for i := range c.Query.Aggregates {
		c.Query.Aggregates[i].Name = fmt.Sprintf("a%d", i)
		c.Query.Aggregates[i].Descending = true
	}
	return c
}

// noise returns n values around a center, the same at every call.
func noise(center, size float64, n int) []float64 {
	values := make([]float64, n)
	state := uint64(n)
	for i := range values {
		state = state*6364136223846793005 + 1442695040888963407
		values[i] = center + size*(float64(state>>40)/(1<<23)-1)
	}
	return values
}

// textCases are about functions of strings.
func textCases() []Case {
	texts := []any{"", "", nil, "a", "", nil, "b,c", "é", "a", strings.Repeat("long ", 1000), nil, ""}
	schema, batches := table([]arrow.Field{field("k", str), field("s", str), field("d", f64)},
		cells(len(texts), func(i int) any { return []any{"left", "right", nil}[i%3] }), texts,
		cells(len(texts), func(i int) any { return []any{1.0, math.NaN(), 1.0, nil, 0.5}[i%5] }))
	aggregates := []query.Aggregate{
		{Func: query.StringAgg, Args: []string{"s"}}, {Func: query.StringAgg, Args: []string{"s"}, Separator: ", "},
		{Func: query.StringAgg, Args: []string{"s"}, Separator: "' or '"},
		{Func: query.MinN, Args: []string{"s"}, Length: 1}, {Func: query.MaxN, Args: []string{"s"}, Length: query.MaxLength},
		call(query.List, "s"), call(query.Mode, "s"), call(query.CountDistinct, "s"), call(query.ApproxCountDistinct, "s"),
		call(query.ArgMin, "s", "d"), call(query.ArgMax, "s", "d"), call(query.ArgMin, "d", "s"),
		call(query.ArgMax, "d", "s"),
	}
	byKey := Case{"strings by key", schema, batches, query.Query{Keys: keys("k"), Aggregates: aggregates}}
	alone := Case{"strings without keys", schema, batches, query.Query{Aggregates: aggregates}}
	long := longKeys()
	return []Case{byKey, alone, long}
}

// longKeys has many strings that differ only behind a long common prefix.
func longKeys() Case {
	const n = 10_000
	prefix := strings.Repeat("common prefix / ", 8)
	schema, batches := table([]arrow.Field{field("k", str), field("v", str)},
		cells(n, func(i int) any { return fmt.Sprintf("%s%d", prefix, i*i%2003) }),
		cells(n, func(i int) any { return fmt.Sprintf("%s%d", prefix, i) }))
	return Case{"strings with a long common prefix", schema, batches, query.Query{Keys: keys("k"),
		Aggregates: []query.Aggregate{call(query.CountStar), call(query.Min, "v"), call(query.Max, "v"),
			call(query.First, "v"), call(query.Last, "v"), call(query.CountDistinct, "v")}}}
}
