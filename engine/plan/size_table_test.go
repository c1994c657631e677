//go:build cgo

package plan_test

import (
	"fmt"
	"hash/maphash"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// sizeFields are the columns of sizeTable: keys of few and of many values, of every width; values;
// NULLs, skew, order, strings with a dictionary and without. Sums of doubles are exact, whatever
// their order.
var sizeFields = []arrow.Field{
	{Name: "hi64", Type: arrow.PrimitiveTypes.Int64}, // two thirds of the rows
	{Name: "u32", Type: arrow.PrimitiveTypes.Uint32}, // any
	{Name: "i32", Type: arrow.PrimitiveTypes.Int32},  // 100,000
	{Name: "lo16", Type: arrow.PrimitiveTypes.Int16}, // 1,000
	{Name: "b8", Type: arrow.PrimitiveTypes.Int8},    // 10
	{Name: "vn", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
	{Name: "kn", Type: arrow.PrimitiveTypes.Int64, Nullable: true}, // 1,000,000
	{Name: "d", Type: arrow.PrimitiveTypes.Float64},
	{Name: "dec", Type: &arrow.Decimal128Type{Precision: 15, Scale: 2}},
	{Name: "zipf", Type: arrow.PrimitiveTypes.Int32},
	{Name: "ascending", Type: arrow.PrimitiveTypes.Int64}, // a third of the rows
	{Name: "ts", Type: &arrow.TimestampType{Unit: arrow.Microsecond}},
	{Name: "dict", Type: &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}},
	{Name: "s", Type: arrow.BinaryTypes.String}, // 300,000
}

// sizeTable makes so many rows in batches of 128 Ki rows, by all processors.
func sizeTable(rows int, seed uint64) (*arrow.Schema, []arrow.RecordBatch) {
	const batchRows = 128 << 10
	schema := arrow.NewSchema(sizeFields, nil)
	batches := make([]arrow.RecordBatch, (rows+batchRows-1)/batchRows)
	words := array.NewStringBuilder(memory.DefaultAllocator)
	for i := range 2000 {
		words.Append(fmt.Sprint("word ", i, strings.Repeat("x", i%20)))
	}
	dictionary := words.NewArray()
	var workers sync.WaitGroup
	for w := range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := w; i < len(batches); i += runtime.GOMAXPROCS(0) {
				batches[i] = sizeBatch(schema, dictionary, rows, i*batchRows, min((i+1)*batchRows, rows), rand.New(rand.NewPCG(seed, uint64(i))))
			}
		})
	}
	workers.Wait()
	return schema, batches
}

// sizeBatch makes rows from to to.
func sizeBatch(schema *arrow.Schema, dictionary arrow.Array, rows, from, to int, rng *rand.Rand) arrow.RecordBatch {
	n := to - from
	hi64, u32, i32 := array.NewInt64Builder(memory.DefaultAllocator), array.NewUint32Builder(memory.DefaultAllocator), array.NewInt32Builder(memory.DefaultAllocator)
	lo16, b8, vn := array.NewInt16Builder(memory.DefaultAllocator), array.NewInt8Builder(memory.DefaultAllocator), array.NewInt32Builder(memory.DefaultAllocator)
	kn, d := array.NewInt64Builder(memory.DefaultAllocator), array.NewFloat64Builder(memory.DefaultAllocator)
	dec := array.NewDecimal128Builder(memory.DefaultAllocator, schema.Field(8).Type.(*arrow.Decimal128Type))
	zipf, ascending := array.NewInt32Builder(memory.DefaultAllocator), array.NewInt64Builder(memory.DefaultAllocator)
	ts := array.NewTimestampBuilder(memory.DefaultAllocator, schema.Field(11).Type.(*arrow.TimestampType))
	codes, s := array.NewInt32Builder(memory.DefaultAllocator), array.NewStringBuilder(memory.DefaultAllocator)
	for row := from; row < to; row++ {
		hi64.Append(rng.Int64N(int64(rows)*2/3+1)*-0x61C8864680B583EB + 1)
		u32.Append(rng.Uint32())
		i32.Append(rng.Int32N(100_000) - 50_000)
		lo16.Append(int16(rng.IntN(1000)))
		b8.Append(int8(rng.IntN(10)))
		if rng.IntN(5) == 0 {
			vn.AppendNull()
		} else {
			vn.Append(rng.Int32() - 1<<30)
		}
		if rng.IntN(7) == 0 {
			kn.AppendNull()
		} else {
			kn.Append(rng.Int64N(1_000_000) << 20)
		}
		d.Append(float64(rng.IntN(1<<24)-1<<23) / 1024)
		dec.Append(decimal128.FromI64(rng.Int64N(2_000_000_000_000) - 1_000_000_000_000))
		zipf.Append(int32(1e6 * math.Pow(rng.Float64(), 6)))
		ascending.Append(int64(row / 3))
		ts.Append(arrow.Timestamp(1_000_000_000_000_000 + int64(row)*1_000_000))
		codes.Append(rng.Int32N(2000))
		s.Append(fmt.Sprint("name ", rng.IntN(300_000)))
	}
	columns := []arrow.Array{
		hi64.NewArray(), u32.NewArray(), i32.NewArray(), lo16.NewArray(), b8.NewArray(), vn.NewArray(), kn.NewArray(), d.NewArray(), dec.NewArray(),
		zipf.NewArray(), ascending.NewArray(), ts.NewArray(), array.NewDictionaryArray(schema.Field(12).Type, codes.NewArray(), dictionary), s.NewArray(),
	}
	return array.NewRecordBatch(schema, columns, int64(n))
}

// sizeStatement returns a random statement whose answer depends on nothing but the rows.
func sizeStatement(rng *rand.Rand) string {
	pick := func(list ...string) string { return list[rng.IntN(len(list))] }
	key := func() string {
		return pick("hi64", "hi64", "hi64", "u32", "u32", "i32", "lo16", "b8", "vn", "kn", "dec", "zipf", "ascending", "ts", "dict", "s",
			"hi64 % 1000003", "year(ts)", "date_trunc('hour', ts)", "lo16 + b8", "d")
	}
	keys := []string{key()}
	for rng.IntN(3) == 0 && len(keys) < 4 {
		keys = append(keys, key())
	}
	number := func() string { return pick("u32", "i32", "lo16", "b8", "vn", "dec", "zipf", "ascending", "d") }
	aggregates := []string{}
	for len(aggregates) == 0 || rng.IntN(2) == 0 && len(aggregates) < 5 {
		aggregates = append(aggregates, pick(
			"count(*)", "sum(u32)", "sum(vn)", "count(vn)", "sum("+number()+")", "min("+number()+")", "max("+number()+")", "avg("+pick("u32", "i32", "vn")+")",
			"min(hi64)", "max(kn)", "min(s)", "max(dict)", "bit_xor(hi64)", "sum(d) FILTER (WHERE b8 < 3)", "sum(lo16 * b8)", "bool_and(vn > 0)",
			pick("median(i32)", "count(DISTINCT lo16)", "arg_max(u32, ts)", "first(u32)", "max(u32, 2)", "mode(b8)"),
		))
	}
	text := "SELECT " + strings.Join(keys, ", ") + ", " + strings.Join(aggregates, ", ") + " FROM t"
	if rng.IntN(2) == 0 {
		text += " WHERE " + pick("lo16 < 500", "vn IS NOT NULL", "lo16 < 500 AND vn IS NOT NULL", "b8 <> 3", "u32 > 4000000000", "kn IS NULL", "dict LIKE '%7%'", "d >= 0")
	}
	numbers := make([]string, len(keys))
	for i := range keys {
		numbers[i] = fmt.Sprint(i + 1)
	}
	text += " GROUP BY " + strings.Join(numbers, ", ")
	if rng.IntN(12) == 0 {
		text += " HAVING count(*) > 2"
	}
	return text
}

var sizeHashSeed = maphash.MakeSeed()

// hashRows appends a hash of each row of a batch.
func hashRows(hashes []uint64, batch arrow.RecordBatch) []uint64 {
	n := int(batch.NumRows())
	for range n {
		hashes = append(hashes, 0)
	}
	for _, column := range batch.Columns() {
		cell := cellHash(column)
		for row := range n {
			h := uint64(0x9E3779B97F4A7C15)
			if !column.IsNull(row) {
				h = cell(row)
			}
			hashes[row] = (hashes[row]^h)*0xFF51AFD7ED558CCD + h>>29
			hashes[row] ^= hashes[row] >> 32
		}
	}
	return hashes
}

// cellHash returns a function that hashes the values of a column.
func cellHash(column arrow.Array) func(row int) uint64 {
	mix := func(v uint64) uint64 { v *= 0x9E3779B97F4A7C15; return v ^ v>>31 }
	switch a := column.(type) {
	case *array.Int64:
		return func(row int) uint64 { return mix(uint64(a.Value(row))) }
	case *array.Int32:
		return func(row int) uint64 { return mix(uint64(a.Value(row))) }
	case *array.Int16:
		return func(row int) uint64 { return mix(uint64(a.Value(row))) }
	case *array.Int8:
		return func(row int) uint64 { return mix(uint64(a.Value(row))) }
	case *array.Uint32:
		return func(row int) uint64 { return mix(uint64(a.Value(row))) }
	case *array.Float64:
		return func(row int) uint64 { return mix(math.Float64bits(a.Value(row))) }
	case *array.Timestamp:
		return func(row int) uint64 { return mix(uint64(a.Value(row))) }
	case *array.Decimal128:
		return func(row int) uint64 { v := a.Value(row); return mix(v.LowBits()) ^ mix(uint64(v.HighBits())+1) }
	case *array.String:
		return func(row int) uint64 { return maphash.String(sizeHashSeed, a.Value(row)) }
	case *array.Dictionary:
		values := cellHash(a.Dictionary())
		return func(row int) uint64 { return values(a.GetValueIndex(row)) }
	}
	return func(row int) uint64 { return maphash.String(sizeHashSeed, column.ValueStr(row)) }
}
