package expr

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/mpga/mpga/internal/digits"
	"github.com/mpga/mpga/internal/timeformat"
)

// Units of time.
const (
	secondMicros = 1_000_000
	minuteMicros = 60 * secondMicros
	hourMicros   = 60 * minuteMicros
	dayMicros    = 24 * hourMicros
)

// civil is a day of the proleptic Gregorian calendar.
type civil struct {
	year       int64
	month, day int64 // from 1
}

// The calendar repeats itself after an era.
const (
	yearsPerEra = 400
	daysPerEra  = 146_097
	eraEpoch    = 719_468 // days from 0000-03-01 to 1970-01-01
)

// civilOf returns the day that is days after 1970-01-01.
func civilOf(days int64) civil {
	year, month, day := midnight(days).Date()
	return civil{int64(year), int64(month), int64(day)}
}

// midnight returns the moment at which the day begins that is days after 1970-01-01.
func midnight(days int64) time.Time { return time.Unix(days*(dayMicros/secondMicros), 0).UTC() }

// days is the inverse of civilOf. Years are counted from March, so that a leap day is the last day
// of a year. time.Date takes 1.7 times as long (BenchmarkCalendar).
func (c civil) days() int64 {
	year, month := c.year, c.month-3
	if month < 0 {
		month += 12
		year--
	}
	era := digits.FloorDiv(year, yearsPerEra)
	y := year - era*yearsPerEra
	return era*daysPerEra + y*365 + y/4 - y/100 + (153*month+2)/5 + c.day - 1 - eraEpoch
}

// valid says whether there is such a day, in a year up to timeformat.YearMax.
func (c civil) valid() bool {
	return c.year >= -timeformat.YearMax && c.year <= timeformat.YearMax && c.month >= 1 && c.month <= 12 &&
		c.day >= 1 && c.day <= daysInMonth(c.year, c.month)
}

func isLeap(year int64) bool { return year%4 == 0 && (year%100 != 0 || year%400 == 0) }

func daysInMonth(year, month int64) int64 {
	switch month {
	case 2:
		if isLeap(year) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}

// weekday is 0 of a Sunday.
func weekday(days int64) int64 { return (days%7 + 11) % 7 }

// isoWeek returns the week and its year: week 1 has the year's first Thursday.
func isoWeek(days int64) (year, week int64) {
	y, w := midnight(days).ISOWeek()
	return int64(y), int64(w)
}

// isoWeekday is 1 of a Monday and 7 of a Sunday.
func isoWeekday(days int64) int64 { return (days%7+10)%7 + 1 }

// addMonths keeps the day of the month, or takes the month's last day if that is earlier.
func addMonths(days, months int64) int64 {
	c := civilOf(days)
	total := c.year*12 + c.month - 1 + months
	c.year, c.month = digits.FloorDiv(total, 12), total-digits.FloorDiv(total, 12)*12+1
	c.day = min(c.day, daysInMonth(c.year, c.month))
	return c.days()
}

// dayAndClock returns the microseconds of a day and of a time of day; ok is false where they pass 64 bits.
func dayAndClock(days, clock int64) (micros int64, ok bool) {
	return days*dayMicros + clock, days > -daysMax && days < daysMax
}

// parseDate reads a date; a time of day may follow, and is dropped.
func parseDate(text string) (days int64, ok bool) {
	if sign := infinityOf(text); sign != 0 {
		return sign * timeformat.InfiniteDays, true
	}
	days, _, _, dated, ok := parseMoment(text)
	return days, ok && dated
}

// cutDate reads year-month-day at the beginning of a text, and returns the rest; the whole text if
// it is no date.
func cutDate(text string) (days int64, rest string, ok bool) {
	negative := strings.HasPrefix(text, "-")
	year, rest, ok := cutNumber(strings.TrimPrefix(text, "-"), 7)
	if !ok || rest == "" || rest[0] != '-' && rest[0] != '/' {
		return 0, text, false
	}
	separator := rest[:1]
	month, rest, ok1 := cutNumber(rest[1:], 2)
	if !ok1 || !strings.HasPrefix(rest, separator) {
		return 0, text, false
	}
	day, rest, ok2 := cutNumber(rest[1:], 2)
	if negative {
		year = -year
	}
	if later, isBC := strings.CutPrefix(rest, " (BC)"); isBC && year > 0 {
		year, rest = 1-year, later // there is no year 0
	}
	c := civil{year, month, day}
	if !ok2 || !c.valid() {
		return 0, text, false
	}
	return c.days(), rest, true
}

// cutNumber reads up to digitsMax digits.
func cutNumber(text string, digitsMax int) (n int64, rest string, ok bool) {
	i := 0
	for i < len(text) && i < digitsMax && text[i] >= '0' && text[i] <= '9' {
		n = n*10 + int64(text[i]-'0')
		i++
	}
	return n, text[i:], i > 0
}

// parseTimestamp reads a date, behind which a time of day and an offset from UTC may stand. The offset
// is dropped: a TIMESTAMP is what the clock shows.
func parseTimestamp(text string) (micros int64, ok bool) {
	if sign := infinityOf(text); sign != 0 {
		return sign * timeformat.InfiniteTime, true
	}
	days, clock, _, dated, ok := parseMoment(text)
	micros, fits := dayAndClock(days, clock)
	return micros, ok && dated && fits
}

// parseTimestampNS is parseTimestamp in nanoseconds.
func parseTimestampNS(text string) (nanos int64, ok bool) {
	v, ok := parseTimestamp(text)
	if timeformat.InfinitySign(v, timeformat.InfiniteTime) != 0 {
		return v, ok
	}
	nanos = v*1000 + nanosBelow(text)
	return nanos, ok && v == v*1000/1000 && (nanos < 0) == (v < 0)
}

// infinityOf returns the sign of a text that is an infinity, in any case; 0 of other texts.
func infinityOf(text string) int64 {
	return timeformat.ParseInfinity(strings.TrimSpace(text))
}

// parseTime reads a time of day. A date before it or alone, and an offset behind it, are dropped.
func parseTime(text string) (micros int64, ok bool) {
	_, micros, _, dated, ok := parseMoment(text)
	if dated {
		micros %= dayMicros // 24:00 is the next day's 00:00
	}
	return micros, ok
}

// parseMoment reads a date, or a time of day up to 24:00, or a date and a time of day. An offset
// from UTC may stand behind the time of day. dated says whether the text begins with a date.
func parseMoment(text string) (days, clock, offset int64, dated, ok bool) {
	days, clock, offset, _, dated, ok = parseZoned(text)
	return days, clock, offset, dated, ok
}

// parseZoned is parseMoment, and says whether an offset stands there.
func parseZoned(text string) (days, clock, offset int64, zoned, dated, ok bool) {
	text = strings.TrimSpace(text)
	days, rest, dated := cutDate(text)
	switch {
	case strings.EqualFold(text, "epoch"):
		return 0, 0, 0, true, true, true
	case !dated:
	case rest == "":
		return days, 0, 0, false, true, true
	case rest[0] != ' ' && rest[0] != 'T':
		return 0, 0, 0, false, true, false
	default:
		rest = strings.TrimLeft(rest[1:], " ")
	}
	clock, rest, ok = cutHours(rest, 2)
	if !ok || clock > dayMicros {
		return 0, 0, 0, false, dated, false
	}
	rest = strings.TrimSpace(rest)
	offset, ok = parseOffset(rest)
	return days, clock, offset, rest != "", dated, ok
}

// cutHours reads hours:minutes, behind which :seconds and a fraction may stand, and returns the
// rest. The hours have at most hourDigits digits.
func cutHours(text string, hourDigits int) (micros int64, rest string, ok bool) {
	hour, rest, ok := cutNumber(text, hourDigits)
	if !ok || !strings.HasPrefix(rest, ":") {
		return 0, text, false
	}
	minute, rest, ok := cutNumber(rest[1:], 2)
	if !ok || minute > 59 {
		return 0, text, false
	}
	micros = hour*hourMicros + minute*minuteMicros
	if !strings.HasPrefix(rest, ":") {
		return micros, rest, true
	}
	second, rest, ok := cutNumber(rest[1:], 2)
	if !ok || second > 59 {
		return 0, text, false
	}
	micros += second * secondMicros
	if !strings.HasPrefix(rest, ".") {
		return micros, rest, true
	}
	const digits = 6
	fraction, after, _ := cutNumber(rest[1:], digits)
	for range digits - (len(rest) - 1 - len(after)) {
		fraction *= 10
	}
	_, after, _ = cutNumber(after, len(after)) // below a microsecond
	return micros + fraction, after, true
}

// nanosBelow returns the nanoseconds below a microsecond of a text that parseMoment has read.
func nanosBelow(text string) (nanos int64) {
	_, fraction, ok := strings.Cut(text, ".")
	const from, to = 6, 9 // digits behind the point
	for i := from; ok && i < to; i++ {
		nanos *= 10
		if i < len(fraction) && fraction[i] >= '0' && fraction[i] <= '9' {
			nanos += int64(fraction[i] - '0')
		} else {
			fraction = fraction[:min(i, len(fraction))] // zeros follow
		}
	}
	return nanos
}

// parseOffset reads an offset from UTC: an empty text, Z, UTC, GMT, or hours, minutes and seconds: +02,
// -03:30, +0053:28.
func parseOffset(text string) (micros int64, ok bool) {
	switch strings.ToUpper(text) {
	case "", "Z", "UTC", "GMT":
		return 0, true
	}
	sign := int64(1)
	switch text[0] {
	case '-':
		sign = -1
	case '+':
	default:
		return 0, false
	}
	rest := text[1:]
	for i, unit := range []int64{hourMicros, minuteMicros, secondMicros} {
		number, after, ok := cutNumber(strings.TrimPrefix(rest, ":"), 2)
		if rest == "" && i > 0 {
			break
		}
		if !ok || i > 0 && number > 59 {
			return 0, false
		}
		micros += number * unit
		rest = after
	}
	return sign * micros, rest == ""
}

// appendClock writes a time of day, of microseconds and nanoseconds, without zeros at its end.
func appendClock(b []byte, micros, nanos int64) []byte {
	fraction, width := micros%secondMicros, 6
	if nanos != 0 {
		fraction, width = fraction*1000+nanos, 9
	}
	return timeformat.AppendClock(b, micros/secondMicros, fraction, width)
}

func appendTimestamp(b []byte, v int64, t Type) []byte {
	if word := timeformat.Infinity(v, timeformat.InfiniteTime); word != "" {
		return append(b, word...)
	}
	nanos := int64(0)
	if t.ID == TimestampNS {
		nanos = v - digits.FloorDiv(v, 1000)*1000
		v = digits.FloorDiv(v, 1000)
	}
	days := digits.FloorDiv(v, dayMicros)
	b = appendClock(append(timeformat.AppendDate(b, days), ' '), v-days*dayMicros, nanos)
	if t.ID == TimestampTZ {
		b = append(b, "+00"...)
	}
	return b
}

func appendDuration(b []byte, micros int64) []byte {
	if days := micros / dayMicros; days != 0 {
		b = strconv.AppendInt(b, days, 10)
		b = append(b, " day"...)
		if days != 1 && days != -1 {
			b = append(b, 's')
		}
		micros %= dayMicros
		if micros == 0 {
			return b
		}
		b = append(b, ' ')
	}
	if micros < 0 {
		b = append(b, '-')
		micros = -micros
	}
	return appendClock(b, micros, 0)
}

// intervalUnits are the words for units in an interval, as months, days and microseconds.
var intervalUnits = map[string]IntervalValue{
	"year": {Months: 12}, "yr": {Months: 12}, "y": {Months: 12}, "month": {Months: 1},
	"mon": {Months: 1}, "quarter": {Months: 3},
	"decade": {Months: 120}, "century": {Months: 1200}, "centurie": {Months: 1200}, "millennium": {Months: 12_000},
	"week": {Days: 7}, "w": {Days: 7}, "day": {Days: 1}, "d": {Days: 1},
	"hour": {Micros: hourMicros}, "hr": {Micros: hourMicros}, "h": {Micros: hourMicros},
	"minute": {Micros: minuteMicros}, "min": {Micros: minuteMicros}, "m": {Micros: minuteMicros},
	"second": {Micros: secondMicros}, "sec": {Micros: secondMicros}, "s": {Micros: secondMicros},
	"millisecond": {Micros: 1000}, "ms": {Micros: 1000}, "microsecond": {Micros: 1}, "us": {Micros: 1},
}

// parseInterval reads numbers with their units, and times of day: 1 month 2 days 03:04:05.
func parseInterval(text string) (IntervalValue, error) {
	var v IntervalValue
	bad := fmt.Errorf("%q is not an interval: want numbers with units, as in '1 month 2 days' or '03:00:00'", text)
	fields := strings.Fields(text)
	if len(fields) == 0 {
		return v, bad
	}
	isAgo := len(fields) > 1 && strings.EqualFold(fields[len(fields)-1], "ago")
	if isAgo {
		fields = fields[:len(fields)-1]
	}
	for i := 0; i < len(fields); i++ {
		if strings.Contains(fields[i], ":") {
			const hourDigits = 9 // of which the microseconds fit 64 bits
			clock, rest, ok := cutHours(strings.TrimPrefix(fields[i], "-"), hourDigits)
			if !ok || rest != "" {
				return v, bad
			}
			if strings.HasPrefix(fields[i], "-") {
				clock = -clock
			}
			if v, ok = v.plus(IntervalValue{Micros: clock}); !ok {
				return v, bad
			}
			continue
		}
		number := strings.TrimRight(fields[i], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
		unit := fields[i][len(number):]
		if unit == "" && i+1 < len(fields) {
			i++
			unit = fields[i]
		}
		u, ok := intervalUnit(unit)
		var part IntervalValue
		if whole, err := strconv.ParseInt(number, 10, 64); ok && err == nil {
			part, ok = u.times(whole)
		} else if n, err := strconv.ParseFloat(number, 64); ok && err == nil {
			part, ok = u.scaled(n)
		} else {
			return v, bad
		}
		if ok {
			v, ok = v.plus(part)
		}
		if !ok {
			return v, bad
		}
	}
	if isAgo {
		var ok bool
		if v, ok = v.times(-1); !ok {
			return v, bad
		}
	}
	return v, nil
}

// plus adds two intervals. It returns false if months or days pass 32 bits, or microseconds 64.
func (v IntervalValue) plus(u IntervalValue) (IntervalValue, bool) {
	add := func(a, b int64) wide { return int128(a).Add(int128(b)) }
	return intervalOf(add(v.Months, u.Months), add(v.Days, u.Days), add(v.Micros, u.Micros))
}

func (v IntervalValue) negated() IntervalValue { return IntervalValue{-v.Months, -v.Days, -v.Micros} }

// times multiplies an interval by a number. It returns false where plus does.
func (v IntervalValue) times(k int64) (IntervalValue, bool) {
	by := int128(k)
	return intervalOf(int128(v.Months).Mul(by), int128(v.Days).Mul(by), int128(v.Micros).Mul(by))
}

func intervalOf(months, days, micros wide) (IntervalValue, bool) {
	ok := fitsType(months, typeOf(Int32)) && fitsType(days, typeOf(Int32)) && fitsType(micros, typeOf(Int64))
	return IntervalValue{int64(months.LowBits()), int64(days.LowBits()), int64(micros.LowBits())}, ok
}

func intervalUnit(word string) (IntervalValue, bool) {
	word = strings.ToLower(word)
	u, ok := intervalUnits[word]
	if !ok {
		u, ok = intervalUnits[strings.TrimSuffix(word, "s")]
	}
	return u, ok
}
