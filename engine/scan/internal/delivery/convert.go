package delivery

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan/internal/predicate"
	"github.com/mpga/mpga/internal/digits"
	"github.com/mpga/mpga/internal/gather"
	"github.com/mpga/mpga/internal/timeformat"
	"github.com/mpga/mpga/internal/vector"
)

// convertedEntries are the entries of a dictionary as values of another type, kept while batches share the
// dictionary. S5.
type convertedEntries struct {
	of     arrow.ArrayData // of the dictionary
	values arrow.Array     // owned; nil where an entry does not fit
}

func (e *convertedEntries) drop() {
	if e.values != nil {
		e.values.Release()
	}
	*e = convertedEntries{}
}

// convert returns the values of an array of S1 as values of a type that Common has found for its type, and as S1 lets
// them come. The caller owns the array.
func (e *convertedEntries) convert(mem memory.Allocator, a arrow.Array, to arrow.DataType) (arrow.Array, error) {
	coded, ok := a.(*array.Dictionary)
	if !ok {
		return convert(mem, a, to)
	}
	entries := coded.Dictionary()
	if e.of != entries.Data() {
		e.drop()
		values, _ := convert(mem, entries, to) // an entry that does not fit need not be a row's
		e.of, e.values = entries.Data(), values
	}
	if e.values != nil {
		return array.NewDictionaryArray(DictionaryOf(to), coded.Indices(), e.values), nil
	}
	rows := make([]gather.Row, coded.Len())
	for i := range rows {
		if coded.IsValid(i) {
			rows[i].Row = uint32(coded.GetValueIndex(i))
		}
	}
	values, err := gather.TakeRows(mem, entries, rows)
	if err != nil {
		return nil, err
	}
	defer values.Release()
	nulls := copyValidity(mem, coded)
	if nulls != nil {
		defer nulls.Release()
	}
	buffers := append([]*memory.Buffer{nulls}, values.Data().Buffers()[1:]...)
	plain := NewArray(values.DataType(), coded.Len(), NullCount(coded), buffers...)
	defer plain.Release()
	return convert(mem, plain, to)
}

// convert is the method's of arrays without codes.
func convert(mem memory.Allocator, a arrow.Array, to arrow.DataType) (arrow.Array, error) {
	if comesAs(a.DataType(), to) {
		a.Retain()
		return a, nil
	}
	if arrow.IsBaseBinary(to.ID()) {
		return convertBytes(mem, a, to)
	}
	out := NewBuffer(mem, int(FixedBytesOf(to))*a.Len())
	defer out.Release()
	if row := convertValues(out.Bytes(), a, to); row >= 0 {
		return nil, &fitError{row, a.ValueStr(row), a.DataType(), to}
	}
	validity := copyValidity(mem, a)
	if validity != nil {
		defer validity.Release()
	}
	return NewArray(to, a.Len(), NullCount(a), validity, out), nil
}

// fitError is the error of a value that the type of the other files does not have.
type fitError struct {
	row      int // of the batch
	value    string
	from, to arrow.DataType
}

// Error names the value and both types.
func (e *fitError) Error() string {
	return fmt.Sprintf("the value %s, of type %s, does not fit %s, which is the type of the column in all files together",
		e.value, query.TypeName(e.from), query.TypeName(e.to))
}

// BatchRow returns the row of the value.
func (e *fitError) BatchRow() int { return e.row }

// convertValues writes the values of an array to out. It returns the first row whose value does not fit, or -1.
func convertValues(out []byte, a arrow.Array, to arrow.DataType) (row int) {
	switch to.ID() {
	case arrow.FLOAT32:
		return each(View[float32](out), a, func(v arrow.Array, i int) (float32, bool) { return float32(floatAt(v, i)), true })
	case arrow.FLOAT64:
		return each(View[float64](out), a, func(v arrow.Array, i int) (float64, bool) { return floatAt(v, i), true })
	case arrow.DECIMAL128:
		_, from, _ := predicate.FamilyOf(a.DataType())
		t := to.(*arrow.Decimal128Type)
		by := t.Scale - from
		return each(View[decimal128.Num](out), a, func(v arrow.Array, i int) (decimal128.Num, bool) {
			n := wideAt(v, i)
			if n == (decimal128.Num{}) {
				return n, true
			}
			if whole := t.Precision - by; whole <= 0 || !n.FitsInPrecision(whole) {
				return n, false
			}
			return n.Mul(decimal128.GetScaleMultiplier(int(by))), true
		})
	}
	if arrow.IsInteger(to.ID()) {
		widen(out, a, FixedBytesOf(to))
		return -1
	}
	values, _ := vector.Integers(a)
	if a, ok := a.(*array.Date64); ok {
		values = View[int64](arrow.Date64Traits.CastToBytes(a.Date64Values()))
	}
	return each(View[int64](out), a, func(_ arrow.Array, i int) (int64, bool) {
		return Rescale(values[i], a.DataType(), to)
	})
}

// widen writes integers to out as integers of more bytes.
func widen(out []byte, a arrow.Array, bytes int64) {
	switch a := a.(type) {
	case *array.Int8:
		widenTo(out, a.Int8Values(), bytes)
	case *array.Int16:
		widenTo(out, a.Int16Values(), bytes)
	case *array.Int32:
		widenTo(out, a.Int32Values(), bytes)
	case *array.Uint8:
		widenTo(out, a.Uint8Values(), bytes)
	case *array.Uint16:
		widenTo(out, a.Uint16Values(), bytes)
	case *array.Uint32:
		widenTo(out, a.Uint32Values(), bytes)
	default:
		panic(fmt.Sprintf("an integer of type %s", a.DataType()))
	}
}

func widenTo[In integer](out []byte, in []In, bytes int64) {
	switch bytes {
	case 2:
		Narrow(View[int16](out), in)
	case 4:
		Narrow(View[int32](out), in)
	case 8:
		Narrow(View[int64](out), in)
	}
}

// each sets the values of rows that are not NULL. It returns the first row whose value does not fit, or -1.
func each[T any](out []T, a arrow.Array, value func(a arrow.Array, i int) (T, bool)) (row int) {
	for i := range out {
		var ok bool
		if out[i], ok = value(a, i); !ok && a.IsValid(i) {
			return i
		}
	}
	return -1
}

// floatAt returns the double nearest to a number.
func floatAt(a arrow.Array, i int) float64 {
	switch a := a.(type) {
	case *array.Float16:
		return float64(a.Value(i).Float32())
	case *array.Float32:
		return float64(a.Value(i))
	}
	_, scale, _ := predicate.FamilyOf(a.DataType())
	n := wideAt(a, i)
	return digits.Double128(n.LowBits(), uint64(n.HighBits()), int(scale))
}

// wideAt returns an integer, or a decimal in its own units.
func wideAt(a arrow.Array, i int) decimal128.Num {
	switch a := a.(type) {
	case *array.Int8:
		return decimal128.FromI64(int64(a.Value(i)))
	case *array.Int16:
		return decimal128.FromI64(int64(a.Value(i)))
	case *array.Int32:
		return decimal128.FromI64(int64(a.Value(i)))
	case *array.Int64:
		return decimal128.FromI64(a.Value(i))
	case *array.Uint8:
		return decimal128.FromU64(uint64(a.Value(i)))
	case *array.Uint16:
		return decimal128.FromU64(uint64(a.Value(i)))
	case *array.Uint32:
		return decimal128.FromU64(uint64(a.Value(i)))
	case *array.Uint64:
		return decimal128.FromU64(a.Value(i))
	case *array.Decimal32:
		return decimal128.FromI64(int64(a.Value(i)))
	case *array.Decimal64:
		return decimal128.FromI64(int64(a.Value(i)))
	case *array.Decimal128:
		return a.Value(i)
	}
	panic(fmt.Sprintf("a number of type %s", a.DataType()))
}

// Rescale returns an integer, or a point or length of time, of one type as a value of another that Common has found
// for it. ok is false where the value does not fit. Infinity is infinity in all units.
func Rescale(v int64, from, to arrow.DataType) (scaled int64, ok bool) {
	_, _, nanos := predicate.FamilyOf(from)
	_, _, unit := predicate.FamilyOf(to)
	switch {
	case nanos == unit:
		return v, true
	case from.ID() == arrow.DATE32 && to.ID() == arrow.TIMESTAMP:
		if sign := timeformat.InfinitySign(v, timeformat.InfiniteDays); sign != 0 {
			return sign * timeformat.InfiniteTime, true
		}
	case from.ID() == arrow.TIMESTAMP:
		if timeformat.InfinitySign(v, timeformat.InfiniteTime) != 0 {
			return v, true
		}
	}
	if nanos < unit {
		return digits.FloorDiv(v, unit/nanos), true
	}
	high, low := bits.Mul64(uint64(max(v, -v)), uint64(nanos/unit))
	if high != 0 || low > 1<<63-1 {
		return 0, false
	}
	if v < 0 {
		return -int64(low), true
	}
	return int64(low), true
}

// comesAs says whether values of a type may come as values of another, by S1.
func comesAs(from, to arrow.DataType) bool {
	switch from := from.(type) {
	case arrow.BinaryViewDataType, arrow.ListLikeType: // whoever reads the elements converts them
		return true
	case *arrow.Decimal64Type:
		t, ok := to.(*arrow.Decimal128Type)
		return ok && from.Precision == t.Precision && from.Scale == t.Scale
	}
	return arrow.TypeEqual(from, to)
}

// convertBytes returns strings or binaries, whose bytes stay where they are, with the offsets of another type.
func convertBytes(mem memory.Allocator, a arrow.Array, to arrow.DataType) (arrow.Array, error) {
	from, rows := a.Data(), a.Len()
	text, offset := from.Buffers()[1], func(int) int64 { return 0 }
	switch a := a.(type) {
	case interface{ ValueOffsets() []int32 }:
		text = from.Buffers()[2]
		if offsets := a.ValueOffsets(); len(offsets) > 0 {
			offset = func(i int) int64 { return int64(offsets[i]) }
		}
	case *array.FixedSizeBinary:
		width := a.DataType().(*arrow.FixedSizeBinaryType).ByteWidth
		offset = func(i int) int64 { return int64(from.Offset()+i) * int64(width) }
	default:
		return nil, fmt.Errorf("values of type %s where %s were expected", a.DataType(), to)
	}
	bytes := int(8)
	if !arrow.IsLargeBinaryLike(to.ID()) {
		if bytes = 4; offset(rows) > math.MaxInt32 {
			return nil, gather.ErrTooLarge
		}
	}
	offsets := NewBuffer(mem, bytes*(rows+1))
	defer offsets.Release()
	long, short := View[int64](offsets.Bytes()), View[int32](offsets.Bytes())
	for i := range rows + 1 {
		if bytes == 8 {
			long[i] = offset(i)
		} else {
			short[i] = int32(offset(i))
		}
	}
	validity := copyValidity(mem, a)
	if validity != nil {
		defer validity.Release()
	}
	return NewArray(to, rows, NullCount(a), validity, offsets, text), nil
}
