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

// quoteCounts tells, for each chunk of a text file, whether the chunk starts within quotes: whether
// the chunks before hold an odd number of quote characters. See dialect for why that is exact.
//
// The quotes of a chunk are counted when the chunk is read, before its rows are. So chunks that are
// opened in order are read once; to open a chunk before its predecessors reads these, too.
type quoteCounts struct {
	file   *File
	chunks []chunk
}

// chunk is bytes [from, to) of a text file. Its rows are the rows that start behind a newline in
// the chunk, and in the first chunk the first row.
type chunk struct {
	from, to int64

	mu    sync.Mutex // held while the chunk is read and counted
	known bool       // its quotes have been counted
	odd   bool       // the number of its quotes is odd; valid if known
}

func newQuoteCounts(file *File) *quoteCounts {
	q := &quoteCounts{file: file}
	n := max((file.size-file.start+file.sizes.Chunk-1)/file.sizes.Chunk, 1)
	q.chunks = make([]chunk, n)
	for i := range q.chunks {
		q.chunks[i].from = file.start + int64(i)*file.sizes.Chunk
		q.chunks[i].to = min(q.chunks[i].from+file.sizes.Chunk, file.size)
	}
	return q
}

// read fills buf with a chunk, and counts the quotes.
func (q *quoteCounts) read(f io.ReaderAt, i int, buf []byte) error {
	c := &q.chunks[i]
	c.mu.Lock()
	defer c.mu.Unlock()
	if n, err := f.ReadAt(buf, c.from); n < len(buf) {
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("the file changed while it was read: it had %d B and ends before offset %d",
				q.file.size, c.from+int64(n)+1)
		}
		return err
	}
	if !c.known {
		c.known = true
		c.odd = !q.file.dialect.noQuote && bytes.Count(buf, []byte{q.file.dialect.quote})%2 == 1
	}
	return nil
}

// inside says whether chunk i starts within quotes. buf returns room for a chunk that nobody has
// read yet.
func (q *quoteCounts) inside(ctx context.Context, f io.ReaderAt, i int, buf func(size int64) []byte) (bool, error) {
	inside := false
	if q.file.dialect.noQuote {
		return false, nil
	}
	for j := range i {
		odd, known := q.count(j)
		if !known {
			if err := ctx.Err(); err != nil {
				return false, err
			}
			if err := q.read(f, j, buf(q.chunks[j].to-q.chunks[j].from)); err != nil {
				return false, err
			}
			odd, _ = q.count(j)
		}
		inside = inside != odd
	}
	return inside, nil
}

// count returns whether a chunk's quotes have been counted, and are odd. It waits while the chunk
// is being read.
func (q *quoteCounts) count(i int) (odd, known bool) {
	c := &q.chunks[i]
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.odd, c.known
}

// firstRow returns where the first row of a chunk starts, given whether the chunk starts within
// quotes; or len(buf)+1 where no row does.
func firstRow(d *dialect, buf []byte, inside bool) int {
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
	chunk   int   // index of the chunk
}

func (p *part) bounds() (from, to int64) {
	c := &p.file.quotes.chunks[p.chunk]
	return c.from, c.to
}

// Offset is the place of the earliest byte at which a row of the chunk may start: behind the
// chunk's first byte, but for the first chunk. A row takes a byte, so the last row's position is at
// most that of the chunk's end. S2.
func (p *part) Offset() uint64 {
	from, _ := p.bounds()
	if p.chunk > 0 {
		from++
	}
	return uint64(from)
}

func (p *part) Rows() int64 { return -1 }

func (p *part) Bytes() int64 {
	from, to := p.bounds()
	return to - from
}

func (p *part) Name() string {
	if len(p.file.quotes.chunks) == 1 {
		return p.file.path
	}
	from, to := p.bounds()
	return fmt.Sprintf("%s, bytes %d to %d", p.file.path, from, to)
}

func (p *part) Open(ctx context.Context, opt decode.Options) (decode.RowReader, error) {
	r := newReader(p.file, p.columns, opt)
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
	from, to := p.bounds()
	r.room(int(to - from))
	r.buf = r.buf[:to-from]
	if err := p.file.quotes.read(f, p.chunk, r.buf); err != nil {
		return err
	}
	r.base = from
	r.limit = to + 1
	if p.chunk > 0 {
		var scratch []byte
		inside, err := p.file.quotes.inside(ctx, f, p.chunk, func(size int64) []byte {
			scratch = slices.Grow(scratch[:0], int(size))[:size]
			return scratch
		})
		if err != nil {
			return err
		}
		r.pos = firstRow(p.file.dialect, r.buf, inside)
	}
	r.chunked = f
	r.text = r.readFrom(to)
	r.readBytes = tailBytes
	r.consumed = func() int64 { return min(r.base+int64(r.pos), to) - from }
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
