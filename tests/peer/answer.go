package peer

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/array"
)

// Answer is what is left of a result after it was read to its end: the number of rows, and a total
// of every column, so that no engine can leave a column out. NULLs, NaNs and infinities do not
// count: engines differ in which of them a statistic of one row is.
type Answer struct {
	Rows   int64
	Totals []Total // by column
}

// Total is the total of a column, which does not depend on the type that an engine has for it: a
// sum of integers is an integer of 64 bits, or of 128, or a decimal without fraction.
type Total struct {
	Kind  Kind
	Whole int64   // of the kinds Integers, modulo 2^64, Texts and Others
	Float float64 // of the kinds Floats and Lists
}

// Equal compares the answers of two engines, which have rounded sums of doubles in other orders.
func (a Answer) Equal(b Answer) bool {
	return a.SameRows(b) && slices.EqualFunc(a.Totals, b.Totals, Total.equal)
}

// SameRows compares the numbers of rows alone.
func (a Answer) SameRows(b Answer) bool { return a.Rows == b.Rows }

// equal compares totals of one kind, or one of integers with one of floats.
func (t Total) equal(u Total) bool {
	if t.Kind == u.Kind && t.Kind != Floats && t.Kind != Lists {
		return t.Whole == u.Whole
	}
	if t.Kind != u.Kind && !(t.isNumber() && u.isNumber()) {
		return false
	}
	x, y := t.number(), u.number()
	return math.Abs(x-y) <= 1e-7*max(1, math.Abs(x), math.Abs(y))
}

func (t Total) isNumber() bool { return t.Kind == Integers || t.Kind == Floats }

func (t Total) number() float64 { return t.Float + float64(t.Whole) } // one of them is 0

func (t Total) String() string {
	if t.Kind == Floats || t.Kind == Lists {
		return fmt.Sprintf("%s %v", t.Kind, t.Float)
	}
	return fmt.Sprintf("%s %d", t.Kind, t.Whole)
}

func (a Answer) String() string {
	totals := make([]string, len(a.Totals))
	for i, t := range a.Totals {
		totals[i] = t.String()
	}
	return fmt.Sprintf("%d rows, totals: %s", a.Rows, strings.Join(totals, ", "))
}

// Read reads a result to its end: for the whole answer, or for the number of rows.
func Read(r array.RecordReader, whole bool) (a Answer, err error) {
	if whole {
		return SumUp(r)
	}
	for r.Next() {
		a.Rows += r.RecordBatch().NumRows()
	}
	return a, r.Err()
}

// SumUp reads a result to its end.
func SumUp(r array.RecordReader) (Answer, error) {
	a := Answer{Totals: make([]Total, r.Schema().NumFields())}
	for i, f := range r.Schema().Fields() {
		a.Totals[i].Kind = kindOf(f.Type)
	}
	for r.Next() {
		batch := r.RecordBatch()
		a.Rows += batch.NumRows()
		for i, column := range batch.Columns() {
			if err := a.Totals[i].add(column); err != nil {
				return Answer{}, fmt.Errorf("column %q: %w", batch.ColumnName(i), err)
			}
		}
	}
	return a, r.Err()
}
