package json

import (
	"github.com/mpga/mpga/engine/scan/internal/fields"
)

const (
	// blockTextBytes is about the text of the rows that are split at once: text and spans stay in a
	// core's L1 and L2 caches until the fields have been converted.
	blockTextBytes = 32 << 10

	// blockRowsMax is how many rows are split at once.
	blockRowsMax = 1024
)

// blockRows is how many rows are split at once, for some wanted columns.
func blockRows(columns int) int {
	const spansMax = 1 << 17 // 1 MiB
	return max(min(blockRowsMax, spansMax/max(columns, 1)), 1)
}

// splitter finds the values of the wanted columns in objects.
type splitter struct {
	scanner
	rows
	file *File

	row     *wanted
	spans   [][]fields.Span // by wanted column, then row: the values of the rows that were split last
	seen    []uint32        // by wanted column, then by object: the serial of the last row that had it; 0 for none
	serial  uint32          // of the row, not 0
	missing int             // wanted columns that the row has not had so far
}

func newSplitter(file *File, columns []int) *splitter {
	s := &splitter{
		scanner: scanner{lines: file.ReadsRanges()}, rows: rows{array: file.array}, file: file,
		spans: make([][]fields.Span, len(columns)),
	}
	slots := make(map[int32]int32, len(columns))
	for i, c := range columns {
		slots[int32(c)] = int32(i)
		s.spans[i] = make([]fields.Span, blockRows(len(columns)))
	}
	seen := len(columns)
	s.row = file.row.want(slots, &seen)
	s.seen = make([]uint32, seen)
	return s
}

// splitterBytes returns the memory of a splitter of a file with `columns` columns, of them `wanted` wanted.
func splitterBytes(columns, wanted int) int64 {
	const span, slice, column, seen = 8, 24, 16, 4
	return column*int64(columns+1) + (slice+seen+span*int64(blockRows(wanted)))*int64(wanted)
}

// Split implements textfile.Splitter.
func (s *splitter) Split(buf []byte, p, limit, rowsMax int) (next, rows int, err error) {
	if p >= len(buf) {
		return p, 0, nil
	}
	s.open(buf)
	s.limit = limit
	rowsMax = min(rowsMax, blockRows(len(s.spans)))
	for from := p; rows < rowsMax && p-from < blockTextBytes; rows++ {
		q, err := s.next(&s.scanner, p)
		if err != nil || q == failed {
			return p, rows, err
		}
		end := s.rowAt(q, rows)
		switch {
		case end-q > s.file.RowLimit:
			return p, rows, s.failureAt(q, s.file.LongRow())
		case end != failed:
			p, s.behind = end, true
		case s.short():
			return p, rows, nil
		default:
			return p, rows, s.failureIn(q)
		}
	}
	return p, rows, nil
}

// Fields implements textfile.Splitter.
func (s *splitter) Fields(column int) []fields.Span { return s.spans[column] }

// End implements textfile.Splitter. That the array of a file ends has been seen when it was opened.
func (s *splitter) End(buf []byte, p int) error {
	s.open(buf)
	return s.end(&s.scanner, p, !s.file.ReadsRanges())
}

// RowStart implements textfile.Splitter.
func (s *splitter) RowStart(buf []byte, p int) int {
	for p < len(buf) && buf[p] != '{' {
		p++
	}
	return p
}

// rowAt finds the values of the row at p.
func (s *splitter) rowAt(p, row int) (end int) {
	if s.serial++; s.serial == 0 {
		s.serial = 1
		clear(s.seen)
	}
	s.missing, s.depth = len(s.spans), 0
	if end = s.object(s.row, p, row); end != failed && s.missing > 0 {
		s.fillMissing(row, uint32(p))
	}
	return end
}

// object finds the values in the object at p.
func (s *splitter) object(of *wanted, p, row int) int {
	text, follows := s.text, of.follows
	if p = s.space(p + 1); p == failed {
		return failed
	}
	for member := int32(len(follows) - 1); text[p] != '}'; {
		previous := member
		member = follows[previous]
		if key := &of.keys[member]; key.begins(text, p) {
			p += key.bytes
			if text[p] <= ' ' {
				p = s.space(p)
			}
		} else {
			p, member = s.key(&of.keySet, follows, p, previous)
		}
		if p == failed {
			return failed
		}
		at := p
		var span fields.Span
		switch c := text[p]; {
		case c == '"':
			if p = s.str(p + 1); p == failed {
				return failed
			}
			span = fields.Span{Start: uint32(at + 1), End: uint32(p) | fields.Quoted}
			if s.escaped {
				span.End |= fields.Escaped
			}
			p++
		case c-'0' <= 9:
			p = s.number(p)
			span = fields.Span{Start: uint32(at), End: uint32(p)}
		case c == '{' && of.inner[member] != nil:
			p = s.innerObject(of, member, p, row)
			span = fields.Span{Start: uint32(at), End: uint32(p)}
		default:
			p, span = s.other(p)
		}
		if p == failed {
			return failed
		}
		if slot := of.slots[member]; slot >= 0 {
			if s.seen[slot] == s.serial {
				return s.fail(at, of.twice(member))
			}
			s.seen[slot] = s.serial
			s.spans[slot][row] = span
			s.missing--
		} else if slot == onlyInner && text[at] != '{' && span.Start != span.End {
			return s.fail(at, notObject(of.path+of.names[member]))
		}
		if text[p] == ',' && text[p+1] == '"' {
			p++
		} else if p = s.member(p); p == failed {
			return failed
		}
	}
	return p + 1
}

// innerObject finds the values in the object at p, which is a member of another.
func (s *splitter) innerObject(of *wanted, member int32, p, row int) int {
	inner := of.inner[member]
	if s.seen[inner.serial] == s.serial {
		return s.fail(p, of.twice(member))
	}
	s.seen[inner.serial] = s.serial
	s.depth++
	p = s.object(inner, p, row)
	s.depth--
	return p
}

// other finds a value that is neither a string nor begins with a digit. That of NULL is empty, and
// without quotes.
func (s *splitter) other(p int) (end int, span fields.Span) {
	end, k := s.value(p)
	switch {
	case end == failed:
	case k == kindNull:
		span = fields.Span{Start: uint32(p), End: uint32(p)}
	default:
		span = fields.Span{Start: uint32(p), End: uint32(end)}
	}
	return end, span
}

// fillMissing makes the columns NULL that a row does not have. Their spans are where the row begins,
// as the spans of a column must ascend.
func (s *splitter) fillMissing(row int, start uint32) {
	for slot := range s.spans {
		if s.seen[slot] != s.serial {
			s.spans[slot][row] = fields.Span{Start: start, End: start}
		}
	}
}
