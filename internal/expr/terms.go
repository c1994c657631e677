package expr

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/scalar"

	"github.com/mpga/mpga/internal/timeformat"
)

// Term is a comparison of a column with constants that holds wherever a condition is TRUE.
type Term struct {
	Column int             // index in the schema
	Op     string          // = <> < <= > >= in, is null or is not null
	Values []scalar.Scalar // several of in, none of is [not] null
}

// Terms returns the terms of single columns that follow from expression i, a condition.
func (p *Program) Terms(i int) []Term { return p.terms(p.nodes[i]) }

// Alternatives returns the terms that follow from the ORs of expression i, a condition. Each OR has
// a list of alternatives, which are lists of terms: for every row for which the condition is TRUE,
// all terms of some alternative hold.
func (p *Program) Alternatives(i int) (list [][][]Term) {
	eachConjunct(p.nodes[i], func(n *node) {
		if n.name != "or" {
			return
		}
		if any, ok := p.either(nil, n); ok {
			list = append(list, any)
		}
	})
	return list
}

// eachConjunct calls a function with the operands of an AND, or the node; not with constants.
func eachConjunct(n *node, f func(*node)) {
	switch {
	case n.isConst:
	case n.name == "and":
		for _, a := range n.args {
			eachConjunct(a, f)
		}
	default:
		f(n)
	}
}

// either adds the terms of each operand of an OR. It returns false if an operand has no terms.
func (p *Program) either(list [][]Term, n *node) ([][]Term, bool) {
	if n.name == "or" && !n.isConst {
		ok := true
		for _, a := range n.args {
			if list, ok = p.either(list, a); !ok {
				return nil, false
			}
		}
		return list, true
	}
	if n.isConst && n.value != true {
		return list, true // is TRUE for no row
	}
	terms := p.terms(n)
	return append(list, terms), len(terms) > 0
}

// mirrored are the operators with their operands swapped.
var mirrored = map[string]string{"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}

func (p *Program) terms(n *node) (list []Term) {
	eachConjunct(n, func(n *node) { list = p.conjunctTerms(list, n) })
	return list
}

// conjunctTerms adds the terms of a node that is neither a constant nor an AND.
func (p *Program) conjunctTerms(list []Term, n *node) []Term {
	switch n.name {
	case "between":
		list = p.compared(list, n.args[0], ">=", n.args[1])
		list = p.compared(list, n.args[0], "<=", n.args[2])
	case "in":
		list = p.member(list, n)
	case "is null", "is not null":
		if c := n.args[0].column; c >= 0 {
			list = append(list, Term{Column: p.columns[c].index, Op: n.name})
		}
	case "like":
		list = p.prefixed(list, n)
	case "":
		if n.column >= 0 && n.typ.ID == Bool {
			list = append(list, Term{p.columns[n.column].index, "=", []scalar.Scalar{scalar.NewBooleanScalar(true)}})
		}
	default:
		if other, ok := mirrored[n.name]; ok {
			if n.args[0].isConst {
				return p.compared(list, n.args[1], other, n.args[0])
			}
			list = p.compared(list, n.args[0], n.name, n.args[1])
		}
	}
	return list
}

// columnUnder returns the column that a node is, or casts without loss; -1 if the node is neither.
func columnUnder(n *node) int {
	for n.exact && n.column < 0 && !n.isConst && len(n.args) == 1 {
		n = n.args[0]
	}
	return n.column
}

func (p *Program) compared(list []Term, n *node, op string, constant *node) []Term {
	if !constant.isConst || constant.value == nil {
		return list
	}
	c := columnUnder(n)
	if c < 0 {
		return p.rounded(list, n, op, constant)
	}
	if v := scalarOf(constant.typ, constant.value); v != nil {
		list = append(list, Term{p.columns[c].index, op, []scalar.Scalar{v}})
	}
	return list
}

// rounded makes terms of a comparison of a time that is rounded down, or of its year: such
// functions keep the order of times, so that bounds of the time follow from the constant.
func (p *Program) rounded(list []Term, n *node, op string, constant *node) []Term {
	for n.exact && len(n.args) == 1 {
		n = n.args[0]
	}
	if n.floor == 0 && !n.isYear || len(n.args) != 1 {
		return list
	}
	c := columnUnder(n.args[0])
	v, ok := constant.value.(int64)
	if c < 0 || !ok || p.columns[c].typ.ID == TimestampNS { // which is rounded to microseconds first
		return list
	}
	var least, end int64 // times whose result is v are from least on and below end
	t := typeOf(Timestamp)
	switch {
	case n.isYear:
		const yearMax = 9999
		if !constant.typ.integer() || v < 1 || v >= yearMax {
			return list
		}
		least, end = civil{v, 1, 1}.days()*dayMicros, civil{v + 1, 1, 1}.days()*dayMicros
	case constant.typ.ID == Date && v < yearDays && v > -yearDays:
		least, end = v*dayMicros, v*dayMicros+n.floor
	case (constant.typ.ID == Timestamp || constant.typ.ID == TimestampTZ) && v < yearDays*dayMicros &&
		v > -yearDays*dayMicros:
		t = constant.typ
		least, end = v, v+n.floor
	default:
		return list
	}
	bound := func(op string, v int64) {
		list = append(list, Term{p.columns[c].index, op, []scalar.Scalar{scalarOf(t, v)}})
	}
	switch op {
	case "=":
		bound(">=", least)
		bound("<", end)
	case "<=", "<":
		if n.isYear && op == "<" {
			end = least
		}
		bound("<", end)
	case ">":
		if n.isYear {
			least = end
		}
		bound(">=", least)
	case ">=":
		bound(">=", least)
	}
	return list
}

// yearDays are 100,000 years: bounds that rounded makes of fewer days do not overflow.
const yearDays = 36_600_000

func (p *Program) member(list []Term, n *node) []Term {
	c := columnUnder(n.args[0])
	if c < 0 {
		return list
	}
	t := Term{Column: p.columns[c].index, Op: n.name}
	for _, a := range n.args[1:] {
		if !a.isConst {
			return list
		}
		if a.value == nil {
			continue // is equal to nothing
		}
		v := scalarOf(a.typ, a.value)
		if v == nil {
			return list
		}
		t.Values = append(t.Values, v)
	}
	return append(list, t)
}

// prefixed makes terms of LIKE 'ab%': the column is from ab on, and below ac.
func (p *Program) prefixed(list []Term, n *node) []Term {
	c := n.args[0].column
	if c < 0 || !n.args[1].isConst {
		return list
	}
	pattern, _ := n.args[1].value.(string)
	end := 0
	for end < len(pattern) && pattern[end] != '%' && pattern[end] != '_' && pattern[end] < 0x7F && pattern[end] != '\\' {
		end++
	}
	if end == 0 {
		return list
	}
	low, high := pattern[:end], []byte(pattern[:end])
	high[end-1]++
	column := p.columns[c].index
	return append(list, Term{column, ">=", []scalar.Scalar{scalar.NewStringScalar(low)}},
		Term{column, "<", []scalar.Scalar{scalar.NewStringScalar(string(high))}})
}

// scalarOf returns a constant as Arrow's scalar; nil of a BLOB, which Arrow does not order.
func scalarOf(t Type, value any) scalar.Scalar {
	switch v := value.(type) {
	case bool:
		return scalar.NewBooleanScalar(v)
	case float64:
		return scalar.NewFloat64Scalar(v)
	case wide:
		if t.ID != Decimal {
			t = typeOf(Huge)
		}
		return scalar.NewDecimal128Scalar(v, t.Arrow())
	case string:
		if t.ID == Blob {
			return nil
		}
		return scalar.NewStringScalar(v)
	case int64:
		switch {
		case t.temporal() && timeformat.InfinitySign(v, infiniteOf(t)) != 0: // of which other units have other numbers
			return nil
		case t.integer():
			return scalar.NewInt64Scalar(v)
		case t.ID == Duration: // CastTo knows no durations
			return scalar.NewDurationScalar(arrow.Duration(v), t.Arrow())
		}
		s, _ := scalar.NewInt64Scalar(v).CastTo(t.Arrow())
		return s
	}
	return nil
}
