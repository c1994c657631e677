package kernels

import (
	"math"
	"math/bits"
)

// packedLaunch is PackedLaunch of params_packed.h.
type packedLaunch struct {
	launch     launchParam
	reciprocal uint64
	maxCarries uint64
	buckets    uint32
	shift      uint32
}

const (
	packedHeaderBytes = 128 // params_packed.h
	carryBytes        = 16
	bucketSlots       = 4
	packedSteps       = 31
	packedTagBits     = 6 // of a slot, before the quotient

	// packedSlotsLeast leaves 35 bits for a sum, and a search does not come around the buckets.
	packedSlotsLeast = 1 << 11

	// slotsPerCarry make what carries take 3 % of a table's memory.
	slotsPerCarry = 64
)

// Packs reports whether a table may have slots of one word: of a 4-byte key, and one count or one
// Sum64 of a column of 4 bytes.
func (s *Shape) Packs() bool {
	if s.KeyBytes != 4 || len(s.Folds) != 1 {
		return false
	}
	f := s.Folds[0]
	return f.Other < 0 && (f.Op == Count || f.Op == Sum64 && s.Columns[f.Column].Bytes() == 4)
}

// PackedSlotsMin returns the least slots of a packed table that takes `rows` rows in all, at most
// 2^32. With 2^s slots, sums have s + 24 bits, and a carry is at least 2^(s+22) (packed.cuh): 2^r
// rows with values below 2^32 have no more than 2^(r+10-s) carries, which is 2^s / slotsPerCarry or
// fewer.
func PackedSlotsMin(rows int64) int64 {
	r := bits.Len64(uint64(max(rows, 1) - 1))
	return max(int64(1)<<((r+10+bits.Len(slotsPerCarry-1)+1)/2), packedSlotsLeast)
}

// PackedLayout is how the memory of a packed table is divided: a header of 128 bytes, carries of
// 16, and buckets of four slots of 8, whose sums begin at a bit.
type PackedLayout struct {
	Buckets, Carries int64
	Shift            int
}

// NewPackedLayout returns the layout for a number of slots, made a multiple of four.
func NewPackedLayout(slots int64) PackedLayout {
	buckets := ceilDiv(max(slots, packedSlotsLeast), bucketSlots)
	return PackedLayout{
		Buckets: buckets,
		Carries: 2 * ceilDiv(slots, 2*slotsPerCarry), // even: buckets are whole sectors
		Shift:   packedTagBits + bits.Len64(uint64(math.MaxUint32/buckets)),
	}
}

// PackedSlotsIn returns the most slots that a packed table has in a memory of `bytes` bytes; 0, if no
// packed table fits.
func PackedSlotsIn(bytes int64) int64 {
	// A bucket takes carryBytes / 16 beside its slots.
	n := (bytes - packedHeaderBytes - 2*carryBytes) / (8*bucketSlots + carryBytes*bucketSlots/slotsPerCarry) * bucketSlots
	if n < packedSlotsLeast {
		return 0
	}
	return n
}

// Bytes returns the bytes of the table's memory.
func (l PackedLayout) Bytes() int64 {
	return packedHeaderBytes + carryBytes*l.Carries + 8*bucketSlots*l.Buckets
}

// runPacked launches a kernel of a packed table.
func (o *operation) runPacked(table Table, kernel string, grid, block int) {
	l := NewPackedLayout(table.Slots)
	o.param.tableSlots, o.param.tableMemory = uint64(bucketSlots*l.Buckets), o.address(table.Memory, l.Bytes())
	p := packedLaunch{
		launch:     o.param,
		reciprocal: math.MaxUint64/uint64(l.Buckets) + 1,
		maxCarries: uint64(l.Carries),
		buckets:    uint32(l.Buckets),
		shift:      uint32(l.Shift),
	}
	launchWith(o, kernel, grid, block, 0, &p)
}

// compactPacked writes the groups of slots. The slots behind table.Slots are of the last bucket.
func (o *operation) compactPacked(table Table, first, end int64) {
	if end == table.Slots {
		end = bucketSlots * NewPackedLayout(table.Slots).Buckets
	}
	o.param.slotBegin, o.param.slotEnd = uint64(first), uint64(end)
	o.runPacked(table, "packed_compact", o.blocksFor(end-first), launchThreads)
}
