package csv

import (
	"bytes"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"
)

// randomText has few different bytes, so that each mark is often there.
func randomText(rng *rand.Rand, n int) []byte {
	text := make([]byte, n)
	for i := range text {
		text[i] = ",\n\"\r\x00\x80\xFFaab-"[rng.IntN(11)]
	}
	return text
}

// The definition of a mask, byte by byte.
func TestMaskText(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		text := randomText(rng, rng.IntN(1000))
		if rng.IntN(2) == 0 {
			for i := range text {
				text[i] = byte(rng.Uint32())
			}
		}
		m := marks{",;\t\x00\xFF"[rng.IntN(5)], "\"'\n"[rng.IntN(3)]}
		want := make([]textMask, len(text)/maskBytes)
		for i := range len(want) * maskBytes {
			bit := uint64(1) << (i % maskBytes)
			mask := &want[i/maskBytes]
			for _, c := range []struct {
				mark byte
				bits *uint64
			}{{m.delimiter, &mask.delimiter}, {'\n', &mask.newline}, {m.quote, &mask.quote}} {
				if text[i] == c.mark {
					*c.bits |= bit
				}
			}
		}
		got, generic := make([]textMask, len(want)), make([]textMask, len(want))
		maskText(got, text, m)
		maskTextGeneric(generic, text, m)
		if !slices.Equal(got, want) || !slices.Equal(generic, want) {
			t.Fatalf("masks of %q, marks %q:\ngot     %x\ngeneric %x\nwant    %x", text, m, got, generic, want)
		}
	}
}

// The two implementations against each other, and neither writes behind its slack.
func TestWritePositions(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 5000 {
		set := make([]uint64, rng.IntN(20))
		n := 0
		for i := range set {
			for range rng.IntN(7) {
				set[i] |= rng.Uint64() & rng.Uint64()
			}
			n += bits.OnesCount64(set[i])
		}
		base := rng.Uint32N(1 << 30)
		const guard = 0xABCD
		want, got := make([]uint32, n+positionsSlack), make([]uint32, n+positionsSlack+1)
		got[n+positionsSlack] = guard
		wantN, gotN := writePositionsGeneric(want, set, base), writePositions(got[:n+positionsSlack], set, base)
		if wantN != n || gotN != n || !slices.Equal(got[:n], want[:n]) || got[n+positionsSlack] != guard {
			t.Fatalf("%x: got %d of %v, want %d of %v", set, gotN, got, n, want)
		}
	}
}

func TestInsideQuotes(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 1000 {
		quotes := rng.Uint64() & rng.Uint64()
		inside := insideQuotes(quotes)
		for i := range 64 {
			if want := bits.OnesCount64(quotes<<(63-i)) & 1; int(inside>>i&1) != want {
				t.Fatalf("%x: bit %d of %x, want %d", quotes, i, inside, want)
			}
		}
	}
}

// The axis is the implementation: 10 B a field.
func BenchmarkMasks(b *testing.B) {
	text := bytes.Repeat([]byte("id0000001,"), 1<<16/10)
	masks := make([]textMask, len(text)/maskBytes)
	set := make([]uint64, len(masks))
	out := make([]uint32, len(text)+positionsSlack)
	for _, generic := range []bool{false, true} {
		name, mask, write := "assembly", maskText, writePositions
		if generic {
			name, mask, write = "go", maskTextGeneric, writePositionsGeneric
		} else if !hasMaskAssembly {
			continue
		}
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				mask(masks, text, marks{',', '"'})
				for i := range masks {
					set[i] = masks[i].delimiter
				}
				write(out, set, 0)
			}
		})
	}
}
