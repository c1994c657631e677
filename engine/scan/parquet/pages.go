package parquet

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"sync"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"

	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/engine/scan/internal/reserve"
)

// page is one page of a column chunk, decompressed.
type page struct {
	kind     pageKind
	values   int // NULLs included
	encoding parquet.Encoding

	// levels are the definition levels of a page of version 2. In a page of version 1 the levels
	// lead data, in the encoding levelEncoding.
	levels        []byte
	levelEncoding parquet.Encoding

	repetition []byte // the repetition levels of a page of version 2; in version 1 they lead data

	data []byte
}

// chunkPages reads the pages of one column chunk, by ReadAt into a window of its compressed bytes.
// It holds that window and one page decompressed: each is as large as the largest page so far, or
// windowBytesMax. A page that is not compressed stays in the window. Batches may refer to the bytes
// of a page (lend): the next page is then read to other memory.
//
// arrow-go's page reader reads as little at a time; but its Brotli fails on pages of 0 B, its zstd
// decoders are four for the whole process, and it checks no CRC.
type chunkPages struct {
	file   io.ReaderAt
	at     int64 // offset in the file of the first byte behind the window
	end    int64 // offset in the file of the end of the chunk
	codec  compress.Compression
	window scratch
	unread []byte      // the end of window
	ahead  int         // bytes to read at once
	until  int64       // offset behind which pages may not be needed; 0 where all are
	page   scratch     // the current page, where it was compressed
	header *pageHeader // of the page that comes next; nil where the header has not been read
	passed int64       // bytes that were passed over
	count  decode.PageCount

	packed bool // pages of version 2 are compressed, whatever their headers say

	mem      *reserve.Allocator
	bytesMax int64 // of a page, decompressed
}

const (
	// windowBytesMax is the window for usual batches. Reads of 64 KiB to 1 MiB take the same time
	// from the page cache; a disk or a network wants the larger reads.
	windowBytesMax = 256 << 10

	// windowBytesMin is the window for small batches, which are asked for to save memory.
	windowBytesMin = 16 << 10

	// windowBytesLeast is the window of each column where there are very many.
	windowBytesLeast = 2 << 10
)

// windowBytes returns how many bytes of a column to read at once for batches of batchRows rows.
// batchBytes is the column's share of a batch's bytes.
func windowBytes(batchRows, batchBytes int64) int {
	wanted := max(windowBytesMin, min(windowBytesMax, 8*batchRows))
	return int(max(windowBytesLeast, min(wanted, batchBytes)))
}

// pageBytesMin is what a page may have where its chunk is said to have less: writers have been
// wrong there.
const pageBytesMin = 16 << 20

// newChunkPages opens the chunk from start to end, which is said to have chunkBytes decompressed.
func newChunkPages(
	file io.ReaderAt, start, end int64, codec compress.Compression, chunkBytes int64, ahead int, mem *reserve.Allocator,
) *chunkPages {
	return &chunkPages{
		file: file, at: start, end: end, codec: codec, ahead: ahead,
		bytesMax: max(chunkBytes, pageBytesMin), count: decode.PageCount{Codec: codec.String()},
		mem: mem, window: scratch{mem: mem}, page: scratch{mem: mem},
	}
}

func (p *chunkPages) close() {
	p.window.free()
	p.page.free()
	p.unread = nil
}

// next returns the next page, whose bytes stay valid until the next call, or io.EOF.
func (p *chunkPages) next() (page, error) {
	for {
		header, err := p.peek()
		if err != nil {
			return page{}, err
		}
		p.header = nil
		p.roomFor(header)
		raw, err := p.take(header.fileBytes)
		if err != nil {
			return page{}, err
		}
		if header.checked && crc32.ChecksumIEEE(raw) != header.crc {
			return page{}, fmt.Errorf("a page of %d B whose checksum is not the one in its header", header.fileBytes)
		}
		if header.kind == pageIndex {
			continue
		}
		p.count.Pages++
		p.count.Bytes += int64(header.fileBytes)
		p.count.Decompressed += int64(header.bytes)
		out := page{kind: header.kind, values: header.values, encoding: header.encoding, levelEncoding: header.levels}
		levels := header.repetition + header.definition
		out.repetition, out.levels = raw[:header.repetition], raw[header.repetition:levels]
		if header.stored && !p.packed {
			out.data = raw[levels:]
			return out, nil
		}
		out.data, err = p.decompress(raw[levels:], header.bytes-levels)
		used := len(p.unread) == 0 && levels == 0 && p.page.holds(out.data) // nothing of the window is needed
		if err == nil && used && len(p.window.buf) > reserve.LargeBytes {
			p.window.free()
		}
		return out, err
	}
}

// roomFor makes sure that there is room for a large page, packed and unpacked, and for a batch or a
// dictionary that is made of the page.
func (p *chunkPages) roomFor(h *pageHeader) {
	if h.bytes+h.fileBytes < reserve.LargeBytes {
		return
	}
	made := max(h.bytes/max(h.values, 1), min(h.bytes, reserve.LargeBytes)) // a batch of one value at least
	if h.kind == pageDictionary {
		made = 2 * h.bytes // the entries to look up, and the array of the entries
	}
	packed := max(h.fileBytes-p.window.size(), 0)
	if p.codec == compress.Codecs.Uncompressed {
		p.mem.Room(int64(packed) + int64(made))
		return
	}
	unpacked := h.bytes - p.page.size()
	if unpacked > 0 && p.page.size() > reserve.LargeBytes {
		p.page.free()
		unpacked = h.bytes
	}
	p.mem.Room(int64(max(unpacked, 0)) + int64(max(packed, made))) // a large window is not kept
}

// lendBytesMin is the least page that is lent: smaller strings are copied together.
const lendBytesMin = 16 << 10

// lend returns the memory that has the bytes of the current page, and the index of the first. The
// memory stays as it is until the buffer is released. lend returns nil where the budget has no room
// for two such pages more, or the page is small.
func (p *chunkPages) lend(data []byte) (buffer *memory.Buffer, from int) {
	if len(data) < lendBytesMin || !p.mem.Fits(2*int64(len(data))) {
		return nil, 0
	}
	for _, s := range []*scratch{&p.page, &p.window} {
		if at := s.index(data); at >= 0 {
			return s.lend(), at
		}
	}
	return nil, 0
}

// peek returns the header of the page that comes next, or io.EOF at the end of the chunk.
func (p *chunkPages) peek() (*pageHeader, error) {
	if p.header == nil {
		header, err := p.readHeader()
		if err != nil {
			return nil, err
		}
		p.header = &header
	}
	return p.header, nil
}

// readHeader reads the header of the page that comes next, or returns io.EOF at the end of the
// chunk.
func (p *chunkPages) readHeader() (pageHeader, error) {
	for wanted := 1; ; wanted = 2 * len(p.unread) {
		rest := p.rest()
		if rest == 0 {
			return pageHeader{}, io.EOF
		}
		if err := p.fill(int(min(int64(wanted), rest))); err != nil {
			return pageHeader{}, err
		}
		header, size, err := parsePageHeader(p.unread)
		if err == nil {
			p.unread = p.unread[size:]
			return header, nil
		}
		if !errors.Is(err, io.ErrUnexpectedEOF) || int64(len(p.unread)) == rest || len(p.unread) > pageHeaderBytesMax {
			return header, fmt.Errorf("a page header: %w", err)
		}
	}
}

// take returns the next n bytes of the chunk.
func (p *chunkPages) take(n int) ([]byte, error) {
	if rest := p.rest(); int64(n) > rest {
		return nil, fmt.Errorf("a page of %d B where the column chunk has %d B left", n, rest)
	}
	if err := p.fill(n); err != nil {
		return nil, err
	}
	taken := p.unread[:n]
	p.unread = p.unread[n:]
	return taken, nil
}

// fill makes sure that the window has n unread bytes.
// Requires: the chunk has n bytes left.
func (p *chunkPages) fill(n int) error {
	if n <= len(p.unread) {
		return nil
	}
	ahead := int64(p.ahead)
	if p.until > 0 {
		ahead = min(ahead, int64(len(p.unread))+p.until-p.at)
	}
	size := int(min(max(int64(n), ahead), p.rest()))
	window := p.window.grow(size, p.unread)
	read, err := p.file.ReadAt(window[len(p.unread):], p.at)
	if read < size-len(p.unread) {
		if err == nil || errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return decode.NotRead(fmt.Errorf("reading %d B at offset %d: %w", size-len(p.unread), p.at, err))
	}
	p.at += int64(read)
	p.unread = window
	return nil
}

// decompress returns the bytes of a page, which must be size bytes.
func (p *chunkPages) decompress(packed []byte, size int) ([]byte, error) {
	if p.codec == compress.Codecs.Uncompressed {
		if len(packed) != size {
			return nil, fmt.Errorf("a page of %d B that is said to have %d B", len(packed), size)
		}
		return packed, nil
	}
	if size == 0 {
		return nil, nil // codecs differ in how they write nothing
	}
	// A corrupt length must not take memory.
	if limit := min(p.bytesMax, expansionMax[p.codec]*int64(len(packed))); int64(size) > limit {
		return nil, fmt.Errorf("a %s page of %d B that is said to have %d B, where %d B are the most",
			p.codec, len(packed), size, limit)
	}
	if p.codec == compress.Codecs.Snappy {
		if n, err := snappy.DecodedLen(packed); err != nil || n != size {
			return nil, fmt.Errorf("a snappy page of %d B that is said to have %d B", n, size)
		}
		if literal, ok := snappyLiteral(packed, size); ok {
			return literal, nil
		}
	}
	if len(p.page.buf) > max(reserve.LargeBytes, 4*size) {
		p.page.free()
	}
	out, err := decompress(p.codec, p.page.grow(size, nil), packed)
	if err != nil {
		return nil, fmt.Errorf("a %s page of %d B: %w", p.codec, len(packed), err)
	}
	if len(out) != size {
		return nil, fmt.Errorf("a %s page of %d B that is said to have %d B", p.codec, len(out), size)
	}
	return out, nil
}

// expansionMax has the codecs that decompress knows, and how many bytes a compressed byte stands
// for at most: in Snappy and LZ4 by their longest copy, in Deflate by the shortest code of its
// longest copy, in zstd by the largest block that repeats a byte. Brotli has no such bound below
// the largest page.
var expansionMax = map[compress.Compression]int64{
	compress.Codecs.Uncompressed: 1,
	compress.Codecs.Snappy:       32,
	compress.Codecs.Lz4Raw:       256,
	compress.Codecs.Lz4:          256,
	compress.Codecs.Gzip:         1032,
	compress.Codecs.Zstd:         1 << 16,
	compress.Codecs.Brotli:       math.MaxInt32,
}

// scratch is memory that is used again and again, until it is lent.
type scratch struct {
	mem  memory.Allocator
	buf  []byte
	lent *memory.Buffer // of buf, which others refer to; nil where buf belongs to the scratch alone
}

// size returns how many bytes grow returns without an allocation.
func (s *scratch) size() int {
	if s.lent != nil {
		return 0
	}
	return len(s.buf)
}

// grow returns n bytes that begin with keep, which may lie in the bytes that grow returned last.
func (s *scratch) grow(n int, keep []byte) []byte {
	if n <= s.size() {
		copy(s.buf, keep)
		return s.buf[:n:n]
	}
	if s.size() > reserve.LargeBytes && len(keep) < len(s.buf)/4 { // the old and the new are not held at once
		keep = bytes.Clone(keep)
		s.free()
	}
	grown := s.mem.Allocate(n)
	copy(grown, keep)
	s.free()
	s.buf = grown
	return grown
}

// lend returns the bytes that grow returned last, which are not written again. The caller owns the
// buffer.
func (s *scratch) lend() *memory.Buffer {
	if s.lent == nil {
		s.lent = memory.NewBufferWithAllocator(s.buf, s.mem)
	}
	s.lent.Retain()
	return s.lent
}

// index returns the index of b in the bytes that grow returned last, or -1 where b lies elsewhere.
func (s *scratch) index(b []byte) int {
	at := uintptr(unsafe.Pointer(unsafe.SliceData(b))) - uintptr(unsafe.Pointer(unsafe.SliceData(s.buf)))
	if at+uintptr(len(b)) > uintptr(len(s.buf)) || at > uintptr(len(s.buf)) {
		return -1
	}
	return int(at)
}

// holds says whether b begins where the bytes that grow returned last do.
func (s *scratch) holds(b []byte) bool {
	return len(b) > 0 && unsafe.SliceData(b) == unsafe.SliceData(s.buf)
}

func (s *scratch) free() {
	switch {
	case s.lent != nil:
		s.lent.Release()
	case s.buf != nil:
		s.mem.Free(s.buf)
	}
	s.buf, s.lent = nil, nil
}

// decompress decompresses packed to out, and returns the part of out that it wrote.
func decompress(codec compress.Compression, out, packed []byte) ([]byte, error) {
	switch codec {
	case compress.Codecs.Snappy:
		return out, decodeSnappy(out, packed)
	case compress.Codecs.Zstd:
		decoder := zstdDecoders.Get().(*zstd.Decoder)
		defer zstdDecoders.Put(decoder)
		return decoder.DecodeAll(packed, out[:0])
	case compress.Codecs.Lz4:
		return out, decodeLZ4(out, packed)
	}
	library, err := compress.GetCodec(codec)
	if err != nil {
		return nil, err
	}
	return compress.Decode(library, out, packed)
}

// zstdDecoders use one thread each, and write no more than the capacity of their output.
var zstdDecoders = sync.Pool{New: func() any {
	decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		panic(err) // only options give errors
	}
	return decoder
}}
