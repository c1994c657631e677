package oracle

import (
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/internal/order"
)

// Positions returns the rows of the table t in an order, by where they were when they were loaded.
// Rows that are equal in all keys keep that order.
func (d *DuckDB) Positions(schema *arrow.Schema, by order.By) ([]int64, error) {
	keys := make([]string, 0, len(by.Keys)+1)
	for _, k := range by.Keys {
		text := quote(schema.Field(k.Column).Name)
		if k.Descending {
			text += " DESC"
		}
		if k.NullsFirst { // DuckDB's default is NULLS LAST too
			text += " NULLS FIRST"
		}
		keys = append(keys, text)
	}
	text := "SELECT " + position + " FROM t ORDER BY " + strings.Join(append(keys, position), ", ")
	if by.Limited {
		text += fmt.Sprintf(" LIMIT %d", by.Limit)
	}
	if by.Offset > 0 {
		text += fmt.Sprintf(" OFFSET %d", by.Offset)
	}
	table, err := d.rows(text)
	if err != nil {
		return nil, err
	}
	positions := make([]int64, len(table))
	for i, values := range table {
		positions[i] = values[0].(int64)
	}
	return positions, nil
}
