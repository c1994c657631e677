package main

import (
	"math"
	"math/rand/v2"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// keyShape says what the key columns of a table are.
type keyShape string

const (
	intKey    keyShape = "int64"     // k, from 0 to groups - 1
	stringKey keyShape = "utf8"      // k, of 12 bytes
	twoKeys   keyShape = "two-int32" // k1 and k2, k = k1 * side + k2
	nullKeys  keyShape = "nullable"  // k, NULL in a tenth of the rows
)

func (t table) keyNames() []string {
	if t.keys == twoKeys {
		return []string{"k1", "k2"}
	}
	return []string{"k"}
}

// keyColumns makes the table's key columns of the generator's key.
func (t table) keyColumns(key arrow.Array, block int) []arrow.Array {
	switch t.keys {
	case twoKeys:
		side := int64(math.Ceil(math.Sqrt(float64(t.groups))))
		return []arrow.Array{
			int32s(key, func(k int64) int64 { return k / side }),
			int32s(key, func(k int64) int64 { return k % side }),
		}
	case nullKeys:
		return []arrow.Array{withNulls(key.(*array.Int64), block)}
	}
	return []arrow.Array{key}
}

func int32s(key arrow.Array, part func(int64) int64) arrow.Array {
	b := array.NewInt32Builder(memory.DefaultAllocator)
	b.Reserve(key.Len())
	for _, k := range key.(*array.Int64).Int64Values() {
		b.UnsafeAppend(int32(part(k)))
	}
	return b.NewArray()
}

// withNulls makes a random tenth of a block's keys NULL.
func withNulls(key *array.Int64, block int) arrow.Array {
	random := rand.NewPCG(1, uint64(block))
	valid := make([]bool, key.Len())
	for i := range valid {
		valid[i] = random.Uint64()%10 != 0
	}
	b := array.NewInt64Builder(memory.DefaultAllocator)
	b.AppendValues(key.Int64Values(), valid)
	return b.NewArray()
}
