package lake

import (
	"encoding/binary"
	"math"
	"math/big"
	"math/bits"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/scan/internal/predicate"
)

// boundOf reads a bound of a manifest (the table spec, "Binary single-value serialization"); nil where it bounds
// nothing. L3.
func boundOf(b []byte, t arrow.DataType) *predicate.Value {
	family, _, nanos := predicate.FamilyOf(t)
	v := predicate.Value{Family: family}
	switch n := len(b); {
	case b == nil:
		return nil
	case t.ID() == arrow.DECIMAL128:
		if n == 0 || n > 16 {
			return nil
		}
		wide := new(big.Int).SetBytes(b)
		if b[0]&0x80 != 0 {
			wide.Sub(wide, new(big.Int).Lsh(big.NewInt(1), uint(8*n)))
		}
		v = predicate.BigValue(family, wide)
	case family == predicate.BytesFamily:
		v.Bytes = b
	case family == predicate.BoolFamily && n == 1:
		v.Integer = int64(b[0])
	case family == predicate.FloatFamily && n == 4:
		v.Float = float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
	case family == predicate.FloatFamily && n == 8:
		v.Float = math.Float64frombits(binary.LittleEndian.Uint64(b))
	case n == 4 && (nanos == 0 || t.ID() == arrow.DATE32): // of an int that has become a long, too
		v.Integer = int64(int32(binary.LittleEndian.Uint32(b)))
	case n == 8 && t.ID() != arrow.DATE32:
		v.Integer = int64(binary.LittleEndian.Uint64(b))
	default:
		return nil
	}
	if v.IsNaN() {
		return nil
	}
	return &v
}

// avroValue returns a value of a partition as a value of a column of a type.
func avroValue(value any, t arrow.DataType) *predicate.Value {
	family, _, _ := predicate.FamilyOf(t)
	v := predicate.Value{Family: family}
	switch value := value.(type) {
	case bool:
		if value {
			v.Integer = 1
		}
	case int64:
		v.Integer = value
	case float64:
		v.Float = value
	case []byte:
		if family != predicate.BytesFamily {
			return boundOf(value, t)
		}
		v.Bytes = value
	default:
		return nil
	}
	return &v
}

// partitionBounds returns what a value of a partition says of the column that it is made of.
func partitionBounds(transform string, value any, t arrow.DataType) (b predicate.Bounds) {
	name, width := transformOf(transform)
	if value == nil { // each transform makes NULL of NULL, and of nothing else
		switch name {
		case "identity", "bucket", "truncate", "year", "month", "day", "hour":
			b.AllNulls = true
		}
		return b
	}
	b.NoNulls = name != "void"
	if name == "identity" {
		b.Low = avroValue(value, t)
		b.High = b.Low
		return b
	}
	n, isNumber := value.(int64)
	family, _, nanos := predicate.FamilyOf(t)
	switch {
	case name == "truncate" && arrow.IsInteger(t.ID()) && isNumber && n <= math.MaxInt64-width:
		b.Low = &predicate.Value{Family: family, Integer: n}
		b.High = &predicate.Value{Family: family, Integer: n + width - 1}
	case name == "truncate" && family == predicate.BytesFamily:
		prefix, _ := value.([]byte)
		b.Low = &predicate.Value{Family: family, Bytes: prefix}
	case isNumber && nanos > 0:
		from, to, ok := period(name, n)
		unit := nanos / int64(time.Microsecond)
		switch {
		case !ok:
		case t.ID() == arrow.DATE32:
			b.Low = &predicate.Value{Family: family, Integer: from.Unix() / daySeconds}
			b.High = &predicate.Value{Family: family, Integer: to.Unix()/daySeconds - 1}
		case unit == 1:
			b.Low = &predicate.Value{Family: family, Integer: from.UnixMicro()}
			b.High = &predicate.Value{Family: family, Integer: to.UnixMicro() - 1}
		}
	}
	return b
}

const daySeconds = 24 * 3600

// period returns the time that a number of years, months, days or hours since 1970 is.
func period(name string, n int64) (from, to time.Time, ok bool) {
	const most = 10_000 * 366 * 24 // hours: 10,000 years
	if n < -most || n > most {
		return from, to, false
	}
	at := func(years, months, days, hours int64) time.Time {
		return time.Date(1970+int(years), 1+time.Month(months), 1+int(days), int(hours), 0, 0, 0, time.UTC)
	}
	switch name {
	case "year":
		return at(n, 0, 0, 0), at(n+1, 0, 0, 0), n < 10_000
	case "month":
		return at(0, n, 0, 0), at(0, n+1, 0, 0), n < 12*10_000
	case "day":
		return at(0, 0, n, 0), at(0, 0, n+1, 0), true
	case "hour":
		return at(0, 0, 0, n), at(0, 0, 0, n+1), true
	}
	return from, to, false
}

// transformOf takes a transform such as bucket[16] apart.
func transformOf(text string) (name string, width int64) {
	name, rest, _ := strings.Cut(text, "[")
	width, _ = strconv.ParseInt(strings.TrimSuffix(rest, "]"), 10, 64)
	return name, width
}

// bucketOf returns the bucket of a value, of n (the table spec, "Bucket transform details").
func bucketOf(v *predicate.Value, t arrow.DataType, n int64) (bucket int64, ok bool) {
	var of []byte
	switch _, _, nanos := predicate.FamilyOf(t); {
	case v.Family == predicate.BytesFamily && t.ID() != arrow.FIXED_SIZE_BINARY:
		of = v.Bytes
	case t.ID() == arrow.DECIMAL128:
		wide := v.Wide
		if wide == nil {
			wide = big.NewInt(v.Integer)
		}
		of = twosComplement(wide)
	case arrow.IsInteger(t.ID()) || t.ID() == arrow.DATE32 || nanos == int64(time.Microsecond):
		of = binary.LittleEndian.AppendUint64(nil, uint64(v.Integer))
	default:
		return 0, false
	}
	if n < 1 || v.Wide != nil && t.ID() != arrow.DECIMAL128 {
		return 0, false
	}
	return int64(murmur3(of)&math.MaxInt32) % n, true
}

// twosComplement returns the fewest bytes of a number, the highest first.
func twosComplement(n *big.Int) []byte {
	if n.Sign() >= 0 {
		b := n.Bytes()
		if len(b) == 0 || b[0]&0x80 != 0 {
			b = append([]byte{0}, b...)
		}
		return b
	}
	size := new(big.Int).Not(n).BitLen()/8 + 1
	return new(big.Int).Add(n, new(big.Int).Lsh(big.NewInt(1), uint(8*size))).FillBytes(make([]byte, size))
}

// murmur3 is the hash MurmurHash3 of 32 bits by Appleby, of the seed 0.
func murmur3(data []byte) uint32 {
	const c1, c2 = 0xcc9e2d51, 0x1b873593
	h, size := uint32(0), uint32(len(data))
	mix := func(k uint32) uint32 { return bits.RotateLeft32(k*c1, 15) * c2 }
	for ; len(data) >= 4; data = data[4:] {
		h = bits.RotateLeft32(h^mix(binary.LittleEndian.Uint32(data)), 13)*5 + 0xe6546b64
	}
	var tail uint32
	for i, b := range data {
		tail |= uint32(b) << (8 * i)
	}
	if len(data) > 0 {
		h ^= mix(tail)
	}
	h ^= size
	h = (h ^ h>>16) * 0x85ebca6b
	h = (h ^ h>>13) * 0xc2b2ae35
	return h ^ h>>16
}
