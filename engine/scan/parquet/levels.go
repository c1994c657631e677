package parquet

import (
	"encoding/binary"
	"fmt"
	mathbits "math/bits"

	"github.com/apache/arrow-go/v18/arrow/bitutil"
)

// levels reads the definition levels of a page. A row has a value where its level is the largest
// that the column may have. A lower level tells whether the value itself is NULL or which of the
// structs around it is: to the column, all of that is NULL.
type levels struct {
	runs
	most uint32 // the largest level

	unpacked [bitsAtOnce]uint32 // for packedWord: as a variable there it would escape to the heap
}

// newLevels reads levels of at most most. A page without levels has a most of 0.
func newLevels(data []byte, most int) levels {
	return levels{runs: newRuns(data, mathbits.Len(uint(most))), most: uint32(most)}
}

// ones passes over at most n of the next rows, while whole runs are of rows with values. It returns
// how many it passed.
func (l *levels) ones(n int) (passed int, err error) {
	if l.most == 1 {
		return l.runs.ones(n)
	}
	for passed < n {
		some, word, err := l.next(n - passed)
		if err != nil {
			return passed, err
		}
		if word != 1<<some-1 {
			return passed, nil
		}
		l.take(some)
		passed += some
		if whole := min(n-passed, l.left); l.repeated {
			l.take(whole)
			passed += whole
		}
	}
	return passed, nil
}

// bits reads the levels of the next n rows, and writes to a bitmap, from a bit on, which of the rows
// have values. It returns how many have.
func (l *levels) bits(bitmap []byte, from, n int) (ones int, err error) {
	if l.most == 1 {
		return l.runs.bits(bitmap, from, n)
	}
	for n > 0 {
		some, word, err := l.next(n)
		if err != nil {
			return 0, err
		}
		switch whole := min(n, l.left); {
		case l.repeated && whole > some:
			some = whole
			bitutil.SetBitsTo(bitmap, int64(from), int64(some), l.value == l.most)
			if l.value == l.most {
				ones += some
			}
		default:
			ones += mathbits.OnesCount64(word)
			if !putBits(bitmap, from, some, word) {
				var bytes [8]byte
				binary.LittleEndian.PutUint64(bytes[:], word)
				bitutil.CopyBitmap(bytes[:], 0, some, bitmap, from)
			}
		}
		l.take(some)
		from += some
		n -= some
	}
	return ones, nil
}

// next returns a bit for each of the next some rows, which are of one run, and at most n and
// bitsAtOnce: 1 for a row with a value. It takes none of them.
func (l *levels) next(n int) (some int, word uint64, err error) {
	if err := l.advance(); err != nil {
		return 0, 0, err
	}
	some = min(n, l.left, bitsAtOnce)
	largest := l.value
	switch {
	case !l.repeated:
		word, largest = l.packedWord(some)
	case l.value == l.most:
		word = 1<<some - 1
	}
	if largest > l.most {
		return 0, 0, fmt.Errorf("a level of %d, where the largest is %d", largest, l.most)
	}
	return some, word, nil
}

// packedWord returns a bit for each of the next n packed rows, 1 for a row with a value, and the
// largest level of the rows.
// Requires: no level is above the largest, or the word is not used; n is at most bitsAtOnce.
func (l *levels) packedWord(n int) (word uint64, largest uint32) {
	if at := l.at / 4; l.width == 2 && len(l.packed)-at > 16 {
		return l.pairedWord(at, n)
	}
	largest = unpackValues(l.unpacked[:n], l.packed, l.at, l.width)
	less := l.most - 1 // without a level, of the largest: 0 less 1, which alone has the highest bit
	for i := 0; i < n; i += 8 {
		g := l.unpacked[i : i+8 : i+8]
		group := (less-g[0])>>31 | (less-g[1])>>31<<1 | (less-g[2])>>31<<2 | (less-g[3])>>31<<3 |
			(less-g[4])>>31<<4 | (less-g[5])>>31<<5 | (less-g[6])>>31<<6 | (less-g[7])>>31<<7
		word |= uint64(group) << (i & 63)
	}
	return word & (1<<n - 1), largest
}

// pairedWord is packedWord of levels of two bits, which begin within a byte of the packed levels and
// have 16 bytes behind it. Structs of one level or two have such levels.
func (l *levels) pairedWord(at, n int) (word uint64, largest uint32) {
	shift := l.at % 4 * 2
	low := binary.LittleEndian.Uint64(l.packed[at:]) >> shift
	high := binary.LittleEndian.Uint64(l.packed[at+8:])
	low |= high << (63 - shift) << 1
	high = high>>shift | uint64(l.packed[at+16])<<(63-shift)<<1
	const ones = 0x5555_5555_5555_5555
	most := uint64(l.most) * ones
	word = evenBits(equalPairs(low, most)) | evenBits(equalPairs(high, most))<<32
	largest = l.most
	if beyond := evenBits(low&(low>>1)&ones) | evenBits(high&(high>>1)&ones)<<32; l.most < 3 && beyond&(1<<n-1) != 0 {
		largest = 3
	}
	return word & (1<<n - 1), largest
}

// equalPairs returns a word whose even bits say which pairs of bits are alike.
func equalPairs(a, b uint64) uint64 {
	differ := a ^ b
	return ^(differ | differ>>1) & 0x5555_5555_5555_5555
}

// evenBits returns the even bits of a word, whose odd bits are 0, side by side.
func evenBits(x uint64) uint64 {
	x = (x | x>>1) & 0x3333_3333_3333_3333
	x = (x | x>>2) & 0x0F0F_0F0F_0F0F_0F0F
	x = (x | x>>4) & 0x00FF_00FF_00FF_00FF
	x = (x | x>>8) & 0x0000_FFFF_0000_FFFF
	return (x | x>>16) & 0xFFFF_FFFF
}

// take passes over n rows of the current run.
func (l *levels) take(n int) {
	l.at += n
	l.left -= n
}
