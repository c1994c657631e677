package parquet

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/engine/scan/internal/reserve"
	"github.com/mpga/mpga/engine/scan/internal/scantest"
	"github.com/mpga/mpga/internal/vfs"
)

// splitOf returns the encoding of the values of a type other than plain and by dictionary. Differences
// are not among them: arrow-go's writer panics at a page without values that follows a page with some.
func splitOf(t arrow.DataType) parquet.Encoding {
	switch t.ID() {
	case arrow.STRING, arrow.LARGE_STRING, arrow.BINARY, arrow.LARGE_BINARY, arrow.BOOL:
		return parquet.Encodings.Plain
	}
	return parquet.Encodings.ByteStreamSplit
}

// What flatColumn reads of the fields of structs is what was written and what pqarrow reads, in
// pages of both versions and of several encodings, whatever is NULL at which level.
func TestParquetNestedFlat(t *testing.T) {
	rng := scantest.NewRand(t)
	for _, encoding := range []string{"plain", "dictionary", "split"} {
		for _, version := range []parquet.DataPageVersion{parquet.DataPageV1, parquet.DataPageV2} {
			rows := []int{0, 1, 63, 500, 900}[rng.IntN(5)]
			nested, flat := scantest.Nest(rng, flatBatch(t, rng, rows, 1+rng.IntN(60), false, func(i int) bool { return i%7 == 3 }))
			opts := []parquet.WriterProperty{parquet.WithDataPageVersion(version), parquet.WithDictionaryDefault(encoding == "dictionary"),
				parquet.WithDataPageSize(int64(1 + rng.IntN(3000))), parquet.WithBatchSize(int64(1 + rng.IntN(300))),
				parquet.WithCompression([]compress.Compression{compress.Codecs.Uncompressed, compress.Codecs.Snappy}[rng.IntN(2)])}
			for i, path := range scantest.LeafPaths(nested.Schema()) {
				if encoding == "split" {
					opts = append(opts, parquet.WithEncodingFor(path, splitOf(flat.Schema().Field(i).Type)))
				}
			}
			data := scantest.EncodeParquet(t, int64(1+rng.IntN(800)), []arrow.RecordBatch{nested}, opts...)
			path := scantest.WriteFile(t, t.TempDir(), "f.parquet", data)
			want := scantest.BatchRowsText(flat)
			for _, ours := range []bool{true, false} {
				mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
				batches := readAs(t, path, ours, scan.OpenOptions{Allocator: mem, BatchRows: 1 + rng.IntN(1000), Borrow: scantest.Lend(rng.IntN(2))})
				scantest.SameRows(t, scantest.BatchRowsText(batches...), want)
				release(batches)
				mem.AssertSize(t, 0)
			}
			if t.Failed() {
				t.Fatalf("%s, version %d, %d rows, %s", encoding, version, rows, nested.Schema())
			}
		}
	}
}

// Devices know one level of NULLs: pages of more are the CPU's, and described so.
func TestNestedPages(t *testing.T) {
	batch := scantest.TypesBatch(t, 50, arrow.PrimitiveTypes.Int64)
	wrap := func(nullable bool) string {
		of := arrow.StructOf(batch.Schema().Field(0))
		schema := arrow.NewSchema([]arrow.Field{{Name: "s", Type: of, Nullable: nullable}}, nil)
		data := array.NewData(of, 50, []*memory.Buffer{nil}, []arrow.ArrayData{batch.Column(0).Data()}, 0, 0)
		structs := array.NewRecordBatch(schema, []arrow.Array{array.NewStructData(data)}, 50)
		return scantest.WriteFile(t, t.TempDir(), "f.parquet", scantest.EncodeParquet(t, 50, []arrow.RecordBatch{structs}))
	}
	for _, nullable := range []bool{true, false} {
		in, err := Open(vfs.OS, wrap(nullable), reserve.New(reserve.GoHeap, nil))
		if err != nil {
			t.Fatal(err)
		}
		parts, err := in.Parts(t.Context(), []int{0})
		if err != nil {
			t.Fatal(err)
		}
		_, err = parts[0].(decode.PagedPart).PagedColumns()
		info := []ColumnInfo{{Type: in.Schema().Field(0).Type}}
		in.Describe(info)
		if want := map[bool]OnDevice{true: DeviceNo, false: DeviceYes}[nullable]; (err != nil) != nullable || info[0].OnDevice != want {
			t.Errorf("nullable %t: pages %v, on devices %q", nullable, err, info[0].OnDevice)
		}
	}
}
