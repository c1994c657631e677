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

// schema is the answer's, by DuckDB's name of its column.
var schema = arrow.NewSchema([]arrow.Field{{Name: "Count", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)

// Result is the answer of a COPY: a row with the count of the rows that are written.
type Result struct {
	array.RecordReader
	stats engine.Stats
}

// Stats tells what the statement did whose rows are written.
func (r *Result) Stats() engine.Stats { return r.stats }

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
	defer result.Release()
	opt.Collect = func(schema *arrow.Schema, by order.By, purpose string) (*order.Collector, error) {
		return eng.Statement(ctx).Collector(ctx, schema, by, purpose)
	}
	if opt.PartitionBy, err = columnNames(result.Schema(), opt.PartitionBy); err != nil {
		return nil, err
	}
	rows, err := write(ctx, c.To, result, opt)
	if err != nil {
		return nil, knob.Reword(err, word)
	}
	b := array.NewInt64Builder(memory.DefaultAllocator)
	defer b.Release()
	b.Append(rows)
	column := b.NewArray()
	defer column.Release()
	batch := array.NewRecordBatch(schema, []arrow.Array{column}, 1)
	defer batch.Release()
	reader, err := array.NewRecordReader(schema, []arrow.RecordBatch{batch})
	return &Result{reader, result.Stats()}, err
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
