package dataset

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/csv"
	"github.com/mpga/mpga/engine/scan/internal/scantest"
)

// notUTF8 has a value of each way not to be UTF-8.
var notUTF8 = map[string]string{
	"continuation":    "a\x80b",
	"overlong slash":  "\xc0\xaf",
	"overlong of 3":   "\xe0\x9f\xbf",
	"overlong of 4":   "\xf0\x8f\xbf\xbf",
	"surrogate":       "\xed\xa0\x80",
	"above U+10FFFF":  "\xf4\x90\x80\x80",
	"no such byte":    "\xff",
	"cut after 1 B":   "gr\xc3",
	"cut after 2 B":   "\xe6\x97",
	"cut after 3 B":   "\xf0\x9f\x98",
	"the second half": "\xbcn",
}

// textFile writes columns i (0, 1, ...) and s, whose values are strings, or the same bytes.
type textFile struct {
	name  string
	write func(t *testing.T, values []string, text bool) []byte
}

// textFiles are all kinds of files, encodings and types of strings.
func textFiles() []textFile {
	arrowFile := func(name string, stream bool, text, binary arrow.DataType, dictionary bool) textFile {
		return textFile{name, func(t *testing.T, values []string, isText bool) []byte {
			typ := binary
			if isText {
				typ = text
			}
			batch := textBatch(values, typ)
			if dictionary {
				batch = withDictionary(t, batch)
			}
			half := batch.NumRows() / 2
			return scantest.EncodeArrow(t, stream, []arrow.RecordBatch{batch.NewSlice(0, half), batch.NewSlice(half, batch.NumRows())})
		}}
	}
	types := arrow.BinaryTypes
	files := []textFile{
		arrowFile("utf8.arrow", false, types.String, types.Binary, false),
		arrowFile("large.arrow", false, types.LargeString, types.LargeBinary, false),
		arrowFile("view.arrow", false, types.StringView, types.BinaryView, false),
		arrowFile("utf8.arrows", true, types.String, types.Binary, false),
		arrowFile("dictionary.arrows", true, types.String, types.Binary, true),
		{"text.csv", func(_ *testing.T, values []string, _ bool) []byte {
			text := []byte("i,s\n")
			for i, s := range values {
				text = fmt.Appendf(text, "%d,%s\n", i, s)
			}
			return text
		}},
	}
	files = append(files, textFile{"text.ndjson", func(_ *testing.T, values []string, _ bool) (text []byte) {
		for i, s := range values {
			text = fmt.Appendf(text, "{\"i\":%d,\"s\":\"%s\"}\n", i, s)
		}
		return text
	}})
	plain := parquet.WithDictionaryDefault(false)
	for name, opts := range map[string][]parquet.WriterProperty{
		"plain":             {plain},
		"pages":             {plain, parquet.WithDataPageSize(256), parquet.WithBatchSize(16)},
		"pages of codes":    {parquet.WithDataPageSize(256), parquet.WithBatchSize(16)},
		"codes":             {},
		"codes, then plain": {parquet.WithDictionaryPageSizeLimit(64), parquet.WithBatchSize(16)},
		"shared":            {plain, parquet.WithEncodingFor("s", parquet.Encodings.DeltaByteArray)},
		"lengths first":     {plain, parquet.WithEncodingFor("s", parquet.Encodings.DeltaLengthByteArray)},
		"library":           {plain, parquet.WithCreatedBy("parquet-mr version 1.2.0"), parquet.WithStats(false)},
		"library, codes":    {parquet.WithCreatedBy("parquet-mr version 1.2.0"), parquet.WithStats(false)},
	} {
		files = append(files, textFile{name + ".parquet", func(t *testing.T, values []string, text bool) []byte {
			typ := types.Binary
			if text {
				typ = types.String
			}
			batch := textBatch(values, typ)
			return scantest.EncodeParquet(t, batch.NumRows()/2+1, []arrow.RecordBatch{batch}, opts...)
		}})
	}
	return files
}

func textBatch(values []string, typ arrow.DataType) arrow.RecordBatch {
	ints := array.NewInt64Builder(memory.DefaultAllocator)
	strs := array.NewBuilder(memory.DefaultAllocator, typ)
	for i, s := range values {
		ints.Append(int64(i))
		switch b := strs.(type) {
		case array.StringLikeBuilder:
			b.Append(s)
		case *array.BinaryBuilder:
			b.AppendString(s)
		case *array.BinaryViewBuilder:
			b.AppendString(s)
		}
	}
	schema := arrow.NewSchema([]arrow.Field{{Name: "i", Type: arrow.PrimitiveTypes.Int64}, {Name: "s", Type: typ}}, nil)
	return array.NewRecordBatch(schema, []arrow.Array{ints.NewArray(), strs.NewArray()}, int64(len(values)))
}

func withDictionary(t *testing.T, batch arrow.RecordBatch) arrow.RecordBatch {
	codes := scantest.ToDictionary(t, batch.Column(1), arrow.PrimitiveTypes.Int16)
	schema := arrow.NewSchema([]arrow.Field{batch.Schema().Field(0), {Name: "s", Type: codes.DataType()}}, nil)
	return array.NewRecordBatch(schema, []arrow.Array{batch.Column(0), codes}, batch.NumRows())
}

// textValues are strings of one length in some places and of several in others, with and without
// characters that are not ASCII, short and long, and long enough for lengths that are not ASCII.
func textValues() (values []string) {
	for i := range 1300 {
		switch {
		case i < 300:
			values = append(values, fmt.Sprintf("a%04d", i))
		case i < 600:
			values = append(values, fmt.Sprintf("ж%04d", i))
		case i < 900:
			values = append(values, strings.Repeat("grün ", i%9))
		default:
			values = append(values, strings.Repeat("http://a.b/", i%40)+strings.Repeat("日", i%3))
		}
	}
	return values
}

// A string that is not UTF-8 is an error that names the file, the row, the column and the value,
// wherever it stands and however it is stored, and the same bytes are right in a column of bytes. A
// check of a page or a batch as a whole would pass the halves of a character in two values.
func TestNotUTF8(t *testing.T) {
	good := textValues()
	for _, file := range textFiles() {
		t.Run(file.name, func(t *testing.T) {
			dir := t.TempDir()
			rows := []int{0, 20, 400, 511, 777, 1111, len(good) - 1}
			if testing.Short() {
				rows = []int{0, 511, len(good) - 1}
			}
			for name, wrong := range notUTF8 {
				for _, row := range rows {
					before := strings.Repeat("x", []int{0, 30, 200}[row%3])
					values := slices.Clone(good)
					values[row] = before + wrong
					if row+1 < len(values) && strings.HasPrefix(name, "cut") {
						values[row+1] = "\xbc\x80\x80" + values[row+1]
					}
					checkNotUTF8(t, dir, file, values, row, name)
				}
			}
		})
	}
}

func checkNotUTF8(t *testing.T, dir string, file textFile, values []string, row int, name string) {
	t.Helper()
	path := scantest.WriteFile(t, dir, file.name, file.write(t, values, true))
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	_, err := scantest.ReadAll(mustOpen(t, Options{}, path), []int{0, 1}, scan.OpenOptions{Allocator: mem, BatchRows: 600})
	place := fmt.Sprintf("%s, row %d: ", path, row+1)
	isText := strings.HasPrefix(file.name, "text.")
	switch file.name {
	case "text.csv":
		place = fmt.Sprintf("%s, line %d: ", path, row+2)
	case "text.ndjson":
		place = fmt.Sprintf("%s, line %d: ", path, row+1)
	}
	quoted := fmt.Sprintf("%q", notUTF8[name])
	for _, want := range []string{place, `column "s"`, quoted[1 : len(quoted)-1], "UTF-8"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Fatalf("%s in row %d: %v does not say %s", name, row, err, want)
		}
	}
	if len(err.Error()) > len(path)+250 {
		t.Fatalf("a long error: %v", err)
	}
	if !isText && !errors.Is(err, scan.ErrCorrupt) {
		t.Fatalf("%v is not ErrCorrupt", err)
	}
	if !strings.HasPrefix(file.name, "library") { // arrow-go's readers keep memory at an error
		mem.AssertSize(t, 0)
	}
	path = scantest.WriteFile(t, dir, "bytes "+file.name, file.write(t, values, false))
	opt := Options{}
	if isText {
		opt.CSV = csv.Options{Types: map[string]arrow.DataType{"s": arrow.BinaryTypes.Binary}}
	}
	rows, err := scantest.ReadAll(mustOpen(t, opt, path), []int{0, 1}, scan.OpenOptions{})
	if err != nil || len(rows) != len(values) {
		t.Fatalf("%s in row %d, as bytes: %d rows, %v", name, row, len(rows), err)
	}
}

// The values of all files are read where all of them are UTF-8.
func TestUTF8(t *testing.T) {
	good := textValues()
	want := scantest.BatchRowsText(textBatch(good, arrow.BinaryTypes.String))
	for _, file := range textFiles() {
		path := scantest.WriteFile(t, t.TempDir(), file.name, file.write(t, good, true))
		opt := Options{Readers: &Readers{}, CSV: csv.Options{NullStrings: []string{"none"}}}
		rows, err := scantest.ReadAll(mustOpen(t, opt, path), []int{0, 1}, scan.OpenOptions{BatchRows: 600})
		if err != nil {
			t.Fatalf("%s: %v", file.name, err)
		}
		scantest.SameRows(t, rows, want)
	}
}

// A value that no row needs is not looked at where its page is not read, or few rows of it are needed, nor is an entry
// of a dictionary that only such pages have.
func TestNotUTF8LeftOut(t *testing.T) {
	values := make([]string, 40_000)
	for i := range values {
		values[i] = fmt.Sprintf("grün %d", i%1000)
	}
	const wrong = 20_000
	values[wrong] = "gr\xfcn"
	for name, opts := range map[string][]parquet.WriterProperty{
		"plain":  {parquet.WithDictionaryDefault(false), parquet.WithDataPageSize(4 << 10)},
		"codes":  {parquet.WithDataPageSize(1 << 10)},
		"shared": {parquet.WithDictionaryDefault(false), parquet.WithEncodingFor("s", parquet.Encodings.DeltaByteArray), parquet.WithDataPageSize(4 << 10)},
	} {
		data := scantest.EncodeParquet(t, 40_000, []arrow.RecordBatch{textBatch(values, arrow.BinaryTypes.String)}, append(opts, parquet.WithPageIndexEnabled(true))...)
		src := mustOpen(t, Options{}, scantest.WriteFile(t, t.TempDir(), "f.parquet", data))
		read := func(filter scantest.OneOf, columns ...int) ([]string, error) {
			filtered, err := scan.Filter(context.Background(), src, scan.Predicate{Rows: filter})
			if err != nil {
				t.Fatal(err)
			}
			return scantest.ReadAll(filtered, columns, scan.OpenOptions{BatchRows: 2048})
		}
		rows, err := read(scantest.OneOf{5, 39_000}, 0, 1)
		if err != nil || len(rows) != 2 || !strings.Contains(rows[1], "grün 0") {
			t.Errorf("%s: rows without it: %v, %v", name, rows, err)
		}
		if rows, err := read(scantest.OneOf{wrong}, 0); err != nil || len(rows) != 1 {
			t.Errorf("%s: another column of its row: %v, %v", name, rows, err)
		}
		if rows, err := read(scantest.OneOf{wrong - 100, wrong + 100}, 1); name != "codes" && (err != nil || len(rows) != 2) {
			t.Errorf("%s: rows around it: %v, %v", name, rows, err)
		}
		_, err = read(scantest.OneOf{5, wrong, 39_000}, 0, 1)
		if err == nil || !strings.Contains(err.Error(), `f.parquet, row 20001: column "s"`) || !strings.Contains(err.Error(), `"gr\xfcn"`) {
			t.Errorf("%s: its row: %v", name, err)
		}
	}
}

// The value of a folder is a string, too.
func TestNotUTF8Folder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "k=gr%FCn")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	path := scantest.WriteFile(t, dir, "f.csv", []byte("i\n1\n"))
	_, err := Open(t.Context(), []string{path}, Options{})
	for _, want := range []string{path, `"gr\xfcn"`, `"k"`, "UTF-8", "NoHive"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %s", err, want)
		}
	}
	if rows, err := scantest.ReadAll(mustOpen(t, Options{NoHive: true}, path), []int{0}, scan.OpenOptions{}); err != nil || len(rows) != 1 {
		t.Errorf("without hive folders: %v, %v", rows, err)
	}
}

// Texts without a row have none of the columns that others have, and are read beside them in any order; alone they
// are a table without rows.
func TestEmptyTexts(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.csv": "k,v\n1,2\n", "empty.csv": "", "blank.csv": "\n\n", "mark.csv": "\ufeff", "header.csv": "v,k\n",
		"empty.csv.gz": "",
		"b.csv":        string(pack(t, "k,v\n3,4\n", ".gz")), "c.csv": string(pack(t, "k,v\n3,4\n", ".zst")),
		"a.json": `{"k":1,"v":2}`, "empty.json": "", "blank.json": "\n \n", "array.json": "[ ]",
	} {
		scantest.WriteFile(t, dir, name, pack(t, text, name))
	}
	for _, c := range []struct {
		names, schema string
		opt           Options
		rows          int
	}{
		{"empty.csv", "column0 utf8", Options{}, 0},
		{"blank.csv", "column0 utf8", Options{}, 0},
		{"mark.csv", "column0 utf8", Options{}, 0},
		{"empty.csv.gz blank.csv", "column0 utf8", Options{}, 0},
		{"empty.csv", "a utf8, b int64", Options{CSV: csv.Options{Names: []string{"a", "b"},
			Types: map[string]arrow.DataType{"b": arrow.PrimitiveTypes.Int64}}}, 0},
		{"a.csv empty.csv blank.csv empty.csv.gz", "k int64, v int64", Options{}, 1},
		{"empty.csv.gz empty.csv blank.csv a.csv a.csv", "k int64, v int64", Options{}, 2},
		{"b.csv empty.csv c.csv", "k int64, v int64", Options{}, 2}, // compressed, without the endings
		{"empty.csv header.csv a.csv", "v int64, k int64", Options{}, 1},
		{"empty.json", "json utf8", Options{}, 0},
		{"array.json blank.json", "json utf8", Options{}, 0},
		{"empty.json array.json a.json blank.json", "k int64, v int64", Options{}, 1},
	} {
		var paths []string
		for _, name := range strings.Fields(c.names) {
			paths = append(paths, filepath.Join(dir, name))
		}
		src := mustOpen(t, c.opt, paths...)
		if got := scantest.SchemaText(src.Schema()); got != c.schema {
			t.Errorf("%s: columns %s, want %s", c.names, got, c.schema)
		}
		rows, err := scantest.ReadAll(src, []int{0}, scan.OpenOptions{})
		if err != nil || len(rows) != c.rows {
			t.Errorf("%s: %d rows, %v; want %d", c.names, len(rows), err, c.rows)
		}
	}
}
