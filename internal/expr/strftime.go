package expr

import (
	"fmt"
	"strconv"

	"github.com/mpga/mpga/internal/digits"
)

var dayNames = [...]string{"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"}

var monthNames = [...]string{"January", "February", "March", "April", "May", "June",
	"July", "August", "September", "October", "November", "December"}

// moment is a point in time: a date, also as days since 1970-01-01, and microseconds of the day.
type moment struct {
	civil
	days, clock int64
}

func momentOf(micros int64) moment {
	days := digits.FloorDiv(micros, dayMicros)
	return moment{civilOf(days), days, micros - days*dayMicros}
}

// seconds returns the point in time in microseconds, without the fraction of a second.
func (m moment) seconds() int64 { return m.days*dayMicros + m.clock/secondMicros*secondMicros }

// dayOfYear counts from 1.
func (m moment) dayOfYear() int64 { return m.days - civil{m.year, 1, 1}.days() + 1 }

// hour12 is the hour from 1 to 12.
func (m moment) hour12() int64 { return (m.clock/hourMicros+11)%12 + 1 }

// timeFormats are what may follow % in a format. Numbers have digits, which %- leaves out. All are
// as in DuckDB: ncruces/go-strftime v1.1 has others for %c, %g, %x and %X, and takes as long (378
// ns; BenchmarkCalendar/strftime: 373).
var timeFormats = map[byte]struct {
	number func(m moment) int64
	digits int
	text   func(m moment) string
}{
	'a': {text: func(m moment) string { return dayNames[weekday(m.days)][:3] }},
	'A': {text: func(m moment) string { return dayNames[weekday(m.days)] }},
	'b': {text: func(m moment) string { return monthNames[m.month-1][:3] }},
	'B': {text: func(m moment) string { return monthNames[m.month-1] }},
	'p': {text: func(m moment) string { return [...]string{"AM", "PM"}[m.clock/(12*hourMicros)] }},
	'z': {text: func(moment) string { return "+00" }},
	'Z': {text: func(moment) string { return "" }},
	'%': {text: func(moment) string { return "%" }},
	'n': {text: func(moment) string { return "\n" }},
	't': {text: func(moment) string { return "\t" }},
	'c': {text: func(m moment) string { return formatValue(typeOf(Timestamp), m.seconds()) }},
	'x': {text: func(m moment) string { return formatValue(typeOf(Date), m.days) }},
	'X': {text: func(m moment) string { return formatValue(typeOf(Time), m.clock/secondMicros*secondMicros) }},
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
	'f': {number: func(m moment) int64 { return m.clock % secondMicros }, digits: 6},
	'g': {number: func(m moment) int64 { return m.clock % secondMicros / 1000 }, digits: 3},
	'j': {number: moment.dayOfYear, digits: 3},
	'U': {number: func(m moment) int64 { return (m.dayOfYear() + 6 - weekday(m.days)) / 7 }, digits: 2},
	'W': {number: func(m moment) int64 { return (m.dayOfYear() + 7 - isoWeekday(m.days)) / 7 }, digits: 2},
}

// appendTime writes a point in time by a format that checkFormat has found right.
func appendTime(b []byte, format string, m moment) []byte {
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			b = append(b, format[i])
			continue
		}
		i++
		bare := format[i] == '-'
		if bare {
			i++
		}
		f := timeFormats[format[i]]
		switch {
		case f.text != nil:
			b = append(b, f.text(m)...)
		case bare:
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

func checkFormat(format string) error {
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			continue
		}
		i++
		if i < len(format) && format[i] == '-' {
			i++
		}
		if i >= len(format) {
			return fmt.Errorf("the format %q ends with %%", format)
		}
		if f := timeFormats[format[i]]; f.text == nil && f.number == nil {
			return fmt.Errorf("the format %q has %%%c, which is none of strftime's", format, format[i])
		}
	}
	return nil
}

// longestTime is more than the bytes that a byte of a format becomes: %c are 24, after 9999 more.
const longestTime = 16

// strftime binds strftime(time, format).
func strftime(b *binder, n *node) {
	if n.args[0].textConstant() && !n.args[1].textConstant() && n.args[1].typ.ID != Text {
		n.args[0], n.args[1] = n.args[1], n.args[0]
	}
	format := b.word(n, 1)
	if err := checkFormat(format); err != nil {
		b.fail(n.args[1].at, "%v", err)
	}
	b.check(n, Timestamp, Text)
	n.typ, n.args = typeOf(Text), n.args[:1]
	b.castArgs(n, typeOf(Timestamp))
	n.eval = map1f(n, func(e *Evaluator, micros int64) (string, error) {
		b, err := e.room(n, longestTime*len(format))
		if err != nil {
			return "", err
		}
		return e.keep(appendTime(b, format, momentOf(micros))), nil
	})
}

// nameOf binds dayname and monthname.
func nameOf(name func(moment) string) binding {
	return func(b *binder, n *node) {
		n.typ = typeOf(Text)
		b.want(n, Timestamp)
		n.eval = map1e(n, func(micros int64) (string, error) { return name(momentOf(micros)), nil })
	}
}
