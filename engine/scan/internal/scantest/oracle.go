package scantest

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/decimal256"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/arrow/scalar"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/internal/predicate"
)

// exactValue is a value to compare by means that the reader does not use: a rational number, a float,
// or text.
type exactValue struct {
	Rat   *big.Rat
	float float64
	text  string
}

// ExactOf returns a value of an array; ok is false for NULL.
func ExactOf(a arrow.Array, i int) (v exactValue, ok bool) {
	if a.IsNull(i) {
		return v, false
	}
	whole := func(n int64, nanos time.Duration) exactValue {
		return exactValue{Rat: new(big.Rat).Mul(big.NewRat(n, 1), big.NewRat(int64(nanos), 1))}
	}
	switch a := a.(type) {
	case *array.Dictionary:
		return ExactOf(a.Dictionary(), a.GetValueIndex(i))
	case *array.Float32:
		return exactValue{float: float64(a.Value(i))}, true
	case *array.Float64:
		return exactValue{float: a.Value(i)}, true
	case interface{ Value(int) string }:
		return exactValue{text: a.Value(i)}, true
	case interface{ Value(int) []byte }:
		return exactValue{text: string(a.Value(i))}, true
	case *array.Boolean:
		if a.Value(i) {
			return whole(1, 1), true
		}
		return whole(0, 1), true
	case *array.Date32:
		return whole(int64(a.Value(i)), 24*time.Hour), true
	case *array.Date64:
		return whole(int64(a.Value(i)), time.Millisecond), true
	case *array.Timestamp:
		return whole(int64(a.Value(i)), a.DataType().(*arrow.TimestampType).Unit.Multiplier()), true
	case *array.Time32:
		return whole(int64(a.Value(i)), a.DataType().(*arrow.Time32Type).Unit.Multiplier()), true
	case *array.Time64:
		return whole(int64(a.Value(i)), a.DataType().(*arrow.Time64Type).Unit.Multiplier()), true
	case *array.Duration:
		return whole(int64(a.Value(i)), a.DataType().(*arrow.DurationType).Unit.Multiplier()), true
	}
	rat, ok := new(big.Rat).SetString(a.ValueStr(i))
	if !ok {
		panic(fmt.Sprintf("a %s of %q", a.DataType(), a.ValueStr(i)))
	}
	return exactValue{Rat: rat}, true
}

// compare orders values as DuckDB does: NaN is equal to itself and larger than all others.
func (v exactValue) compare(o exactValue) int {
	if v.Rat != nil {
		return v.Rat.Cmp(o.Rat)
	}
	return cmp.Or(-cmp.Compare(-v.float, -o.float), strings.Compare(v.text, o.text)) // cmp has NaN first
}

// TestTerm is a term with its constants as an array too.
type TestTerm struct {
	scan.Term
	constants arrow.Array
}

func (t TestTerm) holds(a arrow.Array, i int) bool {
	v, ok := ExactOf(a, i)
	switch t.Op {
	case scan.OpIsNull:
		return !ok
	case scan.OpIsNotNull:
		return ok
	}
	if !ok {
		return false
	}
	for k := range t.constants.Len() {
		c, ok := ExactOf(t.constants, k)
		if !ok {
			continue
		}
		sign := v.compare(c)
		holds := false
		switch t.Op {
		case scan.OpEqual, scan.OpIn:
			holds = sign == 0
		case scan.OpNotEqual:
			holds = sign != 0
		case scan.OpLess:
			holds = sign < 0
		case scan.OpLessOrEqual:
			holds = sign <= 0
		case scan.OpGreater:
			holds = sign > 0
		case scan.OpGreaterOrEqual:
			holds = sign >= 0
		}
		if holds {
			return true
		}
	}
	return false
}

// TestFilter is the RowFilter of a list of terms, row by row.
type TestFilter struct {
	terms  []TestTerm
	Tested []int
}

func NewTestFilter(terms []TestTerm) *TestFilter {
	f := &TestFilter{terms: terms}
	for _, t := range terms {
		if !slices.Contains(f.Tested, t.Column) {
			f.Tested = append(f.Tested, t.Column)
		}
	}
	return f
}

func (f *TestFilter) Columns() []int { return f.Tested }

func (f *TestFilter) Select(_ context.Context, batch arrow.RecordBatch, selected []byte) (rows int, err error) {
	for i := range int(batch.NumRows()) {
		all := true
		for _, t := range f.terms {
			all = all && t.holds(batch.Column(slices.Index(f.Tested, t.Column)), i)
		}
		if all {
			bitutil.SetBit(selected, i)
			rows++
		}
	}
	return rows, nil
}

// Predicate returns the terms, with the filter or without.
func (f *TestFilter) Predicate(exact bool) scan.Predicate {
	var p scan.Predicate
	for _, t := range f.terms {
		p.Terms = append(p.Terms, t.Term)
	}
	if exact {
		p.Rows = f
	}
	return p
}

func (f *TestFilter) String() string {
	var parts []string
	for _, t := range f.terms {
		parts = append(parts, fmt.Sprintf("#%d %s %s", t.Column, t.Op, t.constants))
	}
	return strings.Join(parts, " AND ")
}

// NewTerm returns a term whose constants are values of an array.
func NewTerm(t testing.TB, column int, op scan.Op, constants arrow.Array) TestTerm {
	t.Helper()
	term := TestTerm{Term: scan.Term{Column: column, Op: op}, constants: constants}
	for i := range constants.Len() {
		s, err := scalar.GetScalar(constants, i)
		if err != nil {
			t.Fatal(err)
		}
		term.Values = append(term.Values, s)
	}
	return term
}

// FilterTypes are the types of a table to filter.
func FilterTypes() []arrow.DataType {
	return append(parquetTypes(), arrow.FixedWidthTypes.Date64, arrow.FixedWidthTypes.Time32s,
		&arrow.TimestampType{Unit: arrow.Second})
}

// appendOrdinal appends the n-th value of a type, in the type's order, around its sign where it has one.
func appendOrdinal(b array.Builder, n int) {
	switch b := b.(type) {
	case *array.Int64Builder:
		b.Append(int64(n) << 33)
	case *array.Uint8Builder:
		b.Append(uint8(128 + n))
	case *array.Uint16Builder:
		b.Append(uint16(1<<15 + n))
	case *array.Uint32Builder:
		b.Append(uint32(1<<31 + n))
	case *array.Uint64Builder:
		b.Append(uint64(1<<63) + uint64(n))
	case *array.Float32Builder:
		b.Append(float32(ordinalFloat(n)))
	case *array.Float64Builder:
		b.Append(ordinalFloat(n))
	case *array.BooleanBuilder:
		b.Append(n > 0)
	case interface{ Append(string) }:
		b.Append(ordinalText(n))
	case *array.BinaryBuilder:
		b.Append([]byte(ordinalText(n)))
	case *array.FixedSizeBinaryBuilder:
		text := append([]byte{byte(128 + n), byte(n & 1)}, make([]byte, b.Type().(*arrow.FixedSizeBinaryType).ByteWidth)...)
		b.Append(text[:len(text)-2])
	case *array.Date32Builder:
		b.Append(arrow.Date32(n))
	case *array.Date64Builder:
		b.Append(arrow.Date64(n) * 86_400_000)
	case *array.Time32Builder:
		b.Append(arrow.Time32(1000 + n))
	case *array.Time64Builder:
		b.Append(arrow.Time64(1000 + n))
	case *array.TimestampBuilder:
		b.Append(arrow.Timestamp(n) * 3600)
	case *array.Decimal128Builder:
		b.Append(decimal128.FromI64(int64(n)))
	case *array.Decimal256Builder:
		b.Append(decimal256.FromI64(int64(n)))
	default:
		if err := b.AppendValueFromString(fmt.Sprint(n)); err != nil {
			panic(err)
		}
	}
}

func ordinalFloat(n int) float64 {
	switch {
	case n == 0:
		return math.Copysign(0, -1)
	case n%17 == 3:
		return math.NaN()
	case n == 60:
		return math.Inf(1)
	}
	return float64(n) / 2
}

// ordinalText has bytes above 127 and, now and then, more than 64 bytes that are the same.
func ordinalText(n int) string {
	text := fmt.Sprintf("%c%03d", 'a'+(n+100)/10*10, n+200)
	if n%5 == 0 {
		text = strings.Repeat("ÿ", 40) + text
	}
	return text
}

// ordinalsMax is how far ordinals go from 0: all types have so many values.
const ordinalsMax = 90

// RandomTable returns rows whose values wander, so that rows near each other have similar values.
func RandomTable(rng *rand.Rand, types []arrow.DataType, rows int) arrow.RecordBatch {
	var fields []arrow.Field
	var columns []arrow.Array
	add := func(name string, b array.Builder, nullable bool) {
		columns = append(columns, b.NewArray())
		fields = append(fields, arrow.Field{Name: name, Type: b.Type(), Nullable: nullable})
	}
	for c, typ := range types {
		b := array.NewBuilder(memory.DefaultAllocator, typ)
		n, nullable := rng.IntN(2*ordinalsMax)-ordinalsMax, rng.IntN(3) > 0
		step, nulls := 1+rng.IntN(3), rng.IntN(100)
		var inNulls int
		for range rows {
			if inNulls == 0 && nullable && rng.IntN(500) == 0 {
				inNulls = rng.IntN(300)
			}
			if inNulls > 0 {
				inNulls--
			}
			if nullable && (inNulls > 0 || rng.IntN(100) < nulls/10) {
				b.AppendNull()
				continue
			}
			if rng.IntN(4) == 0 {
				n = max(-ordinalsMax, min(ordinalsMax, n+rng.IntN(2*step+1)-step))
			}
			appendOrdinal(b, n)
		}
		add(fmt.Sprintf("c%d", c), b, nullable)
	}
	id := array.NewInt64Builder(memory.DefaultAllocator)
	for i := range rows {
		id.Append(int64(i))
	}
	add("id", id, false)
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, int64(rows))
}

// RandomTerm returns a term on one of the columns.
func RandomTerm(t testing.TB, rng *rand.Rand, types []arrow.DataType) TestTerm {
	c := rng.IntN(len(types))
	op := scan.Op(rng.IntN(int(scan.OpIsNotNull) + 1))
	typ := types[c]
	if rng.IntN(3) == 0 {
		typ = relative(typ, rng)
	}
	b := array.NewBuilder(memory.DefaultAllocator, typ)
	constants := 1
	switch op {
	case scan.OpIn:
		constants = rng.IntN(5)
	case scan.OpIsNull, scan.OpIsNotNull:
		constants = 0
	}
	for range constants {
		if op == scan.OpIn && rng.IntN(10) == 0 {
			b.AppendNull()
			continue
		}
		appendOrdinal(b, rng.IntN(2*ordinalsMax)-ordinalsMax)
	}
	return NewTerm(t, c, op, b.NewArray())
}

// relative returns a type of the same family, as far as there is one with as many ordinals.
func relative(t arrow.DataType, rng *rand.Rand) arrow.DataType {
	of := []arrow.DataType{t}
	switch f, _, _ := predicate.FamilyOf(t); f {
	case predicate.NumberFamily:
		of = []arrow.DataType{arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Uint64,
			&arrow.Decimal128Type{Precision: 10, Scale: 1}, &arrow.Decimal128Type{Precision: 38, Scale: 12}, &arrow.Decimal256Type{Precision: 60, Scale: 2}}
	case predicate.FloatFamily:
		of = []arrow.DataType{arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64}
	case predicate.BytesFamily:
		of = []arrow.DataType{arrow.BinaryTypes.Binary, arrow.BinaryTypes.LargeString, &arrow.FixedSizeBinaryType{ByteWidth: 3}}
	case predicate.MomentFamily:
		of = []arrow.DataType{arrow.FixedWidthTypes.Date32, arrow.FixedWidthTypes.Date64, &arrow.TimestampType{Unit: arrow.Nanosecond}, &arrow.TimestampType{Unit: arrow.Second}}
	case predicate.InstantFamily:
		of = []arrow.DataType{&arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "UTC"}, &arrow.TimestampType{Unit: arrow.Second, TimeZone: "Asia/Tokyo"}}
	case predicate.TimeFamily:
		of = []arrow.DataType{arrow.FixedWidthTypes.Time32s, arrow.FixedWidthTypes.Time64ns, arrow.FixedWidthTypes.Time64us}
	}
	return of[rng.IntN(len(of))]
}

// RandomWriter returns how a file is written.
func RandomWriter(rng *rand.Rand, columns int) []parquet.WriterProperty {
	codecs := []compress.Compression{compress.Codecs.Uncompressed, compress.Codecs.Snappy, compress.Codecs.Zstd}
	opts := []parquet.WriterProperty{
		parquet.WithDataPageSize(int64(64 + rng.IntN(4000))),
		parquet.WithBatchSize(int64(16 + rng.IntN(200))),
		parquet.WithCompression(codecs[rng.IntN(len(codecs))]),
		parquet.WithPageIndexEnabled(rng.IntN(3) > 0),
		parquet.WithStats(rng.IntN(4) > 0),
	}
	if rng.IntN(2) == 0 {
		opts = append(opts, parquet.WithDataPageVersion(parquet.DataPageV2))
	}
	for c := range columns {
		name := fmt.Sprintf("c%d", c)
		opts = append(opts, parquet.WithDictionaryFor(name, rng.IntN(3) > 0))
		if rng.IntN(2) == 0 {
			opts = append(opts, parquet.WithBloomFilterEnabledFor(name, true), parquet.WithBloomFilterNDVFor(name, int64(20+rng.IntN(300))))
		}
	}
	return opts
}
