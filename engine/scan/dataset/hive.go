package dataset

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/arrow/scalar"

	"github.com/mpga/mpga/engine/scan/csv"
	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/internal/knob"
	"github.com/mpga/mpga/internal/vfs"
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
func hiveColumns(fsys vfs.FS, names []string, known *Known) ([]decode.Folder, error) {
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
	if err := typeFolders(fsys, names, columns, known); err != nil {
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

// convert gives a column the type that is given, where all values have it, or the narrowest of int64, date32 and utf8
// that all values have. Text that a number would not give back, as 007 or +5, is no number.
func convert(c *decode.Folder, given arrow.DataType) {
	c.Field.Nullable = slices.Contains(c.Values, nil)
	types := []arrow.DataType{arrow.PrimitiveTypes.Int64, arrow.FixedWidthTypes.Date32, arrow.BinaryTypes.String}
	switch {
	case given != nil:
		types = []arrow.DataType{given, arrow.BinaryTypes.String}
	case !slices.ContainsFunc(c.Values, func(v any) bool { return v != nil }):
		types = types[2:] // text: no value says what the type is
	}
	for _, typ := range types {
		if values, ok := parseFolders(c.Values, typ); ok {
			c.Field.Type, c.Values = typ, values
			return
		}
	}
}

// parseFolders returns the values of a type that texts are; ok is false where one is none.
func parseFolders(texts []any, typ arrow.DataType) (values []any, ok bool) {
	values = make([]any, len(texts))
	for i, v := range texts {
		if v == nil {
			continue
		}
		text := v.(string)
		switch typ.ID() {
		case arrow.STRING:
			values[i] = text
		case arrow.INT64:
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil || strconv.FormatInt(n, 10) != text {
				return nil, false
			}
			values[i] = n
		case arrow.DATE32:
			day, err := time.Parse(time.DateOnly, text)
			if err != nil {
				return nil, false
			}
			values[i] = arrow.Date32FromTime(day)
		default:
			value, err := parseScalar(text, typ)
			if err != nil {
				return nil, false
			}
			values[i] = value
		}
	}
	return values, true
}

// parseScalar returns a value of a type that --partition-by takes, as the sink writes it into the name of a folder.
func parseScalar(text string, typ arrow.DataType) (scalar.Scalar, error) {
	b := array.NewBuilder(memory.DefaultAllocator, typ)
	defer b.Release()
	if err := b.AppendValueFromString(text); err != nil {
		return nil, err
	}
	values := b.NewArray()
	defer values.Release()
	return scalar.GetScalar(values, 0)
}

// typeFolders gives columns of folders the type that they have in the whole table, or had when mpga wrote the folders,
// which the manifest tells; else the narrowest that all values have.
func typeFolders(fsys vfs.FS, names []string, columns []decode.Folder, known *Known) error {
	written := writtenTypes(fsys, names, columns)
	for i := range columns {
		typ, err := known.folderType(columns[i].Field.Name)
		if err != nil {
			return err
		}
		if typ == nil {
			typ = written[columns[i].Field.Name]
		}
		convert(&columns[i], typ)
	}
	return nil
}

// writtenTypes returns the types of folders' columns by the manifest above the folders; nil where there is none, or one
// of other columns.
func writtenTypes(fsys vfs.FS, names []string, columns []decode.Folder) map[string]arrow.DataType {
	if len(columns) == 0 {
		return nil
	}
	root := aboveFolders(names[0])
	for _, name := range names {
		if aboveFolders(name) != root {
			return nil
		}
	}
	file, err := fsys.Open(root + vfs.ManifestName)
	if err != nil {
		return nil
	}
	defer file.Close()
	var manifest struct { // as engine/sink writes it
		PartitionBy []string `json:"partition_by"`
		Schema      []struct{ Name, Type string }
	}
	if err := json.NewDecoder(io.LimitReader(file, manifestBytesMax)).Decode(&manifest); err != nil {
		return nil
	}
	types := make(map[string]arrow.DataType)
	for i, key := range manifest.PartitionBy {
		if i >= len(columns) || columns[i].Field.Name != key {
			return nil
		}
		for _, c := range manifest.Schema {
			if t, err := csv.ParseType(c.Type); c.Name == key && err == nil {
				types[key] = t
			}
		}
	}
	return types
}

// manifestBytesMax bounds the bytes that are read of a manifest: a quarter of a million files have as many.
const manifestBytesMax = 64 << 20

// aboveFolders returns the part of a path before its first key=value folder, with the slash.
func aboveFolders(path string) string {
	path = withoutQuery(path)
	end := 0
	for part := range strings.SplitAfterSeq(filepath.ToSlash(path), "/") {
		if key, _, ok := strings.Cut(part, "="); ok && key != "" {
			break
		}
		end += len(part)
	}
	return path[:min(end, len(path))]
}
