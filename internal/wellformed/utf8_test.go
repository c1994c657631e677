package wellformed

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// pieces are characters of each length at the bounds of what is allowed, and what is wrong in a
// way of its own.
var pieces = []string{
	"a", "\x00", "\x7f", "\u0080", "ж", "\u07ff", "\u0800", "日", "\ud7ff", "\ue000", "\uffff", "\U00010000", "😀", "\U0010ffff",
	"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xc2", "\xd0", "\xdf", "\xe0\x80\x80", "\xe0\x9f\xbf", "\xe0\xa0", "\xe6\x97",
	"\xed\xa0\x80", "\xed\xbf\xbf", "\xf0\x80\x80\x80", "\xf0\x8f\xbf\xbf", "\xf0\x9f", "\xf0\x9f\x98", "\xf4\x90\x80\x80",
	"\xf5\x80\x80\x80", "\xf8\x88\x80\x80\x80", "\xfe", "\xff",
}

// firstWrong is the index of the first wrong piece.
const firstWrong = 14

// check compares UTF8 and NonASCII with what the standard library says, of text with and without
// room behind it, and that bytes behind the text do not count.
func check(t *testing.T, text []byte) {
	t.Helper()
	want, high := utf8.Valid(text), 0
	for _, c := range text {
		if c >= utf8.RuneSelf {
			high++
		}
	}
	for _, behind := range []string{"", strings.Repeat("\x80", vectorBytes), strings.Repeat("\xf0", vectorBytes)} {
		b := slices.Concat(text, []byte(behind))
		b = b[:len(text):len(b)]
		if got := UTF8(b); got != want {
			t.Fatalf("%q, %q behind it: %t, want %t", text, behind, got, want)
		}
		if got := NonASCII(b); got != high {
			t.Fatalf("%q: %d bytes that are not ASCII, want %d", text, got, high)
		}
	}
}

// A wrong table entry, shift or end is found: every pair of bytes, and every piece alone, between
// ASCII and between other characters, at every place of two vectors.
func TestPlaces(t *testing.T) {
	for _, filler := range []string{"a", "ж", "日", "😀"} {
		around := []byte(strings.Repeat(filler, 100/len(filler)))
		starts := func(at int) int { return at - at%len(filler) }
		for _, piece := range pieces {
			for at := range 70 {
				check(t, slices.Insert(bytes.Clone(around), starts(at), []byte(piece)...))
				check(t, slices.Concat(around[:starts(at)], []byte(piece)))
				check(t, slices.Concat([]byte("abc")[:at%4], around[:starts(at)], []byte(piece)))
			}
		}
	}
	for pair := range 1 << 16 {
		check(t, slices.Concat(bytes.Repeat([]byte("a"), 30), []byte{byte(pair >> 8), byte(pair)}, []byte("\x80\x80bbbb")))
		check(t, slices.Concat(bytes.Repeat([]byte("a"), 30), []byte{byte(pair >> 8), byte(pair)}, []byte("bbbb")))
	}
}

// U1, U2: of random text of all lengths and alignments, right, wrong in one place, or random bytes.
func TestRandom(t *testing.T) {
	for seed := range uint64(20_000) {
		rng := rand.New(rand.NewPCG(31, seed))
		var text []byte
		length := rng.IntN([]int{40, 200, 1000}[rng.IntN(3)])
		kinds := 1 + rng.IntN(firstWrong)
		for len(text) < length {
			if rng.IntN(3) == 0 {
				text = append(text, strings.Repeat("x", rng.IntN(50))...)
			}
			text = append(text, pieces[rng.IntN(kinds)]...)
		}
		switch rng.IntN(4) {
		case 0:
			text = slices.Insert(text, rng.IntN(len(text)+1), []byte(pieces[rng.IntN(len(pieces))])...)
		case 1:
			if len(text) > 0 {
				text[rng.IntN(len(text))] = byte(rng.Uint32())
			}
		case 2:
			text = text[:rng.IntN(len(text)+1)]
		}
		check(t, text[min(rng.IntN(8), len(text)):])
	}
	random := make([]byte, 300)
	for seed := range uint64(2000) {
		rng := rand.New(rand.NewPCG(32, seed))
		for i := range random {
			random[i] = byte(rng.Uint32())
		}
		from := rng.IntN(len(random))
		check(t, random[from:from+rng.IntN(len(random)-from)])
	}
}

// The counters of countBlocks must not overflow.
func TestNonASCIILong(t *testing.T) {
	b := bytes.Repeat([]byte{0xff}, (2*blocksMax+1)*blockBytes+77)
	for _, n := range []int{0, 1, blocksMax*blockBytes - 1, blocksMax * blockBytes, blocksMax*blockBytes + 1, len(b)} {
		if got := NonASCII(b[:n]); got != n {
			t.Errorf("%d of %d", got, n)
		}
	}
}

func BenchmarkUTF8(b *testing.B) {
	for _, text := range []string{"http://site101.ru/section/74/page78110?id=200005 ", "пего экто пожувилибыпебы ", "日本語テキスト"} {
		for _, size := range []int{16, 48, 150, 1000, 20_000} {
			some := make([]byte, 0, size+64)
			for len(some)+len(text) <= size || len(some) == 0 {
				some = append(some, text...)
			}
			for name, valid := range map[string]func([]byte) bool{"": UTF8, "/library": utf8.Valid} {
				b.Run(fmt.Sprintf("%.4s/%d%s", text, len(some), name), func(b *testing.B) {
					b.SetBytes(int64(len(some)))
					for b.Loop() {
						if !valid(some) {
							b.Fatal("not valid")
						}
					}
				})
			}
		}
	}
}

func BenchmarkNonASCII(b *testing.B) {
	text := bytes.Repeat([]byte("http://site101.ru/section/74/page78110?id=200005"), 512)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		NonASCII(text)
	}
}
