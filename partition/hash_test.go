package partition

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestHashVectors would catch a change of any hash, which would part the CPU's partitions
// from the GPU's and from those written to disk.
func TestHashVectors(t *testing.T) {
	text, err := os.ReadFile("testdata/hash_vectors.txt")
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		input, want, _ := strings.Cut(line, " = ")
		if got := hashVector(t, strings.Fields(input)); got != want {
			t.Errorf("%s = %s, want %s", input, got, want)
		}
		lines++
	}
	if lines < 150 {
		t.Fatalf("%d vectors read, want at least 150", lines)
	}
}

func hashVector(t *testing.T, fields []string) string {
	kind, args := fields[0], fields[1:]
	var words []uint64
	if kind != "bytes" {
		words = parseHex(t, args)
	}
	switch kind {
	case "mix64":
		return fmt.Sprintf("%016x", Mix64(words[0]))
	case "mix32":
		return fmt.Sprintf("%08x", Mix32(uint32(words[0])))
	case "words":
		return fmt.Sprintf("%016x", HashWords(words[1:], words[0]))
	case "bytes":
		b, err := hex.DecodeString(strings.TrimPrefix(args[1], "-"))
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%016x", HashBytes(b, parseHex(t, args[:1])[0]))
	}
	t.Fatalf("unknown kind of vector %q", kind)
	return ""
}

func parseHex(t *testing.T, fields []string) []uint64 {
	words := make([]uint64, len(fields))
	for i, f := range fields {
		w, err := strconv.ParseUint(f, 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		words[i] = w
	}
	return words
}

func TestMixIsBijective(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Uint64().Draw(t, "x")
		if got := Unmix64(Mix64(x)); got != x {
			t.Fatalf("Unmix64(Mix64(%#x)) = %#x", x, got)
		}
		if got := Unmix32(Mix32(uint32(x))); got != uint32(x) {
			t.Fatalf("Unmix32(Mix32(%#x)) = %#x", uint32(x), got)
		}
	})
}

// TestHashKeysAgree proves P1: whichever way a key is hashed, by rows or by columns, it gets the
// same hash.
func TestHashKeysAgree(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for words := 1; words <= 5; words++ {
		for rows := range 70 {
			keys := randomWords(rng, rows*words)
			seed := rng.Uint64()
			got, columns := make([]uint64, rows), make([]uint64, rows)
			HashKeysN(keys, words, seed, got)
			for i := range columns {
				columns[i] = seed
			}
			for c := range words {
				for i := range columns {
					columns[i] = Combine(columns[i], keys[i*words+c])
				}
			}
			for i := range rows {
				want := HashWords(keys[i*words:(i+1)*words], seed)
				if got[i] != want || Finish(columns[i]) != want {
					t.Fatalf("%d words, row %d of %d: rows %#x, columns %#x, want %#x",
						words, i, rows, got[i], Finish(columns[i]), want)
				}
			}
			if words == 1 {
				HashKeys1(keys, seed, got)
				for i, k := range keys {
					if got[i] != Mix64(k^seed) {
						t.Fatalf("HashKeys1(%#x) = %#x", k, got[i])
					}
				}
			}
		}
	}
}

// TestMixVectors would catch words that a vector mixes differently than Mix64 does, that it misses
// at an end, or that it writes beyond one; in place and not.
func TestMixVectors(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for n := range 70 {
		for from := range 3 {
			words, seed := randomWords(rng, from+n+1), rng.Uint64()
			out := slices.Clone(words)
			mixWords(words[from:from+n], seed, out[from:from+n])
			for i, w := range words {
				want := w
				if i >= from && i < from+n {
					want = Mix64(w ^ seed)
				}
				if out[i] != want {
					t.Fatalf("word %d of %d after %d: %#x, want %#x", i, n, from, out[i], want)
				}
			}
			mixWords(words[from:from+n], seed, words[from:from+n])
			if !slices.Equal(words, out) {
				t.Fatalf("%d words after %d are mixed differently in place", n, from)
			}
		}
	}
}

func randomWords(rng *rand.Rand, n int) []uint64 {
	words := make([]uint64, n)
	for i := range words {
		words[i] = rng.Uint64()
	}
	return words
}

// hashesOfBytes are the hashes under test, each as a function of a buffer of the given size.
var hashesOfBytes = []struct {
	name  string
	bytes int
	hash  func(b []byte) uint64
}{
	{"mix64", 8, func(b []byte) uint64 { return Mix64(load64(b)) }},
	{"mix64 later pass", 8, func(b []byte) uint64 { return Mix64(load64(b) ^ Seed(1)) }},
	{"mix32", 4, func(b []byte) uint64 {
		return uint64(Mix32(binary.LittleEndian.Uint32(b)))
	}},
	{"1 word", 8, hashBuffer},
	{"2 words", 16, hashBuffer},
	{"3 words", 24, hashBuffer},
	{"3 bytes", 3, func(b []byte) uint64 { return HashBytes(b, 0) }},
	{"5 bytes", 5, func(b []byte) uint64 { return HashBytes(b, 0) }},
	{"12 bytes", 12, func(b []byte) uint64 { return HashBytes(b, 0) }},
	{"16 bytes", 16, func(b []byte) uint64 { return HashBytes(b, Seed(1)) }},
	{"17 bytes", 17, func(b []byte) uint64 { return HashBytes(b, 0) }},
	{"40 bytes", 40, func(b []byte) uint64 { return HashBytes(b, 0) }},
}

func hashBuffer(b []byte) uint64 {
	h := uint64(0)
	for ; len(b) >= 8; b = b[8:] {
		h = Combine(h, load64(b))
	}
	return Finish(h)
}

// TestAvalanche would catch a hash with a bit that an input bit leaves alone, or always flips.
// With 1<<12 samples the deviation of a fair bit is 0.008, so that 0.05 is six of them.
func TestAvalanche(t *testing.T) {
	const samples = 1 << 12
	for _, h := range hashesOfBytes {
		t.Run(h.name, func(t *testing.T) {
			outBits := 64
			if h.name == "mix32" {
				outBits = 32
			}
			rng := rand.New(rand.NewPCG(3, 4))
			b := make([]byte, h.bytes)
			for in := range 8 * h.bytes {
				var flips [64]int
				for range samples {
					for i := range b {
						b[i] = byte(rng.Uint32())
					}
					x := h.hash(b)
					b[in/8] ^= 1 << (in % 8)
					for d := x ^ h.hash(b); d != 0; d &= d - 1 {
						flips[bits.TrailingZeros64(d)]++
					}
				}
				for out, n := range flips[:outBits] {
					if p := float64(n) / samples; math.Abs(p-0.5) > 0.05 {
						t.Fatalf("input bit %d flips output bit %d in %.3f of the samples", in, out, p)
					}
				}
			}
		})
	}
}

// keyPatterns are the keys that people have, as the i-th of 1<<16.
var keyPatterns = []struct {
	name string
	key  func(i uint64) uint64
}{
	{"sequential", func(i uint64) uint64 { return i }},
	{"negative", func(i uint64) uint64 { return -i }},
	{"stride 1000", func(i uint64) uint64 { return i * 1000 }},
	{"stride 4096", func(i uint64) uint64 { return i << 12 }},
	{"shifted 48", func(i uint64) uint64 { return i << 48 }},
	{"float64", func(i uint64) uint64 { return math.Float64bits(float64(i)) }},
	{"float64 cents", func(i uint64) uint64 { return math.Float64bits(float64(i) / 100) }},
	{"2 halves", func(i uint64) uint64 { return i&0xff | i>>8<<32 }},
	{"decimal digits", func(i uint64) uint64 { return load64(fmt.Appendf(nil, "%08d", i)) }},
}

// TestUniform would catch a hash that fills the partitions, the slots or the salts unevenly for
// keys that are far from random.
func TestUniform(t *testing.T) {
	hashes := map[string]func(k uint64) uint64{
		"mix64":   Mix64,
		"1 word":  func(k uint64) uint64 { return HashWords([]uint64{k}, 0) },
		"1 of 2":  func(k uint64) uint64 { return HashWords([]uint64{k, 7}, 0) },
		"2 of 2":  func(k uint64) uint64 { return HashWords([]uint64{7, k}, 0) },
		"8 bytes": func(k uint64) uint64 { return HashBytes(binary.LittleEndian.AppendUint64(nil, k), 0) },
		"digits":  func(k uint64) uint64 { return HashBytes(strconv.AppendUint(nil, k, 10), 0) },
	}
	for name, hash := range hashes {
		for _, pattern := range keyPatterns {
			t.Run(name+"/"+pattern.name, func(t *testing.T) {
				hashed := make([]uint64, 1<<16)
				for i := range hashed {
					hashed[i] = hash(pattern.key(uint64(i)))
				}
				checkUniform(t, hashed, partitionPart, slotPart, saltLowPart, saltHighPart)
			})
		}
	}
}

// A hashPart is 11 bits of a hash that spread keys over something.
type hashPart struct {
	name string
	cell func(h uint64) uint64
}

var (
	partitionPart = hashPart{"partition", func(h uint64) uint64 { return uint64(Radix(RadixBitsMax).Of(h)) }}
	slotPart      = hashPart{"slot", func(h uint64) uint64 { return h & (1<<11 - 1) }}
	saltLowPart   = hashPart{"low salt", func(h uint64) uint64 { return uint64(Salt(h)) % (1 << 11) }}
	saltHighPart  = hashPart{"high salt", func(h uint64) uint64 { return uint64(Salt(h)) >> (SaltBits - 11) }}
)

func checkUniform(t *testing.T, hashes []uint64, parts ...hashPart) {
	t.Helper()
	for _, part := range parts {
		counts := make([]int, 1<<11)
		for _, h := range hashes {
			counts[part.cell(h)]++
		}
		if z := chiSquaredZ(counts, len(hashes)); math.Abs(z) > 5 {
			t.Errorf("%s: chi-squared is %.1f standard deviations from uniform", part.name, z)
		}
	}
}

// chiSquaredZ is how far chi-squared is from its mean, in standard deviations: above 0 the cells
// differ more than chance makes them, below 0 less.
func chiSquaredZ(counts []int, total int) float64 {
	expected := float64(total) / float64(len(counts))
	chi2 := 0.0
	for _, n := range counts {
		d := float64(n) - expected
		chi2 += d * d / expected
	}
	freedom := float64(len(counts) - 1)
	return (chi2 - freedom) / math.Sqrt(2*freedom)
}

// TestHashesDiffer would catch pairs of words, or lengths of a string, that a product confuses.
func TestHashesDiffer(t *testing.T) {
	const side = 256
	special := []uint64{0, secret0, ^secret0, secret1, ^secret1, 1 << 63, math.MaxUint64 - side}
	var hashes []uint64
	for _, base := range special {
		for i := range uint64(side) {
			for j := range uint64(side) {
				hashes = append(hashes, HashWords([]uint64{base + i, j}, 0), HashWords([]uint64{i, base + j<<32}, 1))
			}
		}
	}
	for c := range 256 {
		run := slices.Repeat([]byte{byte(c)}, 300)
		for n := range run {
			if n > 0 || c == 0 {
				hashes = append(hashes, HashBytes(run[:n], 0))
			}
		}
	}
	slices.Sort(hashes)
	if n := len(hashes) - len(slices.Compact(slices.Clone(hashes))); n > 0 {
		t.Errorf("%d of %d hashes are equal to another", n, len(hashes))
	}
}

// FuzzHashBytes would catch a read outside the string, or one that misses a byte of it.
func FuzzHashBytes(f *testing.F) {
	for _, n := range []int{0, 1, 3, 4, 7, 8, 15, 16, 17, 32, 33} {
		f.Add(make([]byte, n), uint64(n))
	}
	f.Fuzz(func(t *testing.T, b []byte, seed uint64) {
		want := HashBytes(b, seed)
		padded := append(append([]byte{0xff}, b...), 0xff)
		if got := HashBytes(padded[1:len(b)+1], seed); got != want {
			t.Fatalf("the hash of %x depends on the bytes around it", b)
		}
		for i := range b {
			b[i] ^= 0x80
			if HashBytes(b, seed) == want {
				t.Fatalf("byte %d of %x does not reach the hash", i, b)
			}
			b[i] ^= 0x80
		}
	})
}

func BenchmarkHashKeys(b *testing.B) {
	rng := rand.New(rand.NewPCG(5, 6))
	const rows = 2048
	out := make([]uint64, rows)
	for words := 1; words <= 4; words++ {
		keys := randomWords(rng, rows*words)
		b.Run(fmt.Sprintf("words=%d", words), func(b *testing.B) {
			b.SetBytes(int64(8 * words * rows))
			for b.Loop() {
				if words == 1 {
					HashKeys1(keys, 0, out)
				} else {
					HashKeysN(keys, words, 0, out)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/key")
		})
	}
}

func BenchmarkHashBytes(b *testing.B) {
	data := make([]byte, 1<<16)
	for _, n := range []int{3, 6, 12, 16, 24, 64, 256, 4096} {
		b.Run(fmt.Sprintf("bytes=%d", n), func(b *testing.B) {
			b.SetBytes(int64(n))
			var sum uint64
			at := 0
			for b.Loop() {
				sum += HashBytes(data[at:at+n], 0)
				at = (at + n) & 0x7fff
			}
			hashSink = sum
		})
	}
}

var hashSink uint64
