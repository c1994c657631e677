//go:build !portable

package table

import "golang.org/x/sys/cpu"

// hasLookUpVectors says that the processor compares the salts of four slots at once.
var hasLookUpVectors = cpu.X86.HasAVX2 && cpu.X86.HasBMI1

// lookUpOne and lookUpTwo look for keys of one and of two words in the four slots from the slot of
// their hash on: either the first slot that has the key's salt is the key's, or the key is missed.
// They write the numbers of keys that they find, list the rows of missed keys, and return how many
// these rows are.
// Requires: at least one row, and slotsMin slots.
//
//go:noescape
func lookUpOne(slots *uint64, slotMask uint64, known, keys, hashes *uint64, rows int, numbers, missed *uint32) int

//go:noescape
func lookUpTwo(slots *uint64, slotMask uint64, known, keys, hashes *uint64, rows int, numbers, missed *uint32) int

// lookUpVectors is lookUp for keys of one or two words. It returns how many rows it has missed.
func lookUpVectors(t *Table, keys, hashes []uint64, numbers, missed []uint32) int {
	last := uint64(len(t.slots) - 1)
	if t.Layout.Words == 1 {
		return lookUpOne(&t.slots[0], last, &t.keys[0], &keys[0], &hashes[0], len(numbers), &numbers[0], &missed[0])
	}
	return lookUpTwo(&t.slots[0], last, &t.keys[0], &keys[0], &hashes[0], len(numbers), &numbers[0], &missed[0])
}
