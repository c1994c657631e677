package peer

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// Answer is what is left of a result after it was read to its end: the number of rows, and a total
// of every column, so that no engine can leave a column out. NULLs, NaNs and infinities do not
// count: engines differ in which of them a statistic of one row is.
type Answer struct {
	Rows   int64     `json:"rows"`
	Ints   []int64   `json:"ints"`   // of the columns whose totals are whole, in the order of the columns
	Floats []float64 `json:"floats"` // of the others
}

// Equal compares the answers of two engines, which have rounded sums of doubles in other orders.
func (a Answer) Equal(b Answer) bool {
	near := func(x, y float64) bool { return math.Abs(x-y) <= 1e-7*max(1, math.Abs(x), math.Abs(y)) }
	return a.Rows == b.Rows && slices.Equal(a.Ints, b.Ints) && slices.EqualFunc(a.Floats, b.Floats, near)
}

func (a Answer) String() string {
	return fmt.Sprintf("%d rows, totals %v %v", a.Rows, a.Ints, a.Floats)
}

// take takes the totals by column, of which each is in one of two lists.
func (a *Answer) take(kinds []Kind, ints []int64, floats []float64) {
	for i, kind := range kinds {
		if kind.whole() {
			a.Ints = append(a.Ints, ints[i])
		} else {
			a.Floats = append(a.Floats, floats[i])
		}
	}
}

// Kind says what the total of a column is.
type Kind string

const (
	kindInt   Kind = "int"
	kindText  Kind = "text"  // of the lengths in bytes
	kindFloat Kind = "float" // decimals among them
	kindList  Kind = "list"  // of the doubles in lists
	kindOther Kind = "other" // the number of values
)

// whole says that the total is one of Answer.Ints.
func (k Kind) whole() bool { return k != kindFloat && k != kindList }

// Kinds returns the kinds of the columns of a result.
func Kinds(schema *arrow.Schema) []Kind {
	kinds := make([]Kind, schema.NumFields())
	for i, f := range schema.Fields() {
		switch id := f.Type.ID(); {
		case arrow.IsInteger(id):
			kinds[i] = kindInt
		case id == arrow.STRING:
			kinds[i] = kindText
		case id == arrow.FLOAT64, arrow.IsDecimal(id):
			kinds[i] = kindFloat
		case id == arrow.LIST:
			kinds[i] = kindList
		default:
			kinds[i] = kindOther
		}
	}
	return kinds
}

// SumUp reads a result to its end.
func SumUp(r array.RecordReader) (Answer, error) {
	kinds := Kinds(r.Schema())
	ints, floats := make([]int64, len(kinds)), make([]float64, len(kinds))
	var a Answer
	for r.Next() {
		batch := r.RecordBatch()
		a.Rows += batch.NumRows()
		for i, column := range batch.Columns() {
			if kinds[i].whole() {
				ints[i] += wholeTotal(column)
			} else {
				floats[i] += floatTotal(column)
			}
		}
	}
	a.take(kinds, ints, floats)
	return a, r.Err()
}

func wholeTotal(column arrow.Array) (total int64) {
	switch c := column.(type) {
	case *array.Int64:
		return sumValid[int64](c, c.Int64Values())
	case *array.Int32:
		return sumValid[int64](c, c.Int32Values())
	case *array.Int16:
		return sumValid[int64](c, c.Int16Values())
	case *array.String:
		for i := range c.Len() {
			if c.IsValid(i) {
				total += int64(c.ValueLen(i))
			}
		}
		return total
	}
	if arrow.IsInteger(column.DataType().ID()) {
		panic(fmt.Sprintf("no total of %s", column.DataType()))
	}
	return int64(column.Len() - column.NullN())
}

func floatTotal(column arrow.Array) (total float64) {
	switch c := column.(type) {
	case *array.Float64:
		return sumValid[float64](c, c.Float64Values())
	case *array.Decimal128:
		scale := c.DataType().(*arrow.Decimal128Type).Scale
		for i, v := range c.Values() {
			if c.IsValid(i) {
				total += v.ToFloat64(scale)
			}
		}
		return total
	case *array.List: // a NULL has no elements
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
func sumValid[T int64 | float64, V int16 | int32 | int64 | float64](column arrow.Array, values []V) (total T) {
	nulls := column.NullN() > 0
	for i, v := range values {
		if v-v == 0 && !(nulls && column.IsNull(i)) {
			total += T(v)
		}
	}
	return total
}

// Summed is a query that DuckDB sums up.
type Summed struct {
	SQL   string `json:"sql"`
	Kinds []Kind `json:"kinds"` // of the columns that are summed up
}

// SumUpQuery wraps a query so that DuckDB, too, reads the result to its end and in all columns,
// which costs it less than a table of the result would.
func SumUpQuery(query string, kinds []Kind) Summed {
	names, totals := make([]string, len(kinds)), make([]string, len(kinds))
	for i, kind := range kinds {
		names[i] = fmt.Sprint("c", i)
		totals[i] = fmt.Sprintf(map[Kind]string{
			kindInt:   "coalesce(sum(%s), 0)::BIGINT",
			kindText:  "coalesce(sum(strlen(%s)), 0)::BIGINT",
			kindFloat: "coalesce(sum(%[1]s) FILTER (isfinite(%[1]s::DOUBLE)), 0)::DOUBLE",
			kindList:  "coalesce(sum(list_sum(%s)), 0)",
			kindOther: "count(%s)",
		}[kind], names[i])
	}
	text := fmt.Sprintf("SELECT count(*), %s FROM (%s) AS r(%s)", strings.Join(totals, ", "), query, strings.Join(names, ", "))
	return Summed{text, kinds}
}

// Ask runs a query to its end.
func (d *DuckDB) Ask(ctx context.Context, s Summed) (Answer, error) {
	ints, floats := make([]int64, len(s.Kinds)), make([]float64, len(s.Kinds))
	var a Answer
	targets := []any{&a.Rows}
	for i, kind := range s.Kinds {
		if kind.whole() {
			targets = append(targets, &ints[i])
		} else {
			targets = append(targets, &floats[i])
		}
	}
	if err := d.QueryRowContext(ctx, s.SQL).Scan(targets...); err != nil {
		return Answer{}, fmt.Errorf("%s: %w", s.SQL, err)
	}
	a.take(s.Kinds, ints, floats)
	return a, nil
}
