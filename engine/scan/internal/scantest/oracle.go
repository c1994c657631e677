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
	"github.com/apache/arrow-go/v18/arrow/scalar"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/internal/predicate"
	"github.com/mpga/mpga/internal/grouptest"
)

// exactValue is a value to compare by means that the reader does not use: a rational number, a
// float, or text.
type exactValue struct {
	Rat   *big.Rat
	float float64
	text  string
}

// ExactOf returns a value of an array; ok is false for NULL.
func ExactOf(a arrow.Array, i int) (v exactValue, ok bool) {
	if d, isCoded := a.(*array.Dictionary); isCoded && d.IsValid(i) {
		return ExactOf(d.Dictionary(), d.GetValueIndex(i))
	}
	if a.IsValid(i) && arrow.IsDecimal(a.DataType().ID()) {
		v.Rat, ok = new(big.Rat).SetString(a.ValueStr(i))
		return v, ok
	}
	switch cell := grouptest.Value(a, i).(type) {
	case nil:
		return v, false
	case float64:
		v.float = cell
	case string:
		v.text = cell
	case uint64:
		v.Rat = new(big.Rat).SetUint64(cell)
	case bool:
		v.Rat = new(big.Rat)
		if cell {
			v.Rat.SetInt64(1)
		}
	case int64:
		v.Rat = new(big.Rat).Mul(big.NewRat(cell, 1), big.NewRat(int64(unitOf(a.DataType())), 1))
	}
	return v, true
}

// unitOf returns what the integers of a type count.
func unitOf(t arrow.DataType) time.Duration {
	switch t := t.(type) {
	case *arrow.Date32Type:
		return 24 * time.Hour
	case *arrow.Date64Type:
		return time.Millisecond
	case arrow.TemporalWithUnit:
		return t.TimeUnit().Multiplier()
	}
	return 1
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

// NewTestFilter returns the filter of rows that satisfy all terms. Tested lists each column once.
func NewTestFilter(terms []TestTerm) *TestFilter {
	f := &TestFilter{terms: terms}
	for _, t := range terms {
		if !slices.Contains(f.Tested, t.Column) {
			f.Tested = append(f.Tested, t.Column)
		}
	}
	return f
}

var _ scan.DivisibleFilter = (*TestFilter)(nil)

// Columns implements scan.RowFilter.
func (f *TestFilter) Columns() []int { return f.Tested }

// Select implements scan.RowFilter.
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

// Divide implements scan.DivisibleFilter.
func (f *TestFilter) Divide(late []int) (first, rest scan.RowFilter, ok bool) {
	var parts [2][]TestTerm
	for _, t := range f.terms {
		part := &parts[0]
		if slices.Contains(late, t.Column) {
			part = &parts[1]
		}
		*part = append(*part, t)
	}
	return NewTestFilter(parts[0]), NewTestFilter(parts[1]), len(parts[0]) > 0 && len(parts[1]) > 0
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

// String returns the terms, joined by AND; a column is # and its number.
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

// ordinal returns the n-th value of a type, in the type's order, around its sign where it has one.
func ordinal(t arrow.DataType, n int) any {
	switch id := t.ID(); {
	case arrow.IsUnsignedInteger(id):
		return 1<<(t.(arrow.FixedWidthDataType).BitWidth()-1) + uint64(n)
	case id == arrow.FLOAT16:
		return float64(n)
	case arrow.IsFloating(id):
		return ordinalFloat(n)
	case id == arrow.BOOL:
		return n > 0
	case arrow.IsBaseBinary(id):
		return ordinalText(n)
	case id == arrow.FIXED_SIZE_BINARY:
		rest := make([]byte, t.(*arrow.FixedSizeBinaryType).ByteWidth-2)
		return string(append([]byte{byte(128 + n), byte(n & 1)}, rest...))
	case arrow.IsDecimal(id):
		return big.NewInt(int64(n))
	case id == arrow.INT64:
		return int64(n) << 33
	case id == arrow.DATE64:
		return int64(n) * 86_400_000
	case id == arrow.TIME32 || id == arrow.TIME64:
		return int64(1000 + n)
	case id == arrow.TIMESTAMP:
		return int64(n) * 3600
	}
	return int64(n)
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

// ordinalsMax is how far ordinals go from 0, up and down: the narrowest integers have values for them.
const ordinalsMax = 90

// RandomTable returns rows whose values wander, so that rows near each other have similar values.
func RandomTable(rng *rand.Rand, types []arrow.DataType, rows int) arrow.RecordBatch {
	var fields []arrow.Field
	var columns []arrow.Array
	add := func(name string, typ arrow.DataType, nullable bool, cells []any) {
		columns = append(columns, grouptest.Array(typ, cells))
		fields = append(fields, arrow.Field{Name: name, Type: typ, Nullable: nullable})
	}
	for c, typ := range types {
		cells := make([]any, rows)
		n, nullable := rng.IntN(2*ordinalsMax)-ordinalsMax, rng.IntN(3) > 0
		step, nulls := 1+rng.IntN(3), rng.IntN(100)
		var inNulls int
		for i := range cells {
			if inNulls == 0 && nullable && rng.IntN(500) == 0 {
				inNulls = rng.IntN(300)
			}
			if inNulls > 0 {
				inNulls--
			}
			if nullable && (inNulls > 0 || rng.IntN(100) < nulls/10) {
				continue
			}
			if rng.IntN(4) == 0 {
				n = max(-ordinalsMax, min(ordinalsMax, n+rng.IntN(2*step+1)-step))
			}
			cells[i] = ordinal(typ, n)
		}
		add(fmt.Sprintf("c%d", c), typ, nullable, cells)
	}
	ids := make([]any, rows)
	for i := range ids {
		ids[i] = int64(i)
	}
	add("id", arrow.PrimitiveTypes.Int64, false, ids)
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
	constants := make([]any, 1)
	switch op {
	case scan.OpIn:
		constants = make([]any, rng.IntN(5))
	case scan.OpIsNull, scan.OpIsNotNull:
		constants = nil
	}
	for i := range constants {
		if op != scan.OpIn || rng.IntN(10) > 0 {
			constants[i] = ordinal(typ, rng.IntN(2*ordinalsMax)-ordinalsMax)
		}
	}
	return NewTerm(t, c, op, grouptest.Array(typ, constants))
}

// relative returns a type of the same family, as far as there is one with as many ordinals.
func relative(t arrow.DataType, rng *rand.Rand) arrow.DataType {
	of := []arrow.DataType{t}
	switch f, _, _ := predicate.FamilyOf(t); f {
	case predicate.NumberFamily:
		of = []arrow.DataType{arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Int16,
			arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Uint64,
			&arrow.Decimal128Type{Precision: 10, Scale: 1}, &arrow.Decimal128Type{Precision: 38, Scale: 12},
			&arrow.Decimal256Type{Precision: 60, Scale: 2}}
	case predicate.FloatFamily:
		of = []arrow.DataType{arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64}
	case predicate.BytesFamily:
		of = []arrow.DataType{arrow.BinaryTypes.Binary, arrow.BinaryTypes.LargeString,
			&arrow.FixedSizeBinaryType{ByteWidth: 3}}
	case predicate.MomentFamily:
		of = []arrow.DataType{arrow.FixedWidthTypes.Date32, arrow.FixedWidthTypes.Date64,
			&arrow.TimestampType{Unit: arrow.Nanosecond}, &arrow.TimestampType{Unit: arrow.Second}}
	case predicate.InstantFamily:
		of = []arrow.DataType{&arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "UTC"},
			&arrow.TimestampType{Unit: arrow.Second, TimeZone: "Asia/Tokyo"}}
	case predicate.TimeFamily:
		of = []arrow.DataType{arrow.FixedWidthTypes.Time32s, arrow.FixedWidthTypes.Time64ns, arrow.FixedWidthTypes.Time64us}
	}
	return of[rng.IntN(len(of))]
}

// RandomWriter returns how a file of the columns c0, c1, ... is written.
func RandomWriter(rng *rand.Rand, columns int) []parquet.WriterProperty {
	paths := make([]string, columns)
	for c := range paths {
		paths[c] = fmt.Sprintf("c%d", c)
	}
	return RandomWriterOf(rng, paths)
}

// RandomWriterOf returns how a file is written. paths are the paths of some of its columns.
func RandomWriterOf(rng *rand.Rand, paths []string) []parquet.WriterProperty {
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
	for _, name := range paths {
		opts = append(opts, parquet.WithDictionaryFor(name, rng.IntN(3) > 0))
		if rng.IntN(2) == 0 {
			opts = append(opts, parquet.WithBloomFilterEnabledFor(name, true),
				parquet.WithBloomFilterNDVFor(name, int64(20+rng.IntN(300))))
		}
	}
	return opts
}
