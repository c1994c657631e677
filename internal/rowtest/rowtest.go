// Package rowtest has what tests of tiles, tables and states share: numbers that can be replayed, and
// strings that go bad when their batch does.
package rowtest

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mpga/mpga/internal/rowdata"
)

var seedFlag = flag.Uint64("seed", 0, "seed of the random tests; 0 takes the time")

// Rand returns random numbers, and prints their seed, which -seed replays.
func Rand(t *testing.T) *rand.Rand {
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	// At once: a panic of another goroutine drops what a test has logged.
	fmt.Printf("again: go test -run '^%s$' -seed=%d\n", t.Name(), seed)
	return rand.New(rand.NewPCG(seed, 1))
}

// Words returns n random words below a bound.
func Words(rng *rand.Rand, n int, below uint64) []uint64 {
	words := make([]uint64, n)
	for i := range words {
		words[i] = rng.Uint64N(below)
	}
	return words
}

// Arena holds strings that rows refer to, as a batch does. Its memory is overwritten when the
// batch is given back.
type Arena struct{ blocks [][]byte }

// Value returns a string in the arena.
func (a *Arena) Value(s string) rowdata.Bytes2 {
	block := []byte(s)
	a.blocks = append(a.blocks, block)
	return rowdata.ToBytes2(block)
}

// Poison gives the batch back.
func (a *Arena) Poison() {
	for _, block := range a.blocks {
		for i := range block {
			block[i] = 0xDB
		}
	}
	a.blocks = nil
}

// KeyLayout is a layout of whole words, with strings at the given words.
func KeyLayout(words int, longs ...int) *rowdata.KeyLayout {
	return &rowdata.KeyLayout{Words: words, Bits: 64 * words, Longs: longs}
}

// KeyText returns the text that tells two packed keys apart.
func KeyText(l *rowdata.KeyLayout, key []uint64) string {
	var b strings.Builder
	for w := 0; w < l.Words; w++ {
		if slices.Contains(l.Longs, w) {
			v := rowdata.AsBytes2(key[w : w+2])
			if *v == rowdata.NullBytes() {
				b.WriteString("NULL ")
			} else {
				fmt.Fprintf(&b, "%q ", v.Bytes())
			}
			w++
			continue
		}
		fmt.Fprintf(&b, "%x ", key[w])
	}
	return b.String()
}

// ReportRows reports rows per second, of a tile an iteration.
func ReportRows(b *testing.B) {
	b.ReportMetric(float64(b.N)*rowdata.TileRows/b.Elapsed().Seconds()/1e6, "Mrows/s")
}
