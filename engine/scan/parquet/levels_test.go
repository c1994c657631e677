package parquet

import (
	"bytes"
	"math/bits"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/bitutil"
)

// randomLevels encodes levels of at most most, in runs of both kinds.
func randomLevels(rng *rand.Rand, most uint32) (levels []uint32, data []byte) {
	width := bits.Len32(most)
	for range 1 + rng.IntN(8) {
		level, n := uint32(rng.IntN(int(most)+1)), 8*rng.IntN(60)
		if rng.IntN(2) == 0 {
			level = most
		}
		run := make([]uint32, n)
		for i := range run {
			if run[i] = level; rng.IntN(3) == 0 && n < 200 {
				run[i] = uint32(rng.IntN(int(most) + 1))
			}
		}
		if rng.IntN(2) == 0 {
			data = appendPacked(data, run, width)
		} else {
			for i := range run {
				run[i] = level
			}
			data = appendRepeated(data, level, n, width)
		}
		levels = append(levels, run...)
	}
	return levels, data
}

// Rows have values where their level is the largest, whatever the largest is and wherever reads end;
// the bits around them stay as they are.
func TestLevels(t *testing.T) {
	for _, most := range []uint32{1, 2, 3, 4, 7, 9, 300} {
		rng := rand.New(rand.NewPCG(8, uint64(most)))
		for range 200 {
			want, data := randomLevels(rng, most)
			l, first := newLevels(data, int(most)), rng.IntN(20)
			bitmap := bytes.Repeat([]byte{0xA5}, (first+len(want))/8+1+rng.IntN(9))
			around := bytes.Clone(bitmap)
			for at := 0; at < len(want); {
				n := min(1+rng.IntN(1+rng.IntN(400)), len(want)-at)
				if rng.IntN(3) == 0 {
					passed, err := l.ones(n)
					if err != nil {
						t.Fatal(err)
					}
					for _, level := range want[at : at+passed] {
						if level != most {
							t.Fatalf("of at most %d: level %d was passed over as a value", most, level)
						}
					}
					for i := range passed {
						bitutil.SetBit(bitmap, first+at+i)
					}
					at, n = at+passed, n-passed
				}
				ones, err := l.bits(bitmap, first+at, n)
				if err != nil {
					t.Fatal(err)
				}
				for i := range n {
					if bitutil.BitIsSet(bitmap, first+at+i) {
						ones--
					}
				}
				if at += n; ones != 0 {
					t.Fatalf("%d values too many are counted", ones)
				}
			}
			for i := range 8 * len(bitmap) {
				set := bitutil.BitIsSet(around, i)
				if row := i - first; row >= 0 && row < len(want) {
					set = want[row] == most
				}
				if bitutil.BitIsSet(bitmap, i) != set {
					t.Fatalf("of at most %d, from bit %d: bit %d is %v", most, first, i, !set)
				}
			}
		}
	}
}

// S3: a level beyond the largest, in a run of one level or among others, is an error for both ways
// to read it.
func TestLevelsTooLarge(t *testing.T) {
	packed := appendPacked(nil, []uint32{2, 2, 2, 3, 2, 2, 2, 2}, 2)
	for name, data := range map[string][]byte{"repeated": appendRepeated(nil, 3, 8, 2), "packed": packed} {
		for way, read := range map[string]func(*levels) (int, error){
			"ones": func(l *levels) (int, error) { return l.ones(8) },
			"bits": func(l *levels) (int, error) { return l.bits(make([]byte, 9), 3, 8) },
		} {
			l := newLevels(data, 2)
			if _, err := read(&l); err == nil || !strings.Contains(err.Error(), "a level of 3, where the largest is 2") {
				t.Errorf("%s, %s: %v", name, way, err)
			}
		}
	}
	l := newLevels(appendRepeated(nil, 2, 8, 2), 2)
	if _, err := l.bits(make([]byte, 9), 0, 9); err == nil {
		t.Error("a level behind the last: no error")
	}
}

// S3: any bytes are levels or an error, and the levels are those that codes reads.
func FuzzLevels(f *testing.F) {
	rng := rand.New(rand.NewPCG(9, 0))
	for _, most := range []uint32{1, 2, 3, 6} {
		_, data := randomLevels(rng, most)
		f.Add(data, uint16(most), uint16(100), uint8(7))
	}
	f.Fuzz(func(t *testing.T, data []byte, most, rows uint16, piece uint8) {
		most = max(most, 1)
		oracle, codes := newLevels(data, int(most)), make([]uint32, rows)
		wantErr := oracle.codes(codes, int(most)+1)
		l, bitmap := newLevels(data, int(most)), make([]byte, int(rows)/8+1)
		var err error
		for at := 0; at < int(rows) && err == nil; {
			n := min(1+int(piece), int(rows)-at)
			_, err = l.bits(bitmap, at, n)
			at += n
		}
		if (err == nil) != (wantErr == nil) && most != 1 { // a level of two bits is no level of at most 1, and a code of one bit always is
			t.Fatalf("%v, want %v", err, wantErr)
		}
		if err != nil || wantErr != nil {
			return
		}
		for i, level := range codes {
			if bitutil.BitIsSet(bitmap, i) != (level == uint32(most)) {
				t.Fatalf("row %d of level %d of at most %d", i, level, most)
			}
		}
	})
}

// BenchmarkLevels reads levels of which a tenth are not the largest, at random.
func BenchmarkLevels(b *testing.B) {
	const rows = 1 << 16
	rng := rand.New(rand.NewPCG(1, 1))
	for _, most := range []uint32{1, 2, 3, 5} {
		run := make([]uint32, rows)
		for i := range run {
			if run[i] = most; rng.IntN(10) == 0 {
				run[i] = most - 1
			}
		}
		data, bitmap := appendPacked(nil, run, bits.Len32(most)), make([]byte, rows/8)
		b.Run(string('0'+rune(most)), func(b *testing.B) {
			for b.Loop() {
				l := newLevels(data, int(most))
				if _, err := l.bits(bitmap, 0, rows); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
		})
	}
}
