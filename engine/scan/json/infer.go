package json

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/scan/internal/fields"
)

// valueSet is a set of kinds of values that a sample has.
type valueSet uint8

const (
	hasBool valueSet = 1 << iota
	hasInteger
	hasHuge  // an integer beyond 64 bits, of at most fields.HugeDigits
	hasWhole // an integer of more digits
	hasExact // an integer that is no double
	hasDouble
	hasString
	hasNested
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

// columnGuess is what a sample says of a column.
type columnGuess struct {
	values  valueSet
	others  formatSet // that some string of the sample does not have
	strings fields.Distinct
	varied  bool // strings has too many values to repeat
}

// add notes a value that is not NULL.
func (g *columnGuess) add(k kind, value []byte, rowsMax int) {
	switch k {
	case kindBool:
		g.values |= hasBool
	case kindNumber:
		g.values |= numberOf(value)
	case kindNested:
		g.values |= hasNested
	case kindString:
		g.values |= hasString
		g.others |= allFormats &^ formatOf(value)
	}
	if k == kindString && !g.varied {
		g.varied = !g.strings.Add(value, rowsMax)
	}
}

// join adds what the sample of another file says.
func (g *columnGuess) join(o *columnGuess) {
	g.values |= o.values
	g.others |= o.others
}

// typ returns the type that DuckDB's read_json would give to the column, but that integers beyond 64 bits are HUGEINT,
// or text, where DuckDB has doubles, which make different ones equal. HUGEINT is a decimal of 38 digits.
// Nested values, strings beside other values, and no values at all are text.
func (g *columnGuess) typ() arrow.DataType {
	formats := allFormats &^ g.others
	switch {
	case g.values == hasBool:
		return arrow.FixedWidthTypes.Boolean
	case g.values != 0 && g.values&^numbers == 0:
		switch {
		case g.values&hasDouble == 0 && g.values&hasWhole != 0, g.values&hasDouble != 0 && g.values&hasExact != 0:
			// as doubles, some may be equal
			return arrow.BinaryTypes.String
		case g.values&hasDouble != 0:
			return arrow.PrimitiveTypes.Float64
		case g.values&hasHuge != 0:
			return &arrow.Decimal128Type{Precision: fields.HugeDigits}
		}
		return arrow.PrimitiveTypes.Int64
	case g.values != hasString || formats == 0:
		return arrow.BinaryTypes.String
	case formats&isDate != 0:
		return arrow.FixedWidthTypes.Date32
	case formats&isTime != 0:
		return arrow.FixedWidthTypes.Time64us
	case formats&isZoned != 0:
		return &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}
	}
	return &arrow.TimestampType{Unit: arrow.Microsecond}
}

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
