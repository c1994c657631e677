package parquet

import (
	"encoding/binary"

	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/parquet"
)

// pageHeader is what stands before a page.
type pageHeader struct {
	dictionary  bool
	encoding    parquet.Encoding
	values      int // NULLs included
	raw, packed int // bytes before and after compression
}

// headerBytesMax is room for a header: a byte for each of ten fields and ends, and six numbers of
// at most 5.
const headerBytesMax = 48

// append writes the header in Thrift's compact protocol: a field is a byte of the distance from the
// field before and the type, then the value.
func (h *pageHeader) append(dst []byte) []byte {
	const number, structure, end = 0x15, 0xC, 0 // a number in the next field; a structure; the end of a structure
	put := func(n int) { dst = binary.AppendVarint(append(dst, number), int64(n)) }
	const dataPage, dictionaryPage = 0, 2
	if h.dictionary {
		put(dictionaryPage)
	} else {
		put(dataPage)
	}
	put(h.raw)
	put(h.packed)
	if h.dictionary {
		dst = append(dst, 4<<4|structure) // field 7
		put(h.values)
		put(int(h.encoding))
	} else {
		dst = append(dst, 2<<4|structure) // field 5
		put(h.values)
		put(int(h.encoding))
		put(int(parquet.Encodings.RLE)) // of definition levels
		put(int(parquet.Encodings.RLE)) // of repetition levels: there are none
	}
	return append(dst, end, end)
}

// levelBytesMax is the room for the definition levels of a page: their length, the head of a run, a
// bit a row.
const levelBytesMax = 4 + binary.MaxVarintLen32 + PageRowsMax/8

// putLevels writes which rows are not NULL to the end of room, and returns where it begins.
func putLevels(room, valid []byte, rows, nulls int) int {
	var buf [levelBytesMax]byte
	levels := buf[:4]
	if nulls == 0 {
		levels = append(binary.AppendUvarint(levels, uint64(rows)<<1), 1) // a run of ones
	} else {
		groups := (rows + 7) / 8
		bitutil.SetBitsTo(valid, int64(rows), int64(8*groups-rows), false)
		levels = append(binary.AppendUvarint(levels, uint64(groups)<<1|1), valid[:groups]...)
	}
	binary.LittleEndian.PutUint32(levels, uint32(len(levels)-4))
	from := len(room) - len(levels)
	copy(room[from:], levels)
	return from
}

// appendHybrid appends codes as Parquet's hybrid of runs and of groups of eight codes packed into
// width bits each.
func appendHybrid(dst []byte, codes []uint32, width int) []byte {
	for len(codes) > 0 {
		run := runLength(codes)
		if run >= 8 || run == len(codes) {
			dst = binary.AppendUvarint(dst, uint64(run)<<1)
			for i := 0; i < width; i += 8 {
				dst = append(dst, byte(codes[0]>>i))
			}
			codes = codes[run:]
			continue
		}
		packed := 8
		for packed < len(codes) && runLength(codes[packed:min(packed+8, len(codes))]) < 8 {
			packed += 8
		}
		packed = min(packed, len(codes)) // a group that is not full is the last
		dst = binary.AppendUvarint(dst, uint64(packed+7)/8<<1|1)
		dst = appendPacked(dst, codes[:packed], width)
		codes = codes[packed:]
	}
	return dst
}

// runLength counts the codes that are equal to the first.
func runLength(codes []uint32) int {
	for i, code := range codes {
		if code != codes[0] {
			return i
		}
	}
	return len(codes)
}

// appendPacked appends codes of width bits, the first in the lowest, and zeros up to a group of
// eight.
func appendPacked(dst []byte, codes []uint32, width int) []byte {
	at := len(dst)
	size := (len(codes) + 7) / 8 * width
	dst = extendBytes(dst, size+8)
	var word uint64
	held := 0
	for _, code := range codes {
		word |= uint64(code) << held
		held += width
		if held >= 32 {
			binary.LittleEndian.PutUint32(dst[at:], uint32(word))
			at += 4
			word >>= 32
			held -= 32
		}
	}
	end := len(dst) - 8
	clear(dst[at:end])
	for i := 0; 8*i < held; i++ {
		dst[at+i] = byte(word >> (8 * i))
	}
	return dst[:end]
}
