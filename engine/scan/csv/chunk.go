package csv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/mpga/mpga/engine/scan/internal/decode"
)

// chunk is bytes [from, to) of a text file. Its rows are the rows that start behind a newline in
// the chunk, and in the first chunk the first row.
//
// The quotes of a chunk are counted when the chunk is read, before its rows are. So chunks that are
// opened in order are read once; to open a chunk before its predecessors reads these, too. The same
// holds of the lines, where rows with errors are left out, and told by their lines.
type chunk struct {
	from, to int64

	mu    sync.Mutex // held while the chunk is read and counted
	known bool       // the chunk has been read, so that the fields below are valid
	ends  transition // from the state at its beginning
	lines int64      // newlines; 0 unless rows with errors are left out
}

// cutChunks cuts a text file into chunks.
func (c *File) cutChunks() {
	c.chunks = make([]chunk, max((c.size-c.start+c.sizes.Chunk-1)/c.sizes.Chunk, 1))
	for i := range c.chunks {
		from := c.start + int64(i)*c.sizes.Chunk
		c.chunks[i].from, c.chunks[i].to = from, min(from+c.sizes.Chunk, c.size)
	}
}

// read fills buf with the chunk of a file, and counts.
func (c *chunk) read(of *File, f io.ReaderAt, buf []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n, err := f.ReadAt(buf, c.from); n < len(buf) {
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("the file changed while it was read: it had %d B and ends before offset %d",
				of.size, c.from+int64(n)+1)
		}
		return err
	}
	if !c.known {
		c.known = true
		c.ends = of.dialect.transition(buf)
		if of.dialect.lenient {
			c.lines = int64(bytes.Count(buf, newline))
		}
	}
	return nil
}

// counted says whether the chunk has been counted. It waits while the chunk is being read.
func (c *chunk) counted() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known
}

// before returns the state in which chunk i starts, and the newlines before it. See dialect for why
// the state is exact.
func (c *File) before(ctx context.Context, f io.ReaderAt, i int) (state textState, lines int64, err error) {
	if c.dialect.noQuote && !c.dialect.lenient {
		return atField, 0, nil
	}
	var buf []byte
	lines = c.linesBefore
	for j := range i {
		before := &c.chunks[j]
		if !before.counted() {
			if err := ctx.Err(); err != nil {
				return 0, 0, err
			}
			size := int(before.to - before.from)
			buf = slices.Grow(buf[:0], size)[:size]
			if err = before.read(c, f, buf); err != nil {
				return 0, 0, err
			}
		}
		state = before.ends[state]
		lines += before.lines
	}
	return state, lines, nil
}

// transition returns the state at the end of a text, by the state at its beginning. Without steps
// it tells what is within quotes from what is not.
func (d *dialect) transition(text []byte) (of transition) {
	if d.steps != nil {
		return d.irregular(text)
	}
	if !d.noQuote && bytes.Count(text, []byte{d.quote})%2 == 1 {
		return transition{atField: inQuotes, inQuotes: atField}
	}
	return transition{atField: atField, inQuotes: inQuotes}
}

// firstRow returns where the first row of a chunk starts, given the state in which the chunk does;
// or len(buf)+1 where no row does.
func firstRow(d *dialect, buf []byte, state textState) int {
	if d.steps != nil {
		for i, c := range buf {
			if state = d.steps[state][c]; c == '\n' && state == atField {
				return i + 1
			}
		}
		return len(buf) + 1
	}
	inside := state == inQuotes
	for i, c := range buf {
		switch {
		case c == d.quote && !d.noQuote:
			inside = !inside
		case c == '\n' && !inside:
			return i + 1
		}
	}
	return len(buf) + 1
}

// part is a chunk of a text file.
type part struct {
	file    *File
	columns []int // of the file, that are wanted
	index   int   // of the chunk
	left    leftOut
	*chunk
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
		return p.file.path
	}
	return fmt.Sprintf("%s, bytes %d to %d", p.file.path, p.from, p.to)
}

func (p *part) Open(ctx context.Context, opt decode.Options) (decode.RowReader, error) {
	r := newReader(p.file, p.columns, opt, &p.left)
	f, err := p.file.fsys.Open(p.file.path)
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
	if err := p.read(p.file, f, r.buf); err != nil {
		return err
	}
	r.base = p.from
	r.limit = p.to + 1
	r.lines = p.file.linesBefore
	if p.index > 0 {
		state, lines, err := p.file.before(ctx, f, p.index)
		if err != nil {
			return err
		}
		r.pos, r.lines = firstRow(p.file.dialect, r.buf, state), lines
	}
	r.chunked = f
	r.text = r.readFrom(p.to)
	r.readBytes = tailBytes
	r.consumed = func() int64 { return min(r.base+int64(r.pos), p.to) - p.from }
	if r.pos > len(r.buf) {
		r.buf, r.pos, r.limit = r.buf[:0], 0, 0 // no row starts here
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
