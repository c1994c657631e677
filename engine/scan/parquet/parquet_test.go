package parquet_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/engine/scan/internal/opentest"
	"github.com/mpga/mpga/engine/scan/internal/scantest"
)

// Other writers store a duration as an integer, whose type only the Arrow schema beside it tells.
func TestParquetDuration(t *testing.T) {
	batch := scantest.TypesBatch(t, 50, arrow.FixedWidthTypes.Duration_us)
	ints := array.NewData(arrow.PrimitiveTypes.Int64, 50, batch.Column(0).Data().Buffers(), nil, batch.Column(0).NullN(), 0)
	schema := arrow.NewSchema([]arrow.Field{{Name: batch.ColumnName(0), Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)
	var buf bytes.Buffer
	w, err := pqarrow.NewFileWriter(schema, &buf, parquet.NewWriterProperties(), pqarrow.DefaultWriterProps())
	if err != nil {
		t.Fatal(err)
	}
	arrowSchema := base64.StdEncoding.EncodeToString(scantest.EncodeArrow(t, true, []arrow.RecordBatch{batch.NewSlice(0, 0)}))
	if err := errors.Join(
		w.AppendKeyValueMetadata("ARROW:schema", arrowSchema),
		w.Write(array.NewRecordBatch(schema, []arrow.Array{array.MakeFromData(ints)}, 50)),
		w.Close()); err != nil {
		t.Fatal(err)
	}
	src := opentest.MustOpenFiles(t, dataset.Options{}, scantest.WriteFile(t, t.TempDir(), "f.parquet", buf.Bytes()))
	rows, err := scantest.ReadAll(src, []int{0}, scan.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	scantest.SameRows(t, rows, scantest.BatchRowsText(batch))
}

// A wrong label or width would turn a type's values into others.
func TestParquetTypesAndCodecs(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, and slow under the race detector")
	}
	batch := scantest.ParquetBatch(t, 1000)
	want := scantest.BatchRowsText(batch)
	codecs := map[string]compress.Compression{"none": compress.Codecs.Uncompressed, "snappy": compress.Codecs.Snappy,
		"gzip": compress.Codecs.Gzip, "brotli": compress.Codecs.Brotli, "zstd": compress.Codecs.Zstd, "lz4_raw": compress.Codecs.Lz4Raw}
	for name, codec := range codecs {
		for _, dictionary := range []bool{true, false} {
			for _, page := range []parquet.DataPageVersion{parquet.DataPageV1, parquet.DataPageV2} {
				t.Run(fmt.Sprintf("%s, dictionary %v, page %d", name, dictionary, page), func(t *testing.T) {
					data := scantest.EncodeParquet(t, 300, []arrow.RecordBatch{batch}, parquet.WithCompression(codec),
						parquet.WithDictionaryDefault(dictionary), parquet.WithDataPageVersion(page), parquet.WithDataPageSize(512))
					src := opentest.MustOpenFiles(t, dataset.Options{}, scantest.WriteFile(t, t.TempDir(), "f.parquet", data))
					for _, threads := range []int{1, 4} {
						mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
						rows, err := scantest.ReadAll(src, scantest.AllColumns(src.Schema()), scan.OpenOptions{Allocator: mem, BatchRows: 128, Borrow: scantest.Lend(threads - 1)})
						if err != nil {
							t.Fatal(err)
						}
						scantest.SameRows(t, rows, want)
						mem.AssertSize(t, 0)
					}
				})
			}
		}
	}
}

func TestParquetDeltaEncodings(t *testing.T) {
	cases := []struct {
		encoding parquet.Encoding
		types    []arrow.DataType
	}{
		{parquet.Encodings.DeltaBinaryPacked, []arrow.DataType{arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64, arrow.FixedWidthTypes.Date32, arrow.PrimitiveTypes.Int8}},
		{parquet.Encodings.DeltaByteArray, []arrow.DataType{arrow.BinaryTypes.String, arrow.BinaryTypes.LargeBinary}},
		{parquet.Encodings.DeltaLengthByteArray, []arrow.DataType{arrow.BinaryTypes.LargeString, arrow.BinaryTypes.Binary}},
		{parquet.Encodings.ByteStreamSplit, []arrow.DataType{arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64}},
	}
	for _, c := range cases {
		t.Run(c.encoding.String(), func(t *testing.T) {
			batch := scantest.TypesBatch(t, 1000, c.types...)
			data := scantest.EncodeParquet(t, 700, []arrow.RecordBatch{batch}, parquet.WithEncoding(c.encoding), parquet.WithDictionaryDefault(false))
			src := opentest.MustOpenFiles(t, dataset.Options{}, scantest.WriteFile(t, t.TempDir(), "f.parquet", data))
			mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
			defer mem.AssertSize(t, 0)
			rows, err := scantest.ReadAll(src, scantest.AllColumns(src.Schema()), scan.OpenOptions{Allocator: mem})
			if err != nil {
				t.Fatal(err)
			}
			scantest.SameRows(t, rows, scantest.BatchRowsText(batch))
		})
	}
}

// Codes must survive where every page has them, be one dictionary per split (S5), and not be made
// where a page is plain.
func TestParquetDictionaries(t *testing.T) {
	rows := 5000
	few, many := array.NewStringBuilder(memory.DefaultAllocator), array.NewLargeStringBuilder(memory.DefaultAllocator)
	for i := range rows {
		few.Append(fmt.Sprint("value ", i%7))
		many.Append(fmt.Sprint("a value that fills the dictionary ", i))
	}
	columns := []arrow.Array{few.NewArray(), many.NewArray()}
	schema := arrow.NewSchema([]arrow.Field{{Name: "few", Type: arrow.BinaryTypes.String}, {Name: "many", Type: arrow.BinaryTypes.LargeString}}, nil)
	batch := array.NewRecordBatch(schema, columns, int64(rows))
	data := scantest.EncodeParquet(t, 5000, []arrow.RecordBatch{batch}, parquet.WithDictionaryPageSizeLimit(4096), parquet.WithDataPageSize(4096))
	src := opentest.MustOpenFiles(t, dataset.Options{}, scantest.WriteFile(t, t.TempDir(), "f.parquet", data))
	splits, err := src.Splits(context.Background(), []int{0, 1})
	if err != nil {
		t.Fatal(err)
	}
	r, err := splits[0].Open(context.Background(), scan.OpenOptions{BatchRows: 1024})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	var dictionary arrow.ArrayData
	for r.Next() {
		d, ok := r.RecordBatch().Column(0).(*array.Dictionary)
		if !ok {
			t.Fatalf("few: %s, want a dictionary", r.RecordBatch().Column(0).DataType())
		}
		if dictionary == nil {
			dictionary = d.Dictionary().Data()
		} else if dictionary != d.Dictionary().Data() {
			t.Error("few: a second dictionary in one split")
		}
		if _, ok := r.RecordBatch().Column(1).(*array.StringView); !ok {
			t.Errorf("many: %s, want its values", r.RecordBatch().Column(1).DataType())
		}
	}
	if r.Err() != nil {
		t.Fatal(r.Err())
	}
	got, err := scantest.ReadAll(src, []int{0, 1}, scan.OpenOptions{BatchRows: 1000})
	if err != nil {
		t.Fatal(err)
	}
	scantest.SameRows(t, got, scantest.BatchRowsText(batch))
}

// Numbers come as codes where rows share them, and as values where the dictionary would be as long
// as the column: a consumer would do its work twice.
func TestParquetNumberCodes(t *testing.T) {
	const rows = 1000
	few, many := array.NewInt32Builder(memory.DefaultAllocator), array.NewFloat64Builder(memory.DefaultAllocator)
	for i := range int32(rows) {
		few.Append(i % 250)
		many.Append(float64(i % 251))
	}
	schema := arrow.NewSchema([]arrow.Field{{Name: "few", Type: arrow.PrimitiveTypes.Int32}, {Name: "many", Type: arrow.PrimitiveTypes.Float64}}, nil)
	batch := array.NewRecordBatch(schema, []arrow.Array{few.NewArray(), many.NewArray()}, rows)
	src := opentest.MustOpenFiles(t, dataset.Options{}, scantest.WriteFile(t, t.TempDir(), "f.parquet", scantest.EncodeParquet(t, rows, []arrow.RecordBatch{batch})))
	splits, err := src.Splits(context.Background(), []int{0, 1})
	if err != nil {
		t.Fatal(err)
	}
	r, err := splits[0].Open(context.Background(), scan.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	if !r.Next() {
		t.Fatal(r.Err())
	}
	if d, ok := r.RecordBatch().Column(0).(*array.Dictionary); !ok || d.Dictionary().Len() != 250 {
		t.Errorf("few: %v, want 250 values as codes", r.RecordBatch().Column(0).DataType())
	}
	if _, ok := r.RecordBatch().Column(1).(*array.Float64); !ok {
		t.Errorf("many: %v, want values", r.RecordBatch().Column(1).DataType())
	}
}

// A broken promise here makes an engine use a table that is too small, or skip its null checks.
func TestParquetStats(t *testing.T) {
	batch := scantest.TypesBatch(t, 20, arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Int8, arrow.FixedWidthTypes.Date32, arrow.PrimitiveTypes.Uint64)
	src := opentest.MustOpenFiles(t, dataset.Options{}, scantest.WriteFile(t, t.TempDir(), "f.parquet", scantest.EncodeParquet(t, 7, []arrow.RecordBatch{batch})))
	stats := src.Stats()
	want := map[string]scan.ColumnStats{
		"int8":   {HasRange: true, Min: -128, Max: 127, Tight: true},
		"uint32": {HasRange: true, Min: 0, Max: 4294967295, Tight: true},
		"uint64": {}, // a value above int64
		"date32": {HasRange: true, Min: -1, Max: 19782, Tight: true},
	}
	if stats.Rows != 20 {
		t.Errorf("rows: got %d, want 20", stats.Rows)
	}
	for i, f := range src.Schema().Fields() {
		if got := stats.Columns[i]; got != want[f.Type.Name()] {
			t.Errorf("%s: got %+v, want %+v", f.Type, got, want[f.Type.Name()])
		}
	}
}

// S3: whatever is cut off or changed, the process lives and the error names the file.
func TestParquetDamaged(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, and slow under the race detector")
	}
	batch := scantest.ParquetBatch(t, 200)
	data := scantest.EncodeParquet(t, 100, []arrow.RecordBatch{batch}, parquet.WithCompression(compress.Codecs.Snappy))
	step := max(len(data)/400, 1)
	for cut := 0; cut < len(data); cut += step {
		if _, err := opentest.ReadBytes(t, data[:cut], "f.parquet"); err == nil {
			t.Errorf("cut to %d of %d B: no error", cut, len(data))
		} else if !strings.Contains(err.Error(), "f.parquet") {
			t.Errorf("cut to %d B: the error names no file: %v", cut, err)
		}
	}
	for at := 0; at < len(data); at += step {
		changed := bytes.Clone(data)
		changed[at] ^= 0xFF
		_, _ = opentest.ReadBytes(t, changed, "f.parquet") // right, wrong or an error: a page has no checksum; but no panic
	}
}

// Small seeds: the fuzzer changes a byte that matters sooner, and shrinks them faster.
func FuzzParquet(f *testing.F) {
	for _, types := range [][]arrow.DataType{
		{arrow.PrimitiveTypes.Int64}, {arrow.BinaryTypes.String}, {arrow.FixedWidthTypes.Boolean, arrow.FixedWidthTypes.Date32},
		{&arrow.Decimal128Type{Precision: 38, Scale: 10}},
	} {
		batch := []arrow.RecordBatch{scantest.TypesBatch(f, 10, types...)}
		f.Add(scantest.EncodeParquet(f, 10, batch))
		f.Add(scantest.EncodeParquet(f, 10, batch, parquet.WithCompression(compress.Codecs.Snappy), parquet.WithDictionaryDefault(false)))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _ = opentest.ReadBytes(t, data, "f.parquet")
	})
}
