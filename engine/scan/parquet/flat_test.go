package parquet

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/decimal256"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/engine/scan/internal/reserve"
	"github.com/mpga/mpga/engine/scan/internal/scantest"
	"github.com/mpga/mpga/internal/vfs"
)

// flatBatch has a column of each type, with NULLs by one pattern; values are random, and repeat or
// not.
func flatBatch(t testing.TB, rng *rand.Rand, rows, distinct int, required bool, isNull func(int) bool) arrow.RecordBatch {
	t.Helper()
	var fields []arrow.Field
	var columns []arrow.Array
	for i, tt := range scantest.TestTypes {
		if tt.Type.ID() == arrow.DURATION { // pqarrow does not write it
			continue
		}
		builder := array.NewBuilder(memory.DefaultAllocator, tt.Type)
		for row := range rows {
			if isNull(row) {
				builder.AppendNull()
			} else if err := appendNumber(builder, rng.IntN(distinct)); err != nil {
				t.Fatalf("%s: %v", tt.Type, err)
			}
		}
		fields = append(fields, arrow.Field{Name: fmt.Sprint("c", i), Type: tt.Type, Nullable: !required})
		columns = append(columns, builder.NewArray())
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, int64(rows))
}

// appendNumber appends a value of the builder's type that stands for n.
func appendNumber(builder array.Builder, n int) error {
	sign := int64(1 - n%2*2)
	switch b := builder.(type) {
	case *array.Decimal128Builder:
		typ := b.Type().(*arrow.Decimal128Type)
		number := decimal128.FromI64(sign * int64(n))
		if typ.Precision > 18 {
			number = number.Mul(decimal128.FromU64(1 << 61))
		}
		b.Append(number)
	case *array.Decimal256Builder:
		b.Append(decimal256.FromI64(sign * int64(n)).Mul(decimal256.FromU64(1 << 63)).Mul(decimal256.FromU64(1 << 40)))
	case *array.StringBuilder:
		b.Append(strings.Repeat("long", n%9) + fmt.Sprint(n))
	case *array.LargeStringBuilder:
		b.Append(strings.Repeat("é", n%20) + fmt.Sprint(n))
	case *array.BinaryBuilder:
		b.Append([]byte(strings.Repeat("x", n%40)))
	case *array.FixedSizeBinaryBuilder:
		b.Append([]byte{byte(n), byte(n >> 8), 0xff})
	case *array.BooleanBuilder:
		b.Append(n%3 == 0)
	case *array.Float32Builder:
		b.Append(float32(n) / 3)
	case *array.Float64Builder:
		b.Append(float64(sign) / float64(n))
	case *array.Int64Builder:
		b.Append(sign * int64(n) * (math.MaxInt64 / 1_000_000))
	case *array.Uint64Builder:
		b.Append(uint64(n) * (math.MaxUint64 / 1_000_000))
	case *array.Int8Builder, *array.Uint8Builder:
		return builder.AppendValueFromString(fmt.Sprint(n % 100))
	case *array.Date32Builder:
		b.Append(arrow.Date32(sign * int64(n)))
	case *array.Time32Builder:
		b.Append(arrow.Time32(n))
	case *array.Time64Builder:
		b.Append(arrow.Time64(n) * 1000)
	case *array.TimestampBuilder:
		b.Append(arrow.Timestamp(sign * int64(n) * 1_000_000))
	default:
		return builder.AppendValueFromString(fmt.Sprint(n % 30_000))
	}
	return nil
}

// readAs reads all columns of a file: by flatColumn, which must take them, or by pqarrow.
func readAs(t testing.TB, path string, flat bool, opt scan.OpenOptions) (batches []arrow.RecordBatch) {
	t.Helper()
	readColumns(t, path, opt, func(field arrow.Field, column *partColumn) {
		if !column.flat {
			t.Fatalf("column %s, %s, is not read flat", field.Name, field.Type)
		}
		column.flat, column.codes = flat, flat && column.codes
	}, func(batch arrow.RecordBatch) { batches = append(batches, batch) })
	return batches
}

// readColumns reads all columns of a file, each after it was prepared, and hands its batches over.
func readColumns(t testing.TB, path string, opt scan.OpenOptions, prepare func(field arrow.Field, column *partColumn), take func(arrow.RecordBatch)) {
	t.Helper()
	opt.EnsureDefaults()
	read := decode.Options{Memory: reserve.New(opt.Allocator, nil), BatchRows: opt.BatchRows, BatchBytes: opt.BatchBytes, Borrow: opt.Borrow, NarrowDecimals: opt.NarrowDecimals}
	in, err := Open(vfs.OS, path, reserve.New(reserve.GoHeap, nil))
	if err != nil {
		t.Fatal(err)
	}
	parts, err := in.Parts(context.Background(), scantest.AllColumns(in.Schema()))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range parts {
		columns := p.(*groupPart).columns
		for i := range columns {
			prepare(in.Schema().Field(i), &columns[i])
		}
		r, err := p.Open(context.Background(), read)
		if err != nil {
			t.Fatal(err)
		}
		for {
			batch, err := r.Next(context.Background())
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			take(batch)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func release(batches []arrow.RecordBatch) {
	for _, b := range batches {
		b.Release()
	}
}

// What flatColumn reads is what was written and what pqarrow reads, whatever the type, the NULLs,
// the pages, the codec, and the batches that pages are cut into.
func TestParquetFlat(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, and slow under the race detector")
	}
	codecs := []compress.Compression{compress.Codecs.Uncompressed, compress.Codecs.Snappy, compress.Codecs.Zstd,
		compress.Codecs.Gzip, compress.Codecs.Brotli, compress.Codecs.Lz4Raw}
	encodings := []struct {
		name string
		opts []parquet.WriterProperty
	}{
		{"plain", []parquet.WriterProperty{parquet.WithDictionaryDefault(false)}},
		{"dictionary", []parquet.WriterProperty{parquet.WithDictionaryPageSizeLimit(1 << 30)}},
		{"fallback", []parquet.WriterProperty{parquet.WithDictionaryPageSizeLimit(700)}},
	}
	rng, decimals := rand.New(rand.NewPCG(4, 0)), rand.New(rand.NewPCG(6, 0))
	for _, codec := range codecs {
		for _, encoding := range encodings {
			for _, version := range []parquet.DataPageVersion{parquet.DataPageV1, parquet.DataPageV2} {
				for _, nulls := range nullPatterns {
					rows := []int{0, 1, 63, 64, 65, 700}[rng.IntN(6)]
					if nulls.name == "long runs" || nulls.name == "last" {
						rows = 1500
					}
					name := fmt.Sprintf("%s, %s, version %d, nulls %s, %d rows", codec, encoding.name, version, nulls.name, rows)
					batch := flatBatch(t, rng, rows, []int{1, 20, 1_000_000}[rng.IntN(3)], nulls.name == "required", nulls.isNull)
					opts := slices.Concat(encoding.opts, []parquet.WriterProperty{parquet.WithCompression(codec), parquet.WithDataPageVersion(version),
						parquet.WithDataPageSize(int64(1 + rng.IntN(3000))), parquet.WithBatchSize(int64(1 + rng.IntN(300))), parquet.WithStoreDecimalAsInteger(decimals.IntN(2) == 0)})
					for _, f := range batch.Schema().Fields() {
						opts = append(opts, parquet.WithDictionaryCostFallbackFor(f.Name, false))
					}
					data := scantest.EncodeParquet(t, int64(1+rng.IntN(2000)), []arrow.RecordBatch{batch}, opts...)
					path := scantest.WriteFile(t, t.TempDir(), "f.parquet", data)
					want := scantest.BatchRowsText(batch)
					allNull := codec == compress.Codecs.Brotli && nulls.name == "all" // fails on pages of no bytes
					if !allNull {
						oracle := readAs(t, path, false, scan.OpenOptions{})
						scantest.SameRows(t, scantest.BatchRowsText(oracle...), want)
						release(oracle)
					}
					for _, batchRows := range []int{1 + rng.IntN(20), 1 + rng.IntN(3000)} {
						mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
						narrow := decimals.IntN(2) == 0
						batches := readAs(t, path, true, scan.OpenOptions{Allocator: mem, BatchRows: batchRows, Borrow: scantest.Lend(rng.IntN(2)), NarrowDecimals: narrow})
						scantest.SameRows(t, scantest.BatchRowsText(batches...), want)
						for _, b := range batches {
							for i, column := range b.Columns() {
								if d, ok := batch.Schema().Field(i).Type.(*arrow.Decimal128Type); ok && d.Precision <= 18 && scan.IsNarrowOf(valueType(column), d) != narrow {
									t.Errorf("column %d: decimals of at most 18 digits come as %s", i, column.DataType())
								}
								if got := countNulls(column); got != column.NullN() {
									t.Errorf("column %d: %d NULLs, said to have %d", i, got, column.NullN())
								}
							}
						}
						release(batches)
						mem.AssertSize(t, 0)
					}
					if t.Failed() {
						t.Fatal(name)
					}
				}
			}
		}
	}
}

// valueType returns the type of an array's values, or of its dictionary's.
func valueType(a arrow.Array) arrow.DataType {
	if d, ok := a.DataType().(*arrow.DictionaryType); ok {
		return d.ValueType
	}
	return a.DataType()
}

// Values must get to their rows for any validity, place and number of rows; NULL rows get a value
// that occurs, or zero.
func TestSpread(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 0))
	for range 2000 {
		from, rows, density := rng.IntN(200), 1+rng.IntN(300), rng.IntN(11)
		validity := make([]byte, (from+rows+7)/8)
		values, want := 0, make([]int32, rows)
		run := rng.IntN(2) == 0
		for row := range rows {
			valid := rng.IntN(10) < density
			if run {
				valid = (row/70+density)%2 == 0
			}
			if valid {
				bitutil.SetBit(validity, from+row)
				values++
				want[row] = int32(values)
			}
		}
		out := make([]int32, rows)
		for i := range out {
			out[i] = -1 // what memory held before
			if i < values {
				out[i] = int32(i + 1)
			}
		}
		spread(out, values, validity, from)
		for row := range rows {
			valid := bitutil.BitIsSet(validity, from+row)
			if valid && out[row] != want[row] || out[row] < 0 {
				t.Fatalf("%d rows from %d: row %d is %d, want %d (valid: %v)", rows, from, row, out[row], want[row], valid)
			}
		}
	}
}

// Big-endian numbers of every width, at the end of a page too.
func TestDecimals(t *testing.T) {
	for width := 1; width <= 32; width++ {
		var plain []byte
		var want []string
		for _, head := range []byte{0x00, 0x7f, 0x80, 0xff, 0x01} {
			value := make([]byte, width)
			for i := range value {
				value[i] = byte(3*i) + head
			}
			value[0] = head
			plain = append(plain, value...)
			var long [32]byte
			for i := range long {
				if head&0x80 != 0 {
					long[i] = 0xff
				}
			}
			copy(long[32-width:], value)
			word := func(i int) uint64 { return binary.BigEndian.Uint64(long[8*i:]) }
			want = append(want, decimal256.New(word(0), word(1), word(2), word(3)).BigInt().String())
		}
		plain = slices.Clip(plain)
		wide := make([]decimal256.Num, len(want))
		decimals256(wide, plain, width)
		for i := range want {
			if got := wide[i].BigInt().String(); got != want[i] {
				t.Errorf("256 bits, %d B, value %d: %s, want %s", width, i, got, want[i])
			}
		}
		if width <= 8 {
			small := make([]int64, len(want))
			decimals64(small, plain, width)
			for i := range want {
				if got := fmt.Sprint(small[i]); got != want[i] {
					t.Errorf("64 bits, %d B, value %d: %s, want %s", width, i, got, want[i])
				}
			}
		}
		if width > 16 {
			continue
		}
		narrow := make([]decimal128.Num, len(want))
		decimals128(narrow, plain, width)
		for i := range want {
			if got := narrow[i].BigInt().String(); got != want[i] {
				t.Errorf("128 bits, %d B, value %d: %s, want %s", width, i, got, want[i])
			}
		}
	}
}

// What writers may write, though arrow-go's does not.
func TestFlatPages(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	plain, rle := parquet.Encodings.Plain, parquet.Encodings.RLE
	ints := func(values ...uint32) (data []byte) {
		for _, v := range values {
			data = binary.LittleEndian.AppendUint32(data, v)
		}
		return data
	}
	int32Values := func() columnValues { return newCopied[int32](arrow.PrimitiveTypes.Int32, mem, int32Form) }
	stringViews := func() columnValues { return newViews(arrow.BinaryTypes.String, mem) }
	bools := func() columnValues { return &boolValues{mem: mem} }
	v2 := func(values int, encoding parquet.Encoding, levels, data []byte) page {
		return page{kind: pageV2, values: values, encoding: encoding, levels: levels, data: data}
	}
	cases := []struct {
		name   string
		values func() columnValues
		pages  []page
		want   string // values, or an error
	}{
		{"more than the values", int32Values, []page{v2(2, plain, []byte{4, 1}, ints(1, 2, 3))}, "1 2"},
		{"pages of no row", int32Values, []page{v2(0, plain, nil, nil), v2(1, plain, []byte{2, 1}, ints(7))}, "7"},
		{"codes, then plain", int32Values, []page{rawDictionary(2, ints(5, 6), plain), codesV2(3, []byte{3, 0b101}, 1, 3, 0b01), v2(1, plain, []byte{2, 1}, ints(7))}, "6 NULL 5 7"},
		{"runs of a code", int32Values, []page{rawDictionary(2, ints(5, 6), plain), codesV1(3, []byte{6, 1}, 1, 6, 1)}, "6 6 6"},
		{"strings, codes and plain", stringViews, []page{dictionaryOfStrings(2, "a", "bc"), codesV1(3, []byte{3, 0b110}, 1, 4, 1), v2(2, plain, []byte{4, 1}, plainStrings("", "d"))}, "NULL bc bc  d"},
		{"bits", bools, []page{v2(3, plain, []byte{3, 0b101}, []byte{0b10})}, "false NULL true"},
		{"runs of bits", bools, []page{v2(3, rle, []byte{6, 1}, []byte{2, 0, 0, 0, 3, 0b110})}, "false true true"},
		{"runs of no bit", bools, []page{v2(3, rle, []byte{6, 0}, nil)}, "NULL NULL NULL"},

		{"no page", int32Values, nil, "fewer rows"},
		{"values end", int32Values, []page{v2(2, plain, []byte{4, 1}, ints(1))}, "values of 4 B"},
		{"codes without a dictionary", int32Values, []page{codesV2(2, []byte{4, 1}, 1, 4, 0)}, "code 0 of a dictionary of 0 entries"},
		{"large dictionary", int32Values, []page{rawDictionary(1<<31-1, ints(5, 6), plain)}, "a dictionary page of 8 B with 2147483647 entries of 4 B"},
		{"strings end", stringViews, []page{v2(2, plain, []byte{4, 1}, plainStrings("a"))}, "ends before its last string"},
		{"a long string", stringViews, []page{v2(2, plain, []byte{4, 1}, []byte{9, 0, 0, 0, 'a'})}, "a string of 9 B in a page that has 1 B more"},
		{"a long string in a dictionary", stringViews, []page{rawDictionary(1, []byte{9, 0, 0, 0, 'a'}, plain)}, "a string of 9 B in a page that has 1 B more"},
		{"other encoding", int32Values, []page{v2(2, parquet.Encodings.DeltaByteArray, []byte{4, 1}, []byte{1})}, "DELTA_BYTE_ARRAY"},
		{"other encoding of strings", stringViews, []page{v2(2, parquet.Encodings.DeltaBinaryPacked, []byte{4, 1}, []byte{1})}, "DELTA_BINARY_PACKED"},
		{"values of no byte", int32Values, []page{v2(2, parquet.Encodings.DeltaBinaryPacked, []byte{4, 1}, nil)}, "0 B more for"},
		{"other encoding of bits", bools, []page{v2(2, parquet.Encodings.RLEDict, []byte{4, 1}, nil)}, "RLE_DICTIONARY"},
		{"a dictionary of bits", bools, []page{rawDictionary(1, []byte{1}, plain)}, "a dictionary page of BOOLEAN"},
		{"bits end", bools, []page{v2(9, plain, []byte{18, 1}, []byte{0b10})}, "bits of a page: it ends"},
		{"runs of bits end", bools, []page{v2(3, rle, []byte{6, 1}, []byte{9, 0, 0, 0, 3, 0b110})}, "runs of bits in 6 B"},
		{"a level of 2", int32Values, []page{v2(2, plain, []byte{4, 2}, ints(1, 2))}, "a level of 2"},
	}
	for _, c := range cases {
		for _, n := range []int{1, 2, 100} {
			rows := 0
			for _, p := range c.pages {
				if p.kind != pageDictionary {
					rows += p.values
				}
			}
			got, err := readValues(c.values(), mem, max(rows, 1), n, c.pages...)
			switch {
			case err != nil && !strings.Contains(err.Error(), c.want):
				t.Errorf("%s: %v; want %s", c.name, err, c.want)
			case err != nil && !errors.Is(err, decode.ErrCorrupt):
				t.Errorf("%s: %v is not ErrCorrupt", c.name, err)
			case err == nil && strings.Join(got, " ") != c.want:
				t.Errorf("%s: %v; want %s", c.name, got, c.want)
			}
		}
	}
}

// A batch's memory may not follow the first strings' lengths, nor bytes written behind a string the
// next one's.
func TestStringsOfUnevenLengths(t *testing.T) {
	builder := array.NewStringBuilder(memory.DefaultAllocator)
	builder.Append(strings.Repeat("x", 3<<20))
	for i := range 20_000 {
		builder.Append(fmt.Sprint(i))
	}
	builder.Append(strings.Repeat("y", 1<<20))
	schema := arrow.NewSchema([]arrow.Field{{Name: "s", Type: arrow.BinaryTypes.String}}, nil)
	batch := array.NewRecordBatch(schema, []arrow.Array{builder.NewArray()}, 20_002)
	data := scantest.EncodeParquet(t, 30_000, []arrow.RecordBatch{batch}, parquet.WithDictionaryDefault(false))
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	batches := readAs(t, scantest.WriteFile(t, t.TempDir(), "f.parquet", data), true, scan.OpenOptions{Allocator: mem})
	if got := mem.CurrentAlloc(); got > 16<<20 {
		t.Errorf("the batches hold %d B", got)
	}
	scantest.SameRows(t, scantest.BatchRowsText(batches...), scantest.BatchRowsText(batch))
	release(batches)
	mem.AssertSize(t, 0)
}

// An open row group holds a window and a page per column, whatever its own size.
func TestParquetFlatMemory(t *testing.T) {
	const rows = 1 << 18
	ints, texts := array.NewInt64Builder(memory.DefaultAllocator), array.NewStringBuilder(memory.DefaultAllocator)
	for i := range rows {
		ints.Append(int64(i) * 0x9E3779B97F4A7C)
		texts.Append(fmt.Sprint("text ", i))
	}
	fields := []arrow.Field{{Name: "i", Type: arrow.PrimitiveTypes.Int64}, {Name: "s", Type: arrow.BinaryTypes.String}}
	batch := array.NewRecordBatch(arrow.NewSchema(fields, nil), []arrow.Array{ints.NewArray(), texts.NewArray()}, rows)
	const pageBytes = 64 << 10
	data := scantest.EncodeParquet(t, rows, []arrow.RecordBatch{batch}, parquet.WithDictionaryDefault(false), parquet.WithDataPageSize(pageBytes),
		parquet.WithBatchSize(1024), parquet.WithCompression(compress.Codecs.Snappy))
	in, err := Open(vfs.OS, scantest.WriteFile(t, t.TempDir(), "f.parquet", data), reserve.New(reserve.GoHeap, nil))
	if err != nil {
		t.Fatal(err)
	}
	parts, err := in.Parts(context.Background(), []int{0, 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		batchRows int
		max       int // bytes
	}{{1024, 2 * (windowBytesMin + 3*pageBytes)}, {1 << 16, 2 * (windowBytesMax + 2*pageBytes + 20<<16)}} {
		mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
		r, err := parts[0].Open(context.Background(), decode.Options{Memory: reserve.New(mem, nil), BatchRows: c.batchRows})
		if err != nil {
			t.Fatal(err)
		}
		for {
			b, err := r.Next(context.Background())
			if err != nil {
				break
			}
			if held := mem.CurrentAlloc(); held > c.max {
				t.Fatalf("batches of %d rows: %d B held, want at most %d", c.batchRows, held, c.max)
			}
			b.Release()
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		mem.AssertSize(t, 0)
	}
}

// S3: any pages give rows or an error, for every way to decode values.
func FuzzFlatPages(f *testing.F) {
	f.Add(plainStrings("a", "b"), 2, []byte{8, 1, 2, 3, 0b00_01_01_00, 0}, 4, uint8(2), uint8(0), uint8(10))
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8}, 1, []byte{2, 0b1011, 1, 2, 3, 4, 5, 6, 7, 8}, 4, uint8(2), uint8(8), uint8(3))
	f.Add([]byte(nil), 0, []byte{2, 0, 0, 0, 8, 1, 0b1010}, 4, uint8(3), uint8(0), uint8(1))
	f.Add([]byte(nil), 0, append([]byte{6, 1}, packDeltas([]uint64{7, 8, 11}, 128, 4, 40)...), 3, uint8(2), uint8(parquet.Encodings.DeltaBinaryPacked), uint8(10))
	f.Add([]byte(nil), 0, slices.Concat([]byte{4, 1}, packDeltas([]uint64{0, 1}, 32, 4, 8), packDeltas([]uint64{2, 2}, 8, 1, 8), []byte("abcd")),
		2, uint8(2), uint8(parquet.Encodings.DeltaByteArray), uint8(12))
	f.Add([]byte(nil), 0, []byte{4, 1, 1, 2, 3, 4, 5, 6, 7, 8}, 2, uint8(2), uint8(parquet.Encodings.ByteStreamSplit), uint8(10))
	f.Fuzz(func(t *testing.T, dictionary []byte, entries int, data []byte, values int, levelBytes, encoding, way uint8) {
		values, entries = values&0xffff, entries&math.MaxInt32
		mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
		defer mem.AssertSize(t, 0)
		int32s := newCopied[int32](arrow.PrimitiveTypes.Int32, mem, int32Form)
		ways := []columnValues{
			newNumbers(arrow.PrimitiveTypes.Int32, 100, int32s, mem),
			newStringCodes(arrow.BinaryTypes.String, mem), newStringCodes(arrow.BinaryTypes.LargeBinary, mem), newViews(arrow.BinaryTypes.String, mem), newViews(arrow.BinaryTypes.LargeBinary, mem),
			&boolValues{mem: mem}, int32s, newCopied[int64](arrow.PrimitiveTypes.Float64, mem, bytesForm(8)),
			int32ValuesOf(arrow.PrimitiveTypes.Int8.(arrow.FixedWidthDataType), mem), bytesValuesOf(&arrow.Decimal128Type{Precision: 9}, 4, mem),
			bytesValuesOf(&arrow.Decimal256Type{Precision: 50}, 21, mem), newCopied[[3]byte](&arrow.FixedSizeBinaryType{ByteWidth: 3}, mem, bytesForm(3)),
		}
		p := rawV1(values, data, parquet.Encoding(encoding), parquet.Encodings.RLE)
		if n := int(levelBytes); n <= len(data) && way%2 == 0 {
			p = page{kind: pageV2, values: values, encoding: parquet.Encoding(encoding), levels: data[:n], data: data[n:]}
		}
		pages := []page{p}
		if dictionary != nil {
			pages = append([]page{rawDictionary(entries, dictionary, parquet.Encodings.Plain)}, pages...)
		}
		_, _ = readValues(ways[int(way)%len(ways)], mem, min(values, 1000), 300, pages...)
	})
}

// A column that no decoder here knows is left to pqarrow; those beside it are not.
func TestParquetFlatAndNot(t *testing.T) {
	numbers, bytes := array.NewInt32Builder(memory.DefaultAllocator), array.NewFixedSizeBinaryBuilder(memory.DefaultAllocator, &arrow.FixedSizeBinaryType{ByteWidth: 17})
	for i := range int32(100) {
		numbers.Append(i)
		bytes.Append([]byte("seventeen letters"))
	}
	schema := arrow.NewSchema([]arrow.Field{{Name: "n", Type: numbers.Type()}, {Name: "b", Type: bytes.Type()}}, nil)
	batch := array.NewRecordBatch(schema, []arrow.Array{numbers.NewArray(), bytes.NewArray()}, 100)
	path := scantest.WriteFile(t, t.TempDir(), "f.parquet", scantest.EncodeParquet(t, 50, []arrow.RecordBatch{batch}))
	in, err := Open(vfs.OS, path, reserve.New(reserve.GoHeap, nil))
	if err != nil {
		t.Fatal(err)
	}
	parts, err := in.Parts(context.Background(), []int{0, 1})
	if err != nil {
		t.Fatal(err)
	}
	columns := parts[0].(*groupPart).columns
	if !columns[0].flat || columns[1].flat {
		t.Errorf("integers: %v, bytes of a rare width: %v", columns[0].flat, columns[1].flat)
	}
	rows, err := scantest.ReadAll(openTable(t, path), []int{1, 0}, scan.OpenOptions{})
	if err != nil || len(rows) != 100 || !strings.HasSuffix(rows[99], "99") || rows[98][:len(rows[98])-2] != rows[99][:len(rows[99])-2] {
		t.Errorf("%d rows, %v", len(rows), err)
	}
}
