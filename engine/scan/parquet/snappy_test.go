package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/klauspost/compress/snappy"
)

// appendSnappyLiteral appends a literal whose length takes so many bytes, 0 to 4, behind the tag.
func appendSnappyLiteral(body, literal []byte, lengthBytes int) []byte {
	n := len(literal) - 1
	if lengthBytes == 0 {
		body = append(body, byte(n)<<2)
	} else {
		body = append(body, byte(59+lengthBytes)<<2)
		body = append(body, binary.LittleEndian.AppendUint32(nil, uint32(n))[:lengthBytes]...)
	}
	return append(body, literal...)
}

// appendSnappyCopy appends a copy with an offset of 1, 2 or 4 bytes.
func appendSnappyCopy(body []byte, n, offset, offsetBytes int) []byte {
	switch offsetBytes {
	case 1:
		return append(body, byte(offset>>8)<<5|byte(n-4)<<2|1, byte(offset))
	case 2:
		return append(body, byte(n-1)<<2|2, byte(offset), byte(offset>>8))
	}
	return binary.LittleEndian.AppendUint32(append(body, byte(n-1)<<2|3), uint32(offset))
}

// randomSnappy returns a block's body of all kinds of elements, and what it stands for. Half of the
// blocks are as those of text: nearly all literals have their length in the tag, and nearly all
// copies an offset no less than their length.
func randomSnappy(rng *rand.Rand, elements int) (body, want []byte) {
	text := rng.IntN(2) == 0
	for range elements {
		plain := text && rng.IntN(50) > 0
		if len(want) == 0 || rng.IntN(3) == 0 {
			lengthBytes := rng.IntN(5)
			if plain {
				lengthBytes = 0
			}
			n := 1 + rng.IntN([]int{60, 256, 400, 400, 400}[lengthBytes])
			if rng.IntN(2) == 0 {
				n = 1 + rng.IntN(20)
			}
			literal := make([]byte, n)
			for i := range literal {
				literal[i] = byte(rng.Uint32())
			}
			body, want = appendSnappyLiteral(body, literal, lengthBytes), append(want, literal...)
			continue
		}
		offsetBytes := []int{1, 2, 4}[rng.IntN(3)]
		offset := 1 + rng.IntN(min(len(want), []int{0, 1<<11 - 1, 1<<16 - 1, 0, 1 << 30}[offsetBytes]))
		if rng.IntN(2) == 0 {
			offset = 1 + rng.IntN(min(len(want), 70))
		}
		n := 1 + rng.IntN(64)
		if offsetBytes == 1 {
			n = 4 + rng.IntN(8)
		}
		if plain && offset < n {
			offset = min(len(want), n)
		}
		body = appendSnappyCopy(body, n, offset, offsetBytes)
		for range n {
			want = append(want, want[len(want)-offset])
		}
	}
	return body, want
}

func snappyBlock(body []byte, size int) []byte {
	return append(binary.AppendUvarint(nil, uint64(size)), body...)
}

// damageSnappy changes a few bytes of a body, cuts half of the bodies, and returns another size than
// the body's own: one that is near it, or less.
func damageSnappy(rng *rand.Rand, body []byte, size int) ([]byte, int) {
	for range 1 + rng.IntN(3) {
		body[rng.IntN(len(body))] = byte(rng.Uint32())
	}
	size = max(size+rng.IntN(3)-1, 0)
	if rng.IntN(2) == 0 {
		size = rng.IntN(size + 1)
	}
	return body[:len(body)-rng.IntN(2)*rng.IntN(len(body))], size
}

// decodeGuarded decodes a block to memory between more memory, and says what it wrote there.
func decodeGuarded(decode func(out, packed []byte) error, size int, block []byte) (out []byte, err error) {
	const guard = 128
	guarded := bytes.Repeat([]byte{0xA5}, guard+size+guard)
	out = guarded[guard : guard+size : guard+size]
	err = decode(out, block)
	before, behind := bytes.Trim(guarded[:guard], "\xA5"), bytes.Trim(guarded[guard+size:], "\xA5")
	if len(before)+len(behind) > 0 {
		err = fmt.Errorf("wrote %d B %w; %v", len(before)+len(behind), errOutside, err)
	}
	return out, err
}

var errOutside = errors.New("outside its memory")

type snappyDecoder struct {
	name   string
	decode func(out, packed []byte) error
}

// snappyDecoders are the decoders that this processor can run; the first is the one that readers
// use.
var snappyDecoders = []snappyDecoder{{"fast", decodeSnappy}, {"generic", decodeSnappyTwin}}

func decodeSnappyTwin(out, packed []byte) error {
	return decodeSnappyGeneric(out, snappyBody(packed), nil)
}

// A wrong length, offset or bound gives other bytes, or bytes behind the end.
func TestSnappy(t *testing.T) {
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(9, seed))
		body, want := randomSnappy(rng, 1+rng.IntN(200))
		block := snappyBlock(body, len(want))
		for _, d := range snappyDecoders {
			got, err := decodeGuarded(d.decode, len(want), block)
			if err != nil || !bytes.Equal(got, want) {
				t.Fatalf("seed %d, %s: wrong bytes of %d, or %v", seed, d.name, len(want), err)
			}
		}
		if got, err := snappy.Decode(nil, block); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("seed %d: the library sees other bytes, or %v", seed, err)
		}
	}
}

// Damage must be an error, or bytes that all decoders see.
func TestSnappyDamaged(t *testing.T) {
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(10, seed))
		body, want := randomSnappy(rng, 1+rng.IntN([]int{60, 400}[rng.IntN(2)]))
		body, size := damageSnappy(rng, body, len(want))
		checkSnappy(t, body, size)
	}
}

// checkSnappy holds the decoders to the generic one, in their bytes and errors, and that to the
// library where there is no error.
func checkSnappy(t *testing.T, body []byte, size int) {
	t.Helper()
	block := snappyBlock(body, size)
	want, wantErr := decodeGuarded(decodeSnappyTwin, size, block)
	for i, d := range snappyDecoders {
		got, err := decodeGuarded(d.decode, size, block)
		switch {
		case errors.Is(err, errOutside):
			t.Fatalf("block %x, %s: %v", block, d.name, err)
		case (err == nil) != (wantErr == nil) || err == nil && !bytes.Equal(got, want):
			t.Fatalf("block %x, %s: ends with %v, generic with %v, or other bytes", block, d.name, err, wantErr)
		case i > 0 && err != nil && err.Error() != wantErr.Error(): // the first may be the library
			t.Fatalf("block %x, %s: %v, generic: %v", block, d.name, err, wantErr)
		}
	}
	library, libraryErr := snappy.Decode(make([]byte, size), block)
	switch {
	case wantErr == nil && (libraryErr != nil || !bytes.Equal(want, library)):
		t.Fatalf("block %x: the library ends with %v, or other bytes", block, libraryErr)
	case wantErr != nil && libraryErr == nil && !errors.Is(wantErr, errSnappyOffset): // S2's copy, which the library reads
		t.Fatalf("block %x: %v; the library finds no error", block, wantErr)
	}
	if literal, ok := snappyLiteral(block, size); ok && !bytes.Equal(literal, want) {
		t.Fatalf("block %x is no literal", block)
	}
}

// What a person reads names the place.
func TestSnappyErrors(t *testing.T) {
	literal := slices.Clip(appendSnappyLiteral(nil, []byte("abcd"), 0))
	for _, c := range []struct {
		body []byte
		size int
		want string
	}{
		{appendSnappyCopy(literal, 4, 5, 2), 8, "at byte 8: a copy from 5 B before byte 4"},
		{appendSnappyCopy(literal, 4, 0, 2), 8, "at byte 5: a copy from 0 B before"},
		{appendSnappyCopy(literal, 5, 4, 2), 8, "at byte 8: 5 B more, where 4 B are left"},
		{literal, 5, "4 B where it says 5 B"},
		{literal[:3], 4, "at byte 1: it ends within an element"},
		{append(literal, 61<<2, 1), 400, "at byte 5: it ends within an element"},
	} {
		if err := decodeSnappyTwin(make([]byte, c.size), snappyBlock(c.body, c.size)); err == nil || err.Error() != c.want {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

func FuzzSnappy(f *testing.F) {
	for seed := range uint64(8) {
		body, want := randomSnappy(rand.New(rand.NewPCG(11, seed)), 40)
		f.Add(body, len(want))
	}
	f.Fuzz(func(t *testing.T, body []byte, size int) {
		if size >= 0 && size <= 1<<16 {
			checkSnappy(t, body, size)
		}
	})
}

// The axes are what is compressed, and by which code it is decoded.
func BenchmarkSnappy(b *testing.B) {
	const rows = 1 << 16
	rng := rand.New(rand.NewPCG(12, 0))
	page := func(row func(data []byte, i int) []byte) (data []byte) {
		for i := range rows {
			data = row(data, i)
		}
		return data
	}
	word := binary.LittleEndian.AppendUint64
	for _, c := range []struct {
		name string
		data []byte
	}{
		{"strings", page(func(data []byte, _ int) []byte {
			return append(binary.LittleEndian.AppendUint32(data, 12), fmt.Sprintf("id%010d", rng.IntN(100_000))...)
		})},
		{"doubles", page(func(data []byte, _ int) []byte {
			return word(data, math.Float64bits(float64(rng.IntN(100_000_000))/1e6))
		})},
		{"int64", page(func(data []byte, _ int) []byte { return word(data, uint64(rng.IntN(1_000_000))) })},
		{"ascending", page(func(data []byte, i int) []byte { return word(data, uint64(3*i)) })},
		{"repeated", page(func(data []byte, i int) []byte { return word(data, uint64(i/100)) })},
	} {
		block, out := snappy.Encode(nil, c.data), make([]byte, len(c.data))
		for _, d := range append(slices.Clip(snappyDecoders), snappyDecoder{"library", func(out, packed []byte) error {
			_, err := snappy.Decode(out, packed)
			return err
		}}) {
			b.Run(c.name+"/"+d.name, func(b *testing.B) {
				b.SetBytes(int64(len(out)))
				for b.Loop() {
					if err := d.decode(out, block); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
