package json

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/engine/scan/internal/fields"
	"github.com/mpga/mpga/internal/knob"
	"github.com/mpga/mpga/internal/nested"
)

// ValueError implements textfile.Format.
func (c *File) ValueError(column string, typ arrow.DataType, format *fields.Format, field []byte, quoted bool) error {
	if fields.IsText(typ) {
		return knob.Errorf("column %q: %s is not valid UTF-8 (as bytes: %s %s)",
			column, decode.QuoteInvalid(field), types, fields.Setting(column, "BLOB"))
	}
	if t, ok := typ.(*nested.Type); ok {
		return nestedError(column, t, format, field, quoted)
	}
	as, other := "text", "VARCHAR"
	if !quoted && typ.ID() == arrow.INT64 && (field[0] == '-' || field[0]-'0' <= 9) {
		switch kinds := numberOf(field); {
		case kinds&hasDouble != 0:
			as, other = "a number", "DOUBLE"
		case kinds&hasHuge != 0:
			as, other = "a longer integer", "HUGEINT"
		}
	}
	return knob.Errorf("column %q: %s is not a %s%s (as %s: %s %s)", column, shown(field, quoted), fields.TypeName(typ),
		format.LossOf(typ, field), as, types, fields.Setting(column, other))
}

// shown returns the beginning of a value, as it is written.
func shown(field []byte, quoted bool) string {
	const bytesMax = 40
	dots := ""
	if len(field) > bytesMax {
		field, dots = field[:bytesMax], "..."
	}
	if quoted {
		return strconv.Quote(string(field)) + dots
	}
	return string(field) + dots
}

// nestedError is ValueError of nested values.
func nestedError(column string, t *nested.Type, format *fields.Format, field []byte, quoted bool) error {
	where, reason := "", error((&part{typ: t.Of}).mismatch(field, quoted))
	if !quoted {
		where, reason = failureOf(t, format, field)
	}
	if where != "" {
		where = ", at " + shortPlace(strings.TrimPrefix(where, "."))
	}
	return knob.Errorf("column %q%s: %w (as text: %s %s)", column, where, reason, types,
		fields.Setting(column, "VARCHAR"))
}

// notObject is the error of a value where all others are objects, whose members are columns.
func notObject(name string) error {
	return knob.Errorf("%q is no object, as it is in all rows that were looked at first (as text: %s %s)", name, types,
		fields.Setting(name, "VARCHAR"))
}

// textError says why a column of objects or arrays is text.
func textError(name, reason string) error {
	const text = "column %q is text, as JSON is written, because %s; json_extract(%q, '$.key') reads it"
	return fmt.Errorf(text, name, reason, name)
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
