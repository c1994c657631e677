package partition

// Bits of a hash, as the diagram of the package shows them. A table of more than 2^21 slots
// finds them in bits of the salt too, which then rejects fewer slots and is never wrong.
const (
	hashBits = 64

	// RadixBitsMax bounds the fan-out of one pass: a worker that scatters holds two cache lines
	// of 64 B per partition, 256 KiB at 2^11, which leaves half of a 512 KiB L2.
	RadixBitsMax = 11

	// SlotBitsMax bounds the slots of a table, whose group numbers have 32 bits.
	SlotBitsMax = 32

	// SaltBits is the width of the salt, which stands beside a 32-bit group number in a slot of 8
	// bytes, so that most keys that are not equal need not be compared.
	SaltBits = 32

	saltShift    = 21
	slotBitsFree = 20 // 2^20 slots are the most that a table in L2 or in shared memory has
)

const (
	_ = uint(hashBits - RadixBitsMax - SlotBitsMax)            // P2: a table spreads keys of one partition
	_ = uint(hashBits - RadixBitsMax - (saltShift + SaltBits)) // keys of one partition differ in salt
	_ = uint(saltShift - slotBitsFree)                         // keys of one slot differ in salt
)

// FanOutMax is the largest number of partitions that one pass makes.
const FanOutMax = 1 << RadixBitsMax

// Radix is the number of hash bits, from 0 to RadixBitsMax, that name a partition.
type Radix uint8

// Of returns the partition of a hash, in [0, FanOut), and nothing else decides it (P1).
func (r Radix) Of(hash uint64) int {
	// Two shifts, neither by 64, which would cost a comparison; the mask changes nothing but
	// lets an array of FanOutMax be indexed unchecked.
	return int(hash >> 1 >> ((hashBits - 1 - r) % hashBits) & (FanOutMax - 1))
}

// FanOut is the number of partitions.
func (r Radix) FanOut() int {
	return 1 << r
}

// Salt returns the part of a hash that a slot keeps beside its group number.
func Salt(hash uint64) uint32 {
	return uint32(hash >> saltShift)
}

// Seed returns the hash seed of a pass over the data: 0 for pass 0, and for later passes words
// unlike each other, so that a pass spreads keys that earlier passes left together (P2).
func Seed(pass int) uint64 {
	return Mix64(uint64(pass))
}
