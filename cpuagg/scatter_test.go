package cpuagg

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/partition"
)

// Would catch rows that land in another partition than their hash says, that change places with
// others of the partition, or that overwrite each other where a page ends; and pages that hold no
// whole number of rows, outgrow their bound, or stay small in a large partition. Rows of one word
// and of more than the first page holds.
func TestScatterPages(t *testing.T) {
	rng := newRand(t)
	for _, stride := range []int{1, 2, 3, 6, 100, 256, 257, 20_000} {
		for _, radix := range []partition.Radix{1, 6, partition.RadixBitsMax} {
			t.Run(fmt.Sprintf("%d words, %d bits", stride, radix), func(t *testing.T) {
				to, parts := onePass(radix)
				layout := &rowdata.RowLayout{Stride: stride}
				s := newScatterer(rowdata.GoMemory, Rows, layout, to)
				rowsMax := min(20_000, 1<<20/stride)
				want := make([][]uint64, radix.FanOut())
				hashes := make([]uint64, rowdata.TileRows)
				for n := 0; n < rowsMax; {
					rows := min(1+rng.IntN(rowdata.TileRows), rowsMax-n)
					values := make([]uint64, rows*stride)
					for i := range rows {
						hashes[i] = rng.Uint64() >> rng.IntN(3) // the first partitions get more
						values[i*stride], values[(i+1)*stride-1] = uint64(n+i), uint64(n+i)
						p := radix.Of(hashes[i])
						want[p] = append(want[p], uint64(n+i))
					}
					s.place(hashes[:rows], false)
					s.put(rows, 0, stride, values)
					if err := s.seal(); err != nil {
						t.Fatal(err)
					}
					n += rows
				}
				if err := s.close(); err != nil {
					t.Fatal(err)
				}
				for p := range want {
					checkPages(t, parts.pages[Rows][p], stride, want[p])
				}
				if err := s.close(); err != nil || parts.store.calls > rowsMax {
					t.Errorf("closing again: %d calls, %v", parts.store.calls, err)
				}
			})
		}
	}
}

func checkPages(t *testing.T, pages []*rowdata.Page, stride int, want []uint64) {
	t.Helper()
	for i, page := range pages {
		if len(page.Words)%stride != 0 || page.Rows*stride > len(page.Words) || page.Rows == 0 {
			t.Fatalf("page %d: %d rows of %d words in %d", i, page.Rows, stride, len(page.Words))
		}
		if bytes := 8 * len(page.Words); bytes > pageBytesMax && page.Rows > 1 {
			t.Fatalf("page %d has %d B", i, bytes)
		}
		if i > 0 && i < len(pages)-1 && len(page.Words) < len(pages[i-1].Words) {
			t.Fatalf("page %d has %d words, the one before %d", i, len(page.Words), len(pages[i-1].Words))
		}
		for row := range page.Rows {
			first, last := page.Words[row*stride], page.Words[(row+1)*stride-1]
			if len(want) == 0 || first != want[0] || last != first {
				t.Fatalf("page %d, row %d: holds row %d and %d", i, row, first, last)
			}
			want = want[1:]
		}
	}
	if len(want) > 0 {
		t.Fatalf("%d rows are missing", len(want))
	}
}

// Would catch integers that come out of pages otherwise than they went in, where their Ordered
// words are not stored: before and after the natural ones, and alone.
func TestScatterArguments(t *testing.T) {
	rng := newRand(t)
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "k", Type: arrow.PrimitiveTypes.Int64}, {Name: "a", Type: arrow.PrimitiveTypes.Int64},
		{Name: "b", Type: arrow.PrimitiveTypes.Int64}, {Name: "c", Type: arrow.PrimitiveTypes.Float64},
	}, nil)
	q := query.Query{Keys: []query.Key{{Column: "k"}}, Aggregates: []query.Aggregate{
		{Func: query.Max, Args: []string{"a"}}, {Func: query.Sum, Args: []string{"a"}}, {Func: query.Min, Args: []string{"b"}},
		{Func: query.Sum, Args: []string{"c"}}, {Func: query.Min, Args: []string{"c"}},
	}}
	stats := slices.Repeat([]rowdata.ColumnStats{{NoNulls: true}}, 4)
	b, err := rowdata.Bind(q, schema, stats)
	if err != nil {
		t.Fatal(err)
	}
	const sign = 1 << 63
	tile := &rowdata.Tile{Rows: rowdata.TileRows, Keys: randomWords(rng, rowdata.TileRows, math.MaxUint64), Valid: make([][]uint8, len(b.Columns))}
	for range b.Args {
		tile.Args = append(tile.Args, randomWords(rng, rowdata.TileRows, math.MaxUint64))
	}
	for a, arg := range b.Args {
		if from := slices.Index(b.Args, rowdata.Arg{Column: arg.Column, Words: 1}); arg.Encoding == rowdata.Ordered && from >= 0 && arg.Column == b.Args[0].Column {
			for i, w := range tile.Args[from] {
				tile.Args[a][i] = w ^ sign
			}
		}
	}
	w := NewRun(b, Options{}, new(memoryStore)).NewWorker()
	defer w.Release()
	if stride, want := w.run.rowLayout.Stride, 1+len(b.Args)-1; stride != want {
		t.Errorf("rows have %d words, want %d", stride, want)
	}
	to, parts := onePass(0)
	s := newScatterer(rowdata.GoMemory, Rows, &w.run.rowLayout, to)
	if err := errors.Join(s.scatterTile(b, tile, make([]uint64, tile.Rows)), s.close()); err != nil {
		t.Fatal(err)
	}
	row := 0
	for _, page := range parts.pages[Rows][0] {
		w.unpackRows(page, 0, page.Rows)
		for a := range b.Args {
			if !slices.Equal(w.page.Args[a], tile.Args[a][row:row+page.Rows]) {
				t.Errorf("argument %d (%+v) has changed in rows %d to %d", a, b.Args[a], row, row+page.Rows)
			}
		}
		row += page.Rows
	}
	if row != tile.Rows {
		t.Errorf("%d rows, want %d", row, tile.Rows)
	}
}

// Would catch unpacking with the offset or the width of another part.
func TestUnpack(t *testing.T) {
	const stride, rows = 5, 7
	words := make([]uint64, stride*rows)
	for i := range words {
		words[i] = uint64(i)
	}
	for offset := range stride {
		for width := 1; offset+width <= stride; width++ {
			for i, w := range unpack(nil, words, stride, offset, width) {
				if want := uint64(i/width*stride + offset + i%width); w != want {
					t.Fatalf("offset %d, %d words: word %d is %d, want %d", offset, width, i, w, want)
				}
			}
		}
		for bit := range 64 {
			got := unpackBits(make([]uint8, 3), words, stride, offset, bit)
			for i, b := range got {
				if want := uint8(words[i*stride+offset] >> bit & 1); b != want || len(got) != rows {
					t.Fatalf("offset %d, bit %d: row %d of %d is %d, want %d", offset, bit, i, len(got), b, want)
				}
			}
		}
	}
}
