package nested

import (
	"encoding/binary"

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
