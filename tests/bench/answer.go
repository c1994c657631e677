package main

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/rowdata"
)

// answer is what is left of a result after it was read to its end: the number of groups, and a total
// of every column, so that no engine can leave one out. Totals are of integers, of the lengths of
// strings in bytes, of doubles, of the doubles in lists. NULLs, NaNs and infinities do not count: engines
// differ in which of them a statistic of one row is.
type answer struct {
	Groups int64     `json:"groups"`
	Ints   []int64   `json:"ints"`   // of integer and string columns, in their order
	Floats []float64 `json:"floats"` // of the others
}

// equal compares the answers of two engines, whose sums of doubles were rounded in other orders.
func (a answer) equal(b answer) bool {
	return a.Groups == b.Groups && slices.Equal(a.Ints, b.Ints) && slices.EqualFunc(a.Floats, b.Floats, near)
}

func near(a, b float64) bool {
	return math.Abs(a-b) <= 1e-7*max(1, math.Abs(a), math.Abs(b))
}

func (a answer) String() string {
	return fmt.Sprintf("%d groups, totals %v %v", a.Groups, a.Ints, a.Floats)
}

// take takes the totals by column, of which each is in one of two lists.
func (a *answer) take(kinds []totalKind, ints []int64, floats []float64) {
	for i, kind := range kinds {
		if kind.isInt() {
			a.Ints = append(a.Ints, ints[i])
		} else {
			a.Floats = append(a.Floats, floats[i])
		}
	}
}

// totalKind says how a result column is summed up.
type totalKind string

const (
	totalInt   totalKind = "int"
	totalText  totalKind = "text" // lengths in bytes
	totalFloat totalKind = "float"
	totalList  totalKind = "list" // of doubles
)

// isInt says that the total is one of answer.Ints.
func (k totalKind) isInt() bool { return k == totalInt || k == totalText }

// resultKinds returns the kinds of the columns of a query's result.
func resultKinds(ctx context.Context, open opener, q query.Query) ([]totalKind, error) {
	src, err := open(ctx)
	if err != nil {
		return nil, err
	}
	bound, err := rowdata.Bind(q, src.Schema(), src.Stats().Columns)
	if err != nil {
		return nil, err
	}
	return totalKinds(bound.Schema)
}

// totalKinds returns the kinds of a result's columns.
func totalKinds(schema *arrow.Schema) ([]totalKind, error) {
	kinds := make([]totalKind, schema.NumFields())
	for i, f := range schema.Fields() {
		switch {
		case arrow.IsInteger(f.Type.ID()):
			kinds[i] = totalInt
		case f.Type.ID() == arrow.STRING:
			kinds[i] = totalText
		case f.Type.ID() == arrow.FLOAT64:
			kinds[i] = totalFloat
		case arrow.TypeEqual(f.Type, arrow.ListOf(arrow.PrimitiveTypes.Float64)):
			kinds[i] = totalList
		default:
			return nil, fmt.Errorf("column %q: no total of %s", f.Name, f.Type)
		}
	}
	return kinds, nil
}

// sumUp reads a result to its end.
func sumUp(r array.RecordReader) (answer, error) {
	kinds, err := totalKinds(r.Schema())
	if err != nil {
		return answer{}, err
	}
	ints, floats := make([]int64, len(kinds)), make([]float64, len(kinds))
	var a answer
	for r.Next() {
		batch := r.RecordBatch()
		a.Groups += batch.NumRows()
		for i, column := range batch.Columns() {
			if kinds[i].isInt() {
				ints[i] += intTotal(column)
			} else {
				floats[i] += floatTotal(column)
			}
		}
	}
	a.take(kinds, ints, floats)
	return a, r.Err()
}

func intTotal(column arrow.Array) (total int64) {
	switch c := column.(type) {
	case *array.Int64:
		return sumValid[int64](c, c.Int64Values())
	case *array.Int32:
		return sumValid[int64](c, c.Int32Values())
	case *array.String:
		for i := range c.Len() {
			total += int64(c.ValueLen(i))
		}
		return total
	}
	panic(fmt.Sprintf("no total of %s", column.DataType()))
}

func floatTotal(column arrow.Array) float64 {
	switch c := column.(type) {
	case *array.Float64:
		return sumValid[float64](c, c.Float64Values())
	case *array.List:
		from, to := int64(0), int64(0)
		if c.Len() > 0 {
			from, _ = c.ValueOffsets(0)
			_, to = c.ValueOffsets(c.Len() - 1)
		}
		values := array.NewSlice(c.ListValues(), from, to)
		defer values.Release()
		return floatTotal(values)
	}
	panic(fmt.Sprintf("no total of %s", column.DataType()))
}

// sumValid adds the values that are finite and not NULL.
func sumValid[T int64 | float64, V int32 | int64 | float64](column arrow.Array, values []V) (total T) {
	nulls := column.NullN() > 0
	for i, v := range values {
		if v-v == 0 && !(nulls && column.IsNull(i)) {
			total += T(v)
		}
	}
	return total
}
