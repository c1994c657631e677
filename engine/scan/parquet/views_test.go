package parquet

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
)

// stringsAlike returns strings in runs of one length, of which some are long.
func stringsAlike(rng *rand.Rand, n int) (values []string) {
	for len(values) < n {
		length := rng.IntN(viewInlineMax + 2)
		for range min(n-len(values), 1+rng.IntN(3*alikeMin)) {
			s := make([]byte, length)
			for i := range s {
				s[i] = byte('a' + rng.IntN(26))
			}
			values = append(values, string(s))
		}
	}
	return values
}

// readViews reads a page in batches of random sizes.
func readViews(t *testing.T, rng *rand.Rand, v columnValues, rows int) (got []string) {
	t.Helper()
	for len(got) < rows {
		n := min(1+rng.IntN(100), rows-len(got))
		v.begin(n)
		half := rng.IntN(n + 1) // a batch is read from several pages
		for _, part := range [][2]int{{0, half}, {half, n - half}} {
			if err := v.read(part[0], part[1], part[1], nil); err != nil {
				t.Fatal(err)
			}
		}
		a := v.finish(nil, 0).(*array.StringView)
		for i := range n {
			got = append(got, string([]byte(a.Value(i)))) // the array is released
		}
		a.Release()
	}
	return got
}

// A wrong mask, step or end gives other strings: neighbours' bytes, or the next page's.
func TestViewsOfPlainPages(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(13, seed))
		values := stringsAlike(rng, 1+rng.IntN(200))
		page := plainStrings(values...)
		v := newViews(arrow.BinaryTypes.String, memory.DefaultAllocator)
		if err := v.page(parquet.Encodings.Plain, page[:len(page):len(page)]); err != nil {
			t.Fatal(err)
		}
		if got := readViews(t, rng, v, len(values)); !slices.Equal(got, values) {
			t.Fatalf("seed %d: got %q, want %q", seed, got, values)
		}
		v.begin(1)
		if err := v.read(0, 1, 1, nil); err == nil {
			t.Fatalf("seed %d: a string behind the last", seed)
		}
		v.close()
	}
}

// Dictionaries of short strings have views of their own, others do not.
func TestViewsOfDictionaries(t *testing.T) {
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(14, seed))
		entries := stringsAlike(rng, 1+rng.IntN(60))
		codes := make([]uint32, 8*(1+rng.IntN(30)))
		values := make([]string, len(codes))
		for i := range codes {
			codes[i] = uint32(rng.IntN(len(entries)))
			values[i] = entries[codes[i]]
		}
		v := newViews(arrow.BinaryTypes.String, memory.DefaultAllocator)
		if err := v.dictionary(len(entries), plainStrings(entries...)); err != nil {
			t.Fatal(err)
		}
		if err := v.page(parquet.Encodings.RLEDict, append([]byte{6}, appendPacked(nil, codes, 6)...)); err != nil {
			t.Fatal(err)
		}
		if got := readViews(t, rng, v, len(values)); !slices.Equal(got, values) {
			t.Fatalf("seed %d: got %q, want %q", seed, got, values)
		}
		v.close()
	}
}
