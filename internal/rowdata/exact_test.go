package rowdata

import (
	"errors"
	"math"
	"math/big"
	"slices"
	"testing"

	"github.com/mpga/mpga/engine/query"
)

// Would catch deterministic queries that still add doubles, or that share a fold with ordinary ones
// of integers, which are exact as they are.
func TestBindDeterministic(t *testing.T) {
	for _, c := range []struct {
		a    query.Aggregate
		want Fold
	}{
		{call(query.Sum, "distance"), Fold{Kind: FoldExactSum, Words: 3}},
		{call(query.Avg, "distance"), Fold{Kind: FoldExactSum, Words: 3}},
		{call(query.StddevSamp, "distance"), Fold{Kind: FoldExactMoments2, Words: 8}},
		{call(query.VarPop, "delay"), Fold{Kind: FoldExactMoments2, Words: 8}},
		{call(query.Kurtosis, "distance"), Fold{Kind: FoldExactMoments4, Words: 22}},
		{call(query.RegrR2, "distance", "delay"), Fold{Kind: FoldExactComoments, Words: 19}},
		{call(query.Sum, "delay"), Fold{Kind: FoldSumInt, Words: 2}},
		{call(query.Avg, "price"), Fold{Kind: FoldSumInt128, Words: 3}},
		{call(query.Max, "distance"), Fold{Kind: FoldMax, Words: 1}},
	} {
		b := mustBind(t, query.Query{Keys: []query.Key{{Column: "day"}}, Aggregates: []query.Aggregate{c.a}, Deterministic: true})
		got := b.Folds[b.Outputs[0].Fold]
		if got.Kind != c.want.Kind || got.Words != c.want.Words {
			t.Errorf("%s: %s of %d words, want %s of %d", c.a, got.Kind, got.Words, c.want.Kind, c.want.Words)
		}
		if got.Kind.Exact() != got.Refers() {
			t.Errorf("%s: refers is %t", c.a, got.Refers())
		}
	}
}

// Would catch blocks without room for the sum of 2^63 products of the largest double, negated.
func TestExactBlockWords(t *testing.T) {
	largest, _ := new(big.Float).SetMantExp(big.NewFloat(math.MaxFloat64), 1074).Int(nil)
	for _, term := range FoldExactMoments4.ExactTerms() {
		sum := big.NewInt(1)
		for range term.Degree() {
			sum.Mul(sum, largest)
		}
		sum.Lsh(sum, 63)
		if bits := sum.BitLen() + 1; bits > 64*term.BlockWords() || bits <= 64*(term.BlockWords()-1) {
			t.Errorf("x^%d: %d words for %d bits", term[0], term.BlockWords(), bits)
		}
	}
}

// Would catch a wide state that leaves its block behind, and units of a damaged page, by which sums
// would be shifted out of their words.
func TestRelocateExact(t *testing.T) {
	f := Fold{Kind: FoldExactComoments, Words: 19}
	var from, to Heap
	block := from.AllocBlock(f.Kind.ExactBlockWords())
	for i := range block {
		block[i] = uint64(i)
	}
	state := make([]uint64, f.Words)
	state[0], state[2] = ExactWide, Address(block)
	if err := f.Relocate(state, &to); err != nil {
		t.Fatal(err)
	}
	if state[2] == Address(block) || !slices.Equal(f.Kind.ExactBlock(state), block) {
		t.Error("the block was not moved")
	}
	for _, c := range []struct {
		x, y uint64
		ok   bool
	}{
		{0, 0, true}, {ExactUnitMin, ExactUnitMax, true}, {0, 1000, true}, {ExactNaN | ExactMinus, 1000, true},
		{1, 0, false}, {0, ExactUnitMin - 1, false}, {ExactUnitMax + 1, 0, false}, {1000, ExactWide, false}, {ExactWide + 1, 0, false},
	} {
		err := f.Relocate(append([]uint64{c.x, c.y}, make([]uint64, f.Words-2)...), &to)
		if c.ok != (err == nil) || err != nil && !errors.Is(err, ErrCorruptState) {
			t.Errorf("units %#x and %#x: %v", c.x, c.y, err)
		}
	}
}
