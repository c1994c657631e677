package plan

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/scan"
)

// oneRow is what a statement without FROM reads: one row without columns that can be named.
func oneRow() scan.Source {
	schema := arrow.NewSchema([]arrow.Field{{Name: "", Type: arrow.FixedWidthTypes.Boolean}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	b.Field(0).(*array.BooleanBuilder).Append(true)
	return scan.Batches(schema, []arrow.RecordBatch{b.NewRecordBatch()})
}

// streamed is what a query returns, as a source: one split, which runs the query when it is opened and hands
// its batches on as they come. P4.
type streamed struct {
	name   string
	schema *arrow.Schema
	run    func(context.Context) (array.RecordReader, error)

	query *Query // of a derived table
	made  []int  // by column: where the query returns it, or -1 where nobody asks for it; nil where all are made
}

// subquery is the source of a statement's result.
func subquery(q *Query) *streamed {
	return &streamed{name: "derived table", query: q, schema: q.Schema(), run: func(ctx context.Context) (array.RecordReader, error) {
		return q.Run(ctx)
	}}
}

// Schema implements scan.Source.
func (s *streamed) Schema() *arrow.Schema { return s.schema }

// Stats implements scan.Source. Once keeps others from reading for a forecast: each time runs the query.
func (s *streamed) Stats() scan.Stats { return scan.Stats{Rows: -1, Bytes: -1, Once: true} }

// Splits implements scan.Source.
func (s *streamed) Splits(_ context.Context, columns []int) ([]scan.Split, error) {
	return []scan.Split{&streamedSplit{of: s, columns: columns}}, nil
}

type streamedSplit struct {
	of      *streamed
	columns []int
}

func (s *streamedSplit) Position() uint64 { return 0 }
func (s *streamedSplit) Rows() int64      { return -1 }
func (s *streamedSplit) Bytes() int64     { return 0 }
func (s *streamedSplit) Name() string     { return s.of.name }

// Open implements scan.Split.
func (s *streamedSplit) Open(ctx context.Context, opt scan.OpenOptions) (array.RecordReader, error) {
	fields := make([]arrow.Field, len(s.columns))
	made := make([]int, len(s.columns))
	for i, c := range s.columns {
		fields[i], made[i] = s.of.schema.Field(c), c
		if s.of.made != nil {
			made[i] = s.of.made[c]
		}
	}
	r := &streamedReader{batches: batches{schema: arrow.NewSchema(fields, nil)}, ctx: ctx, wait: opt.Wait, columns: made}
	if r.wait == nil {
		r.wait = func(_ context.Context, f func()) error {
			f()
			return nil
		}
	}
	var err error
	waited := r.wait(ctx, func() { r.from, err = s.of.run(ctx) })
	if err != nil {
		return nil, err
	}
	if waited != nil {
		r.Release()
		return nil, waited
	}
	return r, nil
}

// streamedReader returns columns of another query's result. The thread of its worker is that query's while it
// waits.
type streamedReader struct {
	batches
	ctx     context.Context
	wait    func(ctx context.Context, f func()) error
	columns []int // of the other query's
}

func (r *streamedReader) Next() bool {
	r.drop()
	if r.err != nil {
		return false
	}
	more := false
	r.err = r.wait(r.ctx, func() { more = r.from.Next() })
	if r.err != nil || !more {
		return false
	}
	in := r.from.RecordBatch()
	columns := make([]arrow.Array, len(r.columns))
	for i, c := range r.columns {
		columns[i] = in.Column(c)
	}
	r.batch = newBatch(r.schema, columns, in.NumRows())
	return true
}
