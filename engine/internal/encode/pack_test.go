package encode

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mpga/mpga/internal/rowdata"
)

// Would catch vectors that write other groups than the Go loop, that write beyond the rows, or that
// let a value outside the range pass, wherever it is.
func TestPackGroups(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, base := range []int64{-100, 0, math.MinInt64, math.MaxInt64 - 1<<16} {
		f := &rowdata.KeyField{Kind: rowdata.Int64, Bits: 16, Base: base, Span: 1<<16 - 1, NullBit: -1}
		for _, rows := range []int{0, 1, 7, 8, 9, 16, 100, rowdata.TileRows - 1, rowdata.TileRows} {
			words := make([]uint64, rows)
			for i := range words {
				words[i] = uint64(base) + rng.Uint64N(f.Span+1)
			}
			for row := -1; row < rows; row += 1 + rng.IntN(1+rows/8) {
				some := slices.Clone(words)
				if row >= 0 {
					some[row] = uint64(base) + []uint64{f.Span + 1, 1 << 32, 1 << 63, math.MaxUint64}[rng.IntN(4)]
				}
				got, want := make([]uint32, rows+8), make([]uint32, rows+8)
				if outside, expected := packGroups(got[:rows], f, some), packFirst(want[:rows], f, some); outside != expected || outside != row {
					t.Fatalf("base %d, %d rows: row %d is outside, want %d and %d", base, rows, outside, expected, row)
				}
				if row < 0 && !slices.Equal(got, want) {
					t.Fatalf("base %d, %d rows: groups %d, want %d", base, rows, got, want)
				}
			}
		}
	}
}

// Would catch keys beside their NULL bits that are not those of the general loop.
func TestPackBeside(t *testing.T) {
	words := []uint64{0, 1, 1 << 63, math.MaxUint64, 5, 6}
	valid := []uint8{1, 0, 1, 0, 0, 1}
	for _, base := range []int64{0, math.MinInt64} {
		f := &rowdata.KeyField{Kind: rowdata.Int64, Bits: 64, Base: base, Span: math.MaxUint64, Nullable: true, NullWord: 1}
		got, want := slices.Repeat([]uint64{7}, 2*len(words)), make([]uint64, 2*len(words))
		packBeside(got, f, words, valid)
		if outside := packIntegers(want, 2, f, words, valid); outside >= 0 || !slices.Equal(got, want) {
			t.Errorf("base %d: keys %x, want %x; row %d is outside", base, got, want, outside)
		}
	}
}

// BenchmarkPackGroups packs a tile of keys, by packGroups and by its twin.
func BenchmarkPackGroups(b *testing.B) {
	f := &rowdata.KeyField{Kind: rowdata.Int64, Bits: 16, Base: -100, Span: 999, NullBit: -1}
	words, groups := make([]uint64, rowdata.TileRows), make([]uint32, rowdata.TileRows)
	for name, pack := range map[string]func([]uint32, *rowdata.KeyField, []uint64) int{"groups": packGroups, "first": packFirst[uint32]} {
		b.Run(fmt.Sprintf("pack=%s", name), func(b *testing.B) {
			for b.Loop() {
				pack(groups, f, words)
			}
			b.ReportMetric(float64(b.N)*rowdata.TileRows/b.Elapsed().Seconds()/1e6, "Mrows/s")
		})
	}
}
