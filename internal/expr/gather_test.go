package expr

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// Would catch a largest code that is missed at any place, and bits of codes that get to other rows.
func TestGather(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 1))
	for n := range 300 {
		size := []int{1 + rng.IntN(3000), 1 + rng.IntN(1100), 1024, 1025}[n%4]
		truths, ints, codes := make([]uint64, wordsOf(size)), make([]int64, size), make([]int32, n)
		for i := range ints {
			truths[i/64] |= rng.Uint64N(2) << (i % 64)
			ints[i] = rng.Int64()
		}
		if odd := rng.IntN(size); n%3 > 0 { // one code is unlike the others
			for i := range ints {
				truths[i/64] &^= 1 << (i % 64)
				truths[i/64] |= bitOf((i == odd) == (n%3 == 1)) << (i % 64)
			}
		}
		values := flagsOf(truths, size)
		want := uint32(0)
		for i := range codes {
			codes[i] = rng.Int32N(int32(size))
			want = max(want, uint32(codes[i]))
		}
		if got := largest(codes); got != want {
			t.Fatalf("%d codes: the largest is %d, want %d", n, got, want)
		}
		bits, words := gatherBits(make([]uint64, wordsOf(n)), values, codes), gather(make([]int64, n), ints, codes)
		for i, c := range codes {
			if got := bits[i/64] >> (i % 64) & 1; got != uint64(values.bytes[c]) || words[i] != ints[c] {
				t.Fatalf("row %d of %d has bit %d and %d, want %d and %d", i, n, got, words[i], values.bytes[c], ints[c])
			}
		}
		if n > 0 {
			at := rng.IntN(n)
			codes[at] = -1
			if got := largest(codes); got != 1<<32-1 {
				t.Fatalf("%d codes, the one at %d negative: the largest is %d", n, at, got)
			}
		}
	}
}

// BenchmarkLargest looks at a vector of codes, BenchmarkGather at the entries that they name.
func BenchmarkLargest(b *testing.B) {
	codes := make([]int32, vectorRows)
	for name, f := range map[string]func([]int32) uint32{"vectors": largest, "each": largestEach} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				f(codes)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/vectorRows, "ns/row")
		})
	}
}

func BenchmarkGather(b *testing.B) {
	for _, entries := range []int{10, 2500} {
		codes := make([]int32, vectorRows)
		for i := range codes {
			codes[i] = int32(i * 7919 % entries)
		}
		run := func(name string, f func()) {
			b.Run(fmt.Sprintf("%s/entries=%d", name, entries), func(b *testing.B) {
				for b.Loop() {
					f()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/vectorRows, "ns/row")
			})
		}
		bits, truths := make([]uint64, vectorWords), flagsOf(make([]uint64, wordsOf(entries)), entries)
		run("bits", func() { gatherBits(bits, truths, codes) })
		run("bits each", func() { gatherBitsEach(bits, truths.bytes, codes) })
		unlike := make([]uint64, wordsOf(entries))
		unlike[0] = 1
		odd := flagsOf(unlike, entries)
		run("bits, one unlike", func() { gatherBits(bits, odd, codes) })
		ints, values := make([]int64, vectorRows), make([]int64, entries)
		run("ints", func() { gather(ints, values, codes) })
	}
}

// Would catch bits that land beside their rows where a vector does not begin at a word, bits behind
// a vector's end that are taken, and bytes that are not the bits.
func TestBitsAndBytes(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 8))
	for _, at := range []int{0, 1, 63, 64, 130} {
		for _, n := range []int{1, 7, 63, 64, 65, 127, 200} {
			words := make([]uint64, wordsOf(n))
			for w := range words {
				words[w] = rng.Uint64()
			}
			out := make([]uint64, wordsOf(at+n))
			out[0] |= 1
			orBits(out, at, words, n)
			bytes := bytesOf(words, n)
			for i := range at + n {
				want := i == 0
				if i >= at {
					bit := words[(i-at)>>6]>>((i-at)&63)&1 != 0
					if want = want || bit; bit != (bytes[i-at] == 1) || bytes[i-at] > 1 {
						t.Fatalf("%d bits: byte %d is %d", n, i-at, bytes[i-at])
					}
				}
				if got := out[i>>6]>>(i&63)&1 != 0; got != want {
					t.Fatalf("%d bits at %d: bit %d is %v", n, at, i, got)
				}
			}
			for i := at + n; i < 64*len(out); i++ {
				if out[i>>6]>>(i&63)&1 != 0 {
					t.Fatalf("%d bits at %d: bit %d behind them is set", n, at, i)
				}
			}
		}
	}
}
