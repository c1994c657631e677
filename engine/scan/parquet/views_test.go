package parquet

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/internal/scantest"
	"github.com/mpga/mpga/internal/recordreader"
)

// stringsAlike returns strings in runs of one length, of which some are long.
func stringsAlike(rng *rand.Rand, n int) (values []string) {
	for len(values) < n {
		length := rng.IntN(viewInlineMax + 2)
		for range min(n-len(values), 1+rng.IntN(3*alikeMin)) {
			s := make([]byte, length)
			for i := range s {
				s[i] = byte('a' + rng.IntN(26))
			}
			values = append(values, string(s))
		}
	}
	return values
}

// readViews reads a page in batches of random sizes.
func readViews(t *testing.T, rng *rand.Rand, v columnValues, rows int) (got []string) {
	t.Helper()
	for len(got) < rows {
		n := min(1+rng.IntN(100), rows-len(got))
		v.begin(n, nil)
		half := rng.IntN(n + 1) // a batch is read from several pages
		for _, part := range [][2]int{{0, half}, {half, n - half}} {
			if err := v.read(part[0], part[1], part[1], nil); err != nil {
				t.Fatal(err)
			}
		}
		a := v.finish(nil, 0).(*array.StringView)
		for i := range n {
			got = append(got, string([]byte(a.Value(i)))) // the array is released
		}
		a.Release()
	}
	return got
}

// A wrong mask, step or end gives other strings: neighbours' bytes, or the next page's.
func TestViewsOfPlainPages(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(13, seed))
		values := stringsAlike(rng, 1+rng.IntN(200))
		page := plainStrings(values...)
		v := newViews(arrow.BinaryTypes.String, memory.DefaultAllocator)
		if err := v.page(parquet.Encodings.Plain, page[:len(page):len(page)]); err != nil {
			t.Fatal(err)
		}
		if got := readViews(t, rng, v, len(values)); !slices.Equal(got, values) {
			t.Fatalf("seed %d: got %q, want %q", seed, got, values)
		}
		v.begin(1, nil)
		if err := v.read(0, 1, 1, nil); err == nil {
			t.Fatalf("seed %d: a string behind the last", seed)
		}
		v.close()
	}
}

// Dictionaries of short strings have views of their own, others do not.
func TestViewsOfDictionaries(t *testing.T) {
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(14, seed))
		entries := stringsAlike(rng, 1+rng.IntN(60))
		codes := make([]uint32, 8*(1+rng.IntN(30)))
		values := make([]string, len(codes))
		for i := range codes {
			codes[i] = uint32(rng.IntN(len(entries)))
			values[i] = entries[codes[i]]
		}
		v := newViews(arrow.BinaryTypes.String, memory.DefaultAllocator)
		if err := v.dictionary(len(entries), plainStrings(entries...)); err != nil {
			t.Fatal(err)
		}
		if err := v.page(parquet.Encodings.RLEDict, append([]byte{6}, appendPacked(nil, codes, 6)...)); err != nil {
			t.Fatal(err)
		}
		if got := readViews(t, rng, v, len(values)); !slices.Equal(got, values) {
			t.Fatalf("seed %d: got %q, want %q", seed, got, values)
		}
		v.close()
	}
}

// Batches refer to pages that lie in memory which later pages would take: they are all kept until
// the last is read. Memory of a page that is not given back is found, too.
func TestViewsKeepTheirPages(t *testing.T) {
	const rows = 40_000
	texts := make([]string, rows)
	builder := array.NewStringBuilder(memory.DefaultAllocator)
	for i := range texts {
		texts[i] = strings.Repeat(fmt.Sprint("text ", i, " "), i%7)
		builder.Append(texts[i])
	}
	batch := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{{Name: "s", Type: arrow.BinaryTypes.String}}, nil), []arrow.Array{builder.NewArray()}, rows)
	for _, codec := range []compress.Compression{compress.Codecs.Snappy, compress.Codecs.Uncompressed, compress.Codecs.Zstd} {
		for _, pageBytes := range []int64{1 << 10, 40 << 10, 300 << 10, 10 << 20} {
			for _, dictionary := range []bool{false, true} { // one that is given up after the first pages
				data := scantest.EncodeParquet(t, rows, []arrow.RecordBatch{batch}, parquet.WithCompression(codec), parquet.WithDataPageSize(pageBytes),
					parquet.WithDictionaryDefault(dictionary), parquet.WithDictionaryPageSizeLimit(100<<10))
				mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
				kept := readKept(t, scantest.WriteFile(t, t.TempDir(), "t.parquet", data), scan.OpenOptions{Allocator: mem, BatchRows: 1000})
				row := 0
				for _, b := range kept {
					for i := range int(b.NumRows()) {
						if got := b.Column(0).ValueStr(i); got != texts[row] {
							t.Fatalf("%s, pages of %d B, row %d: got %q, want %q", codec, pageBytes, row, got, texts[row])
						}
						row++
					}
					b.Release()
				}
				if row != rows {
					t.Errorf("%s, pages of %d B: %d rows", codec, pageBytes, row)
				}
				mem.AssertSize(t, 0)
			}
		}
	}
}

// readKept returns all batches of a file of one split.
func readKept(t *testing.T, path string, opt scan.OpenOptions) (kept []arrow.RecordBatch) {
	t.Helper()
	src := openTable(t, path)
	splits, err := src.Splits(context.Background(), []int{0})
	if err != nil || len(splits) != 1 {
		t.Fatalf("%d splits: %v", len(splits), err)
	}
	reader, err := splits[0].Open(context.Background(), opt)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Release()
	for {
		batch, err := recordreader.Next(reader)
		if err != nil {
			t.Fatal(err)
		}
		if batch == nil {
			return kept
		}
		batch.Retain()
		kept = append(kept, batch)
	}
}

// A string column is numbered where its dictionaries have few strings to the rows, whether the
// writer counted them or not.
func TestStatsOfDictionaries(t *testing.T) {
	const rows = 20_000
	for _, c := range []struct {
		rowsPerString int
		stats, want   bool
	}{{1, true, false}, {2, true, false}, {20, true, true}, {20, false, true}, {2000, true, true}, {2000, false, true}} {
		builder := array.NewStringBuilder(memory.DefaultAllocator)
		for i := range rows {
			builder.Append(fmt.Sprint("some text with the number ", i*7919%rows/c.rowsPerString))
		}
		batch := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{{Name: "s", Type: arrow.BinaryTypes.String}}, nil), []arrow.Array{builder.NewArray()}, rows)
		path := scantest.WriteFile(t, t.TempDir(), "t.parquet", encodeCodes(t, rows, batch, parquet.WithStats(c.stats)))
		if got := openTable(t, path).Stats().Columns[0].Repeats; got != c.want {
			t.Errorf("%d rows to each string, statistics %v: Repeats is %v", c.rowsPerString, c.stats, got)
		}
	}
}
