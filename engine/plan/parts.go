package plan

import (
	"context"
	"errors"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/partial"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/recordreader"
)

// Part is the rows that a part of a statement reads. The zero value is all rows.
type Part struct {
	Table  scan.Source                   // of a Stem, whose rows are divided; nil of all rows
	Of     func(scan.Source) scan.Source // the part's among the rows of the Stem, by their positions; nil of all of them
	Others []scan.Source                 // tables of the other Stems, whose rows other parts read
	First  bool                          // the part reads inputs of unions whose tables are not divided
}

// Grouping is the one aggregation of a statement, over the rows of a part. The groups may be made elsewhere:
//
//	source -> groups -> part of the groups: Finish -> rows of all parts: InOrder -> result
//
// It must be closed.
type Grouping struct {
	Source scan.Source
	Query  query.Query
	Groups int64 // about as many there are of all parts, by the statistics of tables

	run *run
}

// Grouping returns the aggregation of a statement. A statement that takes more than one aggregation, or none, is an
// error that says so.
//
// Requires: Options.OneStep.
func (q *Query) Grouping(of Part) (*Grouping, error) {
	groups, err := q.oneAggregation()
	if err != nil {
		return nil, err
	}
	r := newRun(q.engine.Statement())
	if of.Table != nil {
		r.part = newRunPart(groups.in, of)
	}
	return &Grouping{r.rowsOf(groups.in), groups.query, groups.expected, r}, nil
}

// Partial writes the states of the groups, as engine.Engine's Partial does.
func (g *Grouping) Partial(ctx context.Context, opt partial.Options) (engine.Stats, error) {
	stats, err := g.run.engine.Partial(ctx, g.Source, g.Query, opt)
	g.run.addJoins(&stats)
	return stats, err
}

// Close gives back what the part has kept of tables that are read whole.
// Requires: nobody reads the source any more.
func (g *Grouping) Close() { g.run.releaseTests() }

// runPart is what a run of a part does not read.
type runPart struct {
	stem map[sourceNode]bool // the rows of the table: where groups are made of them, and in domains of subqueries
	of   func(scan.Source) scan.Source
	left map[sourceNode]bool // inputs of unions
}

func newRunPart(root sourceNode, of Part) *runPart {
	p := &runPart{of: of.Of, left: map[sourceNode]bool{}, stem: map[sourceNode]bool{}}
	if p.of == nil {
		p.of = func(s scan.Source) scan.Source { return s }
	}
	isOther := func(table scan.Source) bool { return slices.Contains(of.Others, table) }
	isDivided := func(table scan.Source) bool { return table == of.Table || isOther(table) }
	_ = alongPath(root, isDivided, nil, func(in sourceNode, divided bool) {
		own := slices.ContainsFunc(tablesOf(in, true), func(t *tableNode) bool { return t.source == of.Table })
		p.left[in] = !own && (divided || !of.First)
	})
	p.addStems(root, of.Table)
	return p
}

// addStems adds the nodes of the rows of a table before they meet others.
func (p *runPart) addStems(n node, table scan.Source) {
	if of, ok := n.(sourceNode); ok && isTable(n) {
		p.stem[of] = tablesOf(n, true)[0].source == table
		return
	}
	for _, in := range inputsOf(n) {
		p.addStems(in, table)
	}
}

// rowsOf returns the rows of a node in a run: of a part, where the run is one.
func (r *run) rowsOf(n sourceNode) scan.Source {
	switch {
	case r == nil || r.part == nil:
		return n.rows(r)
	case r.part.left[n]:
		return scan.Batches(n.rows(nil).Schema(), nil)
	case r.part.stem[n]:
		return r.part.of(n.rows(r))
	}
	return n.rows(r)
}

// oneAggregation returns the aggregation of a statement that takes no other.
func (q *Query) oneAggregation() (*aggregateNode, error) {
	l := q.last()
	switch {
	case l.project == nil:
		return nil, q.noGroups()
	case l.project.in.sets != nil:
		return nil, errors.New("several grouping sets (ROLLUP, CUBE, GROUPING SETS) take more than one aggregation")
	}
	return l.project.in.of, nil
}

// noGroups says why a statement is no projection of groups.
func (q *Query) noGroups() error {
	for n := node(q.root); n != nil; n = n.input() {
		switch n.(type) {
		case *windowNode, *repeatNode:
			return errors.New(whyMade(q.root))
		}
	}
	return errors.New("the statement makes no groups: it has neither GROUP BY nor an aggregate")
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
