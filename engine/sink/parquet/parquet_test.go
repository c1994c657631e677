package parquet

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"

	"github.com/mpga/mpga/engine/sink/sinktest"
)

// withDefaults fills in the options that are not set.
func withDefaults(opt Options) *Options {
	opt.Codec = cmp.Or(opt.Codec, "snappy")
	opt.RowGroupRows = cmp.Or(opt.RowGroupRows, 1<<18)
	opt.GroupBytes = cmp.Or(opt.GroupBytes, 256<<20)
	opt.Page = cmp.Or(opt.Page, PageSizeDefault)
	opt.Threads = cmp.Or(opt.Threads, runtime.GOMAXPROCS(0))
	opt.Allocator = memory.DefaultAllocator
	return &opt
}

// writeAll writes batches to a new file in a temporary directory, and returns its path.
func writeAll(t *testing.T, opt Options, schema *arrow.Schema, batches ...arrow.RecordBatch) string {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "x.parquet"))
	sinktest.Check(t, err)
	to := bufio.NewWriter(f)
	enc, err := New(t.Context(), to, schema, withDefaults(opt))
	sinktest.Check(t, err)
	for _, b := range batches {
		sinktest.Check(t, enc.Write(b))
	}
	sinktest.Check(t, enc.Close())
	sinktest.Check(t, to.Flush())
	sinktest.Check(t, f.Close())
	return f.Name()
}

// columnsOf makes a batch of a bigint, a text, a double and a decimal, all nullable, that follow
// from one number a row; a negative one is NULL.
func columnsOf(number []int64) arrow.RecordBatch {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true}, {Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "long", Type: arrow.BinaryTypes.String, Nullable: true}, {Name: "f", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
		{Name: "d", Type: &arrow.Decimal128Type{Precision: 30, Scale: 2}, Nullable: true}, {Name: "u", Type: arrow.PrimitiveTypes.Uint16, Nullable: true},
	}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	for _, n := range number {
		for _, f := range b.Fields() {
			text := fmt.Sprint(n)
			switch f.Type().ID() {
			case arrow.DECIMAL128:
				text += "12345678901234.25"
			case arrow.UINT16:
				text = fmt.Sprint(n % 60_000)
			case arrow.STRING:
				if f == b.Field(2) {
					text = strings.Repeat("x", int(max(n, 0)%20)) + text + "-longer than twelve bytes"
				}
			}
			if n < 0 {
				f.AppendNull()
			} else if err := f.AppendValueFromString(text); err != nil {
				panic(err)
			}
		}
	}
	return b.NewRecordBatch()
}

// rowsOf fills a slice by a function of the row.
func rowsOf(n int, f func(row int) int64) []int64 {
	rows := make([]int64, n)
	for i := range rows {
		rows[i] = f(i)
	}
	return rows
}

// Catches values lost where a page, a dictionary or a row group ends, and encodings other than
// those that pay.
func TestParquetEncodings(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 5))
	const many = 2*PageRowsMax + 1000 // three pages
	for _, test := range []struct {
		name  string
		rows  []int64
		coded string // of the column n, by page: c or p; empty where it does not matter
	}{
		{"one value", rowsOf(many, func(int) int64 { return 7 }), "ccc"},
		{"few values", rowsOf(many, func(int) int64 { return r.Int64N(100) }), "ccc"},
		{"all differ", rowsOf(many, func(i int) int64 { return int64(i) }), "ppp"},
		{"all differ, few rows", rowsOf(1000, func(i int) int64 { return int64(i) }), "p"},
		{"many at first, then few", rowsOf(many, func(i int) int64 { return int64(max(40_000-i, 0)) }), "ppp"},
		{"few at first, then many", rowsOf(many, func(i int) int64 { return int64(max(i-40_000, 0)) }), "cpp"},
		{"runs of 3", rowsOf(many, func(i int) int64 { return int64(i / 3) }), ""},
		{"runs of 100", rowsOf(many, func(i int) int64 { return int64(i / 100) }), "ccc"},
		{"a page of NULLs", rowsOf(many, func(i int) int64 { return int64(i%10) - 100*min(1, int64(i/PageRowsMax)) }), "cpp"},
		{"all NULL", rowsOf(10, func(int) int64 { return -1 }), "p"},
		{"NULLs here and there", rowsOf(many, func(i int) int64 { return r.Int64N(50) - 5 }), "ccc"},
		{"one row", []int64{3}, "p"},
		{"one page", rowsOf(PageRowsMax, func(i int) int64 { return int64(i % 2) }), "c"},
		{"a page and a row", rowsOf(PageRowsMax+1, func(i int) int64 { return int64(i % 2) }), "cc"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if testing.Short() && (test.coded == "ccc" || test.coded == "ppp") {
				t.Skip("slow under the race detector: those stay whose pages differ")
			}
			batch := columnsOf(test.rows)
			var batches []arrow.RecordBatch
			for from := int64(0); from < batch.NumRows(); {
				to := min(batch.NumRows(), from+1+r.Int64N(30_000))
				batches = append(batches, batch.NewSlice(from, to))
				from = to
			}
			for _, threads := range []int{1, 3} {
				if testing.Short() && threads == 1 {
					continue
				}
				path := writeAll(t, Options{Threads: threads, RowGroupRows: many}, batch.Schema(), batches...)
				sinktest.CompareTables(t, array.NewTableFromRecords(batch.Schema(), []arrow.RecordBatch{batch}), sinktest.ReadTable(t, path))
				if got := pagesOf(t, path, 0); test.coded != "" && got != test.coded {
					t.Errorf("pages %s, want %s", got, test.coded)
				}
			}
		})
	}
}

// pagesOf says of the pages of a column whether they are of codes or plain.
func pagesOf(t *testing.T, path string, column int) string {
	t.Helper()
	f, err := file.OpenParquetFile(path, false)
	sinktest.Check(t, err)
	defer f.Close()
	pages, err := f.RowGroup(0).GetColumnPageReader(column)
	sinktest.Check(t, err)
	kinds := ""
	for pages.Next() {
		switch page := pages.Page(); {
		case page.Type() == file.PageTypeDictionaryPage:
		case parquet.Encoding(page.Encoding()) == parquet.Encodings.RLEDict:
			kinds += "c"
		default:
			kinds += "p"
		}
	}
	sinktest.Check(t, pages.Err())
	return kinds
}

// Pages that suit a GPU are small, by rows and by bytes.
func TestParquetPagesForGPU(t *testing.T) {
	const rows = 3*8192 + 100
	schema := sinktest.SchemaOf([]arrow.DataType{arrow.PrimitiveTypes.Int64, arrow.BinaryTypes.String})
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	for i := range rows {
		b.Field(0).(*array.Int64Builder).Append(int64(i))
		b.Field(1).(*array.StringBuilder).Append(fmt.Sprintf("%0100d", i))
	}
	batch := b.NewRecordBatch()
	path := writeAll(t, Options{Page: PageSizeGPU}, schema, batch)
	sinktest.CompareTables(t, array.NewTableFromRecords(schema, []arrow.RecordBatch{batch}), sinktest.ReadTable(t, path))
	if got := pagesOf(t, path, 0); got != "pppp" {
		t.Errorf("pages %s of numbers", got)
	}
	if got := len(pagesOf(t, path, 1)); got < rows*104>>18 || got > rows*104>>16 {
		t.Errorf("%d pages of %d B of strings", got, rows*104)
	}
}

// Catches codes that are not translated from one batch's dictionary to the next's, and NULLs among
// them.
func TestParquetDictionaries(t *testing.T) {
	typ := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Uint16, ValueType: arrow.BinaryTypes.String}
	schema := sinktest.SchemaOf([]arrow.DataType{typ})
	r := rand.New(rand.NewPCG(6, 7))
	for _, distinct := range []int64{3, 50_000} {
		var batches, plain []arrow.RecordBatch
		for range 6 {
			b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
			texts := array.NewRecordBuilder(memory.DefaultAllocator, sinktest.SchemaOf([]arrow.DataType{typ.ValueType}))
			for range 20_000 {
				text := fmt.Sprintf("value of some length %d", r.Int64N(distinct))
				if r.IntN(10) == 0 {
					b.Field(0).AppendNull()
					texts.Field(0).AppendNull()
					continue
				}
				sinktest.Check(t, b.Field(0).AppendValueFromString(text))
				sinktest.Check(t, texts.Field(0).AppendValueFromString(text))
			}
			batches, plain = append(batches, b.NewRecordBatch()), append(plain, texts.NewRecordBatch())
		}
		path := writeAll(t, Options{}, schema, batches...)
		sinktest.CompareTables(t, array.NewTableFromRecords(plain[0].Schema(), plain), sinktest.ReadTable(t, path))
	}
}

// Catches an index past the dictionary that is followed.
func TestParquetBadIndex(t *testing.T) {
	values := array.NewStringBuilder(memory.DefaultAllocator)
	values.Append("only")
	typ := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}
	indexes := array.NewInt8Builder(memory.DefaultAllocator)
	indexes.AppendValues([]int8{0, 1}, nil)
	bad := array.NewDictionaryArray(typ, indexes.NewArray(), values.NewArray())
	schema := sinktest.SchemaOf([]arrow.DataType{typ})
	w, err := New(t.Context(), io.Discard, schema, withDefaults(Options{}))
	sinktest.Check(t, err)
	err = w.Write(array.NewRecordBatch(schema, []arrow.Array{bad}, 2))
	if err == nil || !strings.Contains(err.Error(), `column "c00": index 1 into a dictionary of 1 values`) {
		t.Error(err)
	}
}

// FuzzHybrid holds packed codes to what a decoder of the format's text reads.
func FuzzHybrid(f *testing.F) {
	f.Add(uint8(3), []byte{1, 2, 3, 4, 5, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 0})
	f.Add(uint8(17), []byte("a group of eight, and then some that are not a group"))
	f.Fuzz(func(t *testing.T, width uint8, data []byte) {
		bits := int(width%24) + 1
		codes := make([]uint32, len(data))
		for i, b := range data {
			codes[i] = uint32(b) * 65_537 & (1<<bits - 1)
		}
		packed := appendHybrid(nil, codes, bits)
		if got := unpackHybrid(packed, len(codes), bits); fmt.Sprint(got) != fmt.Sprint(codes) {
			t.Errorf("%d bits: %v, want %v", bits, got, codes)
		}
	})
}

// unpackHybrid reads bit by bit.
func unpackHybrid(data []byte, n, width int) []uint32 {
	codes := []uint32{}
	for len(codes) < n {
		head, used := uint64(0), 0
		for shift := 0; ; shift += 7 {
			head |= uint64(data[used]&0x7F) << shift
			used++
			if data[used-1] < 0x80 {
				break
			}
		}
		data = data[used:]
		at := func(code int) (v uint32) {
			for b := range width {
				bit := code*width + b
				v |= uint32(data[bit/8]>>(bit%8)&1) << b
			}
			return v
		}
		if head&1 == 0 {
			for range head >> 1 {
				codes = append(codes, at(0))
			}
			data = data[(width+7)/8:]
			continue
		}
		for i := range int(head>>1) * 8 {
			codes = append(codes, at(i))
		}
		data = data[int(head>>1)*width:]
	}
	return codes[:n]
}

// Would catch a row group that grows without bound where values are long.
func TestParquetGroupBytes(t *testing.T) {
	schema := sinktest.SchemaOf([]arrow.DataType{arrow.BinaryTypes.String})
	var file bytes.Buffer
	enc, err := New(t.Context(), &file, schema, withDefaults(Options{Codec: "none"}))
	sinktest.Check(t, err)
	enc.(*flatFile).bytesPerGroup = 1 << 20
	b := array.NewStringBuilder(memory.DefaultAllocator)
	for i := range 2000 {
		b.Append(strings.Repeat(fmt.Sprint(i), 5000))
	}
	batch := array.NewRecordBatch(schema, []arrow.Array{b.NewArray()}, 2000)
	for row := int64(0); row < batch.NumRows(); row += 100 {
		sinktest.Check(t, enc.Write(batch.NewSlice(row, row+100)))
	}
	sinktest.Check(t, enc.Close())
	path := filepath.Join(t.TempDir(), "x.parquet")
	sinktest.Check(t, os.WriteFile(path, file.Bytes(), 0o666))
	table := sinktest.ReadTable(t, path)
	sinktest.CompareTables(t, array.NewTableFromRecords(schema, []arrow.RecordBatch{batch}), table)
	if groups := table.Column(0).Data().Chunks(); table.NumRows() != 2000 || file.Len() < 30<<20 || enc.(*flatFile).groups < 10 {
		t.Errorf("%d row groups of %d B, %d chunks", enc.(*flatFile).groups, file.Len(), len(groups))
	}
}

// asked is a context that is done once it has been asked a number of times.
type asked struct {
	context.Context
	left atomic.Int64
}

func (c *asked) Err() error {
	if c.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

// A page is what it is at every level of Brotli's, and a caller who interrupts waits for a piece of a
// page and not for the page. Would catch a codec that looks at its context between pages only.
func TestBrotliPieces(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	src := make([]byte, 10*brotliPieceBytes+7)
	for i := range src {
		src[i] = byte(rng.IntN(40))
	}
	for _, level := range []int{1, brotliSlowLevel, 11} {
		ctx := &asked{Context: t.Context()}
		ctx.left.Store(1 << 40)
		codec, err := newCodec(ctx, &Options{Codec: "brotli"})
		sinktest.Check(t, err)
		packed := codec.EncodeLevel(make([]byte, 0, codec.CompressBound(int64(len(src)))), src, level)
		got, err := io.ReadAll(brotli.NewReader(bytes.NewReader(packed)))
		if err != nil || !bytes.Equal(got, src) || int64(len(packed)) > codec.CompressBound(int64(len(src))) {
			t.Errorf("level %d: %d B of %d, %v", level, len(got), len(src), err)
		}
		ctx.left.Store(3)
		if cut := codec.EncodeLevel(nil, src, level); level >= brotliSlowLevel && len(cut) > len(packed)/2 {
			t.Errorf("level %d: after three pieces %d B of %d", level, len(cut), len(packed))
		}
	}
	for _, nested := range []bool{false, true} {
		batch := columnsOf([]int64{1, 2, 3})
		if nested {
			fields := batch.Schema().Fields()
			values := []arrow.ArrayData{batch.Column(0).Data()}
			data := array.NewData(arrow.StructOf(fields[0]), 3, []*memory.Buffer{nil}, values, 0, 0)
			schema := arrow.NewSchema([]arrow.Field{{Name: "s", Type: arrow.StructOf(fields[0])}}, nil)
			batch = array.NewRecordBatch(schema, []arrow.Array{array.NewStructData(data)}, 3)
		}
		ctx, cancel := context.WithCancel(t.Context())
		enc, err := New(ctx, io.Discard, batch.Schema(), withDefaults(Options{Codec: "brotli", Level: 11}))
		sinktest.Check(t, err)
		cancel()
		if err := cmp.Or(enc.Write(batch), enc.Close()); !errors.Is(err, context.Canceled) {
			t.Errorf("nested %t: %v", nested, err)
		}
	}
}
