package workdir

import (
	"context"
	"errors"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/sink"
	"github.com/mpga/mpga/internal/nested"
	"github.com/mpga/mpga/internal/recordreader"
)

// WriteRows writes rows, which it takes over, to an output, as rows of a schema that differs from theirs
// in which columns may be NULL alone, and in how it has nested values.
func WriteRows(ctx context.Context, path string, schema *arrow.Schema, opt sink.Options,
	rows array.RecordReader) (err error) {
	defer rows.Release()
	schema = nested.CarriedSchema(schema)
	out, err := sink.Create(ctx, path, schema, opt)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Abort()) }() // nothing after Commit
	err = recordreader.Each(ctx, rows, func(batch arrow.RecordBatch) error {
		batch.Retain()
		same, err := nested.Batch(memory.DefaultAllocator, schema, batch)
		if err != nil {
			return err
		}
		defer same.Release()
		return out.Write(same)
	})
	if err != nil {
		return err
	}
	return out.Commit()
}
