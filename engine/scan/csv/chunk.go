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
func (c *File) ReadChunk(ctx context.Context, f io.ReaderAt, chunk int,
	buf []byte) (first int, lines int64, err error) {
	if err := c.readChunk(f, chunk, buf); err != nil || chunk == 0 {
		return 0, c.LinesBefore, err
	}
	state, lines, err := c.before(ctx, f, chunk)
	if err != nil {
		return 0, 0, err
	}
	return firstRow(c.dialect, buf, state), lines, nil
}

// chunkCounts counts the quotes of a chunk when the chunk is read, before its rows are. So chunks
// that are opened in order are read once; to open a chunk before its predecessors reads these, too.
// The same holds of the lines, where rows with errors are left out, and told by their lines.
type chunkCounts struct {
	mu    sync.Mutex // held while the chunk is read and counted
	known bool       // the chunk has been read, so that the fields below are valid
	ends  transition // from the state at its beginning
	lines int64      // newlines; 0 unless rows with errors are left out
}

// readChunk fills buf with a chunk, and counts.
func (c *File) readChunk(f io.ReaderAt, chunk int, buf []byte) error {
	n := &c.counts[chunk]
	n.mu.Lock()
	defer n.mu.Unlock()
	from, _ := c.ChunkRange(chunk)
	if err := c.ReadRange(f, from, buf); err != nil {
		return err
	}
	if !n.known {
		n.known = true
		n.ends = c.dialect.transition(buf)
		if c.dialect.lenient {
			n.lines = int64(bytes.Count(buf, newline))
		}
	}
	return nil
}

// counted says whether the chunk has been counted. It waits while the chunk is being read.
func (n *chunkCounts) counted() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.known
}

// before returns the state in which chunk i starts, and the newlines before it. See dialect for why
// the state is exact.
func (c *File) before(ctx context.Context, f io.ReaderAt, i int) (state textState, lines int64, err error) {
	if c.dialect.noQuote && !c.dialect.lenient {
		return atField, 0, nil
	}
	var buf []byte
	lines = c.LinesBefore
	for j := range i {
		before := &c.counts[j]
		if !before.counted() {
			if err := ctx.Err(); err != nil {
				return 0, 0, err
			}
			from, to := c.ChunkRange(j)
			buf = slices.Grow(buf[:0], int(to-from))[:to-from]
			if err = c.readChunk(f, j, buf); err != nil {
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
