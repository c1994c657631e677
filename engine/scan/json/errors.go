package json

import (
	"bufio"
	"fmt"
	"io"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/engine/scan/internal/fields"
)

// ValueError implements textfile.Format.
func (c *File) ValueError(column string, typ arrow.DataType, _ *fields.Format, field []byte, quoted bool) error {
	if fields.IsText(typ) {
		return fmt.Errorf("column %q: %s is not valid UTF-8 (as bytes: %s)",
			column, decode.QuoteInvalid(field), typeFlag(column, "BLOB"))
	}
	const shown = 40
	dots := ""
	if len(field) > shown {
		field, dots = field[:shown], "..."
	}
	value, knob := string(field)+dots, "as text: "+typeFlag(column, "VARCHAR")
	if quoted {
		value = strconv.Quote(string(field)) + dots
	} else if numberOf(field) == hasDouble && typ.ID() == arrow.INT64 && (field[0] == '-' || field[0]-'0' <= 9) {
		knob = "as a number: " + typeFlag(column, "DOUBLE")
	}
	return fmt.Errorf("column %q: %s is not a %s (%s)", column, value, typeName(typ), knob)
}

// unknownKey is the error of a key that is no column.
func unknownKey(name string) error {
	return fmt.Errorf("key %q is in none of the rows that were looked at first: "+
		"look at more (--sample-rows, JSON.SampleRows), or give its type (%s)", name, typeFlag(name, "VARCHAR"))
}

// typeFlag is the flag and the option that give a column a type.
func typeFlag(column, typ string) string {
	setting := column + "=" + typ
	if !isWord(column) {
		setting = strconv.Quote(setting)
	}
	return "--type " + setting + ", JSON.Types"
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

// typeNames are SQL's names of types that are inferred, by their ID.
var typeNames = map[arrow.Type]string{
	arrow.BOOL: "BOOLEAN", arrow.INT8: "TINYINT", arrow.INT16: "SMALLINT", arrow.INT32: "INTEGER", arrow.INT64: "BIGINT",
	arrow.UINT8: "UTINYINT", arrow.UINT16: "USMALLINT", arrow.UINT32: "UINTEGER", arrow.UINT64: "UBIGINT",
	arrow.FLOAT32: "FLOAT", arrow.FLOAT64: "DOUBLE", arrow.DATE32: "DATE", arrow.TIME64: "TIME",
}

// typeName returns SQL's name of a type.
func typeName(typ arrow.DataType) string {
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

// RowLength implements textfile.Format: the bytes up to the closing brace of the first object.
func (c *File) RowLength(text io.Reader) (length int64) {
	limit := int64(c.RowLimit)
	depth, inside, escape := 0, false, false
	for buffered := bufio.NewReader(text); length < limit; {
		c, err := buffered.ReadByte()
		if err != nil {
			return length
		}
		length++
		switch {
		case escape:
			escape = false
		case inside && c == '\\':
			escape = true
		case c == '"':
			inside = !inside
		case inside:
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth <= 0 {
				return length
			}
		}
	}
	return length
}
