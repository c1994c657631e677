package grouptest

import (
	"errors"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/engine/query"
)

// ErrOverflow is the oracle's answer to a query whose exact sum does not fit the result.
var ErrOverflow = errors.New("overflow")

// Rows is an answer, in no particular order of rows.
type Rows struct {
	Schema *arrow.Schema
	Keys   int     // the leading columns that are keys
	Cells  [][]any // by row, then column
}

// group is what the oracle keeps of one group: every value.
type group struct {
	key  []any
	rows int
	args [][2][]any // by aggregate: its arguments, in the rows where none of them is NULL
}

// Oracle answers a query. Its error is ErrOverflow, or says what is wrong with the query.
func Oracle(schema *arrow.Schema, batches []arrow.RecordBatch, q query.Query) (*Rows, error) {
	if err := q.Validate(); err != nil {
		return nil, err
	}
	result, err := ResultSchema(schema, q)
	if err != nil {
		return nil, err
	}
	answer := &Rows{Schema: result, Keys: len(q.Keys)}
	for _, g := range collect(schema, batches, q) {
		row := g.key
		for i, a := range q.Aggregates {
			xs, ys := g.args[i][0], g.args[i][1]
			if a.Distinct {
				a, xs, ys = distinct(a, argTypes(schema, a), xs, ys)
			}
			cell, err := evaluate(a, q, argTypes(schema, a), g.rows, xs, ys)
			if err != nil {
				return nil, fmt.Errorf("%s of the group %s: %w", a, keyTexts(g.key), err)
			}
			row = append(row, cell)
		}
		answer.Cells = append(answer.Cells, row)
	}
	return answer, nil
}

func argTypes(schema *arrow.Schema, a query.Aggregate) []arrow.DataType {
	types := make([]arrow.DataType, len(a.Args))
	for i, name := range a.Args {
		c, _ := column(schema, name)
		types[i] = valueType(schema.Field(c).Type)
	}
	return types
}

// collect sorts the values of all rows into groups, in the order of their first rows.
func collect(schema *arrow.Schema, batches []arrow.RecordBatch, q query.Query) []*group {
	var groups []*group
	byKey := make(map[string]*group)
	find := func(key []any) *group {
		text := keyTexts(key)
		g := byKey[text]
		if g == nil {
			g = &group{key: key, args: make([][2][]any, len(q.Aggregates))}
			byKey[text] = g
			groups = append(groups, g)
		}
		return g
	}
	if len(q.Keys) == 0 {
		find(nil) // exists without rows too
	}
	for _, batch := range batches {
		named := func(name string) arrow.Array {
			c, _ := column(schema, name)
			return batch.Column(c)
		}
		keys := make([]arrow.Array, len(q.Keys))
		for i, k := range q.Keys {
			keys[i] = named(k.Column)
		}
		args := make([][]arrow.Array, len(q.Aggregates))
		for i, a := range q.Aggregates {
			for _, name := range a.Args {
				args[i] = append(args[i], named(name))
			}
		}
		for row := range int(batch.NumRows()) {
			g := find(values(keys, row))
			g.rows++
			for i := range args {
				v := values(args[i], row)
				if slices.Contains(v, nil) {
					continue
				}
				for j := range v {
					g.args[i][j] = append(g.args[i][j], v[j])
				}
			}
		}
	}
	return groups
}

func values(columns []arrow.Array, row int) []any {
	v := make([]any, len(columns))
	for i, c := range columns {
		v[i] = Value(c, row)
	}
	return v
}

// ReadAll drains a reader whose leading columns are keys, and releases it. It checks that batches
// have the reader's schema.
func ReadAll(r array.RecordReader, keys int) (*Rows, error) {
	defer r.Release()
	answer := &Rows{Schema: r.Schema(), Keys: keys}
	for r.Next() {
		batch := r.RecordBatch()
		if !batch.Schema().Equal(r.Schema()) {
			return nil, fmt.Errorf("a batch has the schema %v, the reader %v", batch.Schema(), r.Schema())
		}
		for row := range int(batch.NumRows()) {
			answer.Cells = append(answer.Cells, values(batch.Columns(), row))
		}
	}
	return answer, r.Err()
}
