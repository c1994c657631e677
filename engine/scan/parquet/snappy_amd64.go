//go:build !portable

package parquet

import (
	"github.com/klauspost/compress/snappy"
	"golang.org/x/sys/cpu"
)

// hasSnappyWide says that the processor looks up 64 bytes in 128 at once.
var (
	hasSnappyAssembly = cpu.X86.HasAVX2 && cpu.X86.HasBMI2
	hasSnappyWide     = cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VBMI
)

//go:noescape
func snappyElementsVector(out, packed []byte, to, from int, tables *snappyTables, wide bool) (toEnd, fromEnd int)

// The bytes that snappyElementsVector may write and read behind the current element.
const (
	snappySlackOut    = 80
	snappySlackPacked = 72
)

// snappyTables say what a tag means.
type snappyTables struct {
	// elements have, by tag: in the first byte, how many bits of the number behind the tag are an
	// offset; in the second, how many bytes the element gives; in the third, how many it takes; from
	// bit 32 on, what is added to the offset. A literal whose length is in the tag has offset 64, no
	// less than its length; a longer literal has 0, and its lengths mean nothing.
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
		advance := [4]int{1 + n, 2, 3, 5}[tag&3]
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
		t.elements[tag] = uint64(bits) | uint64(n)<<8 | uint64(advance)<<16 | uint64(offset)<<32
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
// depends on the kind of the next element, nor on its length up to 32 bytes, and where it begins is
// looked up: decodeSnappy takes 0.3 of the library's time for strings that share their beginnings and
// for repeated integers, 0.5 for doubles of few digits and for integers that do not ascend, and 1.05
// for ascending integers, where each copy waits for the copy before. With AVX2 alone it is 0.4 for
// the strings, and 0.65 for doubles and integers (BenchmarkSnappy, AMD EPYC, Zen 5).
func decodeSnappy(out, packed []byte) error {
	if !hasSnappyAssembly {
		_, err := snappy.Decode(out, packed)
		return err
	}
	return decodeSnappyGeneric(out, snappyBody(packed), snappyElements)
}

func snappyElements(out, packed []byte, to, from int) (toEnd, fromEnd int) {
	return snappyElementsOf(out, packed, to, from, hasSnappyWide)
}

func snappyElementsOf(out, packed []byte, to, from int, wide bool) (toEnd, fromEnd int) {
	if len(out)-to < snappySlackOut || len(packed)-from < snappySlackPacked {
		return to, from
	}
	return snappyElementsVector(out, packed, to, from, snappyTags, wide)
}
