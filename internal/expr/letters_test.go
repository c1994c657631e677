package expr

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

// What is done eight bytes at a time, or by a table, is what is done character by character: for
// every character, at every distance from the end, and for bytes that are no text.
func TestLetters(t *testing.T) {
	check := func(s string) {
		t.Helper()
		ascii := strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
		if isASCII(s) != ascii {
			t.Fatalf("%q: isASCII is %v", s, !ascii)
		}
		if got := characters(s); utf8.ValidString(s) && got != int64(utf8.RuneCountInString(s)) {
			t.Fatalf("%q: %d characters", s, got)
		}
		for _, c := range []*letterCase{lowerCase, upperCase} {
			want := strings.Map(c.of, s)
			if got := string(c.text(nil, s)); got != want {
				t.Fatalf("%q: got %q, want %q", s, got, want)
			}
			if ascii {
				if got := string(c.ascii(nil, s)); got != want {
					t.Fatalf("%q: got %q, want %q", s, got, want)
				}
			}
		}
	}
	for r := rune(0); r < 0x3000; r++ {
		if !utf8.ValidRune(r) {
			continue
		}
		for _, around := range []int{0, 1, 7, 8, 9} {
			check(strings.Repeat("Z", around) + string(r) + strings.Repeat("a", 9-around))
		}
	}
	rng := rand.New(rand.NewPCG(31, 0))
	for range 20_000 {
		b := make([]byte, rng.IntN(40))
		for i := range b {
			if b[i] = byte(rng.IntN(128)); rng.IntN(20) == 0 {
				b[i] = byte(rng.IntN(256))
			}
		}
		check(string(b))
	}
}
