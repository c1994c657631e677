package expr

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/digits"
	"github.com/mpga/mpga/internal/timeformat"
)

// moment is a point in time: a date, also as days since 1970-01-01, and microseconds of the day.
type moment struct {
	civil
	days, clock int64
	nanos       int64 // below a microsecond

	zone   string // of the clock; "" of a TIMESTAMP
	offset int64  // microseconds that the clock is ahead of UTC
}

func momentOf(micros int64) moment {
	days := digits.FloorDiv(micros, dayMicros)
	return moment{civil: civilOf(days), days: days, clock: micros - days*dayMicros}
}

// dayOfYear counts from 1.
func (m moment) dayOfYear() int64 { return m.days - civil{m.year, 1, 1}.days() + 1 }

// hour12 is the hour from 1 to 12.
func (m moment) hour12() int64 { return (m.clock/hourMicros+11)%12 + 1 }

// timeSpecifiers say how the specifiers of a format are written. Numbers have digits, which %-
// leaves out. All are as in DuckDB: ncruces/go-strftime v1.1 has others for %c, %g, %x and %X, and
// takes as long (378 ns; BenchmarkCalendar/strftime: 373).
var timeSpecifiers = map[byte]struct {
	number func(m moment) int64
	digits int
	text   func(m moment) string
}{
	'a': {text: func(m moment) string { return timeformat.DayNames[weekday(m.days)][:3] }},
	'A': {text: func(m moment) string { return timeformat.DayNames[weekday(m.days)] }},
	'b': {text: func(m moment) string { return timeformat.MonthNames[m.month-1][:3] }},
	'h': {text: func(m moment) string { return timeformat.MonthNames[m.month-1][:3] }},
	'B': {text: func(m moment) string { return timeformat.MonthNames[m.month-1] }},
	'p': {text: func(m moment) string { return [...]string{"AM", "PM"}[m.clock/(12*hourMicros)] }},
	'z': {text: func(m moment) string { return string(appendOffset(nil, m.offset)) }},
	'Z': {text: func(m moment) string { return m.zone }},
	'w': {number: func(m moment) int64 { return weekday(m.days) }, digits: 1},
	'u': {number: func(m moment) int64 { return isoWeekday(m.days) }, digits: 1},
	'd': {number: func(m moment) int64 { return m.day }, digits: 2},
	'm': {number: func(m moment) int64 { return m.month }, digits: 2},
	'y': {number: func(m moment) int64 { return (m.year%100 + 100) % 100 }, digits: 2},
	'Y': {number: func(m moment) int64 { return m.year }, digits: 4},
	'G': {number: func(m moment) int64 { y, _ := isoWeek(m.days); return y }, digits: 4},
	'V': {number: func(m moment) int64 { _, w := isoWeek(m.days); return w }, digits: 2},
	'H': {number: func(m moment) int64 { return m.clock / hourMicros }, digits: 2},
	'I': {number: moment.hour12, digits: 2},
	'M': {number: func(m moment) int64 { return m.clock / minuteMicros % 60 }, digits: 2},
	'S': {number: func(m moment) int64 { return m.clock / secondMicros % 60 }, digits: 2},
	'n': {number: func(m moment) int64 { return m.clock%secondMicros*1000 + m.nanos }, digits: 9},
	'f': {number: func(m moment) int64 { return m.clock % secondMicros }, digits: 6},
	'g': {number: func(m moment) int64 { return m.clock % secondMicros / 1000 }, digits: 3},
	'j': {number: moment.dayOfYear, digits: 3},
	'U': {number: func(m moment) int64 { return (m.dayOfYear() + 6 - weekday(m.days)) / 7 }, digits: 2},
	'W': {number: func(m moment) int64 { return (m.dayOfYear() + 7 - isoWeekday(m.days)) / 7 }, digits: 2},
}

// appendTime writes a point in time by a format.
func appendTime(b []byte, format *timeformat.Format, m moment) []byte {
	for i := range format.Parts {
		p := &format.Parts[i]
		b = append(b, p.Literal...)
		f := timeSpecifiers[p.Specifier]
		switch {
		case p.Specifier == 0:
		case f.text != nil:
			b = append(b, f.text(m)...)
		case p.Bare:
			b = strconv.AppendInt(b, f.number(m), 10)
		default:
			n := f.number(m)
			if n < 0 {
				b, n = append(b, '-'), -n
			}
			b = digits.AppendPadded(b, uint64(n), f.digits)
		}
	}
	return b
}

// longestTime is more than the bytes that a byte of a format becomes: %c are 24, after 9999 more.
const longestTime = 16

// strftime binds strftime(time, format).
func strftime(b *binder, n *node) {
	if n.args[0].textConstant() && !n.args[1].textConstant() && n.args[1].typ.ID != Text {
		n.args[0], n.args[1] = n.args[1], n.args[0]
	}
	text := b.word(n, 1)
	format, err := timeformat.Parse(text)
	if err != nil {
		b.fail(n.args[1].at, "%v", err)
	}
	b.check(n, Timestamp, Text)
	n.typ, n.args = typeOf(Text), n.args[:1]
	unit := int64(1) // of a microsecond
	var zone *time.Location
	switch n.args[0].typ.ID {
	case TimestampNS:
		unit = 1000
	case TimestampTZ:
		zone = cmp.Or(b.zone, time.UTC)
	default:
		b.castArgs(n, typeOf(Timestamp))
	}
	n.eval = map1f(n, func(e *Evaluator, v int64) (string, error) {
		b, err := e.room(n, longestTime*len(text))
		if err != nil {
			return "", err
		}
		if word := timeformat.Infinity(v, timeformat.InfiniteTime); word != "" {
			return word, nil
		}
		micros, offset := digits.FloorDiv(v, unit), int64(0)
		if zone != nil {
			offset = offsetIn(zone, v)
		}
		m := momentOf(micros + offset)
		if m.offset = offset; zone != nil {
			m.zone = NameOf(zone)
		}
		m.nanos = v - micros*unit
		return e.keep(appendTime(b, format, m)), nil
	})
}

// strptime binds strptime(text, format, ...) and try_strptime, which is NULL for a text that is of
// none of the formats.
func strptime(try bool) binding {
	return func(b *binder, n *node) {
		t := timeTexts{try: try}
		for i := range n.args[1:] {
			format, err := timeformat.Reader(b.word(n, i+1))
			if err != nil {
				b.fail(n.args[i+1].at, "%v", err)
			}
			t.formats = append(t.formats, format)
		}
		n.args = n.args[:1]
		b.check(n, Text)
		b.castArgs(n, typeOf(Text))
		n.typ, n.fallible = t.typ(), !try
		unit := n.typ.nanos()
		n.eval = map1e(n, func(text string) (int64, error) { return t.read(text, unit) })
	}
}

// timeTexts reads times by the first of some formats that they are of.
type timeTexts struct {
	formats []*timeformat.Format
	try     bool // NULL in place of errors
}

// typ returns the type of the times.
func (t *timeTexts) typ() Type {
	switch {
	case slices.ContainsFunc(t.formats, (*timeformat.Format).Zoned):
		return typeOf(TimestampTZ)
	case slices.ContainsFunc(t.formats, (*timeformat.Format).Nanos):
		return typeOf(TimestampNS)
	}
	return typeOf(Timestamp)
}

// read returns the time of a text in units of unit nanoseconds.
func (t *timeTexts) read(text string, unit int64) (int64, error) {
	if !t.try {
		return t.mustRead(text, unit)
	}
	for _, format := range t.formats {
		at, err := format.Read(text)
		if v, fits := instantOf(at, unit); err == nil && fits {
			return v, nil
		}
	}
	return 0, errNull
}

// mustRead is read with errors. As in DuckDB, a text that is of a format, but for a day that there
// is not, is an error whatever formats follow.
func (t *timeTexts) mustRead(text string, unit int64) (int64, error) {
	var failed error
	for i, format := range t.formats {
		at, err := format.Read(text)
		v, fits := instantOf(at, unit)
		switch {
		case err == nil && fits:
			return v, nil
		case err == nil:
			err = errOutOfRange
		}
		if i == 0 || errors.Is(err, timeformat.ErrNoDay) {
			failed = query.Valuef("%q is not of the format %q: %w", text, format.Text, err)
		}
		if errors.Is(err, timeformat.ErrNoDay) {
			break
		}
	}
	return 0, failed
}

var errOutOfRange = errors.New("the time is out of range")

// instantOf returns a point in time in units of unit nanoseconds, and false where 64 bits do not hold
// it.
func instantOf(at timeformat.Moment, unit int64) (int64, bool) {
	const dayNanos = dayMicros * 1000
	days := at.Days + digits.FloorDiv(at.Nanos, dayNanos)
	return days*(dayNanos/unit) + (at.Nanos-digits.FloorDiv(at.Nanos, dayNanos)*dayNanos)/unit,
		days < math.MaxInt64/dayNanos*unit && days > math.MinInt64/dayNanos*unit
}

// nameOf binds dayname and monthname.
func nameOf(name func(moment) string) binding {
	return func(b *binder, n *node) {
		n.typ = typeOf(Text)
		b.want(n, Timestamp)
		n.eval = finite(n, typeOf(Timestamp), func(micros int64) string { return name(momentOf(micros)) })
	}
}
