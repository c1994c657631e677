package fields

import (
	"bytes"
	"fmt"
	"math"
	"unsafe"

	"github.com/mpga/mpga/internal/digits"
	"github.com/mpga/mpga/internal/timeformat"
)

// Format says how the values of a column are written. The zero value is of plain numbers and
// ISO dates.
type Format struct {
	Decimal   byte               // before a fraction; '.' or 0 where it is plain
	Thousands byte               // between digits, to be passed over; 0 for none
	Times     *timeformat.Format // of a date or a timestamp; nil of ISO's
	Inferred  bool               // the type is of first values, and must lose nothing: IsCode is no number
}

// IsCode says whether a number is written with a plus, or with a zero before other digits, as postcodes and telephone
// numbers are. Its value does not tell how it was written: 01234 and 1234 are equal.
func IsCode(number []byte) bool {
	if len(number) == 0 {
		return false
	}
	if number[0] == '+' {
		return true
	}
	if number[0] == '-' {
		number = number[1:]
	}
	return len(number) > 1 && number[0] == '0' && number[1]-'0' <= 9
}

// plainNumbers says whether numbers are as Go and C write them.
func (f *Format) plainNumbers() bool { return f.Thousands == 0 && f.Decimal != ',' }

// Plain returns a number as Go and C write it, in scratch where it is written otherwise. ok is
// false where it has a point that is no part of it.
func (f *Format) Plain(b []byte, scratch *[]byte) (number []byte, ok bool) {
	if f.plainNumbers() {
		return b, true
	}
	out := (*scratch)[:0]
	for _, c := range b {
		switch {
		case c == f.Decimal:
			out = append(out, '.')
		case c == f.Thousands:
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
func localized[T any](f *Format, parse func([]byte) (T, bool)) func([]byte) (T, bool) {
	if f.plainNumbers() && !f.Inferred {
		return parse
	}
	var scratch []byte
	return func(b []byte) (value T, ok bool) {
		if b, ok = f.Plain(b, &scratch); !ok || f.Inferred && IsCode(b) {
			return value, false
		}
		return parse(b)
	}
}

// Grouped says whether the thousands of a number are where people put them: three digits behind the
// last separator, two or three between two separators. What has its separators elsewhere is perhaps
// a date, or the number of a version, and is not taken for a number unless a type is given.
func (f *Format) Grouped(b []byte) bool {
	if f.Thousands == 0 {
		return true
	}
	whole, fraction, _ := bytes.Cut(b, []byte{f.Decimal})
	groups := bytes.Split(whole, []byte{f.Thousands})
	for i, g := range groups {
		switch {
		case i == 0 && len(groups) > 1 && len(g) == 0:
			return false
		case i > 0 && i == len(groups)-1 && len(g) != 3, i > 0 && i < len(groups)-1 && len(g) != 2 && len(g) != 3:
			return false
		}
	}
	return bytes.IndexByte(fraction, f.Thousands) < 0
}

// ReadTime reads a date or a timestamp by the format, or as ISO has it where there is none.
func (f *Format) ReadTime(b []byte) (t Instant, ok bool) {
	if f.Times == nil {
		return ParseTimestamp(b)
	}
	m, err := f.Times.Read(unsafe.String(unsafe.SliceData(b), len(b)))
	if err != nil {
		return t, false
	}
	days := m.Days + digits.FloorDiv(m.Nanos, nanosPerDay)
	nanos := m.Nanos - digits.FloorDiv(m.Nanos, nanosPerDay)*nanosPerDay
	return Instant{days: int32(days), nanos: nanos, Zoned: f.Times.Zoned()}, true
}

// readDate is ReadTime for a date, behind which no time of day stands.
func (f *Format) readDate(b []byte) (days int32, ok bool) {
	if f.Times == nil {
		return ParseDate(b)
	}
	t, ok := f.ReadTime(b)
	return t.days, ok
}

// mayBeCode says whether a field that begins at start may be, trimmed, one that IsCode holds of.
// Requires: two bytes behind start.
func mayBeCode(text []byte, start uint32) bool {
	sign := uint32(0) // without a branch: signs are in no order
	if text[start] == '-' {
		sign = 1
	}
	c := text[start+sign]
	return c-'1' > 8 && (c <= ' ' || c == '+' || c == '0' && text[start+sign+1]-'0' <= 9)
}

// String says how a column's values are to be written, for errors; "" for the plain way.
func (f *Format) String() string {
	switch {
	case f.Times != nil:
		return fmt.Sprintf(" by the format %q", f.Times.Text)
	case f.plainNumbers():
		return ""
	case f.Thousands == 0:
		return fmt.Sprintf(" with the decimal separator %q", f.Decimal)
	}
	return fmt.Sprintf(" with the decimal separator %q and thousands apart by %q", f.Decimal, f.Thousands)
}

const _ = uint(math.MaxInt32 - 9999*366) // the days of all years that formats have fit an int32
