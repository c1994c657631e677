package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/parquet"
)

// deltas reads DELTA_BINARY_PACKED: integers as the differences of neighbours, in blocks. A block
// has a least difference, and miniblocks of how much larger the differences are, each with a width
// of its own. Sums wrap, in the width of the type.
//
// arrow-go's decoder takes a first value of more than 2^31-1, as unsigned columns have, for
// corrupt.
type deltas struct {
	data   []byte // of the page, from behind the current miniblock on
	left   int    // values of the page that have not been read
	begun  bool   // the first value, which is no difference, has been read
	value  uint64 // read last, or the first value
	minis  int    // miniblocks of a block
	values int    // of a miniblock

	widths []byte // of the block's miniblocks behind the current one, in bits
	least  uint64 // difference of the block
	packed []byte // of the page, from the current miniblock on
	width  int    // of a value of packed, in bits
	at     int    // values of the miniblock that have been read
	inMini int    // values of the miniblock; 0 before the first miniblock
}

// deltaBlockMax is more values than any writer's blocks have.
const deltaBlockMax = 1 << 24

var errDeltasEnd = errors.New("differences that end before the last value")

// newDeltas reads the head of data. rest is what lies behind the last miniblock.
func newDeltas(data []byte) (d deltas, rest []byte, err error) {
	var head [4]uint64 // values of a block, miniblocks of a block, values, the first value
	for i := range head {
		var n int
		if head[i], n = binary.Uvarint(data); n <= 0 {
			return d, nil, errDeltasEnd
		}
		data = data[n:]
	}
	block, minis := head[0], head[1]
	if block == 0 && minis == 0 && head[2] == 0 { // some writers say nothing of the blocks of a page of NULLs
		return deltas{}, data, nil
	}
	if block == 0 || block > deltaBlockMax || minis == 0 || minis > block || block%(8*minis) != 0 ||
		head[2] > math.MaxInt32 {
		return d, nil, fmt.Errorf("%d differences in blocks of %d, which have %d parts", head[2], block, minis)
	}
	d = deltas{data: data, left: int(head[2]), value: unzigzag(head[3]), minis: int(minis), values: int(block / minis)}
	walk := d
	for left := d.left - 1; left > 0; left -= walk.values {
		if err := walk.advance(min(left, walk.values)); err != nil {
			return d, nil, err
		}
	}
	return d, walk.data, nil
}

func unzigzag(v uint64) uint64 { return v>>1 ^ -(v & 1) }

// advance turns to the next miniblock. needed is how many of its values are needed: some writers cut
// off the values of the last miniblock that nobody needs.
func (d *deltas) advance(needed int) error {
	if len(d.widths) == 0 {
		least, n := binary.Uvarint(d.data)
		if n <= 0 || len(d.data)-n < d.minis {
			return errDeltasEnd
		}
		d.least = unzigzag(least)
		d.widths, d.data = d.data[n:n+d.minis], d.data[n+d.minis:]
	}
	d.width, d.widths = int(d.widths[0]), d.widths[1:]
	if d.width > 64 {
		return fmt.Errorf("differences of %d bits", d.width)
	}
	if (needed*d.width+7)/8 > len(d.data) {
		return errDeltasEnd
	}
	d.packed, d.data = d.data, d.data[min(d.values*d.width/8, len(d.data)):]
	d.at, d.inMini = 0, d.values
	return nil
}

// readDeltas reads the next len(out) values.
func readDeltas[T uint32 | uint64](d *deltas, out []T) error {
	if len(out) > d.left {
		return fmt.Errorf("%d values more in a page that has %d", len(out), d.left)
	}
	if len(out) > 0 && !d.begun {
		d.begun = true
		out[0], out = T(d.value), out[1:]
		d.left--
	}
	for len(out) > 0 {
		if d.at == d.inMini {
			if err := d.advance(min(d.left, d.values)); err != nil {
				return err
			}
		}
		n := min(len(out), d.inMini-d.at)
		if d.width <= runWidthMax {
			n = min(n, deltasAtOnce)
			addDeltas(d, out[:n])
		} else {
			for i := range n {
				d.value += d.least + unpackWide(d.packed, (d.at+i)*d.width, d.width)
				out[i] = T(d.value)
			}
		}
		d.at += n
		d.left -= n
		out = out[n:]
	}
	return nil
}

// deltasAtOnce differences are unpacked before they are added up: 1 KiB.
const deltasAtOnce = 256

// addDeltas reads the next values of a miniblock whose differences have at most 32 bits.
func addDeltas[T uint32 | uint64](d *deltas, out []T) {
	var above [deltasAtOnce]uint32
	if d.width > 0 {
		unpackValues(above[:len(out)], d.packed, d.at, d.width)
	}
	value := d.value
	for i, a := range above[:len(out)] {
		value += d.least + uint64(a)
		out[i] = T(value)
	}
	d.value = value
}

// unpackWide returns the value of up to 64 bits that begins at a bit.
func unpackWide(packed []byte, bit, width int) uint64 {
	var bytes [9]byte
	copy(bytes[:], packed[bit/8:])
	shift := bit % 8
	v := binary.LittleEndian.Uint64(bytes[:])>>shift | uint64(bytes[8])<<(64-shift)
	return v & (math.MaxUint64 >> (64 - width))
}

// deltaStrings reads DELTA_LENGTH_BYTE_ARRAY, where the lengths of all strings stand before their
// bytes, as differences, and DELTA_BYTE_ARRAY, where a string is a prefix of the string before, and
// a rest.
type deltaStrings struct {
	shares   bool    // DELTA_BYTE_ARRAY
	prefixes deltas  // lengths, where shares
	lengths  deltas  // of the strings, or of their rests
	data     []byte  // of the page: the bytes of the strings, or of their rests
	at       int     // of data, where the next string or rest is
	previous []byte  // the last string of whole, where shares
	whole    scratch // the strings that find returned last, where shares
}

// page begins a page.
func (s *deltaStrings) page(encoding parquet.Encoding, data []byte) (err error) {
	*s = deltaStrings{shares: encoding == parquet.Encodings.DeltaByteArray, whole: s.whole}
	if s.shares {
		if s.prefixes, data, err = newDeltas(data); err != nil {
			return err
		}
	}
	s.lengths, s.data, err = newDeltas(data)
	return err
}

// find fills at most spansAtOnce spans with the next strings. source has the strings until the next
// call.
func (s *deltaStrings) find(spans []stringSpan) (source []byte, err error) {
	var lengths, shared [spansAtOnce]uint32
	if err := readDeltas(&s.lengths, lengths[:len(spans)]); err != nil {
		return nil, err
	}
	if s.shares {
		if err := readDeltas(&s.prefixes, shared[:len(spans)]); err != nil {
			return nil, err
		}
	}
	at, previous, bytes := s.at, len(s.previous), 0
	for i, n := range lengths[:len(spans)] {
		if uint64(n) > uint64(len(s.data)-at) {
			return nil, fmt.Errorf("a string of %d B in a page that has %d B more", n, len(s.data)-at)
		}
		if int64(shared[i]) > int64(previous) {
			return nil, fmt.Errorf("a string that begins with %d B of one of %d B", shared[i], previous)
		}
		spans[i] = stringSpan{at: uint32(at), bytes: n}
		at += int(n)
		previous = int(shared[i] + n)
		bytes += previous
	}
	if !s.shares {
		s.at = at
		return s.data, nil
	}
	if bytes > stringBytesMax {
		return nil, fmt.Errorf("%d strings of %d B", len(spans), bytes)
	}
	s.at = at
	return s.join(spans, shared[:len(spans)], bytes), nil
}

// readFixed writes the next strings, each of which must have width bytes.
func (s *deltaStrings) readFixed(out []byte, width int) error {
	var some [spansAtOnce]stringSpan
	for len(out) > 0 {
		spans := some[:min(spansAtOnce, len(out)/width)]
		source, err := s.find(spans)
		if err != nil {
			return err
		}
		for _, span := range spans {
			if int(span.bytes) != width {
				return fmt.Errorf("a value of %d B in a column of %d B", span.bytes, width)
			}
			copy(out, source[span.at:span.at+span.bytes])
			out = out[width:]
		}
	}
	return nil
}

// join puts strings together: shared bytes of the string before, and the rest of which spans say
// where it is in data. Spans then say where the strings are in what join returns.
func (s *deltaStrings) join(spans []stringSpan, shared []uint32, bytes int) []byte {
	whole := s.whole.grow(len(s.previous)+bytes, s.previous) // previous may lie in whole
	previous, at := uint32(0), uint32(len(s.previous))
	for i, rest := range spans {
		n := uint32(copy(whole[at:], whole[previous:previous+shared[i]]))
		n += uint32(copy(whole[at+n:], s.data[rest.at:rest.at+rest.bytes]))
		spans[i] = stringSpan{at: at, bytes: n}
		previous, at = at, at+n
	}
	s.previous = whole[previous:at]
	return whole
}

// splitBytes reads BYTE_STREAM_SPLIT: the first byte of each value, then the second bytes, and so
// on.
type splitBytes struct {
	data  []byte
	width int // of a value, in bytes
	at    int // values read
}

func newSplitBytes(data []byte, width int) (splitBytes, error) {
	if len(data)%width != 0 {
		return splitBytes{}, fmt.Errorf("a page of %d B with values of %d B", len(data), width)
	}
	return splitBytes{data: data, width: width}, nil
}

// read writes the next n values, one after the other, as a plain page has them.
func (s *splitBytes) read(out []byte, n int) error {
	all := len(s.data) / s.width
	if n > all-s.at {
		return fmt.Errorf("%d values more in a page that has %d", n, all-s.at)
	}
	done := 0
	if s.width == 4 || s.width == 8 {
		done = n &^ 7
		for i := 0; i < done; i += 8 {
			s.transpose(out[i*s.width:], all, s.at+i)
		}
	}
	for b := range s.width {
		for i, v := range s.data[b*all+s.at+done : b*all+s.at+n] {
			out[(done+i)*s.width+b] = v
		}
	}
	s.at += n
	return nil
}

// transpose writes eight values of 4 or 8 bytes, from the at-th of all: the upper right and lower
// left quarters of squares of bytes are exchanged, for squares of 8, 4 and 2 bytes.
func (s *splitBytes) transpose(out []byte, all, at int) {
	var w [8]uint64
	for b := range s.width {
		w[b] = binary.LittleEndian.Uint64(s.data[b*all+at:])
	}
	for i := range 4 {
		w[i], w[i+4] = w[i]&0x00000000FFFFFFFF|w[i+4]<<32, w[i]>>32|w[i+4]&0xFFFFFFFF00000000
	}
	for _, i := range [...]int{0, 1, 4, 5} {
		w[i], w[i+2] = w[i]&0x0000FFFF0000FFFF|w[i+2]<<16&0xFFFF0000FFFF0000,
			w[i]>>16&0x0000FFFF0000FFFF|w[i+2]&0xFFFF0000FFFF0000
	}
	for i := 0; i < 8; i += 2 {
		w[i], w[i+1] = w[i]&0x00FF00FF00FF00FF|w[i+1]<<8&0xFF00FF00FF00FF00,
			w[i]>>8&0x00FF00FF00FF00FF|w[i+1]&0xFF00FF00FF00FF00
	}
	for i, v := range w {
		if s.width == 4 {
			binary.LittleEndian.PutUint32(out[4*i:], uint32(v))
		} else {
			binary.LittleEndian.PutUint64(out[8*i:], v)
		}
	}
}
