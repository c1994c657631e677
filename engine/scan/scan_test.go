package scan

import (
	"bytes"
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
	"github.com/apache/arrow-go/v18/arrow/compute"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// allColumns lists the columns of a schema.
func allColumns(s *arrow.Schema) []int {
	columns := make([]int, s.NumFields())
	for i := range columns {
		columns[i] = i
	}
	return columns
}

// readAll reads columns of a source into one row per line of text, in input order. It checks what
// every source promises: schemas, row counts, positions.
func readAll(src Source, columns []int, opt OpenOptions) (rows []string, err error) {
	splits, err := src.Splits(context.Background(), columns)
	if err != nil {
		return nil, err
	}
	var next uint64 // the least position that the next row may have
	for _, s := range splits {
		if s.Position() < next {
			return nil, fmt.Errorf("%s: position %d, where rows before have up to %d", s.Name(), s.Position(), next)
		}
		n, err := readSplit(s, opt, &rows)
		if err != nil {
			return rows, err
		}
		if s.Rows() >= 0 && n != s.Rows() {
			return nil, fmt.Errorf("%s: %d rows, promised %d", s.Name(), n, s.Rows())
		}
		next = s.Position() + uint64(n)
	}
	return rows, nil
}

// rowsReadMax bounds what tests read: corrupt input may have any number of rows that take no bytes.
const rowsReadMax = 1 << 20

var errManyRows = errors.New("more rows than a test reads: columns of type null take no bytes")

func readSplit(s Split, opt OpenOptions, rows *[]string) (n int64, err error) {
	r, err := s.Open(context.Background(), opt)
	if err != nil {
		return 0, err
	}
	defer r.Release()
	opt.EnsureDefaults()
	for r.Next() {
		b := r.RecordBatch()
		if b.NumRows() == 0 || b.NumRows() > int64(opt.BatchRows) {
			return n, fmt.Errorf("%s: a batch of %d rows, wanted at most %d", s.Name(), b.NumRows(), opt.BatchRows)
		}
		for c, column := range b.Columns() {
			if err := checkType(column.DataType(), r.Schema().Field(c).Type); err != nil {
				return n, fmt.Errorf("%s: %w", s.Name(), err)
			}
		}
		for i := range int(b.NumRows()) {
			*rows = append(*rows, rowText(b, i))
		}
		if n += b.NumRows(); n > rowsReadMax {
			return n, errManyRows
		}
	}
	return n, r.Err()
}

// checkType is S1.
func checkType(got, want arrow.DataType) error {
	if d, ok := got.(*arrow.DictionaryType); ok {
		if d.IndexType.ID() != arrow.INT32 || !mayHaveCodes(want.ID()) {
			return fmt.Errorf("a batch has %s where the schema has %s", got, want)
		}
		got = d.ValueType
	}
	if !arrow.TypeEqual(got, want) && !IsViewOf(got, want) {
		return fmt.Errorf("a batch has %s where the schema has %s", got, want)
	}
	return nil
}

func rowText(b arrow.RecordBatch, i int) string {
	fields := make([]string, b.NumCols())
	for c, column := range b.Columns() {
		fields[c] = valueText(column, i)
	}
	return strings.Join(fields, "|")
}

func valueText(a arrow.Array, i int) string {
	if a.IsNull(i) {
		return "NULL"
	}
	switch a := a.(type) {
	case *array.Dictionary:
		return valueText(a.Dictionary(), a.GetValueIndex(i))
	case array.ExtensionArray:
		return valueText(a.Storage(), i)
	}
	return a.ValueStr(i)
}

// batchRows returns the rows of batches as readAll does.
func batchRowsText(batches ...arrow.RecordBatch) (rows []string) {
	for _, b := range batches {
		for i := range int(b.NumRows()) {
			rows = append(rows, rowText(b, i))
		}
	}
	return rows
}

func sameRows(t *testing.T, got, want []string) {
	t.Helper()
	if slices.Equal(got, want) {
		return
	}
	if len(got) != len(want) {
		t.Errorf("%d rows, want %d", len(got), len(want))
	}
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Fatalf("row %d: got %q, want %q", i, got[i], want[i])
		}
	}
}

// mustOpen opens paths with the zero options.
func mustOpen(t testing.TB, opt Options, patterns ...string) Source {
	t.Helper()
	src, err := Open(context.Background(), patterns, opt)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// writeFile writes a file into a fresh directory, folders of its name included.
func writeFile(t testing.TB, dir, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// testTypes is a column of each type; every column holds NULLs, extremes and repeated values.
var testTypes = []struct {
	typ    arrow.DataType
	values []string
}{
	{arrow.PrimitiveTypes.Int8, []string{"-128", "127", "0"}},
	{arrow.PrimitiveTypes.Int16, []string{"-32768", "32767", "7"}},
	{arrow.PrimitiveTypes.Int32, []string{"-2147483648", "2147483647", "7"}},
	{arrow.PrimitiveTypes.Int64, []string{"-9223372036854775808", "9223372036854775807", "7"}},
	{arrow.PrimitiveTypes.Uint8, []string{"0", "255", "200"}},
	{arrow.PrimitiveTypes.Uint16, []string{"0", "65535", "40000"}},
	{arrow.PrimitiveTypes.Uint32, []string{"0", "4294967295", "3000000000"}},
	{arrow.PrimitiveTypes.Uint64, []string{"0", "18446744073709551615", "9"}},
	{arrow.FixedWidthTypes.Float16, []string{"1.5", "-2", "0"}},
	{arrow.PrimitiveTypes.Float32, []string{"1.5", "-2.25e10", "NaN"}},
	{arrow.PrimitiveTypes.Float64, []string{"1.5", "-2.25e100", "+Inf"}},
	{arrow.FixedWidthTypes.Boolean, []string{"true", "false", "true"}},
	{arrow.BinaryTypes.String, []string{"", "a", "a longer string, of more than 12 bytes"}},
	{arrow.BinaryTypes.LargeString, []string{"", "b", "another string of more than 12 bytes"}},
	{arrow.BinaryTypes.Binary, []string{"AAE=", "", "/w=="}},
	{arrow.BinaryTypes.LargeBinary, []string{"AAE=", "", "/w=="}},
	{&arrow.FixedSizeBinaryType{ByteWidth: 3}, []string{"AAEC", "AAAA", "////"}},
	{arrow.FixedWidthTypes.Date32, []string{"1969-12-31", "2024-02-29", "1970-01-01"}},
	{arrow.FixedWidthTypes.Time32ms, []string{"23:59:59.999", "00:00:00", "12:30:00"}},
	{arrow.FixedWidthTypes.Time64us, []string{"23:59:59.999999", "00:00:00", "12:30:00"}},
	{arrow.FixedWidthTypes.Time64ns, []string{"23:59:59.999999999", "00:00:00", "12:30:00"}},
	{&arrow.TimestampType{Unit: arrow.Millisecond}, []string{"2024-02-29 12:00:00.123", "1969-12-31 23:59:59", "1970-01-01 00:00:00"}},
	{&arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "Europe/Berlin"}, []string{"2024-02-29 12:00:00.123456Z", "1969-12-31 23:59:59Z", "1970-01-01 00:00:00Z"}},
	{&arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "UTC"}, []string{"2024-02-29 12:00:00.123456789Z", "1969-12-31 23:59:59Z", "1970-01-01 00:00:00Z"}},
	{arrow.FixedWidthTypes.Duration_us, []string{"5us", "-5us", "9000000us"}},
	{&arrow.Decimal128Type{Precision: 7, Scale: 2}, []string{"12345.67", "-0.01", "0"}},
	{&arrow.Decimal128Type{Precision: 15, Scale: 2}, []string{"1234567890123.45", "-0.01", "0"}},
	{&arrow.Decimal128Type{Precision: 38, Scale: 10}, []string{"1234567890123456789012345678.0123456789", "-0.01", "0"}},
	{&arrow.Decimal256Type{Precision: 50, Scale: 2}, []string{"123456789012345678901234567890123456789012345678.25", "-0.01", "0"}},
}

// typesBatch returns rows of every type of testTypes.
func typesBatch(t testing.TB, rows int, types ...arrow.DataType) arrow.RecordBatch {
	t.Helper()
	var fields []arrow.Field
	var columns []arrow.Array
	for i, tt := range testTypes {
		if len(types) > 0 && !slices.ContainsFunc(types, func(o arrow.DataType) bool { return arrow.TypeEqual(o, tt.typ) }) {
			continue
		}
		b := array.NewBuilder(memory.DefaultAllocator, tt.typ)
		for r := range rows {
			if (r+i)%5 == 4 {
				b.AppendNull()
				continue
			}
			if err := b.AppendValueFromString(tt.values[(r/3+i)%len(tt.values)]); err != nil {
				t.Fatalf("%s: %v", tt.typ, err)
			}
		}
		fields = append(fields, arrow.Field{Name: fmt.Sprintf("c%d", i), Type: tt.typ, Nullable: true})
		columns = append(columns, b.NewArray())
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, int64(rows))
}

// encodeParquet writes batches, each as a row group of the given rows.
func encodeParquet(t testing.TB, groupRows int64, batches []arrow.RecordBatch, opts ...parquet.WriterProperty) []byte {
	t.Helper()
	var buf bytes.Buffer
	opts = append([]parquet.WriterProperty{parquet.WithMaxRowGroupLength(groupRows), parquet.WithVersion(parquet.V2_LATEST)}, opts...)
	w, err := pqarrow.NewFileWriter(batches[0].Schema(), &buf, parquet.NewWriterProperties(opts...),
		pqarrow.NewArrowWriterProperties(pqarrow.WithStoreSchema()))
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range batches {
		for at := int64(0); at < b.NumRows(); at += groupRows {
			if err := w.Write(b.NewSlice(at, min(at+groupRows, b.NumRows()))); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// encodeArrow writes an IPC file, or a stream.
func encodeArrow(t testing.TB, stream bool, batches []arrow.RecordBatch, opts ...ipc.Option) []byte {
	t.Helper()
	var buf bytes.Buffer
	opts = append([]ipc.Option{ipc.WithSchema(batches[0].Schema())}, opts...)
	write := func(w interface {
		Write(arrow.RecordBatch) error
		Close() error
	}) {
		for _, b := range batches {
			if err := w.Write(b); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if stream {
		write(ipc.NewWriter(&buf, opts...))
	} else {
		w, err := ipc.NewFileWriter(&buf, opts...)
		if err != nil {
			t.Fatal(err)
		}
		write(w)
	}
	return buf.Bytes()
}

// toDictionary encodes a string column by codes of the given type.
func toDictionary(t testing.TB, a arrow.Array, codes arrow.DataType) arrow.Array {
	t.Helper()
	encoded, err := compute.DictionaryEncodeArray(context.Background(), compute.DictionaryEncodeOptions{}, a)
	if err != nil {
		t.Fatal(err)
	}
	d := encoded.(*array.Dictionary)
	indices, err := compute.CastArray(context.Background(), d.Indices(), compute.SafeCastOptions(codes))
	if err != nil {
		t.Fatal(err)
	}
	return array.NewDictionaryArray(&arrow.DictionaryType{IndexType: codes, ValueType: a.DataType()}, indices, d.Dictionary())
}
