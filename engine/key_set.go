package engine

import (
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/bitutil"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/vector"
)

// keySet is the values of one of several keys of a build side: integers, dates or times. A row whose value is in none
// of the sets has no partner, and other rows may have one.
type keySet struct {
	memory rowdata.Memory
	column int // of the keys
	least  int64
	has    []uint64 // a bit for each value from least on
	nulls  bool     // a NULL is in the set
}

// A set takes up to keySetBytes for each row, or up to keySetMin bytes; and it has at most half of the values from its
// least to its greatest, or it would leave out few rows.
const (
	keySetBytes = 8
	keySetMin   = 1 << 16
)

// newKeySet returns the set of a key's values; nil where the key has no set, or one that leaves out few rows.
func newKeySet(m rowdata.Memory, batches []arrow.RecordBatch, key int, rows int64, nullsEqual bool) *keySet {
	var ends keyRange
	nulls := false
	for _, b := range batches {
		keys := b.Column(key)
		if !ends.add(keys) {
			return nil
		}
		nulls = nulls || scan.NullCount(keys) > 0
	}
	if ends.least.from == nil {
		return nil
	}
	words := (ends.greatest.value-ends.least.value)/64 + 1
	if most := max(keySetBytes*rows, keySetMin); words <= 0 || words > most/8 || m.Left() < 2*8*words {
		return nil
	}
	s := &keySet{memory: m, column: key, least: ends.least.value, has: m.Alloc(int(words)), nulls: nulls && nullsEqual}
	clear(s.has)
	for _, b := range batches {
		keys := b.Column(key)
		values, _ := vector.Integers(keys)
		for row, v := range values {
			if keys.IsValid(row) {
				at := uint64(v - s.least)
				s.has[at>>6] |= 1 << (at & 63)
			}
		}
	}
	values := 0
	for _, w := range s.has {
		values += bits.OnesCount64(w)
	}
	if width := ends.greatest.value - ends.least.value + 1; int64(values) > width/2 {
		s.release()
		return nil
	}
	return s
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
			is = s.nulls
		}
		if !is {
			bitutil.ClearBit(selected, row)
		}
	}
}
