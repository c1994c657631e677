package nested

import (
	"fmt"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Decode returns the values of an array of Type as Arrow has them. The caller owns the array.
func Decode(mem memory.Allocator, a arrow.Array) (arrow.Array, error) {
	t, ok := a.DataType().(*Type)
	texts, isBinary := a.(*array.Binary)
	if !ok || !isBinary {
		return nil, fmt.Errorf("%s where nested values were expected", a.DataType())
	}
	b := array.NewBuilder(mem, Plain(t.Of))
	defer b.Release()
	b.Reserve(a.Len())
	read := newReader(b, t.Of)
	for row := range a.Len() {
		if a.IsNull(row) {
			b.AppendNull()
			continue
		}
		value := texts.Value(row)
		read(unsafe.String(unsafe.SliceData(value), len(value)))
	}
	return b.NewArray(), nil
}

// reader appends the value that a string is to a builder.
type reader func(s string)

func newReader(b array.Builder, dt arrow.DataType) reader {
	if named, ok := dt.(*Named); ok {
		b := b.(*array.StringBuilder)
		return func(s string) { b.Append(named.Text(TextOf(s))) }
	}
	l := LayoutOf(dt)
	switch b := b.(type) {
	case *array.StructBuilder:
		return structReader(b, dt.(*arrow.StructType), l)
	case *array.MapBuilder:
		key := newReader(b.KeyBuilder(), dt.(*arrow.MapType).KeyType())
		item := newPartReader(b.ItemBuilder(), dt.(*arrow.MapType).ItemType())
		return func(s string) {
			b.Append(true)
			for s[0] != End {
				var entry string
				entry, _, s = l.Parts[0].Part(s)
				value, _, rest := l.Parts[0].Parts[0].Part(entry)
				key(value)
				item(rest)
			}
		}
	case *array.ListBuilder:
		element := newPartReader(b.ValueBuilder(), dt.(*arrow.ListType).Elem())
		return func(s string) {
			b.Append(true)
			for s[0] != End {
				s = element(s)
			}
		}
	}
	return scalarReader(b, l)
}

// newPartReader returns what reads the part that a string begins with, and returns the rest.
func newPartReader(b array.Builder, dt arrow.DataType) func(s string) string {
	read, l := newReader(b, dt), LayoutOf(dt)
	return func(s string) string {
		value, mark, rest := l.Part(s)
		if mark == Some {
			read(value)
		} else {
			b.AppendNull()
		}
		return rest
	}
}

func structReader(b *array.StructBuilder, dt *arrow.StructType, l *Layout) reader {
	parts := make([]func(string) string, len(l.Parts))
	for i := range parts {
		parts[i] = newPartReader(b.FieldBuilder(i), dt.Field(i).Type)
	}
	return func(s string) {
		b.Append(true)
		for _, read := range parts {
			s = read(s)
		}
	}
}

func scalarReader(b array.Builder, l *Layout) reader {
	switch b := b.(type) {
	case *array.BooleanBuilder:
		return func(s string) { b.Append(s[0] != 0) }
	case *array.Int8Builder:
		return func(s string) { b.Append(int8(l.Int(s))) }
	case *array.Int16Builder:
		return func(s string) { b.Append(int16(l.Int(s))) }
	case *array.Int32Builder:
		return func(s string) { b.Append(int32(l.Int(s))) }
	case *array.Int64Builder:
		return func(s string) { b.Append(l.Int(s)) }
	case *array.Uint8Builder:
		return func(s string) { b.Append(uint8(l.Int(s))) }
	case *array.Uint16Builder:
		return func(s string) { b.Append(uint16(l.Int(s))) }
	case *array.Uint32Builder:
		return func(s string) { b.Append(uint32(l.Int(s))) }
	case *array.Uint64Builder:
		return func(s string) { b.Append(uint64(l.Int(s))) }
	case *array.Float32Builder:
		return func(s string) { b.Append(float32(l.Float(s))) }
	case *array.Float64Builder:
		return func(s string) { b.Append(l.Float(s)) }
	case *array.Decimal128Builder:
		if l.Width == 8 {
			return func(s string) { b.Append(decimal128.FromI64(l.Int(s))) }
		}
		return func(s string) { b.Append(l.Wide(s)) }
	case *array.StringBuilder:
		return func(s string) { b.Append(TextOf(s)) }
	case *array.BinaryBuilder:
		return func(s string) { b.Append([]byte(TextOf(s))) }
	case *array.Date32Builder:
		return func(s string) { b.Append(arrow.Date32(l.Int(s))) }
	case *array.Time64Builder:
		return func(s string) { b.Append(arrow.Time64(l.Int(s))) }
	case *array.TimestampBuilder:
		return func(s string) { b.Append(arrow.Timestamp(l.Int(s))) }
	case *array.MonthDayNanoIntervalBuilder:
		return intervalReader(b)
	case *array.DurationBuilder:
		return func(s string) { b.Append(arrow.Duration(l.Int(s))) }
	}
	return func(string) { b.AppendNull() }
}
