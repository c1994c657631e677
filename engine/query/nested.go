package query

import (
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/internal/nested"
)

// FieldName returns the name of the column that a field of a struct is: the names of the struct's
// column, of the structs within it and of the field, with points between them, as in a.b. A name
// that has a point or a double quote itself stands in double quotes.
func FieldName(path ...string) string {
	parts := make([]string, len(path))
	for i, name := range path {
		if name == "" || strings.ContainsAny(name, `."`) {
			name = `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
		}
		parts[i] = name
	}
	return strings.Join(parts, ".")
}

// HiddenFieldName is FieldName for a field whose FieldName is the name of another column: (a).b.
func HiddenFieldName(path ...string) string {
	return "(" + FieldName(path[0]) + ")." + FieldName(path[1:]...)
}

// CheckReadable returns an error for a column of a nested type, which is shown and is no value of a
// query. The error is ErrQuery.
func CheckReadable(column string, dt arrow.DataType) error {
	if d, ok := dt.(*arrow.DictionaryType); ok {
		dt = d.ValueType
	}
	kind, hint := "a nested column", "and cannot be read; the other columns can"
	switch id := dt.ID(); {
	case id == arrow.EXTENSION:
	case isInterval(id):
		return Errorf("column %q is an INTERVAL %s", column, hint)
	case !arrow.IsNested(id):
		return nil
	case id == arrow.MAP:
		kind = "a map"
	case arrow.IsListLike(id):
		kind = "a list"
		if !arrow.IsNested(dt.(arrow.ListLikeType).Elem().ID()) {
			hint = "of which the elements can be read: unnest(" + FieldName(column) + ")"
		}
	}
	name := TypeName(dt)
	if len(name) > typeNameBytesMax {
		name = strings.ToValidUTF8(name[:typeNameBytesMax], "") + "..."
	}
	return Errorf("column %q is %s, %s, %s", column, kind, name, hint)
}

// isInterval says whether values of a type are spans of months, days and shares of a day, which have no order.
func isInterval(id arrow.Type) bool {
	return id == arrow.INTERVAL_MONTHS || id == arrow.INTERVAL_DAY_TIME || id == arrow.INTERVAL_MONTH_DAY_NANO
}

// typeNameBytesMax bounds the name of a type in an error: a struct may have a thousand fields.
const typeNameBytesMax = 200

// scalarNames are the names in SQL of types without parameters.
var scalarNames = map[arrow.Type]string{
	arrow.NULL: `"NULL"`, arrow.BOOL: "BOOLEAN",
	arrow.INT8: "TINYINT", arrow.INT16: "SMALLINT", arrow.INT32: "INTEGER", arrow.INT64: "BIGINT",
	arrow.UINT8: "UTINYINT", arrow.UINT16: "USMALLINT", arrow.UINT32: "UINTEGER", arrow.UINT64: "UBIGINT",
	arrow.FLOAT16: "FLOAT", arrow.FLOAT32: "FLOAT", arrow.FLOAT64: "DOUBLE",
	arrow.STRING: "VARCHAR", arrow.LARGE_STRING: "VARCHAR", arrow.STRING_VIEW: "VARCHAR",
	arrow.BINARY: "BLOB", arrow.LARGE_BINARY: "BLOB", arrow.BINARY_VIEW: "BLOB", arrow.FIXED_SIZE_BINARY: "BLOB",
	arrow.DATE32: "DATE", arrow.DATE64: "DATE", arrow.TIME32: "TIME", arrow.TIME64: "TIME", arrow.DURATION: "INTERVAL",
	arrow.INTERVAL_MONTHS: "INTERVAL", arrow.INTERVAL_DAY_TIME: "INTERVAL", arrow.INTERVAL_MONTH_DAY_NANO: "INTERVAL",
}

// TypeName returns the name of a type in SQL, of nested types too: STRUCT(b INTEGER, c VARCHAR),
// INTEGER[], MAP(VARCHAR, INTEGER). A type that SQL does not have keeps Arrow's name.
func TypeName(dt arrow.DataType) string {
	switch dt := dt.(type) {
	case *nested.Type:
		return TypeName(dt.Of)
	case *arrow.DictionaryType:
		return TypeName(dt.ValueType)
	case *nested.Named:
		return dt.String()
	case arrow.ExtensionType:
		return TypeName(dt.StorageType())
	case arrow.DecimalType:
		return fmt.Sprintf("DECIMAL(%d,%d)", dt.GetPrecision(), dt.GetScale())
	case *arrow.TimestampType:
		switch {
		case dt.TimeZone != "":
			return "TIMESTAMP WITH TIME ZONE"
		case dt.Unit == arrow.Nanosecond:
			return "TIMESTAMP_NS"
		}
		return "TIMESTAMP"
	case *arrow.MapType:
		return "MAP(" + TypeName(dt.KeyType()) + ", " + TypeName(dt.ItemType()) + ")"
	case *arrow.FixedSizeListType:
		return fmt.Sprintf("%s[%d]", TypeName(dt.Elem()), dt.Len())
	case arrow.ListLikeType:
		return TypeName(dt.Elem()) + "[]"
	case *arrow.StructType:
		return structName(dt)
	}
	if name, ok := scalarNames[dt.ID()]; ok {
		return name
	}
	return dt.String()
}

func structName(dt *arrow.StructType) string {
	fields, isTuple := make([]string, dt.NumFields()), nested.IsTuple(dt)
	for i, f := range dt.Fields() {
		if fields[i] = TypeName(f.Type); !isTuple {
			fields[i] = FieldName(f.Name) + " " + fields[i]
		}
	}
	if isTuple {
		return "TUPLE(" + strings.Join(fields, ", ") + ")"
	}
	return "STRUCT(" + strings.Join(fields, ", ") + ")"
}
