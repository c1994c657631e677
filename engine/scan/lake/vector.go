package lake

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/bits"

	"github.com/mpga/mpga/internal/vfs"
)

// deletes are rows of a file that are not rows of the table.
type deletes interface {
	fmt.Stringer // which they are

	// rows adds the numbers of deleted rows, from 0 on and below limit, in any order.
	rows(ctx context.Context, fsys vfs.FS, to []int64, limit int64) ([]int64, error)
}

// vector is deleted rows as a bitmap, in a file of its own or in the log.
type vector struct {
	path   string // "" of an inlined one
	inline []byte
	offset int64
	bytes  int64 // of the bitmap with its magic number, without length and checksum
	of     int64 // rows that it deletes
}

// wordBytes is of the length before a bitmap in a file, and of the CRC-32 behind it.
const wordBytes = 4

const vectorMagic = 1681511377 // of a bitmap of 64-bit numbers in parts of 32 bits, in Roaring's portable form

// String implements deletes.
func (v *vector) String() string { return fmt.Sprint(v.path, "@", v.offset, " ", v.inline) }

// rows implements deletes.
func (v *vector) rows(_ context.Context, fsys vfs.FS, to []int64, limit int64) ([]int64, error) {
	bitmap := v.inline
	where := "a deletion vector within the log"
	if v.path != "" {
		where = fmt.Sprintf("%s, deletion vector at byte %d", v.path, v.offset)
		framed, err := readRange(fsys, v.path, v.offset, v.bytes+2*wordBytes)
		if err != nil {
			return nil, Expired(err, "a deletion vector")
		}
		bitmap = framed[wordBytes : wordBytes+v.bytes]
		size, sum := binary.BigEndian.Uint32(framed), binary.BigEndian.Uint32(framed[wordBytes+v.bytes:])
		if int64(size) != v.bytes || sum != crc32.ChecksumIEEE(bitmap) {
			return nil, fmt.Errorf("%s: %w: its length or its checksum is another", where, errDamaged)
		}
	}
	before := len(to)
	to, err := vectorRows(to, bitmap, limit)
	if err == nil && int64(len(to)-before) != v.of {
		err = fmt.Errorf("%w: it deletes %d rows, where the table says %d", errDamaged, len(to)-before, v.of)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", where, err)
	}
	return to, nil
}

// vectorRows adds the rows of a bitmap with its magic number, which is the same in Delta and in Puffin.
func vectorRows(to []int64, data []byte, limit int64) ([]int64, error) {
	r := &bitmapReader{data: data, limit: limit, rows: to}
	if magic := r.u32(); magic != vectorMagic {
		return nil, fmt.Errorf("%w: a bitmap with the magic number %d", errDamaged, magic)
	}
	parts := r.u64()
	for range parts {
		if r.err != nil {
			break
		}
		r.high = int64(r.u32()) << 32
		r.bitmap()
	}
	return r.rows, r.err
}

// bitmapReader reads bitmaps in Roaring's portable form (Lemire et al., "Roaring Bitmaps: Implementation of an
// Optimized Software Library", 2018; the format's specification).
type bitmapReader struct {
	data  []byte
	high  int64 // bits of the rows of the current bitmap above its 32
	limit int64 // rows from here on are damage. L2
	rows  []int64
	err   error
}

var errBitmap = errors.New("a bitmap ends too early")

// take returns the next bytes.
func (r *bitmapReader) take(n int) []byte {
	if r.err != nil || n > len(r.data) {
		r.err = errors.Join(r.err, fmt.Errorf("%w: %w", errDamaged, errBitmap))
		r.data = nil
		return make([]byte, min(n, containerBytes))
	}
	part := r.data[:n]
	r.data = r.data[n:]
	return part
}

func (r *bitmapReader) u16() uint16 { return binary.LittleEndian.Uint16(r.take(2)) }
func (r *bitmapReader) u32() uint32 { return binary.LittleEndian.Uint32(r.take(4)) }
func (r *bitmapReader) u64() uint64 { return binary.LittleEndian.Uint64(r.take(8)) }

// Of the portable form.
const (
	cookieRuns      = 12347 // some containers are runs
	cookieNoRuns    = 12346
	offsetsFrom     = 4 // containers from which on offsets stand also in a bitmap with runs
	arrayMax        = 4096
	containerBytes  = 8192
	containersMax   = 1 << 16
	valuesContainer = 1 << 16
)

// bitmap adds the rows of one bitmap of 32 bits.
func (r *bitmapReader) bitmap() {
	cookie := r.u32()
	var runs []byte
	n := int(cookie>>16) + 1
	switch {
	case cookie&0xFFFF == cookieRuns:
		runs = r.take((n + 7) / 8)
	case cookie == cookieNoRuns:
		if n = int(r.u32()); n > containersMax {
			n, r.err = 0, fmt.Errorf("%w: a bitmap of %d containers", errDamaged, n)
		}
	default:
		r.err = errors.Join(r.err, fmt.Errorf("%w: a bitmap that begins with %d", errDamaged, cookie))
	}
	if r.err != nil {
		return
	}
	head := r.take(4 * n)
	if r.err != nil {
		return
	}
	if runs == nil || n >= offsetsFrom {
		r.take(4 * n) // offsets: containers follow each other
	}
	for i := range n {
		if r.err != nil {
			return
		}
		key := int64(binary.LittleEndian.Uint16(head[4*i:]))
		values := int(binary.LittleEndian.Uint16(head[4*i+2:])) + 1
		r.container(r.high|key<<16, values, runs != nil && runs[i/8]>>(i%8)&1 != 0)
	}
}

// container adds the rows of one container, whose values are counted from base.
func (r *bitmapReader) container(base int64, values int, isRuns bool) {
	switch {
	case isRuns:
		for range r.u16() {
			from, more := int64(r.u16()), int64(r.u16())
			if r.err != nil {
				return
			}
			for v := from; v <= from+more; v++ {
				r.add(base + v)
			}
		}
	case values <= arrayMax:
		array := r.take(2 * values)
		for i := 0; i < values && r.err == nil; i++ {
			r.add(base + int64(binary.LittleEndian.Uint16(array[2*i:])))
		}
	default:
		set := r.take(containerBytes)
		for i := 0; i < containerBytes && r.err == nil; i += 8 {
			for word := binary.LittleEndian.Uint64(set[i:]); word != 0; word &= word - 1 {
				r.add(base + int64(8*i+bits.TrailingZeros64(word)))
			}
		}
	}
}

func (r *bitmapReader) add(row int64) {
	if row < 0 || row >= r.limit {
		r.err = fmt.Errorf("%w: row %d is deleted, of a file of %d rows", errDamaged, row, r.limit)
		return
	}
	if r.err == nil {
		r.rows = append(r.rows, row)
	}
}

// base85Digits are the digits of Z85 (ZeroMQ RFC 32).
const base85Digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"

// base85 decodes a text of 5 digits for each 4 bytes.
func base85(text string) ([]byte, error) {
	if len(text)%5 != 0 {
		return nil, fmt.Errorf("%w: %d digits to the base of 85", errDamaged, len(text))
	}
	var values [256]int
	for i := range values {
		values[i] = -1
	}
	for i, d := range []byte(base85Digits) {
		values[d] = i
	}
	out := make([]byte, 0, len(text)/5*4)
	for ; len(text) > 0; text = text[5:] {
		word := uint64(0)
		for _, d := range []byte(text[:5]) {
			if values[d] < 0 {
				return nil, fmt.Errorf("%w: %q is no digit to the base of 85", errDamaged, d)
			}
			word = 85*word + uint64(values[d])
		}
		if word > 1<<32-1 {
			return nil, fmt.Errorf("%w: %s to the base of 85 is no word of 32 bits", errDamaged, text[:5])
		}
		out = binary.BigEndian.AppendUint32(out, uint32(word))
	}
	return out, nil
}
