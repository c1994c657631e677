package nested

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
)

// Type is the Arrow type of a column of values that are strings of bytes. It is a type of binaries to whatever
// looks at its ID and its layout.
type Type struct {
	arrow.BinaryType

	Of arrow.DataType // of the values, as Canonical returns it
}

// NewType returns the type of a column of values of a nested type.
func NewType(of arrow.DataType) *Type { return &Type{Of: Canonical(of)} }

// String returns the type of the values as Arrow writes it.
func (t *Type) String() string { return t.Of.String() }

// Fingerprint tells types apart.
func (t *Type) Fingerprint() string { return "nested<" + t.Of.Fingerprint() + ">" }

// IsTuple says whether a type is that of structs whose fields have no names.
func IsTuple(t *arrow.StructType) bool {
	isNamed := func(f arrow.Field) bool { return f.Name != "" }
	return t.NumFields() > 0 && !slices.ContainsFunc(t.Fields(), isNamed)
}

// Of returns the type of the values of a column, whether they are strings of bytes or as Arrow has them; of is nil
// of columns that are not nested.
func Of(dt arrow.DataType) (of arrow.DataType) {
	if t, ok := dt.(*Type); ok {
		return t.Of
	}
	if _, isNamed := dt.(*Named); isNamed || arrow.IsNested(dt.ID()) || dt.ID() == arrow.INTERVAL_MONTH_DAY_NANO {
		return Canonical(dt)
	}
	return nil
}

// Canonical returns the type that results have where values are of a type: one type of strings, of binaries, of
// lists and of times of a day, and nothing but types that queries know. It is nil where a part has no such type.
func Canonical(dt arrow.DataType) arrow.DataType {
	switch dt := dt.(type) {
	case *Type:
		return dt.Of
	case *arrow.DictionaryType:
		return Canonical(dt.ValueType)
	case *Named:
		return dt
	case arrow.ExtensionType:
		return Canonical(dt.StorageType())
	case *arrow.MapType:
		key, item := Canonical(dt.KeyType()), Canonical(dt.ItemType())
		if key == nil || item == nil {
			return nil
		}
		return arrow.MapOf(key, item)
	case arrow.ListLikeType:
		if element := Canonical(dt.Elem()); element != nil {
			return arrow.ListOf(element)
		}
		return nil
	case *arrow.StructType:
		return canonicalStruct(dt)
	case arrow.DecimalType:
		if dt.GetPrecision() > 38 || dt.GetScale() < 0 || dt.GetScale() > dt.GetPrecision() {
			return nil
		}
		return &arrow.Decimal128Type{Precision: dt.GetPrecision(), Scale: dt.GetScale()}
	case *arrow.TimestampType:
		switch {
		case dt.TimeZone != "":
			return arrow.FixedWidthTypes.Timestamp_us
		case dt.Unit == arrow.Nanosecond:
			return &arrow.TimestampType{Unit: arrow.Nanosecond}
		}
		return &arrow.TimestampType{Unit: arrow.Microsecond}
	case *arrow.Time64Type:
		return dt
	}
	return scalars[dt.ID()]
}

// scalars are the types without parameters, as results have them.
var scalars = map[arrow.Type]arrow.DataType{
	arrow.NULL: arrow.Null, arrow.BOOL: arrow.FixedWidthTypes.Boolean,
	arrow.INT8: arrow.PrimitiveTypes.Int8, arrow.INT16: arrow.PrimitiveTypes.Int16,
	arrow.INT32: arrow.PrimitiveTypes.Int32, arrow.INT64: arrow.PrimitiveTypes.Int64,
	arrow.UINT8: arrow.PrimitiveTypes.Uint8, arrow.UINT16: arrow.PrimitiveTypes.Uint16,
	arrow.UINT32: arrow.PrimitiveTypes.Uint32, arrow.UINT64: arrow.PrimitiveTypes.Uint64,
	arrow.FLOAT16: arrow.PrimitiveTypes.Float32, arrow.FLOAT32: arrow.PrimitiveTypes.Float32,
	arrow.FLOAT64: arrow.PrimitiveTypes.Float64,
	arrow.STRING:  arrow.BinaryTypes.String, arrow.LARGE_STRING: arrow.BinaryTypes.String,
	arrow.STRING_VIEW: arrow.BinaryTypes.String,
	arrow.BINARY:      arrow.BinaryTypes.Binary, arrow.LARGE_BINARY: arrow.BinaryTypes.Binary,
	arrow.BINARY_VIEW: arrow.BinaryTypes.Binary, arrow.FIXED_SIZE_BINARY: arrow.BinaryTypes.Binary,
	arrow.DATE32: arrow.FixedWidthTypes.Date32, arrow.DATE64: arrow.FixedWidthTypes.Date32,
	arrow.INTERVAL_MONTH_DAY_NANO: arrow.FixedWidthTypes.MonthDayNanoInterval,
	arrow.TIME32:                  arrow.FixedWidthTypes.Time64us, arrow.DURATION: arrow.FixedWidthTypes.Duration_us,
}

func canonicalStruct(dt *arrow.StructType) arrow.DataType {
	fields := make([]arrow.Field, dt.NumFields())
	for i, f := range dt.Fields() {
		of := Canonical(f.Type)
		if of == nil {
			return nil
		}
		fields[i] = arrow.Field{Name: f.Name, Type: of, Nullable: true}
	}
	return arrow.StructOf(fields...)
}
