package server

import (
	"errors"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/plan"
)

// countSchema has the answer of a CREATE, by DuckDB's name of its column: how many rows the table has. A view has no
// answer.
var countSchema = arrow.NewSchema([]arrow.Field{{Name: "Count", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)

// rows is what a run returns: the result of its statement, or the answer of a CREATE.
type rows interface {
	array.RecordReader
	Stats() engine.Stats
}

// counted is the answer of a CREATE.
type counted struct {
	array.RecordReader
	stats engine.Stats
}

// Stats tells what was done for the rows of the table.
func (c *counted) Stats() engine.Stats { return c.stats }

// define makes what the statement's CREATE says, and returns its answer, nil of a view. run runs the statement of a
// table.
func (r *Run) define(run func() (*plan.Result, error)) (rows, error) {
	st := r.Statement
	session := st.session
	var stats engine.Stats
	switch there, err := session.tables.Check(st.create); {
	case err != nil:
		return nil, err
	case st.create.View:
		return nil, errors.Join(session.tables.Define(st.create, nil, st.made), session.renamed())
	case !there:
		result, err := run()
		if err != nil {
			return nil, err
		}
		defer result.Release()
		table, made, err := r.server.spilled.Keep(r.ctx, result)
		if err != nil {
			return nil, err
		}
		r.made, stats = made, result.Stats()
		if err := errors.Join(session.tables.Define(st.create, table, nil), session.renamed()); err != nil {
			return nil, err
		}
	}
	of := array.NewInt64Builder(memory.DefaultAllocator)
	defer of.Release()
	of.Append(r.made)
	column := of.NewArray()
	defer column.Release()
	batch := array.NewRecordBatch(countSchema, []arrow.Array{column}, 1)
	defer batch.Release()
	answer, err := array.NewRecordReader(countSchema, []arrow.RecordBatch{batch})
	return &counted{answer, stats}, err
}
