package needle

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// column returns texts that lie behind each other with gaps, of which some are elsewhere.
func column(rng *rand.Rand, n int) (texts []string) {
	alphabet := []string{"ab", "google.", "aб日"}[rng.IntN(3)]
	var page strings.Builder
	type place struct{ from, to int }
	var places []place
	for range n {
		page.WriteString(strings.Repeat("g", rng.IntN(6))) // what a gap has may look like a match
		if rng.IntN(50) == 0 {
			page.WriteString(strings.Repeat("oogl", 40))
		}
		from := page.Len()
		for range rng.IntN([]int{4, 40, 200}[rng.IntN(3)]) {
			page.WriteByte(alphabet[rng.IntN(len(alphabet))])
		}
		places = append(places, place{from, page.Len()})
	}
	all := page.String()
	for _, p := range places {
		s := all[p.from:p.to]
		switch rng.IntN(20) {
		case 0:
			s = strings.Clone(s)
		case 1:
			s = ""
		}
		texts = append(texts, s)
	}
	if rng.IntN(4) == 0 {
		slices.Reverse(texts)
	}
	return texts
}

// Every text with the needle is found, at its first match, and no other: not what lies between
// texts, nor a match that begins in one text and ends behind it.
func TestEach(t *testing.T) {
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(21, seed))
		texts := column(rng, rng.IntN(60))
		needle := []string{"", "a", "b", "ab", "ba", "aab", "google", "oo", "g", "б", "日a", "gg", ".goo", strings.Repeat("ab", 20)}[rng.IntN(14)]
		want := make([]int, len(texts))
		got := make([]int, len(texts))
		for i, s := range texts {
			want[i], got[i] = strings.Index(s, needle), -1
		}
		before := -1
		New(needle).Each(texts, func(i, at int) {
			if i <= before {
				t.Fatalf("seed %d: text %d comes behind text %d", seed, i, before)
			}
			before, got[i] = i, at
		})
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d: %q in %q: got %v, want %v", seed, needle, texts, got, want)
		}
	}
}

// The bytes that are compared are of the needle, whatever it has.
func TestNew(t *testing.T) {
	for b := range 256 {
		for _, needle := range []string{string([]byte{byte(b)}), string([]byte{byte(b), 'e'}), string([]byte{'e', byte(b), 'e'})} {
			f := New(needle)
			if needle[f.at1] != f.byte1 || needle[f.at2] != f.byte2 || len(needle) > 1 && f.at1 == f.at2 {
				t.Errorf("%q: bytes %d and %d", needle, f.at1, f.at2)
			}
		}
	}
}

func BenchmarkEach(b *testing.B) {
	rng := rand.New(rand.NewPCG(22, 0))
	var page strings.Builder
	for range 2048 {
		fmt.Fprintf(&page, "http://site%d.com/%d/page%d?id=%d0123", rng.IntN(900), rng.IntN(1000), rng.IntN(100000), rng.IntN(10000000))
	}
	all := page.String()
	texts := make([]string, 2048)
	for i := range texts {
		texts[i] = all[i*len(all)/len(texts) : (i+1)*len(all)/len(texts)]
	}
	for _, needle := range []string{"google", "page9", "site", "0123"} {
		f := New(needle)
		b.Run(needle, func(b *testing.B) {
			b.SetBytes(int64(len(all)))
			for b.Loop() {
				n := 0
				f.Each(texts, func(int, int) { n++ })
			}
		})
		b.Run(needle+"/library", func(b *testing.B) {
			b.SetBytes(int64(len(all)))
			for b.Loop() {
				n := 0
				for _, s := range texts {
					if strings.Contains(s, needle) {
						n++
					}
				}
			}
		})
	}
}
