package tests

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/csv"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/engine/sink"
	"github.com/mpga/mpga/internal/grouptest"
	"github.com/mpga/mpga/tests/oracle"
)

// input is a way in which a table comes to the engine.
type input struct {
	name  string
	types []arrow.DataType // that survive it
	noNUL bool             // it takes a zero byte for a sign of corruption
	open  func(t *testing.T, rng *rand.Rand, dir string, schema *arrow.Schema, batches []arrow.RecordBatch) scan.Source
}

// inputs lists every way.
func inputs() []input {
	all := append(grouptest.Types(), grouptest.DictionaryTypes()...)
	return []input{
		{"memory", all, false, openMemory},
		{"parquet", filter(all, inParquet), false, openParquet},
		{"arrow", all, false, openArrow},
		{"arrows", all, false, openArrowStream},
		{"csv", filter(all, inCSV), true, openCSV},
		{"json", filter(all, inCSV), false, openJSON},
	}
}

func filter(types []arrow.DataType, keep func(arrow.DataType) bool) []arrow.DataType {
	var kept []arrow.DataType
	for _, dt := range types {
		if keep(dt) {
			kept = append(kept, dt)
		}
	}
	return kept
}

// inParquet reports whether a Parquet file gives a column back in its type. Parquet knows no
// seconds and no views, and of dictionaries only those of strings.
func inParquet(dt arrow.DataType) bool {
	switch dt := dt.(type) {
	case *arrow.Decimal32Type, *arrow.Decimal64Type, *arrow.DurationType, *arrow.Date64Type, *arrow.StringViewType, *arrow.BinaryViewType:
		return false
	case *arrow.Time32Type:
		return dt.Unit != arrow.Second
	case *arrow.TimestampType:
		return dt.Unit != arrow.Second
	case *arrow.DictionaryType:
		return dt.ValueType.ID() == arrow.STRING
	}
	return true
}

// inCSV reports whether text gives a column back in its type.
func inCSV(dt arrow.DataType) bool {
	switch dt.ID() {
	case arrow.BOOL, arrow.INT8, arrow.INT16, arrow.INT32, arrow.INT64, arrow.UINT8, arrow.UINT16, arrow.UINT32, arrow.UINT64,
		arrow.FLOAT32, arrow.FLOAT64, arrow.STRING, arrow.DATE32, arrow.DECIMAL128:
		return true
	}
	return false
}

// table makes a random table that comes through the way as it is.
func (w *input) table(rng *rand.Rand) (*arrow.Schema, []arrow.RecordBatch) {
	schema, batches := grouptest.RandomTable(rng, grouptest.RandomRows(rng), w.types...)
	if w.noNUL {
		for i, b := range batches {
			batches[i] = withoutNUL(b)
		}
	}
	return schema, batches
}

// withoutNUL writes the picture of a zero byte for each.
func withoutNUL(b arrow.RecordBatch) arrow.RecordBatch {
	columns := make([]arrow.Array, b.NumCols())
	for c, column := range b.Columns() {
		cells := make([]any, column.Len())
		for i := range cells {
			cells[i] = grouptest.Value(column, i)
			if text, ok := cells[i].(string); ok {
				cells[i] = strings.ReplaceAll(text, "\x00", "\u2400")
			}
		}
		columns[c] = grouptest.Array(column.DataType(), cells)
	}
	return grouptest.Batch(b.Schema(), columns...)
}

func openMemory(_ *testing.T, _ *rand.Rand, _ string, schema *arrow.Schema, batches []arrow.RecordBatch) scan.Source {
	return scan.Batches(schema, batches)
}

// openParquet writes one or two files of random codec, pages and row groups.
func openParquet(t *testing.T, rng *rand.Rand, dir string, schema *arrow.Schema, batches []arrow.RecordBatch) scan.Source {
	cut := rng.IntN(len(batches) + 1)
	for i, part := range [][]arrow.RecordBatch{batches[:cut], batches[cut:]} {
		rows := int64(0)
		for _, b := range part {
			rows += b.NumRows()
		}
		pages := []parquet.DataPageVersion{parquet.DataPageV1, parquet.DataPageV2}
		codecs := []compress.Compression{compress.Codecs.Uncompressed, compress.Codecs.Snappy, compress.Codecs.Zstd, compress.Codecs.Gzip, compress.Codecs.Brotli, compress.Codecs.Lz4Raw}
		codec, page := codecs[rng.IntN(len(codecs))], pages[rng.IntN(len(pages))]
		if codec == compress.Codecs.Brotli {
			page = parquet.DataPageV1 // arrow-go 18.8 does not read back its own brotli page of no bytes: version 2, only NULLs
		}
		props := parquet.NewWriterProperties(
			parquet.WithCompression(codec),
			parquet.WithDictionaryDefault(rng.IntN(3) > 0),
			parquet.WithDataPageVersion(page),
			parquet.WithDataPageSize(int64(1)<<(8+rng.IntN(12))),
			parquet.WithDictionaryPageSizeLimit(int64(1)<<(6+rng.IntN(14))),
			parquet.WithStats(rng.IntN(4) > 0),
			parquet.WithMaxRowGroupLength(1+rows/int64(1+rng.IntN(4))))
		file := filepath.Join(dir, []string{"a.parquet", "b.parquet"}[i])
		if err := oracle.WriteParquet(file, schema, part, props); err != nil {
			t.Fatal(err)
		}
	}
	return openFiles(t, dataset.Options{}, filepath.Join(dir, "*.parquet"))
}

// openArrow writes an IPC file.
func openArrow(t *testing.T, _ *rand.Rand, dir string, schema *arrow.Schema, batches []arrow.RecordBatch) scan.Source {
	file := filepath.Join(dir, "t.arrow")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, err := ipc.NewFileWriter(f, ipc.WithSchema(schema))
	if err != nil {
		t.Fatal(err)
	}
	// A file has one dictionary for a column; a stream may replace it.
	for _, b := range sameDictionaries(schema, batches) {
		if err := w.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return openFiles(t, dataset.Options{}, file)
}

// sameDictionaries makes one batch of all rows.
func sameDictionaries(schema *arrow.Schema, batches []arrow.RecordBatch) []arrow.RecordBatch {
	var columns []arrow.Array
	for c, f := range schema.Fields() {
		var cells []any
		for _, b := range batches {
			for row := range int(b.NumRows()) {
				cells = append(cells, grouptest.Value(b.Column(c), row))
			}
		}
		columns = append(columns, grouptest.Array(f.Type, cells))
	}
	whole := grouptest.Batch(schema, columns...)
	half := whole.NumRows() / 2
	return []arrow.RecordBatch{whole.NewSlice(0, half), whole.NewSlice(half, whole.NumRows())}
}

func openArrowStream(t *testing.T, _ *rand.Rand, dir string, schema *arrow.Schema, batches []arrow.RecordBatch) scan.Source {
	file := filepath.Join(dir, "t.arrows")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := ipc.NewWriter(f, ipc.WithSchema(schema))
	for _, b := range batches {
		if err := w.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return openFiles(t, dataset.Options{}, file)
}

func openCSV(t *testing.T, rng *rand.Rand, dir string, schema *arrow.Schema, batches []arrow.RecordBatch) scan.Source {
	way := []struct {
		file   string
		format dataset.Format
	}{{"t.csv", dataset.FormatCSV}, {"t.tsv", dataset.FormatTSV}, {"t.csv.gz", dataset.FormatCSV}, {"t.csv.zst", dataset.FormatCSV}}[rng.IntN(4)]
	return writeText(t, filepath.Join(dir, way.file), way.format, schema, batches)
}

// openJSON writes JSON lines, which are read back with the types that are given.
func openJSON(t *testing.T, rng *rand.Rand, dir string, schema *arrow.Schema, batches []arrow.RecordBatch) scan.Source {
	return writeText(t, filepath.Join(dir, []string{"t.json", "t.ndjson", "t.jsonl.gz", "t.json.zst"}[rng.IntN(4)]), dataset.FormatJSON, schema, batches)
}

// writeText writes a text file, and opens it with the types that are given.
func writeText(t *testing.T, file string, format dataset.Format, schema *arrow.Schema, batches []arrow.RecordBatch) scan.Source {
	w, err := sink.Create(t.Context(), file, schema, sink.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range batches {
		if err := w.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	types := make(map[string]arrow.DataType)
	for _, f := range schema.Fields() {
		types[f.Name] = f.Type
	}
	return openFiles(t, dataset.Options{
		Format: format, CSV: csv.Options{Header: csv.HeaderYes, Types: types}, Readers: new(dataset.Readers), // of JSON, too
	}, file)
}

func openFiles(t *testing.T, opt dataset.Options, patterns ...string) scan.Source {
	t.Helper()
	src, err := dataset.Open(context.Background(), patterns, opt)
	if err != nil {
		t.Fatal(err)
	}
	return src
}
