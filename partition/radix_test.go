package partition

import (
	"math"
	"testing"
)

func TestRadixOf(t *testing.T) {
	for r := Radix(0); r <= RadixBitsMax; r++ {
		last := r.FanOut() - 1
		for _, c := range []struct {
			hash uint64
			want int
		}{
			{0, 0},
			{math.MaxUint64, last},
			{math.MaxUint64 >> r, 0},
			{1 << 63, (last + 1) / 2},
		} {
			if got := r.Of(c.hash); got != c.want {
				t.Errorf("Radix(%d).Of(%#x) = %d, want %d", r, c.hash, got, c.want)
			}
		}
	}
}

func TestSalt(t *testing.T) {
	const hash = 0xffe0_1234_5678_9abc
	// What only the partition or a free slot bit tells apart does not show in the salt.
	if a, b := Salt(hash), Salt(hash&(1<<53-1)>>saltShift<<saltShift); a != b {
		t.Errorf("salt %#x reads bits that are not its own: %#x", a, b)
	}
}

// TestPassesAreIndependent proves P2: keys that one pass left in one partition fill the
// partitions of the next, and the slots and salts of a table, as evenly as any keys.
func TestPassesAreIndependent(t *testing.T) {
	hashes := map[string]func(k, seed uint64) uint64{
		"mix64":   func(k, seed uint64) uint64 { return Mix64(k ^ seed) },
		"2 words": func(k, seed uint64) uint64 { return HashWords([]uint64{k, 0}, seed) },
		"bytes": func(k, seed uint64) uint64 {
			return HashBytes([]byte{byte(k), byte(k >> 8), byte(k >> 16), byte(k >> 24)}, seed)
		},
	}
	const radix Radix = 5
	for name, hash := range hashes {
		for pass := range 4 {
			var same, next []uint64
			for k := range uint64(1 << 20) {
				if h := hash(k, Seed(pass)); radix.Of(h) == 5 {
					same, next = append(same, h), append(next, hash(k, Seed(pass+1)))
				}
			}
			t.Logf("%s, pass %d: %d keys in a partition", name, pass, len(same))
			checkUniform(t, same, slotPart, saltLowPart, saltHighPart)
			checkUniform(t, next, partitionPart, slotPart, saltLowPart, saltHighPart)
		}
	}
}
