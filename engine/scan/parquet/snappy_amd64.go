//go:build !portable

package parquet

import (
	"github.com/klauspost/compress/snappy"
	"golang.org/x/sys/cpu"
)

var hasSnappyAssembly = cpu.X86.HasAVX2 && cpu.X86.HasBMI2 && cpu.X86.HasBMI1

//go:noescape
func snappyElementsAVX2(out, packed []byte, to, from int, tables *snappyTables) (toEnd, fromEnd int)

// The bytes that snappyElementsAVX2 may write and read behind the current element.
const (
	snappySlackOut    = 80
	snappySlackPacked = 72
)

// snappyTables say what a tag means.
type snappyTables struct {
	// elements have, by tag: in the first byte, how many bits of the number behind the tag are an
	// offset; in the second, how many bytes the element gives; from bit 32 on, what is added to the
	// offset. A literal whose length is in the tag has offset 64, no less than its length; a longer
	// literal has 0.
	elements [256]uint64

	// repeats say, by offset of a copy, which of the offset bytes before the copy each of its first
	// 16 bytes is; periods, how many of these 16 bytes are whole repetitions.
	repeats [16][16]byte
	periods [16]byte
}

var snappyTags = func() *snappyTables {
	t := &snappyTables{}
	for tag := range t.elements {
		n, bits, offset := tag>>2+1, 0, 0
		switch tag & 3 {
		case 0:
			if n <= snappyShortLiteral {
				offset = 64
			} else {
				n = 64
			}
		case 1:
			n, bits, offset = 4+tag>>2&7, 8, tag>>5<<8
		case 2:
			bits = 16
		case 3:
			bits = 32
		}
		t.elements[tag] = uint64(bits) | uint64(n)<<8 | uint64(offset)<<32
	}
	for offset := 1; offset < len(t.repeats); offset++ {
		for i := range t.repeats[offset] {
			t.repeats[offset][i] = byte(i % offset)
		}
		t.periods[offset] = byte(16 / offset * offset)
	}
	return t
}()

// decodeSnappy decodes a block to out, which has as many bytes as the block gives. No branch
// depends on the kind of the next element, nor on its length: decodeSnappy takes 0.6 of the
// library's time for strings that share their beginnings and for doubles of few digits, 0.7 to 1
// for integers that do not ascend, and 1.25 for ascending integers, where each copy waits for the
// copy before (BenchmarkSnappy, AMD EPYC, Zen 4).
func decodeSnappy(out, packed []byte) error {
	if !hasSnappyAssembly {
		_, err := snappy.Decode(out, packed)
		return err
	}
	return decodeSnappyGeneric(out, snappyBody(packed), snappyElements)
}

func snappyElements(out, packed []byte, to, from int) (toEnd, fromEnd int) {
	if len(out)-to < snappySlackOut || len(packed)-from < snappySlackPacked {
		return to, from
	}
	return snappyElementsAVX2(out, packed, to, from, snappyTags)
}
