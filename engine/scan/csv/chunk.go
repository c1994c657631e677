package csv

import (
	"bytes"
	"context"
	"io"
	"slices"
	"sync"
)

// ReadChunk implements textfile.Format. The rows of a chunk are the rows that start behind a newline
// in the chunk, and in the first chunk the first row.
func (c *File) ReadChunk(ctx context.Context, f io.ReaderAt, chunk int, buf []byte) (first int, err error) {
	if _, err := c.readChunk(f, chunk, buf); err != nil || chunk == 0 {
		return 0, err
	}
	inside, err := c.startsInside(ctx, f, chunk)
	if err != nil {
		return 0, err
	}
	return firstRow(c.dialect, buf, inside), nil
}

// chunkQuotes counts the quotes of a chunk when the chunk is read, before its rows are. So chunks
// that are opened in order are read once; to open a chunk before its predecessors reads these, too.
type chunkQuotes struct {
	mu    sync.Mutex // held while the chunk is read and counted
	known bool       // its quotes have been counted
	odd   bool       // the number of its quotes is odd; valid if known
}

// readChunk fills buf with a chunk, and says whether the number of its quotes is odd.
func (c *File) readChunk(f io.ReaderAt, chunk int, buf []byte) (odd bool, err error) {
	q := &c.quotes[chunk]
	q.mu.Lock()
	defer q.mu.Unlock()
	from, _ := c.ChunkRange(chunk)
	if err := c.ReadRange(f, from, buf); err != nil {
		return false, err
	}
	if !q.known {
		q.known = true
		q.odd = !c.dialect.noQuote && bytes.Count(buf, []byte{c.dialect.quote})%2 == 1
	}
	return q.odd, nil
}

// count returns whether the chunk's quotes have been counted, and are odd. It waits while the chunk
// is being read.
func (q *chunkQuotes) count() (odd, known bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.odd, q.known
}

// startsInside says whether chunk i starts within quotes: whether the chunks before hold an odd
// number of quotes. See dialect for why that is exact.
func (c *File) startsInside(ctx context.Context, f io.ReaderAt, i int) (inside bool, err error) {
	if c.dialect.noQuote {
		return false, nil
	}
	var buf []byte
	for j := range i {
		odd, known := c.quotes[j].count()
		if !known {
			if err := ctx.Err(); err != nil {
				return false, err
			}
			from, to := c.ChunkRange(j)
			buf = slices.Grow(buf[:0], int(to-from))[:to-from]
			if odd, err = c.readChunk(f, j, buf); err != nil {
				return false, err
			}
		}
		inside = inside != odd
	}
	return inside, nil
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
