package devicetest

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/mpga/mpga/kernels"
)

// Keys holds PackKeys to random values, NULLs and places of random parts, some of which have values
// outside of their range.
func Keys(t *testing.T, device kernels.Device, cases, rowsMax int) {
	rng := rand.New(rand.NewPCG(17, uint64(cases)))
	for range cases {
		testKeys(t, device, rng, 1+rng.IntN(rowsMax))
	}
}

func testKeys(t *testing.T, device kernels.Device, rng *rand.Rand, rows int) {
	r := newRig(t, device)
	defer r.close()
	k := &kernels.KeyParts{Rows: int64(rows), KeyBytes: []int{4, 8, 16, 40, 64}[rng.IntN(5)]}
	want := make([]byte, rows*k.KeyBytes)
	wantOutside := false
	room := min(8*k.KeyBytes, 64) // bits of a word
	for word := 0; word < (k.KeyBytes+7)/8; word++ {
		for at := 0; at < room && len(k.Parts) < kernels.KeyPartsMax; {
			bits := 1 + rng.IntN(room-at)
			part := kernels.KeyPart{
				Column: kernels.Column{Type: kernels.ColumnType(rng.IntN(4))}, Word: word, Shift: at,
				Base: int64(rng.Uint64() >> rng.IntN(64)), Range: math.MaxUint64 >> (64 - bits), NullBit: -1,
			}
			at += bits
			nullable := rng.IntN(2) == 0
			switch {
			case nullable && bits > 1 && rng.IntN(2) == 0:
				part.NullCode = part.Range
				part.Range--
			case nullable && at < room:
				part.NullWord, part.NullBit = word, at
				at++
			default:
				nullable = false
			}
			strays := rng.IntN(20) == 0
			wantOutside = addPart(r, rng, k, part, nullable, strays, want) || wantOutside
		}
	}
	if rng.IntN(2) == 0 { // of more rows than there are
		k.Count = r.put(binary.LittleEndian.AppendUint64(nil, uint64(rows)))
		k.Rows += int64(rng.IntN(rows))
		for i := range k.Parts {
			p := &k.Parts[i]
			p.Values = r.padded(p.Values, int64(rows*p.Type.Bytes()), k.Rows*int64(p.Type.Bytes()))
			if p.Valid.Buffer != nil {
				p.Valid = r.padded(p.Valid, int64(rows+31)/32*4, (k.Rows+31)/32*4)
			}
		}
	}
	k.Keys, k.Outside = r.alloc(k.Rows*int64(k.KeyBytes)), r.alloc(4)
	r.must(r.stream.PackKeys(k))
	outside := binary.LittleEndian.Uint32(r.get(k.Outside, 4))
	if outside > 1 || outside == 1 != wantOutside {
		t.Errorf("%d rows, %d parts: outside is %d, want %v", rows, len(k.Parts), outside, wantOutside)
	}
	if got := r.get(k.Keys, int64(len(want))); !wantOutside && !bytes.Equal(got, want) {
		at := firstDifference(got, want)
		t.Errorf("%d rows, keys of %d B in %d parts: byte %d is %#x, want %#x", rows, k.KeyBytes,
			len(k.Parts), at, got[at], want[at])
	}
}

// addPart draws the values of a part, and adds them to the keys that are wanted. It returns whether a
// value is outside of the part's range.
func addPart(r *Rig, rng *rand.Rand, k *kernels.KeyParts, part kernels.KeyPart,
	nullable, strays bool, want []byte) (outside bool) {
	rows, width := int(k.Rows), part.Type.Bytes()
	var values []byte
	valid := make([]byte, (rows+31)/32*4)
	for row := range rows {
		isNull := nullable && rng.IntN(3) == 0
		v := uint64(part.Base) + rng.Uint64()&part.Range // Range is 2^n - 1, or one less, which its bits are within
		if strays && rng.IntN(rows) == 0 {
			v = rng.Uint64()
		}
		values = append(values, binary.LittleEndian.AppendUint64(nil, v)[:width]...)
		switch part.Type { // as the column has it
		case kernels.Int32:
			v = uint64(int64(int32(v)))
		case kernels.Uint32:
			v = uint64(uint32(v))
		}
		code := v - uint64(part.Base)
		if !isNull {
			valid[row/8] |= 1 << (row % 8)
			outside = outside || code > part.Range
		} else if code = part.NullCode; part.NullBit >= 0 {
			orBits(want[row*k.KeyBytes:], part.NullWord, 1<<part.NullBit)
		}
		orBits(want[row*k.KeyBytes:], part.Word, code<<part.Shift)
	}
	part.Values = r.put(values)
	if nullable {
		part.Valid = r.put(valid)
	}
	k.Parts = append(k.Parts, part)
	return outside
}

// orBits sets bits of a word of a key, which may have four bytes.
func orBits(key []byte, word int, bits uint64) {
	for i := range 8 {
		if at := 8*word + i; at < len(key) {
			key[at] |= byte(bits >> (8 * i))
		}
	}
}
