package json

import (
	"bufio"
	"fmt"
	"io"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/engine/scan/internal/fields"
	"github.com/mpga/mpga/internal/knob"
)

// ValueError implements textfile.Format.
func (c *File) ValueError(column string, typ arrow.DataType, _ *fields.Format, field []byte, quoted bool) error {
	if fields.IsText(typ) {
		return knob.Errorf("column %q: %s is not valid UTF-8 (as bytes: %s %s)",
			column, decode.QuoteInvalid(field), types, setting(column, "BLOB"))
	}
	const shown = 40
	dots := ""
	if len(field) > shown {
		field, dots = field[:shown], "..."
	}
	value, as, other := string(field)+dots, "text", "VARCHAR"
	if quoted {
		value = strconv.Quote(string(field)) + dots
	} else if numberOf(field) == hasDouble && typ.ID() == arrow.INT64 && (field[0] == '-' || field[0]-'0' <= 9) {
		as, other = "a number", "DOUBLE"
	}
	return knob.Errorf("column %q: %s is not a %s (as %s: %s %s)", column, value, typeName(typ), as, types, setting(column, other))
}

// unknownKey is the error of a key that is no column.
func unknownKey(name string) error {
	return knob.Errorf("key %q is in none of the rows that were looked at first: look at more (%s), or give its type (%s %s)",
		name, knob.Name("dataset.JSON.SampleRows"), types, setting(name, "VARCHAR"))
}

// types is the option that gives columns types.
const types = knob.Name("dataset.JSON.Types")

// setting is how a column is given a type.
func setting(column, typ string) string {
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
