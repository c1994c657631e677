package chart

import (
	"math"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"
)

// scale maps values to a picture.
type scale struct {
	low, high  float64 // values
	begin, end float64 // places
	log        int     // base; 0 is linear
}

func (s *scale) at(value float64) float64 {
	low, high := s.low, s.high
	if s.log > 0 {
		value, low, high = math.Log(value), math.Log(low), math.Log(high)
	}
	return s.begin + (value-low)/(high-low)*(s.end-s.begin)
}

// widen makes room around the values; of a linear scale of values, from 0 on.
func (s *scale) widen(fromZero bool) {
	switch {
	case s.log > 0:
		s.low, s.high = s.low/1.15, s.high*1.15
	case fromZero:
		s.low, s.high = min(s.low*1.05, 0), max(s.high*1.05, 0)
	}
	if s.low == s.high {
		s.high++
	}
}

// ticks returns round values of a scale, not much more than most of them.
func (s *scale) ticks(most int) (list []float64) {
	if s.log > 0 {
		if list = s.powers(most); len(list) > 2 {
			return list
		}
	}
	if s.log > 0 && s.high/s.low > float64(most) {
		return s.parts()
	}
	unit := math.Pow(10, math.Floor(math.Log10((s.high-s.low)/float64(most))))
	step := unit
	for _, times := range []float64{2, 5, 10} {
		if (s.high-s.low)/step > float64(most) {
			step = unit * times
		}
	}
	for v := math.Ceil(s.low/step) * step; v <= s.high+step/1e6; v += step {
		list = append(list, math.Round(v/step)*step)
	}
	return list
}

// powers returns powers of the base.
func (s *scale) powers(most int) (list []float64) {
	base := float64(s.log)
	low, high := math.Ceil(math.Log(s.low)/math.Log(base)-1e-9), math.Floor(math.Log(s.high)/math.Log(base)+1e-9)
	step := max(1, math.Ceil((high-low+1)/float64(most)))
	for e := low; e <= high; e += step {
		list = append(list, math.Pow(base, e))
	}
	return list
}

// parts returns 1, 2 and 5 times powers of ten.
func (s *scale) parts() (list []float64) {
	for e := math.Floor(math.Log10(s.low)); e <= math.Log10(s.high); e++ {
		for _, times := range []float64{1, 2, 5} {
			if v := times * math.Pow(10, e); v >= s.low && v <= s.high {
				list = append(list, v)
			}
		}
	}
	return list
}

// tick writes the value of a tick: a power, or a number.
func tick(v float64, log int) string {
	if log == 2 || log == 10 && (v >= 1e4 || v < 1e-2) {
		if e := math.Log(v) / math.Log(float64(log)); math.Abs(e-math.Round(e)) < 1e-6 {
			return strconv.Itoa(log) + superscript(int(math.Round(e)))
		}
	}
	return Value(v)
}

func superscript(n int) string {
	var text strings.Builder
	for _, digit := range strconv.Itoa(n) {
		if digit == '-' {
			text.WriteRune('⁻')
			continue
		}
		text.WriteRune([]rune("⁰¹²³⁴⁵⁶⁷⁸⁹")[digit-'0'])
	}
	return text.String()
}

// Value writes a measured value with four digits, and with marks of thousands from five digits on.
func Value(v float64) string {
	if v != 0 && (math.Abs(v) >= 1e10 || math.Abs(v) < 1e-3) {
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	digits := 0
	if v != 0 {
		digits = max(0, 3-int(math.Floor(math.Log10(math.Abs(v)))))
	}
	text := strconv.FormatFloat(v, 'f', digits, 64)
	if strings.Contains(text, ".") {
		return strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	if math.Abs(v) < 1e4 {
		return text
	}
	return humanize.Comma(int64(v))
}
