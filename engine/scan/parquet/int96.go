package parquet

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
)

// An INT96 is the nanoseconds of a day, and the number of the day, counted as Julius Scaliger did.
const (
	int96Bytes    = 12
	julianEpoch   = 2_440_588 // the day 1970-01-01
	microsOfADay  = 86_400_000_000
	daysInMicros  = math.MaxInt64/microsOfADay - 1
	nanosOfMicros = 1000
)

// int96Type returns the type of a column of INT96: microseconds, as DuckDB has it, since nanoseconds end in 2262, and
// writers put years to 9999 there.
func int96Type(t arrow.DataType) arrow.DataType {
	if written, ok := t.(*arrow.TimestampType); ok {
		return &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: written.TimeZone}
	}
	return t
}

// int96Micros converts plain values to microseconds since 1970, earlier ones rounded down.
func int96Micros(out []int64, plain []byte) {
	for i := range out {
		v := plain[int96Bytes*i:]
		nanos := int64(binary.LittleEndian.Uint64(v))
		days := int64(int32(binary.LittleEndian.Uint32(v[8:]))) - julianEpoch
		micros := nanos / nanosOfMicros
		if nanos < 0 && nanos%nanosOfMicros != 0 {
			micros--
		}
		if days > daysInMicros || days < -daysInMicros || micros > microsOfADay || micros < -microsOfADay {
			panic(fmt.Errorf("a timestamp of type INT96 is %d days and %d ns from 1970-01-01, beyond the range of TIMESTAMP; "+
				"the other columns can be read", days, nanos))
		}
		out[i] = days*microsOfADay + micros
	}
}
