package partition

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

const sketchSigma = 1.04 / 128 // 128 = sqrt(SketchRegisters)

func TestRegister(t *testing.T) {
	for _, c := range []struct {
		hash  uint64
		index uint32
		rank  uint8
	}{
		{0, 0, rankBits + 1},
		{math.MaxUint64, SketchRegisters - 1, 1},
		{1 << sketchBits, 0, 1},
		{1<<(sketchBits+3) | 5, 5, 4},
		{1 << 63, 0, rankBits},
	} {
		if index, rank := Register(c.hash); index != c.index || rank != c.rank {
			t.Errorf("Register(%#x) = %d, %d, want %d, %d", c.hash, index, rank, c.index, c.rank)
		}
	}
}

// TestEstimateRegisters follows sketches from 1 hash to 1e7. It would catch an estimator with a
// bias anywhere on the way, and hashes that do not rank as random ones do.
func TestEstimateRegisters(t *testing.T) {
	steps := []int{
		1, 2, 10, 100, 1000, 5000, 1e4, 2e4, 3e4, 4e4, 5e4, 6e4, 8e4,
		1e5, 2e5, 5e5, 1e6, 2e6, 5e6, 1e7,
	}
	sketches := map[string]func(i uint64) uint64{
		"sequential": Mix64,
		"strided":    func(i uint64) uint64 { return Mix64(i * 1000) },
		"two words":  func(i uint64) uint64 { return HashWords([]uint64{i >> 10, i & 1023}, 0) },
	}
	for name, hash := range sketches {
		t.Run(name, func(t *testing.T) {
			registers := make([]uint8, SketchRegisters)
			added := 0
			for _, n := range steps {
				for ; added < n; added++ {
					AddHash(registers, hash(uint64(added)))
				}
				checkEstimate(t, registers, n)
			}
		})
	}
}

// checkEstimate allows three standard errors, and one hash.
func checkEstimate(t *testing.T, registers []uint8, distinct int) {
	t.Helper()
	got := EstimateRegisters(registers)
	if deviation := math.Abs(got - float64(distinct)); deviation > 3*sketchSigma*float64(distinct)+1 {
		t.Errorf("%.0f of %d distinct hashes, %+.2f%%", got, distinct, 100*(got/float64(distinct)-1))
	}
}

// TestEstimateError measures the standard error over many sketches, which three standard errors
// of one sketch would let grow unseen.
func TestEstimateError(t *testing.T) {
	const sketches = 100
	rng := rand.New(rand.NewPCG(11, 12))
	for _, n := range []int{20_000, 40_000, 150_000} {
		bias, square := 0.0, 0.0
		for range sketches {
			registers := make([]uint8, SketchRegisters)
			for range n {
				AddHash(registers, rng.Uint64())
			}
			e := EstimateRegisters(registers)/float64(n) - 1
			bias += e / sketches
			square += e * e / sketches
		}
		t.Logf("%d distinct: error %.3f%%, bias %+.3f%%", n, 100*math.Sqrt(square), 100*bias)
		if math.Sqrt(square) > 1.25*sketchSigma || math.Abs(bias) > 4*sketchSigma/math.Sqrt(sketches) {
			t.Errorf("%d distinct: error %.3f%%, bias %+.3f%%, want %.3f%%",
				n, 100*math.Sqrt(square), 100*bias, 100*sketchSigma)
		}
	}
}

// TestEstimateOfOnePartition would catch a rank that reads the partition's bits first.
func TestEstimateOfOnePartition(t *testing.T) {
	registers := make([]uint8, SketchRegisters)
	distinct := 0
	for k := range uint64(1 << 24) {
		if h := Mix64(k); Radix(RadixBitsMax-5).Of(h) == 0 {
			AddHash(registers, h)
			distinct++
		}
	}
	checkEstimate(t, registers, distinct)
}

func TestEstimateOfExtremes(t *testing.T) {
	registers := make([]uint8, SketchRegisters)
	if got := EstimateRegisters(registers); got != 0 {
		t.Errorf("%g of no hashes", got)
	}
	for i := range registers {
		registers[i] = rankBits + 1
	}
	if got := EstimateRegisters(registers); !math.IsInf(got, 1) {
		t.Errorf("%g of all hashes", got)
	}
	registers[0] = rankBits
	if got := EstimateRegisters(registers); !(got > 1e18) {
		t.Errorf("%g of nearly all hashes", got)
	}
}

// A sketch may come from a damaged file. Would catch a rank that none has, and that is taken for an
// index.
func TestEstimateOfDamaged(t *testing.T) {
	registers := slices.Repeat([]uint8{math.MaxUint8}, SketchRegisters)
	full := slices.Repeat([]uint8{rankBits + 1}, SketchRegisters)
	if got, want := EstimateRegisters(registers), EstimateRegisters(full); got != want {
		t.Errorf("%v, want %v, as of ranks of %d", got, want, rankBits+1)
	}
}

// TestMergeRegisters proves that the order and the split of the hashes do not show in a sketch.
func TestMergeRegisters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hashes := rapid.SliceOf(rapid.Uint64()).Draw(t, "hashes")
		cut := rapid.IntRange(0, len(hashes)).Draw(t, "cut")
		whole, left, right := sketchOf(hashes), sketchOf(hashes[:cut]), sketchOf(hashes[cut:])
		MergeRegisters(right, left)
		MergeRegisters(right, left)
		if !slices.Equal(right, whole) {
			t.Fatalf("merged sketch differs from the sketch of all")
		}
	})
}

func sketchOf(hashes []uint64) []uint8 {
	registers := make([]uint8, SketchRegisters)
	for _, h := range hashes {
		AddHash(registers, h)
	}
	return registers
}

func BenchmarkAddHash(b *testing.B) {
	rng := rand.New(rand.NewPCG(13, 14))
	for _, distinct := range []int{1000, 1 << 20} {
		hashes := randomWords(rng, distinct)
		b.Run(fmt.Sprintf("distinct=%d", distinct), func(b *testing.B) {
			registers := make([]uint8, SketchRegisters)
			for b.Loop() {
				for _, h := range hashes {
					AddHash(registers, h)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(distinct), "ns/hash")
		})
	}
}

func BenchmarkMergeRegisters(b *testing.B) {
	dst, src := make([]uint8, SketchRegisters), make([]uint8, SketchRegisters)
	b.SetBytes(SketchRegisters)
	for b.Loop() {
		MergeRegisters(dst, src)
	}
}

func BenchmarkEstimateRegisters(b *testing.B) {
	registers := sketchOf(randomWords(rand.New(rand.NewPCG(15, 16)), 1e5))
	for b.Loop() {
		EstimateRegisters(registers)
	}
}
