package store

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// randomRows returns rows of stride words, those of column i of a width that differs by column:
// around 0, around the middle of the unsigned numbers, and anywhere.
func randomRows(rng *rand.Rand, rows, stride int) []uint64 {
	words := make([]uint64, rows*stride)
	for c := range stride {
		base, width := []uint64{0, 1 << 63, rng.Uint64()}[rng.IntN(3)], rng.IntN(65)
		for at := c; at < len(words); at += stride {
			words[at] = base + uint64(int64(rng.Uint64())>>1>>(63-min(width, 63)))
			if width == 64 {
				words[at] = rng.Uint64()
			}
		}
	}
	return words
}

// Would catch bits that are lost where a number crosses words, and numbers near the ends of their
// range.
func TestPackRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 7))
	for range 2000 {
		rows, stride := rng.IntN(200), rng.IntN(5)
		words := randomRows(rng, rows, stride)
		columns := packedColumns(words, stride)
		packed := make([]byte, packedBytes(columns, rows))
		packRows(packed, words, columns)
		got := slices.Repeat([]uint64{0xDB}, len(words))
		if err := unpackRows(got, rows, stride, packed); err != nil || !slices.Equal(got, words) {
			t.Fatalf("%d rows of %d words, columns %v: %v\n%x\n%x", rows, stride, columns, err, got, words)
		}
	}
}

// A column takes as many bits as its range needs, wherever that lies.
func TestPackedColumns(t *testing.T) {
	for _, c := range []struct {
		words []uint64
		want  packedColumn
	}{
		{nil, packedColumn{}},
		{[]uint64{7, 7}, packedColumn{7, 0}},
		{[]uint64{1, ^uint64(0), 2}, packedColumn{^uint64(0), 2}},
		{[]uint64{1<<63 + 1, 1<<63 - 2}, packedColumn{1<<63 - 2, 2}},
		{[]uint64{0, 1 << 63}, packedColumn{1 << 63, 64}},
	} {
		if got := packedColumns(c.words, 1)[0]; got != c.want {
			t.Errorf("%x: got %x, want %x", c.words, got, c.want)
		}
	}
}

// Nothing that a file may hold must panic, or be taken for rows of another size.
func FuzzUnpackRows(f *testing.F) {
	header := func(bases ...uint64) (h []byte) {
		for _, b := range bases {
			h = binary.LittleEndian.AppendUint64(h, b)
		}
		return h
	}
	f.Add(uint16(3), uint8(1), header(5, 0))
	f.Add(uint16(3), uint8(1), header(5, 22, 1, 2))
	f.Add(uint16(1), uint8(2), header(5, 64, 1, 65, 3))
	f.Fuzz(func(t *testing.T, rows uint16, stride uint8, packed []byte) {
		words := make([]uint64, int(rows)*int(stride))
		if err := unpackRows(words, int(rows), int(stride), packed); err != nil {
			return
		}
		columns := packedColumns(words, int(stride))
		if n := packedBytes(columns, int(rows)); n > len(packed) {
			t.Errorf("%d B packed again take %d", len(packed), n)
		}
	})
}

// The axis is the width of all columns.
func BenchmarkPackRows(b *testing.B) {
	const rows, stride = 8192, 2
	for _, width := range []int{10, 26, 64} {
		words := make([]uint64, rows*stride)
		rng := rand.New(rand.NewPCG(1, 1))
		for i := range words {
			words[i] = rng.Uint64() >> (64 - width)
		}
		columns := packedColumns(words, stride)
		packed := make([]byte, packedBytes(columns, rows))
		b.Run(fmt.Sprint("pack/width=", width), func(b *testing.B) {
			b.SetBytes(8 * rows * stride)
			for b.Loop() {
				packRows(packed, words, packedColumns(words, stride))
			}
		})
		b.Run(fmt.Sprint("unpack/width=", width), func(b *testing.B) {
			b.SetBytes(8 * rows * stride)
			for b.Loop() {
				if err := unpackRows(words, rows, stride, packed); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
