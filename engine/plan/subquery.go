package plan

import (
	"cmp"
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/recordreader"
)

// oneRow is what a statement without FROM reads: one row, whose column cannot be named.
func oneRow() scan.Source {
	schema := arrow.NewSchema([]arrow.Field{{Name: "", Type: arrow.FixedWidthTypes.Boolean, Nullable: true}}, nil)
	column := nulls(arrow.FixedWidthTypes.Boolean, 1)
	defer column.Release()
	return scan.Batches(schema, []arrow.RecordBatch{array.NewRecordBatch(schema, []arrow.Array{column}, 1)})
}

// streamed is the result of a query as a source: one split, which runs the query when the split is
// opened, and hands the batches on as they come. P4.
type streamed struct {
	name   string
	schema *arrow.Schema
	run    func(context.Context) (array.RecordReader, error)

	query *Query // of a derived table; else nil
	made  []int  // by column: its place in the query's result, or -1 where nobody asks for it; nil where all are made
}

// subquery is the source of a statement's result.
func subquery(q *Query) *streamed {
	run := func(ctx context.Context) (array.RecordReader, error) { return q.Run(ctx) }
	return &streamed{name: "derived table", query: q, schema: q.Schema(), run: run}
}

// Schema implements scan.Source.
func (s *streamed) Schema() *arrow.Schema { return s.schema }

// Stats implements scan.Source. Once keeps the engine from reading some rows for a forecast: each
// reading runs the query.
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

// Open implements scan.Split. The thread of the worker is the query's while the worker waits for
// it.
func (s *streamedSplit) Open(ctx context.Context, opt scan.OpenOptions) (array.RecordReader, error) {
	opt.EnsureDefaults()
	columns := s.columns // places in the query's result
	if s.of.made != nil {
		columns = make([]int, len(s.columns))
		for i, c := range s.columns {
			columns[i] = s.of.made[c]
		}
	}
	var from array.RecordReader
	var err error
	waited := opt.Wait(ctx, func() { from, err = s.of.run(ctx) })
	if err != nil {
		return nil, err
	}
	if waited != nil {
		if from != nil {
			from.Release()
		}
		return nil, waited
	}
	schema := columnsOf(s.of.schema, s.columns)
	return recordreader.New(schema, func() (in arrow.RecordBatch, err error) {
		waited := opt.Wait(ctx, func() { in, err = recordreader.Next(from) })
		if waited != nil || in == nil {
			return nil, cmp.Or(waited, err)
		}
		arrays := make([]arrow.Array, len(columns))
		for i, c := range columns {
			arrays[i] = in.Column(c)
		}
		return newBatch(schema, arrays, in.NumRows()), nil
	}, from.Release), nil
}
