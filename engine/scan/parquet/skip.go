package parquet

import (
	"errors"
	"fmt"
	"io"
	"sort"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/scan/internal/decode"
)

// Rows that nobody needs are passed over when a column is next read. A page without a needed row is
// neither decoded nor decompressed; where the chunk's offset index says where pages are, or where
// pages are larger than a read, the page is not read either.

// While pages are passed over, reads are of an eighth of a page, within these bounds: enough for a
// header, and little beside the page.
const (
	passAheadMin = 256
	passAheadMax = 8 << 10
)

// pass passes over the next data pages while they have at most `rows` rows together. It returns how
// many rows these pages have, or io.EOF where there is no page left.
func (p *chunkPages) pass(rows int) (passed int, err error) {
	defer func(ahead int) { p.ahead = ahead }(p.ahead)
	p.ahead = passAheadMin
	for {
		h, err := p.peek()
		switch {
		case errors.Is(err, io.EOF) && passed > 0:
			return passed, nil
		case err != nil:
			return passed, err
		case h.kind == pageDictionary || h.kind != pageIndex && h.values > rows-passed:
			return passed, nil
		}
		p.ahead = max(passAheadMin, min(h.fileBytes/8, passAheadMax))
		if err := p.discard(h.fileBytes); err != nil {
			return passed, err
		}
		p.header = nil
		if h.kind != pageIndex {
			passed += h.values
		}
	}
}

// discard passes over n bytes of the chunk.
func (p *chunkPages) discard(n int) error {
	if rest := p.rest(); int64(n) > rest {
		return fmt.Errorf("a page of %d B where the column chunk has %d B left", n, rest)
	}
	inWindow := min(n, len(p.unread))
	p.unread = p.unread[inWindow:]
	p.at += int64(n - inWindow)
	p.passed += int64(n)
	return nil
}

// seek passes over the chunk up to the page at an offset of the file.
func (p *chunkPages) seek(offset int64) error {
	p.header = nil
	from := p.at - int64(len(p.unread))
	if offset < from || offset > p.end {
		return fmt.Errorf("a page at offset %d, where the column chunk goes on at %d and ends at %d",
			offset, from, p.end)
	}
	return p.discard(int(offset - from))
}

// unused returns how many bytes of the chunk were passed over, or are left.
func (p *chunkPages) unused() int64 { return p.passed + p.rest() }

// rest returns how many bytes of the chunk are left.
func (p *chunkPages) rest() int64 { return int64(len(p.unread)) + p.end - p.at }

// skip implements chunkReader.
func (c *flatColumn) skip(rows, until int64) {
	c.skipped += rows
	c.until = until
}

// settle passes over the skipped rows.
func (c *flatColumn) settle() error {
	if c.until < c.rows {
		c.findPages()
	}
	if len(c.locations) > 0 {
		c.pages.until = c.pageEnd(c.until)
	}
	for c.skipped > 0 {
		var err error
		switch {
		case c.left > 0 && int64(c.left) <= c.skipped:
			c.skipped -= int64(c.left)
			c.row += int64(c.left)
			c.left = 0
		case c.left > 0:
			var passed arrow.Array
			if passed, err = c.readRows(int(min(c.skipped, discardRows)), nil); err == nil {
				c.skipped -= int64(passed.Len())
				passed.Release()
			}
		case c.pagesRead == 0 && c.coded:
			err = c.nextPage() // the dictionary, as a rule
		default:
			err = c.passPages()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// discardRows is how many rows are decoded at once to get to later ones of their page.
const discardRows = 1 << 16

// passPages passes over pages whose rows are all skipped, and begins the page behind them.
// Requires: no row of the current page is left.
func (c *flatColumn) passPages() error {
	if err := c.jump(); err != nil {
		return decode.Corrupt(err)
	}
	if c.expected != 0 {
		return c.needPage()
	}
	rows, err := c.pages.pass(int(min(c.skipped, 1<<31-1)))
	c.skipped -= int64(rows)
	c.row += int64(rows)
	if err == nil && c.skipped > 0 {
		return c.needPage()
	}
	if errors.Is(err, io.EOF) {
		err = errFewRows
	}
	return decode.Corrupt(err)
}

// findPages reads where the data pages are, if the chunk has an index that is worth it.
func (c *flatColumn) findPages() {
	if c.indexed != nil {
		c.locations, _, _ = readLocations(c.pages.file, c.indexed, c.rows) // pages can be found one by one, too
		c.indexed = nil
	}
}

// pageOf returns the index of the page that has a row, or -1.
// Requires: findPages has been called.
func (c *flatColumn) pageOf(row int64) int {
	return sort.Search(len(c.locations), func(i int) bool { return c.locations[i].row > row }) - 1
}

// pageEnd returns the offset behind the page that has the row before a row; 0 where that is not
// known.
func (c *flatColumn) pageEnd(row int64) int64 {
	i := c.pageOf(row - 1)
	if i < 0 {
		return 0
	}
	return c.locations[i].offset + c.locations[i].bytes
}

// jump passes over pages up to the first needed row's, if an index says where that is.
func (c *flatColumn) jump() error {
	c.findPages()
	i := c.pageOf(c.row + c.skipped)
	if i < 0 || c.locations[i].row <= c.row {
		return nil
	}
	page := c.locations[i]
	if err := c.pages.seek(page.offset); err != nil {
		return err
	}
	c.skipped -= page.row - c.row
	c.row = page.row
	c.expected = pageRows(c.locations, i, c.rows)
	return nil
}

// checkExpected compares a page with what the offset index says of it.
func (c *flatColumn) checkExpected(p page) error {
	want := c.expected
	c.expected = 0
	if want != 0 && (p.kind == pageDictionary || int64(p.values) != want) {
		return fmt.Errorf("a page of %d values where the offset index says %d rows", p.values, want)
	}
	return nil
}
