package finalize

import (
	"math"

	"github.com/mpga/mpga/engine/query"
)

// moments are the sums of powers of a group's deviations from its mean.
type moments struct {
	n, m2, m3, m4 float64
}

// central turns the sums of powers of x - K into sums of powers of x - mean. All values equal give exactly
// 0; a value that is not finite gives NaN.
func central(state []uint64) moments {
	f := math.Float64frombits
	m := moments{n: float64(state[0])}
	s1, s2 := f(state[2]), f(state[3])
	mean := s1 / m.n
	m.m2 = notNegative(s2 - s1*mean)
	if len(state) > 4 {
		s3, s4 := f(state[4]), f(state[5])
		m.m3 = s3 - 3*mean*s2 + 2*mean*mean*s1
		m.m4 = notNegative(s4 - 4*mean*s3 + 6*mean*mean*s2 - 3*mean*mean*mean*s1)
	}
	return m
}

// notNegative cuts off what rounding has left below 0; NaN stays.
func notNegative(x float64) float64 {
	if x < 0 {
		return 0
	}
	return x
}

// variance finalizes var_* and stddev_* from a FoldMoments2.
func variance(f query.Func, state []uint64) (v float64, ok bool) {
	m := central(state)
	n := m.n
	if f == query.VarSamp || f == query.StddevSamp {
		n--
	}
	if state[0] == 0 || n == 0 {
		return 0, false
	}
	v = m.m2 / n
	if f == query.StddevSamp || f == query.StddevPop {
		v = math.Sqrt(v)
	}
	return v, true
}

// shape finalizes skewness and kurtosis from a FoldMoments4: the estimators G1 and G2 of Joanes
// and Gill (The Statistician, 1998).
func shape(f query.Func, state []uint64) (v float64, ok bool) {
	m := central(state)
	n, variance := m.n, m.m2/m.n
	if f == query.Skewness {
		if n <= 2 || m.m2 == 0 {
			return 0, false
		}
		return math.Sqrt(n*(n-1)) / (n - 2) * (m.m3 / n) / math.Pow(variance, 1.5), true
	}
	if n <= 3 || m.m2 == 0 {
		return 0, false
	}
	return (n - 1) / ((n - 2) * (n - 3)) * ((n+1)*(m.m4/n)/(variance*variance) - 3*(n-1)), true
}

// comoment finalizes correlation, covariance and regression from a FoldComoments.
func comoment(f query.Func, state []uint64) (v float64, ok bool) {
	float := math.Float64frombits
	n := float64(state[0])
	if n == 0 {
		return 0, false
	}
	kx, ky, sx, sy := float(state[1]), float(state[2]), float(state[3]), float(state[4])
	meanX, meanY := sx/n, sy/n
	xx := notNegative(float(state[5]) - sx*meanX)
	yy := notNegative(float(state[6]) - sy*meanY)
	xy := float(state[7]) - sx*meanY
	sum := xx + yy + xy
	finite := sum-sum == 0
	if !finite {
		xy = math.NaN() // as some value was, or infinite
	}
	switch f {
	case query.CovarSamp:
		return xy / (n - 1), n > 1
	case query.CovarPop:
		return xy / n, true
	case query.Corr:
		return xy / math.Sqrt(xx*yy), true
	case query.RegrSlope:
		return xy / xx, true
	}
	// regr_intercept and regr_r2: one pair makes no line, nor does a constant x.
	switch {
	case n == 1 || finite && xx == 0:
		return 0, false
	case f == query.RegrIntercept:
		return ky + meanY - xy/xx*(kx+meanX), true
	case finite && yy == 0:
		return 1, true
	}
	return xy * xy / (xx * yy), true
}
