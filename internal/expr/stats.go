package expr

import (
	"math"
	"math/bits"
	"slices"

	"github.com/mpga/mpga/internal/rowdata"
)

// Stats returns the statistics of expression i, which hold for any batch. known are the statistics
// of the schema's columns, or nil.
func (p *Program) Stats(i int, known []rowdata.ColumnStats) rowdata.ColumnStats {
	n := p.nodes[i]
	var s rowdata.ColumnStats
	if r, ok := p.span(n, known); ok {
		s.HasRange, s.Min, s.Max = true, r.low, r.high
	}
	if known != nil {
		s.NoNulls = p.present(n, known)
		if n.single >= 0 && n.typ.kind() == textKind {
			of := &known[p.columns[n.single].index]
			s.Repeats, s.StringBytes = of.Repeats, of.StringBytes
		}
	}
	return s
}

// numbers are the integers from low to high.
type numbers struct{ low, high int64 }

// span returns the least and the largest number that a node may have. They are known of integers,
// of days, of arithmetic on these, and of parts of dates.
func (p *Program) span(n *node, known []rowdata.ColumnStats) (numbers, bool) {
	switch {
	case n.typ.kind() != intKind || n.typ.ID == Decimal:
		return numbers{}, false
	case n.isConst:
		v, ok := n.value.(int64)
		return numbers{v, v}, ok
	case n.column >= 0:
		if known == nil || !n.typ.integer() && n.typ.ID != Date {
			return numbers{}, false
		}
		s := known[p.columns[n.column].index]
		return numbers{s.Min, s.Max}, s.HasRange
	case n.span != nil:
		return *n.span, true
	case n.exact && n.typ.integer() && n.args[0].typ.integer():
		return p.span(n.args[0], known)
	case len(n.args) != 2 || !n.typ.integer():
		return numbers{}, false
	}
	a, ok := p.span(n.args[0], known)
	switch {
	case !ok && n.name == "%":
		a = numbers{math.MinInt64, math.MaxInt64}
	case !ok:
		return a, false
	}
	b, ok := p.span(n.args[1], known)
	if !ok {
		return b, false
	}
	switch n.name {
	case "+":
		return within(a, b, 62, func(x, y int64) int64 { return x + y })
	case "-":
		return within(a, b, 62, func(x, y int64) int64 { return x - y })
	case "*":
		return within(a, b, 31, func(x, y int64) int64 { return x * y })
	case "%":
		if b.low == b.high && b.low > 0 {
			low := int64(0)
			if a.low < 0 {
				low = 1 - b.low
			}
			return numbers{low, b.low - 1}, true
		}
	}
	return numbers{}, false
}

// within returns the extremes of an operator, which lie at the ends of its operands' ranges. It
// returns false if an operand may have more than bitsMax bits, beyond which the operator may pass 64 bits.
func within(a, b numbers, bitsMax int, op func(x, y int64) int64) (numbers, bool) {
	for _, x := range []int64{a.low, a.high, b.low, b.high} {
		if bits.Len64(uint64(x^x>>63)) > bitsMax {
			return numbers{}, false
		}
	}
	ends := []int64{op(a.low, b.low), op(a.low, b.high), op(a.high, b.low), op(a.high, b.high)}
	return numbers{slices.Min(ends), slices.Max(ends)}, true
}

// neverNull are functions that are NULL only if an argument is NULL.
var neverNull = []string{"+", "-", "*", "/", "||", "=", "<>", "<", "<=", ">", ">=", "like",
	"lower", "upper", "substr", "length", "replace", "regexp_replace",
	"date_trunc", "date_part", "year", "month", "day", "hour", "minute", "second"}

// present says whether a node is surely never NULL.
func (p *Program) present(n *node, known []rowdata.ColumnStats) bool {
	switch {
	case n.isConst:
		return n.value != nil
	case n.column >= 0:
		return known[p.columns[n.column].index].NoNulls
	case !n.exact && !slices.Contains(neverNull, n.name):
		return false
	}
	return !slices.ContainsFunc(n.args, func(a *node) bool { return !p.present(a, known) })
}
