package text

import (
	"bytes"
	"math"
	"math/bits"
	"strconv"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/internal/digits"
	"github.com/mpga/mpga/internal/timeformat"
)

// appendFloat appends the shortest digits that read back as f; whole numbers keep a ".0", so that
// a column of them still reads as floating point.
func appendFloat(dst []byte, f float64, bitSize int) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, "NaN"...)
	case math.IsInf(f, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(f, -1):
		return append(dst, "-Infinity"...)
	}
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		return strconv.AppendFloat(dst, f, 'e', -1, bitSize)
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, 'f', -1, bitSize)
	if bytes.IndexByte(dst[start:], '.') >= 0 {
		return dst
	}
	return append(dst, ".0"...)
}

// pow10of19 is the largest power of ten in 64 bits.
const pow10of19 = 10_000_000_000_000_000_000

// appendUint128 appends the decimal digits of hi * 2^64 + lo, and of at least minDigits.
func appendUint128(dst []byte, hi, lo uint64, minDigits int) []byte {
	var buf [40]byte
	at := len(buf)
	for hi != 0 {
		var low uint64
		high, rem := bits.Div64(0, hi, pow10of19)
		lo, low = bits.Div64(rem, lo, pow10of19)
		hi = high
		for range 19 {
			at--
			buf[at] = '0' + byte(low%10)
			low /= 10
		}
	}
	for lo != 0 {
		at--
		buf[at] = '0' + byte(lo%10)
		lo /= 10
	}
	for len(buf)-at < minDigits {
		at--
		buf[at] = '0'
	}
	return append(dst, buf[at:]...)
}

// appendDecimal appends the 128-bit integer hi, lo divided by 10^scale.
func appendDecimal(dst []byte, hi int64, lo uint64, scale int) []byte {
	high := uint64(hi)
	if hi < 0 {
		dst = append(dst, '-')
		var carry uint64
		lo, carry = bits.Add64(^lo, 1, 0)
		high = ^high + carry
	}
	dst = appendUint128(dst, high, lo, max(scale, 0)+1)
	return movePoint(dst, scale)
}

// movePoint divides the number at the end of dst by 10^scale. Requires: more than scale digits.
func movePoint(dst []byte, scale int) []byte {
	for ; scale < 0; scale++ {
		dst = append(dst, '0')
	}
	if scale == 0 {
		return dst
	}
	dst = append(dst, 0)
	point := len(dst) - 1 - scale
	copy(dst[point+1:], dst[point:])
	dst[point] = '.'
	return dst
}

// appendClock appends a time of day, or hours beyond it, and its fraction in a unit.
// Requires: seconds and fraction >= 0.
func appendClock(dst []byte, seconds, fraction int64, unit arrow.TimeUnit) []byte {
	return timeformat.AppendClock(dst, seconds, fraction, 3*int(unit)) // s, ms, us, ns count from 0
}

// perSecond returns how many of the unit a second has.
func perSecond(unit arrow.TimeUnit) int64 { return int64(time.Second / unit.Multiplier()) }

// appendTime appends a time of day.
func appendTime(dst []byte, v int64, unit arrow.TimeUnit) []byte {
	if v < 0 {
		return appendDuration(dst, v, unit)
	}
	per := perSecond(unit)
	return appendClock(dst, v/per, v%per, unit)
}

// appendDuration appends days, and hours, minutes and seconds, as SQL casts an interval to a string.
func appendDuration(dst []byte, v int64, unit arrow.TimeUnit) []byte {
	const daySeconds = 86400
	per := perSecond(unit)
	days, seconds, fraction := v/per/daySeconds, v/per%daySeconds, v%per
	if days != 0 {
		if dst = timeformat.AppendInterval(dst, 0, days, 0); seconds == 0 && fraction == 0 {
			return dst
		}
		dst = append(dst, ' ')
	}
	if seconds < 0 || fraction < 0 {
		dst, seconds, fraction = append(dst, '-'), -seconds, -fraction
	}
	return appendClock(dst, seconds, fraction, unit)
}

// appendTimestamp appends a moment: as it is without a zone (nil), else in the zone, with its
// offset.
func appendTimestamp(dst []byte, v int64, unit arrow.TimeUnit, zone *time.Location) []byte {
	if word := timeformat.Infinity(v, timeformat.InfiniteTime); word != "" {
		return append(dst, word...)
	}
	per := perSecond(unit)
	seconds := digits.FloorDiv(v, per)
	fraction := v - seconds*per
	t := time.Unix(seconds, 0).UTC()
	if zone != nil {
		t = t.In(zone)
	}
	dst = timeformat.AppendDay(dst, t)
	dst = append(dst, 'T')
	hour, minute, second := t.Clock()
	dst = appendClock(dst, int64(hour*3600+minute*60+second), fraction, unit)
	if zone != nil {
		dst = appendOffset(dst, t)
	}
	return dst
}

// appendOffset appends Z, +hh:mm or, for zones of before railways, +hh:mm:ss.
func appendOffset(dst []byte, t time.Time) []byte {
	_, offset := t.Zone()
	if offset == 0 {
		return append(dst, 'Z')
	}
	sign := byte('+')
	if offset < 0 {
		sign, offset = '-', -offset
	}
	dst = append(dst, sign)
	dst = digits.AppendPadded(dst, uint64(offset/3600), 2)
	dst = append(dst, ':')
	dst = digits.AppendPadded(dst, uint64(offset/60%60), 2)
	if offset%60 != 0 {
		dst = append(dst, ':')
		dst = digits.AppendPadded(dst, uint64(offset%60), 2)
	}
	return dst
}

// appendBlob appends printable ASCII as it is and other bytes, and backslashes, as \xHH.
func appendBlob(dst, value []byte) []byte {
	for _, c := range value {
		if c >= ' ' && c < 0x7f && c != '\\' {
			dst = append(dst, c)
		} else {
			dst = append(dst, '\\', 'x', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return dst
}

const hexDigits = "0123456789ABCDEF"
