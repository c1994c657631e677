package kernels

import (
	"encoding/binary"
	"fmt"
	"math"
)

// JoinKind says which pairs of rows a join gives. Rows of the build side without a match are ListBuildRows'.
type JoinKind uint8

// The kinds.
const (
	JoinInner JoinKind = iota // pairs whose keys are equal
	JoinLeft                  // these, and probe rows without a match, beside NoRow
	JoinSemi                  // probe rows with a match, once each, beside NoRow
	JoinAnti                  // probe rows without a match, beside NoRow
)

// NoRow stands for a row where there is none. A side has fewer rows.
const NoRow = math.MaxUint32

// JoinSide is the keys of one side. A key that is NULL equals none; where NULLs are to be equal, PackKeys
// has made a code of NULL.
type JoinSide struct {
	Count   int64
	Keys    Span // Count * Join.KeyBytes
	Valid   Span // a bitmap as Rows.Valid; without a buffer no key is NULL
	Numbers Span // Count * 4: what a row is called in pairs; without a buffer, its place
}

// Pairs are rows of two sides. Operators append to them.
type Pairs struct {
	Capacity int64
	Status   Span // JoinStatusBytes, zeros before the first append
	// Build and Probe: Capacity * 4 each. Build may have no buffer where only probe rows are wanted, and Probe
	// where ListBuildRows alone appends.
	Build, Probe Span
}

// JoinStatus is what operators count beside pairs.
type JoinStatus struct {
	// Pairs that were appended. Where they are more than the capacity, pairs beyond it were not written: the
	// count is right, so that a call without capacity counts.
	Pairs uint64
	// Repeated: build rows that were left out, since another row has their key and Join.Unique says there is none.
	// The answer then is void.
	Repeated uint64
}

// JoinStatusBytes is the size of a JoinStatus in device memory.
const JoinStatusBytes = 64

// JoinStatusOf reads a status that was copied to the host.
func JoinStatusOf(b []byte) JoinStatus {
	return JoinStatus{Pairs: binary.LittleEndian.Uint64(b), Repeated: binary.LittleEndian.Uint64(b[8:])}
}

// Join is what the operators of joins have in common.
type Join struct {
	Kind         JoinKind
	KeyBytes     int  // as Shape.KeyBytes
	Unique       bool // no two build rows have the same key
	Build, Probe JoinSide
	// Matched gets a 1 for each build row with a match, by what the row is called. Without a buffer it is not wanted.
	// It has MatchedBytes of the build side, zeros before the first call.
	Matched Span
	Into    Pairs
}

// MatchedBytes returns the bytes of a bitmap of rows.
func MatchedBytes(rows int64) int64 { return ceilDiv(rows, 32) * 4 }

// JoinTable is a hash table of the build rows of a join in device memory, of JoinTableBytes. It keeps numbers of
// rows: the build side's keys stay where they are while it is probed.
type JoinTable struct {
	Slots  int64 // more than the build rows
	Memory Span
}

// JoinTableSlots returns how many slots suit a number of build rows: a table half full.
func JoinTableSlots(rows int64) int64 { return 2*rows + 32 }

// JoinTableBytes returns the bytes of a table: 8 a slot and, where keys are not unique, 4 a row.
func (j *Join) JoinTableBytes(slots int64) int64 {
	bytes := 8 * slots
	if !j.Unique {
		bytes += 4 * j.Build.Count
	}
	return bytes
}

// JoinPartitions are sides that lie by partition, as Partition leaves them: of keys of 4 or 8 bytes. Zeros let
// the device choose what is not given.
type JoinPartitions struct {
	RadixBits int
	// BuildOffsets and ProbeOffsets: 2^RadixBits + 1 words each.
	BuildOffsets, ProbeOffsets Span
	TableRows                  int // build rows of a table in shared memory
	HeadBits                   int // log2 of its chains
	Threads                    int // of a block
}

// Sorting is a stable sort by keys of 4 or 8 bytes, as unsigned numbers, and of what moves with them: values of
// 4 or 8 bytes or, where Values has no buffer, row numbers of 4. To and From do not overlap.
type Sorting struct {
	Count      int64
	KeyBytes   int
	Keys       Span
	Values     Span
	ValueBytes int
	ToKeys     Span // Count * KeyBytes
	ToValues   Span // Count * ValueBytes, or Count * 4
}

// GatherColumn is a column that is gathered. FromValid without a buffer: no value is NULL; ToValid without
// one: nobody asks. What no row has is 0, and NULL.
type GatherColumn struct {
	Bytes     int // of a value: 4, 8 or 16
	From      Span
	FromRows  int64
	FromValid Span
	To        Span
	ToValid   Span
}

// Gathering are columns that are gathered by numbers of rows, ColumnsMax at most.
type Gathering struct {
	Count   int64 // of numbers, at most: what To has room for
	Counted Span  // 8 bytes: how many there are; without a buffer, Count
	Numbers Span  // Count * 4
	Columns []GatherColumn
}

// JoinFilter is a Bloom filter of keys: FilterBytes, of whole 4 bytes.
type JoinFilter struct {
	Bytes  int64
	Memory Span
}

// FilterBytes returns the bytes of a filter for a number of keys: 16 bits each.
func FilterBytes(keys int64) int64 { return max(64, 2*keys+3) &^ 3 }

// checkSides returns what operators of joins cannot do.
func (j *Join) checkSides(wide bool) error {
	switch {
	case j.Build.Count >= NoRow || j.Probe.Count >= NoRow:
		return fmt.Errorf("sides of %d and %d rows: a side has fewer than 2^32 - 1", j.Build.Count, j.Probe.Count)
	case !wide && j.KeyBytes != 4 && j.KeyBytes != 8:
		return fmt.Errorf("keys of %d B: joins by partitions and by order take keys of 4 and 8", j.KeyBytes)
	}
	return nil
}

// checkSorted returns what a join of sorted sides cannot do: NULLs lie among the keys.
func (j *Join) checkSorted() error {
	if j.Build.Valid.Buffer != nil || j.Probe.Valid.Buffer != nil {
		return fmt.Errorf("keys with NULLs are not joined by order")
	}
	return j.checkSides(false)
}
