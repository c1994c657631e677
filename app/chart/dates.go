package chart

import (
	"math"
	"time"
)

// dateSteps are steps between ticks of days and less, in seconds.
var dateSteps = []float64{1, 5, 15, 30, 60, 300, 900, 1800, 3600, 10800, 21600, 43200, 86400, 172800, 604800}

// monthSteps are steps between ticks of months and more, in months.
var monthSteps = []int{1, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 6000, 12000}

const monthSeconds = 30.44 * 86400

// dateTicks returns round moments from low to high, in seconds since 1970, not many more than most of
// them, and how they are written.
func dateTicks(low, high float64, most int) (list []float64, text func(float64) string) {
	for _, step := range dateSteps {
		if (high-low)/step > float64(most) {
			continue
		}
		for v := math.Ceil(low/step) * step; v <= high; v += step {
			list = append(list, v)
		}
		return list, func(v float64) string {
			t := moment(v)
			switch {
			case t.Truncate(24 * time.Hour).Equal(t):
				return t.Format("2006-01-02")
			case step < 60:
				return t.Format("15:04:05")
			}
			return t.Format("15:04")
		}
	}
	step := monthSteps[len(monthSteps)-1]
	for _, s := range monthSteps {
		if (high-low)/monthSeconds/float64(s) <= float64(most) {
			step = s
			break
		}
	}
	from := moment(low)
	month := (from.Year()*12 + int(from.Month()) - 1) / step * step
	for ; len(list) <= 2*most; month += step {
		v := float64(time.Date(month/12, time.Month(month%12+1), 1, 0, 0, 0, 0, time.UTC).Unix())
		if v > high {
			break
		}
		if v >= low {
			list = append(list, v)
		}
	}
	if step >= 12 {
		return list, func(v float64) string { return moment(v).Format("2006") }
	}
	return list, func(v float64) string { return moment(v).Format("2006-01") }
}

// dateText writes a moment, without the clock at midnight.
func dateText(v float64) string {
	t := moment(v)
	if t.Truncate(24 * time.Hour).Equal(t) {
		return t.Format("2006-01-02")
	}
	return t.Format("2006-01-02 15:04:05")
}

func moment(v float64) time.Time {
	seconds := math.Floor(v)
	return time.Unix(int64(seconds), int64((v-seconds)*1e9)).UTC()
}
