package timeformat

import (
	"time"

	"github.com/mpga/mpga/internal/digits"
)

const secondsPerDay = 86_400

// AppendDate appends the date that many days after 1970-01-01, or an infinity.
func AppendDate(dst []byte, days int64) []byte {
	if word := Infinity(days, InfiniteDays); word != "" {
		return append(dst, word...)
	}
	return AppendDay(dst, time.Unix(days*secondsPerDay, 0).UTC())
}

// AppendDay appends the day of a moment. There is no year 0: the year before 1 is 0001 (BC), as DuckDB writes it.
func AppendDay(dst []byte, t time.Time) []byte {
	year, month, day := t.Date()
	isBC := year < 1
	if isBC {
		year = 1 - year
	}
	dst = digits.AppendPadded(dst, uint64(year), 4)
	dst = digits.AppendPadded(append(dst, '-'), uint64(month), 2)
	dst = digits.AppendPadded(append(dst, '-'), uint64(day), 2)
	if isBC {
		dst = append(dst, " (BC)"...)
	}
	return dst
}

// AppendClock appends a time of day, or hours beyond it, and its fraction, of some digits, without zeros at its end.
// Requires: seconds and fraction >= 0.
func AppendClock(dst []byte, seconds, fraction int64, width int) []byte {
	dst = digits.AppendPadded(dst, uint64(seconds/3600), 2)
	dst = digits.AppendPadded(append(dst, ':'), uint64(seconds/60%60), 2)
	dst = digits.AppendPadded(append(dst, ':'), uint64(seconds%60), 2)
	if fraction == 0 {
		return dst
	}
	dst = digits.AppendPadded(append(dst, '.'), uint64(fraction), width)
	for dst[len(dst)-1] == '0' {
		dst = dst[:len(dst)-1]
	}
	return dst
}
