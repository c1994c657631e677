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

// Grouping is an aggregation of a statement, over the rows of a part. It must be closed.
type Grouping struct {
	Source scan.Source
	Query  query.Query
	Groups int64 // about as many there are of all parts, by the statistics of tables

	run *run
}

// Parts are the groups of a statement that are made in parts, and what is made of all of them at once:
//
//	source -> groups -> part of the groups: Finish -> rows of all parts: InOrder -> result
//
// Of a statement without groups they are rows.
type Parts struct {
	q       *Query
	project *projectNode // of groups; nil of rows
	made    readerNode   // whose rows are made in parts: project, or another node
}

// PartsOf returns the parts of a statement whose groups are made of a table, as Division.Parts are where that is the
// table of a Stem.
func (q *Query) PartsOf(table scan.Source) (*Parts, error) {
	candidates, err := q.candidates()
	if err != nil {
		return nil, err
	}
	for _, c := range slices.Backward(candidates) { // the innermost
		has := func(t *tableNode) bool { return t.source == table }
		if slices.ContainsFunc(tablesOf(c, false), has) {
			return &Parts{q, c, c}, nil
		}
	}
	return nil, errors.New("no groups are made of the table that is divided")
}

// Grouping returns the aggregation of a part. The end of the context ends its waiting for memory.
func (p *Parts) Grouping(ctx context.Context, of Part) *Grouping {
	r := newRun(p.q.engine.Statement(ctx))
	if of.Table != nil {
		r.part = newRunPart(p.project.in.of.in, of)
	}
	return p.grouping(r)
}

// grouping returns the aggregation of a run's rows.
func (p *Parts) grouping(r *run) *Grouping {
	groups := p.project.in.of
	return &Grouping{r.rowsOf(groups.in), groups.query, groups.expected, r}
}

// Partial writes the states of the groups, as engine.Engine's Partial does.
func (g *Grouping) Partial(ctx context.Context, opt partial.Options) (engine.Stats, error) {
	stats, err := g.run.statement.Partial(ctx, g.Source, g.Query, opt)
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
	if of, ok := n.(sourceNode); ok && isTable(n) && !isMultiplied(n) {
		p.stem[of] = tablesOf(n, true)[0].source == table
		return
	}
	for _, in := range inputsOf(n) {
		p.addStems(in, table)
	}
}

// isMultiplied says whether the rows of a table have become others, with positions of their own.
func isMultiplied(n node) bool {
	for ; n != nil; n = n.input() {
		switch n.(type) {
		case *unnestNode, *expandNode:
			return true
		}
	}
	return false
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

// last returns the order behind the groups, or rows, where they are followed by that alone, and by a choice of columns.
// isAll is false of other statements.
func (p *Parts) last() (l last, isAll bool) {
	if p.made == p.q.root {
		return last{of: p.made}, true
	}
	l = p.q.last()
	return l, l.of == p.made
}

// Finish returns the rows that the statement makes of some of its groups: HAVING, and the columns of the
// result, and hidden columns behind them that the order of the result needs. Of a statement with a limit
// there are no more rows than the result may have. It takes over the groups, which have the
// columns of Grouping's result.
func (p *Parts) Finish(ctx context.Context, groups array.RecordReader) (array.RecordReader, error) {
	made := p.project.in.made
	return p.first(ctx, projected(ctx, named(groups, made), newProjector(p.project.post, p.q.engine.Allocator())))
}

// HasSets says whether the groups are of several grouping sets.
func (p *Parts) HasSets() bool { return p.project.in.sets != nil }

// HasGroupsAbove says whether the statement makes groups of the groups.
func (p *Parts) HasGroupsAbove() bool {
	for n := node(p.q.root); n != nil && n != node(p.made); n = n.input() {
		if _, ok := n.(*aggregateNode); ok {
			return true
		}
	}
	return false
}

// WithNothing takes over the groups of all parts, and returns them, and the groups that grouping sets without keys have
// where there are no rows.
func (p *Parts) WithNothing(ctx context.Context, groups array.RecordReader) array.RecordReader {
	if !p.HasSets() {
		return groups
	}
	hasAny := false
	return recordreader.New(p.Groups(), func() (arrow.RecordBatch, error) {
		batch, err := recordreader.Next(groups)
		if batch != nil {
			hasAny = true
			return recordreader.Batch(p.Groups(), batch.Columns(), batch.NumRows()), nil
		}
		if err != nil || hasAny {
			return nil, err
		}
		hasAny = true
		r := newRun(p.q.engine.Statement(ctx))
		defer r.releaseTests()
		return p.project.in.groupsOfNothing(ctx, r)
	}, groups.Release)
}

// first takes over rows of a part, and returns as many as the result may have.
func (p *Parts) first(ctx context.Context, rows array.RecordReader) (array.RecordReader, error) {
	l, isAll := p.last()
	by := l.by()
	if !isAll || !by.Limited {
		return rows, nil
	}
	by.Limit, by.Offset = by.Wanted(), 0
	sorted, err := p.q.engine.Statement(ctx).Sort(ctx, rows, by)
	rows.Release()
	return sorted, err
}

// named takes over rows, and returns them as rows of a schema that differs from theirs in names and NULLs alone.
func named(rows array.RecordReader, schema *arrow.Schema) array.RecordReader {
	return recordreader.New(schema, func() (arrow.RecordBatch, error) {
		batch, err := recordreader.Next(rows)
		if batch == nil {
			return nil, err
		}
		return recordreader.Batch(schema, batch.Columns(), batch.NumRows()), nil
	}, rows.Release)
}

// Ordered says whether the rows of Finish are no result before InOrder has seen all of them.
func (p *Parts) Ordered() bool {
	l, isAll := p.last()
	return !isAll || l.sort != nil
}

// Groups returns the columns of the groups that Finish takes: the keys, then the aggregates.
func (p *Parts) Groups() *arrow.Schema { return p.project.in.made }

// KeyNames returns the names of the keys of the groups: of the first column of the result that a key is, or else the
// key as text.
func (p *Parts) KeyNames() []string {
	names := make([]string, len(p.project.in.of.query.Keys))
	for i := range names {
		names[i] = p.Groups().Field(i).Name
	}
	for i, from := range slices.Backward(p.project.post.from) {
		if from >= 0 && from < len(names) {
			names[from] = p.project.post.schema.Field(i).Name
		}
	}
	return names
}

// Finished returns the columns of the rows of Finish.
func (p *Parts) Finished() *arrow.Schema { return p.made.schema() }

// InOrder returns the result of the rows that Finish has made of all groups, which it takes over: their order, or
// whatever else the statement makes of its groups.
func (p *Parts) InOrder(ctx context.Context, rows array.RecordReader) (array.RecordReader, error) {
	r := newRun(p.q.engine.Statement(ctx))
	r.given, r.givenRows = p.made, named(rows, p.made.schema())
	result, err := p.q.root.read(ctx, r)
	end := func() {
		r.releaseTests()
		if r.givenRows != nil { // nobody has asked for them
			r.givenRows.Release()
		}
	}
	if err != nil {
		end()
		return nil, err
	}
	next := func() (arrow.RecordBatch, error) { return recordreader.Owned(result) }
	return recordreader.New(result.Schema(), next, func() {
		result.Release()
		end()
	}), nil
}

// takeGiven returns the rows that have been made in parts, once.
func (r *run) takeGiven() (array.RecordReader, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	rows := r.givenRows
	if r.givenRows = nil; rows == nil {
		return nil, errors.New("groups that were made in parts are read twice")
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
