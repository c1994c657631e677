package scatter

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/rowtest"
	"github.com/mpga/mpga/partition"
)

// collector is partitions whose pages nobody takes.
type collector struct {
	Partitions
	pages [1 << partition.RadixBitsMax][]*rowdata.Page
	calls int
}

func (c *collector) Put(_ Content, pages []PartitionPage) error {
	c.calls++
	for _, p := range pages {
		c.pages[p.Partition] = append(c.pages[p.Partition], p.Page)
	}
	return nil
}

// passTo returns a pass whose pages have any size.
func passTo(radix partition.Radix, to Partitions) *Pass {
	o := Options{Memory: rowdata.GoMemory, WorkerBytes: func() int64 { return math.MaxInt64 }}
	return o.PassOf(radix, to)
}

// Would catch rows that land in another partition than their hash says, that change places with
// others of the partition, or that overwrite each other where a page ends; and pages that hold no
// whole number of rows, outgrow their bound, or stay small in a large partition. Rows of one word
// and of more than the first page holds.
func TestScatterPages(t *testing.T) {
	rng := rowtest.Rand(t)
	for _, stride := range []int{1, 2, 3, 6, 100, 256, 257, 20_000} {
		for _, radix := range []partition.Radix{1, 6, partition.RadixBitsMax} {
			t.Run(fmt.Sprintf("%d words, %d bits", stride, radix), func(t *testing.T) {
				layout := &rowdata.RowLayout{Stride: stride, KeyWords: stride}
				to := new(collector)
				w := NewWriter(passTo(radix, to), 0, layout)
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
					w.Put(rows, values, nil, hashes, false)
					if err := w.Seal(); err != nil {
						t.Fatal(err)
					}
					n += rows
				}
				if err := w.Close(); err != nil {
					t.Fatal(err)
				}
				for p := range want {
					checkPages(t, to.pages[p], stride, want[p])
				}
				if err := w.Close(); err != nil || to.calls > rowsMax {
					t.Errorf("closing again: %d calls, %v", to.calls, err)
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
		if bytes := 8 * len(page.Words); bytes > PageBytesMax && page.Rows > 1 {
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
	rng := rowtest.Rand(t)
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
	tile := &rowdata.Tile{Rows: rowdata.TileRows, Keys: rowtest.Words(rng, rowdata.TileRows, math.MaxUint64), Valid: make([][]uint8, len(b.Columns))}
	for range b.Args {
		tile.Args = append(tile.Args, rowtest.Words(rng, rowdata.TileRows, math.MaxUint64))
	}
	for a, arg := range b.Args {
		if from := slices.Index(b.Args, rowdata.Arg{Column: arg.Column, Words: 1}); arg.Encoding == rowdata.Ordered && from >= 0 && arg.Column == b.Args[0].Column {
			for i, w := range tile.Args[from] {
				tile.Args[a][i] = w ^ sign
			}
		}
	}
	layout := b.RowLayout()
	if want := 1 + len(b.Args) - 1; layout.Stride != want {
		t.Errorf("rows have %d words, want %d", layout.Stride, want)
	}
	to := new(collector)
	w := NewWriter(passTo(0, to), 0, &layout)
	if err := errors.Join(w.Tile(tile, make([]uint64, tile.Rows)), w.Close()); err != nil {
		t.Fatal(err)
	}
	row, got := 0, &rowdata.Tile{Args: make([][]uint64, len(b.Args)), Valid: make([][]uint8, len(b.Columns))}
	for _, page := range to.pages[0] {
		Unpack(got, &layout, page, 0, page.Rows)
		for a := range b.Args {
			if !slices.Equal(got.Args[a], tile.Args[a][row:row+page.Rows]) {
				t.Errorf("argument %d (%+v) has changed in rows %d to %d", a, b.Args[a], row, row+page.Rows)
			}
		}
		row += page.Rows
	}
	if row != tile.Rows {
		t.Errorf("%d rows, want %d", row, tile.Rows)
	}
}
