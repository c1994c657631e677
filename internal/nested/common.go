package nested

import (
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Common returns the type that has the values of two types of Canonical: the fields of both, by their names, and the
// wider of two whole numbers and of two floats. It is nil where there is none.
func Common(a, b arrow.DataType) arrow.DataType {
	switch {
	case arrow.TypeEqual(a, b), b.ID() == arrow.NULL:
		return a
	case a.ID() == arrow.NULL:
		return b
	case a.ID() != b.ID():
		return wider(a, b)
	}
	switch a := a.(type) {
	case *arrow.MapType:
		other := b.(*arrow.MapType)
		key, item := Common(a.KeyType(), other.KeyType()), Common(a.ItemType(), other.ItemType())
		if key != nil && item != nil {
			return arrow.MapOf(key, item)
		}
	case *arrow.ListType:
		if element := Common(a.Elem(), b.(*arrow.ListType).Elem()); element != nil {
			return arrow.ListOf(element)
		}
	case *arrow.StructType:
		return commonStruct(a, b.(*arrow.StructType))
	}
	return nil
}

func commonStruct(a, b *arrow.StructType) arrow.DataType {
	fields := append([]arrow.Field(nil), a.Fields()...)
	for _, f := range b.Fields() {
		at := place(a, f.Name)
		if at < 0 {
			fields = append(fields, f)
		} else if fields[at].Type = Common(fields[at].Type, f.Type); fields[at].Type == nil {
			return nil
		}
	}
	return arrow.StructOf(fields...)
}

// place returns the index of a field, in any case, or -1.
func place(t *arrow.StructType, name string) int {
	for i, f := range t.Fields() {
		if strings.EqualFold(f.Name, name) {
			return i
		}
	}
	return -1
}

// wider returns the type of all whole numbers, or floats, of two types; nil of others.
func wider(a, b arrow.DataType) arrow.DataType {
	bytes := func(t arrow.DataType) int { return t.(arrow.FixedWidthDataType).Bytes() }
	switch {
	case arrow.IsInteger(a.ID()) && arrow.IsInteger(b.ID()):
		wide, narrow := a, b
		if bytes(b) > bytes(a) {
			wide, narrow = b, a
		}
		same := arrow.IsSignedInteger(wide.ID()) == arrow.IsSignedInteger(narrow.ID())
		if same || arrow.IsSignedInteger(wide.ID()) && bytes(wide) > bytes(narrow) {
			return wide
		}
	case arrow.IsFloating(a.ID()) && arrow.IsFloating(b.ID()):
		return arrow.PrimitiveTypes.Float64
	}
	return nil
}

// Convert returns an array of Type with values of another type, which Common has found for its type. The caller owns
// it.
func Convert(mem memory.Allocator, a arrow.Array, to *Type) (arrow.Array, error) {
	from, ok := a.DataType().(*Type)
	texts, isBinary := a.(*array.Binary)
	if !ok || !isBinary {
		return nil, fmt.Errorf("%s where %s was expected", a.DataType(), to.Of)
	}
	convert := converter(from.Of, to.Of)
	b := NewBuilder(mem, to, a.Len())
	for row := range a.Len() {
		if a.IsNull(row) {
			b.AddNull()
			continue
		}
		b.Bytes = convert(b.Bytes, texts.ValueString(row))
		b.Add()
	}
	return b.Array()
}

// converter returns what writes a value of a type as one of another.
func converter(from, to arrow.DataType) func(dst []byte, s string) []byte {
	l, into := LayoutOf(from), LayoutOf(to)
	switch from := from.(type) {
	case *arrow.StructType:
		return structConverter(from, to.(*arrow.StructType), l)
	case *arrow.MapType:
		part := partConverter(from.Elem(), to.(*arrow.MapType).Elem(), l.Parts[0])
		return listConverter(part)
	case *arrow.ListType:
		return listConverter(partConverter(from.Elem(), to.(*arrow.ListType).Elem(), l.Parts[0]))
	}
	switch {
	case l.Form == Float:
		return func(dst []byte, s string) []byte { return into.AppendFloat(dst, l.Float(s)) }
	case l.Form == Fixed && l.Width == 1 && into.Width > 1:
		return func(dst []byte, s string) []byte { return into.AppendInt(dst, l.Int(s)) }
	}
	return func(dst []byte, s string) []byte { return append(dst, s...) }
}

func partConverter(from, to arrow.DataType, l *Layout) func(dst []byte, s string) ([]byte, string) {
	convert := converter(from, to)
	return func(dst []byte, s string) ([]byte, string) {
		value, mark, rest := l.Part(s)
		if dst = append(dst, mark); mark == Some {
			dst = convert(dst, value)
		}
		return dst, rest
	}
}

func listConverter(part func(dst []byte, s string) ([]byte, string)) func(dst []byte, s string) []byte {
	return func(dst []byte, s string) []byte {
		for s[0] != End {
			dst, s = part(dst, s)
		}
		return append(dst, End)
	}
}

func structConverter(from, to *arrow.StructType, l *Layout) func(dst []byte, s string) []byte {
	places := make([]int, to.NumFields())
	parts := make([]func([]byte, string) []byte, to.NumFields())
	for i, f := range to.Fields() {
		if places[i] = place(from, f.Name); places[i] >= 0 {
			parts[i] = converter(from.Field(places[i]).Type, f.Type)
		}
	}
	return func(dst []byte, s string) []byte {
		for i, at := range places {
			value, ok := "", false
			if at >= 0 {
				value, ok = l.Field(s, at)
			}
			if !ok {
				dst = append(dst, None)
			} else {
				dst = parts[i](append(dst, Some), value)
			}
		}
		return dst
	}
}
