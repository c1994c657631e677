// Package copyto answers COPY: it writes the rows of a statement to files, and counts them.
//
//	opt, err := copyto.Options(statement, base) // what stands behind TO
//	result, err := copyto.Run(ctx, statement, copyto.Options{...})
//
// engine/sink writes the files, whole or not at all. An option that is not known is refused by its name.
package copyto

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/sink"
	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/knob"
	"github.com/mpga/mpga/internal/order"
)

// Schema has the column of an answer, by DuckDB's name of it: how many rows a statement has put in files or a table.
var Schema = arrow.NewSchema([]arrow.Field{{Name: "Count", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)

// Result is the answer of a statement whose rows go elsewhere: a row with their number.
type Result struct {
	array.RecordReader
	rows  int64
	stats engine.Stats
}

// Rows returns the number.
func (r *Result) Rows() int64 { return r.rows }

// Stats tells what the statement did whose rows these are.
func (r *Result) Stats() engine.Stats { return r.stats }

// NewResult returns an answer, which the caller releases.
func NewResult(rows int64, stats engine.Stats) (*Result, error) {
	b := array.NewInt64Builder(memory.DefaultAllocator)
	defer b.Release()
	b.Append(rows)
	column := b.NewArray()
	defer column.Release()
	batch := array.NewRecordBatch(Schema, []arrow.Array{column}, 1)
	defer batch.Release()
	reader, err := array.NewRecordReader(Schema, []arrow.RecordBatch{batch})
	return &Result{reader, rows, stats}, err
}

// Run runs a COPY to its end. opt is from Options. Errors that point at the text are of type *sql.Error. The caller
// releases the result.
func Run(ctx context.Context, eng *engine.Engine, c *sql.Copy, names plan.Options, opt sink.Options) (*Result, error) {
	prepared, err := plan.Prepare(ctx, eng, c.Query, names)
	if err != nil {
		return nil, err
	}
	defer prepared.Close()
	result, err := prepared.Run(ctx)
	if err != nil {
		return nil, err
	}
	return Write(ctx, eng, c, result, opt)
}

// Write writes the rows of a COPY's statement, and releases them. The caller releases the answer.
func Write(
	ctx context.Context, eng *engine.Engine, c *sql.Copy, result *plan.Result, opt sink.Options,
) (*Result, error) {
	defer result.Release()
	opt.Collect = func(schema *arrow.Schema, by order.By, purpose string) (*order.Collector, error) {
		return eng.Statement(ctx).Collector(ctx, schema, by, purpose)
	}
	var err error
	if opt.PartitionBy, err = columnNames(result.Schema(), opt.PartitionBy); err != nil {
		return nil, err
	}
	rows, err := write(ctx, c.To, result, opt)
	if err != nil {
		return nil, knob.Reword(err, word)
	}
	return NewResult(rows, result.Stats())
}

// columnNames returns the names of columns as the schema has them.
func columnNames(schema *arrow.Schema, names []string) ([]string, error) {
	found := make([]string, len(names))
	for i, name := range names {
		at, err := query.FindColumn(schema, name)
		if err != nil {
			return nil, fmt.Errorf("PARTITION_BY: %w", err)
		}
		found[i] = schema.Field(at).Name
	}
	return found, nil
}

// write writes rows to an output, and returns their number.
func write(ctx context.Context, path string, from array.RecordReader, opt sink.Options) (rows int64, err error) {
	out, err := sink.Create(ctx, path, from.Schema(), opt)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, out.Abort()) }() // nothing after Commit
	for from.Next() {
		rows += from.RecordBatch().NumRows()
		if err := out.Write(from.RecordBatch()); err != nil {
			return 0, err
		}
	}
	if err := from.Err(); err != nil {
		return 0, err
	}
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	return rows, out.Commit()
}
