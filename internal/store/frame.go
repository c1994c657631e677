package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"github.com/klauspost/compress/s2"

	"github.com/mpga/mpga/internal/rowdata"
)

// A frame is a page as it lies in a file: a header, the words of the page's rows, and behind them
// the words that the rows refer to. FORMAT.md describes frames byte by byte.

// ErrCorrupt marks bytes that are not what was written: a failing disk, or a file of another
// origin.
var ErrCorrupt = errors.New("corrupt frame")

const (
	frameMagic      = 0x4647504d // "MPGF"
	frameVersion    = 2
	frameVersionMin = 1 // is read as well, and has no packed rows
	frameHeader     = 40

	codecNone   = 0
	codecS2     = 1
	codecPacked = 2

	// frameWordsMax bounds the words that a header may ask for: 32 GiB.
	frameWordsMax = 1 << 32

	// frameGrowthMax bounds them by the stored bytes: a frame of more than 1 MiB is not compressed
	// further.
	frameGrowthMax = 1 << 10
)

// frameWordsOf returns the most words that a payload of stored bytes decompresses to.
func frameWordsOf(stored uint64) uint64 { return 1<<17 + stored*frameGrowthMax/8 }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// frameWriter turns pages of one layout into frames.
type frameWriter struct {
	layout *rowdata.RowLayout
	memory rowdata.Memory
	at     uint64   // words written, of the page being encoded
	words  []uint64 // of that page; nil between pages
}

// append appends the frame of a page to dst.
func (w *frameWriter) append(dst []byte, page *rowdata.Page) ([]byte, error) {
	rowWords := page.Rows * w.layout.Stride
	if !w.layout.Refers() {
		return appendFrame(dst, page.Rows, w.layout.Stride, page.Words[:rowWords]), nil
	}
	w.words = w.memory.Alloc(rowWords + int(page.Heap.Bytes()/8))
	defer func() {
		w.memory.Free(w.words)
		w.words = nil
	}()
	copy(w.words, page.Words[:rowWords])
	w.at = uint64(rowWords)
	for at := 0; at < rowWords; at += w.layout.Stride {
		if err := w.layout.Relocate(w.words[at:at+w.layout.Stride], w); err != nil {
			return nil, err
		}
	}
	return appendFrame(dst, page.Rows, w.layout.Stride, w.words[:w.at]), nil
}

// Block implements rowdata.Relocator: it copies words behind the rows, and refers to them by their
// place in the frame.
func (w *frameWriter) Block(address *uint64, n uint64) ([]uint64, error) {
	if w.at+n > uint64(len(w.words)) {
		return nil, fmt.Errorf("a page refers to more than its heap of %d words", len(w.words))
	}
	block := w.words[w.at : w.at+n]
	copy(block, rowdata.WordsAt(address, int(n)))
	*address = w.at
	w.at += n
	return block, nil
}

// appendFrame appends the frame of rows and of the words that they refer to.
func appendFrame(dst []byte, rows, stride int, words []uint64) []byte {
	start := len(dst)
	dst = append(dst, make([]byte, frameHeader)...)
	body := len(dst)
	dst, codec := appendPayload(dst, rows, stride, words)
	stored := dst[body:]
	h := dst[start:body]
	binary.LittleEndian.PutUint32(h, frameMagic)
	h[4], h[5] = frameVersion, codec
	binary.LittleEndian.PutUint32(h[8:], uint32(rows))
	binary.LittleEndian.PutUint32(h[12:], uint32(stride))
	binary.LittleEndian.PutUint64(h[16:], uint64(len(words)))
	binary.LittleEndian.PutUint64(h[24:], uint64(len(stored)))
	binary.LittleEndian.PutUint32(h[32:], crc32.Update(crc32.Checksum(h[:32], castagnoli), castagnoli, stored))
	return dst
}

// appendPayload adds rows, and the words that they refer to, by the codec that suits them.
func appendPayload(dst []byte, rows, stride int, words []uint64) (grown []byte, codec byte) {
	raw, at := rowdata.View[byte](words), len(dst)
	suits := func(bytes int) bool { return uint64(len(words)) <= frameWordsOf(uint64(bytes)) }
	if len(words) == rows*stride {
		columns := packedColumns(words, stride)
		if n := packedBytes(columns, rows); n <= len(raw)-len(raw)/4 && suits(n) {
			dst = slices.Grow(dst, n)[:at+n]
			packRows(dst[at:], words, columns)
			return dst, codecPacked
		}
	}
	dst = slices.Grow(dst, s2.MaxEncodedLen(len(raw)))
	stored := s2.Encode(dst[at:cap(dst)], raw)
	if len(stored) <= len(raw)-len(raw)/8 && suits(len(stored)) { // saving less is not worth decompressing
		return dst[:at+len(stored)], codecS2
	}
	return append(dst, raw...), codecNone
}

// frameReader reads pages of one layout.
type frameReader struct {
	layout *rowdata.RowLayout
	memory rowdata.Memory
	from   io.Reader
	most   uint64   // bytes of a stored payload; 0 is no bound
	stored []byte   // payload of the frame being read
	block  []uint64 // words of the frame being read
	rows   int      // of the frame being read
}

// next returns the next page, or io.EOF.
func (r *frameReader) next() (*rowdata.Page, error) {
	var h [frameHeader]byte
	if _, err := io.ReadFull(r.from, h[:]); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = fmt.Errorf("a header is cut off: %w", ErrCorrupt)
		}
		return nil, err
	}
	rows := uint64(binary.LittleEndian.Uint32(h[8:]))
	stride := uint64(binary.LittleEndian.Uint32(h[12:]))
	words := binary.LittleEndian.Uint64(h[16:])
	stored := binary.LittleEndian.Uint64(h[24:])
	switch {
	case binary.LittleEndian.Uint32(h[:]) != frameMagic:
		return nil, fmt.Errorf("no frame begins here: %w", ErrCorrupt)
	case h[4] < frameVersionMin || h[4] > frameVersion:
		return nil, fmt.Errorf("version %d, this program reads %d to %d: %w", h[4], frameVersionMin, frameVersion, ErrCorrupt)
	case stride != uint64(r.layout.Stride) || words > frameWordsMax || rows*stride > words || stored > 8*words,
		words > frameWordsOf(stored):
		return nil, fmt.Errorf("%d rows of %d words in %d words, %d B stored: %w", rows, stride, words, stored, ErrCorrupt)
	}
	if r.most > 0 && stored > r.most {
		return nil, fmt.Errorf("a frame of %d B where %d B are left: %w", stored, r.most, ErrCorrupt)
	}
	if uint64(cap(r.stored)) < stored {
		r.stored = make([]byte, stored)
	}
	r.stored = r.stored[:stored]
	if _, err := io.ReadFull(r.from, r.stored); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = fmt.Errorf("a frame is cut off: %w", ErrCorrupt)
		}
		return nil, err
	}
	if sum := crc32.Update(crc32.Checksum(h[:32], castagnoli), castagnoli,
		r.stored); sum != binary.LittleEndian.Uint32(h[32:]) {
		return nil, fmt.Errorf("checksum %08x, written %08x: %w", sum, binary.LittleEndian.Uint32(h[32:]), ErrCorrupt)
	}
	return r.decode(h[5], int(rows), int(words))
}

// decode makes a page of a stored frame. The page has one block for its rows and what they refer
// to.
func (r *frameReader) decode(codec byte, rows, words int) (*rowdata.Page, error) {
	page := rowdata.NewPage(r.memory, words)
	raw := rowdata.View[byte](page.Words)
	n, err := len(r.stored), error(nil)
	switch codec {
	case codecNone:
		copy(raw, r.stored)
	case codecPacked:
		if n = 8 * rows * r.layout.Stride; n == len(raw) {
			err = unpackRows(page.Words, rows, r.layout.Stride, r.stored)
		}
	case codecS2:
		if n, err = s2.DecodedLen(r.stored); err == nil && n == len(raw) {
			_, err = s2.Decode(raw, r.stored)
		}
	default:
		err = fmt.Errorf("codec %d", codec)
	}
	if err == nil && n != len(raw) {
		err = fmt.Errorf("%d B, where %d were written", n, len(raw))
	}
	page.Rows, r.block, r.rows = rows, page.Words, rows
	if err == nil && r.layout.Refers() {
		stride := r.layout.Stride
		for row := 0; row < rows && err == nil; row++ {
			err = r.layout.Relocate(page.Words[row*stride:(row+1)*stride], r)
		}
	}
	if err != nil {
		page.Release()
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return page, nil
}

// Block implements rowdata.Relocator: it turns a place in the frame into an address.
func (r *frameReader) Block(address *uint64, n uint64) ([]uint64, error) {
	at, end := *address, uint64(len(r.block))
	if at < uint64(r.rows*r.layout.Stride) || at > end || n > end-at {
		return nil, fmt.Errorf("%d words at %d of %d: %w", n, at, end, rowdata.ErrCorruptState)
	}
	block := r.block[at : at+n]
	*address = rowdata.Address(block)
	return block, nil
}
