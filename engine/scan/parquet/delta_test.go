package parquet

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/internal/scantest"
)

// Files of DuckDB (PARQUET_VERSION V2) and of pyarrow, with NULLs, strings, and unsigned integers
// that begin above 2^31, which arrow-go refuses.
func TestParquetDeltaOfOthers(t *testing.T) {
	want := make([]string, 1500)
	for i := range int64(1500) {
		l, n, s := i*i*i*1000003, fmt.Sprint(i*i), fmt.Sprintf("string %d/%d", i/10, i)
		if i%2 == 1 {
			l = -l
		}
		if i%7 == 0 {
			n = "NULL"
		}
		if i%5 == 0 {
			s = "NULL"
		}
		want[i] = strings.Join([]string{fmt.Sprint(math.MaxUint32 - uint32(i*1000003%4000000000)), fmt.Sprint(l), n, s,
			fmt.Sprint(float64(i) / 4), fmt.Sprint(float32(i) / 8), fmt.Sprint(i * 10), fmt.Sprint(math.MaxUint64 - uint64(i))}, "|")
	}
	for _, path := range []string{"testdata/duckdb_delta.parquet", "testdata/pyarrow_delta.parquet"} {
		for _, batchRows := range []int{1, 700, 5000} {
			mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
			batches := readAs(t, path, true, scan.OpenOptions{Allocator: mem, BatchRows: batchRows})
			scantest.SameRows(t, scantest.BatchRowsText(batches...), want)
			release(batches)
			mem.AssertSize(t, 0)
		}
	}
}

// deltaEncodings are of the types that flatBatch has.
func deltaEncodings(fields []arrow.Field) (opts []parquet.WriterProperty) {
	for i, f := range fields {
		encoding := parquet.Encodings.ByteStreamSplit
		switch id := f.Type.ID(); {
		case id == arrow.BOOL:
			encoding = parquet.Encodings.RLE
		case arrow.IsBaseBinary(id) && i%2 == 0:
			encoding = parquet.Encodings.DeltaByteArray
		case arrow.IsBaseBinary(id):
			encoding = parquet.Encodings.DeltaLengthByteArray
		case arrow.IsDecimal(id), id == arrow.FIXED_SIZE_BINARY, id == arrow.FLOAT16:
			encoding = parquet.Encodings.Plain
		case !arrow.IsFloating(id):
			encoding = parquet.Encodings.DeltaBinaryPacked
		}
		opts = append(opts, parquet.WithEncodingFor(f.Name, encoding))
	}
	return opts
}

// What is read must be what was written, for any type, NULLs, pages, and batches that pages are cut
// into.
func TestParquetDelta(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 0))
	for _, version := range []parquet.DataPageVersion{parquet.DataPageV1, parquet.DataPageV2} {
		for _, nulls := range nullPatterns {
			batch := flatBatch(t, rng, 1500, []int{1, 20, 1_000_000}[rng.IntN(3)], nulls.name == "required", nulls.isNull)
			opts := append(deltaEncodings(batch.Schema().Fields()), parquet.WithDictionaryDefault(false), parquet.WithDataPageVersion(version),
				parquet.WithDataPageSize(int64(1+rng.IntN(5000))), parquet.WithBatchSize(int64(1+rng.IntN(900))))
			path := scantest.WriteFile(t, t.TempDir(), "f.parquet", scantest.EncodeParquet(t, 1000, []arrow.RecordBatch{batch}, opts...))
			mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
			batches := readAs(t, path, true, scan.OpenOptions{Allocator: mem, BatchRows: 1 + rng.IntN(1500)})
			scantest.SameRows(t, scantest.BatchRowsText(batches...), scantest.BatchRowsText(batch))
			release(batches)
			mem.AssertSize(t, 0)
			if t.Failed() {
				t.Fatalf("version %d, nulls %s", version, nulls.name)
			}
		}
	}
}

// packDeltas is the encoding written down by the format's words, without its writers' choices: any
// block, and widths that are larger than they need to be.
func packDeltas(values []uint64, block, minis, width int) (data []byte) {
	zigzag := func(v uint64) uint64 { return v<<1 ^ -(v >> 63) }
	for _, v := range []uint64{uint64(block), uint64(minis), uint64(len(values)), zigzag(values[0])} {
		data = binary.AppendUvarint(data, v)
	}
	last := values[0]
	for rest := values[1:]; len(rest) > 0; rest = rest[min(block, len(rest)):] {
		deltas := make([]uint64, block)
		for i, v := range rest[:min(block, len(rest))] {
			deltas[i] = v - last
			last = v
		}
		data = binary.AppendUvarint(data, zigzag(0))
		for range minis {
			data = append(data, byte(width))
		}
		perMini := block / minis
		needed := (min(block, len(rest)) + perMini - 1) / perMini * perMini
		for bits := deltas[:needed]; len(bits) > 0; bits = bits[8:] { // eight values of width bits are width bytes
			packed := make([]byte, width)
			for i, v := range bits[:8] {
				for bit := range width {
					packed[(i*width+bit)/8] |= byte(v>>bit&1) << ((i*width + bit) % 8)
				}
			}
			data = append(data, packed...)
		}
	}
	return data
}

// Every width, as blocks and pieces of any length; what follows the values must be found.
func TestDeltas(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 0))
	for width := range 65 {
		values := make([]uint64, 1+rng.IntN(700))
		values[0] = rng.Uint64()
		for i := range values[1:] {
			step := uint64(0)
			if width > 0 {
				step = rng.Uint64() >> (64 - width)
			}
			values[i+1] = values[i] + step
		}
		minis := 1 + rng.IntN(4)
		data := append(packDeltas(values, minis*8*(1+rng.IntN(40)), minis, width), "rest"...)
		d, rest, err := newDeltas(data)
		if err != nil || string(rest) != "rest" {
			t.Fatalf("width %d: rest %q, %v", width, rest, err)
		}
		narrow := d
		got, low := make([]uint64, len(values)), make([]uint32, len(values))
		for at := 0; at < len(values); {
			n := min(1+rng.IntN(300), len(values)-at)
			if err := readDeltas(&d, got[at:at+n]); err != nil {
				t.Fatalf("width %d: %v", width, err)
			}
			at += n
		}
		if !slices.Equal(got, values) {
			t.Fatalf("width %d: got %v, want %v", width, got, values)
		}
		if err := readDeltas(&narrow, low); err != nil || low[len(low)-1] != uint32(values[len(values)-1]) {
			t.Fatalf("width %d in 32 bits: %d, %v; want the low bits of %d", width, low[len(low)-1], err, values[len(values)-1])
		}
		if err := readDeltas(&d, got[:1]); err == nil {
			t.Fatal("one value more than there are")
		}
	}
}

// Bytes put together in any order but the right one.
func TestSplitBytes(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 0))
	for _, width := range []int{1, 2, 3, 4, 5, 8, 16} {
		n := 1 + rng.IntN(100)
		plain, data := make([]byte, n*width), make([]byte, n*width)
		for i := range n {
			for b := range width {
				plain[i*width+b] = byte(rng.Uint32())
				data[b*n+i] = plain[i*width+b]
			}
		}
		s, err := newSplitBytes(data, width)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, n*width)
		for at := 0; at < n; {
			some := min(1+rng.IntN(30), n-at)
			if err := s.read(got[at*width:], some); err != nil {
				t.Fatal(err)
			}
			at += some
		}
		if !slices.Equal(got, plain) {
			t.Errorf("%d values of %d B: %v, want %v", n, width, got, plain)
		}
		if err := s.read(got, 1); err == nil {
			t.Error("one value more than there are")
		}
	}
}

// Bytes of one width as strings that begin alike: a decimal's, in the order of their digits.
func TestDeltaByteArrayOfFixedWidth(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	decimals := func() columnValues {
		return bytesValuesOf(&arrow.Decimal128Type{Precision: 9}, 3, mem)
	}
	prefixes, rests := packDeltas([]uint64{0, 2, 1}, 8, 1, 64), packDeltas([]uint64{3, 1, 2}, 8, 1, 64)
	data := slices.Concat(prefixes, rests, []byte{0, 1, 2, 3, 0, 4})
	of := func(data []byte) page {
		return page{kind: pageV2, values: 3, encoding: parquet.Encodings.DeltaByteArray, levels: []byte{6, 1}, data: data}
	}
	got, err := readValues(decimals(), mem, 3, 2, of(data))
	if want := []string{"258", "259", "4"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
	data[len(prefixes)+3] = 4 // the first has a byte more
	if got, err := readValues(decimals(), mem, 3, 2, of(data)); err == nil {
		t.Errorf("values of other widths are %v", got)
	}
}

// Bytes of a width that no number has.
func TestDeltaByteArrayOfOddWidth(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	for width := 1; width <= 16; width++ {
		var text []byte
		for i := range 2 * width {
			text = append(text, byte(i))
		}
		prefixes, rests := packDeltas([]uint64{0, 0}, 8, 1, 64), packDeltas([]uint64{uint64(width), uint64(width)}, 8, 1, 64)
		values := bytesValuesOf(&arrow.FixedSizeBinaryType{ByteWidth: width}, width, mem)
		got, err := readValues(values, mem, 2, 2, page{kind: pageV2, values: 2, encoding: parquet.Encodings.DeltaByteArray, levels: []byte{4, 1}, data: slices.Concat(prefixes, rests, text)})
		if err != nil || len(got) != 2 || got[0] == got[1] {
			t.Errorf("%d B: got %v, %v", width, got, err)
		}
	}
}

// S3: differences that a page does not hold, or that lead out of it.
func TestDeltaPagesCorrupt(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer mem.AssertSize(t, 0)
	one := func(n uint64) []byte { return packDeltas([]uint64{n}, 128, 4, 0) }
	cases := []struct {
		name     string
		encoding parquet.Encoding
		data     []byte
		want     string
	}{
		{"no head", parquet.Encodings.DeltaBinaryPacked, []byte{128, 1, 4}, "end before the last value"},
		{"no miniblock", parquet.Encodings.DeltaBinaryPacked, []byte{128, 1, 0, 1, 0}, "in blocks of 128, which have 0 parts"},
		{"uneven miniblocks", parquet.Encodings.DeltaBinaryPacked, []byte{128, 1, 3, 1, 0}, "which have 3 parts"},
		{"a huge block", parquet.Encodings.DeltaBinaryPacked, []byte{0x80, 0x80, 0x80, 0x80, 8, 4, 1, 0}, "in blocks of"},
		{"no block", parquet.Encodings.DeltaBinaryPacked, []byte{128, 1, 4, 2, 0}, "end before the last value"},
		{"a width of 65", parquet.Encodings.DeltaBinaryPacked, []byte{128, 1, 4, 2, 0, 0, 65, 0, 0, 0}, "65 bits"},
		{"no differences", parquet.Encodings.DeltaBinaryPacked, []byte{128, 1, 4, 2, 0, 0, 64, 0, 0, 0}, "end before the last value"},
		{"too few", parquet.Encodings.DeltaBinaryPacked, one(5), "2 values more in a page that has 1"},
		{"half a value", parquet.Encodings.ByteStreamSplit, []byte{1, 2, 3}, "a page of 3 B"},
		{"too few split", parquet.Encodings.ByteStreamSplit, []byte{1, 2, 3, 4}, "2 values more in a page that has 1"},
		{"a long string", parquet.Encodings.DeltaLengthByteArray, append(packDeltas([]uint64{1, 3}, 128, 4, 8), "abc"...), "a string of 3 B in a page that has 2 B more"},
		{"a negative length", parquet.Encodings.DeltaLengthByteArray, packDeltas([]uint64{math.MaxUint64, 0}, 128, 4, 8), "a string of 4294967295 B"},
		{"a long prefix", parquet.Encodings.DeltaByteArray, slices.Concat(packDeltas([]uint64{0, 3}, 128, 4, 8), packDeltas([]uint64{2, 2}, 128, 4, 8), []byte("abcd")), "begins with 3 B of one of 2 B"},
		{"a first prefix", parquet.Encodings.DeltaByteArray, slices.Concat(packDeltas([]uint64{1, 1}, 128, 4, 8), packDeltas([]uint64{2, 2}, 128, 4, 8), []byte("abcd")), "begins with 1 B of one of 0 B"},
	}
	for _, c := range cases {
		values := newCopied[int32](arrow.PrimitiveTypes.Int32, mem, int32Form)
		if c.encoding == parquet.Encodings.DeltaLengthByteArray || c.encoding == parquet.Encodings.DeltaByteArray {
			values = newViews(arrow.BinaryTypes.String, mem)
		}
		_, err := readValues(values, mem, 2, 2, page{kind: pageV2, values: 2, encoding: c.encoding, levels: []byte{4, 1}, data: c.data})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %s", c.name, err, c.want)
		}
	}
}
