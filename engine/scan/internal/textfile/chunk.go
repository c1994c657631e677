package textfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/mpga/mpga/engine/scan/internal/decode"
)

// cutChunks cuts a text file into chunks.
func (c *File) cutChunks() {
	c.chunks = make([]chunk, max((c.size-c.Start+c.sizes.Chunk-1)/c.sizes.Chunk, 1))
	for i := range c.chunks {
		from := c.Start + int64(i)*c.sizes.Chunk
		c.chunks[i] = chunk{from, min(from+c.sizes.Chunk, c.size)}
	}
}

// ChunkRange returns the first byte of a chunk, and the first byte behind it.
func (c *File) ChunkRange(i int) (from, to int64) { return c.chunks[i].from, c.chunks[i].to }

// ReadRange fills buf with a file's bytes from an offset on.
func (c *File) ReadRange(f io.ReaderAt, from int64, buf []byte) error {
	n, err := f.ReadAt(buf, from)
	if n < len(buf) && errors.Is(err, io.EOF) {
		return fmt.Errorf("the file changed while it was read: it had %d B and ends before offset %d",
			c.size, from+int64(n)+1)
	}
	if n < len(buf) {
		return err
	}
	return nil
}

// part is a chunk of a text file.
type part struct {
	file    *File
	columns []int // of the file, that are wanted
	index   int   // of the chunk
	left    leftOut
	chunk
}

// Offset is the place of the earliest byte at which a row of the chunk may start: behind the
// chunk's first byte, but for the first chunk. A row takes a byte, so the last row's position is at
// most that of the chunk's end. S2.
func (p *part) Offset() uint64 {
	return uint64(p.from) + uint64(min(p.index, 1))
}

func (p *part) Rows() int64 { return -1 }

func (p *part) Bytes() int64 { return p.to - p.from }

func (p *part) Name() string {
	if len(p.file.chunks) == 1 {
		return p.file.Path
	}
	return fmt.Sprintf("%s, bytes %d to %d", p.file.Path, p.from, p.to)
}

func (p *part) Open(ctx context.Context, opt decode.Options) (decode.RowReader, error) {
	r := newReader(p.file, p.columns, opt, &p.left)
	f, err := p.file.fsys.Open(p.file.Path)
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	r.closers = []io.Closer{f}
	if err := decode.Guard(func() error { return p.start(ctx, f, r) }); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// start reads the chunk and finds its first row. The end of the last row, which may lie behind the
// chunk, is read with that row.
func (p *part) start(ctx context.Context, f io.ReaderAt, r *reader) error {
	r.room(int(p.Bytes()))
	r.buf = r.buf[:p.Bytes()]
	r.base = p.from
	r.limit = p.to + 1
	var err error
	if r.pos, r.lines, err = p.file.Format.ReadChunk(ctx, f, p.index, r.buf); err != nil {
		return err
	}
	r.chunked = f
	r.text = r.readFrom(p.to)
	r.readBytes = tailBytes
	r.consumed = func() int64 { return min(r.base+int64(r.pos), p.to) - p.from }
	if r.pos > len(r.buf) {
		r.pos, r.none = len(r.buf), true
	}
	return nil
}

// tailBytes is what is read at a time behind a chunk to complete the last row.
const tailBytes = 16 << 10

// countLines returns the line, from 1, that an offset of a file is on. Only errors need it.
func countLines(f io.ReaderAt, offset int64) (int64, error) {
	lines := int64(1)
	buf := make([]byte, 1<<20)
	for at := int64(0); at < offset; {
		n, err := f.ReadAt(buf[:min(int64(len(buf)), offset-at)], at)
		if n == 0 && err != nil {
			return 0, err
		}
		lines += int64(bytes.Count(buf[:n], newline))
		at += int64(n)
	}
	return lines, nil
}
