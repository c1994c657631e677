package predicate

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/scalar"
)

// Term is a term whose constants are in the units of its column.
type Term struct {
	Column int
	Op     Op
	never  bool    // TRUE for no row: x = 0.5 of an integer
	Values []Value // sorted; one for a comparison
}

// Conjunction is what a predicate says of single columns: all terms, and of each list of alternatives the terms
// of one at least, are TRUE for every row that is needed.
type Conjunction struct {
	Terms []Term
	AnyOf [][][]Term
}

// Bind returns a comparison of a column of a type with constants; false where it is of no use.
func Bind(column int, op Op, constants []scalar.Scalar, typ arrow.DataType) (b Term, ok bool) {
	b = Term{Column: column, Op: op}
	for _, s := range constants {
		v, exact, ok := constantOf(s, typ)
		if ok && v.IsNaN() || !ok {
			if op == OpIn && s != nil && !s.IsValid() {
				continue // x IN (1, NULL) is TRUE where x IN (1) is
			}
			return b, false
		}
		if exact {
			b.Values = append(b.Values, v)
			continue
		}
		switch op { // v is the largest value of the column below the constant
		case OpLess:
			b.Op = OpLessOrEqual
		case OpGreaterOrEqual:
			b.Op = OpGreater
		case OpNotEqual:
			return Term{Column: column, Op: OpIsNotNull}, true
		case OpEqual, OpIn:
			continue
		}
		b.Values = append(b.Values, v)
	}
	slices.SortFunc(b.Values, func(x, y Value) int { return x.compare(&y) })
	b.never = len(b.Values) == 0 && (b.Op == OpEqual || b.Op == OpIn)
	return b, true
}

// Bounds are what is known of some rows' values of one column.
type Bounds struct {
	Low, High *Value // nil where not known
	Exact     bool   // low and high are values that there are, not only bounds
	NoNulls   bool   // surely none is NULL
	AllNulls  bool   // surely all are NULL
}

// Check drops bounds that contradict each other.
func (b *Bounds) Check() {
	if b.Low != nil && b.High != nil && b.Low.compare(b.High) > 0 {
		b.Low, b.High = nil, nil
	}
}

// Excludes says whether a term is surely not TRUE for any of the rows. Bounds say nothing of NaN, which
// is larger than all numbers to some.
func (t *Term) Excludes(b *Bounds) bool {
	switch {
	case t.Op == OpIsNull:
		return b.NoNulls
	case b.AllNulls || t.never:
		return true
	case t.Op == OpIsNotNull:
		return false
	case t.Op == OpEqual || t.Op == OpIn:
		return !t.between(b.Low, b.High)
	}
	v := &t.Values[0]
	isFloat := v.Family == FloatFamily
	switch t.Op {
	case OpNotEqual:
		return !isFloat && b.Exact && b.Low != nil && b.High != nil && b.Low.compare(v) == 0 && b.High.compare(v) == 0
	case OpLess:
		return b.Low != nil && b.Low.compare(v) >= 0
	case OpLessOrEqual:
		return b.Low != nil && b.Low.compare(v) > 0
	case OpGreater:
		return !isFloat && b.High != nil && b.High.compare(v) <= 0
	case OpGreaterOrEqual:
		return !isFloat && b.High != nil && b.High.compare(v) < 0
	}
	return false
}

// between says whether a constant lies between bounds.
func (t *Term) between(low, high *Value) bool {
	i := 0
	if low != nil {
		i = sort.Search(len(t.Values), func(i int) bool { return t.Values[i].compare(low) >= 0 })
	}
	return i < len(t.Values) && (high == nil || t.Values[i].compare(high) <= 0)
}

// Admits says whether a term may be TRUE for a value that is not NULL.
func (t *Term) Admits(v *Value) bool {
	if v.IsNaN() || t.Op == OpIsNotNull {
		return true
	}
	if t.never || t.Op == OpIsNull {
		return false
	}
	c := v.compare(&t.Values[0])
	switch t.Op {
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

// Compares says whether a term is about values, not about NULL.
func (t *Term) Compares() bool { return t.Op != OpIsNull && t.Op != OpIsNotNull }

// Narrow returns the part of a range in which values are for which the term is TRUE; one that contains it.
func (t *Term) Narrow(low, high int64) (int64, int64) {
	if len(t.Values) == 0 {
		return low, high
	}
	first, last := &t.Values[0], &t.Values[len(t.Values)-1]
	if first.Wide != nil || last.Wide != nil {
		return low, high
	}
	switch t.Op {
	case OpEqual, OpIn:
		return max(low, first.Integer), min(high, last.Integer)
	case OpLess, OpLessOrEqual:
		if t.Op == OpLess && first.Integer > math.MinInt64 {
			return low, min(high, first.Integer-1)
		}
		return low, min(high, first.Integer)
	case OpGreater, OpGreaterOrEqual:
		if t.Op == OpGreater && first.Integer < math.MaxInt64 {
			return max(low, first.Integer+1), high
		}
		return max(low, first.Integer), high
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

// Known says whether an operator is one of these.
func (o Op) Known() bool { return int(o) < len(opNames) }

func (o Op) String() string {
	if o.Known() {
		return opNames[o]
	}
	return fmt.Sprintf("Op(%d)", uint8(o))
}
