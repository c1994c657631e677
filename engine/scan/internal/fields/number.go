package fields

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"
	"time"
	"unsafe"

	"github.com/mpga/mpga/internal/digits"
	"github.com/mpga/mpga/internal/timeformat"
)

const (
	bytesOf1   = 0x0101010101010101
	bytesOf127 = 0x7F7F7F7F7F7F7F7F
)

// Trim takes spaces and tabs off both ends of a value that is not text.
func Trim(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
		b = b[1:]
	}
	for len(b) > 0 && (b[len(b)-1] == ' ' || b[len(b)-1] == '\t') {
		b = b[:len(b)-1]
	}
	return b
}

// parseDigits reads b, decimal digits only, if the value fits 64 bits.
func parseDigits(b []byte) (n uint64, ok bool) {
	if len(b) == 0 || len(b) > 20 {
		return 0, false
	}
	head := b[:min(len(b), 19)] // 19 digits cannot overflow
	for _, c := range head {
		if c -= '0'; c > 9 {
			return 0, false
		} else {
			n = n*10 + uint64(c)
		}
	}
	if len(b) == 20 {
		c := b[19] - '0'
		if c > 9 || n > math.MaxUint64/10 || n == math.MaxUint64/10 && c > math.MaxUint64%10 {
			return 0, false
		}
		n = n*10 + uint64(c)
	}
	return n, true
}

// ParseInt reads a whole number with an optional sign.
func ParseInt(b []byte) (int64, bool) {
	negative := false
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		negative = b[0] == '-'
		b = b[1:]
	}
	n, ok := parseDigits(b)
	if negative {
		return -int64(n), ok && n <= -math.MinInt64
	}
	return int64(n), ok && n <= math.MaxInt64
}

// HugeDigits is how many digits an integer has at most that a decimal of 128 bits holds.
const HugeDigits = 38

// WholeDigits returns how many digits an integer with an optional minus has; 0 for all other text.
func WholeDigits(b []byte) int {
	if len(b) > 0 && b[0] == '-' {
		b = b[1:]
	}
	for _, c := range b {
		if c-'0' > 9 {
			return 0
		}
	}
	return len(b)
}

// KeepsDigits says whether a double is the value of a number, if that is whole: exactly, or as doubles are written.
func KeepsDigits(f float64, number []byte) bool {
	const always = 15 // digits that any double keeps
	if WholeDigits(number) <= always {
		return true
	}
	var text [64]byte
	return bytes.Equal(strconv.AppendFloat(text[:0], f, 'f', -1, 64), number) ||
		bytes.Equal(strconv.AppendFloat(text[:0], f, 'f', 0, 64), number)
}

// parseSigned is ParseInt for a narrower type.
func parseSigned[T int8 | int16 | int32](b []byte) (T, bool) {
	n, ok := ParseInt(b)
	return T(n), ok && int64(T(n)) == n
}

// parseUnsigned reads a whole number without a minus.
func parseUnsigned[T uint8 | uint16 | uint32 | uint64](b []byte) (T, bool) {
	if len(b) > 0 && b[0] == '+' {
		b = b[1:]
	}
	n, ok := parseDigits(b)
	return T(n), ok && uint64(T(n)) == n
}

// digits8 reads eight decimal digits, the first in the lowest byte.
func digits8(x uint64) (n uint64, ok bool) {
	const zeros = bytesOf1 * '0'
	// A digit's upper half is 3, also once 6 has been added.
	const upper = bytesOf1 * 0xF0
	ok = (x&upper)|(x+bytesOf1*6)&upper>>4 == bytesOf1*0x33
	x -= zeros
	x = x*10 + x>>8 // the even bytes: two digits each
	const pairs = 0x000000FF_000000FF
	x = (x&pairs*(100+1_000_000<<32) + x>>16&pairs*(1+10_000<<32)) >> 32
	return x, ok
}

// firstDigits returns n bytes at the start of text, 1 to 8, behind zeros, as digits8 takes them.
// Requires: 8 bytes at the start of text.
func firstDigits(text []byte, start, n uint32) uint64 {
	const zeros = bytesOf1 * '0'
	gap := (64 - 8*n) & 63
	return binary.LittleEndian.Uint64(text[start:start+8])<<gap | zeros&(1<<gap-1)
}

// fieldSign says whether a number begins with a minus, and where its digits are.
func fieldSign(text []byte, s Span) (start, n uint32, negative bool) {
	start, n = s.Start, s.End&EndMask-s.Start
	if n > 0 && text[start] == '-' {
		return start + 1, n - 1, true
	}
	return start, n, false
}

// fastInt is ParseInt for up to 16 digits without a plus. ok is false for all other text.
func fastInt(text []byte, s Span) (n int64, ok bool) {
	start, digits, negative := fieldSign(text, s)
	switch {
	case digits-1 < 8:
		var v uint64
		v, ok = digits8(firstDigits(text, start, digits))
		n = int64(v)
	case digits-1 < 16:
		high, ok1 := digits8(firstDigits(text, start, digits-8))
		low, ok2 := digits8(firstDigits(text, start+digits-8, 8))
		n, ok = int64(high*100_000_000+low), ok1 && ok2
	}
	if negative {
		n = -n
	}
	return n, ok
}

// fastFloat is ParseFloat for up to 15 digits without a plus or an exponent, where the point is
// among the first 9 bytes and at most 8 digits follow the point. ok is false for all other text.
func fastFloat(text []byte, s Span) (float64, bool) {
	start, n, negative := fieldSign(text, s)
	isPoint := binary.LittleEndian.Uint64(text[start:start+8]) ^ bytesOf1*'.'
	// The lowest top bit is that of the first byte that is 0.
	whole := uint32(bits.TrailingZeros64((isPoint-bytesOf1)&^isPoint&^bytesOf127)) / 8
	fraction := n - whole - 1
	if whole >= n { // no point
		whole, fraction = n, 0
	}
	if n == 0 || whole > 8 || fraction > 8 || whole+fraction-1 >= 15 || whole == 8 && n > 8 && text[start+8] != '.' {
		return 0, false
	}
	mantissa, ok := uint64(0), true
	if whole > 0 {
		mantissa, ok = digits8(firstDigits(text, start, whole))
	}
	scale := &scales[fraction]
	if fraction > 0 {
		digits, ok2 := digits8(firstDigits(text, start+whole+1, fraction))
		mantissa = mantissa*scale.whole + digits
		ok = ok && ok2
	}
	f := float64(int64(mantissa)) / scale.double
	if negative {
		f = -f
	}
	return f, ok
}

// scales are the powers of ten, by the number of a fraction's digits.
var scales = [...]struct {
	whole  uint64
	double float64
}{{1e0, 1e0}, {1e1, 1e1}, {1e2, 1e2}, {1e3, 1e3}, {1e4, 1e4}, {1e5, 1e5}, {1e6, 1e6}, {1e7, 1e7}, {1e8, 1e8}}

// pow10 are the powers of ten that a double holds exactly.
var pow10 = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// ParseFloat reads a decimal number, nan or inf. A mantissa below 2^53 times or divided by an exact
// power of ten is rounded once, hence correctly (Clinger, PLDI 1990); all else goes to strconv.
func ParseFloat(b []byte) (float64, bool) {
	p, negative := 0, false
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		negative = b[0] == '-'
		p = 1
	}
	var mantissa uint64
	digits, fraction := 0, 0
	point := false
	for ; p < len(b); p++ {
		c := b[p]
		if d := c - '0'; d <= 9 {
			mantissa = mantissa*10 + uint64(d)
			digits++
			if point {
				fraction++
			}
		} else if c == '.' && !point {
			point = true
		} else {
			return parseFloatSlow(b)
		}
	}
	if digits == 0 || digits > 19 || mantissa >= 1<<53 || fraction >= len(pow10) {
		return parseFloatSlow(b)
	}
	f := float64(mantissa) / pow10[fraction]
	if negative {
		f = -f
	}
	return f, true
}

// parseSingle is ParseFloat for a float32.
func parseSingle(b []byte) (float32, bool) {
	double, ok := ParseFloat(b)
	single := float32(double)
	if !ok || digits.RoundsOnce(double, single) || double-double != 0 {
		return single, ok
	}
	f, err := strconv.ParseFloat(unsafe.String(unsafe.SliceData(b), len(b)), 32)
	return float32(f), err == nil || math.IsInf(f, 0)
}

// parseFloatSlow refuses hexadecimal floats, which strconv reads: they are text.
func parseFloatSlow(b []byte) (float64, bool) {
	for _, c := range b {
		if c == 'x' || c == 'X' || c == '_' {
			return 0, false
		}
	}
	f, err := strconv.ParseFloat(unsafe.String(unsafe.SliceData(b), len(b)), 64)
	if err != nil && math.IsInf(f, 0) {
		return f, true // too large for a double: infinite, as strconv and C round it
	}
	return f, err == nil
}

// parseBool reads what SQL takes for a boolean.
func parseBool(b []byte) (bool, bool) {
	switch Lower(b) {
	case "true", "t", "1":
		return true, true
	case "false", "f", "0":
		return false, true
	}
	return false, false
}

// Lower returns a short word in lower case, and "" for a longer one.
func Lower(b []byte) string {
	var word [8]byte
	if len(b) > len(word) {
		return ""
	}
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		word[i] = c
	}
	return string(word[:len(b)])
}

// twoDigits reads a number of two digits.
func twoDigits(b []byte) (n uint64, ok bool) {
	ten, one := b[0]-'0', b[1]-'0'
	return uint64(ten)*10 + uint64(one), ten <= 9 && one <= 9
}

// ParseDate reads YYYY-MM-DD as days since 1970-01-01; years have up to seven digits, and those before the year 1 have
// " (BC)" behind the day, as DuckDB and mpga write them. Package time takes 1.7 times as long (BenchmarkParseDate, AMD
// EPYC, Zen 4). Infinity and -infinity, in any case, are timeformat.InfiniteDays and its negative.
func ParseDate(b []byte) (days int32, ok bool) {
	if len(b) < dateBytes {
		sign := timeformat.ParseInfinity(string(b))
		return int32(sign * timeformat.InfiniteDays), sign != 0
	}
	if len(b) > dateBytes {
		return parseLongDate(b)
	}
	century, ok1 := twoDigits(b[:2])
	year, ok2 := twoDigits(b[2:4])
	if !ok1 || !ok2 {
		return 0, false
	}
	return dayOf(int64(100*century+year), b[4:])
}

const (
	dateBytes     = len("2006-01-02")
	yearDigitsMax = 7
	beforeChrist  = " (BC)"
)

// dayOf returns the day of a year that -MM-DD says.
// Requires: len(monthAndDay) is 6.
func dayOf(year int64, monthAndDay []byte) (days int32, ok bool) {
	month, ok1 := twoDigits(monthAndDay[1:3])
	day, ok2 := twoDigits(monthAndDay[4:])
	separated := monthAndDay[0] == '-' && monthAndDay[3] == '-'
	if !ok1 || !ok2 || !separated || month < 1 || month > 12 || day < 1 || day > daysIn(year, month) {
		return 0, false
	}
	return daysSinceEpoch(year, int64(month), int64(day)), true
}

// parseLongDate is ParseDate of a year of more than four digits, or before the year 1.
func parseLongDate(b []byte) (days int32, ok bool) {
	b, isBC := bytes.CutSuffix(b, []byte(beforeChrist))
	yearDigits := len(b) - len("-01-02")
	if yearDigits < 4 || yearDigits > yearDigitsMax {
		return 0, false
	}
	year := int64(0)
	for _, c := range b[:yearDigits] {
		if c < '0' || c > '9' {
			return 0, false
		}
		year = 10*year + int64(c-'0')
	}
	if isBC {
		if year == 0 {
			return 0, false
		}
		year = 1 - year // there is no year 0
	}
	if year > timeformat.YearMax || year < -timeformat.YearMax {
		return 0, false
	}
	return dayOf(year, b[yearDigits:])
}

// dateLength returns the length of the date that a text may begin with.
// Requires: len(b) >= dateBytes.
func dateLength(b []byte) int {
	n := dateBytes
	for year := 4; year < yearDigitsMax && b[year] != '-' && n < len(b); year++ {
		n++
	}
	if bytes.HasPrefix(b[n:], []byte(beforeChrist)) {
		n += len(beforeChrist)
	}
	return n
}

// monthDays are the days of the months, from 1 on, without the leap day.
var monthDays = [...]uint64{1: 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}

func daysIn(year int64, month uint64) uint64 {
	if month == 2 && year%4 == 0 && (year%100 != 0 || year%400 == 0) {
		return 29
	}
	return monthDays[month]
}

// daysSinceEpoch counts days of the Gregorian calendar in years from March on, so that the leap day
// is the last day of a year. There is a leap day every 4 years, but not every 100, but every 400.
func daysSinceEpoch(year, month, day int64) int32 {
	if month <= 2 {
		year--
		month += 12
	}
	// Days before the month, counted from March 1st: 0, 31, 61, 92, 122, 153, 184, 214, ...
	beforeMonth := (153*(month-3) + 2) / 5
	const march1Year0 = 719_468 // days from 0000-03-01 to 1970-01-01
	leapDays := digits.FloorDiv(year, 4) - digits.FloorDiv(year, 100) + digits.FloorDiv(year, 400)
	return int32(year*365 + leapDays + beforeMonth + day - 1 - march1Year0)
}

// ParseTimeOfDay reads HH:MM, or HH:MM:SS with up to nine digits of a fraction, in nanoseconds, and returns
// the text behind.
func ParseTimeOfDay(b []byte) (nanos int64, rest []byte, ok bool) {
	if len(b) < 5 || b[2] != ':' {
		return 0, nil, false
	}
	hour, ok1 := twoDigits(b[:2])
	minute, ok2 := twoDigits(b[3:5])
	second, ok3 := uint64(0), true
	b = b[5:]
	hasSeconds := len(b) > 0 && b[0] == ':'
	if hasSeconds {
		if len(b) < 3 {
			return 0, nil, false
		}
		second, ok3 = twoDigits(b[1:3])
		b = b[3:]
	}
	if !ok1 || !ok2 || !ok3 || hour > 23 || minute > 59 || second > 59 {
		return 0, nil, false
	}
	nanos = int64(hour*3600+minute*60+second) * int64(time.Second)
	if !hasSeconds || len(b) == 0 || b[0] != '.' {
		return nanos, b, true
	}
	unit := int64(time.Second)
	digits := 0
	for b = b[1:]; len(b) > 0 && b[0] >= '0' && b[0] <= '9'; b = b[1:] {
		if unit /= 10; unit == 0 {
			return 0, nil, false
		}
		nanos += int64(b[0]-'0') * unit
		digits++
	}
	return nanos, b, digits > 0
}

// Instant is a moment: a day, and nanoseconds of that day less the offset of the zone.
type Instant struct {
	days  int32 // since 1970-01-01
	nanos int64
	IsDay bool // the text has no time of day
	Zoned bool // the text names a zone
}

// ParseTimestamp reads a date, or a date and a time of day between which there is a space or a T,
// with an optional zone, as parseZone reads it.
func ParseTimestamp(b []byte) (t Instant, ok bool) {
	if len(b) < dateBytes {
		t.days, ok = ParseDate(b)
		t.IsDay = ok
		return t, ok
	}
	n := dateLength(b)
	if t.days, ok = ParseDate(b[:n]); !ok || len(b) == n {
		t.IsDay = ok
		return t, ok
	}
	if b[n] != ' ' && b[n] != 'T' {
		return t, false
	}
	var zone []byte
	if t.nanos, zone, ok = ParseTimeOfDay(b[n+1:]); !ok || len(zone) == 0 {
		return t, ok
	}
	t.Zoned = true
	offset, ok := parseZone(zone)
	t.nanos -= offset
	return t, ok
}

// parseZone reads Z, +HH:MM, +HHMM or +HH, as the nanoseconds that the zone is ahead of UTC.
func parseZone(zone []byte) (ahead int64, ok bool) {
	if len(zone) == 1 && zone[0] == 'Z' {
		return 0, true
	}
	if len(zone) < 3 || zone[0] != '+' && zone[0] != '-' {
		return 0, false
	}
	hours, ok1 := twoDigits(zone[1:3])
	minutes, ok2 := uint64(0), true
	switch rest := zone[3:]; {
	case len(rest) == 2:
		minutes, ok2 = twoDigits(rest)
	case len(rest) == 3 && rest[0] == ':':
		minutes, ok2 = twoDigits(rest[1:])
	case len(rest) > 0:
		return 0, false
	}
	ahead = int64(hours*60+minutes) * int64(time.Minute)
	if zone[0] == '-' {
		ahead = -ahead
	}
	return ahead, ok1 && ok2 && hours <= 23 && minutes <= 59
}

const nanosPerDay = 24 * int64(time.Hour)

// IsInfinite says whether the Instant is an infinity.
func (t Instant) IsInfinite() bool {
	return timeformat.InfinitySign(int64(t.days), timeformat.InfiniteDays) != 0
}

// In counts the Instant in units of unit nanoseconds. It returns false where the Instant lies between
// two units, or its count beyond 64 bits. Infinity is timeformat.InfiniteTime in all units.
func (t Instant) In(unit int64) (int64, bool) {
	if sign := timeformat.InfinitySign(int64(t.days), timeformat.InfiniteDays); sign != 0 {
		return sign * timeformat.InfiniteTime, true
	}
	if t.nanos%unit != 0 {
		return 0, false
	}
	perDay := nanosPerDay / unit
	n := int64(t.days)*perDay + t.nanos/unit
	daysMax := math.MaxInt64/perDay - 1
	return n, int64(t.days) > -daysMax && int64(t.days) < daysMax
}
