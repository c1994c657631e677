package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	mathbits "math/bits"

	"github.com/apache/arrow-go/v18/arrow/bitutil"

	"github.com/mpga/mpga/engine/scan/internal/delivery"
)

// runs reads Parquet's hybrid of run-length encoding and bit packing, which holds dictionary codes
// and definition levels: runs of one value, and runs of values packed by eight.
type runs struct {
	data  []byte // from behind the current run on
	width int    // of a value, in bits; at most 32

	left     int    // values of the current run that have not been read
	repeated bool   // the current run is value, again and again
	value    uint32 // of the repeated run
	packed   []byte // else: data from the first value of the current run on
	at       int    // values of the current run that have been read
}

const runWidthMax = 32

var errRunsEnd = errors.New("it ends before its last value")

func newRuns(data []byte, width int) runs {
	if width == 0 {
		return runs{repeated: true, left: math.MaxInt} // of value 0: some writers write no run at all
	}
	return runs{data: data, width: width}
}

// advance makes sure that the current run has values left.
func (r *runs) advance() error {
	for r.left == 0 {
		if r.advanceShort() {
			continue
		}
		header, n := binary.Uvarint(r.data)
		if n <= 0 {
			return errRunsEnd
		}
		if header > math.MaxUint32 {
			return fmt.Errorf("a run of %d values", header>>1)
		}
		r.data = r.data[n:]
		if r.repeated = header&1 == 0; r.repeated {
			bytes := (r.width + 7) / 8
			if len(r.data) < bytes {
				return errRunsEnd
			}
			var value [4]byte
			copy(value[:], r.data[:bytes])
			r.value, r.data, r.left = binary.LittleEndian.Uint32(value[:]), r.data[bytes:], int(header>>1)
			continue
		}
		// Some writers cut off the padding of the last group.
		groups := min(int(header>>1), (len(r.data)+r.width-1)/r.width)
		bytes := min(groups*r.width, len(r.data))
		r.packed, r.data = r.data, r.data[bytes:]
		r.at, r.left = 0, min(8*groups, 8*bytes/r.width)
	}
	return nil
}

// advanceShort turns to a repeated run of fewer than 64 values, which are most runs of sorted codes: one load has its
// header and its value. It returns false where the next run is another one.
func (r *runs) advanceShort() bool {
	if len(r.data) < 8 {
		return false
	}
	word := binary.LittleEndian.Uint64(r.data)
	if word&0x81 != 0 {
		return false
	}
	bytes := (r.width + 7) / 8
	r.repeated, r.left = true, int(word>>1&0x3f)
	r.value, r.data = uint32(word>>8)&widthMask(8*bytes), r.data[1+bytes:]
	return true
}

// codes reads the next len(out) values, each of which must be below entries.
func (r *runs) codes(out []uint32, entries int) error {
	for len(out) > 0 {
		if err := r.advance(); err != nil {
			return err
		}
		n := min(len(out), r.left)
		largest := r.value
		if r.repeated {
			delivery.Fill(out[:n], r.value)
		} else {
			largest = unpackValues(out[:n], r.packed, r.at, r.width)
			r.at += n
		}
		if uint64(largest) >= uint64(entries) {
			return fmt.Errorf("code %d of a dictionary of %d entries", largest, entries)
		}
		r.left -= n
		out = out[n:]
	}
	return nil
}

// gather reads the next len(out) values, each of which must be below len(entries), and writes the
// entries at these indexes.
func gather[T any](r *runs, out, entries []T) error {
	var codes [512]uint32 // stays in the L1 cache
	for len(out) > 0 {
		if err := r.advance(); err != nil {
			return err
		}
		n := min(len(out), r.left)
		largest := r.value
		if !r.repeated {
			n = min(n, len(codes))
			largest = unpackValues(codes[:n], r.packed, r.at, r.width)
			r.at += n
		}
		if uint64(largest) >= uint64(len(entries)) {
			return fmt.Errorf("code %d of a dictionary of %d entries", largest, len(entries))
		}
		if r.repeated {
			delivery.Fill(out[:n], entries[largest])
		} else {
			some := out[:n]
			for i, code := range codes[:n] {
				some[i] = entries[code]
			}
		}
		r.left -= n
		out = out[n:]
	}
	return nil
}

// ones passes over at most n of the next values, of one bit each, while whole runs are of ones. It
// returns how many it passed.
func (r *runs) ones(n int) (passed int, err error) {
	for passed < n {
		if err := r.advance(); err != nil {
			return passed, err
		}
		some := min(n-passed, r.left)
		if r.repeated && r.value > 1 {
			return passed, errLevel(r.value)
		}
		if r.repeated && r.value == 0 || !r.repeated && bitutil.CountSetBits(r.packed, r.at, some) < some {
			return passed, nil
		}
		r.at += some
		r.left -= some
		passed += some
	}
	return passed, nil
}

func errLevel(level uint32) error { return fmt.Errorf("a level of %d, where the largest is 1", level) }

// bits reads the next n values, of one bit each, to a bitmap, from a bit on. It returns how many
// are 1.
func (r *runs) bits(bitmap []byte, from, n int) (ones int, err error) {
	for n > 0 {
		if err := r.advance(); err != nil {
			return 0, err
		}
		if r.repeated && r.value > 1 {
			return 0, errLevel(r.value)
		}
		some := min(n, r.left)
		if !r.repeated && (r.at%8 != 0 || from%8 != 0) {
			some = min(some, bitsAtOnce) // else whole bytes are copied
		}
		switch word, known := r.bitsWord(some); {
		case known && putBits(bitmap, from, some, word):
			ones += mathbits.OnesCount64(word)
		case r.repeated:
			bitutil.SetBitsTo(bitmap, int64(from), int64(some), r.value == 1)
			ones += some * int(r.value)
		default:
			bitutil.CopyBitmap(r.packed, r.at, some, bitmap, from)
			ones += bitutil.CountSetBits(r.packed, r.at, some)
		}
		r.at += some
		r.left -= some
		from += some
		n -= some
	}
	return ones, nil
}

// bitsAtOnce is how many bits bitsWord and putBits take: with up to 7 bits before, they fill a
// word.
const bitsAtOnce = 56

// bitsWord returns the next n bits of the current run, if n is small: scattered NULLs make runs of
// a few bits, where calls into bitutil take three times as long.
func (r *runs) bitsWord(n int) (word uint64, ok bool) {
	mask := uint64(1)<<n - 1
	if r.repeated {
		return mask & -uint64(r.value), n <= bitsAtOnce
	}
	at := r.at / 8
	if n > bitsAtOnce || len(r.packed)-at < 8 {
		return 0, false
	}
	return binary.LittleEndian.Uint64(r.packed[at:]) >> (r.at % 8) & mask, true
}

// putBits writes the n bits of word to a bitmap, from a bit on. It returns false where the bitmap
// does not have 8 bytes from there on.
// Requires: n is at most bitsAtOnce; the other bits of word are 0.
func putBits(bitmap []byte, from, n int, word uint64) bool {
	at, shift := from/8, from%8
	if len(bitmap)-at < 8 {
		return false
	}
	mask := (uint64(1)<<n - 1) << shift
	old := binary.LittleEndian.Uint64(bitmap[at:])
	binary.LittleEndian.PutUint64(bitmap[at:], old&^mask|word<<shift)
	return true
}

// unpackValues writes len(out) values from the at-th on, width bits each, and returns the largest.
// Requires: packed holds these values.
func unpackValues(out []uint32, packed []byte, at, width int) (largest uint32) {
	next := func() {
		out[0] = unpackOne(packed, at*width, width)
		largest = max(largest, out[0])
		out = out[1:]
		at++
	}
	for len(out) > 0 && at%8 != 0 {
		next()
	}
	if len(out) >= 8 {
		n, groupsLargest := unpackGroups(out, packed[at/8*width:], width)
		out, at, largest = out[n:], at+n, max(largest, groupsLargest)
	}
	for len(out) > 0 {
		next()
	}
	return largest
}

func unpackOne(packed []byte, bit, width int) uint32 {
	var word [8]byte
	copy(word[:], packed[bit/8:])
	return uint32(binary.LittleEndian.Uint64(word[:])>>(bit%8)) & widthMask(width)
}

func widthMask(width int) uint32 { return uint32(uint64(1)<<width - 1) }

// groupUnpackers are, by width, functions that write the values of whole groups while out has room
// and 8 bytes can be loaded behind the group. They return how many values they wrote, and the
// largest. There is none for width 0.
var groupUnpackers = [runWidthMax + 1]func(out []uint32, packed []byte) (n int, largest uint32){
	nil,
	unpackFixed[[1]byte], unpackFixed[[2]byte], unpackFixed[[3]byte], unpackFixed[[4]byte],
	unpackFixed[[5]byte], unpackFixed[[6]byte], unpackFixed[[7]byte], unpackFixed[[8]byte],
	unpackFixed[[9]byte], unpackFixed[[10]byte], unpackFixed[[11]byte], unpackFixed[[12]byte],
	unpackFixed[[13]byte], unpackFixed[[14]byte], unpackFixed[[15]byte], unpackFixed[[16]byte],
	unpackFixed[[17]byte], unpackFixed[[18]byte], unpackFixed[[19]byte], unpackFixed[[20]byte],
	unpackFixed[[21]byte], unpackFixed[[22]byte], unpackFixed[[23]byte], unpackFixed[[24]byte],
	unpackFixed[[25]byte], unpackFixed[[26]byte], unpackFixed[[27]byte], unpackFixed[[28]byte],
	unpackFixed[[29]byte], unpackFixed[[30]byte], unpackFixed[[31]byte], unpackFixed[[32]byte],
}

// packedGroup is a group: eight values of one bit, of two bits, and so on.
type packedGroup interface {
	[1]byte | [2]byte | [3]byte | [4]byte | [5]byte | [6]byte | [7]byte | [8]byte |
		[9]byte | [10]byte | [11]byte | [12]byte | [13]byte | [14]byte | [15]byte | [16]byte |
		[17]byte | [18]byte | [19]byte | [20]byte | [21]byte | [22]byte | [23]byte | [24]byte |
		[25]byte | [26]byte | [27]byte | [28]byte | [29]byte | [30]byte | [31]byte | [32]byte
}

// unpackFixed is the element of groupUnpackers for one width. The compiler makes a copy of
// unpackFixed for each array. There the width is a constant, and so are all shifts and offsets:
// 0.45 ns a value where a width in a variable takes 1.35 ns (BenchmarkUnpack, AMD EPYC).
func unpackFixed[G packedGroup](out []uint32, packed []byte) (n int, largest uint32) {
	var group G
	width := len(group)
	mask := widthMask(width)
	var m0, m1, m2, m3 uint32
	for len(out)-n >= 8 && len(packed) >= width+8 {
		o, p := out[n:n+8:n+8], packed[:width+8]
		o[0] = uint32(binary.LittleEndian.Uint64(p)) & mask
		o[1] = uint32(binary.LittleEndian.Uint64(p[width/8:])>>(width%8)) & mask
		o[2] = uint32(binary.LittleEndian.Uint64(p[2*width/8:])>>(2*width%8)) & mask
		o[3] = uint32(binary.LittleEndian.Uint64(p[3*width/8:])>>(3*width%8)) & mask
		o[4] = uint32(binary.LittleEndian.Uint64(p[4*width/8:])>>(4*width%8)) & mask
		o[5] = uint32(binary.LittleEndian.Uint64(p[5*width/8:])>>(5*width%8)) & mask
		o[6] = uint32(binary.LittleEndian.Uint64(p[6*width/8:])>>(6*width%8)) & mask
		o[7] = uint32(binary.LittleEndian.Uint64(p[7*width/8:])>>(7*width%8)) & mask
		m0, m1, m2, m3 = max(m0, o[0], o[4]), max(m1, o[1], o[5]), max(m2, o[2], o[6]), max(m3, o[3], o[7])
		n, packed = n+8, packed[width:]
	}
	return n, max(m0, m1, m2, m3)
}
