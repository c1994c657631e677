package scan

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/scalar"
)

// boundTerm is a term whose constants are in the units of its column.
type boundTerm struct {
	column int
	op     Op
	never  bool    // TRUE for no row: x = 0.5 of an integer
	values []value // sorted; one for a comparison
}

// conjunction is what a predicate says of single columns: all terms, and of each list of alternatives the terms
// of one at least, are TRUE for every row that is needed.
type conjunction struct {
	terms []boundTerm
	anyOf [][][]boundTerm
}

// bindTerm returns a comparison of a column of a type with constants; false where it is of no use.
func bindTerm(column int, op Op, constants []scalar.Scalar, typ arrow.DataType) (b boundTerm, ok bool) {
	b = boundTerm{column: column, op: op}
	for _, s := range constants {
		v, exact, ok := constantOf(s, typ)
		if ok && v.isNaN() || !ok {
			if op == OpIn && s != nil && !s.IsValid() {
				continue // x IN (1, NULL) is TRUE where x IN (1) is
			}
			return b, false
		}
		if exact {
			b.values = append(b.values, v)
			continue
		}
		switch op { // v is the largest value of the column below the constant
		case OpLess:
			b.op = OpLessOrEqual
		case OpGreaterOrEqual:
			b.op = OpGreater
		case OpNotEqual:
			return boundTerm{column: column, op: OpIsNotNull}, true
		case OpEqual, OpIn:
			continue
		}
		b.values = append(b.values, v)
	}
	slices.SortFunc(b.values, func(x, y value) int { return x.compare(&y) })
	b.never = len(b.values) == 0 && (b.op == OpEqual || b.op == OpIn)
	return b, true
}

// bounds are what is known of some rows' values of one column.
type bounds struct {
	low, high *value // nil where not known
	exact     bool   // low and high are values that there are, not only bounds
	noNulls   bool   // surely none is NULL
	allNulls  bool   // surely all are NULL
}

// check drops bounds that contradict each other.
func (b *bounds) check() {
	if b.low != nil && b.high != nil && b.low.compare(b.high) > 0 {
		b.low, b.high = nil, nil
	}
}

// excludes says whether a term is surely not TRUE for any of the rows. Bounds say nothing of NaN, which
// is larger than all numbers to some.
func (t *boundTerm) excludes(b *bounds) bool {
	switch {
	case t.op == OpIsNull:
		return b.noNulls
	case b.allNulls || t.never:
		return true
	case t.op == OpIsNotNull:
		return false
	case t.op == OpEqual || t.op == OpIn:
		return !t.between(b.low, b.high)
	}
	v := &t.values[0]
	isFloat := v.family == floatFamily
	switch t.op {
	case OpNotEqual:
		return !isFloat && b.exact && b.low != nil && b.high != nil && b.low.compare(v) == 0 && b.high.compare(v) == 0
	case OpLess:
		return b.low != nil && b.low.compare(v) >= 0
	case OpLessOrEqual:
		return b.low != nil && b.low.compare(v) > 0
	case OpGreater:
		return !isFloat && b.high != nil && b.high.compare(v) <= 0
	case OpGreaterOrEqual:
		return !isFloat && b.high != nil && b.high.compare(v) < 0
	}
	return false
}

// between says whether a constant lies between bounds.
func (t *boundTerm) between(low, high *value) bool {
	i := 0
	if low != nil {
		i = sort.Search(len(t.values), func(i int) bool { return t.values[i].compare(low) >= 0 })
	}
	return i < len(t.values) && (high == nil || t.values[i].compare(high) <= 0)
}

// admits says whether a term may be TRUE for a value that is not NULL.
func (t *boundTerm) admits(v *value) bool {
	if v.isNaN() || t.op == OpIsNotNull {
		return true
	}
	if t.never || t.op == OpIsNull {
		return false
	}
	c := v.compare(&t.values[0])
	switch t.op {
	case OpNotEqual:
		return c != 0
	case OpLess:
		return c < 0
	case OpLessOrEqual:
		return c <= 0
	case OpGreater:
		return c > 0
	case OpGreaterOrEqual:
		return c >= 0
	}
	return t.between(v, v)
}

// compares says whether a term is about values, not about NULL.
func (t *boundTerm) compares() bool { return t.op != OpIsNull && t.op != OpIsNotNull }

// narrow returns the part of a range in which values are for which the term is TRUE; one that contains it.
func (t *boundTerm) narrow(low, high int64) (int64, int64) {
	if len(t.values) == 0 {
		return low, high
	}
	first, last := &t.values[0], &t.values[len(t.values)-1]
	if first.wide != nil || last.wide != nil {
		return low, high
	}
	switch t.op {
	case OpEqual, OpIn:
		return max(low, first.integer), min(high, last.integer)
	case OpLess, OpLessOrEqual:
		if t.op == OpLess && first.integer > math.MinInt64 {
			return low, min(high, first.integer-1)
		}
		return low, min(high, first.integer)
	case OpGreater, OpGreaterOrEqual:
		if t.op == OpGreater && first.integer < math.MaxInt64 {
			return max(low, first.integer+1), high
		}
		return max(low, first.integer), high
	}
	return low, high
}

// Op is what a Term says of its column.
type Op uint8

// The operators. A comparison with NULL is not TRUE, as in SQL.
const (
	OpEqual Op = iota
	OpNotEqual
	OpLess
	OpLessOrEqual
	OpGreater
	OpGreaterOrEqual
	OpIn        // equal to one of Values
	OpIsNull    // no Values
	OpIsNotNull // no Values
)

var opNames = [...]string{"=", "<>", "<", "<=", ">", ">=", "IN", "IS NULL", "IS NOT NULL"}

// known says whether an operator is one of these.
func (o Op) known() bool { return int(o) < len(opNames) }

func (o Op) String() string {
	if o.known() {
		return opNames[o]
	}
	return fmt.Sprintf("Op(%d)", uint8(o))
}
