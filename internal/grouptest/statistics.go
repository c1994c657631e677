package grouptest

import (
	"math"
	"math/big"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/query"
)

// Statistics are the functions that are made of moments, with the fewest values for which they are
// not NULL.
var Statistics = map[query.Func]int{
	query.VarSamp: 2, query.VarPop: 1, query.StddevSamp: 2, query.StddevPop: 1, query.Skewness: 3, query.Kurtosis: 4,
	query.Corr: 1, query.CovarSamp: 2, query.CovarPop: 1, query.RegrSlope: 1, query.RegrIntercept: 2, query.RegrR2: 2,
}

// statistic computes one of Statistics. tests/SEMANTICS.md has the formulas and what they answer at
// their edges: first the count decides, then a value that is not finite.
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
	y, x := args[0], args[len(args)-1]
	moment := exactMoment(f, y, x)
	if deterministic {
		return moment
	}
	return loosened(f, moment, y, x)
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

// loosened allows an exact moment of x, or of (y, x), what a one-pass algorithm on doubles may
// lose.
func loosened(f query.Func, moment any, ys, xs lattice) any {
	x, univariate := xs.moments(), f.Args() == 1
	y := x
	if !univariate {
		y = ys.moments()
	}
	switch {
	case !inRange(x.m2):
		return Unspecified{}
	case f == query.Skewness || f == query.Kurtosis:
		if !inRange(x.m2*x.m2) || !inRange(nearest(xs.power(3, xs, 0))) || !inRange(nearest(xs.power(4, xs, 0))) {
			return Unspecified{}
		}
	case !univariate && (!inRange(y.m2) || !inRange(y.m2*x.m2) || !inRange(y.m2*x.m2*x.m2)):
		return Unspecified{}
	}
	var v float64
	switch moment := moment.(type) {
	case float64:
		v = moment
	case Approx:
		v = moment.Value
	}
	if moment == nil || math.IsNaN(v) || f == query.RegrR2 && y.m2 == 0 {
		return moment
	}
	rel := relative(x.condition)
	if !univariate {
		rel += relative(y.condition)
	}
	spread := math.Sqrt(y.m2) * math.Sqrt(x.m2) // the sum of the products of both deviations is at most this
	slopeTolerance := rel * math.Sqrt(y.m2/x.m2)
	switch f {
	case query.Skewness, query.Kurtosis:
		return Approx{v, 100 * rel * max(1, math.Abs(v)), x.condition}
	case query.CovarSamp:
		return approx(v, rel*spread/(x.n-1))
	case query.CovarPop:
		return approx(v, rel*spread/x.n)
	case query.Corr:
		return approx(v, 2*rel)
	case query.RegrSlope:
		return approx(v, slopeTolerance)
	case query.RegrIntercept:
		size := math.Abs(y.mean) + math.Abs(y.mean-v) // y.mean - v is the slope times x.mean
		return approx(v, rel*size+slopeTolerance*math.Abs(x.mean))
	case query.RegrR2:
		return approx(v, 4*rel)
	}
	return approx(v, rel*v)
}
