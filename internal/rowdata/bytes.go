package rowdata

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unsafe"
)

// Bytes2 is a string or binary value in two words, after Neumann and Freitag's string format
// (Umbra, CIDR 2020):
//
//	word 0: length (32 bits) | bytes 0-3        word 1: bytes 4-11, if length <= 12
//	                                                    the address of all bytes, else
//
// Bytes past the end are zero, so values of at most 12 bytes are equal exactly when their words
// are. The address points into memory that the value's owner keeps: an Arrow buffer, or a Heap.
// The garbage collector does not see it.
type Bytes2 [2]uint64

const (
	// InlineBytes is the longest value held in the words themselves.
	InlineBytes = 12

	// BytesLenMax is the longest value. The length above it stands for NULL in a key.
	BytesLenMax = 1<<32 - 2

	// nullBytesWord is word 0 of a NULL in a key; no value has it.
	nullBytesWord = 1<<32 - 1
)

// ToBytes2 returns b in two words, as Set does. Loops over many values call Set.
func ToBytes2(b []byte) (v Bytes2) {
	v.Set(b)
	return v
}

// Set makes v the value b. A value of more than 12 bytes refers to b's memory.
// Requires: len(b) <= BytesLenMax.
func (v *Bytes2) Set(b []byte) {
	n := len(b)
	switch {
	case n > InlineBytes:
		v[0] = uint64(n) | uint64(binary.LittleEndian.Uint32(b))<<32
		v.Refer(b)
	case n >= 8:
		// The two loads overlap for n < 12; the shift drops what bytes 0-3 already have.
		v[0] = uint64(n) | uint64(binary.LittleEndian.Uint32(b))<<32
		v[1] = binary.LittleEndian.Uint64(b[n-8:]) >> (8 * (InlineBytes - n))
	case n >= 4:
		v[0] = uint64(n) | uint64(binary.LittleEndian.Uint32(b))<<32
		v[1] = uint64(binary.LittleEndian.Uint32(b[n-4:])) >> (8 * (8 - n))
	default:
		var low uint64
		for i, c := range b {
			low |= uint64(c) << (8 * i)
		}
		v[0], v[1] = uint64(n)|low<<32, 0
	}
}

// Refer lets a value whose first word is that of b, a long string, refer to b's memory. Of the
// string nothing is loaded.
func (v *Bytes2) Refer(b []byte) { v[1] = uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) }

// PutBytes2 writes the values data[offsets[i]-base:offsets[i+1]-base] to out, as ToBytes2 does. It
// branches on the length of those values only that begin within 12 bytes of the data's end. It
// panics where offsets fall or lie outside the data.
// Requires: len(offsets) = len(out) + 1.
func PutBytes2[T int32 | int64](out []Bytes2, data []byte, offsets []T, base T) {
	if len(out) == 0 {
		return
	}
	from := int(offsets[0] - base)
	for i, end := range offsets[1 : len(out)+1] {
		to := int(end - base)
		b := data[from:to]
		if len(data)-from < InlineBytes {
			out[i].Set(b)
		} else {
			start := unsafe.Pointer(unsafe.SliceData(b))
			head := uint64(*(*uint32)(start))
			tail := *(*uint64)(unsafe.Add(start, 4))
			keep := &inlineMasks[min(len(b), InlineBytes+1)]
			// Word by word: an array as a whole goes through memory once more.
			out[i][0] = uint64(len(b)) | head<<32&keep[0]
			out[i][1] = tail&keep[1] | uint64(uintptr(start))&keep[2]
		}
		from = to
	}
}

// inlineMasks say, by length, which bits of word 0, of bytes 4-11 and of the address a value keeps.
var inlineMasks = func() (masks [InlineBytes + 2][3]uint64) {
	for n := range masks {
		for i := range min(n, 4) {
			masks[n][0] |= 0xFF << (32 + 8*i)
		}
		for i := 4; i < n; i++ {
			masks[n][1] |= 0xFF << (8 * (i - 4))
		}
	}
	masks[InlineBytes+1][1], masks[InlineBytes+1][2] = 0, 1<<64-1
	return masks
}()

// Len returns the number of bytes.
func (v *Bytes2) Len() int { return int(uint32(v[0])) }

// Bytes returns the value. The slice refers to v itself or to the memory that v refers to.
func (v *Bytes2) Bytes() []byte {
	n := v.Len()
	if n <= InlineBytes {
		return unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(v), 4)), n)
	}
	return unsafe.Slice((*byte)(pointer(&v[1])), n)
}

// PutInline writes the bytes of a value that is not long, padded to InlineBytes.
func (v *Bytes2) PutInline(out []byte) {
	binary.LittleEndian.PutUint64(out[4:], v[1])
	binary.LittleEndian.PutUint32(out, uint32(v[0]>>32))
}

// Address returns where the bytes of a long value lie.
func (v *Bytes2) Address() unsafe.Pointer { return pointer(&v[1]) }

// Equal reports whether two values have the same bytes.
func (v *Bytes2) Equal(u *Bytes2) bool {
	if v[0] != u[0] {
		return false
	}
	return v[1] == u[1] || v.Long() && bytes.Equal(v.Bytes(), u.Bytes())
}

// Compare orders values by their bytes, as unsigned numbers; a prefix comes first.
func (v *Bytes2) Compare(u *Bytes2) int { return bytes.Compare(v.Bytes(), u.Bytes()) }

// Less reports whether v comes before u, as Compare does. Mostly the first four bytes decide, and
// the other bytes are not loaded.
func (v *Bytes2) Less(u *Bytes2) bool {
	a, b := bits.ReverseBytes32(uint32(v[0]>>32)), bits.ReverseBytes32(uint32(u[0]>>32)) // zeros behind the end
	if a != b {
		return a < b
	}
	return v.Compare(u) < 0
}

// Long reports whether the bytes lie outside the words. NULL in a key is not long.
func (v *Bytes2) Long() bool {
	n := uint32(v[0])
	return n > InlineBytes && n != nullBytesWord
}

// AsBytes2 views two consecutive words as a value.
func AsBytes2(words []uint64) *Bytes2 { return (*Bytes2)(words) }

// AnyLong reports whether rows of a number of words, some of them strings at the given words, refer to
// bytes outside them.
func AnyLong(rows []uint64, words int, strings ...int) bool {
	for _, at := range strings {
		for ; at < len(rows); at += words {
			if AsBytes2(rows[at : at+2]).Long() {
				return true
			}
		}
	}
	return false
}

// pointer reads a word that holds an address. Reading it as a pointer, rather than converting the
// integer, is what lets checkptr and the garbage collector accept memory of either kind.
func pointer(word *uint64) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(word)) }

// WordsAt views the n words at the address that *word holds: a block of a Heap.
func WordsAt(word *uint64, n int) []uint64 {
	return unsafe.Slice((*uint64)(pointer(word)), n)
}
