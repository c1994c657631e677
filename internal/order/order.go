package order

import (
	"errors"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/query"
)

// By says which rows come, and in which order. The zero value takes all rows as they come.
type By struct {
	// Keys are the columns to order by; the column that decides first stands in front. Rows that
	// are equal in all keys keep the order of the input, as all rows do where there are no keys.
	Keys []Key

	// Limit is the most rows to return, if Limited is set.
	Limit   int64
	Limited bool

	// Share is, if IsShare is set, how many percent of all rows are the most to return; a part of a row is none. All rows
	// are gathered before the first is returned. Limited is false.
	Share   float64
	IsShare bool

	// Offset is how many rows to leave out before the first row that is returned.
	Offset int64

	// First is how many rows matter of the rows that are equal in the first Prefix keys; 0 is all. With Ties the rows
	// that are equal in all keys to the last of these matter, too. Others may be among the rows that are returned.
	First  int64
	Ties   bool
	Prefix int

	// Bound, if it is set, is told which rows the sort turns away. Rows that it turns away may be
	// missing in the input.
	Bound *Bound
}

// Key is one column that rows are ordered by.
type Key struct {
	Column     int // of the schema
	Descending bool
	NullsFirst bool // NULLs before all values; else behind them, whatever the direction
}

// Validate reports every field that does not suit rows of the schema. Its errors are
// query.ErrQuery.
func (b By) Validate(schema *arrow.Schema) error {
	var errs []error
	if b.Limited && b.Limit < 0 {
		errs = append(errs, fmt.Errorf("%w: LIMIT %d must not be negative", query.ErrQuery, b.Limit))
	}
	if b.IsShare && (b.Limited || !(b.Share >= 0 && b.Share <= 100)) {
		errs = append(errs, fmt.Errorf("%w: LIMIT %v%% must be a share from 0%% to 100%%, alone", query.ErrQuery, b.Share))
	}
	if b.Offset < 0 {
		errs = append(errs, fmt.Errorf("%w: OFFSET %d must not be negative", query.ErrQuery, b.Offset))
	}
	for _, k := range b.Keys {
		if k.Column < 0 || k.Column >= schema.NumFields() {
			errs = append(errs, fmt.Errorf("%w: ORDER BY column %d of %d", query.ErrQuery, k.Column, schema.NumFields()))
			continue
		}
		if f := schema.Field(k.Column); !Sortable(f.Type) {
			errs = append(errs, fmt.Errorf("%w: ORDER BY %q: values of type %s have no order",
				query.ErrQuery, f.Name, query.TypeName(f.Type)))
		}
	}
	return errors.Join(errs...)
}

// Sortable says whether a column of a type can be a Key.
func Sortable(dt arrow.DataType) bool {
	switch id := dt.ID(); id {
	case arrow.NULL, arrow.BOOL, arrow.FLOAT16, arrow.FLOAT32, arrow.FLOAT64, arrow.DATE32,
		arrow.DATE64, arrow.TIME32, arrow.TIME64,
		arrow.TIMESTAMP, arrow.DURATION, arrow.STRING, arrow.BINARY, arrow.LARGE_STRING,
		arrow.LARGE_BINARY, arrow.STRING_VIEW, arrow.BINARY_VIEW,
		arrow.FIXED_SIZE_BINARY, arrow.DECIMAL32, arrow.DECIMAL64, arrow.DECIMAL128, arrow.DECIMAL256:
		return true
	default:
		return arrow.IsInteger(id)
	}
}

// Wanted returns how many of the first rows matter: Offset and Limit together.
func (b By) Wanted() int64 {
	if !b.Limited || b.Limit > math.MaxInt64-b.Offset {
		return math.MaxInt64
	}
	return b.Offset + b.Limit
}
