package scan

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/scalar"

	"github.com/mpga/mpga/engine/scan/internal/predicate"
)

// Predicate says which rows a query needs. Rows for which a term is surely not TRUE are left out
// where that spares reading; rows for which Rows does not say TRUE are left out always.
//
// Each term must follow from the whole of the condition, and no term need be there. A source may
// use terms or not, so that a consumer without Rows still has to evaluate the condition itself.
type Predicate struct {
	Terms []Term     // all of them hold for every row that is needed
	AnyOf [][][]Term // lists of alternatives: in each, one alternative at least has terms that all hold for such a row
	Rows  RowFilter  // the condition itself; may be nil
}

// Term compares a column with constants: BETWEEN is two of them, and x LIKE 'ab%' implies two.
//
// The comparison is by value and exact: 1 is 1.00, a date is its midnight, -0.0 is 0.0. Nothing is
// said of NaN: it may be equal to itself and larger than all numbers, or not. Strings and binaries
// are compared byte by byte. A condition that rounds its column before it compares, such as a
// 64-bit integer turned into a double, or by a collation, is no term.
//
// A constant is of the column's type, or of a type of the same family: integers and decimals;
// floats; strings and binaries; dates and timestamps without a zone; timestamps with a zone; times
// of day; durations; truth values. A term with a constant of another family, or with a NULL as
// constant, leaves no row out.
type Term struct {
	Column int // index in the source's schema
	Op     Op
	Values []scalar.Scalar // one for a comparison, any number for OpIn
}

// RowFilter is a condition that is evaluated for every row.
type RowFilter interface {
	// Columns returns the columns that the condition needs, as indexes in the source's schema.
	Columns() []int

	// Select sets the bits of the rows for which the condition is TRUE, lowest bit first, and
	// returns how many it has set. selected has a bit for each row, all 0 at first. The batch has
	// the columns that Columns returned, in that order, and of the types that Split.Open may
	// return: dictionaries and views among them. It is the caller's. Several goroutines may call
	// Select at the same time.
	Select(ctx context.Context, batch arrow.RecordBatch, selected []byte) (rows int, err error)
}

// RankedFilter is what a RowFilter may be besides: one that knows how few rows it leaves. Ranked filters run behind the
// others, first of all the one that leaves least.
type RankedFilter interface {
	RowFilter

	// Leaves returns what part of the rows the filter leaves, as far as is known now, from 0 to 1.
	Leaves() float64
}

// leavesOf returns what part of the rows a filter leaves; 0 of one that is not ranked.
func leavesOf(f RowFilter) float64 {
	if ranked, ok := f.(RankedFilter); ok {
		return ranked.Leaves()
	}
	return 0
}

// LearningFilter is what a RowFilter may be besides: one that comes to know, while rows are read, bounds of a column.
type LearningFilter interface {
	RowFilter

	// Learned returns a term that is TRUE for all rows that pass from now on. Its values are nil while nothing is
	// known: it then says which values are best read first, small ones or large ones. ok is false where the filter
	// will learn nothing. Several goroutines may call Learned at the same time.
	Learned() (t Term, ok bool)
}

// DivisibleFilter is what a RowFilter may be besides: a condition that can be evaluated in two steps,
// so that what costs most to read is read for the rows alone that pass the first step.
type DivisibleFilter interface {
	RowFilter

	// Divide returns two filters that together select the same rows: a row passes the filter if it
	// passes both. first needs none of the late columns; rest is asked of rows that have passed
	// first, or of all. ok is false where there is no such pair.
	Divide(late []int) (first, rest RowFilter, ok bool)
}

// Validate reports every term that does not suit a schema.
func (p *Predicate) Validate(schema *arrow.Schema) error {
	var errs []error
	all := slices.Clone(p.Terms)
	for _, alternatives := range p.AnyOf {
		all = append(all, slices.Concat(alternatives...)...)
	}
	for i, t := range all {
		wanted := 1
		switch t.Op {
		case OpIn:
			wanted = len(t.Values)
		case OpIsNull, OpIsNotNull:
			wanted = 0
		}
		switch {
		case t.Column < 0 || t.Column >= schema.NumFields():
			err := fmt.Errorf("term %d: column %d of a table that has %d", i, t.Column, schema.NumFields())
			errs = append(errs, err)
		case int(t.Op) >= len(ops):
			errs = append(errs, fmt.Errorf("term %d: %s is no operator", i, t.Op))
		case len(t.Values) != wanted:
			errs = append(errs, fmt.Errorf("term %d: %s with %d constants", i, t.Op, len(t.Values)))
		}
	}
	if p.Rows != nil {
		for _, c := range p.Rows.Columns() {
			if c < 0 || c >= schema.NumFields() {
				errs = append(errs, fmt.Errorf("row filter: column %d of a table that has %d", c, schema.NumFields()))
			}
		}
	}
	return errors.Join(errs...)
}

// bindPredicate returns the terms of a predicate that are of use, in the units of their columns.
func bindPredicate(p *Predicate, schema *arrow.Schema) *predicate.Conjunction {
	c := &predicate.Conjunction{Terms: bindTerms(p.Terms, schema)}
	for _, alternatives := range p.AnyOf {
		var bound [][]predicate.Term
		for _, terms := range alternatives {
			if one := bindTerms(terms, schema); len(one) > 0 {
				bound = append(bound, one)
			}
		}
		if len(bound) == len(alternatives) {
			c.AnyOf = append(c.AnyOf, bound)
		}
	}
	return c
}

// in returns the predicate with the terms alone that say the same of the values that a file has, where these become
// values of the table's types: comparisons with types of another family do not, which the conversion rounds.
func (p *Predicate) in(table, file *arrow.Schema) *Predicate {
	holds := func(terms []Term) (kept []Term) {
		for _, t := range terms {
			to, from := table.Field(t.Column).Type, file.Field(t.Column).Type
			family, _, _ := predicate.FamilyOf(to)
			own, _, _ := predicate.FamilyOf(from)
			_, compares := predicate.Bind(t.Column, ops[t.Op].is, t.Values, to)
			if len(t.Values) == 0 || arrow.TypeEqual(from, to) || family == own && compares {
				kept = append(kept, t)
			}
		}
		return kept
	}
	of := &Predicate{Terms: holds(p.Terms)}
	for _, alternatives := range p.AnyOf {
		var kept [][]Term
		for _, terms := range alternatives {
			kept = append(kept, holds(terms))
		}
		of.AnyOf = append(of.AnyOf, kept)
	}
	return of
}

// bindTerms returns the terms that are of use, in the units of their columns.
func bindTerms(terms []Term, schema *arrow.Schema) []predicate.Term {
	var bound []predicate.Term
	for _, t := range terms {
		if t.Op == OpIn { // x IN (1, NULL) is TRUE where x IN (1) is
			isNull := func(s scalar.Scalar) bool { return s != nil && !s.IsValid() }
			t.Values = slices.DeleteFunc(slices.Clone(t.Values), isNull)
		}
		if b, ok := predicate.Bind(t.Column, ops[t.Op].is, t.Values, schema.Field(t.Column).Type); ok {
			bound = append(bound, b)
		}
	}
	return bound
}

// Op is what a Term says of its column. A comparison with NULL is not TRUE, as in SQL.
type Op uint8

// The operators.
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

var ops = [...]struct {
	name string
	is   predicate.Relation
}{
	OpEqual:          {"=", predicate.Equal},
	OpNotEqual:       {"<>", predicate.Less | predicate.Greater},
	OpLess:           {"<", predicate.Less},
	OpLessOrEqual:    {"<=", predicate.Less | predicate.Equal},
	OpGreater:        {">", predicate.Greater},
	OpGreaterOrEqual: {">=", predicate.Greater | predicate.Equal},
	OpIn:             {"IN", predicate.Equal},
	OpIsNull:         {"IS NULL", predicate.IsNull},
	OpIsNotNull:      {"IS NOT NULL", predicate.NotNull},
}

// String returns the operator as SQL writes it.
func (o Op) String() string {
	if int(o) < len(ops) {
		return ops[o].name
	}
	return fmt.Sprintf("Op(%d)", uint8(o))
}
