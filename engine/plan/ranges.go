package plan

import (
	"slices"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/logical"
	"github.com/mpga/mpga/internal/expr"
	"github.com/mpga/mpga/internal/order"
	"github.com/mpga/mpga/internal/rowdata"
)

// joinRange is how the rows of a join's build side are found by the values that its inequalities compare.
type joinRange struct {
	of     engine.Range
	bounds []*expr.Expr // of the probe side: the expressions of its bounds
	values []*expr.Expr // of the build side
	text   string       // of values, for people
}

// limit is an inequality that bounds a value of the build side by one of the probe side.
type limit struct {
	value, bound *expr.Expr // of the build side, and of the probe side
	isHigh       bool       // value is not above bound, else not below
	isStrict     bool
	isExact      bool // pairs need not be tested
	part         int  // of the condition
}

// ranges chooses the range of a join: of an ASOF join its inequality, else two bounds of one value of the build side,
// or a bound each of two of its values, such as the ends of an interval, or one bound. rest is what has to be tested
// on the pairs; nil for nothing.
func (p *planner) ranges(n *logical.Join, swapped bool) (by joinRange, rest *expr.Expr, err error) {
	if n.Nearest != nil {
		by, err = p.nearest(n)
		return by, n.Condition, err
	}
	if n.Condition == nil || p.engine.JoinsOnDevice(len(n.Keys), by.of) { // a device takes no ranges
		return by, n.Condition, nil
	}
	parts := expr.Conjuncts(nil, n.Condition)
	var limits []limit
	left := make([]int, len(parts)) // inequalities that are not in the range, or not exact
	for i, x := range parts {
		list := n.Inequalities(p.ctx, x)
		left[i] = max(len(list), 1)
		for _, q := range list {
			l, fallible, err := p.limit(n, q, swapped)
			if err != nil {
				return by, nil, err
			}
			if l.part = i; !fallible || len(n.Keys) == 0 {
				limits = append(limits, l)
			}
		}
	}
	slices.SortStableFunc(limits, func(a, b limit) int {
		switch {
		case a.isExact == b.isExact:
			return 0
		case a.isExact:
			return -1
		}
		return 1
	})
	low, high := chooseLimits(limits)
	by = rangeOf(low, high)
	for _, l := range []*limit{low, high} {
		if l != nil && l.isExact {
			left[l.part]--
		}
	}
	for i, x := range parts {
		if left[i] > 0 {
			rest = expr.Conjunction(rest, x)
		}
	}
	return by, rest, nil
}

// nearest returns the range of an ASOF join.
func (p *planner) nearest(n *logical.Join) (joinRange, error) {
	l, _, err := p.limit(n, *n.Nearest, false)
	if err != nil {
		return joinRange{}, err
	}
	by := joinRange{bounds: []*expr.Expr{l.bound}, values: []*expr.Expr{l.value}, text: l.value.String()}
	by.of = engine.Range{High: &engine.Bound{Strict: l.isStrict}, Inverted: !l.isHigh, Best: true}
	return by, nil
}

// limit returns what an inequality is for the build side. fallible says that it may be an error for a row, which may be
// none of a pair that equalities leave.
func (p *planner) limit(n *logical.Join, q logical.Inequality, swapped bool) (l limit, fallible bool, err error) {
	if swapped {
		q = q.Turned()
	}
	l = limit{
		value: q.Right, bound: q.Left, isHigh: q.Sign[0] == '>', isStrict: len(q.Sign) == 1,
	}
	of, err := expr.BindTo(p.ctx, n.Pairs(), q.Left, q.Right)
	if err != nil {
		return l, false, err
	}
	l.isExact = order.HasExactWords(rowdata.ValueType(of.Arrow(1)))
	return l, of.Fallible(n.PairStats()), nil
}

// chooseLimits chooses a bound from below and one from above: of one value if there are such, else of one bound, else
// the first ones.
func chooseLimits(limits []limit) (low, high *limit) {
	same := func(a, b *expr.Expr) bool { return a.Key() == b.Key() }
	best := -1
	for i := range limits {
		l := &limits[i]
		if l.isHigh && high == nil {
			high = l
		} else if !l.isHigh && low == nil {
			low = l
		}
	}
	for i := range limits {
		for j := range limits {
			a, b := &limits[i], &limits[j]
			if a.isHigh || !b.isHigh {
				continue
			}
			rank := 0
			if same(a.value, b.value) {
				rank = 2
			} else if same(a.bound, b.bound) {
				rank = 1
			}
			if rank > best {
				best, low, high = rank, a, b
			}
		}
	}
	return low, high
}

// rangeOf returns the range of two limits, each of which may be nil.
func rangeOf(low, high *limit) (by joinRange) {
	bound := func(l *limit) *engine.Bound {
		by.bounds = append(by.bounds, l.bound)
		return &engine.Bound{Strict: l.isStrict}
	}
	switch {
	case low == nil && high == nil:
		return by
	case low == nil:
		by.of.High = bound(high)
		by.values = []*expr.Expr{high.value}
	case high == nil:
		by.of.Low = bound(low)
		by.values = []*expr.Expr{low.value}
	case low.value.Key() == high.value.Key():
		by.of.Low, by.of.High = bound(low), bound(high)
		by.values = []*expr.Expr{low.value}
	default:
		by.of.High, by.of.Reach = bound(high), bound(low)
		by.values = []*expr.Expr{high.value, low.value}
	}
	by.text = by.values[0].String()
	if len(by.values) > 1 {
		by.text += ", with a tree of " + by.values[1].String()
	}
	return by
}
