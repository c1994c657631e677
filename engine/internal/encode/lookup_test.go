package encode

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// Would catch a word of another entry, rows left out at the end, and an index that no entry has.
func TestLookUpWords(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	for range 5000 {
		table := make([]uint64, 1+rng.IntN(40))
		for i := range table {
			table[i] = rng.Uint64()
		}
		indexes := make([]uint32, rng.IntN(100))
		for i := range indexes {
			indexes[i] = rng.Uint32N(uint32(len(table)))
		}
		want := len(indexes)
		if len(indexes) > 0 && rng.IntN(2) == 0 {
			want = rng.IntN(len(indexes))
			indexes[want] = uint32(len(table)) + rng.Uint32N(3)<<rng.IntN(31)
		}
		out := make([]uint64, len(indexes))
		got := lookUpWords(out, table, indexes)
		if got != want {
			t.Fatalf("table of %d: %d rows of %v, want %d", len(table), got, indexes, want)
		}
		for i, index := range indexes[:got] {
			if out[i] != table[index] {
				t.Fatalf("table of %d: row %d of %d has %x, want %x", len(table), i, len(indexes), out[i], table[index])
			}
		}
	}
}

// The axis is the size of the table.
func BenchmarkLookUp(b *testing.B) {
	for _, n := range []int{5, 15, 100, 10_000} {
		b.Run(fmt.Sprint("entries=", n), func(b *testing.B) {
			out, table, indexes := make([]uint64, 2048), make([]uint64, n), make([]uint32, 2048)
			for i := range indexes {
				indexes[i] = uint32(i * 7919 % n)
			}
			for b.Loop() {
				lookUpWords(out, table, indexes)
			}
			b.ReportMetric(float64(b.N)*float64(len(out))/b.Elapsed().Seconds()/1e6, "Mrows/s")
		})
	}
}
