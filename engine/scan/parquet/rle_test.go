package parquet

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/bitutil"
)

// packValues packs values of width bits, the first in the lowest bits.
func packValues(values []uint32, width int) []byte {
	packed := make([]byte, (len(values)*width+7)/8)
	for i, v := range values {
		for b := range width {
			if v>>b&1 == 1 {
				bitutil.SetBit(packed, i*width+b)
			}
		}
	}
	return packed
}

// appendRepeated appends a run of one value.
func appendRepeated(data []byte, value uint32, n, width int) []byte {
	data = binary.AppendUvarint(data, uint64(n)<<1)
	return append(data, binary.LittleEndian.AppendUint32(nil, value)[:(width+7)/8]...)
}

// appendPacked appends a run of values packed by eight; the last group is padded by zeros.
func appendPacked(data []byte, values []uint32, width int) []byte {
	groups := (len(values) + 7) / 8
	data = binary.AppendUvarint(data, uint64(groups)<<1|1)
	return append(data, packValues(append(slices.Clone(values), make([]uint32, 8*groups-len(values))...), width)...)
}

// randomRuns encodes values in runs of both kinds, also runs of no value.
func randomRuns(rng *rand.Rand, width, runs int) (values []uint32, data []byte) {
	for range runs {
		switch n := rng.IntN(300); rng.IntN(4) {
		case 0:
			data = appendRepeated(data, 0, 0, width)
		case 1:
			value := rng.Uint32() & widthMask(width)
			values = append(values, slices.Repeat([]uint32{value}, n)...)
			data = appendRepeated(data, value, n, width)
		default:
			n = n / (1 + 20*rng.IntN(2)) * 8
			packed := make([]uint32, n)
			for i := range packed {
				packed[i] = rng.Uint32() & widthMask(width)
			}
			values = append(values, packed...)
			data = appendPacked(data, packed, width)
		}
	}
	return values, data
}

// A wrong shift, or a state that is not kept between two reads, gives other values.
func TestRunsCodes(t *testing.T) {
	for width := range runWidthMax + 1 {
		rng := rand.New(rand.NewPCG(1, uint64(width)))
		for range 40 {
			values, data := randomRuns(rng, width, 1+rng.IntN(8))
			r := newRuns(data, width)
			got := make([]uint32, len(values))
			for at := 0; at < len(got); {
				n := min(1+rng.IntN(1+rng.IntN(400)), len(got)-at)
				if err := r.codes(got[at:at+n], 1<<32); err != nil {
					t.Fatalf("width %d, value %d: %v", width, at, err)
				}
				at += n
			}
			if !slices.Equal(got, values) {
				t.Fatalf("width %d: got %v, want %v", width, got, values)
			}
			if err := r.codes(make([]uint32, 1), 1<<32); (err == nil) != (width == 0) {
				t.Fatalf("width %d: a value behind the last: %v", width, err)
			}
		}
	}
}

// Levels must land at their rows and leave the bits around them alone.
func TestRunsBits(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 0))
	for range 300 {
		values, data := randomRuns(rng, 1, 1+rng.IntN(8))
		first := rng.IntN(20)
		want := make([]byte, (first+len(values))/8+3)
		for i := range want {
			want[i] = byte(rng.Uint32())
		}
		got := slices.Clone(want)
		r := newRuns(data, 1)
		for at := 0; at < len(values); {
			n := min(1+rng.IntN(1+rng.IntN(400)), len(values)-at)
			wantOnes := 0
			for i, v := range values[at : at+n] {
				bitutil.SetBitTo(want, first+at+i, v == 1)
				wantOnes += int(v)
			}
			ones, err := r.bits(got, first+at, n)
			if err != nil || ones != wantOnes {
				t.Fatalf("%d ones, %v; want %d", ones, err, wantOnes)
			}
			at += n
		}
		if !slices.Equal(got, want) {
			t.Fatalf("from bit %d: got %08b, want %08b", first, got, want)
		}
	}
}

// S3: one code that names no entry must be found wherever it stands.
func TestRunsCodeTooLarge(t *testing.T) {
	const entries = 100
	for at := range 100 {
		values := make([]uint32, 100)
		values[at] = entries
		for name, data := range map[string][]byte{
			"packed":   appendPacked(nil, values, 7),
			"repeated": appendPacked(appendRepeated(appendPacked(nil, values[:at/8*8], 7), entries, 1, 7), make([]uint32, 100), 7),
		} {
			r := newRuns(data, 7)
			if err := r.codes(make([]uint32, 100), entries); err == nil {
				t.Errorf("%s: code %d of %d entries at %d: no error", name, entries, entries, at)
			}
			r = newRuns(data, 7)
			if err := r.codes(make([]uint32, 100), entries+1); err != nil {
				t.Errorf("%s: code %d of %d entries at %d: %v", name, entries, entries+1, at, err)
			}
		}
	}
}

// Writers differ in what follows the last value.
func TestRunsEnd(t *testing.T) {
	values := []uint32{1, 2, 3, 4, 5, 6, 7, 0, 1, 2}
	whole := appendPacked(nil, values, 3)
	short := whole[:1+(len(values)*3+7)/8] // without the padding of the last group
	for _, data := range [][]byte{whole, short, append(slices.Clone(whole), 1, 2, 3)} {
		r, got := newRuns(data, 3), make([]uint32, len(values))
		if err := r.codes(got, 8); err != nil || !slices.Equal(got, values) {
			t.Errorf("%d B: got %v, %v", len(data), got, err)
		}
	}
	cases := map[string][]byte{
		"nothing":         nil,
		"cut header":      {0x80},
		"long header":     {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
		"large run":       {0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0},
		"no value":        {20},
		"cut group":       short[:len(short)-1],
		"only empty runs": {0, 1, 0, 1, 1},
	}
	for name, data := range cases {
		r := newRuns(data, 3)
		if err := r.codes(make([]uint32, len(values)), 8); err == nil {
			t.Errorf("%s: no error", name)
		}
		r = newRuns(data, 1)
		if _, err := r.bits(make([]byte, 100), 0, 800); err == nil {
			t.Errorf("%s: no error of bits", name)
		}
	}
	r := newRuns([]byte{2, 2}, 1)
	if _, err := r.bits(make([]byte, 1), 0, 1); err == nil {
		t.Error("a level of 2: no error")
	}
}

// S3: any bytes give values within bounds, or an error; and how many are read at once changes
// neither.
func FuzzRuns(f *testing.F) {
	rng := rand.New(rand.NewPCG(3, 0))
	for _, width := range []int{0, 1, 3, 8, 17, 32} {
		_, data := randomRuns(rng, width, 2)
		f.Add(data, uint8(width), uint32(1)<<(width%32), uint8(9))
	}
	f.Fuzz(func(t *testing.T, data []byte, width uint8, entries uint32, piece uint8) {
		r := newRuns(data, int(width%(runWidthMax+1)))
		pieces, levels := r, newRuns(data, 1)
		out := make([]uint32, 1000)
		err := r.codes(out, int(entries))
		for at := 0; at < len(out); {
			some := make([]uint32, min(1+int(piece), len(out)-at))
			if pieceErr := pieces.codes(some, int(entries)); pieceErr != nil {
				if err == nil {
					t.Fatalf("an error at %d that reading all at once does not give: %v", at, pieceErr)
				}
				break
			}
			if err == nil && !slices.Equal(some, out[at:at+len(some)]) {
				t.Fatalf("from %d: %v, and read all at once %v", at, some, out[at:at+len(some)])
			}
			at += len(some)
		}
		for _, code := range out {
			if err == nil && code >= entries {
				t.Fatalf("code %d of %d entries", code, entries)
			}
		}
		bitmap := make([]byte, 127)
		if ones, err := levels.bits(bitmap, 5, 1000); err == nil && ones != bitutil.CountSetBits(bitmap, 0, 8*len(bitmap)) {
			t.Fatalf("%d ones, the bitmap has %d", ones, bitutil.CountSetBits(bitmap, 0, 8*len(bitmap)))
		}
	})
}

// The axis is the width of a packed value.
func BenchmarkUnpack(b *testing.B) {
	out := make([]uint32, 1<<16)
	packed := make([]byte, 4*len(out)+8)
	for _, width := range []int{1, 4, 7, 8, 12, 17, 32} {
		b.Run(fmt.Sprint("width=", width), func(b *testing.B) {
			for b.Loop() {
				unpackValues(out, packed, 0, width)
			}
			b.ReportMetric(float64(b.N)*float64(len(out))/b.Elapsed().Seconds()/1e6, "Mrows/s")
		})
	}
}

// The assembly must write what its twin does, wherever the packed bytes end, and nothing behind.
func TestUnpackGroups(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 0))
	for width := 1; width <= runWidthMax; width++ {
		values := make([]uint32, 8*40)
		for i := range values {
			values[i] = rng.Uint32() & widthMask(width)
		}
		packed := packValues(values, width)
		for bytes := range len(packed) + 1 {
			got, want := make([]uint32, 8*rng.IntN(41)), make([]uint32, len(values))
			n, largest := unpackGroups(got, slices.Clone(packed[:bytes]), width)
			m, _ := groupUnpackers[width](want[:len(got)], packed[:bytes])
			if n < m || n%8 != 0 || n*width > 8*bytes {
				t.Fatalf("width %d: %d of %d values of %d B, at least %d are wanted", width, n, len(got), bytes, m)
			}
			if !slices.Equal(got[:n], values[:n]) || n > 0 && largest != slices.Max(values[:n]) {
				t.Fatalf("width %d, %d B: got %v, largest %d; want %v", width, bytes, got[:n], largest, values[:n])
			}
			if slices.ContainsFunc(got[n:], func(v uint32) bool { return v != 0 }) {
				t.Fatalf("width %d, %d B: something behind value %d", width, bytes, n)
			}
		}
	}
}
