package papers

import (
	"math"
	"math/rand/v2"
	"testing"
)

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.Abs(got-want) > tolerance*math.Abs(want) {
		t.Errorf("%s: %g, want %g", what, got, want)
	}
}

// Would catch a formula that differs from section 4.1.3: (4 min(24, g) + 8 - 68) N / B.
func TestSortedColumnsGain(t *testing.T) {
	near(t, "4 groups", SortedColumnsGain(1e9, 4, 1e9), -44, 1e-12)
	near(t, "16 groups", SortedColumnsGain(1e9, 16, 1e9), 4, 1e-12)
	near(t, "many groups", SortedColumnsGain(1e9, 1e6, 1e9), 36, 1e-12)
}

// Would catch a formula that differs from section 4.4, computed by hand for N = 2^20.
func TestCodes(t *testing.T) {
	const n = 1 << 20
	near(t, "in L1", encodeCost(n, 1<<10, 4), 4*1024+8*n+8*(n+1024)*24/12, 1e-12)
	near(t, "in L2", encodeCost(n, 1<<16, 4), 4*65536+8*n+8*(n+65536)*24/4.5, 1e-12)
	near(t, "8-byte keys", encodeCost(n, 4, 8), 8*4+12*n+12*(n+4)*4/12.0, 1e-12)
	// p (68 - 20) N less D, for one pass of codes and two columns.
	near(t, "gain", CodesGain(n, 4, 4, 2, 1e9), (2*48*n-encodeCost(n, 4, 4))/1e9, 1e-12)
	if got := CodesPayFrom(n, n, 4); got == 0 {
		t.Error("20 bits need 3 passes, which are fewer than 4")
	}
	if got := CodesPayFrom(1<<28, 1<<28, 4); got != 0 {
		t.Errorf("28 bits need 4 passes, as 4-byte keys do: %d", got)
	}
	for _, p := range Table2[8] {
		if got := CodesPayFrom(1<<28, int64(p.X), 8); float64(got) != p.Y {
			t.Errorf("%g groups: %d columns, the table has %g", p.X, got, p.Y)
		}
	}
}

// Would catch a decision that is not figure 21's.
func TestTree(t *testing.T) {
	for _, c := range []struct {
		fits bool
		skew float64
		want string
	}{{true, 0, HGB}, {true, 2, HGB}, {false, .9, PGBTR}, {false, 1, SGBTR}} {
		if got := Tree(c.fits, c.skew); got != c.want {
			t.Errorf("%v %g: %s", c.fits, c.skew, got)
		}
	}
}

// Would catch a count that misses the first look, a search that does not come around, and counts that are not those
// of theory: (1 + 1 / (1 - a)) / 2 of linear probing at a load factor of a (Knuth, 6.4), and 1 for each key of
// SP-EGA's first phase, of which 1 - (1 - exp(-a)) / a are left for the second.
func TestProbes(t *testing.T) {
	if got := ProbesLinear(1, 1); got != 1 {
		t.Errorf("one key: %g", got)
	}
	taken := []bool{true, false, true}
	if got := enter(taken, 2); got != 3 || !taken[1] {
		t.Errorf("around the end: %d looks, %v", got, taken)
	}
	const slots = 1 << 19
	near(t, "half full", ProbesLinear(slots/2, slots), 1.5, .02)
	near(t, "90% full", ProbesLinear(slots*9/10, slots), 5.5, .1)
	full := ProbesTwoPhase(slots*99/100, slots, 1)
	left := 1 - (1-math.Exp(-.99))/.99
	if full < 1+left || full > 1+2*left {
		t.Errorf("SP-EGA at .99: %g probes, %g of the keys are left for the second phase", full, left)
	}
	if third := ProbesTwoPhase(slots*99/100, slots, 1.0/3); third < full || third > 3 {
		t.Errorf("SP-EGA with a third: %g", third)
	}
}

// Would catch an estimator that does not invert its probability, or that fails where no pair is equal.
func TestEstimate(t *testing.T) {
	for _, n := range []float64{2, 10, 1e4} {
		near(t, "groups of triples", groupsOfTriples(3*(n-1)/(n*n)), n, 1e-6)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	same, different, hundred := make([]uint64, 1e5), make([]uint64, 1e5), make([]uint64, 1e5)
	for i := range same {
		different[i], hundred[i] = uint64(i), rng.Uint64N(100)
	}
	near(t, "pairs of one key", EstimatePairs(rng, same), 1, 0)
	near(t, "triples of one key", EstimateTriples(rng, same), 1, 0)
	near(t, "pairs of different keys", EstimatePairs(rng, different), 1000, .95)
	near(t, "triples of a hundred keys", EstimateTriples(rng, hundred), 100, .6)
	near(t, "pairs of a hundred keys", EstimatePairs(rng, hundred), 100, .8)
	if EstimatePairs(rng, same[:1]) != 1 {
		t.Error("one row")
	}
}

// Would catch trials that are not counted, or a bound that is taken for one more.
func TestThrow(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	if b := Throw(rng, 10, 1, 10, 4); b.Over != 1 || b.Fullest != 1 {
		t.Errorf("%+v", b)
	}
	if b := Throw(rng, 10, 1, 11, 4); b.Over != 0 {
		t.Errorf("%+v", b)
	}
}

// Would catch a quality that is not by the fewest sets.
func TestMergeQuality(t *testing.T) {
	if greedy, neighbours := MergeQuality([]int64{5, 5, 5, 5}, 10); greedy != 1 || neighbours != 1 {
		t.Errorf("%g %g", greedy, neighbours)
	}
	if greedy, neighbours := MergeQuality([]int64{6, 4, 6, 4}, 7); greedy != 4./3 || neighbours != 4./3 {
		t.Errorf("%g %g", greedy, neighbours)
	}
}

// Would catch a formula that differs from section 4.1.4, whose two columns pay from a ratio of 0.2 on.
func TestPartitionedColumnsGain(t *testing.T) {
	near(t, "all match", PartitionedColumnsGain(1e9, 1e9, 1, 1e9), 2*92, 1e-12)
	near(t, "two columns", PartitionedColumnsGain(1e9, 5e8, 2, 1e9), 2*(104-36-12), 1e-12)
	if PartitionedColumnsGain(1000, 190, 2, 1) > 0 || PartitionedColumnsGain(1000, 200, 2, 1) < 0 {
		t.Error("two columns turn at 36/184")
	}
}

// Would catch a rule that differs from the paper's summary.
func TestJoinTree(t *testing.T) {
	for _, c := range []struct {
		ratio    float64
		isSkewed bool
		keyBytes int
		want     string
	}{{1, false, 4, PHJTR}, {.25, false, 4, PHJTR}, {.1, false, 4, PHJUR}, {.1, true, 4, PHJTR}, {.1, false, 8, PHJTR}} {
		if got := JoinTree(c.ratio, c.isSkewed, c.keyBytes); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}
