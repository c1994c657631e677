package delivery

import (
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/internal/wellformed"
)

// InvalidText returns the index of the first value of an array that is a string and not UTF-8, or
// -1. Values of other types may be any bytes. Entries of a dictionary that no row has do not count.
// Requires: offsets, views and codes are within their bounds.
func InvalidText(a arrow.Array) int {
	switch a := a.(type) {
	case *array.String:
		return invalidString(a, a.ValueOffsets())
	case *array.LargeString:
		return invalidString(a, a.ValueOffsets())
	case *array.StringView:
		return invalidValue(a, a.Value)
	case *array.Dictionary:
		entries, ok := a.Dictionary().(array.StringLike)
		if !ok || InvalidText(entries) < 0 {
			return -1
		}
		return invalidValue(a, func(i int) string { return entries.Value(a.GetValueIndex(i)) })
	}
	return -1
}

// invalidString is InvalidText of strings that lie behind each other: each is UTF-8 where all are
// together, and no string begins within a character.
func invalidString[O int32 | int64](a array.StringLike, offsets []O) int {
	text := a.Data().Buffers()[2]
	if a.Len() == 0 || text == nil {
		return -1
	}
	from, end := offsets[0], offsets[a.Len()]
	all := text.Bytes()[from:end]
	if wellformed.NonASCII(all) == 0 {
		return -1
	}
	whole := wellformed.UTF8(all)
	for i := 0; whole && i < a.Len(); i++ {
		start := offsets[i]
		whole = start == end || utf8.RuneStart(all[start-from])
	}
	if whole {
		return -1
	}
	return invalidValue(a, a.Value)
}

// invalidValue looks at one value after the other.
func invalidValue(a arrow.Array, value func(i int) string) int {
	for i := range a.Len() {
		if !a.IsNull(i) && !utf8.ValidString(value(i)) {
			return i
		}
	}
	return -1
}

// AsBytes returns an array of strings, or of a dictionary of strings, as one of binaries, and any
// other array as it is. The caller owns the array.
func AsBytes(a arrow.Array) arrow.Array {
	of := a.Data().DataType()
	typ := bytesType(of)
	if typ == of {
		a.Retain()
		return a
	}
	data := asBytes(a.Data(), typ)
	defer data.Release()
	return array.MakeFromData(data)
}

func asBytes(from arrow.ArrayData, typ arrow.DataType) *array.Data {
	data := array.NewData(typ, from.Len(), from.Buffers(), nil, from.NullN(), from.Offset())
	if of, ok := typ.(*arrow.DictionaryType); ok {
		entries := asBytes(from.Dictionary(), of.ValueType)
		defer entries.Release()
		data.SetDictionary(entries)
	}
	return data
}

// bytesType returns the type of the bytes of strings, or of a dictionary of strings, and any other
// type as it is.
func bytesType(typ arrow.DataType) arrow.DataType {
	switch of := typ.(type) {
	case *arrow.StringType:
		return arrow.BinaryTypes.Binary
	case *arrow.LargeStringType:
		return arrow.BinaryTypes.LargeBinary
	case *arrow.StringViewType:
		return arrow.BinaryTypes.BinaryView
	case *arrow.DictionaryType:
		if values := bytesType(of.ValueType); values != of.ValueType {
			return &arrow.DictionaryType{IndexType: of.IndexType, ValueType: values, Ordered: of.Ordered}
		}
	}
	return typ
}
