package grouptest

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/query"
)

// evaluate computes an aggregate of the query q for a group of `rows` rows. xs and ys are the first
// and the second arguments of the aggregate in the rows where none is NULL, in input order.
func evaluate(a query.Aggregate, q query.Query, types []arrow.DataType, rows int, xs, ys []any) (any, error) {
	switch a.Func {
	case query.CountStar:
		return int64(rows), nil
	case query.Count:
		return int64(len(xs)), nil
	case query.CountDistinct:
		return int64(len(tally(xs))), nil
	case query.ApproxCountDistinct:
		return NearCount(int64(len(tally(xs)))), nil
	}
	if len(xs) == 0 {
		return nil, nil
	}
	dt := types[0]
	if _, float := xs[0].(float64); float && q.Deterministic && (a.Func == query.Sum || a.Func == query.Avg) {
		return exactSum(a.Func, xs), nil
	}
	switch a.Func {
	case query.Sum:
		return sum(xs, dt, q.Overflow)
	case query.Avg:
		return avg(xs, dt), nil
	case query.Min, query.QuantileDisc, query.Max:
		sorted := slices.SortedStableFunc(slices.Values(xs), CompareValues)
		return sorted[discreteIndex(a, len(xs))], nil
	case query.MinN, query.MaxN:
		sorted := slices.SortedStableFunc(slices.Values(xs), CompareValues)
		if a.Func == query.MaxN {
			slices.Reverse(sorted)
		}
		return sorted[:min(a.Length, len(sorted))], nil
	case query.Median:
		return quantile(xs, 0.5, dt, false), nil
	case query.QuantileCont:
		return quantile(xs, a.Fraction, dt, a.Descending), nil
	case query.BoolAnd:
		return !slices.Contains(xs, any(false)), nil
	case query.BoolOr:
		return slices.Contains(xs, any(true)), nil
	case query.BitAnd, query.BitOr, query.BitXor:
		return fold(xs, a.Func), nil
	case query.First, query.AnyValue:
		return xs[0], nil
	case query.Last:
		return xs[len(xs)-1], nil
	case query.List:
		return xs, nil
	case query.StringAgg:
		var texts []string
		for _, x := range xs {
			texts = append(texts, x.(string))
		}
		return strings.Join(texts, a.Separator), nil
	case query.Mode:
		return mode(xs), nil
	case query.ArgMin, query.ArgMax:
		return xs[best(ys, a.Func == query.ArgMax)], nil
	}
	return statistic(a.Func, types, xs, ys, q.Deterministic), nil
}

// discreteIndex returns which of n sorted values the function wants.
func discreteIndex(a query.Aggregate, n int) int {
	switch a.Func {
	case query.Min:
		return 0
	case query.Max:
		return n - 1
	}
	at := max(1, n-int(math.Floor(float64(n)-a.Fraction*float64(n)))) - 1
	if a.Descending {
		return n - 1 - at
	}
	return at
}

// tally counts the occurrences of each distinct value.
func tally(xs []any) map[string]int {
	counts := make(map[string]int)
	for _, x := range xs {
		counts[keyText(x)]++
	}
	return counts
}

func mode(xs []any) any {
	counts := tally(xs)
	top := xs[0]
	for _, x := range xs {
		if counts[keyText(x)] > counts[keyText(top)] {
			top = x
		}
	}
	return top
}

// best returns the index of the first smallest or first largest value.
func best(ys []any, largest bool) int {
	at := 0
	for i := range ys {
		c := CompareValues(ys[i], ys[at])
		if largest {
			c = -c
		}
		if c < 0 {
			at = i
		}
	}
	return at
}

func fold(xs []any, f query.Func) any {
	if _, ok := xs[0].(int64); ok {
		return foldBits[int64](xs, f)
	}
	return foldBits[uint64](xs, f)
}

func foldBits[T int64 | uint64](xs []any, f query.Func) T {
	bits := xs[0].(T)
	for _, x := range xs[1:] {
		switch f {
		case query.BitAnd:
			bits &= x.(T)
		case query.BitOr:
			bits |= x.(T)
		case query.BitXor:
			bits ^= x.(T)
		}
	}
	return bits
}

// sum adds values of an integer, boolean, decimal, duration or float type.
func sum(xs []any, dt arrow.DataType, overflow query.Overflow) (any, error) {
	if _, ok := xs[0].(float64); ok {
		return sumFloats(xs), nil
	}
	return Total(sumInts(xs), resultType(query.Sum, []arrow.DataType{dt}, overflow), overflow)
}

// Total returns an exact sum as a cell of the type of the result.
func Total(sum *big.Int, result arrow.DataType, overflow query.Overflow) (any, error) {
	switch {
	case arrow.IsDecimal(result.ID()):
		if sum.CmpAbs(decimalLimit) >= 0 {
			return nil, fmt.Errorf("%w of decimal(38): %s", ErrOverflow, sum)
		}
		return sum, nil
	case sum.IsInt64():
		return sum.Int64(), nil
	case overflow == query.OverflowWrap && result.ID() != arrow.DURATION:
		low := new(big.Int).And(sum, new(big.Int).SetUint64(math.MaxUint64))
		return int64(low.Uint64()), nil
	}
	return nil, fmt.Errorf("%w of int64: %s", ErrOverflow, sum)
}

// decimalLimit is the smallest positive integer of more than 38 digits.
var decimalLimit = new(big.Int).Exp(big.NewInt(10), big.NewInt(38), nil)

func sumInts(xs []any) *big.Int {
	total := new(big.Int)
	for _, x := range xs {
		switch x := x.(type) {
		case bool:
			total.Add(total, big.NewInt(int64(boolRank(x))))
		case int64:
			total.Add(total, big.NewInt(x))
		case uint64:
			total.Add(total, new(big.Int).SetUint64(x))
		case *big.Int:
			total.Add(total, x)
		}
	}
	return total
}

// sumFloats adds floats exactly, and allows what adding them in any order may lose.
func sumFloats(xs []any) any {
	special := 0.0 // the sum of the values that are NaN or infinite
	total, size := exact(0.0, 0), exact(0.0, 0)
	ofSign := [2]*big.Float{exact(0.0, 0), exact(0.0, 0)} // sums of the values from 0 on, and of the others
	for _, x := range xs {
		if v := x.(float64); !finite(v) {
			special += v
			continue
		}
		f := exact(x, 0)
		total.Add(total, f)
		sign := ofSign[boolRank(f.Sign() < 0)]
		sign.Add(sign, f)
		size.Add(size, f.Abs(f))
	}
	t, _ := total.Float64()
	s, _ := size.Float64()
	above, _ := ofSign[0].Float64()
	below, _ := ofSign[1].Float64()
	bothPass := math.IsInf(above, 0) && math.IsInf(below, 0)
	switch {
	case math.IsNaN(special):
		return special
	case math.IsInf(s, 0) && (special != 0 || !math.IsInf(t, 0) || bothPass):
		return Unspecified{} // some orders pass the range, or meet infinities of both signs
	case special != 0:
		return special
	case math.IsInf(t, 0):
		return t
	}
	return approx(t, floatRounding*s)
}

// floatRounding is what a sum of doubles may lose, of the sum of their absolute values: some
// 100,000 roundings of 2^-53, all in one direction.
const floatRounding = 1e-11

func finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }

func avg(xs []any, dt arrow.DataType) any {
	n := float64(len(xs))
	if _, ok := xs[0].(float64); ok {
		total := sumFloats(xs)
		if s, ok := total.(Approx); ok {
			return approx(s.Value/n, s.Tolerance/n+rounding*math.Abs(s.Value/n))
		}
		return total // NaN, an infinity, or unspecified
	}
	mean := exact(sumInts(xs), scaleOf(dt))
	mean.Quo(mean, exact(n, 0))
	v, _ := mean.Float64()
	return approx(v, rounding*math.Abs(v))
}

// rounding is what a few operations on doubles may lose, of the result.
const rounding = 1e-14

// quantile interpolates between the two values around position q (n - 1).
func quantile(xs []any, q float64, dt arrow.DataType, descending bool) any {
	sorted := slices.SortedStableFunc(slices.Values(xs), CompareValues)
	if descending {
		slices.Reverse(sorted)
	}
	position := q * float64(len(sorted)-1)
	low, high := sorted[int(math.Floor(position))], sorted[int(math.Ceil(position))]
	d := position - math.Floor(position)
	if isTemporal(dt.ID()) {
		return quantileTime(low.(int64), high.(int64), d, dt)
	}
	lo, hi := double(low, scaleOf(dt)), double(high, scaleOf(dt))
	if d == 0 {
		return approx(lo, rounding*math.Abs(lo))
	}
	return approx(lo*(1-d)+hi*d, 2*rounding*max(math.Abs(lo), math.Abs(hi)))
}

func quantileTime(low, high int64, d float64, dt arrow.DataType) any {
	lo, hi := big.NewInt(low), big.NewInt(high)
	unit := big.NewInt(1)
	switch dt.ID() {
	case arrow.DATE32:
		unit = big.NewInt(86_400_000_000) // a day in microseconds
	case arrow.DATE64:
		unit = big.NewInt(1_000) // a millisecond in microseconds
	}
	lo.Mul(lo, unit)
	hi.Mul(hi, unit)
	if d == 0 {
		return Near{lo.Int64(), 0}
	}
	delta := new(big.Int).Sub(hi, lo)
	part := exact(delta, 0)
	part.Mul(part, exact(d, 0))
	rest, _ := part.Add(part, exact(0.5, 0)).Int(nil)
	lost := delta.Rsh(delta.Abs(delta), 51).Int64() // by doubles, where the distance has more than 53 bits
	return Near{lo.Add(lo, rest).Int64(), 1 + lost}
}

// exactBits is a precision that holds sums, products and fourth powers of doubles of ordinary size
// without a rounding that a double would show.
const exactBits = 512

// exact returns a number. scale digits of it follow the decimal point.
func exact(x any, scale int32) *big.Float {
	f := new(big.Float).SetPrec(exactBits)
	switch x := x.(type) {
	case int64:
		f.SetInt64(x)
	case uint64:
		f.SetUint64(x)
	case float64:
		f.SetFloat64(x)
	case *big.Int:
		f.SetInt(x)
	}
	if scale != 0 {
		ten := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(scale, -scale))), nil)
		if power := new(big.Float).SetPrec(exactBits).SetInt(ten); scale > 0 {
			f.Quo(f, power)
		} else {
			f.Mul(f, power)
		}
	}
	return f
}

// double returns a number as the nearest double.
func double(x any, scale int32) float64 {
	if f, ok := x.(float64); ok {
		return f
	}
	f, _ := exact(x, scale).Float64()
	return f
}
