package cpuagg

import (
	"fmt"
	"testing"

	"github.com/mpga/mpga/engine/spec"
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
				layout := &spec.RowLayout{Stride: stride}
				s := newScatterer(spec.GoMemory, Rows, layout, to)
				rowsMax := min(20_000, 1<<20/stride)
				want := make([][]uint64, radix.FanOut())
				hashes := make([]uint64, spec.TileRows)
				for n := 0; n < rowsMax; {
					rows := min(1+rng.IntN(spec.TileRows), rowsMax-n)
					values := make([]uint64, rows*stride)
					for i := range rows {
						hashes[i] = rng.Uint64() >> rng.IntN(3) // the first partitions get more
						values[i*stride], values[(i+1)*stride-1] = uint64(n+i), uint64(n+i)
						p := radix.Of(hashes[i])
						want[p] = append(want[p], uint64(n+i))
					}
					s.place(hashes[:rows])
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

func checkPages(t *testing.T, pages []*spec.Page, stride int, want []uint64) {
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
