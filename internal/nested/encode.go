package nested

import (
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Writer appends the value of a row, which is not NULL, of the array that it was made for.
type Writer func(dst []byte, row int) []byte

// bytesMax bounds the strings of one array.
const bytesMax = math.MaxInt32

// Encode returns the values of an array of lists, structs or maps as strings of a type. The caller owns the array.
func Encode(mem memory.Allocator, a arrow.Array, t *Type) (arrow.Array, error) {
	write, err := NewWriter(a, LayoutOf(t.Of))
	if err != nil {
		return nil, err
	}
	b := NewBuilder(mem, t, a.Len())
	for row := range a.Len() {
		if a.IsNull(row) {
			b.AddNull()
		} else {
			b.Bytes = write(b.Bytes, row)
			b.Add()
		}
	}
	return b.Array()
}

// Builder makes an array of strings.
type Builder struct {
	Bytes []byte // of the values so far, and of the one that is written

	typ     *Type
	mem     memory.Allocator
	offsets []int32
	valid   []byte
	nulls   int
}

// NewBuilder returns a builder of an array of about rows values.
func NewBuilder(mem memory.Allocator, t *Type, rows int) *Builder {
	return &Builder{typ: t, mem: mem, offsets: append(make([]int32, 0, rows+1), 0), valid: make([]byte, 0, rows/8+1)}
}

// Add ends the value that Bytes ends with.
func (b *Builder) Add() { b.end(1) }

// AddNull adds NULL.
func (b *Builder) AddNull() {
	b.nulls++
	b.end(0)
}

func (b *Builder) end(valid byte) {
	row := len(b.offsets) - 1
	if row%8 == 0 {
		b.valid = append(b.valid, 0)
	}
	b.valid[row/8] |= valid << (row % 8)
	b.offsets = append(b.offsets, int32(len(b.Bytes)))
}

// Array returns the array, which the caller owns, and empties the builder.
func (b *Builder) Array() (arrow.Array, error) {
	rows := len(b.offsets) - 1
	if len(b.Bytes) > bytesMax {
		return nil, fmt.Errorf("%d rows of %s take %d B, where a batch may have %d B", rows, b.typ.Of, len(b.Bytes), bytesMax)
	}
	var buffers [3]*memory.Buffer
	for i, from := range [][]byte{b.valid, arrow.Int32Traits.CastToBytes(b.offsets), b.Bytes} {
		if i == 0 && b.nulls == 0 {
			continue
		}
		buffers[i] = memory.NewResizableBuffer(b.mem)
		buffers[i].Resize(len(from))
		copy(buffers[i].Bytes(), from)
		defer buffers[i].Release()
	}
	data := array.NewData(b.typ, rows, buffers[:], nil, b.nulls, 0)
	defer data.Release()
	b.Bytes, b.offsets, b.valid, b.nulls = b.Bytes[:0], b.offsets[:1], b.valid[:0], 0
	return array.NewBinaryData(data), nil
}

// NewWriter returns what writes the values of an array by a layout of its type.
func NewWriter(a arrow.Array, l *Layout) (Writer, error) {
	switch a := a.(type) {
	case *array.Struct:
		return structWriter(a, l)
	case array.ListLike:
		return listWriter(a, l)
	case array.ExtensionArray:
		return NewWriter(a.Storage(), l)
	case *array.Dictionary:
		entries, err := NewWriter(a.Dictionary(), l)
		return func(dst []byte, row int) []byte { return entries(dst, a.GetValueIndex(row)) }, err
	case *array.Null:
		return func(dst []byte, _ int) []byte { return dst }, nil
	}
	if l.Form == List || l.Form == Struct || l.Width == intervalBytes { // strings of bytes already
		if texts, ok := a.(*array.Binary); ok {
			return func(dst []byte, row int) []byte { return append(dst, texts.Value(row)...) }, nil
		}
	}
	if w := scalarWriter(a, l); w != nil {
		return w, nil
	}
	return nil, fmt.Errorf("type %s within nested values is not supported", a.DataType())
}

// partWriter writes the mark and the value of a part.
func partWriter(a arrow.Array, l *Layout) (Writer, error) {
	write, err := NewWriter(a, l)
	dictionary, coded := a.(*array.Dictionary)
	isNone := l.Width == 0 && l.Form == Fixed // of Arrow's type null
	return func(dst []byte, row int) []byte {
		if isNone || a.IsNull(row) || coded && dictionary.Dictionary().IsNull(dictionary.GetValueIndex(row)) {
			return append(dst, None)
		}
		return write(append(dst, Some), row)
	}, err
}

func structWriter(a *array.Struct, l *Layout) (Writer, error) {
	parts := make([]Writer, a.NumField())
	if len(parts) != len(l.Parts) {
		return nil, fmt.Errorf("a struct of %d fields where %d were expected", len(parts), len(l.Parts))
	}
	for i := range parts {
		var err error
		if parts[i], err = partWriter(a.Field(i), l.Parts[i]); err != nil {
			return nil, err
		}
	}
	return func(dst []byte, row int) []byte {
		for _, write := range parts {
			dst = write(dst, row)
		}
		return dst
	}, nil
}

func listWriter(a array.ListLike, l *Layout) (Writer, error) {
	if l.Form != List {
		return nil, fmt.Errorf("a list where none was expected")
	}
	values := a.ListValues()
	write, err := partWriter(values, l.Parts[0])
	if err != nil {
		return nil, err
	}
	if offsets, ok := a.(interface{ Offsets() []int32 }); ok && values.NullN() == 0 {
		from := a.Data().Offset()
		switch values := values.(type) {
		case *array.Int64:
			return numbersWriter(offsets.Offsets()[from:], values.Int64Values()), nil
		case *array.Int32:
			return numbersWriter(offsets.Offsets()[from:], values.Int32Values()), nil
		}
	}
	return func(dst []byte, row int) []byte {
		from, to := a.ValueOffsets(row)
		for i := from; i < to; i++ {
			dst = write(dst, int(i))
		}
		return append(dst, End)
	}, nil
}

// numbersWriter is listWriter of whole numbers, none of which is NULL.
func numbersWriter[T int32 | int64](offsets []int32, values []T) Writer {
	return func(dst []byte, row int) []byte {
		for _, v := range values[offsets[row]:offsets[row+1]] {
			dst = AppendNumber(append(dst, Some), int64(v))
		}
		return append(dst, End)
	}
}

// scalarWriter returns what writes the values of an array that is not nested; nil of types that queries do not know.
func scalarWriter(a arrow.Array, l *Layout) Writer {
	switch a := a.(type) {
	case *array.Boolean:
		return func(dst []byte, row int) []byte {
			if a.Value(row) {
				return append(dst, 1)
			}
			return append(dst, 0)
		}
	case *array.Int8:
		return ints(l, a.Int8Values())
	case *array.Int16:
		return ints(l, a.Int16Values())
	case *array.Int32:
		return ints(l, a.Int32Values())
	case *array.Int64:
		return ints(l, a.Int64Values())
	case *array.Uint8:
		return ints(l, a.Uint8Values())
	case *array.Uint16:
		return ints(l, a.Uint16Values())
	case *array.Uint32:
		return ints(l, a.Uint32Values())
	case *array.Uint64:
		return func(dst []byte, row int) []byte { return appendUnsigned(dst, a.Value(row)) }
	case *array.Float16:
		return func(dst []byte, row int) []byte { return l.AppendFloat(dst, float64(a.Value(row).Float32())) }
	case *array.Float32:
		return func(dst []byte, row int) []byte { return l.AppendFloat(dst, float64(a.Value(row))) }
	case *array.Float64:
		return func(dst []byte, row int) []byte { return l.AppendFloat(dst, a.Value(row)) }
	case *array.Decimal32:
		return wides(l, func(row int) decimal128.Num { return decimal128.FromI64(int64(a.Value(row))) })
	case *array.Decimal64:
		return wides(l, func(row int) decimal128.Num { return decimal128.FromI64(int64(a.Value(row))) })
	case *array.Decimal128:
		return wides(l, a.Value)
	case interface{ Value(int) string }:
		return func(dst []byte, row int) []byte { return AppendText(dst, a.Value(row)) }
	case interface{ Value(int) []byte }:
		return func(dst []byte, row int) []byte { return AppendText(dst, string(a.Value(row))) }
	}
	return timeWriter(a, l)
}

func timeWriter(a arrow.Array, l *Layout) Writer {
	switch a := a.(type) {
	case *array.Date32:
		return ints(l, a.Date32Values())
	case *array.Date64:
		return scaled(l, a.Date64Values(), 1, 86_400_000)
	case *array.Time32:
		return scaled(l, a.Time32Values(), int64(a.DataType().(*arrow.Time32Type).Unit.Multiplier())/1000, 1)
	case *array.Time64:
		return ints(l, a.Time64Values())
	case *array.Timestamp:
		t := a.DataType().(*arrow.TimestampType)
		if t.Unit == arrow.Nanosecond && t.TimeZone == "" {
			return ints(l, a.TimestampValues())
		}
		return inMicroseconds(l, a.TimestampValues(), t.Unit)
	case *array.MonthDayNanoInterval:
		return intervalWriter(a)
	case *array.Duration:
		return inMicroseconds(l, a.DurationValues(), a.DataType().(*arrow.DurationType).Unit)
	}
	return nil
}

func ints[T interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64
}](l *Layout, values []T) Writer {
	return func(dst []byte, row int) []byte { return l.AppendInt(dst, int64(values[row])) }
}

func inMicroseconds[T ~int64](l *Layout, values []T, unit arrow.TimeUnit) Writer {
	nanos := int64(unit.Multiplier())
	return scaled(l, values, max(nanos/1000, 1), max(1000/nanos, 1))
}

// scaled writes values times a factor, or divided by a divisor and rounded down. Times beyond what fits are the ends.
func scaled[T ~int32 | ~int64](l *Layout, values []T, factor, divisor int64) Writer {
	return func(dst []byte, row int) []byte {
		v := min(max(int64(values[row]), math.MinInt64/factor), math.MaxInt64/factor) * factor
		whole := v / divisor
		if v%divisor < 0 {
			whole--
		}
		return l.AppendInt(dst, whole)
	}
}

func wides(l *Layout, value func(row int) decimal128.Num) Writer {
	if l.Width == 8 {
		return func(dst []byte, row int) []byte { return l.AppendInt(dst, int64(value(row).LowBits())) }
	}
	return func(dst []byte, row int) []byte { return l.AppendWide(dst, value(row)) }
}
