package scantest

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/compute"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"golang.org/x/sync/semaphore"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/internal/delivery"
	"github.com/mpga/mpga/internal/budget"
	"github.com/mpga/mpga/internal/mem"
	"github.com/mpga/mpga/internal/nested"
)

// AllColumns lists the columns of a schema, structs apart whose fields are columns.
func AllColumns(s *arrow.Schema) (columns []int) {
	for i, f := range s.Fields() {
		if _, isNested := f.Type.(*nested.Type); !isNested || scan.StructOf(f) != f.Name && !scan.IsHidden(f) {
			columns = append(columns, i)
		}
	}
	return columns
}

// ReadAll reads columns of a source into one row per line of text, in input order. It checks what
// every source promises: schemas, row counts, positions.
func ReadAll(src scan.Source, columns []int, opt scan.OpenOptions) (rows []string, err error) {
	splits, err := src.Splits(context.Background(), columns)
	if err != nil {
		return nil, err
	}
	var next uint64 // the least position that the next row may have
	for _, s := range splits {
		if s.Position() < next {
			return nil, fmt.Errorf("%s: position %d, where rows before have up to %d", s.Name(), s.Position(), next)
		}
		n, err := ReadSplit(s, opt, &rows)
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

// RowsReadMax bounds how many rows tests read: corrupt input may have any number without bytes.
const RowsReadMax = 1 << 20

// ErrManyRows is ReadSplit's error for a split of more than RowsReadMax rows.
var ErrManyRows = errors.New("more rows than a test reads: columns of type null take no bytes")

// ReadSplit appends the rows of a split to rows, as RowText, and returns how many they are. Batches
// that are empty, too long or not of the schema's types are errors.
func ReadSplit(s scan.Split, opt scan.OpenOptions, rows *[]string) (n int64, err error) {
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
			*rows = append(*rows, RowText(b, i))
		}
		if n += b.NumRows(); n > RowsReadMax {
			return n, ErrManyRows
		}
	}
	return n, r.Err()
}

// checkType is S1.
func checkType(got, want arrow.DataType) error {
	if d, ok := got.(*arrow.DictionaryType); ok {
		if d.IndexType.ID() != arrow.INT32 || !delivery.MayHaveCodes(want.ID()) {
			return fmt.Errorf("a batch has %s where the schema has %s", got, want)
		}
		got = d.ValueType
	}
	if !arrow.TypeEqual(got, want) && !scan.IsViewOf(got, want) {
		return fmt.Errorf("a batch has %s where the schema has %s", got, want)
	}
	return nil
}

// RowText returns row i of a batch: its values as ValueText, with | between them.
func RowText(b arrow.RecordBatch, i int) string {
	fields := make([]string, b.NumCols())
	for c, column := range b.Columns() {
		fields[c] = ValueText(column, i)
	}
	return strings.Join(fields, "|")
}

// ValueText returns value i of an array: NULL, or the array's own text of the value that a code or
// an extension stands for.
func ValueText(a arrow.Array, i int) string {
	if a.IsNull(i) {
		return "NULL"
	}
	switch a := a.(type) {
	case *array.Dictionary:
		return ValueText(a.Dictionary(), a.GetValueIndex(i))
	case array.ExtensionArray:
		return ValueText(a.Storage(), i)
	}
	return a.ValueStr(i)
}

// BatchRowsText returns the rows of batches as ReadAll does.
func BatchRowsText(batches ...arrow.RecordBatch) (rows []string) {
	for _, b := range batches {
		for i := range int(b.NumRows()) {
			rows = append(rows, RowText(b, i))
		}
	}
	return rows
}

// SameRows fails the test unless got is want; it shows the first row that differs.
func SameRows(t *testing.T, got, want []string) {
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

// WriteFile writes a file into a fresh directory, folders of its name included.
func WriteFile(t testing.TB, dir, name string, data []byte) string {
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

// TestTypes is a column of each type; every column holds NULLs, extremes and repeated values.
var TestTypes = []struct {
	Type   arrow.DataType
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

// TypesBatch returns rows of every type of TestTypes.
func TypesBatch(t testing.TB, rows int, types ...arrow.DataType) arrow.RecordBatch {
	t.Helper()
	var fields []arrow.Field
	var columns []arrow.Array
	for i, tt := range TestTypes {
		if len(types) > 0 && !slices.ContainsFunc(types, func(o arrow.DataType) bool { return arrow.TypeEqual(o, tt.Type) }) {
			continue
		}
		b := array.NewBuilder(memory.DefaultAllocator, tt.Type)
		for r := range rows {
			if (r+i)%5 == 4 {
				b.AppendNull()
				continue
			}
			if err := b.AppendValueFromString(tt.values[(r/3+i)%len(tt.values)]); err != nil {
				t.Fatalf("%s: %v", tt.Type, err)
			}
		}
		fields = append(fields, arrow.Field{Name: fmt.Sprintf("c%d", i), Type: tt.Type, Nullable: true})
		columns = append(columns, b.NewArray())
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, int64(rows))
}

// EncodeParquet writes batches, each as a row group of the given rows.
func EncodeParquet(t testing.TB, groupRows int64, batches []arrow.RecordBatch, opts ...parquet.WriterProperty) []byte {
	t.Helper()
	var buf bytes.Buffer
	opts = append([]parquet.WriterProperty{parquet.WithMaxRowGroupLength(groupRows),
		parquet.WithVersion(parquet.V2_LATEST)}, opts...)
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

// EncodeArrow writes an IPC file, or a stream.
func EncodeArrow(t testing.TB, stream bool, batches []arrow.RecordBatch, opts ...ipc.Option) []byte {
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

// ToDictionary encodes a string column by codes of the given type.
func ToDictionary(t testing.TB, a arrow.Array, codes arrow.DataType) arrow.Array {
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
	return array.NewDictionaryArray(&arrow.DictionaryType{IndexType: codes, ValueType: a.DataType()},
		indices, d.Dictionary())
}

var seedFlag = flag.Uint64("seed", 0, "seed of random tests; 0 takes the time")

// NewRand returns random numbers by -seed, or by the time, and prints the command that repeats them.
func NewRand(t testing.TB) *rand.Rand {
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	// at once: a panic of another goroutine drops what a test has logged
	fmt.Printf("again: go test -run '^%s$' -seed=%d\n", t.Name(), seed)
	return rand.New(rand.NewPCG(seed, 1))
}

// IpcBatches has every type, string views, and dictionaries of several code types.
func IpcBatches(t testing.TB, n, rows int) []arrow.RecordBatch {
	var batches []arrow.RecordBatch
	for i := range n {
		b := TypesBatch(t, rows+i)
		fields, columns := b.Schema().Fields(), b.Columns()
		view := array.NewStringViewBuilder(memory.DefaultAllocator)
		strs := array.NewStringBuilder(memory.DefaultAllocator)
		ints := array.NewInt64Builder(memory.DefaultAllocator)
		for r := range rows + i {
			view.Append(fmt.Sprint(strings.Repeat("v", r%20), r))
			strs.Append(fmt.Sprint("s", r%5))
			ints.Append(int64(r % 3))
		}
		ss := strs.NewArray()
		for _, a := range []arrow.Array{view.NewArray(), ToDictionary(t, ss, arrow.PrimitiveTypes.Int8),
			ToDictionary(t, ss, arrow.PrimitiveTypes.Int32), ToDictionary(t, ints.NewArray(), arrow.PrimitiveTypes.Uint16)} {
			fields = append(fields, arrow.Field{Name: fmt.Sprint("d", len(fields)), Type: a.DataType(), Nullable: true})
			columns = append(columns, a)
		}
		batches = append(batches, array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, int64(rows+i)))
	}
	return batches
}

// ParquetBatch has every type that pqarrow writes.
func ParquetBatch(t testing.TB, rows int) arrow.RecordBatch {
	t.Helper()
	return TypesBatch(t, rows, parquetTypes()...)
}

// parquetTypes are the types that pqarrow writes: all of TestTypes but durations.
func parquetTypes() (types []arrow.DataType) {
	for _, tt := range TestTypes {
		if tt.Type.ID() != arrow.DURATION {
			types = append(types, tt.Type)
		}
	}
	return types
}

// SortedTable has a column "at" that rises, five columns that are to be aggregated, and "key",
// whose values are spread over the whole table.
func SortedTable(rows int) arrow.RecordBatch {
	fields := []arrow.Field{{Name: "at", Type: arrow.PrimitiveTypes.Int64}}
	at := array.NewInt64Builder(memory.DefaultAllocator)
	for i := range rows {
		at.Append(int64(i))
	}
	columns := []arrow.Array{at.NewArray()}
	for c := range 5 {
		v := array.NewFloat64Builder(memory.DefaultAllocator)
		for i := range rows {
			v.Append(float64(i*(c+7)%104729) / 8)
		}
		columns = append(columns, v.NewArray())
		fields = append(fields, arrow.Field{Name: fmt.Sprintf("v%d", c), Type: arrow.PrimitiveTypes.Float64})
	}
	key := array.NewStringBuilder(memory.DefaultAllocator)
	for i := range rows {
		key.Append(fmt.Sprintf("key-%d", i*7919%rows/2*2)) // even numbers
	}
	columns = append(columns, key.NewArray())
	fields = append(fields, arrow.Field{Name: "key", Type: arrow.BinaryTypes.String})
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, int64(rows))
}

// OneOf keeps the rows whose value in column 0, a 64-bit integer, is in the list.
type OneOf []int64

// Columns implements scan.RowFilter: column 0.
func (OneOf) Columns() []int { return []int{0} }

// Select implements scan.RowFilter.
func (list OneOf) Select(_ context.Context, batch arrow.RecordBatch, selected []byte) (rows int, err error) {
	for i, v := range batch.Column(0).(*array.Int64).Int64Values() {
		if slices.Contains(list, v) {
			bitutil.SetBit(selected, i)
			rows++
		}
	}
	return rows, nil
}

// TightBudget is a scan.Budget that refuses bytes for which its limit has no room, and at times
// bytes for which it has.
type TightBudget struct {
	mu       sync.Mutex
	Rng      *rand.Rand
	Limit    int64
	Reserved int64
	Refusals int // how many more reservations are refused although there is room
	Refused  int // how many have been refused

	Slack int64 // bytes that a reader takes without asking
}

// Unasked returns how many bytes a reader takes without asking.
func (b *TightBudget) Unasked() int64 { return b.Slack }

func (b *TightBudget) ask(bytes int64) error {
	refuse := b.Refusals > 0 && b.Rng.IntN(4) == 0
	if refuse {
		b.Refusals--
	}
	if refuse || b.Reserved+bytes > b.Limit {
		b.Refused++
		return ErrTight
	}
	return nil
}

// Reserve implements scan.Budget.
func (b *TightBudget) Reserve(bytes int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	err := b.ask(bytes)
	if err == nil {
		b.Reserved += bytes
	}
	return err
}

// Unreserve implements scan.Budget.
func (b *TightBudget) Unreserve(bytes int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.Reserved -= bytes
}

// Room implements scan.Budget.
func (b *TightBudget) Room(bytes int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ask(bytes)
}

// ErrTight is the error of a TightBudget that refuses bytes.
var ErrTight = errors.New("no room")

// TextArray returns values of a type, written as text.
func TextArray(t *testing.T, typ arrow.DataType, values ...string) arrow.Array {
	t.Helper()
	b := array.NewBuilder(memory.DefaultAllocator, typ)
	for _, v := range values {
		if err := b.AppendValueFromString(v); err != nil {
			t.Fatal(err)
		}
	}
	return b.NewArray()
}

// BenchScan reads the columns of a file by one thread.
func BenchScan(b *testing.B, src scan.Source, columns []int, bytes int64) {
	b.Helper()
	var rows int64
	m := mem.NewMemory(1 << 30) // as an engine has: fresh memory is cleared, and costs more than decoding a simple column
	defer m.Close()
	opt := scan.OpenOptions{Allocator: budget.NewBlocks(m, 0)}
	for b.Loop() {
		splits, err := src.Splits(context.Background(), columns)
		if err != nil {
			b.Fatal(err)
		}
		for _, s := range splits {
			r, err := s.Open(context.Background(), opt)
			if err != nil {
				b.Fatal(err)
			}
			for r.Next() {
				rows += r.RecordBatch().NumRows()
			}
			if err := r.Err(); err != nil {
				b.Fatal(err)
			}
			r.Release()
		}
	}
	if bytes > 0 {
		b.SetBytes(bytes)
	}
	b.ReportMetric(float64(rows)/b.Elapsed().Seconds()/1e6, "Mrows/s")
}

// SchemaText returns the names and types of a schema's fields, with commas between them.
func SchemaText(s *arrow.Schema) string {
	var fields []string
	for _, f := range s.Fields() {
		fields = append(fields, fmt.Sprint(f.Name, " ", f.Type))
	}
	return strings.Join(fields, ", ")
}

// Lend is scan.OpenOptions.Borrow of n threads.
func Lend(n int) func() (give func(), ok bool) {
	free := semaphore.NewWeighted(int64(n))
	return func() (func(), bool) { return func() { free.Release(1) }, free.TryAcquire(1) }
}
