package json

import (
	"fmt"
	"slices"

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

	slots   []int32         // by column of the file: index in spans; -1 where it is not wanted, and last
	spans   [][]fields.Span // by wanted column, then row: the values of the rows that were split last
	follows []int32         // by column, last for none: the column whose key came next the last time
	seen    []uint32        // by wanted column: the serial number of the last row that had it; 0 for none
	serial  uint32          // of the row, not 0
}

func newSplitter(file *File, columns []int) *splitter {
	n := len(file.names)
	s := &splitter{
		scanner: scanner{lines: file.ReadsRanges()}, rows: rows{array: file.array}, file: file,
		slots: slices.Repeat([]int32{-1}, n+1), spans: make([][]fields.Span, len(columns)),
		follows: make([]int32, n+1), seen: make([]uint32, len(columns)),
	}
	for i := range n {
		s.follows[i] = int32((i + 1) % n)
	}
	for i, c := range columns {
		s.slots[c] = int32(i)
		s.spans[i] = make([]fields.Span, blockRows(len(columns)))
	}
	return s
}

// splitterBytes returns the memory of a splitter of a file with `columns` columns, of them `wanted` wanted.
func splitterBytes(columns, wanted int) int64 {
	const span, slice, column, seen = 8, 24, 8, 4
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
		end := s.object(q, rows)
		switch {
		case end-q > s.file.RowLimit:
			return p, rows, s.failureAt(q, s.file.LongRow())
		case end != failed:
			p, s.behind = end, true
		case s.short():
			return p, rows, nil
		default:
			return p, rows, s.failure()
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

// object finds the values of the object at p.
func (s *splitter) object(p, row int) int {
	text, start := s.text, uint32(p)
	if s.serial++; s.serial == 0 {
		s.serial = 1
		clear(s.seen)
	}
	missing := len(s.spans)
	if p = s.space(p + 1); p == failed {
		return failed
	}
	for column := int32(len(s.follows) - 1); text[p] != '}'; {
		previous := column
		column = s.follows[previous]
		if key := &s.file.keys[column]; key.begins(text, p) {
			p += key.bytes
			if text[p] <= ' ' {
				p = s.space(p)
			}
		} else {
			p, column = s.key(p, previous)
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
		default:
			p, span = s.other(p)
		}
		if p == failed {
			return failed
		}
		if slot := s.slots[column]; slot >= 0 {
			if s.seen[slot] == s.serial {
				return s.fail(at, fmt.Errorf("key %q is twice in an object", s.file.names[column]))
			}
			s.seen[slot] = s.serial
			s.spans[slot][row] = span
			missing--
		}
		if text[p] == ',' && text[p+1] == '"' {
			p++
		} else if p = s.member(p); p == failed {
			return failed
		}
	}
	if missing > 0 {
		s.fillMissing(row, start)
	}
	return p + 1
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
	for slot, serial := range s.seen {
		if serial != s.serial {
			s.spans[slot][row] = fields.Span{Start: start, End: start}
		}
	}
}

// key looks up the key at p, and returns where its value is.
func (s *splitter) key(p int, previous int32) (value int, column int32) {
	if s.text[p] != '"' {
		return s.fail(p, errKey), 0
	}
	end := s.str(p + 1)
	if end == failed {
		return failed, 0
	}
	column, known := s.file.columns[string(s.text[p+1:end])]
	if s.escaped {
		column, known = s.file.columns[nameOf(s.text[p+1:end], true)]
	}
	switch {
	case known:
		s.follows[previous] = column
	case s.file.opt.Names == nil:
		return s.fail(p, unknownKey(nameOf(s.text[p+1:end], s.escaped))), 0
	default:
		column = int32(len(s.follows) - 1)
	}
	return s.colon(end + 1), column
}
