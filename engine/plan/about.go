package plan

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/logical"
	"github.com/mpga/mpga/internal/recordreader"
)

// explainNode has what EXPLAIN or EXPLAIN ANALYZE tells about a statement.
type explainNode struct {
	whole   *Query // the statement that has EXPLAIN in its FROM, or is EXPLAIN
	about   *Query
	analyze bool // about runs
}

func (n *explainNode) input() node           { return n.about.root }
func (n *explainNode) schema() *arrow.Schema { return logical.ExplainSchema }

// read implements readerNode.
func (n *explainNode) read(ctx context.Context, r *run) (array.RecordReader, error) {
	about := *n.about
	about.engine, about.used = r.statement.Engine(), n.whole.used
	key, tell := "physical_plan", about.Explain
	if n.analyze {
		key, tell = "analyzed_plan", func(ctx context.Context) (string, error) { return about.analyze(ctx, r) }
	}
	text, err := tell(ctx)
	if err != nil {
		return nil, err
	}
	batch := logical.TextBatch(logical.ExplainSchema, [][]string{{key}, {text}})
	return array.NewRecordReader(logical.ExplainSchema, []arrow.RecordBatch{batch})
}

// summaryNode has a row for each column of what SUMMARIZE is about.
type summaryNode struct {
	figures readerNode
	of      *arrow.Schema // the columns
}

func (n *summaryNode) input() node           { return n.figures }
func (n *summaryNode) schema() *arrow.Schema { return logical.SummarySchema }

// read implements readerNode.
func (n *summaryNode) read(ctx context.Context, r *run) (array.RecordReader, error) {
	figures, err := n.figures.read(ctx, r)
	if err != nil {
		return nil, err
	}
	return transposed(figures, n.of), nil
}

// transposed takes over the reader of the figures, which has one row, and returns a row for each
// column.
func transposed(figures array.RecordReader, of *arrow.Schema) array.RecordReader {
	return recordreader.New(logical.SummarySchema, func() (arrow.RecordBatch, error) {
		row, err := recordreader.Next(figures)
		if row == nil {
			return nil, err
		}
		heads := logical.DescribeRows(of)
		columns := []arrow.Array{logical.Strings(heads[0]), logical.Strings(heads[1])}
		defer func() { recordreader.ReleaseAll(columns) }()
		perColumn := logical.SummarySchema.NumFields() - logical.FiguresFrom
		for i := range perColumn {
			var values []arrow.Array
			for at := i; at < int(row.NumCols()); at += perColumn {
				values = append(values, row.Column(at))
			}
			column, err := array.Concatenate(values, memory.DefaultAllocator)
			if err != nil {
				return nil, err
			}
			columns = append(columns, column)
		}
		return recordreader.Batch(logical.SummarySchema, columns, int64(of.NumFields())), nil
	}, figures.Release)
}
