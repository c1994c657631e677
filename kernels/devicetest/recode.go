package devicetest

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/mpga/mpga/kernels"
)

// Recode holds Recode to random codes, some of which are beyond the table.
func Recode(t *testing.T, device kernels.Device, cases, codesMax int) {
	rng := rand.New(rand.NewPCG(19, uint64(cases)))
	for range cases {
		testRecode(t, device, rng, rng.IntN(codesMax))
	}
}

func testRecode(t *testing.T, device kernels.Device, rng *rand.Rand, count int) {
	r := newRig(t, device)
	defer r.close()
	table := make([]uint32, rng.IntN(2*count+1))
	var codes, entries, want []byte
	for i := range table {
		table[i] = rng.Uint32()
		entries = binary.LittleEndian.AppendUint32(entries, table[i])
	}
	for range count {
		code, to := rng.Uint32N(uint32(len(table)+3)), uint32(0)
		if rng.IntN(50) == 0 {
			code = rng.Uint32()
		}
		if int(code) < len(table) {
			to = table[code]
		}
		codes = binary.LittleEndian.AppendUint32(codes, code)
		want = binary.LittleEndian.AppendUint32(want, to)
	}
	c := &kernels.Codes{Codes: r.put(codes), Count: int64(count), Table: r.put(entries), Entries: int64(len(table))}
	r.must(r.stream.Recode(c))
	if got := r.get(c.Codes, int64(len(want))); !bytes.Equal(got, want) {
		at := firstDifference(got, want)
		t.Errorf("%d codes, %d entries: byte %d is %#x, want %#x", count, len(table), at, got[at], want[at])
	}
}
