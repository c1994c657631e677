package nested

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// An interval is its length in 16 bytes, which puts intervals in order, its months and its days. A month has 30
// days.
const (
	intervalBytes = lengthBytes + 8
	lengthBytes   = 16
	dayMicros     = 86_400_000_000
)

// AppendInterval writes an interval. months and days must fit 32 bits.
func AppendInterval(dst []byte, months, days, micros int64) []byte {
	whole := decimal128.FromI64(months*30 + days).Mul(decimal128.FromI64(dayMicros))
	wide := Layout{Form: Fixed, Width: lengthBytes, Signed: true}
	dst = wide.AppendWide(dst, whole.Add(decimal128.FromI64(micros)))
	dst = binary.BigEndian.AppendUint32(dst, uint32(months)^1<<31)
	return binary.BigEndian.AppendUint32(dst, uint32(days)^1<<31)
}

// IntervalOf returns the interval that AppendInterval has written.
func IntervalOf(s string) (months, days, micros int64) {
	rest := []byte(s[lengthBytes:intervalBytes])
	months = int64(int32(binary.BigEndian.Uint32(rest) ^ 1<<31))
	days = int64(int32(binary.BigEndian.Uint32(rest[4:]) ^ 1<<31))
	wide := Layout{Form: Fixed, Width: lengthBytes, Signed: true}
	whole := decimal128.FromI64(months*30 + days).Mul(decimal128.FromI64(dayMicros))
	return months, days, int64(wide.Wide(s).Sub(whole).LowBits())
}

// LengthOf returns the bytes of an interval that are equal of equal intervals, and in the order of intervals.
func LengthOf(s string) string { return s[:lengthBytes] }

// AppendEqual writes a value of a layout with one interval in place of all that are equal to each: of the most months,
// and then of the most days. Values are in the same order, and equal ones have the same bytes.
func (l *Layout) AppendEqual(dst []byte, s string) []byte {
	switch {
	case l.Form == Fixed && l.Width == intervalBytes:
		wide := Layout{Form: Fixed, Width: lengthBytes, Signed: true}
		whole := wide.Wide(s)
		var parts [2]int64 // months, days
		for i, micros := range []int64{30 * dayMicros, dayMicros} {
			unit := decimal128.FromI64(micros)
			count, _ := whole.Div(unit)
			parts[i] = int64(math.MaxInt32)
			if count.FitsInPrecision(10) {
				parts[i] = min(max(int64(count.LowBits()), math.MinInt32), math.MaxInt32)
			} else if count.Sign() < 0 {
				parts[i] = math.MinInt32
			}
			whole = whole.Sub(unit.Mul(decimal128.FromI64(parts[i])))
		}
		return AppendInterval(dst, parts[0], parts[1], int64(whole.LowBits()))
	case l.Form == Struct:
		for _, part := range l.Parts {
			dst, s = part.appendEqualPart(dst, s)
		}
		return dst
	case l.Form == List:
		for s[0] != End {
			dst, s = l.Parts[0].appendEqualPart(dst, s)
		}
		return append(dst, End)
	}
	return append(dst, s...)
}

func (l *Layout) appendEqualPart(dst []byte, s string) (_ []byte, rest string) {
	value, mark, rest := l.Part(s)
	if dst = append(dst, mark); mark == Some {
		dst = l.AppendEqual(dst, value)
	}
	return dst, rest
}

// HoldsIntervals says whether values of a type are intervals, or have parts that are.
func HoldsIntervals(dt arrow.DataType) bool {
	switch dt := dt.(type) {
	case *Type:
		return HoldsIntervals(dt.Of)
	case *arrow.DictionaryType:
		return HoldsIntervals(dt.ValueType)
	case arrow.NestedType:
		return slices.ContainsFunc(dt.Fields(), func(f arrow.Field) bool { return HoldsIntervals(f.Type) })
	}
	return dt.ID() == arrow.INTERVAL_MONTH_DAY_NANO
}

func intervalWriter(a *array.MonthDayNanoInterval) Writer {
	return func(dst []byte, row int) []byte {
		v := a.Value(row)
		return AppendInterval(dst, int64(v.Months), int64(v.Days), v.Nanoseconds/1000)
	}
}

// intervalReader appends intervals. Arrow's have nanoseconds: 64 bits hold 292 years.
func intervalReader(b *array.MonthDayNanoIntervalBuilder) reader {
	return func(s string) {
		months, days, micros := IntervalOf(s)
		nanos, ok := micros*1000, micros > -nanosMax/1000 && micros < nanosMax/1000
		if !ok { // the whole days of the microseconds are days
			days, nanos = days+micros/dayMicros, micros%dayMicros*1000
		}
		b.Append(arrow.MonthDayNanoInterval{Months: int32(months), Days: int32(days), Nanoseconds: nanos})
	}
}

const nanosMax = 1<<63 - 1
