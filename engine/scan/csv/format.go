package csv

import (
	"bytes"
	"fmt"
	"math"
	"unsafe"

	"github.com/mpga/mpga/internal/digits"
	"github.com/mpga/mpga/internal/timeformat"
)

// valueFormat says how the values of a column are written. The zero value is of plain numbers and
// ISO dates.
type valueFormat struct {
	decimal   byte               // before a fraction; '.' or 0 where it is plain
	thousands byte               // between digits, to be passed over; 0 for none
	times     *timeformat.Format // of a date or a timestamp; nil of ISO's
}

// plainNumbers says whether numbers are as Go and C write them.
func (f *valueFormat) plainNumbers() bool { return f.thousands == 0 && f.decimal != ',' }

// plain returns a number as Go and C write it, in scratch where it is written otherwise. ok is
// false where it has a point that is no part of it.
func (f *valueFormat) plain(b []byte, scratch *[]byte) (number []byte, ok bool) {
	if f.plainNumbers() {
		return b, true
	}
	out := (*scratch)[:0]
	for _, c := range b {
		switch {
		case c == f.decimal:
			out = append(out, '.')
		case c == f.thousands:
		case c == '.':
			return nil, false
		default:
			out = append(out, c)
		}
	}
	*scratch = out
	return out, true
}

// localized returns a parser of numbers that are written by the format.
func localized[T any](f *valueFormat, parse func([]byte) (T, bool)) func([]byte) (T, bool) {
	if f.plainNumbers() {
		return parse
	}
	var scratch []byte
	return func(b []byte) (value T, ok bool) {
		if b, ok = f.plain(b, &scratch); !ok {
			return value, false
		}
		return parse(b)
	}
}

// grouped says whether the thousands of a number are where people put them: three digits behind the
// last separator, two or three between two separators. What has its separators elsewhere is perhaps
// a date, or the number of a version, and is not taken for a number unless a type is given.
func (f *valueFormat) grouped(b []byte) bool {
	if f.thousands == 0 {
		return true
	}
	whole, fraction, _ := bytes.Cut(b, []byte{f.decimal})
	groups := bytes.Split(whole, []byte{f.thousands})
	for i, g := range groups {
		switch {
		case i == 0 && len(groups) > 1 && len(g) == 0:
			return false
		case i > 0 && i == len(groups)-1 && len(g) != 3, i > 0 && i < len(groups)-1 && len(g) != 2 && len(g) != 3:
			return false
		}
	}
	return bytes.IndexByte(fraction, f.thousands) < 0
}

// readTime reads a date or a timestamp by the format, or as ISO has it where there is none.
func (f *valueFormat) readTime(b []byte) (t instant, ok bool) {
	if f.times == nil {
		return parseTimestamp(b)
	}
	m, err := f.times.Read(unsafe.String(unsafe.SliceData(b), len(b)))
	if err != nil {
		return t, false
	}
	days := m.Days + digits.FloorDiv(m.Nanos, nanosPerDay)
	return instant{int32(days), m.Nanos - digits.FloorDiv(m.Nanos, nanosPerDay)*nanosPerDay, f.times.Zoned()}, true
}

// readDate is readTime for a date, behind which no time of day stands.
func (f *valueFormat) readDate(b []byte) (days int32, ok bool) {
	if f.times == nil {
		return parseDate(b)
	}
	t, ok := f.readTime(b)
	return t.days, ok
}

// String says how a column's values are to be written, for errors; "" for the plain way.
func (f *valueFormat) String() string {
	switch {
	case f.times != nil:
		return fmt.Sprintf(" by the format %q (--date-format, --timestamp-format)", f.times.Text)
	case f.plainNumbers():
		return ""
	case f.thousands == 0:
		return fmt.Sprintf(" with the decimal separator %q", f.decimal)
	}
	return fmt.Sprintf(" with the decimal separator %q and thousands apart by %q", f.decimal, f.thousands)
}

// readerOf returns a format to read times by, or nil where the text is empty.
func readerOf(text string) (*timeformat.Format, error) {
	if text == "" {
		return nil, nil
	}
	return timeformat.Reader(text)
}

const _ = uint(math.MaxInt32 - 9999*366) // the days of all years that formats have fit an int32
