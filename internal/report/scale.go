package report

import (
	"math"
	"strconv"
	"strings"
	"time"
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

// timeSteps are the steps between round times from ten seconds on; page.js has the same.
var timeSteps = []time.Duration{
	10 * time.Second, 20 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute,
	20 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour,
}

// timeTicks returns round times from 0 to a length, most or fewer behind the first.
func timeTicks(length time.Duration, most int) (list []time.Duration) {
	step := timeStep(length, time.Duration(most))
	for at := time.Duration(0); at <= length; at += step {
		list = append(list, at)
	}
	return list
}

// timeStep returns the least round time that a length has at most so many times.
func timeStep(length, most time.Duration) time.Duration {
	for unit := time.Duration(1); unit < timeSteps[0]; unit *= 10 {
		for _, step := range []time.Duration{unit, 2 * unit, 5 * unit} {
			if length/step <= most {
				return step
			}
		}
	}
	for _, step := range timeSteps {
		if length/step <= most {
			return step
		}
	}
	return length
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

// Value writes a measured value with four digits.
func Value(v float64) string {
	if v != 0 && (math.Abs(v) >= 1e7 || math.Abs(v) < 1e-3) {
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	digits := 0
	if v != 0 {
		digits = max(0, 3-int(math.Floor(math.Log10(math.Abs(v)))))
	}
	text := strconv.FormatFloat(v, 'f', digits, 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}
