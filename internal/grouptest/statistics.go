package grouptest

import (
	"math"
	"math/big"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/query"
)

// Statistics are the functions that are made of moments, with the fewest values for which they are not NULL.
var Statistics = map[query.Func]int{
	query.VarSamp: 2, query.VarPop: 1, query.StddevSamp: 2, query.StddevPop: 1, query.Skewness: 3, query.Kurtosis: 4,
	query.Corr: 1, query.CovarSamp: 2, query.CovarPop: 1, query.RegrSlope: 1, query.RegrIntercept: 2, query.RegrR2: 2,
}

// statistic computes one of Statistics. tests/SEMANTICS.md has the formulas and what they answer at their edges: first
// the count decides, then a value that is not finite.
func statistic(f query.Func, types []arrow.DataType, xs, ys []any, deterministic bool) any {
	if len(xs) < Statistics[f] {
		return nil
	}
	args := make([]lattice, len(types))
	for i, cells := range [][]any{xs, ys}[:len(types)] {
		values := make([]float64, len(cells))
		for j, cell := range cells {
			values[j] = double(cell, scaleOf(types[i]))
			if !finite(values[j]) {
				return math.NaN()
			}
		}
		args[i] = newLattice(values)
	}
	switch {
	case deterministic:
		return exactMoment(f, args[0], args[len(args)-1])
	case len(args) == 1:
		return univariate(f, args[0])
	}
	return bivariate(f, args[0], args[1])
}

// moments are the mean of values, and the sum of the squares of the deviations from the mean.
type moments struct {
	n, mean, m2 float64

	// condition is how many times larger the values are than their spread, and so how many digits
	// a one-pass algorithm on doubles loses.
	condition float64
}

func (l lattice) moments() moments {
	m := moments{n: float64(len(l.devs)), m2: nearest(l.power(2, l, 0)), condition: 1}
	m.mean, _ = l.mean().Float64()
	if m.m2 > 0 {
		m.condition += math.Abs(m.mean) / math.Sqrt(m.m2/m.n)
	}
	return m
}

// nearest returns a number as a double that is 0 only if the number is.
func nearest(r *big.Rat) float64 {
	if v, _ := r.Float64(); v != 0 || r.Sign() == 0 {
		return v
	}
	return math.SmallestNonzeroFloat64
}

// relative is the relative error allowed to a statistic of values of this condition.
func relative(condition float64) float64 { return 1e-9 + 1e-14*condition }

// inRange reports whether a one-pass algorithm on doubles can hold a sum of powers.
func inRange(sum float64) bool {
	size := math.Abs(sum)
	return size == 0 || size > 1e-290 && size < 1e290
}

func univariate(f query.Func, x lattice) any {
	m := x.moments()
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
	m3, m4 := nearest(x.power(3, x, 0)), nearest(x.power(4, x, 0))
	if !inRange(m.m2*m.m2) || !inRange(m3) || !inRange(m4) {
		return Unspecified{}
	}
	n, variance := m.n, m.m2/m.n
	if f == query.Skewness {
		if m.m2 == 0 {
			return math.NaN()
		}
		v := math.Sqrt(n*(n-1)) / (n - 2) * (m3 / n) / math.Pow(variance, 1.5)
		return Approx{v, 100 * rel * max(1, math.Abs(v)), m.condition}
	}
	if m.m2 == 0 {
		return nil
	}
	v := (n - 1) / ((n - 2) * (n - 3)) * ((n+1)*(m4/n)/(variance*variance) - 3*(n-1))
	return Approx{v, 100 * rel * max(1, math.Abs(v)), m.condition}
}

// bivariate computes a function of (y, x).
func bivariate(f query.Func, ys, xs lattice) any {
	y, x := ys.moments(), xs.moments()
	sxy := nearest(ys.power(1, xs, 1))
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
