package parquet

import (
	"encoding/binary"

	"github.com/apache/arrow-go/v18/arrow"
)

// intervalBytes is the width of an INTERVAL of Parquet: months, days and milliseconds, each of 32 bits without a sign.
const intervalBytes = 12

// intervals converts plain values of Parquet's INTERVAL. Months and days from 1<<31 on are negative, as no writer has
// them but for that.
func intervals(out []arrow.MonthDayNanoInterval, plain []byte) {
	for i := range out {
		v := plain[intervalBytes*i:]
		out[i] = arrow.MonthDayNanoInterval{
			Months:      int32(binary.LittleEndian.Uint32(v)),
			Days:        int32(binary.LittleEndian.Uint32(v[4:])),
			Nanoseconds: int64(binary.LittleEndian.Uint32(v[8:])) * 1_000_000,
		}
	}
}
