package dataset

import (
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/arrow/scalar"

	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/engine/scan/internal/fields"
	"github.com/mpga/mpga/internal/knob"
)

// hiveNull is the folder value that stands for NULL. The string itself is written with an escape.
const hiveNull = "__HIVE_DEFAULT_PARTITION__"

// hivePair is one key=value folder of a path. The value is a string, or nil for NULL.
type hivePair struct {
	key   string
	value any
}

// hivePairs returns the key=value folders of a file's path, from the root down.
func hivePairs(path string) []hivePair {
	var pairs []hivePair
	for _, folder := range strings.Split(filepath.ToSlash(filepath.Dir(withoutQuery(path))), "/") {
		key, value, ok := strings.Cut(folder, "=")
		if !ok || key == "" {
			continue
		}
		pair := hivePair{key: unescape(key)}
		if value != hiveNull {
			pair.value = unescape(value)
		}
		pairs = append(pairs, pair)
	}
	return pairs
}

func unescape(s string) string {
	if plain, err := url.PathUnescape(s); err == nil {
		return plain
	}
	return s
}

// hiveColumns makes columns of the folders of all files, which must agree on the keys. known is of the
// whole table; nil where the files are the table. written are the types that their values had when they were written.
func hiveColumns(names []string, known *Known, written manifestTypes) ([]decode.Folder, error) {
	var columns []decode.Folder
	for i, name := range names {
		pairs := hivePairs(name)
		if i == 0 {
			for _, p := range pairs {
				columns = append(columns, decode.Folder{Field: arrow.Field{Name: p.key}})
			}
		}
		if len(pairs) != len(columns) {
			return nil, hiveError(names[0], name)
		}
		for j, p := range pairs {
			if p.key != columns[j].Field.Name {
				return nil, hiveError(names[0], name)
			}
			if s, isText := p.value.(string); isText && !utf8.ValidString(s) {
				return nil, knob.Errorf("%s: the value %q of the folder key %q is not valid UTF-8; "+
					"rename the folder, or read without hive folders (%s)", name, s, p.key, knob.Name("dataset.NoHive"))
			}
			columns[j].Values = append(columns[j].Values, p.value)
		}
	}
	if err := typeFolders(columns, known, written); err != nil {
		return nil, err
	}
	for j := range columns {
		for k := range j {
			if columns[k].Field.Name == columns[j].Field.Name {
				return nil, fmt.Errorf("%s: the folder key %q appears twice", names[0], columns[j].Field.Name)
			}
		}
	}
	return columns, nil
}

func hiveError(first, other string) error {
	return knob.Errorf("%s and %s: their key=value folders differ (%s and %s); "+
		"read them apart, or without hive folders (%s)", first, other, hiveKeys(first), hiveKeys(other),
		knob.Name("dataset.NoHive"))
}

func hiveKeys(name string) string {
	pairs := hivePairs(name)
	if len(pairs) == 0 {
		return "none"
	}
	keys := make([]string, len(pairs))
	for i, p := range pairs {
		keys[i] = p.key
	}
	return strings.Join(keys, "/")
}

// convert gives the values of a column the type that is known of the table. Else it is the type that was written, by a
// manifest, or the narrowest of int64, date32 and utf8, that all values have as they are written: 01, +1 and -0 are no
// numbers, so that different folders have different values.
func convert(c *decode.Folder, known, written arrow.DataType) {
	c.Field.Nullable = slices.Contains(c.Values, nil)
	types := []arrow.DataType{written, arrow.PrimitiveTypes.Int64, arrow.FixedWidthTypes.Date32}
	switch {
	case known != nil:
		types = []arrow.DataType{known}
	case !slices.ContainsFunc(c.Values, func(v any) bool { return v != nil }):
		types = types[:1] // no value says what the type is
	}
	for _, typ := range append(types, arrow.BinaryTypes.String) {
		if typ == nil {
			continue
		}
		if values, ok := parseFolders(c.Values, typ); ok {
			c.Field.Type, c.Values = typ, values
			return
		}
	}
}

// parseFolders returns the values of a type that the texts of folders are; ok is false where one is none.
func parseFolders(texts []any, typ arrow.DataType) (values []any, ok bool) {
	values = make([]any, len(texts))
	for i, text := range texts {
		if text == nil {
			continue
		}
		if values[i], ok = parseFolder(text.(string), typ); !ok {
			return nil, false
		}
	}
	return values, true
}

// parseFolder returns the value of a type that a text is: a string, an int64, an arrow.Date32, or a scalar.
func parseFolder(text string, typ arrow.DataType) (value any, ok bool) {
	switch typ.ID() {
	case arrow.STRING:
		return text, true
	case arrow.INT64:
		n, err := strconv.ParseInt(text, 10, 64)
		return n, err == nil && strconv.FormatInt(n, 10) == text
	case arrow.DATE32:
		day, ok := fields.ParseDate([]byte(text))
		return arrow.Date32(day), ok
	case arrow.TIMESTAMP:
		t := typ.(*arrow.TimestampType)
		at, ok := fields.ParseTimestamp([]byte(text))
		n, whole := at.In(int64(t.Unit.Multiplier()))
		return scalar.NewTimestampScalar(arrow.Timestamp(n), typ), ok && whole && (!at.Zoned || t.TimeZone != "")
	case arrow.DECIMAL128:
		t := typ.(*arrow.Decimal128Type)
		n, err := decimal128.FromString(text, t.Precision, t.Scale)
		return scalar.NewDecimal128Scalar(n, typ), err == nil && n.ToString(t.Scale) == text // it was not rounded
	}
	b := array.NewBuilder(memory.DefaultAllocator, typ)
	defer b.Release()
	if err := b.AppendValueFromString(text); err != nil {
		return nil, false
	}
	one := b.NewArray()
	defer one.Release()
	if (typ.ID() == arrow.BOOL || arrow.IsInteger(typ.ID())) && one.ValueStr(0) != text {
		return nil, false
	}
	s, err := scalar.GetScalar(one, 0)
	return s, err == nil && s.IsValid()
}
