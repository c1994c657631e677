package json

import (
	"github.com/mpga/mpga/engine/scan/internal/fields"
)

// valueSet is a set of kinds of values that a sample has.
type valueSet uint16

const (
	hasBool valueSet = 1 << iota
	hasInteger
	hasHuge  // an integer beyond 64 bits, of at most fields.HugeDigits
	hasWhole // an integer of more digits
	hasExact // an integer that is no double
	hasDouble
	hasString
	hasObject
	hasArray
	hasDeep // an object or an array deeper than depthMax
	numbers = hasInteger | hasHuge | hasWhole | hasExact | hasDouble
)

// formatSet is a set of the types that strings are written in.
type formatSet uint8

const (
	isDate formatSet = 1 << iota
	isTime
	isTimestamp
	isZoned
	allFormats = isZoned<<1 - 1
)

// numberOf returns the kinds of a number.
func numberOf(value []byte) valueSet {
	digits := fields.WholeDigits(value)
	if digits == 0 {
		return hasDouble
	}
	set := hasHuge
	if _, ok := fields.ParseInt(value); ok {
		set = hasInteger
	} else if digits > fields.HugeDigits {
		set = hasWhole
	}
	if f, _ := fields.ParseFloat(value); !fields.KeepsDigits(f, value) {
		set |= hasExact
	}
	return set
}

// formatOf returns the types that a string is written in; none of others.
func formatOf(value []byte) formatSet {
	const micro = 1000 // nanoseconds
	if nanos, rest, ok := fields.ParseTimeOfDay(value); ok {
		if len(rest) == 0 && nanos%micro == 0 {
			return isTime
		}
		return 0
	}
	at, ok := fields.ParseTimestamp(value)
	if _, fits := at.In(micro); !ok || !fits && !at.IsDay {
		return 0
	}
	switch {
	case at.IsInfinite():
		return isDate | isTimestamp | isZoned
	case at.IsDay:
		return isDate
	case at.Zoned:
		return isZoned
	}
	return isTimestamp
}
