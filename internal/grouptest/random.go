package grouptest

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/query"
)

// columnsMax bounds a random table.
const columnsMax = 9

// RandomTable makes a table of random columns of some types, of all types when none are given.
// NULLs, numbers of distinct values, skew and the sizes of its batches are random too. Some batches
// are empty, some are slices of larger ones.
func RandomTable(rng *rand.Rand, rows int, types ...arrow.DataType) (*arrow.Schema, []arrow.RecordBatch) {
	if len(types) == 0 {
		types = append(Types(), DictionaryTypes()...)
	}
	// Half of the columns are of the few types that most tables are made of.
	common := []arrow.DataType{arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Float64,
		arrow.BinaryTypes.String, DictionaryTypes()[0]}
	columns := make([][]any, 2+rng.IntN(columnsMax-1))
	fields := make([]arrow.Field, len(columns))
	for i := range columns {
		dt := pick(rng, types)
		if other := pick(rng, common); rng.IntN(2) == 0 && contains(types, other) {
			dt = other
		}
		fields[i] = arrow.Field{Name: fmt.Sprintf("c%d", i), Type: dt, Nullable: true}
		columns[i] = randomColumn(rng, dt, rows)
	}
	schema := arrow.NewSchema(fields, nil)
	return schema, cut(rng, schema, columns, rows)
}

func contains(types []arrow.DataType, dt arrow.DataType) bool {
	return slices.ContainsFunc(types, func(other arrow.DataType) bool { return arrow.TypeEqual(dt, other) })
}

// cut makes batches of columns of cells.
func cut(rng *rand.Rand, schema *arrow.Schema, columns [][]any, rows int) []arrow.RecordBatch {
	size := pick(rng, []int{1 + rng.IntN(10), 100, 2048, 1 << 16, rows})
	size = max(size, rows/100, 1)
	var batches []arrow.RecordBatch
	for start := 0; start < rows; {
		end := min(rows, start+1+rng.IntN(2*size))
		lead := rng.IntN(min(start, 9) + 1) // rows of the batch before, sliced off again
		arrays := make([]arrow.Array, len(columns))
		for i, cells := range columns {
			arrays[i] = Array(schema.Field(i).Type, cells[start-lead:end])
		}
		batches = append(batches, Batch(schema, arrays...).NewSlice(int64(lead), int64(lead+end-start)))
		if rng.IntN(10) == 0 {
			batches = append(batches, batches[len(batches)-1].NewSlice(0, 0))
		}
		start = end
	}
	return batches
}

func pick[T any](rng *rand.Rand, list []T) T { return list[rng.IntN(len(list))] }

// randomColumn makes a column with a random number of distinct values, style, skew and share of
// NULLs.
func randomColumn(rng *rand.Rand, dt arrow.DataType, rows int) []any {
	distinct := pick(rng, []int{1, 2, 10, 100, 100, 1 + int(math.Sqrt(float64(rows))), 1 + rows/3, 20 * (1 + rows)})
	if d, ok := dt.(*arrow.DictionaryType); ok {
		distinct = min(distinct, 1<<min(10, d.IndexType.(arrow.FixedWidthDataType).BitWidth()-1))
	}
	nulls := pick(rng, []float64{0, 0, 0.02, 0.3, 1})
	if nulls == 1 && rng.IntN(4) > 0 {
		nulls = 0.1
	}
	value := randomValues(rng, valueType(dt))
	skewed := rng.IntN(3) == 0
	cells := make([]any, rows)
	for i := range cells {
		if rng.Float64() < nulls {
			continue
		}
		id := rng.IntN(distinct)
		if skewed {
			id = int(float64(distinct) * math.Pow(rng.Float64(), 6))
		}
		cells[i] = value(uint64(id))
	}
	return cells
}

// randomValues returns a function from a number to the value that stands for it.
func randomValues(rng *rand.Rand, dt arrow.DataType) func(id uint64) any {
	seed := rng.Uint64()
	wild := rng.IntN(6) == 0 // extremes and huge values, instead of tame ones
	edges := Edges(dt)
	return func(id uint64) any {
		own := rand.New(rand.NewPCG(seed, id))
		if wild && own.IntN(3) == 0 {
			return pick(own, edges)
		}
		return randomValue(own, dt, id, wild)
	}
}

func randomValue(rng *rand.Rand, dt arrow.DataType, id uint64, wild bool) any {
	switch dt := dt.(type) {
	case *arrow.BooleanType:
		return id%2 == 0
	case *arrow.Float16Type:
		return float64(rng.IntN(4096)-2048) / 4
	case *arrow.Float32Type, *arrow.Float64Type:
		// Sums of these are exact, whatever their order.
		return float64(rng.IntN(1<<24)-1<<23) / 1024
	case arrow.DecimalType:
		digits := min(dt.GetPrecision(), 30) // so that sums stay below 38
		limit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(digits)), nil)
		v := new(big.Int).SetUint64(rng.Uint64())
		v.Mul(v, new(big.Int).SetUint64(rng.Uint64()))
		if v.Mod(v, limit); rng.IntN(2) == 0 {
			v.Neg(v)
		}
		return v
	case *arrow.FixedSizeBinaryType:
		b := make([]byte, dt.ByteWidth)
		binary.BigEndian.PutUint64(b[len(b)-8:], id)
		return string(b)
	}
	if low, high, ok := intRange(dt); ok {
		if !wild {
			low, high = max(low, -1_000_000), min(high, 1_000_000)
		}
		return low + int64(rng.Uint64()%(uint64(high)-uint64(low)))
	}
	if arrow.IsUnsignedInteger(dt.ID()) {
		high := uintMax(dt)
		if !wild {
			high = min(high, 1_000_000)
		}
		return rng.Uint64() % high
	}
	return randomString(rng, id, wild)
}

func randomString(rng *rand.Rand, id uint64, wild bool) string {
	text := "id" + strconv.FormatUint(id, 10)
	if !wild {
		return text
	}
	switch rng.IntN(4) {
	case 0:
		return "https://example.org/a/long/common/prefix?id=" + text
	case 1:
		return text + strings.Repeat("x", rng.IntN(20))
	case 2:
		return strings.Repeat("é", rng.IntN(7)) + text + "\x00"
	}
	return text[2:]
}

// RandomQuery makes a query that suits a schema. Its result columns have short names. Any column
// may stand in it several times: as a key, and as an argument.
func RandomQuery(rng *rand.Rand, schema *arrow.Schema) query.Query {
	keys := pick(rng, []int{0, 1, 1, 1, 1, 2, 2, 2, 3, 4, 6})
	order := rng.Perm(schema.NumFields())
	q := query.Query{Overflow: pick(rng, []query.Overflow{query.OverflowError, query.OverflowWiden,
		query.OverflowWiden, query.OverflowWrap})}
	for _, c := range order[:min(keys, len(order))] {
		q.Keys = append(q.Keys, query.Key{Column: schema.Field(c).Name})
	}
	for i := 1; i < len(q.Keys); i++ { // a column may be a key any number of times
		if rng.IntN(5) == 0 {
			q.Keys[i] = query.Key{Column: pick(rng, q.Keys[:i]).Column, Name: fmt.Sprintf("again%d", i)}
		}
	}
	for len(q.Aggregates) < rng.IntN(7) || len(q.Keys)+len(q.Aggregates) == 0 {
		if a, ok := randomAggregate(rng, schema); ok {
			a.Name = fmt.Sprintf("a%d", len(q.Aggregates))
			q.Aggregates = append(q.Aggregates, a)
		}
	}
	return q
}

// randomAggregate picks a function, then columns; ok is false when they do not suit each other.
func randomAggregate(rng *rand.Rand, schema *arrow.Schema) (a query.Aggregate, ok bool) {
	// The functions of ordinary queries come half of the time.
	a.Func = pick(rng, query.Funcs())
	if rng.IntN(2) == 0 {
		a.Func = pick(rng, []query.Func{query.CountStar, query.Count, query.Sum, query.Min, query.Max, query.Avg})
	}
	types := make([]arrow.DataType, a.Func.Args())
	for i := range types {
		field := schema.Field(rng.IntN(schema.NumFields()))
		types[i] = field.Type
		a.Args = append(a.Args, field.Name)
	}
	switch a.Func.Param() {
	case query.FractionParam:
		a.Fraction = pick(rng, []float64{0, 0.1, 0.25, 0.5, 0.9, 1, rng.Float64()})
	case query.LengthParam:
		a.Length = pick(rng, []int{1, 2, 3, 10, 100})
	case query.SeparatorParam:
		a.Separator = pick(rng, []string{",", "", "--", "'"})
	}
	a.Distinct = a.Func != query.CountStar && rng.IntN(4) == 0
	switch a.Func {
	case query.List, query.StringAgg:
		a.Descending = a.Distinct && rng.IntN(2) == 0
	case query.QuantileCont, query.QuantileDisc:
		a.Descending = !a.Distinct && rng.IntN(4) == 0
	}
	return a, Suits(a.Func, types...)
}

// RandomRows picks a number of rows: small ones, and those around the sizes of tiles and tables.
func RandomRows(rng *rand.Rand) int {
	around := pick(rng, []int{32, 2048, 1 << 16, 1 << 17})
	return pick(rng, slices.Concat(
		[]int{0, 1, 2},
		slices.Repeat([]int{rng.IntN(100), rng.IntN(5_000), rng.IntN(30_000)}, 3),
		[]int{around - 1, around, around + 1},
	))
}
