package delivery

import (
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
)

// Type is the type whose values a column of the given type brings: a dictionary's value
// type, an extension's storage type, strings of UUIDs, any other itself. S1.
func Type(t arrow.DataType) arrow.DataType {
	switch t := t.(type) {
	case *arrow.DictionaryType:
		return Type(t.ValueType)
	case arrow.ExtensionType:
		if t.ExtensionName() == uuidName {
			return arrow.BinaryTypes.String
		}
		return Type(t.StorageType())
	}
	return t
}

// CheckTypes refuses types that only a corrupt schema has, whose values cannot be shown. S3.
func CheckTypes(s *arrow.Schema) error {
	if s.NumFields() == 0 {
		return errors.New("the file has no columns")
	}
	for _, f := range s.Fields() {
		switch t := f.Type.(type) {
		case arrow.DecimalType:
			digits := DecimalDigits[t.ID()]
			if p, scale := t.GetPrecision(), t.GetScale(); p < 1 || p > digits || scale > p || scale < -digits {
				return fmt.Errorf("column %q: a %d-bit decimal of %d digits with a scale of %d", f.Name, t.BitWidth(), p, scale)
			}
		case *arrow.FixedSizeBinaryType:
			if t.ByteWidth < 0 {
				return fmt.Errorf("column %q: a binary of %d B", f.Name, t.ByteWidth)
			}
		}
	}
	return nil
}

// DecimalDigits is how many digits a decimal of each width surely holds.
var DecimalDigits = map[arrow.Type]int32{arrow.DECIMAL32: 9, arrow.DECIMAL64: 18,
	arrow.DECIMAL128: 38, arrow.DECIMAL256: 76}

// ViewType is the type of views of a type's values.
func ViewType(typ arrow.DataType) arrow.DataType {
	if typ.ID() == arrow.STRING || typ.ID() == arrow.LARGE_STRING {
		return arrow.BinaryTypes.StringView
	}
	return arrow.BinaryTypes.BinaryView
}

// MayHaveCodes says whether the values of a type may come as codes. S1.
func MayHaveCodes(id arrow.Type) bool {
	return arrow.IsBaseBinary(id) || MayHaveNumberCodes(id)
}

// MayHaveNumberCodes says whether values of a type, of a fixed width in bytes, may come as codes.
func MayHaveNumberCodes(id arrow.Type) bool {
	return arrow.IsPrimitive(id) && id != arrow.BOOL || arrow.IsDecimal(id) || id == arrow.FIXED_SIZE_BINARY
}

// DictionaryOf is the only type of dictionary that leaves this package. S1.
func DictionaryOf(values arrow.DataType) *arrow.DictionaryType {
	return &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: values}
}

// BatchBytesMax bounds a batch. Arrow's utf8 counts the bytes of a column in 31 bits.
const BatchBytesMax = 64 << 20
