package fields

import (
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"github.com/mpga/mpga/engine/scan/internal/reserve"
	"github.com/mpga/mpga/internal/nested"
)

// NestedReader reads the nested values of a column. One goroutine at a time uses it.
type NestedReader interface {
	// Append appends the value that begins at a place of a text, as package nested writes it, or returns false where
	// the value is not of the type. Wherever to has no room for what follows, more returns it with room for that many
	// more bytes.
	Append(to, text []byte, at int, more func(to []byte, bytes int) []byte) ([]byte, bool)
}

// nestedValues are the nested values of a batch.
type nestedValues struct {
	text[int32]
	read NestedReader
}

func newNestedValues(t *nested.Type, format *Format, opt *Options) *nestedValues {
	return &nestedValues{read: opt.Nested(t, format)}
}

func (v *nestedValues) add(c *Column) int {
	v.addedRow, v.addedAt = c.rows, v.at
	starts := arrow.GetData[int32](v.offsets.Bytes())[c.rows:]
	for i, s := range c.fields {
		starts[i] = int32(v.at)
		if c.isNull(i) {
			continue
		}
		if s.IsQuoted() {
			return i
		}
		value, ok := v.read.Append(v.bytes.Bytes()[:v.at:v.bytes.Len()], c.text, int(s.Start), v.grow)
		if !ok {
			return i
		}
		if len(value) > math.MaxInt32 {
			panic(fmt.Errorf("the nested values of a batch take more than %d B", math.MaxInt32))
		}
		v.at = len(value)
	}
	return -1
}

// grow returns the values so far, with room for more bytes.
func (v *nestedValues) grow(to []byte, more int) []byte {
	step := v.bytes.Len()
	if step > reserve.LargeBytes { // copying costs less than not having the memory
		step /= 4
	}
	v.bytes.Resize(max(len(to)+more, v.bytes.Len()+step, 1<<10))
	return v.bytes.Bytes()[:len(to):v.bytes.Len()]
}

// PartBytes is the most that a part of a nested value takes beyond the bytes of its text.
const PartBytes = 18

// Part returns what appends a field to a nested value, as a part of a type that CanBe, or false where the field is no
// value of the type.
func Part(typ arrow.DataType, format *Format) func(to, field []byte) ([]byte, bool) {
	l := nested.LayoutOf(typ)
	switch t := typ.(type) {
	case *arrow.BooleanType:
		return partOf(parseBool, func(to []byte, v bool) []byte {
			if v {
				return append(to, 1)
			}
			return append(to, 0)
		})
	case *arrow.Float32Type:
		write := func(to []byte, v float32) []byte { return l.AppendFloat(to, float64(v)) }
		return partOf(localized(format, parseSingle), write)
	case *arrow.Float64Type:
		return partOf(localized(format, func(b []byte) (float64, bool) {
			f, ok := ParseFloat(b)
			return f, ok && (!format.Inferred || KeepsDigits(f, b))
		}), l.AppendFloat)
	case *arrow.Decimal128Type:
		return partOf(readDecimal(t, format), func(to []byte, v decimal128.Num) []byte {
			if l.Width == 8 {
				return l.AppendInt(to, int64(v.LowBits()))
			}
			return l.AppendWide(to, v)
		})
	case *arrow.StringType:
		return func(to, field []byte) ([]byte, bool) {
			return nested.AppendText(to, string(field)), utf8.Valid(field)
		}
	case *arrow.BinaryType:
		return func(to, field []byte) ([]byte, bool) { return nested.AppendText(to, string(field)), true }
	}
	if typ.ID() == arrow.UINT64 {
		return partOf(localized(format, parseUnsigned[uint64]), func(to []byte, v uint64) []byte {
			return l.AppendWide(to, decimal128.FromU64(v))
		})
	}
	if read := wordOf(typ, format, l.Width); read != nil {
		return partOf(read, l.AppendInt)
	}
	return nil
}

// partOf makes a part of what parses a field and what writes its value.
func partOf[T any](
	parse func(trimmed []byte) (T, bool), write func(to []byte, v T) []byte,
) func(to, field []byte) ([]byte, bool) {
	return func(to, field []byte) ([]byte, bool) {
		v, ok := parse(Trim(field))
		if !ok {
			return to, false
		}
		return write(to, v), true
	}
}

// wordOf returns what reads a whole number of a width in bytes, a date or a time; nil of other types.
func wordOf(typ arrow.DataType, format *Format, width int) func(trimmed []byte) (int64, bool) {
	switch t := typ.(type) {
	case *arrow.Date32Type:
		return func(b []byte) (int64, bool) {
			days, ok := format.readDate(b)
			return int64(days), ok
		}
	case *arrow.TimestampType:
		return readTimestamp(t, format)
	case *arrow.Time64Type:
		return readTimeOfDay(t)
	}
	if !arrow.IsInteger(typ.ID()) {
		return nil
	}
	most := int64(math.MaxInt64) >> (64 - 8*width)
	least := -most - 1
	if !arrow.IsSignedInteger(typ.ID()) { // of 32 bits at most
		least, most = 0, 2*most+1
	}
	return localized(format, func(b []byte) (int64, bool) {
		n, ok := ParseInt(b)
		return n, ok && n >= least && n <= most
	})
}
