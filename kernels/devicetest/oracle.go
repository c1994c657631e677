package devicetest

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/mpga/mpga/kernels"
)

// Answer is what a Go map says of rows: which of them are in each group.
type Answer struct {
	shape *kernels.Shape
	data  *Data
	rows  map[string][]int32 // by key
}

// Answer groups rows by their keys.
func (d *Data) Answer(shape *kernels.Shape) *Answer {
	a := &Answer{shape: shape, data: d, rows: map[string][]int32{}}
	k := shape.KeyBytes
	for i := range d.Rows {
		key := d.Keys[i*k : (i+1)*k]
		a.rows[string(key)] = append(a.rows[string(key)], int32(i))
	}
	return a
}

// Groups are groups as host memory.
type Groups struct {
	Keys   []byte
	States [][]uint64 // by fold
}

// append appends other groups of the same shape.
func (g *Groups) append(others *Groups) {
	g.Keys = append(g.Keys, others.Keys...)
	for i := range g.States {
		g.States[i] = append(g.States[i], others.States[i]...)
	}
}

// Check compares groups with the answer: every group once, and every state.
func (a *Answer) Check(g *Groups) error {
	k := a.shape.KeyBytes
	seen := make(map[string]bool, len(a.rows))
	for i := range len(g.Keys) / k {
		key := string(g.Keys[i*k : (i+1)*k])
		rows, ok := a.rows[key]
		switch {
		case !ok:
			return fmt.Errorf("group %d: no row has key %x", i, key)
		case seen[key]:
			return fmt.Errorf("group %d: key %x has come before", i, key)
		}
		seen[key] = true
		for f, fold := range a.shape.Folds {
			n := fold.Words()
			if err := a.checkState(fold, rows, g.States[f][i*n:(i+1)*n]); err != nil {
				return fmt.Errorf("group %d, key %x, %d rows, fold %d: %w", i, key, len(rows), f, err)
			}
		}
	}
	if len(seen) != len(a.rows) {
		return fmt.Errorf("%d groups, want %d", len(seen), len(a.rows))
	}
	return nil
}

// values returns a column's values of rows, without NULLs in it or in the fold's other column.
func (a *Answer) values(fold kernels.Fold, column int, rows []int32) []value {
	var out []value
	for _, row := range rows {
		i := int(row)
		if fold.Column >= 0 && !isSet(a.data.Valid[fold.Column], i) ||
			fold.Other >= 0 && !isSet(a.data.Valid[fold.Other], i) {
			continue
		}
		if column < 0 {
			out = append(out, value{})
			continue
		}
		out = append(out, loadValue(a.shape.Columns[column], a.data.Columns[column], i))
	}
	return out
}

// value is one value in all the ways that folds look at it.
type value struct {
	word     uint64
	high     uint64
	float    float64
	isSigned bool
	isFloat  bool
}

func loadValue(t kernels.ColumnType, column []byte, i int) value {
	le := binary.LittleEndian
	switch t {
	case kernels.Int32:
		v := int64(int32(le.Uint32(column[4*i:])))
		return value{word: uint64(v), high: uint64(v >> 63), float: float64(v), isSigned: true}
	case kernels.Uint32:
		v := le.Uint32(column[4*i:])
		return value{word: uint64(v), float: float64(v)}
	case kernels.Int64:
		v := int64(le.Uint64(column[8*i:]))
		return value{word: uint64(v), high: uint64(v >> 63), float: float64(v), isSigned: true}
	case kernels.Uint64:
		v := le.Uint64(column[8*i:])
		return value{word: v, float: float64(v)}
	case kernels.Float64:
		v := le.Uint64(column[8*i:])
		return value{word: v, float: math.Float64frombits(v), isFloat: true}
	}
	v := value{word: le.Uint64(column[16*i:]), high: le.Uint64(column[16*i+8:]), isSigned: true}
	v.float, _ = new(big.Float).SetInt(v.int()).Float64()
	return v
}

// int returns an integer's value.
func (v value) int() *big.Int {
	high := new(big.Int).SetInt64(int64(v.high))
	return high.Lsh(high, 64).Add(high, new(big.Int).SetUint64(v.word))
}

// less orders words as values; NaN is the greatest.
func (v value) less(w value) bool {
	switch {
	case v.isFloat:
		return v.float < w.float || v.float == v.float && w.float != w.float
	case v.isSigned:
		return int64(v.word) < int64(w.word)
	}
	return v.word < w.word
}

func (a *Answer) checkState(fold kernels.Fold, rows []int32, got []uint64) error {
	values := a.values(fold, fold.Column, rows)
	var want uint64
	switch fold.Op {
	case kernels.Count:
		want = uint64(len(values))
	case kernels.Sum64:
		for _, v := range values {
			want += v.word
		}
	case kernels.Sum128:
		return checkSum128(values, got)
	case kernels.SumFloat:
		return checkSum(values, got)
	case kernels.Min, kernels.Max:
		want = extremum(fold.Op, a.shape.Columns[fold.Column], values)
	case kernels.BitAnd:
		want = math.MaxUint64
		for _, v := range values {
			want &= v.word
		}
	case kernels.BitOr:
		for _, v := range values {
			want |= v.word
		}
	case kernels.BitXor:
		for _, v := range values {
			want ^= v.word
		}
	case kernels.Moments2, kernels.Moments4:
		return checkMoments(values, got)
	case kernels.MinN, kernels.MaxN:
		return checkBest(fold, values, got)
	case kernels.SumExact:
		return checkExact(fold, values, got)
	case kernels.CountDistinct, kernels.QuantileCont, kernels.QuantileDisc:
		return checkSorted(fold, values, got)
	default:
		return checkComoments(values, a.values(fold, fold.Other, rows), got)
	}
	if got[0] != want {
		return fmt.Errorf("%#x, want %#x", got[0], want)
	}
	return nil
}

// compare orders values as less does.
func (v value) compare(w value) int {
	switch {
	case v.less(w):
		return -1
	case w.less(v):
		return 1
	}
	return 0
}

// checkBest compares the state of MinN or MaxN. Of more values than the limit, the state has counted more than that.
func checkBest(fold kernels.Fold, values []value, got []uint64) error {
	slices.SortFunc(values, value.compare)
	if fold.Op == kernels.MaxN {
		slices.Reverse(values)
	}
	want := make([]uint64, 1+fold.Limit)
	want[0] = uint64(len(values))
	if n := uint64(fold.Limit); want[0] > n && got[0] >= n {
		want[0] = got[0]
	}
	for i, v := range values[:min(len(values), fold.Limit)] {
		if want[1+i] = v.ordered(); fold.Op == kernels.MinN {
			want[1+i] = ^want[1+i]
		}
	}
	if !slices.Equal(got, want) {
		return fmt.Errorf("%x, want %x", got, want)
	}
	return nil
}

// checkSorted compares the state of a fold that sorts.
func checkSorted(fold kernels.Fold, values []value, got []uint64) error {
	slices.SortFunc(values, value.compare)
	n := len(values)
	want := []uint64{uint64(n), 0, 0}
	switch {
	case fold.Op == kernels.CountDistinct:
		same := func(v, w value) bool { return v.compare(w) == 0 }
		want = []uint64{uint64(len(slices.CompactFunc(values, same)))}
	case n > 0 && fold.Op == kernels.QuantileCont:
		at := int(math.Floor(fold.Fraction * float64(n-1)))
		want[1], want[2] = values[at].ordered(), values[min(at+1, n-1)].ordered()
	case n > 0:
		want[1] = values[max(1, n-int(math.Floor(float64(n)-fold.Fraction*float64(n))))-1].ordered()
		want[2] = want[1]
	}
	if !slices.Equal(got, want) {
		return fmt.Errorf("%x, want %x", got, want)
	}
	return nil
}

// ordered returns a word in unsigned order of the values.
func (v value) ordered() uint64 {
	switch {
	case v.isFloat && v.float != v.float:
		return 0xfff8000000000000
	case v.isFloat && v.float < 0:
		return ^v.word
	case v.isFloat:
		return math.Float64bits(math.Abs(v.float)) | 1<<63
	case v.isSigned:
		return v.word ^ 1<<63
	}
	return v.word
}

func checkSum128(values []value, got []uint64) error {
	want := new(big.Int)
	for _, v := range values {
		want.Add(want, v.int())
	}
	mask := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 128), big.NewInt(1))
	want.And(want, mask)
	high := new(big.Int).SetUint64(got[1])
	if sum := high.Lsh(high, 64).Add(high, new(big.Int).SetUint64(got[0])); sum.Cmp(want) != 0 {
		return fmt.Errorf("sum %x, want %x", sum, want)
	}
	return nil
}

// extremum returns the least or greatest value, NaN in its first form and -0 as 0; without values,
// the identity.
func extremum(op kernels.FoldOp, t kernels.ColumnType, values []value) uint64 {
	if len(values) == 0 {
		return identities[t][op-kernels.Min]
	}
	best := values[0]
	for _, v := range values {
		if op == kernels.Min && v.less(best) || op == kernels.Max && best.less(v) {
			best = v
		}
	}
	switch {
	case best.isFloat && best.float != best.float:
		return 0x7ff8000000000000
	case best.isFloat && best.float == 0:
		return 0
	}
	return best.word
}

// identities of Min and Max by type.
var identities = map[kernels.ColumnType][2]uint64{
	kernels.Int32:   {math.MaxInt32, 0xffffffff80000000},
	kernels.Uint32:  {math.MaxUint32, 0},
	kernels.Int64:   {math.MaxInt64, 1 << 63},
	kernels.Uint64:  {math.MaxUint64, 0},
	kernels.Float64: {0x7ff8000000000000, 0xfff0000000000000},
}

// sum is a sum of doubles, with what its rounding can come to.
type sum struct {
	value, scale float64
	n            int
}

func (s *sum) add(x float64) {
	s.value += x
	s.scale += math.Abs(x)
	s.n++
}

// check allows each addition, of both sides, and each product behind a term a rounding or two.
func (s *sum) check(what string, got uint64) error {
	v := math.Float64frombits(got)
	switch {
	case math.IsNaN(s.value) && math.IsNaN(v), s.value == v:
		return nil
	case isFinite(s.scale) && math.Abs(v-s.value) <= s.scale*0x1p-50*float64(s.n+16):
		return nil
	}
	return fmt.Errorf("%s %v, want %v", what, v, s.value)
}

func checkSum(values []value, got []uint64) error {
	var want sum
	for _, v := range values {
		want.add(v.float)
	}
	return want.check("sum", got[0])
}

// checkMoments computes the moments about the shift that was chosen, which may be any value.
func checkMoments(values []value, got []uint64) error {
	if got[0] != uint64(len(values)) {
		return fmt.Errorf("moments of %d values, want %d", got[0], len(values))
	}
	if len(values) == 0 {
		return nil
	}
	shift := math.Float64frombits(got[1])
	if err := checkShift(values, shift); err != nil {
		return err
	}
	sums := make([]sum, len(got)-2)
	finite := true
	for _, v := range values {
		finite = finite && isFinite(v.float)
		d := v.float - shift
		for p, power := 0, d; p < len(sums); p, power = p+1, power*d {
			sums[p].add(power)
		}
	}
	if !finite {
		return checkNotFinite(got[2:4])
	}
	for p := range sums {
		sums[p].scale += spread(values, p+1)
	}
	return checkSums("sum of power", 1, sums, got[2:])
}

// checkSums compares sums with sums that were merged, by numbered names. Their scales have the
// spread of the values: what a merge adds and takes away again is as large as the sums about any
// other value, and may overflow where they would.
func checkSums(name string, first int, sums []sum, got []uint64) error {
	for i, s := range sums {
		if !isFinite(s.scale) {
			continue
		}
		if err := s.check(fmt.Sprintf("%s %d", name, first+i), got[i]); err != nil {
			return err
		}
	}
	return nil
}

func isFinite(x float64) bool { return x-x == 0 }

// spread bounds the sum of powers of differences between values.
func spread(values []value, power int) float64 {
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		low, high = min(low, v.float), max(high, v.float)
	}
	return float64(len(values)) * math.Pow(high-low, float64(power))
}

// checkShift finds the shift among the values, or what a 128-bit integer is rounded to otherwise.
func checkShift(values []value, shift float64) error {
	for _, v := range values {
		if v.float == shift || v.float != v.float && shift != shift || math.Abs(v.float-shift) <= 0x1p-52*math.Abs(v.float) {
			return nil
		}
	}
	return fmt.Errorf("shift %v is none of the values", shift)
}

// checkNotFinite: values that are not finite must show in one of the sums.
func checkNotFinite(sums []uint64) error {
	if !slices.ContainsFunc(sums, func(w uint64) bool { return !isFinite(math.Float64frombits(w)) }) {
		return fmt.Errorf("all of %d sums are finite, not all values are", len(sums))
	}
	return nil
}

func checkComoments(x, y []value, got []uint64) error {
	if got[0] != uint64(len(x)) {
		return fmt.Errorf("co-moments of %d values, want %d", got[0], len(x))
	}
	if len(x) == 0 {
		return nil
	}
	kx, ky := math.Float64frombits(got[1]), math.Float64frombits(got[2])
	for _, err := range []error{checkShift(x, kx), checkShift(y, ky)} {
		if err != nil {
			return err
		}
	}
	sums := make([]sum, 5)
	finite := true
	for i := range x {
		finite = finite && isFinite(x[i].float) && isFinite(y[i].float)
		dx, dy := x[i].float-kx, y[i].float-ky
		for j, term := range [5]float64{dx, dy, dx * dx, dy * dy, dx * dy} {
			sums[j].add(term)
		}
	}
	if !finite {
		return checkNotFinite(got[3:])
	}
	for j, s := range [5]float64{spread(x, 1), spread(y, 1), spread(x, 2), spread(y, 2),
		math.Sqrt(spread(x, 2) * spread(y, 2))} {
		sums[j].scale += s
	}
	return checkSums("co-moment", 0, sums, got[3:])
}
