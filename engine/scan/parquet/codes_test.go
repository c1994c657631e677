package parquet

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/internal/reserve"
	"github.com/mpga/mpga/engine/scan/internal/scantest"
	"github.com/mpga/mpga/internal/vfs"
)

// nullPatterns say which rows are NULL. "required" is a column that cannot have any.
var nullPatterns = []struct {
	name   string
	isNull func(row int) bool
}{
	{"required", func(int) bool { return false }},
	{"none", func(int) bool { return false }},
	{"all", func(int) bool { return true }},
	{"alternating", func(row int) bool { return row%2 == 0 }},
	{"long runs", func(row int) bool { return row/300%2 == 1 }},
	{"scattered", func(row int) bool { return row*row%7 == 3 }},
	{"last", func(row int) bool { return row%1000 == 999 }},
}

// codesBatch has a column for each NULL pattern and type; half of them repeat a value some times.
func codesBatch(t testing.TB, rows, distinct int) arrow.RecordBatch {
	t.Helper()
	types := []arrow.DataType{arrow.BinaryTypes.String, arrow.BinaryTypes.LargeString, arrow.BinaryTypes.Binary, arrow.BinaryTypes.LargeBinary}
	var fields []arrow.Field
	var columns []arrow.Array
	for i, pattern := range nullPatterns {
		typ := types[i%len(types)]
		builder := array.NewBuilder(memory.DefaultAllocator, typ)
		for row := range rows {
			if pattern.isNull(row) {
				builder.AppendNull()
				continue
			}
			value := row
			if i%2 == 1 {
				value = row / 40
			}
			value = value * 7919 % distinct // prime: all values occur
			text := strings.Repeat("x", value%5) + fmt.Sprint(value)
			switch builder := builder.(type) {
			case interface{ Append(string) }:
				builder.Append(text)
			case interface{ Append([]byte) }:
				builder.Append([]byte(text))
			}
		}
		fields = append(fields, arrow.Field{Name: pattern.name, Type: typ, Nullable: pattern.name != "required"})
		columns = append(columns, builder.NewArray())
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, int64(rows))
}

// encodeCodes writes a Parquet file of which each page holds codes, which by default a small one
// does not.
func encodeCodes(t testing.TB, groupRows int64, batch arrow.RecordBatch, opts ...parquet.WriterProperty) []byte {
	t.Helper()
	opts = append(opts, parquet.WithDictionaryPageSizeLimit(1<<30))
	for _, f := range batch.Schema().Fields() {
		opts = append(opts, parquet.WithDictionaryCostFallbackFor(f.Name, false))
	}
	return scantest.EncodeParquet(t, groupRows, []arrow.RecordBatch{batch}, opts...)
}

// readParts reads all columns of a file, as codes or by pqarrow.
func readParts(t testing.TB, path string, codes bool, opt scan.OpenOptions) (rows []string) {
	t.Helper()
	readColumns(t, path, opt, func(field arrow.Field, column *partColumn) {
		if !column.codes {
			t.Fatalf("column %s, %s, is not read as codes", field.Name, field.Type)
		}
		column.flat, column.codes = codes, codes
	}, func(batch arrow.RecordBatch) {
		for _, column := range batch.Columns() {
			if nulls := countNulls(column); nulls != column.NullN() {
				t.Fatalf("a batch of %d NULLs says that it has %d", nulls, column.NullN())
			}
		}
		rows = append(rows, scantest.BatchRowsText(batch)...)
		batch.Release()
	})
	return rows
}

func countNulls(a arrow.Array) (n int) {
	for i := range a.Len() {
		if a.IsNull(i) {
			n++
		}
	}
	return n
}

// Codes are what pqarrow reads and what was written, however pages, runs and batches meet.
func TestParquetCodes(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, and slow under the race detector")
	}
	codecs := []compress.Compression{compress.Codecs.Snappy, compress.Codecs.Uncompressed, compress.Codecs.Zstd}
	files := 0
	for _, version := range []parquet.DataPageVersion{parquet.DataPageV1, parquet.DataPageV2} {
		for _, rows := range []int{1, 7, 8, 9, 63, 64, 65, 1500} {
			for _, distinct := range []int{1, 3, 100} {
				for _, pageBytes := range []int64{1, 100, 1 << 20} {
					files++
					codec := codecs[files%len(codecs)]
					batch := codesBatch(t, rows, distinct)
					data := encodeCodes(t, 1000, batch, parquet.WithCompression(codec), parquet.WithDataPageVersion(version),
						parquet.WithDataPageSize(pageBytes), parquet.WithBatchSize(37))
					path := scantest.WriteFile(t, t.TempDir(), "f.parquet", data)
					want := scantest.BatchRowsText(batch)
					scantest.SameRows(t, readParts(t, path, false, scan.OpenOptions{}), want)
					for _, batchRows := range []int{1, 7, 1000, 65536} {
						mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
						got := readParts(t, path, true, scan.OpenOptions{Allocator: mem, BatchRows: batchRows, Borrow: scantest.Lend(files % 2)})
						mem.AssertSize(t, 0)
						scantest.SameRows(t, got, want)
						if t.Failed() {
							t.Fatalf("version %d, %d rows, %d distinct, pages of %d B, %s, batches of %d", version, rows, distinct, pageBytes, codec, batchRows)
						}
					}
				}
			}
		}
	}
}

// DuckDB lists the encodings of a chunk, not those of its pages.
func TestParquetCodesOfDuckDB(t *testing.T) {
	want := make([]string, 2000)
	for i := range want {
		some := fmt.Sprint("s", i%10)
		if i%3 == 0 {
			some = "NULL"
		}
		want[i] = fmt.Sprintf("%s|const|x%d|NULL|%d-%d", some, i/100, i, i)
	}
	for _, path := range []string{"testdata/duckdb_v1.parquet", "testdata/duckdb_v2.parquet"} {
		in, err := Open(vfs.OS, path, reserve.New(reserve.GoHeap, nil))
		if err != nil {
			t.Fatal(err)
		}
		parts, err := in.Parts(context.Background(), scantest.AllColumns(in.Schema()))
		if err != nil {
			t.Fatal(err)
		}
		for i, codes := range []bool{true, true, true, false, false} {
			if parts[0].(*groupPart).columns[i].codes != codes {
				t.Errorf("%s, column %q: codes %v, want %v", path, in.Schema().Field(i).Name, !codes, codes)
			}
		}
		rows, err := scantest.ReadAll(openTable(t, path), scantest.AllColumns(in.Schema()), scan.OpenOptions{BatchRows: 700})
		if err != nil {
			t.Fatal(err)
		}
		scantest.SameRows(t, rows, want)
	}
}

// Codes of up to 17 bits.
func TestParquetCodesMany(t *testing.T) {
	const rows = 100_003
	for i, distinct := range []int{200, 5000, 40_000, 100_000} {
		if testing.Short() && i%3 != 0 {
			continue // the fewest and the most bits stay
		}
		batch := codesBatch(t, rows, distinct)
		data := encodeCodes(t, rows, batch, parquet.WithDataPageSize(100_000))
		mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
		got := readParts(t, scantest.WriteFile(t, t.TempDir(), "f.parquet", data), true, scan.OpenOptions{Allocator: mem})
		mem.AssertSize(t, 0)
		scantest.SameRows(t, got, scantest.BatchRowsText(batch))
	}
}

// appendPage writes a page as a chunk that is not compressed has it.
func appendPage(chunk []byte, p page) []byte {
	var header []headerField
	size := len(p.levels) + len(p.data)
	switch p.kind {
	case pageDictionary:
		header = []headerField{{1, int(p.kind)}, {2, size}, {3, size}, {7, []headerField{{1, p.values}, {2, int(p.encoding)}}}}
	case pageV1:
		header = []headerField{{1, int(p.kind)}, {2, size}, {3, size}, {5, []headerField{{1, p.values}, {2, int(p.encoding)}, {3, int(p.levelEncoding)}}}}
	case pageV2:
		header = []headerField{{1, int(p.kind)}, {2, size}, {3, size}, {8, []headerField{{1, p.values}, {4, int(p.encoding)}, {5, len(p.levels)}, {6, 0}}}}
	}
	return slices.Concat(appendHeader(chunk, header), p.levels, p.data)
}

// plainStrings are strings as a plain page has them.
func plainStrings(values ...string) (data []byte) {
	for _, v := range values {
		data = append(binary.LittleEndian.AppendUint32(data, uint32(len(v))), v...)
	}
	return data
}

func dictionaryOfStrings(entries int, values ...string) page {
	return rawDictionary(entries, plainStrings(values...), parquet.Encodings.Plain)
}

func rawDictionary(entries int, data []byte, encoding parquet.Encoding) page {
	return page{kind: pageDictionary, values: entries, encoding: encoding, data: data}
}

func codesV1(values int, levels []byte, codes ...byte) page {
	data := append(binary.LittleEndian.AppendUint32(nil, uint32(len(levels))), levels...)
	return rawV1(values, append(data, codes...), parquet.Encodings.RLEDict, parquet.Encodings.RLE)
}

func rawV1(values int, data []byte, encoding, levelEncoding parquet.Encoding) page {
	return page{kind: pageV1, values: values, encoding: encoding, levelEncoding: levelEncoding, data: data}
}

func codesV2(values int, levels []byte, codes ...byte) page {
	return page{kind: pageV2, values: values, encoding: parquet.Encodings.RLEDict, levels: levels, data: codes}
}

// readPages reads pages of an optional column until rows have been read, n at once.
func readPages(t testing.TB, typ arrow.DataType, rows, n int, pages ...page) (got []string, err error) {
	t.Helper()
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	return readValues(newStringCodes(typ, mem), mem, rows, n, pages...)
}

// readValues reads pages as readPages does, as values of any kind.
func readValues(values columnValues, mem memory.Allocator, rows, n int, pages ...page) (got []string, err error) {
	var chunk []byte
	for _, p := range pages {
		chunk = appendPage(chunk, p)
	}
	c := &flatColumn{
		pages:  newChunkPages(bytes.NewReader(chunk), 0, int64(len(chunk)), compress.Codecs.Uncompressed, 0, 1, reserve.New(mem, nil)),
		values: values, levelMax: 1, mem: mem,
	}
	defer func() { err = errors.Join(err, c.close()) }()
	for len(got) < rows {
		a, err := c.read(context.Background(), int64(min(n, rows-len(got))), nil)
		if err != nil {
			return got, err
		}
		for i := range a.Len() {
			got = append(got, scantest.ValueText(a, i))
		}
		a.Release()
	}
	return got, nil
}

// What writers may write, though arrow-go's does not.
func TestCodesPages(t *testing.T) {
	repeats := dictionaryOfStrings(3, "a", "b", "a")
	cases := []struct {
		name  string
		pages []page
		want  string
	}{
		{"entries that repeat", []page{repeats, codesV1(4, []byte{8, 1}, 2, 3, 0b00_01_10_00, 0)}, "a a b a"},
		{"values first, then none", []page{repeats, codesV1(2, []byte{4, 1}, 2, 4, 1), codesV1(2, []byte{4, 0})}, "b b NULL NULL"},
		{"no dictionary, all NULL", []page{codesV1(2, []byte{4, 0}), codesV2(1, []byte{2, 0})}, "NULL NULL NULL"},
		{"pages of no row", []page{repeats, codesV1(0, nil), codesV2(0, []byte{}), codesV2(1, []byte{2, 1}, 2, 2, 1)}, "b"},
		{"width 0 without runs", []page{repeats, codesV1(3, []byte{3, 0b101}, 0)}, "a NULL a"},
		{"an empty dictionary", []page{dictionaryOfStrings(0), codesV1(1, []byte{2, 0}, 0)}, "NULL"},
		{"bytes behind the dictionary", []page{dictionaryOfStrings(1, "é", "rest"), codesV1(1, []byte{2, 1}, 1, 2, 0)}, "é"},
	}
	for _, typ := range []arrow.DataType{arrow.BinaryTypes.String, arrow.BinaryTypes.LargeString} {
		for _, c := range cases {
			want := strings.Fields(c.want)
			for _, n := range []int{1, 3, 100} {
				if got, err := readPages(t, typ, len(want), n, c.pages...); err != nil || !slices.Equal(got, want) {
					t.Errorf("%s: got %v, %v; want %v", c.name, got, err, want)
				}
			}
		}
	}
}

// S3: what a page claims and does not hold gives an error that says so.
func TestCodesPagesCorrupt(t *testing.T) {
	good := dictionaryOfStrings(2, "a", "b")
	rle, coded := parquet.Encodings.RLE, parquet.Encodings.RLEDict
	cases := []struct {
		name  string
		pages []page
		want  string
	}{
		{"no page", nil, "fewer rows"},
		{"rows missing", []page{good, codesV1(1, []byte{2, 1}, 1, 2, 0)}, "fewer rows"},
		{"dictionary encoding", []page{rawDictionary(0, nil, parquet.Encodings.DeltaByteArray)}, "DELTA_BYTE_ARRAY"},
		{"too many entries", []page{rawDictionary(1<<30, make([]byte, 8), parquet.Encodings.Plain)}, "8 B with 1073741824 entries"},
		{"an entry too many", []page{dictionaryOfStrings(2, "abcd")}, "a page of 8 B that ends before its last string"},
		{"a long entry", []page{rawDictionary(1, []byte{0xff, 0xff, 0xff, 0xff, 'a'}, parquet.Encodings.Plain)}, "a string of 4294967295 B in a page that has 1 B more"},
		{"two dictionaries", []page{good, good}, "second dictionary"},
		{"a late dictionary", []page{codesV1(1, []byte{2, 0}), good}, "second dictionary"},
		{"a plain page", []page{good, rawV1(2, []byte{2, 0, 0, 0, 4, 1, 1, 4, 0}, parquet.Encodings.Plain, rle)}, "PLAIN"},
		{"no levels", []page{good, rawV1(2, []byte{1, 0, 0}, coded, rle)}, "3 B, without definition levels"},
		{"long levels", []page{good, rawV1(2, []byte{6, 0, 0, 0xff, 4, 1, 1, 4, 0}, coded, rle)}, "levels of 4278190086 B"},
		{"level encoding", []page{good, rawV1(2, []byte{2, 0, 0, 0, 4, 1, 1, 4, 0}, coded, parquet.Encodings.BitPacked)}, "BIT_PACKED"},
		{"levels end", []page{good, codesV1(2, []byte{2, 1}, 1, 4, 0)}, "definition levels of a page: it ends"},
		{"a level of 2", []page{good, codesV1(2, []byte{4, 2}, 1, 4, 0)}, "a level of 2"},
		{"width", []page{good, codesV1(2, []byte{4, 1}, 33, 4, 0)}, "33 bits"},
		{"no codes", []page{good, codesV1(2, []byte{4, 1})}, "codes of a page: it ends"},
		{"codes end", []page{good, codesV1(2, []byte{4, 1}, 1, 2, 0)}, "codes of a page: it ends"},
		{"code", []page{good, codesV1(2, []byte{4, 1}, 2, 4, 2)}, "code 2 of a dictionary of 2 entries"},
		{"width 0, no entry", []page{dictionaryOfStrings(0), codesV1(2, []byte{4, 1}, 0)}, "code 0 of a dictionary of 0 entries"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := readPages(t, arrow.BinaryTypes.String, 2, 2, c.pages...)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		})
	}
}

// placePattern is the place of a damaged page, or of a damaged string.
var placePattern = regexp.MustCompile(`f\.parquet, row (group )?\d+[:,].*column "`)

// S3: the error of a damaged page names the row group, and the error of a damaged string the row.
func TestParquetCodesDamaged(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, and slow under the race detector")
	}
	batch := codesBatch(t, 300, 50)
	data := encodeCodes(t, 200, batch, parquet.WithCompression(compress.Codecs.Uncompressed), parquet.WithDataPageSize(100))
	located, step := 0, max(len(data)/500, 1)
	for at := 0; at < len(data); at += step {
		changed := bytes.Clone(data)
		changed[at] ^= 0xFF
		src, err := tableOf(scantest.WriteFile(t, t.TempDir(), "f.parquet", changed))
		if err != nil || src.Stats().Rows != 300 {
			continue
		}
		mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
		_, err = scantest.ReadAll(src, scantest.AllColumns(src.Schema()), scan.OpenOptions{Allocator: mem})
		mem.AssertSize(t, 0)
		if err == nil {
			continue
		}
		if text := err.Error(); placePattern.MatchString(text) {
			located++
		} else {
			t.Errorf("byte %d: %v", at, err)
		}
	}
	if located < 25 {
		t.Errorf("only %d errors", located)
	}
}

// The axes are the number of distinct strings, by which codes have 1 to 17 bits, and NULLs.
func BenchmarkParquetCodes(b *testing.B) {
	const rows = 1 << 20
	for _, distinct := range []int{2, 100, 5000, 100_000} {
		batch := codesBatch(b, rows, distinct)
		data := encodeCodes(b, rows, batch, parquet.WithCompression(compress.Codecs.Snappy))
		src := openTable(b, scantest.WriteFile(b, b.TempDir(), "f.parquet", data))
		for i, pattern := range nullPatterns {
			b.Run(fmt.Sprintf("distinct=%d/nulls=%s", distinct, pattern.name), func(b *testing.B) { scantest.BenchScan(b, src, []int{i}, 0) })
		}
	}
}
