package fields

import (
	"fmt"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
)

// typeNames are SQL's names of types that are inferred, by their ID.
var typeNames = map[arrow.Type]string{
	arrow.BOOL: "BOOLEAN", arrow.INT8: "TINYINT", arrow.INT16: "SMALLINT", arrow.INT32: "INTEGER", arrow.INT64: "BIGINT",
	arrow.UINT8: "UTINYINT", arrow.UINT16: "USMALLINT", arrow.UINT32: "UINTEGER", arrow.UINT64: "UBIGINT",
	arrow.FLOAT32: "FLOAT", arrow.FLOAT64: "DOUBLE", arrow.DATE32: "DATE", arrow.TIME64: "TIME",
}

// TypeName returns SQL's name of a type.
func TypeName(typ arrow.DataType) string {
	switch t := typ.(type) {
	case *arrow.TimestampType:
		if t.TimeZone != "" {
			return "TIMESTAMPTZ"
		}
		return "TIMESTAMP"
	case *arrow.Decimal128Type:
		if t.Precision == 38 && t.Scale == 0 {
			return "HUGEINT"
		}
		return fmt.Sprintf("DECIMAL(%d, %d)", t.Precision, t.Scale)
	}
	if name, ok := typeNames[typ.ID()]; ok {
		return name
	}
	return typ.String()
}

// LossOf says what a number of the type would lose of a field, behind the name of the type; "" of a field that it loses
// nothing of, or that is no number.
func (f *Format) LossOf(typ arrow.DataType, field []byte) string {
	number := Trim(field)
	value, ok := ParseFloat(number)
	switch {
	case !f.Inferred || !ok:
		return ""
	case IsCode(number) && number[0] == '+':
		return ", which would lose its plus"
	case IsCode(number):
		return ", which would lose its zero"
	case typ.ID() == arrow.FLOAT64 && !KeepsDigits(value, number):
		return ", which would lose its digits"
	}
	return ""
}

// Setting is how a column is given a type, as an option takes it: NAME=TYPE.
func Setting(column, typ string) string {
	text := column + "=" + typ
	if !isWord(column) {
		text = strconv.Quote(text)
	}
	return text
}

// isWord says whether a shell and a reader take a name as it is.
func isWord(name string) bool {
	for _, c := range name {
		if c <= ' ' || c == '\'' || c == '"' || c == '$' || c == '\\' {
			return false
		}
	}
	return true
}
