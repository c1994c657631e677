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
	var unpacked [bitsAtOnce]uint32
	largest := l.value
	if !l.repeated {
		largest = unpackValues(unpacked[:some], l.packed, l.at, l.width)
	}
	switch {
	case largest > l.most:
		return 0, 0, fmt.Errorf("a level of %d, where the largest is %d", largest, l.most)
	case !l.repeated:
		for i, level := range unpacked[:some] {
			word |= uint64((l.most-level-1)>>31) << i // of the largest level, 0 less 1 has the highest bit
		}
	case l.value == l.most:
		word = 1<<some - 1
	}
	return some, word, nil
}

// take passes over n rows of the current run.
func (l *levels) take(n int) {
	l.at += n
	l.left -= n
}
