//go:build !portable

package parquet

import (
	"github.com/klauspost/compress/snappy"
	"golang.org/x/sys/cpu"
)

var hasSnappyAssembly = cpu.X86.HasAVX2 && cpu.X86.HasBMI2 && cpu.X86.HasBMI1

//go:noescape
func snappyElementsAVX2(out, packed []byte, to, from int, tables *snappyTables) (toEnd, fromEnd int)

// What snappyElementsAVX2 may write and read behind the element that it is at.
const (
	snappySlackOut    = 80
	snappySlackPacked = 72
)

// snappyTables say what a tag means.
type snappyTables struct {
	// elements are, by tag: the bits of the number behind the tag that are an offset, a byte; the bytes
	// that the element gives, a byte; from bit 32 on what is added to the offset. A literal's offset is
	// 64, which is no less than it is long; a longer one's is 0.
	elements [256]uint64

	// repeats are, by offset, which of the offset bytes before a copy each of the next 16 is, and periods
	// how many of these are whole repetitions.
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

// decodeSnappy writes what a block stands for to out, which has as many bytes. No branch depends on which
// kind of element comes next, nor on how long it is: beside the library it takes 0.6 of the time for
// strings that share their beginnings and for doubles of few digits, 0.7 to 1 for integers that do not
// ascend and 1.25 for those that do, where each copy waits for the one before (BenchmarkSnappy, an AMD
// EPYC, Zen 4).
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
