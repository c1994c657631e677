package sink

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/mpga/mpga/engine/sink/adapt"
	"github.com/mpga/mpga/engine/sink/sinktest"
)

// writeAll writes batches to a new file of that name in a temporary directory.
func writeAll(t testing.TB, name string, opt Options, schema *arrow.Schema, batches ...arrow.RecordBatch) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	w, err := Create(t.Context(), path, schema, opt)
	sinktest.Check(t, err)
	for _, b := range batches {
		sinktest.Check(t, w.Write(b))
	}
	sinktest.Check(t, w.Commit())
	sinktest.Check(t, w.Abort()) // has no effect any more
	return path
}

// sizes are numbers of rows around the edges of row groups of 64 rows, and empty batches.
var sizes = [][]int{{}, {0}, {1}, {63, 1}, {64}, {65}, {10, 0, 300, 1}}

func randomBatches(t testing.TB, schema *arrow.Schema, sizes []int) []arrow.RecordBatch {
	r := rand.New(rand.NewPCG(1, uint64(len(sizes))))
	var batches []arrow.RecordBatch
	for _, n := range sizes {
		b := sinktest.RandomBatch(t, schema, n+2, r)
		batches = append(batches, b.NewSlice(1, int64(n)+1)) // with an offset
	}
	return batches
}

// Catches a value that Parquet gets wrong or that its adapted type changes: what is read must be
// the rows in their adapted types, and the rows per group exact.
func TestParquetRoundTrip(t *testing.T) {
	schema := sinktest.SchemaOf(sinktest.AllTypes())
	adapter := &adapt.Adapter{Parquet: true, Allocator: memory.DefaultAllocator}
	for _, rows := range sizes {
		batches := randomBatches(t, schema, rows)
		path := writeAll(t, "x.parquet", Options{RowGroupRows: 64, Codec: "zstd"}, schema, batches...)
		f, err := file.OpenParquetFile(path, false)
		sinktest.Check(t, err)
		for g := range f.NumRowGroups() - 1 {
			if n := f.RowGroup(g).NumRows(); n != 64 {
				t.Errorf("%v: row group %d of %d has %d rows", rows, g, f.NumRowGroups(), n)
			}
		}
		r, err := pqarrow.NewFileReader(f, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
		sinktest.Check(t, err)
		got, err := r.ReadTable(context.Background())
		sinktest.Check(t, err)
		sinktest.Check(t, f.Close())
		to, err := adapter.Schema(schema)
		sinktest.Check(t, err)
		for i, b := range batches {
			batches[i], err = adapter.Batch(to, b)
			sinktest.Check(t, err)
		}
		sinktest.CompareTables(t, array.NewTableFromRecords(to, batches), got)
	}
}

// Catches lost zones, which live in the Arrow schema only.
func TestParquetKeepsArrowTypes(t *testing.T) {
	types := []arrow.DataType{
		&arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "Asia/Tokyo"}, arrow.BinaryTypes.LargeString,
	}
	schema := sinktest.SchemaOf(types)
	path := writeAll(t, "x.parquet", Options{}, schema, randomBatches(t, schema, []int{5})...)
	f, err := file.OpenParquetFile(path, false)
	sinktest.Check(t, err)
	defer f.Close()
	r, err := pqarrow.NewFileReader(f, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	sinktest.Check(t, err)
	got, err := r.Schema()
	sinktest.Check(t, err)
	for i, want := range types {
		if !arrow.TypeEqual(got.Field(i).Type, want) {
			t.Errorf("%s, want %s", got.Field(i).Type, want)
		}
	}
}

// Catches an IPC file that cannot hold changing dictionaries, and types lost on a stream.
func TestArrowRoundTrip(t *testing.T) {
	schema := sinktest.SchemaOf(sinktest.AllTypes())
	for _, name := range []string{"x.arrow", "x.arrows"} {
		for _, codec := range []string{"none", "lz4", "zstd"} {
			for _, rows := range sizes {
				batches := randomBatches(t, schema, rows)
				path := writeAll(t, name, Options{Codec: codec}, schema, batches...)
				data, err := os.ReadFile(path)
				sinktest.Check(t, err)
				want := batches
				if name == "x.arrow" {
					a := &adapt.Adapter{Allocator: memory.DefaultAllocator}
					to, err := a.Schema(schema)
					sinktest.Check(t, err)
					for i := range want {
						want[i], err = a.Batch(to, batches[i])
						sinktest.Check(t, err)
					}
				}
				got := readArrow(t, name, data)
				if len(got) != len(want) {
					t.Fatalf("%s: %d batches, want %d", name, len(got), len(want))
				}
				for i := range want {
					w := array.NewTableFromRecords(want[i].Schema(), want[i:i+1])
					sinktest.CompareTables(t, w, array.NewTableFromRecords(got[i].Schema(), got[i:i+1]))
					if !got[i].Schema().Equal(want[i].Schema()) {
						t.Errorf("%s: schema %s, want %s", name, got[i].Schema(), want[i].Schema())
					}
				}
			}
		}
	}
}

func readArrow(t *testing.T, name string, data []byte) (batches []arrow.RecordBatch) {
	t.Helper()
	if name == "x.arrow" {
		r, err := ipc.NewFileReader(bytes.NewReader(data))
		sinktest.Check(t, err)
		for i := range r.NumRecords() {
			b, err := r.RecordBatch(i)
			sinktest.Check(t, err)
			b.Retain()
			batches = append(batches, b)
		}
		return batches
	}
	r, err := ipc.NewReader(bytes.NewReader(data))
	sinktest.Check(t, err)
	for r.Next() {
		b := r.RecordBatch()
		b.Retain()
		batches = append(batches, b)
	}
	sinktest.Check(t, r.Err())
	return batches
}

// Catches fields that another reader splits or joins, and numbers that do not read back.
func TestCSVReadsBack(t *testing.T) {
	schema := sinktest.SchemaOf(sinktest.AllTypes())
	for _, name := range []string{"x.csv", "x.tsv"} {
		for _, rows := range sizes {
			batches := randomBatches(t, schema, rows)
			data, err := os.ReadFile(writeAll(t, name, Options{}, schema, batches...))
			sinktest.Check(t, err)
			r := csv.NewReader(bytes.NewReader(data))
			if name == "x.tsv" {
				r.Comma = '\t'
			}
			lines, err := r.ReadAll()
			sinktest.Check(t, err)
			if len(lines) == 0 || strings.Join(lines[0], " ") != names(schema) {
				t.Fatalf("header %q", lines)
			}
			lines = lines[1:]
			for _, b := range batches {
				for row := range int(b.NumRows()) {
					checkFields(t, b, row, lines[0])
					lines = lines[1:]
				}
			}
			if len(lines) > 0 {
				t.Errorf("%d lines too many", len(lines))
			}
		}
	}
}

func names(schema *arrow.Schema) string {
	var names []string
	for _, f := range schema.Fields() {
		names = append(names, f.Name)
	}
	return strings.Join(names, " ")
}

// checkFields compares a row's text with what the arrays' own conversion from text makes of it.
func checkFields(t *testing.T, b arrow.RecordBatch, row int, fields []string) {
	t.Helper()
	for i, text := range fields {
		arr := b.Column(i)
		if arr.IsNull(row) {
			if text != "" {
				t.Errorf("%s: NULL as %q", arr.DataType(), text)
			}
			continue
		}
		switch arr := arr.(type) {
		case *array.String:
			// The reader of encoding/csv turns \r\n into \n, also in quotes.
			if want := strings.ReplaceAll(arr.Value(row), "\r\n", "\n"); text != want {
				t.Errorf("%q, want %q", text, want)
			}
		case *array.Int64, *array.Uint64, *array.Float64, *array.Float32, *array.Decimal128, *array.Decimal64,
			*array.Decimal32, *array.Decimal256, *array.Date32, *array.Time64:
			back := array.NewBuilder(memory.DefaultAllocator, arr.DataType())
			if err := back.AppendValueFromString(strings.Replace(text, "Infinity", "Inf", 1)); err != nil {
				t.Errorf("%s: %q: %v", arr.DataType(), text, err)
				continue
			}
			if got := back.NewArray().ValueStr(0); got != arr.ValueStr(row) {
				t.Errorf("%s: %q reads as %s, want %s", arr.DataType(), text, got, arr.ValueStr(row))
			}
		case *array.List:
			if len(text) < 2 || text[0] != '[' || text[len(text)-1] != ']' {
				t.Errorf("%s: %q is no list", arr.DataType(), text)
			}
		}
	}
}

// Catches lines that are not JSON, and values that Arrow's own reader takes for others.
func TestJSONReadsBack(t *testing.T) {
	types := []arrow.DataType{
		arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Uint64, arrow.PrimitiveTypes.Int8, arrow.BinaryTypes.String,
		arrow.FixedWidthTypes.Boolean, arrow.FixedWidthTypes.Date32, arrow.BinaryTypes.Binary,
		arrow.ListOf(arrow.PrimitiveTypes.Int32), arrow.ListOf(arrow.BinaryTypes.String),
		&arrow.Decimal128Type{Precision: 12, Scale: 2}, &arrow.TimestampType{Unit: arrow.Microsecond},
	}
	schema := sinktest.SchemaOf(types)
	batches := randomBatches(t, schema, []int{500})
	data, err := os.ReadFile(writeAll(t, "x.ndjson", Options{}, schema, batches...))
	sinktest.Check(t, err)
	got, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, bytes.NewReader(data), array.WithMultipleDocs())
	sinktest.Check(t, err)
	for i := range types {
		if !array.Equal(batches[0].Column(i), got.Column(i)) {
			t.Errorf("column %s:\n%s\nwant\n%s", types[i], got.Column(i), batches[0].Column(i))
		}
	}

	schema = sinktest.SchemaOf(sinktest.AllTypes())
	data, err = os.ReadFile(writeAll(t, "x.json", Options{}, schema, randomBatches(t, schema, []int{200})...))
	sinktest.Check(t, err)
	for line := range bytes.Lines(data) {
		if !json.Valid(line) {
			t.Fatalf("not JSON: %s", line)
		}
	}
}
