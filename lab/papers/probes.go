package papers

import (
	"math/bits"

	"github.com/mpga/mpga/partition"
)

// Counts of probes by a table without values. A search looks at slots one after the other from its
// key's slot on; how many it looks at in all does not depend on the order in which keys come, so that
// one thread counts what a GPU's threads would.

// slotOf returns the slot of the i-th key, which a hash spreads evenly.
func slotOf(i, slots int64) int64 {
	high, _ := bits.Mul64(partition.Mix64(uint64(i)), uint64(slots))
	return int64(high)
}

// ProbesLinear returns the slots that are looked at for a key, on average, when so many different keys
// enter an empty table by linear probing, one after the other (LPHGA, Wang, Shen, Lei, 2025, section 3.2).
//
// Requires: 0 < keys <= slots.
func ProbesLinear(keys, slots int64) float64 {
	taken := make([]bool, slots)
	looks := int64(0)
	for i := range keys {
		looks += enter(taken, slotOf(i, slots))
	}
	return float64(looks) / float64(keys)
}

// enter takes the first free slot from a slot on, and returns how many were looked at.
func enter(taken []bool, slot int64) (looks int64) {
	looks = 1
	for taken[slot] {
		if slot++; slot == int64(len(taken)) {
			slot = 0
		}
		looks++
	}
	taken[slot] = true
	return looks
}

// ProbesTwoPhase returns the slots that are looked at for a key, on average, by SP-EGA (there, section
// 4.1): each key looks at one slot of the first part of the table; the keys whose slot another key has
// taken then enter an empty table, of all slots, by linear probing. The paper's first part is a third
// of the slots, since its results take the rest of the memory; mpga's is all of them.
//
// Requires: 0 < keys <= slots, and firstPart is in (0, 1] and has a slot at least.
func ProbesTwoPhase(keys, slots int64, firstPart float64) float64 {
	first := make([]bool, int64(firstPart*float64(slots)))
	second := make([]bool, slots)
	looks := keys
	for i := range keys {
		if slot := slotOf(i, int64(len(first))); !first[slot] {
			first[slot] = true
			continue
		}
		looks += enter(second, slotOf(i, slots))
	}
	return float64(looks) / float64(keys)
}
