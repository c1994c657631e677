package scan

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// converter turns the fields of one column into an array.
type converter interface {
	// convert returns the array, or the index of the first field that has no value of the type.
	convert(in *textColumn) (a arrow.Array, bad int)
}

// textColumn is the fields of one column of a batch.
type textColumn struct {
	buf     []byte
	spans   []span
	quote   byte
	nulls   []string
	mem     memory.Allocator
	scratch []byte

	validity *memory.Buffer // nil while no field is NULL
	nullN    int
}

// field returns the i-th field, which is valid until the next call.
func (t *textColumn) field(i int) []byte { return t.spans[i].bytes(t.buf, t.quote, &t.scratch) }

// isNull says whether the i-th field is NULL, and notes it if so.
func (t *textColumn) isNull(i int) bool {
	s := t.spans[i]
	if s.quoted() {
		return false
	}
	field := t.buf[s.start:s.end]
	for _, null := range t.nulls {
		if string(field) == null {
			t.setNull(i)
			return true
		}
	}
	return false
}

func (t *textColumn) setNull(i int) {
	if t.validity == nil {
		t.validity = memory.NewResizableBuffer(t.mem)
		t.validity.Resize(int(bitutil.BytesForBits(int64(len(t.spans)))))
		fill(t.validity.Bytes(), 0xFF)
	}
	bitutil.ClearBit(t.validity.Bytes(), i)
	t.nullN++
}

// finish makes an array of the buffers that follow the validity, and gives up its hold on all.
func (t *textColumn) finish(typ arrow.DataType, buffers ...*memory.Buffer) arrow.Array {
	data := array.NewData(typ, len(t.spans), append([]*memory.Buffer{t.validity}, buffers...), nil, t.nullN, 0)
	defer data.Release()
	t.release(buffers...)
	return array.MakeFromData(data)
}

func (t *textColumn) release(buffers ...*memory.Buffer) {
	for _, b := range append(buffers, t.validity) {
		if b != nil {
			b.Release()
		}
	}
	t.validity = nil
}

// newConverter returns the converter to a type, or nil if text cannot be read as that.
func newConverter(typ arrow.DataType) converter {
	if typ == nil {
		return nil
	}
	switch t := typ.(type) {
	case *arrow.Int8Type:
		return signed[int8](typ, math.MinInt8, math.MaxInt8)
	case *arrow.Int16Type:
		return signed[int16](typ, math.MinInt16, math.MaxInt16)
	case *arrow.Int32Type:
		return signed[int32](typ, math.MinInt32, math.MaxInt32)
	case *arrow.Int64Type:
		return fixed[int64]{typ, func(b []byte) (int64, bool) { return parseInt(trim(b)) }}
	case *arrow.Uint8Type:
		return unsigned[uint8](typ, math.MaxUint8)
	case *arrow.Uint16Type:
		return unsigned[uint16](typ, math.MaxUint16)
	case *arrow.Uint32Type:
		return unsigned[uint32](typ, math.MaxUint32)
	case *arrow.Uint64Type:
		return unsigned[uint64](typ, math.MaxUint64)
	case *arrow.Float32Type:
		return fixed[float32]{typ, func(b []byte) (float32, bool) {
			f, ok := parseFloat(trim(b))
			return float32(f), ok
		}}
	case *arrow.Float64Type:
		return fixed[float64]{typ, func(b []byte) (float64, bool) { return parseFloat(trim(b)) }}
	case *arrow.BooleanType:
		return booleans{}
	case *arrow.Date32Type:
		return fixed[int32]{typ, func(b []byte) (int32, bool) { return parseDate(trim(b)) }}
	case *arrow.Date64Type:
		return fixed[int64]{typ, func(b []byte) (int64, bool) {
			days, ok := parseDate(trim(b))
			return int64(days) * 86_400_000, ok
		}}
	case *arrow.TimestampType:
		return fixed[int64]{typ, timestampParser(t)}
	case *arrow.Time32Type:
		return fixed[int32]{typ, timeParser[int32](t.Unit)}
	case *arrow.Time64Type:
		return fixed[int64]{typ, timeParser[int64](t.Unit)}
	case *arrow.Decimal128Type:
		return fixed[decimal128.Num]{typ, func(b []byte) (decimal128.Num, bool) { return parseDecimal(trim(b), t.Precision, t.Scale) }}
	case *arrow.StringType, *arrow.BinaryType:
		return text[int32]{typ}
	case *arrow.LargeStringType, *arrow.LargeBinaryType:
		return text[int64]{typ}
	}
	return nil
}

func signed[T int8 | int16 | int32](typ arrow.DataType, low, high int64) converter {
	return fixed[T]{typ, func(b []byte) (T, bool) {
		n, ok := parseInt(trim(b))
		return T(n), ok && n >= low && n <= high
	}}
}

func unsigned[T uint8 | uint16 | uint32 | uint64](typ arrow.DataType, high uint64) converter {
	return fixed[T]{typ, func(b []byte) (T, bool) {
		n, ok := parseUint(trim(b))
		return T(n), ok && n <= high
	}}
}

func timestampParser(t *arrow.TimestampType) func([]byte) (int64, bool) {
	unit := int64(t.Unit.Multiplier())
	zoned := t.TimeZone != ""
	return func(b []byte) (int64, bool) {
		at, ok := parseTimestamp(trim(b))
		if !ok || at.zoned && !zoned {
			return 0, false
		}
		return at.in(unit)
	}
}

func timeParser[T int32 | int64](u arrow.TimeUnit) func([]byte) (T, bool) {
	unit := int64(u.Multiplier())
	return func(b []byte) (T, bool) {
		nanos, rest, ok := parseTimeOfDay(trim(b))
		return T(nanos / unit), ok && len(rest) == 0 && nanos%unit == 0
	}
}

// parseDecimal reads an optional sign, digits and an optional fraction of at most scale digits.
func parseDecimal(b []byte, precision, scale int32) (n decimal128.Num, ok bool) {
	negative := len(b) > 0 && b[0] == '-'
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		b = b[1:]
	}
	ten := decimal128.FromU64(10)
	digits, significant, fraction := 0, int32(0), int32(-1)
	for _, c := range b {
		if c == '.' && fraction < 0 {
			fraction = 0
			continue
		}
		if c -= '0'; c > 9 {
			return n, false
		}
		digits++
		if fraction >= 0 {
			fraction++
		}
		if significant > 0 || c > 0 {
			significant++
		}
		if significant > precision {
			return n, false
		}
		n = n.Mul(ten).Add(decimal128.FromU64(uint64(c)))
	}
	fraction = max(fraction, 0)
	if digits == 0 || fraction > scale || significant+scale-fraction > precision {
		return n, false
	}
	n = n.IncreaseScaleBy(scale - fraction)
	if negative {
		n = n.Negate()
	}
	return n, true
}

// fixed converts to a type of fixed width.
type fixed[T arrow.FixedWidthType] struct {
	typ   arrow.DataType
	parse func([]byte) (T, bool)
}

func (f fixed[T]) convert(in *textColumn) (arrow.Array, int) {
	out := memory.NewResizableBuffer(in.mem)
	out.Resize(f.typ.(arrow.FixedWidthDataType).Bytes() * len(in.spans))
	values := arrow.GetData[T](out.Bytes())
	var zero T
	for i := range in.spans {
		if in.isNull(i) {
			values[i] = zero
			continue
		}
		v, ok := f.parse(in.field(i))
		if !ok {
			in.release(out)
			return nil, i
		}
		values[i] = v
	}
	return in.finish(f.typ, out), 0
}

// booleans converts to bits.
type booleans struct{}

func (booleans) convert(in *textColumn) (arrow.Array, int) {
	out := memory.NewResizableBuffer(in.mem)
	out.Resize(int(bitutil.BytesForBits(int64(len(in.spans)))))
	clear(out.Bytes())
	for i := range in.spans {
		if in.isNull(i) {
			continue
		}
		v, ok := parseBool(trim(in.field(i)))
		if !ok {
			in.release(out)
			return nil, i
		}
		if v {
			bitutil.SetBit(out.Bytes(), i)
		}
	}
	return in.finish(arrow.FixedWidthTypes.Boolean, out), 0
}

// text copies fields; O is the type of offsets.
type text[O int32 | int64] struct{ typ arrow.DataType }

func (t text[O]) convert(in *textColumn) (arrow.Array, int) {
	size := 0
	for _, s := range in.spans {
		size += int(s.end&spanEndMask - s.start)
	}
	offsets, out := memory.NewResizableBuffer(in.mem), memory.NewResizableBuffer(in.mem)
	offsets.Resize((len(in.spans) + 1) * int(unsafe.Sizeof(O(0))))
	out.Resize(size)
	starts, bytes := arrow.GetData[O](offsets.Bytes()), out.Bytes()
	at := 0
	for i := range in.spans {
		starts[i] = O(at)
		if !in.isNull(i) {
			at += copy(bytes[at:], in.field(i))
		}
	}
	starts[len(in.spans)] = O(at)
	out.ResizeNoShrink(at)
	return in.finish(t.typ, offsets, out), 0
}

// typeKnob ends the error about a value that has no place in its column.
const typeKnob = "set the column's type (--type, CSV.Types), or what stands for NULL (--null, CSV.NullStrings)"

// valueError says which value does not suit which column.
func valueError(column string, typ arrow.DataType, field []byte) error {
	const shown = 40
	dots := ""
	if len(field) > shown {
		field, dots = field[:shown], "..."
	}
	return fmt.Errorf("column %q: %q%s is not a %s; %s", column, field, dots, typ, typeKnob)
}
