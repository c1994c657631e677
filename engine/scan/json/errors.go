package json

import (
	"bufio"
	"io"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/engine/scan/internal/fields"
	"github.com/mpga/mpga/internal/knob"
)

// ValueError implements textfile.Format.
func (c *File) ValueError(column string, typ arrow.DataType, format *fields.Format, field []byte, quoted bool) error {
	if fields.IsText(typ) {
		return knob.Errorf("column %q: %s is not valid UTF-8 (as bytes: %s %s)",
			column, decode.QuoteInvalid(field), types, fields.Setting(column, "BLOB"))
	}
	const shown = 40
	dots := ""
	if len(field) > shown {
		field, dots = field[:shown], "..."
	}
	value, as, other := string(field)+dots, "text", "VARCHAR"
	if quoted {
		value = strconv.Quote(string(field)) + dots
	} else if typ.ID() == arrow.INT64 && (field[0] == '-' || field[0]-'0' <= 9) {
		switch kinds := numberOf(field); {
		case kinds&hasDouble != 0:
			as, other = "a number", "DOUBLE"
		case kinds&hasHuge != 0:
			as, other = "a longer integer", "HUGEINT"
		}
	}
	return knob.Errorf("column %q: %s is not a %s%s (as %s: %s %s)", column, value, fields.TypeName(typ),
		format.LossOf(typ, field), as, types, fields.Setting(column, other))
}

// unknownKey is the error of a key that is no column.
func unknownKey(name string) error {
	return knob.Errorf(
		"key %q is in none of the rows that were looked at first: look at more (%s), or give its type (%s %s)",
		name, knob.Name("dataset.JSON.SampleRows"), types, fields.Setting(name, "VARCHAR"))
}

// types is the option that gives columns types.
const types = knob.Name("dataset.JSON.Types")

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
