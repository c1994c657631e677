package csv

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/mpga/mpga/engine/scan/internal/fields"
	"github.com/mpga/mpga/engine/scan/internal/textfile"
	"github.com/mpga/mpga/internal/knob"
)

// dialect is how text is cut into rows and fields: RFC 4180 with any delimiter and quote, and lines
// that end in LF or CRLF. A quote opens a field only at the field's start or behind spaces there, and
// spaces may follow the closing quote. A quote within an unquoted field is refused: then a newline is
// within quotes if and only if an odd number of quotes precedes the newline, so that a file can be read
// from its middle. Where there are comments or escapes, or rows with errors are left out, steps tells
// instead.
type dialect struct {
	delimiter byte
	quote     byte
	noQuote   bool
	escape    byte        // within quotes, before a character that stands for itself; 0 where quotes are doubled
	comment   byte        // begins a comment; 0 where there are none
	padded    bool        // fields that a row does not have are NULL
	lenient   bool        // rows with errors are left out
	trailing  bool        // a delimiter ends each row, behind which there is nothing
	special   [256]bool   // delimiter, newline, quote, comment
	steps     *stateTable // nil where the number of quotes says what is within quotes
}

func newDialect(o *Options, delimiter byte) *dialect {
	d := &dialect{
		delimiter: delimiter, quote: o.Quote, noQuote: o.NoQuote,
		comment: o.Comment, padded: o.NullPadding, lenient: o.IgnoreErrors,
	}
	d.special[delimiter] = true
	d.special['\n'] = true
	d.special[o.Quote] = d.special[o.Quote] || !o.NoQuote
	if o.Comment != 0 {
		d.special[o.Comment] = true
	}
	if !o.NoQuote && o.Escape != o.Quote {
		d.escape = o.Escape
	}
	if o.Comment != 0 || o.IgnoreErrors || d.escape != 0 {
		d.steps = newStateTable(d)
	}
	return d
}

// span is a field of a row; its escapes are doubled quotes.
type span = fields.Span

// unescape is the fields.Unescape of the dialect.
func (d *dialect) unescape(dst, field []byte) []byte {
	for i := 0; i < len(field); i++ {
		if d.escape != 0 {
			if field[i] == d.escape {
				i++ // not the last: an escape has a character behind it
			}
			dst = append(dst, field[i])
			continue
		}
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
	q := p
	if !d.noQuote {
		if q = d.skipSpaces(buf, p); q < len(buf) && buf[q] == d.quote {
			return d.quotedField(buf, p, q)
		}
	}
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
	s = span{Start: uint32(p), End: uint32(q)}
	if d.comment != 0 && buf[q] == d.comment {
		return d.commented(s, buf, p, q)
	}
	return s, q, errBare
}

// commented ends a row whose last field began at p, by the comment at q.
func (d *dialect) commented(s span, buf []byte, p, q int) (_ span, next int, end fieldEnd) {
	next = lineEnd(buf, q)
	if next < 0 {
		return span{}, p, endBuffer
	}
	return s, next, endRow
}

// lineEnd returns where the line behind that of buf[p] begins, or -1 where the buffer ends before.
func lineEnd(buf []byte, p int) int {
	i := bytes.IndexByte(buf[p:], '\n')
	if i < 0 {
		return -1
	}
	return p + i + 1
}

// closing returns the place of the quote that closes the quotes opened before buf[q], or -1 where the buffer ends
// before the byte behind that quote; and the flags of the field.
func (d *dialect) closing(buf []byte, q int) (at int, flags uint32) {
	flags = fields.Quoted
	for q < len(buf) {
		i := bytes.IndexByte(buf[q:], d.quote)
		if d.escape != 0 {
			if e := bytes.IndexByte(buf[q:][:max(i, 0)], d.escape); e >= 0 {
				flags |= fields.Escaped
				q += e + 2
				continue
			}
		}
		if i < 0 || q+i+1 >= len(buf) {
			return -1, flags
		}
		if q += i; d.escape != 0 || buf[q+1] != d.quote {
			return q, flags
		}
		flags |= fields.Escaped
		q += 2
	}
	return -1, flags
}

// skipSpaces returns the place of the first byte at or behind buf[p] that is no space, or is a delimiter.
func (d *dialect) skipSpaces(buf []byte, p int) int {
	for p < len(buf) && buf[p] == ' ' && !d.special[' '] {
		p++
	}
	return p
}

// quotedField reads the field at buf[p:] whose quotes are opened at buf[open].
func (d *dialect) quotedField(buf []byte, p, open int) (s span, next int, end fieldEnd) {
	q, flags := d.closing(buf, open+1)
	if q < 0 {
		return span{}, p, endBuffer
	}
	s = span{Start: uint32(open + 1), End: uint32(q) | flags}
	if q = d.skipSpaces(buf, q+1); q == len(buf) {
		return span{}, p, endBuffer
	}
	switch c := buf[q]; {
	case c == d.delimiter:
		return s, q + 1, endField
	case c == '\n':
		return s, q + 1, endRow
	case c == '\r' && q+1 == len(buf):
		return span{}, p, endBuffer
	case c == '\r' && buf[q+1] == '\n':
		return s, q + 2, endRow
	case d.comment != 0 && c == d.comment:
		return d.commented(s, buf, p, q)
	}
	return s, q, errTrailer
}

// rowEnd returns where the row behind that at buf[p:] begins, or -1 where the buffer ends before. A
// row with a quote where none may be ends with the line of the quote.
func (d *dialect) rowEnd(buf []byte, p int) int {
	for {
		_, next, end := d.field(buf, p)
		switch end {
		case endField:
			p = next
		case endRow:
			return next
		case endBuffer:
			return -1
		default:
			return lineEnd(buf, next)
		}
	}
}

// commentLine returns the length of the line at buf[p:] if a comment is all that it has; 0 of
// another line, and -1 where the buffer ends before the comment does.
func (d *dialect) commentLine(buf []byte, p int) int {
	if d.comment == 0 || buf[p] != d.comment {
		return 0
	}
	if end := lineEnd(buf, p); end > 0 {
		return end - p
	}
	return -1
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
	starts []uint32 // by row: where it begins; nil unless rows with errors are left out
	slow   int      // rows that are cut one by one at most
}

// splitterBytes returns the memory of a splitter of rows of a width, for some wanted columns.
func splitterBytes(width, columns int) int64 {
	const span, slice, slot, start = 8, 24, 4, 4
	rows := int64(spanRows(width, columns))
	return blockSplitterBytes + slot*int64(width) + (slice+span*rows)*int64(columns) + start*rows
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
	if d.lenient {
		s.starts = make([]uint32, spanRows(width, len(columns)))
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
	if block := buf[p:min(len(buf), p+blockTextBytes)]; !s.has(block, s.comment) && !s.has(block, s.escape) {
		if next, rows = s.splitBlock(buf, p, limit, maxRows); rows > 0 {
			return next, rows, nil
		}
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

// RowStart implements textfile.Splitter: it passes over lines that are no rows.
func (s *rowSplitter) RowStart(buf []byte, p int) int {
	for p < len(buf) {
		n := s.commentLine(buf, p)
		if s.width > 1 {
			n = max(n, blankLine(buf, p))
		}
		if n <= 0 {
			break
		}
		p += n
	}
	return p
}

// RowEnd implements textfile.Lenient.
func (s *rowSplitter) RowEnd(buf []byte, p int) int { return s.rowEnd(buf, p) }

// RowAt implements textfile.Lenient.
func (s *rowSplitter) RowAt(row int) int { return int(s.starts[row]) }

// Move implements textfile.Lenient.
func (s *rowSplitter) Move(to, from int) {
	for _, spans := range s.spans {
		spans[to] = spans[from]
	}
	s.starts[to] = s.starts[from]
}

// splitBlock is Split for a block of regular rows; it returns none for another.
func (s *rowSplitter) splitBlock(buf []byte, p, limit, maxRows int) (next, rows int) {
	b := s.blocks
	rows, q := b.cut(buf, p, s.width)
	if s.escape != 0 && q == quotesDoubled {
		return p, 0
	}
	if s.trailing && !b.endEmpty(buf, rows, s.width) {
		return p, 0
	}
	for rows = min(rows, maxRows); rows > 0 && int(b.starts[(rows-1)*s.width]) >= limit; {
		rows--
	}
	for column, slot := range s.slots {
		if slot >= 0 {
			b.fields(s.spans[slot][:rows], buf, column, s.width, q)
		}
	}
	if s.starts != nil {
		for row := range rows {
			s.starts[row] = b.starts[row*s.width]
		}
	}
	return int(b.starts[rows*s.width]), rows
}

// splitRows is Split row by row. Empty lines are no rows, unless rows have one column: then an
// empty line is a row whose field is NULL or empty.
func (s *rowSplitter) splitRows(buf []byte, p, limit, maxRows int) (next, rows int, err error) {
	for rows < maxRows {
		p = s.RowStart(buf, p)
		if p >= min(limit, len(buf)) || s.commentLine(buf, p) < 0 {
			break
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
			return s.broken(buf, start, q, s.quoteError(end))
		case i == s.width, s.trailing && i+1 == s.width && end == endRow && field.End != field.Start:
			return s.broken(buf, start, start, fmt.Errorf("more than the %d fields of the rows before", s.columns()))
		}
		if slot := s.slots[i]; slot >= 0 {
			s.spans[slot][row] = field
		}
		p = q
		if end != endRow {
			continue
		}
		if i+1 < s.width && !s.padded {
			return s.broken(buf, start, start, fmt.Errorf("%d fields, where the rows before have %d", i+1, s.width))
		}
		s.pad(i+1, row, field.End&fields.EndMask)
		if s.starts != nil {
			s.starts[row] = uint32(start)
		}
		return p, true, nil
	}
}

// has says whether a text has a mark; 0 is none.
func (s *rowSplitter) has(text []byte, mark byte) bool {
	return mark != 0 && bytes.IndexByte(text, mark) >= 0
}

// columns returns how many fields of a row are values.
func (s *rowSplitter) columns() int {
	if s.trailing {
		return s.width - 1
	}
	return s.width
}

// pad notes that a row has no fields from one on; the row ends at an offset.
func (s *rowSplitter) pad(from, row int, end uint32) {
	for _, slot := range s.slots[from:] {
		if slot >= 0 {
			s.spans[slot][row] = fields.MissingAt(end)
		}
	}
}

// broken returns the error of a row that starts at an offset. Where such rows are left out, the
// error is returned once the buffer has the whole row.
func (s *rowSplitter) broken(buf []byte, start, at int, reason error) (next int, whole bool, err error) {
	end := 0
	if s.lenient {
		if end = s.rowEnd(buf, start); end < 0 {
			return start, false, nil
		}
	}
	return start, false, &textfile.Error{At: at, Reason: reason, Next: end}
}

func (d *dialect) quoteError(end fieldEnd) error {
	if end == errBare {
		return knob.Errorf("a quote (%c) within a field that does not start with one; "+
			"double it and quote the field, "+
			"or read the file with another quote or none (%s)", d.quote, knob.Name("dataset.CSV.Quote"))
	}
	return fmt.Errorf("text between a closing quote (%c) and the next delimiter (%q); "+
		"a quote within a quoted field must be doubled", d.quote, d.delimiter)
}

var errOpenQuote = errors.New("the file ends within a quoted field: a quote is not closed")
