package scan

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/internal/recordreader"
)

// InOrder reads sources, one after the other, in the order of their splits. They have the columns of the schema, but
// for names and for which may be NULL. next returns the next source, and nil at the end. The end of the context ends
// the reading.
func InOrder(ctx context.Context, schema *arrow.Schema, opt OpenOptions, next func() (Source, error),
) array.RecordReader {
	r := &inOrder{ctx: ctx, opt: opt, sources: next}
	for i := range schema.NumFields() {
		r.columns = append(r.columns, i)
	}
	return recordreader.New(schema, func() (arrow.RecordBatch, error) {
		batch, err := r.next()
		if batch == nil {
			return nil, err
		}
		return array.NewRecordBatch(typedAs(schema, batch), batch.Columns(), batch.NumRows()), nil
	}, r.close)
}

// typedAs returns a schema with the types of a batch's columns: readers may return strings as dictionaries.
func typedAs(schema *arrow.Schema, batch arrow.RecordBatch) *arrow.Schema {
	var fields []arrow.Field // nil while all types are the schema's
	for i, c := range batch.Columns() {
		if arrow.TypeEqual(schema.Field(i).Type, c.DataType()) {
			continue
		}
		if fields == nil {
			fields = schema.Fields()
		}
		fields[i].Type = c.DataType()
	}
	if fields == nil {
		return schema
	}
	return arrow.NewSchema(fields, nil)
}

// Once returns what InOrder asks for one source.
func Once(src Source) (next func() (Source, error)) {
	return func() (one Source, _ error) {
		one, src = src, nil
		return one, nil
	}
}

// inOrder is the state of InOrder.
type inOrder struct {
	ctx     context.Context
	opt     OpenOptions
	sources func() (Source, error)
	columns []int              // all
	splits  []Split            // of the last source, which are left
	split   array.RecordReader // owned; nil of none
}

// next returns the next batch, which stays the split's.
func (r *inOrder) next() (arrow.RecordBatch, error) {
	for {
		if r.split != nil {
			if batch, err := recordreader.Next(r.split); batch != nil || err != nil {
				return batch, err
			}
			r.close()
		}
		for len(r.splits) == 0 {
			src, err := r.sources()
			if src == nil || err != nil {
				return nil, err
			}
			if r.splits, err = src.Splits(r.ctx, r.columns); err != nil {
				return nil, err
			}
		}
		split, err := r.splits[0].Open(r.ctx, r.opt)
		if err != nil {
			return nil, err
		}
		r.split, r.splits = split, r.splits[1:]
	}
}

// close ends the reading of a split.
func (r *inOrder) close() {
	if r.split != nil {
		r.split.Release()
		r.split = nil
	}
}
