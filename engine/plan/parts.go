package plan

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/recordreader"
)

// Grouping returns the one aggregation of a statement, and the source that the aggregation reads. The
// groups may be made elsewhere, in parts:
//
//	source -> groups -> part of the groups: Finish -> rows of all parts: InOrder -> result
//
// A statement that takes more than one aggregation, or none, is an error that says so.
//
// Requires: Options.OneStep.
func (q *Query) Grouping() (scan.Source, query.Query, error) {
	var none query.Query
	l := q.last()
	if step := q.whole(); step != "" {
		return nil, none, fmt.Errorf("the statement has %s, which needs all rows, and is not done in parts", step)
	}
	if q.isDerived() {
		const how = "a table derived of groups, or of rows in order, is made before the statement; " +
			"write its result to a file first"
		return nil, none, errors.New(how)
	}
	switch {
	case l.project == nil:
		return nil, none, errors.New("the statement makes no groups: it has neither GROUP BY nor an aggregate")
	case l.project.in.sets != nil:
		return nil, none, errors.New("several grouping sets (ROLLUP, CUBE, GROUPING SETS) take more than one aggregation")
	}
	groups := l.project.in.of
	for n := node(groups.in); n != nil; n = n.input() {
		switch of := n.(type) {
		case *sortsNode:
			const why = "the statement takes a step before its groups, which needs all rows: order of %s"
			return nil, none, fmt.Errorf(why, of.describe())
		case *joinNode:
			const why = "the statement joins tables, which is not done in parts; write the joined rows to a file first"
			return nil, none, errors.New(why)
		}
	}
	return groups.in.rows(newRun(q.engine)), groups.query, nil
}

// whole returns what the statement has that is not done in parts, or "".
func (q *Query) whole() string {
	for n := node(q.root); n != nil; n = n.input() {
		switch n.(type) {
		case *windowNode:
			return "window functions, a sample, QUALIFY or DISTINCT ON"
		case *unionNode, *repeatNode:
			return "UNION, INTERSECT or EXCEPT"
		case *recursionNode:
			return "WITH RECURSIVE"
		case *bodyNode:
			return "a statement of WITH that several places read"
		}
	}
	return ""
}

// isDerived says whether the statement reads a derived table that is made before it.
func (q *Query) isDerived() bool {
	for n := node(q.root); n != nil; n = n.input() {
		if s, ok := n.(*streamNode); ok && s.described.isResult {
			return true
		}
	}
	return false
}

// Finish returns the rows that the statement makes of some of its groups: HAVING, and the columns of the
// result, and hidden columns behind them that the order of the result needs. Of a statement with a limit
// there are no more rows than the result may have. It takes over the groups, which have the
// columns of Grouping's result.
func (q *Query) Finish(ctx context.Context, groups array.RecordReader) (array.RecordReader, error) {
	l := q.last()
	made := l.project.in.made
	same := recordreader.New(made, func() (arrow.RecordBatch, error) {
		batch, err := recordreader.Next(groups)
		if batch == nil {
			return nil, err
		}
		return newBatch(made, batch.Columns(), batch.NumRows()), nil
	}, groups.Release)
	rows := projected(ctx, same, newProjector(l.post, q.engine.Allocator()))
	by := l.by()
	if !by.Limited {
		return rows, nil
	}
	by.Limit, by.Offset = by.Wanted(), 0
	sorted, err := q.engine.Sort(ctx, rows, by)
	rows.Release()
	return sorted, err
}

// Ordered says whether the rows of Finish are no result before InOrder has seen all of them.
func (q *Query) Ordered() bool { return q.last().sort != nil }

// Finished returns the columns of the rows of Finish.
func (q *Query) Finished() *arrow.Schema { return q.last().post.schema }

// InOrder returns the result of the rows that Finish has made of all groups, which it takes over.
func (q *Query) InOrder(ctx context.Context, rows array.RecordReader) (array.RecordReader, error) {
	l := q.last()
	if l.sort != nil {
		sorted, err := q.engine.Sort(ctx, rows, l.sort.by)
		rows.Release()
		if err != nil {
			return nil, err
		}
		rows = sorted
	}
	if l.pick != nil {
		rows = l.pick.pick(rows)
	}
	return rows, nil
}

// projected takes over a reader and a projector, and returns the projection of the reader's
// batches.
func projected(ctx context.Context, from array.RecordReader, of *projector) array.RecordReader {
	return recordreader.New(of.p.schema, func() (arrow.RecordBatch, error) {
		for {
			if out, err := of.Next(ctx); out != nil || err != nil {
				return out, err
			}
			in, err := recordreader.Next(from)
			if in == nil {
				return nil, err
			}
			if err := of.Begin(ctx, in); err != nil {
				return nil, err
			}
		}
	}, func() {
		of.Release()
		from.Release()
	})
}
