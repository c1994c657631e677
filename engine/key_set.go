package engine

import (
	"math/bits"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/bitutil"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/vector"
)

// keySet is the values of a key of a build side: integers, dates or times. A row whose value is not in the set has no
// partner, and other rows may have one.
type keySet struct {
	memory rowdata.Memory
	column int // of the keys
	least  int64
	has    []uint64    // a bit for each value from least on
	nulls  atomic.Bool // a NULL is in the set

	nullsEqual bool // a NULL is equal to NULL
}

// A set takes up to keySetBytes for each row, or up to keySetMin bytes, or, of a side that goes to partitions, up to
// 1/keySetShare of the memory that is left; and it has at most half of the values from its least to its greatest, or it
// would leave out few rows.
const (
	keySetBytes = 8
	keySetMin   = 1 << 16
	keySetShare = 8
)

// newKeySet returns an empty set for the values of a key of a range; nil where the key has none.
func newKeySet(m rowdata.Memory, ends *keyRange, key int, rows int64, nullsEqual bool) *keySet {
	if ends.unsuited || ends.least.from == nil {
		return nil
	}
	s := emptyKeySet(m, key, ends.least.value, ends.greatest.value, max(keySetBytes*rows, keySetMin))
	if s != nil {
		s.nullsEqual = nullsEqual
	}
	return s
}

// emptyKeySet returns a set for values of a range, without any; nil where it would take more than a number of bytes.
func emptyKeySet(m rowdata.Memory, key int, least, greatest, bytesMost int64) *keySet {
	words := int64((uint64(greatest)-uint64(least))/64 + 1) // of a difference that may be more than an int64 has
	if words > bytesMost/8 || m.Left() < 2*8*words {
		return nil
	}
	s := &keySet{memory: m, column: key, least: least, has: m.Alloc(int(words))}
	clear(s.has)
	return s
}

// add adds the values of an array; the packing of keys tells of others than the set's range has. Any goroutine may call
// it.
func (s *keySet) add(keys arrow.Array) {
	values, _ := vector.Integers(keys)
	hasNulls := scan.NullCount(keys) > 0
	for row, v := range values {
		if hasNulls && keys.IsNull(row) {
			s.nulls.Store(s.nullsEqual)
			continue
		}
		at := uint64(v - s.least)
		if at>>6 >= uint64(len(s.has)) {
			continue
		}
		if word, bit := &s.has[at>>6], uint64(1)<<(at&63); atomic.LoadUint64(word)&bit == 0 {
			atomic.OrUint64(word, bit)
		}
	}
}

// isDense says whether the set would leave out few rows.
func (s *keySet) isDense() bool {
	values := 0
	for _, w := range s.has {
		values += bits.OnesCount64(w)
	}
	return values > 64*len(s.has)/2
}

func (s *keySet) release() { s.memory.Free(s.has) }

// leave clears the bits of the rows whose keys are not in the set.
func (s *keySet) leave(keys arrow.Array, selected []byte) {
	values, _ := vector.Integers(keys)
	hasNulls := scan.NullCount(keys) > 0
	for row, v := range values {
		is := false
		if at := uint64(v - s.least); at>>6 < uint64(len(s.has)) {
			is = s.has[at>>6]>>(at&63)&1 != 0
		}
		if hasNulls && keys.IsNull(row) {
			is = s.nulls.Load()
		}
		if !is {
			bitutil.ClearBit(selected, row)
		}
	}
}
