package csv

import (
	"bytes"
	"math/bits"

	"github.com/mpga/mpga/engine/scan/internal/fields"
)

const (
	// blockTextBytes is the text of a block: the text, masks, positions and fields of a block stay
	// in a core's L2 cache until the fields have been converted.
	blockTextBytes = 32 << 10

	// slowRows is how many rows are cut one by one where a block is not regular.
	slowRows = 256

	// blockSplitterBytes is the memory of a blockSplitter: masks, bits and positions.
	blockSplitterBytes = 8 * blockTextBytes
)

// blockSplitter cuts blocks of regular rows: each row has all its fields, and quotes only where a
// field begins and ends, or doubled. It looks at no single character. Other rows are left to
// rowSplitter.
type blockSplitter struct {
	marks  marks
	masks  []textMask // of the block
	set    []uint64   // by mask: the delimiters and newlines that are not within quotes
	starts []uint32   // of fields, in the buffer: of the first field, then behind each bit of set
}

func newBlockSplitter(d *dialect) *blockSplitter {
	m := marks{d.delimiter, d.quote}
	if d.noQuote {
		m.quote = '\n'
	}
	return &blockSplitter{
		marks:  m,
		masks:  make([]textMask, blockTextBytes/maskBytes),
		set:    make([]uint64, blockTextBytes/maskBytes),
		starts: make([]uint32, 1+blockTextBytes+positionsSlack),
	}
}

// quoting says which quotes a block has.
type quoting uint8

const (
	quotesNone    quoting = iota
	quotesAround          // around fields
	quotesDoubled         // and doubled within some
)

// cut finds the fields of the rows at buf[p:], which have width fields each. It returns the number
// of rows: 0 where the block is not regular.
func (b *blockSplitter) cut(buf []byte, p, width int) (rows int, q quoting) {
	text := buf[p:min(len(buf), p+blockTextBytes)]
	n := len(text) / maskBytes
	maskText(b.masks[:n], text, b.marks)
	newlines, q, ok := b.separate(buf, p, n)
	if !ok {
		return 0, q
	}
	b.starts[0] = uint32(p)
	separators := writePositions(b.starts[1:], b.set[:n], uint32(p))
	if newlines*width > separators {
		return 0, q
	}
	// There are as many newlines as rows: where each row ends with a newline, no newline is
	// elsewhere.
	for i := width; i <= newlines*width; i += width {
		if buf[b.starts[i]-1] != '\n' {
			return 0, q
		}
	}
	return newlines, q
}

// separate sets the bits of the delimiters and newlines that are not within quotes, and counts
// these newlines. ok is false where a quote is where none may be.
func (b *blockSplitter) separate(buf []byte, p, n int) (newlines int, q quoting, ok bool) {
	masks, set := b.masks[:n], b.set[:n]
	quotes := uint64(0)
	for i := range masks {
		m := &masks[i]
		quotes |= m.quote
		set[i] = m.delimiter | m.newline
		newlines += bits.OnesCount64(m.newline)
	}
	if quotes == 0 || b.marks.quote == '\n' {
		return newlines, quotesNone, true
	}
	newlines = 0
	var (
		within  uint64 // all bits if the byte before is within quotes
		closed  uint64 // 1 if the byte before closes quotes
		opens   uint64 = 1
		doubled uint64
	)
	for i := range masks {
		m := &masks[i]
		inside := insideQuotes(m.quote) ^ within
		opening, closing := m.quote&inside, m.quote&^inside
		set[i] &^= inside
		newlines += bits.OnesCount64(m.newline &^ inside)
		// Quotes are opened behind a separator, or, doubled, behind quotes that were closed.
		behind := closing<<1 | closed
		if opening&^(set[i]<<1|opens|behind) != 0 {
			return 0, quotesAround, false
		}
		doubled |= opening & behind
		// Closed quotes are followed by a separator, by CRLF, or by a quote.
		for rest := behind &^ (set[i] | opening); rest != 0; rest &= rest - 1 {
			at := p + i*maskBytes + bits.TrailingZeros64(rest)
			if at+1 >= len(buf) || buf[at] != '\r' || buf[at+1] != '\n' {
				return 0, quotesAround, false
			}
		}
		within = uint64(int64(inside) >> 63)
		closed = closing >> 63
		opens = set[i] >> 63
	}
	if doubled != 0 {
		return newlines, quotesDoubled, true
	}
	return newlines, quotesAround, true
}

// endEmpty says whether the last field of each of the rows that were cut last is empty.
func (b *blockSplitter) endEmpty(buf []byte, rows, width int) bool {
	for i := width; i <= rows*width; i += width {
		from, to := b.starts[i-1], b.starts[i]-1
		if from != to && (to-from > 1 || buf[from] != '\r') {
			return false
		}
	}
	return true
}

// fields writes the fields of one column, for the rows that were cut last.
func (b *blockSplitter) fields(out []span, buf []byte, column, width int, q quoting) {
	i := column
	for row := range out {
		out[row] = span{Start: b.starts[i], End: b.starts[i+1] - 1}
		i += width
	}
	if column == width-1 {
		for row := range out {
			if s := &out[row]; s.End > s.Start && buf[s.End-1] == '\r' {
				s.End--
			}
		}
	}
	if q == quotesNone {
		return
	}
	for row := range out {
		s := &out[row]
		if s.Start == s.End || buf[s.Start] != b.marks.quote {
			continue
		}
		s.Start++
		s.End--
		flags := uint32(fields.Quoted)
		if q == quotesDoubled && bytes.IndexByte(buf[s.Start:s.End], b.marks.quote) >= 0 {
			flags |= fields.Escaped
		}
		s.End |= flags
	}
}
