package finalize

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mpga/mpga/internal/grouptest"
	"github.com/mpga/mpga/internal/rowdata"
)

// sequences are inputs that quicksorts are known to be slow or wrong on.
func sequences(n int) map[string][]uint64 {
	rng := rand.New(rand.NewPCG(5, uint64(n)))
	m := map[string][]uint64{}
	fill := func(name string, f func(i int) uint64) {
		words := make([]uint64, n)
		for i := range words {
			words[i] = f(i)
		}
		m[name] = words
	}
	fill("rising", func(i int) uint64 { return uint64(i) })
	fill("falling", func(i int) uint64 { return uint64(n - i) })
	fill("equal", func(int) uint64 { return 7 })
	fill("organ pipe", func(i int) uint64 { return uint64(min(i, n-i)) })
	fill("valley", func(i int) uint64 { return uint64(max(i, n-i)) })
	fill("sawtooth", func(i int) uint64 { return uint64(i % 17) })
	fill("two values", func(i int) uint64 { return uint64(i % 2 * math.MaxInt64) })
	fill("extremes", func(i int) uint64 { return []uint64{0, math.MaxUint64, 1 << 63, 1<<63 - 1}[rng.IntN(4)] })
	fill("random", func(int) uint64 { return rng.Uint64() })
	fill("one large first", func(i int) uint64 { return map[bool]uint64{true: math.MaxUint64}[i == 0] + uint64(i) })
	return m
}

// Would catch a selection that picks a neighbour, loses elements, leaves larger ones before k
// (which next relies on), or takes quadratic time on an input that is made for it.
func TestSelectNthAgainstSort(t *testing.T) {
	for _, n := range []int{1, 2, 3, 31, 32, 33, 34, 100, 1000, 200_000} {
		for name, words := range sequences(n) {
			want := slices.Sorted(slices.Values(words))
			for _, k := range []int{0, 1, n / 4, n / 2, n - 2, n - 1} {
				if k < 0 || k >= n {
					continue
				}
				got := slices.Clone(words)
				selectNth(got, k)
				if got[k] != want[k] {
					t.Fatalf("%s of %d: element %d is %d, want %d", name, n, k, got[k], want[k])
				}
				if k > 0 && slices.Max(got[:k]) > got[k] || slices.Min(got[k:]) < got[k] {
					t.Fatalf("%s of %d: element %d does not part the others", name, n, k)
				}
				if n <= 1000 {
					if slices.Sort(got); !slices.Equal(got, want) {
						t.Fatalf("%s of %d: elements are lost", name, n)
					}
				}
			}
		}
	}
}

// Would catch the same of elements of two words, and a selection that never ends where most are equal.
func TestSelectPairAgainstSort(t *testing.T) {
	wide := &rowdata.Fold{Kind: rowdata.FoldCollect, Wide: true, ElementWords: 2}
	for _, n := range []int{1, 2, 9, 10, 11, 100, 20_000} {
		for name, words := range sequences(n) {
			pairs := make([][2]uint64, n)
			for i, w := range words {
				pairs[i] = [2]uint64{w % 3, w}
			}
			want := slices.SortedFunc(slices.Values(pairs), wide.Compare2)
			for _, k := range []int{0, n / 4, n / 2, n - 1} {
				got := slices.Clone(pairs)
				selectPair(wide, got, k)
				least := slices.MinFunc(got[k:], wide.Compare2)
				if got[k] != want[k] || least != want[k] {
					t.Fatalf("%s of %d: element %d is %v, the least from there %v, want %v", name, n, k, got[k], least, want[k])
				}
				if slices.SortFunc(got, wide.Compare2); !slices.Equal(got, want) {
					t.Fatalf("%s of %d: elements are lost", name, n)
				}
			}
		}
	}
}

// Would catch nth and next of pairs and strings that order by the low word or by the length.
func TestNthOfPairs(t *testing.T) {
	wide := &rowdata.Fold{Kind: rowdata.FoldCollect, Wide: true, ElementWords: 2}
	elements := []uint64{5, 1, 0, 2, 9, 0, 1, 1}
	for k, want := range [][2]uint64{{9, 0}, {1, 1}, {5, 1}, {0, 2}} {
		if got := [2]uint64(nth(wide, elements, k)); got != want {
			t.Errorf("pair %d is %v, want %v", k, got, want)
		}
		if k > 0 {
			if got := [2]uint64(next(wide, elements, k-1)); got != want {
				t.Errorf("the pair after %d is %v, want %v", k-1, got, want)
			}
		}
	}
	long := &rowdata.Fold{Kind: rowdata.FoldCollect, Long: true, ElementWords: 2}
	var strings []uint64
	for _, s := range []string{"b", "a longer string than any", "", "ba", "a"} {
		strings = append(strings, grouptest.Words(s)...)
	}
	for k, want := range []string{"", "a", "a longer string than any", "b", "ba"} {
		if got := string(rowdata.AsBytes2(nth(long, strings, k)).Bytes()); got != want {
			t.Errorf("string %d is %q, want %q", k, got, want)
		}
	}
}

// Would catch times between two extremes that overflow or are rounded in a float64, whose 53 bits
// do not hold their difference.
func TestInterpolateTimes(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	ints := []int64{math.MinInt64, math.MinInt64 + 1, -1, 0, 1, 1 << 53, 1<<53 + 1, math.MaxInt64 - 1, math.MaxInt64}
	for range 200 {
		ints = append(ints, int64(rng.Uint64()))
	}
	fractions := []float64{0, 0x1p-60, 0.25, 1.0 / 3, 0.5, 0.75, 1 - 0x1p-53}
	for _, a := range ints {
		for _, b := range ints {
			if a > b {
				continue
			}
			for _, d := range fractions {
				got := int64(interpolate(uint64(a), uint64(b), d, true))
				exact := new(big.Rat).SetFloat64(d)
				exact.Mul(exact, new(big.Rat).SetInt(new(big.Int).Sub(big.NewInt(b), big.NewInt(a))))
				exact.Add(exact, new(big.Rat).SetInt64(a))
				exact.Sub(exact, new(big.Rat).SetInt64(got))
				if exact.Abs(exact).Cmp(big.NewRat(1, 2)) > 0 || got < a || got > b {
					t.Fatalf("%g of the way from %d to %d: %d is %s off", d, a, b, got, exact.FloatString(3))
				}
			}
		}
	}
}

// Would catch doubles that overflow on the way from one extreme to the other.
func TestInterpolateDoubles(t *testing.T) {
	f, w := math.Float64frombits, math.Float64bits
	for _, c := range []struct{ a, b, d, want float64 }{
		{1, 2, 0, 1}, {1, 2, 0.5, 1.5}, {-math.MaxFloat64, math.MaxFloat64, 0.5, 0},
		{math.Inf(-1), 1, 0.5, math.Inf(-1)}, {1, math.Inf(1), 0, 1}, {1, math.Inf(1), 0.5, math.Inf(1)}, {3, 3, 0.1, 3},
	} {
		if got := f(interpolate(w(c.a), w(c.b), c.d, false)); math.Abs(got-c.want) > 1e-15*math.Abs(c.want) && got != c.want {
			t.Errorf("%g of the way from %g to %g: %g, want %g", c.d, c.a, c.b, got, c.want)
		}
	}
}

// Would catch a quantile_disc that is one value off where fraction times count is whole.
func TestDiscIndex(t *testing.T) {
	for n := 1; n <= 50; n++ {
		for q := 0; q <= n; q++ { // at the q-th of n steps, the q-th value, and the first at 0
			if got, want := discIndex(n, float64(q)/float64(n), false), max(q, 1)-1; got != want && got != want+1 {
				t.Errorf("%d/%d of %d values: index %d, want %d", q, n, n, got, want)
			}
		}
	}
	for _, c := range []struct {
		n, want int
		q       float64
	}{{4, 0, 0}, {4, 0, 0.25}, {4, 1, 0.26}, {4, 1, 0.5}, {4, 2, 0.51}, {4, 3, 1}, {1, 0, 0}, {1, 0, 1}, {5, 2, 0.5}} {
		if got := discIndex(c.n, c.q, false); got != c.want {
			t.Errorf("%g of %d values: index %d, want %d", c.q, c.n, got, c.want)
		}
		if got, want := discIndex(c.n, c.q, true), c.n-1-c.want; got != want {
			t.Errorf("%g of %d values from the greatest on: index %d, want %d", c.q, c.n, got, want)
		}
	}
}

// Would catch a mode that depends on the order of its set: of equal counts the least position wins.
func TestMode(t *testing.T) {
	f := &rowdata.Fold{Kind: rowdata.FoldHistogram, ElementWords: 3}
	elements := [][3]uint64{{10, 2, 5}, {11, 3, 9}, {12, 3, 4}, {13, 3, 7}, {14, 1, 0}}
	for range 20 {
		rand.Shuffle(len(elements), func(i, j int) { elements[i], elements[j] = elements[j], elements[i] })
		var words []uint64
		for _, e := range elements {
			words = append(words, e[:]...)
		}
		if got := mode(f, words); !slices.Equal(got, []uint64{12}) {
			t.Errorf("%v: mode %v, want 12", elements, got)
		}
	}
}

// Would catch lists that are sorted by value in place of position, or backwards.
func TestSortElements(t *testing.T) {
	two := []uint64{9, 3, 8, 1, 7, 2}
	if sortByPosition(&rowdata.Fold{ElementWords: 2}, two); !slices.Equal(two, []uint64{8, 1, 7, 2, 9, 3}) {
		t.Errorf("words by position: %v", two)
	}
	three := []uint64{1, 9, 3, 2, 8, 1, 3, 7, 2}
	if sortByPosition(&rowdata.Fold{ElementWords: 3}, three); !slices.Equal(three, []uint64{2, 8, 1, 3, 7, 2, 1, 9, 3}) {
		t.Errorf("pairs by position: %v", three)
	}
	for n := range 6 {
		for _, descending := range []bool{false, true} {
			var one, pairs, want []uint64
			for i := range n {
				one = append(one, uint64(i*5%6))
				pairs = append(pairs, uint64(100-i), uint64(i*5%6))
			}
			want = slices.Sorted(slices.Values(one))
			if descending {
				slices.Reverse(want)
			}
			sortTop(&rowdata.Fold{ElementWords: 1, Descending: descending}, one)
			sortTop(&rowdata.Fold{ElementWords: 2, Wide: true, Descending: descending}, pairs)
			for i := range n {
				if one[i] != want[i] || pairs[2*i+1] != want[i] {
					t.Fatalf("%d elements, descending %v: %v and %v, want %v", n, descending, one, pairs, want)
				}
			}
		}
	}
}
