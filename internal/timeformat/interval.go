package timeformat

import "strconv"

// AppendInterval appends an interval as SQL casts it to a string: 1 year 2 months 3 days 04:05:06.7.
func AppendInterval(dst []byte, months, days, micros int64) []byte {
	from := len(dst)
	for _, part := range []struct {
		count int64
		unit  string
	}{{months / 12, "year"}, {months % 12, "month"}, {days, "day"}} {
		if part.count == 0 {
			continue
		}
		if len(dst) > from {
			dst = append(dst, ' ')
		}
		dst = append(append(strconv.AppendInt(dst, part.count, 10), ' '), part.unit...)
		if part.count != 1 && part.count != -1 {
			dst = append(dst, 's')
		}
	}
	if micros == 0 && len(dst) > from {
		return dst
	}
	if len(dst) > from {
		dst = append(dst, ' ')
	}
	size := uint64(micros)
	if micros < 0 {
		dst, size = append(dst, '-'), -size
	}
	return AppendClock(dst, int64(size/1e6), int64(size%1e6), microDigits)
}

// microDigits is how many digits behind the point microseconds have.
const microDigits = 6
