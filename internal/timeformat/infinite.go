package timeformat

import (
	"math"
	"strings"
)

// The dates and timestamps that stand for infinity, as DuckDB has them: the greatest numbers, and their negatives.
const (
	InfiniteDays = math.MaxInt32 // of a DATE
	InfiniteTime = math.MaxInt64 // of a TIMESTAMP, in microseconds or nanoseconds
)

// YearMax bounds the years of dates in texts, and their negatives, so that days fit 32 bits.
const YearMax = 5_877_000

// InfinitySign returns 1 of a number that is infinite, -1 of its negative, and 0 of others.
func InfinitySign(v, infinite int64) int64 {
	switch v {
	case infinite:
		return 1
	case -infinite:
		return -1
	}
	return 0
}

// Infinity returns the word for a number that stands for infinity, which is infinite or its negative; "" for others.
func Infinity(v, infinite int64) string {
	return [...]string{"-infinity", "", "infinity"}[1+InfinitySign(v, infinite)]
}

// ParseInfinity is the inverse of Infinity, of words in any case: it returns 1, -1 or, for other texts, 0.
func ParseInfinity(text string) int64 {
	switch strings.ToLower(text) {
	case "infinity":
		return 1
	case "-infinity":
		return -1
	}
	return 0
}
