package dataset

import (
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/scan/internal/decode"
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
// whole table; nil where the files are the table.
func hiveColumns(names []string, known *Known) ([]decode.Folder, error) {
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
	if err := typeFolders(columns, known); err != nil {
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
		"read them apart, or without hive folders (%s)", first, other, hiveKeys(first), hiveKeys(other), knob.Name("dataset.NoHive"))
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

// convert finds the narrowest of int64, date32 and utf8 that all values have, or takes the type that is
// given.
func convert(c *decode.Folder, given arrow.DataType) {
	type kind struct {
		typ   arrow.DataType
		parse func(string) (any, error)
	}
	kinds := []kind{
		{arrow.PrimitiveTypes.Int64, func(s string) (any, error) { return strconv.ParseInt(s, 10, 64) }},
		{arrow.FixedWidthTypes.Date32, func(s string) (any, error) {
			day, err := time.Parse(time.DateOnly, s)
			return arrow.Date32FromTime(day), err
		}},
		{arrow.BinaryTypes.String, func(s string) (any, error) { return s, nil }},
	}
	c.Field.Nullable = slices.Contains(c.Values, nil)
	if given != nil {
		kinds = slices.DeleteFunc(kinds, func(k kind) bool { return k.typ.ID() != arrow.STRING && !arrow.TypeEqual(k.typ, given) })
	} else if !slices.ContainsFunc(c.Values, func(v any) bool { return v != nil }) {
		kinds = kinds[2:] // text: no value says what the type is
	}
next:
	for _, k := range kinds {
		converted := make([]any, len(c.Values))
		for i, v := range c.Values {
			if v == nil {
				continue
			}
			parsed, err := k.parse(v.(string))
			if err != nil {
				continue next
			}
			converted[i] = parsed
		}
		c.Field.Type, c.Values = k.typ, converted
		return
	}
}
