package vector

import (
	"math"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// Integers returns the integers, dates and times of an array, or of the entries that a dictionary array names: any
// number for a NULL, and the greatest int64 in place of greater numbers. ok is false of another type. The values may
// be the array's own.
func Integers(a arrow.Array) (values []int64, ok bool) {
	switch a := a.(type) {
	case *array.Int8:
		return widened(a.Int8Values()), true
	case *array.Int16:
		return widened(a.Int16Values()), true
	case *array.Int32:
		return widened(a.Int32Values()), true
	case *array.Int64:
		return a.Int64Values(), true
	case *array.Uint8:
		return widened(a.Uint8Values()), true
	case *array.Uint16:
		return widened(a.Uint16Values()), true
	case *array.Uint32:
		return widened(a.Uint32Values()), true
	case *array.Date32:
		return widened(a.Date32Values()), true
	case *array.Time32:
		return widened(a.Time32Values()), true
	case *array.Time64:
		return asInt64(a.Time64Values()), true
	case *array.Timestamp:
		return asInt64(a.TimestampValues()), true
	case *array.Duration:
		return asInt64(a.DurationValues()), true
	case *array.Uint64:
		return capped(a.Uint64Values()), true
	case *array.Dictionary:
		return named(a)
	}
	return nil, false
}

func widened[T ~int8 | ~int16 | ~int32 | ~uint8 | ~uint16 | ~uint32](of []T) []int64 {
	values := make([]int64, len(of))
	for i, v := range of {
		values[i] = int64(v)
	}
	return values
}

// asInt64 returns the same memory.
func asInt64[T ~int64](of []T) []int64 {
	return unsafe.Slice((*int64)(unsafe.Pointer(unsafe.SliceData(of))), len(of))
}

// capped returns numbers, and the greatest int64 in place of greater ones.
func capped(of []uint64) []int64 {
	values := make([]int64, len(of))
	for i, v := range of {
		values[i] = int64(min(v, math.MaxInt64))
	}
	return values
}

// named returns the integers that a dictionary array names.
func named(a *array.Dictionary) ([]int64, bool) {
	entries, ok := Integers(a.Dictionary())
	if !ok {
		return nil, false
	}
	values := make([]int64, a.Len())
	for row := range values {
		if a.IsValid(row) {
			values[row] = entries[a.GetValueIndex(row)]
		}
	}
	return values, true
}
