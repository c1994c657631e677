package csv

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/mpga/mpga/engine/scan/internal/fields"
	"github.com/mpga/mpga/engine/scan/internal/textfile"
)

// dialect is how text is cut into rows and fields: RFC 4180 with any delimiter and quote, and lines
// that end in LF or CRLF. A quote opens a field only at the field's start. A quote within an
// unquoted field is refused: then a newline is within quotes if and only if an odd number of quotes
// precedes the newline, so that a file can be read from its middle.
type dialect struct {
	delimiter byte
	quote     byte
	noQuote   bool
	special   [256]bool // delimiter, newline, quote
}

func newDialect(o *Options, delimiter byte) *dialect {
	d := &dialect{delimiter: delimiter, quote: o.Quote, noQuote: o.NoQuote}
	d.special[delimiter] = true
	d.special['\n'] = true
	d.special[o.Quote] = d.special[o.Quote] || !o.NoQuote
	return d
}

// span is a field of a row; its escapes are doubled quotes.
type span = fields.Span

// undouble is the fields.Unescape of the dialect.
func (d *dialect) undouble(dst, field []byte) []byte {
	for i := 0; i < len(field); i++ {
		dst = append(dst, field[i])
		if field[i] == d.quote {
			i++
		}
	}
	return dst
}

// fieldEnd is what follows a field.
type fieldEnd uint8

const (
	endField   fieldEnd = iota // a delimiter
	endRow                     // a newline
	endBuffer                  // the buffer ends before the field does
	errBare                    // a quote within an unquoted field
	errTrailer                 // something between the closing quote and the delimiter
)

// field reads the field at buf[p:], and returns where the next one starts.
func (d *dialect) field(buf []byte, p int) (s span, next int, end fieldEnd) {
	if p < len(buf) && buf[p] == d.quote && !d.noQuote {
		return d.quotedField(buf, p)
	}
	q := p
	for q < len(buf) && !d.special[buf[q]] {
		q++
	}
	if q == len(buf) {
		return span{}, p, endBuffer
	}
	switch buf[q] {
	case d.delimiter:
		return span{Start: uint32(p), End: uint32(q)}, q + 1, endField
	case '\n':
		stop := q
		if stop > p && buf[stop-1] == '\r' {
			stop--
		}
		return span{Start: uint32(p), End: uint32(stop)}, q + 1, endRow
	}
	return span{Start: uint32(p), End: uint32(q)}, q, errBare
}

func (d *dialect) quotedField(buf []byte, p int) (s span, next int, end fieldEnd) {
	flags := uint32(fields.Quoted)
	q := p + 1
	for {
		i := bytes.IndexByte(buf[q:], d.quote)
		if i < 0 || q+i+1 >= len(buf) {
			return span{}, p, endBuffer
		}
		q += i
		if buf[q+1] != d.quote {
			break
		}
		flags |= fields.Escaped
		q += 2
	}
	s = span{Start: uint32(p + 1), End: uint32(q) | flags}
	q++
	switch c := buf[q]; {
	case c == d.delimiter:
		return s, q + 1, endField
	case c == '\n':
		return s, q + 1, endRow
	case c == '\r' && q+1 == len(buf):
		return span{}, p, endBuffer
	case c == '\r' && buf[q+1] == '\n':
		return s, q + 2, endRow
	}
	return s, q, errTrailer
}

// blankLine returns the length of the empty line at buf[p:], or 0.
func blankLine(buf []byte, p int) int {
	switch {
	case buf[p] == '\n':
		return 1
	case buf[p] == '\r' && p+1 < len(buf) && buf[p+1] == '\n':
		return 2
	}
	return 0
}

// rowSplitter finds the fields of the wanted columns in rows of a known width.
type rowSplitter struct {
	*dialect
	blocks *blockSplitter
	width  int      // fields of a row
	slots  []int32  // by field of a row: index in spans; -1 where the column is not wanted
	spans  [][]span // by wanted column, then row: the fields of the rows that were split last
	slow   int      // rows that are cut one by one at most
}

// splitterBytes returns the memory of a splitter of rows of a width, for some wanted columns.
func splitterBytes(width, columns int) int64 {
	const span, slice, slot = 8, 24, 4
	return blockSplitterBytes + slot*int64(width) + (slice+span*int64(spanRows(width, columns)))*int64(columns)
}

// spanRows is how many rows of a width are split at once.
func spanRows(width, columns int) int { return max(blockTextBytes/width, slowRowsOf(columns)) }

// slowRowsOf is how many rows are cut one by one, for some wanted columns.
func slowRowsOf(columns int) int {
	const spansMax = 1 << 17 // 1 MiB
	return max(min(slowRows, spansMax/max(columns, 1)), 1)
}

func newRowSplitter(d *dialect, width int, columns []int) *rowSplitter {
	s := &rowSplitter{
		dialect: d, blocks: newBlockSplitter(d), width: width,
		slots: slices.Repeat([]int32{-1}, width), spans: make([][]span, len(columns)), slow: slowRowsOf(len(columns)),
	}
	for i, c := range columns {
		s.slots[c] = int32(i)
		s.spans[i] = make([]span, spanRows(width, len(columns)))
	}
	return s
}

// Split implements textfile.Splitter.
func (s *rowSplitter) Split(buf []byte, p, limit, maxRows int) (next, rows int, err error) {
	switch {
	case p >= limit:
		return p, 0, io.EOF
	case p >= len(buf):
		return p, 0, nil
	}
	if next, rows = s.splitBlock(buf, p, limit, maxRows); rows > 0 {
		return next, rows, nil
	}
	next, rows, err = s.splitRows(buf, p, limit, min(maxRows, s.slow))
	if rows == 0 && err == nil && next >= limit {
		err = io.EOF
	}
	return next, rows, err
}

// Fields implements textfile.Splitter.
func (s *rowSplitter) Fields(column int) []span { return s.spans[column] }

// End implements textfile.Splitter.
func (s *rowSplitter) End(buf []byte, p int) error {
	if p < len(buf) {
		return &textfile.Error{At: p, Reason: errOpenQuote}
	}
	return nil
}

// RowStart implements textfile.Splitter.
func (s *rowSplitter) RowStart(buf []byte, p int) int {
	for p < len(buf) && s.width > 1 && blankLine(buf, p) > 0 {
		p += blankLine(buf, p)
	}
	return p
}

// splitBlock is Split for a block of regular rows; it returns none for another.
func (s *rowSplitter) splitBlock(buf []byte, p, limit, maxRows int) (next, rows int) {
	b := s.blocks
	rows, q := b.cut(buf, p, s.width)
	for rows = min(rows, maxRows); rows > 0 && int(b.starts[(rows-1)*s.width]) >= limit; {
		rows--
	}
	for column, slot := range s.slots {
		if slot >= 0 {
			b.fields(s.spans[slot][:rows], buf, column, s.width, q)
		}
	}
	return int(b.starts[rows*s.width]), rows
}

// splitRows is Split row by row. Empty lines are no rows, unless rows have one column: then an
// empty line is a row whose field is NULL or empty.
func (s *rowSplitter) splitRows(buf []byte, p, limit, maxRows int) (next, rows int, err error) {
	for rows < maxRows && p < limit && p < len(buf) {
		if n := blankLine(buf, p); n > 0 && s.width > 1 {
			p += n
			continue
		}
		q, whole, err := s.row(buf, p, rows)
		if err != nil {
			return p, rows, err
		}
		if !whole {
			break
		}
		p = q
		rows++
	}
	return p, rows, nil
}

// row reads one row, if the buffer has all of it.
func (s *rowSplitter) row(buf []byte, p, row int) (next int, whole bool, err error) {
	start := p
	for i := 0; ; i++ {
		field, q, end := s.field(buf, p)
		switch {
		case end == endBuffer:
			return start, false, nil
		case end > endBuffer:
			return start, false, &textfile.Error{At: q, Reason: s.quoteError(end)}
		case i == s.width:
			return start, false, &textfile.Error{At: start, Reason: fmt.Errorf("more than the %d fields of the rows before", s.width)}
		}
		if slot := s.slots[i]; slot >= 0 {
			s.spans[slot][row] = field
		}
		p = q
		if end == endRow {
			if i+1 < s.width {
				err := fmt.Errorf("%d fields, where the rows before have %d", i+1, s.width)
				return start, false, &textfile.Error{At: start, Reason: err}
			}
			return p, true, nil
		}
	}
}

func (d *dialect) quoteError(end fieldEnd) error {
	if end == errBare {
		return fmt.Errorf("a quote (%c) within a field that does not start with one; "+
			"double it and quote the field, "+
			"or read the file with another quote or none (--quote, CSV.Quote, CSV.NoQuote)", d.quote)
	}
	return fmt.Errorf("text between a closing quote (%c) and the next delimiter (%q); "+
		"a quote within a quoted field must be doubled", d.quote, d.delimiter)
}

var errOpenQuote = errors.New("the file ends within a quoted field: a quote is not closed")
