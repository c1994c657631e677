package store

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"sync"

	"github.com/mpga/mpga/internal/invariants"
	"github.com/mpga/mpga/internal/rowdata"
)

// A blob is pages of states that leave the process: a header that describes the states, frames, and
// a trailer with their number. FORMAT.md describes blobs byte by byte.

// ErrVersion marks a blob of a version that this program does not read.
var ErrVersion = errors.New("unknown version")

const (
	blobMagic    = 0x5047504d // "MPGP"
	trailerMagic = 0x5447504d // "MPGT"
	blobVersion  = 1
	blobPrefix   = 16
	blobTrailer  = 36

	// blobHeaderMax bounds the text of a header.
	blobHeaderMax = 16 << 20

	// blobRowsMax bounds what a trailer may say, so that rows of many blobs add up to a number.
	blobRowsMax = 1 << 48
)

// BlobWriter writes one blob. It is safe for concurrent use.
type BlobWriter struct {
	layout *rowdata.RowLayout
	memory rowdata.Memory

	mu     sync.Mutex
	to     io.Writer
	at     uint64 // bytes written
	frames uint64
	rows   uint64
	failed bool // a write has failed: the bytes behind at are not known
	closed invariants.CloseChecker
}

// NewBlobWriter begins a blob of states of a layout. header is any text.
func NewBlobWriter(to io.Writer, header []byte, layout *rowdata.RowLayout, memory rowdata.Memory) (*BlobWriter, error) {
	if len(header) > blobHeaderMax {
		return nil, fmt.Errorf("a header of %d B: must be at most %d", len(header), blobHeaderMax)
	}
	w := &BlobWriter{layout: layout, memory: memory, to: to}
	b := make([]byte, blobPrefix, blobPrefix+len(header))
	binary.LittleEndian.PutUint32(b, blobMagic)
	binary.LittleEndian.PutUint32(b[4:], blobVersion)
	binary.LittleEndian.PutUint32(b[8:], uint32(len(header)))
	binary.LittleEndian.PutUint32(b[12:], crc32.Update(crc32.Checksum(b[:12], castagnoli), castagnoli, header))
	return w, w.write(append(b, header...))
}

// Append adds a page, which stays the caller's. Nothing may be written after an error.
func (w *BlobWriter) Append(page *rowdata.Page) error {
	buf := frameBuffers.Get().(*[]byte)
	defer frameBuffers.Put(buf)
	frame, err := (&frameWriter{layout: w.layout, memory: w.memory}).append((*buf)[:0], page)
	if err != nil {
		return err
	}
	*buf = frame
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed.CheckOpen()
	w.frames++
	w.rows += uint64(page.Rows)
	return w.write(frame)
}

// Close writes the trailer, without which OpenBlob refuses the blob.
func (w *BlobWriter) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed.Close()
	b := make([]byte, blobTrailer)
	binary.LittleEndian.PutUint32(b, trailerMagic)
	binary.LittleEndian.PutUint64(b[8:], w.frames)
	binary.LittleEndian.PutUint64(b[16:], w.rows)
	binary.LittleEndian.PutUint64(b[24:], w.at)
	binary.LittleEndian.PutUint32(b[32:], crc32.Checksum(b[:32], castagnoli))
	return w.write(b)
}

// write appends bytes.
//
// Requires: w.mu is held, or nobody else has the writer.
func (w *BlobWriter) write(b []byte) error {
	if w.failed {
		return errors.New("written to after an error")
	}
	n, err := w.to.Write(b)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	w.failed = err != nil
	w.at += uint64(n)
	return err
}

// BlobReader is an open blob.
type BlobReader struct {
	from       io.ReaderAt
	header     []byte
	start, end int64 // of the frames
	frames     uint64
	rows       uint64
}

// OpenBlob reads the header and the trailer of a blob of size bytes. Its errors are ErrCorrupt,
// ErrVersion, or errors of from.
func OpenBlob(from io.ReaderAt, size int64) (*BlobReader, error) {
	if size < blobPrefix+blobTrailer {
		return nil, fmt.Errorf("%d B are too few for partial states: %w", size, ErrCorrupt)
	}
	r := &BlobReader{from: from, end: size - blobTrailer}
	if err := r.readHeader(); err != nil {
		return nil, err
	}
	return r, r.readTrailer()
}

func (r *BlobReader) readHeader() error {
	var b [blobPrefix]byte
	if err := readAt(r.from, b[:], 0); err != nil {
		return err
	}
	version, n := binary.LittleEndian.Uint32(b[4:]), int64(binary.LittleEndian.Uint32(b[8:]))
	switch {
	case binary.LittleEndian.Uint32(b[:]) != blobMagic:
		return fmt.Errorf("these are no partial states: %w", ErrCorrupt)
	case version != blobVersion:
		return fmt.Errorf("%w: partial states of version %d, this program reads %d", ErrVersion, version, blobVersion)
	case n > blobHeaderMax || n > r.end-blobPrefix:
		return fmt.Errorf("byte 8: a header of %d B: %w", n, ErrCorrupt)
	}
	r.start = blobPrefix + n
	r.header = make([]byte, n)
	if err := readAt(r.from, r.header, blobPrefix); err != nil {
		return err
	}
	sum := crc32.Update(crc32.Checksum(b[:12], castagnoli), castagnoli, r.header)
	if want := binary.LittleEndian.Uint32(b[12:]); sum != want {
		return fmt.Errorf("byte 0: the header's checksum is %08x, written was %08x: %w", sum, want, ErrCorrupt)
	}
	return nil
}

func (r *BlobReader) readTrailer() error {
	var b [blobTrailer]byte
	if err := readAt(r.from, b[:], r.end); err != nil {
		return err
	}
	sum := crc32.Checksum(b[:32], castagnoli)
	r.frames, r.rows = binary.LittleEndian.Uint64(b[8:]), binary.LittleEndian.Uint64(b[16:])
	switch {
	case binary.LittleEndian.Uint32(b[:]) != trailerMagic:
		return fmt.Errorf("byte %d: no trailer ends the file, it is cut off: %w", r.end, ErrCorrupt)
	case sum != binary.LittleEndian.Uint32(b[32:]):
		return fmt.Errorf("byte %d: the trailer's checksum is %08x, written was %08x: %w", r.end, sum,
			binary.LittleEndian.Uint32(b[32:]), ErrCorrupt)
	case binary.LittleEndian.Uint64(b[24:]) != uint64(r.end) || r.rows > blobRowsMax:
		return fmt.Errorf("byte %d: a trailer of %d B and %d groups: %w", r.end,
			binary.LittleEndian.Uint64(b[24:]), r.rows, ErrCorrupt)
	}
	return nil
}

// readAt fills b; a file that ends before is ErrCorrupt.
func readAt(from io.ReaderAt, b []byte, offset int64) error {
	n, err := from.ReadAt(b, offset)
	switch {
	case n == len(b):
		return nil
	case err == nil || errors.Is(err, io.EOF):
		return fmt.Errorf("byte %d: the file is cut off: %w", offset+int64(n), ErrCorrupt)
	}
	return fmt.Errorf("byte %d: %w", offset, err)
}

// Header returns the text of the header.
func (r *BlobReader) Header() []byte { return r.header }

// Rows returns how many states the blob holds.
func (r *BlobReader) Rows() int64 { return int64(r.rows) }

// Pages returns the pages of the blob, which must be of the layout.
func (r *BlobReader) Pages(layout *rowdata.RowLayout, memory rowdata.Memory) *BlobPages {
	buffer := bufio.NewReaderSize(io.NewSectionReader(r.from, r.start, r.end-r.start), readBytes)
	return &BlobPages{blob: r, at: r.start, reader: frameReader{layout: layout, memory: memory, from: buffer}}
}

// BlobPages is the pages of a blob, in the order in which they were written.
type BlobPages struct {
	blob   *BlobReader
	reader frameReader
	at     int64  // where the next frame begins
	frames uint64 // read
	rows   uint64 // in these frames
}

// Next hands over the next page. At the end it returns io.EOF; its other errors say at which byte
// of the blob.
func (p *BlobPages) Next() (*rowdata.Page, error) {
	p.reader.most = uint64(max(p.blob.end-p.at-frameHeader, 1))
	page, err := p.reader.next()
	switch {
	case errors.Is(err, io.EOF) && p.at == p.blob.end:
		if p.frames != p.blob.frames || p.rows != p.blob.rows {
			return nil, fmt.Errorf("byte %d: %d groups in %d frames, the trailer says %d in %d: %w",
				p.at, p.rows, p.frames, p.blob.rows, p.blob.frames, ErrCorrupt)
		}
		return nil, io.EOF
	case err != nil:
		return nil, fmt.Errorf("byte %d: %w", p.at, err)
	}
	p.at += frameHeader + int64(len(p.reader.stored))
	p.frames++
	p.rows += uint64(page.Rows)
	return page, nil
}
