package grouptest

import (
	"math"
	"math/big"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/query"
)

// statistic computes the functions that are made of moments. tests/SEMANTICS.md has the formulas
// and what they answer at their edges: first the count decides, then a value that is not finite.
func statistic(f query.Func, types []arrow.DataType, xs, ys []any) any {
	if len(xs) < valuesMin(f) {
		return nil
	}
	first := doubles(xs, scaleOf(types[0]))
	if len(types) == 1 {
		if !allFinite(first) {
			return math.NaN()
		}
		return univariate(f, newMoments(first))
	}
	second := doubles(ys, scaleOf(types[1]))
	if !allFinite(first) || !allFinite(second) {
		return math.NaN()
	}
	return bivariate(f, first, second)
}

// valuesMin is the fewest values for which a statistic is not NULL.
func valuesMin(f query.Func) int {
	switch f {
	case query.VarSamp, query.StddevSamp, query.CovarSamp, query.RegrIntercept, query.RegrR2:
		return 2
	case query.Skewness:
		return 3
	case query.Kurtosis:
		return 4
	}
	return 1
}

func doubles(xs []any, scale int32) []float64 {
	values := make([]float64, len(xs))
	for i, x := range xs {
		values[i] = double(x, scale)
	}
	return values
}

func allFinite(values []float64) bool {
	for _, v := range values {
		if !finite(v) {
			return false
		}
	}
	return true
}

// moments are sums of powers of the deviations from the mean.
type moments struct {
	n          float64
	mean       float64
	m2, m3, m4 float64

	// condition is how many times larger the values are than their spread, and so how many digits
	// a one-pass algorithm on doubles loses.
	condition float64
}

func newMoments(values []float64) moments {
	devs, mean := deviations(values)
	m := moments{n: float64(len(values))}
	var sums [3]big.Float
	for i := range sums {
		sums[i].SetPrec(exactBits)
	}
	for _, d := range devs {
		power := new(big.Float).Copy(d)
		for i := range sums {
			power.Mul(power, d)
			sums[i].Add(&sums[i], power)
		}
	}
	m.mean, _ = mean.Float64()
	m.m2 = nearest(&sums[0])
	m.m3 = nearest(&sums[1])
	m.m4 = nearest(&sums[2])
	m.condition = 1
	if m.m2 > 0 {
		m.condition += math.Abs(m.mean) / math.Sqrt(m.m2/m.n)
	}
	return m
}

// nearest returns a number as a double that is 0 only if the number is.
func nearest(f *big.Float) float64 {
	if v, _ := f.Float64(); v != 0 || f.Sign() == 0 {
		return v
	}
	return math.SmallestNonzeroFloat64
}

// deviations returns each value less the mean, and the mean.
func deviations(values []float64) ([]*big.Float, *big.Float) {
	mean := exact(0.0, 0)
	devs := make([]*big.Float, len(values))
	for i, v := range values {
		devs[i] = exact(v, 0)
		mean.Add(mean, devs[i])
	}
	mean.Quo(mean, exact(float64(len(values)), 0))
	for _, d := range devs {
		d.Sub(d, mean)
	}
	if allSame(values) {
		for _, d := range devs {
			d.SetFloat64(0) // the mean of n equal values, rounded to 512 bits, is not always one of them
		}
	}
	return devs, mean
}

func allSame(values []float64) bool {
	for _, v := range values {
		if v != values[0] {
			return false
		}
	}
	return true
}

// relative is the relative error allowed to a statistic of values of this condition.
func relative(condition float64) float64 { return 1e-9 + 1e-14*condition }

// inRange reports whether a one-pass algorithm on doubles can hold a sum of powers.
func inRange(sum float64) bool {
	size := math.Abs(sum)
	return size == 0 || size > 1e-290 && size < 1e290
}

func univariate(f query.Func, m moments) any {
	if !inRange(m.m2) {
		return Unspecified{}
	}
	rel := relative(m.condition)
	switch f {
	case query.VarSamp:
		return approx(m.m2/(m.n-1), rel*m.m2/(m.n-1))
	case query.VarPop:
		return approx(m.m2/m.n, rel*m.m2/m.n)
	case query.StddevSamp:
		return approx(math.Sqrt(m.m2/(m.n-1)), rel*math.Sqrt(m.m2/(m.n-1)))
	case query.StddevPop:
		return approx(math.Sqrt(m.m2/m.n), rel*math.Sqrt(m.m2/m.n))
	}
	if !inRange(m.m2*m.m2) || !inRange(m.m3) || !inRange(m.m4) {
		return Unspecified{}
	}
	n, variance := m.n, m.m2/m.n
	if f == query.Skewness {
		if m.m2 == 0 {
			return math.NaN()
		}
		v := math.Sqrt(n*(n-1)) / (n - 2) * (m.m3 / n) / math.Pow(variance, 1.5)
		return Approx{v, 100 * rel * max(1, math.Abs(v)), m.condition}
	}
	if m.m2 == 0 {
		return nil
	}
	v := (n - 1) / ((n - 2) * (n - 3)) * ((n+1)*(m.m4/n)/(variance*variance) - 3*(n-1))
	return Approx{v, 100 * rel * max(1, math.Abs(v)), m.condition}
}

// bivariate computes a function of (y, x).
func bivariate(f query.Func, ys, xs []float64) any {
	y, x := newMoments(ys), newMoments(xs)
	sxy := comoment(ys, xs)
	spread := math.Sqrt(y.m2) * math.Sqrt(x.m2) // |sxy| is at most this
	if !inRange(y.m2) || !inRange(x.m2) || !inRange(y.m2*x.m2) || !inRange(spread*spread*x.m2) {
		return Unspecified{}
	}
	n := x.n
	rel := relative(y.condition) + relative(x.condition)
	slope, slopeTolerance := sxy/x.m2, rel*math.Sqrt(y.m2/x.m2)
	switch f {
	case query.CovarSamp:
		return approx(sxy/(n-1), rel*spread/(n-1))
	case query.CovarPop:
		return approx(sxy/n, rel*spread/n)
	case query.Corr:
		if x.m2 == 0 || y.m2 == 0 {
			return math.NaN()
		}
		return approx(sxy/spread, 2*rel)
	case query.RegrSlope:
		if x.m2 == 0 {
			return math.NaN()
		}
		return approx(slope, slopeTolerance)
	case query.RegrIntercept:
		if x.m2 == 0 {
			return nil
		}
		size := math.Abs(y.mean) + math.Abs(slope*x.mean)
		return approx(y.mean-slope*x.mean, rel*size+slopeTolerance*math.Abs(x.mean))
	default: // regr_r2
		switch {
		case x.m2 == 0:
			return nil
		case y.m2 == 0:
			return 1.0
		}
		return approx(sxy*sxy/(x.m2*y.m2), 4*rel)
	}
}

// comoment is the sum of the products of both deviations.
func comoment(ys, xs []float64) float64 {
	dys, _ := deviations(ys)
	dxs, _ := deviations(xs)
	sum := exact(0.0, 0)
	for i := range dys {
		sum.Add(sum, new(big.Float).Mul(dys[i], dxs[i]))
	}
	return nearest(sum)
}
