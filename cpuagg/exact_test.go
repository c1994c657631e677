package cpuagg

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/rowtest"
)

// exactFolds are the exact folds as a query has them.
func exactFolds() []rowdata.Fold {
	var folds []rowdata.Fold
	for _, k := range []rowdata.FoldKind{rowdata.FoldExactSum, rowdata.FoldExactMoments2, rowdata.FoldExactMoments4, rowdata.FoldExactComoments} {
		words := k.ExactInputs()
		for _, term := range k.ExactTerms() {
			words += term.Words()
		}
		if k != rowdata.FoldExactSum {
			words++
		}
		folds = append(folds, rowdata.Fold{Kind: k, Words: words})
	}
	return folds
}

// exactData are kinds of values that exercise windows in different ways.
var exactData = []struct {
	name  string
	tame  bool // no state is to be wide
	value func(rng *rand.Rand) float64
}{
	{"uniform", true, func(rng *rand.Rand) float64 { return 100 * rng.Float64() }},
	{"prices", true, func(rng *rand.Rand) float64 { return float64(rng.IntN(1e7)) / 100 }},
	{"integers", true, func(rng *rand.Rand) float64 { return float64(rng.IntN(2001) - 1000) }},
	{"mostly zero", true, func(rng *rand.Rand) float64 { return max(0, rng.Float64()-0.9) * math.Copysign(1, rng.Float64()-0.5) }},
	{"normal", true, func(rng *rand.Rand) float64 { return rng.NormFloat64() }},
	{"equal", true, func(*rand.Rand) float64 { return 0.1 }},
	{"large plus noise", true, func(rng *rand.Rand) float64 { return 1e9 + rng.Float64() }},
	{"log-normal", false, func(rng *rand.Rand) float64 { return math.Exp(8 * rng.NormFloat64()) }},
	{"thirty decades", false, func(rng *rand.Rand) float64 { return math.Pow(10, 30*rng.Float64()-15) }},
	{"cancelling", false, func(rng *rand.Rand) float64 { return []float64{1e300, -1e300, 1, 1e-300, -1e-300}[rng.IntN(5)] }},
	{"largest", false, func(rng *rand.Rand) float64 { return math.Copysign(math.MaxFloat64, rng.Float64()-0.3) }},
	{"subnormal", false, func(rng *rand.Rand) float64 { return math.Float64frombits(rng.Uint64N(1 << 54)) }},
	{"least", false, func(rng *rand.Rand) float64 { return -math.SmallestNonzeroFloat64 * float64(rng.IntN(3)) }},
	{"steps of a window", false, func(rng *rand.Rand) float64 { return math.Ldexp(1-2*float64(rng.IntN(2)), 16*rng.IntN(10)-80) }},
	{"any bits", false, func(rng *rand.Rand) float64 {
		for {
			if v := math.Float64frombits(rng.Uint64()); v-v == 0 {
				return v
			}
		}
	}},
}

// exactTerm returns the sum of a term over rows, in units of 2^-1074 to the power of its degree.
func exactTerm(term rowdata.ExactTerm, rows [][2]float64) *big.Int {
	sum := new(big.Int)
	for _, row := range rows {
		product := big.NewInt(1)
		for v, power := range term {
			scaled, _ := new(big.Float).SetMantExp(big.NewFloat(row[v]), 1074).Int(nil)
			for range power {
				product.Mul(product, scaled)
			}
		}
		sum.Add(sum, product)
	}
	return sum
}

// checkExact compares the sums of a state with those of its rows.
func checkExact(t *testing.T, f *rowdata.Fold, state []uint64, rows [][2]float64) {
	t.Helper()
	for i, term := range f.Kind.ExactTerms() {
		want := exactTerm(term, rows)
		words, exponent := f.Kind.ExactSum(state, i)
		got := bigWords(words)
		if got.Sign() != 0 {
			if shift := exponent + 1074*term.Degree(); shift < 0 {
				t.Fatalf("unit 2^%d", exponent)
			} else {
				got.Lsh(got, uint(shift))
			}
		}
		if got.Cmp(want) != 0 {
			t.Fatalf("%s of %d rows: the sum of x^%d y^%d is %s, want %s", f.Kind, len(rows), term[0], term[1], got, want)
		}
	}
	if f.Kind != rowdata.FoldExactSum && state[f.Words-1] != uint64(len(rows)) {
		t.Fatalf("%s: count %d, want %d", f.Kind, state[f.Words-1], len(rows))
	}
}

// addPairs accumulates rows into group 0.
func addPairs(s *states, rows [][2]float64) {
	var in [3][]uint64
	for _, row := range rows {
		in[0], in[1] = append(in[0], math.Float64bits(row[0])), append(in[1], math.Float64bits(row[1]))
	}
	s.accumulateFold(&s.bound.Folds[0], s.words[0], make([]uint32, len(rows)), in)
}

// Would catch any bit lost or added: by the loops, at the edges of windows, when a window moves or
// a state becomes wide, by carries and borrows, and by merges of states with any two windows. The
// sums are compared with integers of any size, whatever the order and the tree of merges.
func TestExactAgainstBigInt(t *testing.T) {
	rng := rowtest.Rand(t)
	for _, f := range exactFolds() {
		for _, data := range exactData {
			t.Run(fmt.Sprintf("%s/%s", f.Kind, data.name), func(t *testing.T) {
				for _, n := range []int{1, 2, 3, 50, 1000} {
					checkExactData(t, rng, &f, n, data.value, data.tame)
				}
			})
		}
	}
}

func checkExactData(t *testing.T, rng *rand.Rand, f *rowdata.Fold, n int, value func(*rand.Rand) float64, tame bool) {
	rows := make([][2]float64, n)
	for i := range rows {
		rows[i] = [2]float64{value(rng), value(rng)}
	}
	whole := oneFold(*f, 1)
	addPairs(whole, rows)
	checkExact(t, f, whole.group(0), rows)
	if tame && whole.group(0)[0] == rowdata.ExactWide {
		t.Errorf("%d rows made the state wide", n)
	}

	rng.Shuffle(n, func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	var parts []*states
	for from := 0; from < n; {
		to := min(n, from+rng.IntN(n/5+2))
		part := oneFold(*f, 1)
		addPairs(part, rows[from:to])
		parts, from = append(parts, part), to
	}
	for len(parts) > 1 {
		last := parts[len(parts)-1]
		parts = parts[:len(parts)-1]
		if rng.IntN(2) == 0 {
			rehome(last)
		}
		parts[rng.IntN(len(parts))].merge([]uint32{0}, last.words)
		poisonHeap(&last.heap)
	}
	checkExact(t, f, parts[0].group(0), rows)
	if tame && parts[0].group(0)[0] == rowdata.ExactWide {
		t.Errorf("merging states of %d rows made one wide", n)
	}
}

// Would catch a window whose sums wrap: those of long columns, which tests of few rows do not fill.
func TestExactSumsGrowOutOfTheWindow(t *testing.T) {
	for _, f := range exactFolds() {
		for _, sign := range []float64{1, -1} {
			// The second value is the largest that the window of the first takes.
			rows := [][2]float64{{sign, 1}, {sign * (1<<31 - 1.0/1024) * 2, 1 << 24}}
			s := oneFold(f, 1)
			addPairs(s, rows)
			for range 40 { // doubles 2^40 times
				twin := oneFold(f, 1)
				twin.merge([]uint32{0}, s.words)
				s.merge([]uint32{0}, twin.words)
				rows2 := rows[:2]
				addPairs(s, rows2)
			}
			if s.group(0)[0] != rowdata.ExactWide {
				t.Errorf("%s: still in its window", f.Kind)
			}
			for i, term := range f.Kind.ExactTerms() {
				want := exactTerm(term, rows)
				want.Mul(want, big.NewInt(1<<41-1))
				words, exponent := f.Kind.ExactSum(s.group(0), i)
				got := bigWords(words)
				got.Lsh(got, uint(exponent+1074*term.Degree()))
				if got.Cmp(want) != 0 {
					t.Errorf("%s: the sum of x^%d y^%d is %s, want %s", f.Kind, term[0], term[1], got, want)
				}
			}
		}
	}
}

// Would catch values that are not finite and are taken for numbers, forgotten in a merge, or told
// by the order in which they come.
func TestExactSpecials(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, f := range exactFolds() {
		for _, c := range []struct {
			values []float64
			want   uint64
		}{
			{[]float64{inf}, rowdata.ExactPlus},
			{[]float64{1, -inf, 1e300, inf}, rowdata.ExactPlus | rowdata.ExactMinus},
			{[]float64{1, 1e300, 1e-300, -nan}, rowdata.ExactNaN},
			{[]float64{nan, 1, -inf, 0, 5e-324}, rowdata.ExactNaN | rowdata.ExactMinus},
		} {
			whole, merged := oneFold(f, 1), oneFold(f, 1)
			for _, v := range c.values {
				rows := [][2]float64{{1, v}}
				if f.Kind.ExactInputs() == 1 {
					rows = [][2]float64{{v, 0}}
				}
				addPairs(whole, rows)
				part := oneFold(f, 1)
				addPairs(part, rows)
				part.merge([]uint32{0}, merged.words)
				merged = part
			}
			for _, s := range []*states{whole, merged} {
				if got := s.group(0)[0]; got != c.want {
					t.Errorf("%s of %v: first word %#x, want %#x", f.Kind, c.values, got, c.want)
				}
				if f.Kind != rowdata.FoldExactSum && s.group(0)[f.Words-1] != uint64(len(c.values)) {
					t.Errorf("%s of %v: count %d", f.Kind, c.values, s.group(0)[f.Words-1])
				}
			}
		}
	}
}

// Would catch arithmetic that is wrong at word boundaries, with carries through several words.
func TestExactWords(t *testing.T) {
	rng := rowtest.Rand(t)
	for range 20_000 {
		v := edgeWords(rng, 1+rng.IntN(4))
		sum := edgeWords(rng, len(v)+1+rng.IntN(5))
		at := rng.IntN(64*(len(sum)-len(v)) + 1)
		sign := uint64(0)
		want := new(big.Int).Lsh(unsignedOf(v), uint(at))
		if rng.IntN(2) == 0 {
			sign = math.MaxUint64
			want.Neg(want)
		}
		want.Add(want, bigWords(sum))
		got := append([]uint64(nil), sum...)
		addAt(got, v, at, sign)
		if want.Sub(want, bigWords(got)); want.TrailingZeroBits() < uint(64*len(sum)) && want.Sign() != 0 {
			t.Fatalf("%x + %x << %d, sign %x = %x", sum, v, at, sign, got)
		}

		size := bigWords(sum)
		if size.Sign() < 0 {
			size.Not(size)
		}
		if n := signedBits(sum); n != size.BitLen() {
			t.Fatalf("%x has %d bits, want %d", sum, n, size.BitLen())
		}
		n := rng.IntN(64 * len(v))
		left := append(append([]uint64(nil), v...), make([]uint64, len(v))...)
		shiftLeft(left, n)
		if unsignedOf(left).Cmp(new(big.Int).Lsh(unsignedOf(v), uint(n))) != 0 {
			t.Fatalf("%x << %d = %x", v, n, left)
		}
		product := make([]uint64, len(v)+len(sum))
		multiply(product, v, sum)
		if unsignedOf(product).Cmp(new(big.Int).Mul(unsignedOf(v), unsignedOf(sum))) != 0 {
			t.Fatalf("%x * %x = %x", v, sum, product)
		}
	}
}

// edgeWords returns words that are often all ones or zero.
func edgeWords(rng *rand.Rand, n int) []uint64 {
	v := make([]uint64, n)
	for i := range v {
		v[i] = []uint64{0, 1, math.MaxUint64, 1 << 63, rng.Uint64()}[rng.IntN(5)]
	}
	return v
}

func unsignedOf(words []uint64) *big.Int { return bigWords(append(append([]uint64(nil), words...), 0)) }

// BenchmarkExact folds values as an ordinary and as a deterministic query does.
func BenchmarkExact(b *testing.B) {
	ordinary := []rowdata.Fold{
		{Kind: rowdata.FoldSumFloat, Words: 1}, {Kind: rowdata.FoldMoments2, Words: 4},
		{Kind: rowdata.FoldMoments4, Words: 6}, {Kind: rowdata.FoldComoments, Words: 8},
	}
	for _, groups := range []int{100, 1e5} {
		for _, f := range append(ordinary, exactFolds()...) {
			b.Run(fmt.Sprintf("fold=%s/groups=%d", f.Kind, groups), func(b *testing.B) {
				rng := rand.New(rand.NewPCG(1, 2))
				s := oneFold(f, groups)
				gids := make([]uint32, benchTiles*rowdata.TileRows)
				values := make([]uint64, benchTiles*rowdata.TileRows)
				for i := range gids {
					gids[i] = uint32(rng.IntN(groups))
					values[i] = math.Float64bits(math.Round(100e6*rng.Float64()) / 1e6)
				}
				tile := 0
				fold := func() {
					from, to := tile*rowdata.TileRows, (tile+1)*rowdata.TileRows
					s.accumulateFold(&f, s.words[0], gids[from:to], [3][]uint64{values[from:to], values[from:to]})
					tile = (tile + 1) % benchTiles
				}
				for range benchTiles {
					fold()
				}
				for b.Loop() {
					fold()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rowdata.TileRows, "ns/row")
			})
		}
	}
}
