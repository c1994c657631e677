package predicate

import (
	"math"
	"slices"
	"sort"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/scalar"
)

// Relation is what a term says of its column: how the values for which it is TRUE lie to its
// constant. A comparison with NULL is not TRUE, as in SQL.
type Relation uint8

// The parts of a relation: <= is Less | Equal, <> is Less | Greater.
const (
	Less Relation = 1 << iota
	Equal
	Greater
	IsNull  Relation = 0
	NotNull          = Less | Equal | Greater
)

// Term is a term whose constants are in the units of its column.
type Term struct {
	Column int
	Is     Relation
	Values []Value // sorted: of Equal any number, and the column equals one; none of IsNull and NotNull; else one
}

// Conjunction is what a predicate says of single columns: all terms, and of each list of
// alternatives the terms of one at least, are TRUE for every row that is needed.
type Conjunction struct {
	Terms []Term
	AnyOf [][][]Term
}

// Bind returns a comparison of a column of a type with constants; false where it says nothing.
func Bind(column int, is Relation, constants []scalar.Scalar, typ arrow.DataType) (b Term, ok bool) {
	b = Term{Column: column, Is: is}
	for _, s := range constants {
		v, exact, ok := constantOf(s, typ)
		if !ok || v.IsNaN() {
			return b, false
		}
		if exact {
			b.Values = append(b.Values, v)
			continue
		}
		switch is { // v is the largest value of the column below the constant
		case Less:
			b.Is = Less | Equal
		case Greater | Equal:
			b.Is = Greater
		case Less | Greater:
			return Term{Column: column, Is: NotNull}, true
		case Equal:
			continue
		}
		b.Values = append(b.Values, v)
	}
	slices.SortFunc(b.Values, func(x, y Value) int { return x.Compare(&y) })
	return b, true
}

// Bounds are bounds of the values of one column in some rows.
type Bounds struct {
	Low, High *Value // nil where not known
	Exact     bool   // Low and High are values of rows, not only bounds
	NoNulls   bool   // surely no value is NULL
	AllNulls  bool   // surely all values are NULL
}

// Check drops bounds that contradict each other.
func (b *Bounds) Check() {
	if b.Low != nil && b.High != nil && b.Low.Compare(b.High) > 0 {
		b.Low, b.High = nil, nil
	}
}

// Excludes says whether a term is surely not TRUE for any of the rows. Bounds say nothing of NaN,
// which is larger than all numbers to some.
func (t *Term) Excludes(b *Bounds) bool {
	switch {
	case t.Is == IsNull:
		return b.NoNulls
	case b.AllNulls:
		return true
	case t.Is == NotNull:
		return false
	case t.Is == Equal:
		return !t.between(b.Low, b.High)
	}
	lowFails := b.Low != nil && !t.holds(b.Low)
	highFails := b.High != nil && !t.holds(b.High) && b.High.Family != FloatFamily
	switch {
	case t.Is == Less|Greater:
		return b.Exact && lowFails && highFails
	case t.Is&Less != 0:
		return lowFails
	}
	return highFails
}

// holds says whether a comparison with one constant is TRUE for a value.
func (t *Term) holds(v *Value) bool { return t.Is>>(1+v.Compare(&t.Values[0]))&1 != 0 }

// between says whether a constant lies between bounds.
func (t *Term) between(low, high *Value) bool {
	i := 0
	if low != nil {
		i = sort.Search(len(t.Values), func(i int) bool { return t.Values[i].Compare(low) >= 0 })
	}
	return i < len(t.Values) && (high == nil || t.Values[i].Compare(high) <= 0)
}

// Admits says whether a term may be TRUE for a value that is not NULL.
func (t *Term) Admits(v *Value) bool {
	switch {
	case v.IsNaN() || t.Is == NotNull:
		return true
	case t.Is == IsNull:
		return false
	case t.Is == Equal:
		return t.between(v, v)
	}
	return t.holds(v)
}

// Compares says whether a term is about values, not about NULL.
func (t *Term) Compares() bool { return t.Is != IsNull && t.Is != NotNull }

// Orders says whether a term is <, <=, > or >=.
func (t *Term) Orders() bool { return t.Is&Less == 0 != (t.Is&Greater == 0) }

// Narrow returns a part of a range that has all its values for which the term is TRUE.
func (t *Term) Narrow(low, high int64) (int64, int64) {
	if len(t.Values) == 0 {
		return low, high
	}
	first, last := &t.Values[0], &t.Values[len(t.Values)-1]
	switch {
	case first.Wide != nil || last.Wide != nil:
		return low, high
	case t.Is == Equal:
		return max(low, first.Integer), min(high, last.Integer)
	case t.Is == Less && first.Integer > math.MinInt64:
		return low, min(high, first.Integer-1)
	case t.Is == Greater && first.Integer < math.MaxInt64:
		return max(low, first.Integer+1), high
	case t.Is&Greater == 0:
		return low, min(high, first.Integer)
	case t.Is&Less == 0:
		return max(low, first.Integer), high
	}
	return low, high
}
