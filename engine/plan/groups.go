package plan

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/logical"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/recordreader"
)

// aggregateNode makes groups of rows.
type aggregateNode struct {
	in      sourceNode
	query   query.Query
	made    *arrow.Schema      // of the groups
	coded   bool               // the groups are grouped again
	counted []string           // keys of coded groups whose values nobody looks at
	stats   []scan.ColumnStats // of coded groups
	most    *engine.Most       // the groups that are asked for, where a few are; nil for all

	expected int64 // groups, by the statistics of tables
	isDomain bool  // they are the values that a subquery reads of the rows around it
}

func (n *aggregateNode) input() node           { return n.in }
func (n *aggregateNode) schema() *arrow.Schema { return n.made }

// start starts the aggregation, whose groups become rows of a projection; nil leaves them.
func (n *aggregateNode) start(ctx context.Context, r *run, post *projection) (*engine.Result, error) {
	opt := engine.GroupsOptions{Coded: n.coded, Counted: n.counted, Most: n.most}
	if post != nil {
		opt.Schema = post.schema
		opt.NewMap = func() engine.RowMap { return newProjector(post, r.statement.Allocator()) }
	}
	rows := r.rowsOf(n.in)
	var err error
	for _, p := range r.of(n).narrowed {
		if rows, _, err = scan.Narrow(ctx, rows, p); err != nil {
			return nil, err
		}
	}
	result, err := r.statement.Groups(ctx, rows, n.query, opt)
	if err != nil {
		return nil, err
	}
	r.of(n).aggregation.Store(result)
	return result, nil
}

// read implements readerNode.
func (n *aggregateNode) read(ctx context.Context, r *run) (array.RecordReader, error) {
	result, err := n.start(ctx, r, nil)
	if err != nil {
		return nil, err
	}
	return result, nil
}

// merged returns the aggregation whose groups are grouped again; nil where rows are grouped.
func (n *aggregateNode) merged() *aggregateNode {
	for in := node(n.in); ; in = in.input() {
		switch of := in.(type) {
		case *expandNode, *streamNode, *answersNode:
		case *aggregateNode:
			return of
		default:
			return nil
		}
	}
}

// groupsNode has the groups of a statement: of its last aggregation, and of aggregations below it whose
// groups are the groups of a grouping set.
type groupsNode struct {
	of      *aggregateNode
	first   *aggregateNode // which reads the rows whose groups of merges; nil where of reads rows
	part    *groupsNode    // one of the aggregations of the same rows whose groups of takes; else nil
	sets    [][]bool       // for each grouping set and key: the set has the key; nil for a single set
	answers []*answersNode // whose groups are groups of some of the sets
	made    *arrow.Schema  // as of's, but NULL may stand where a set without keys has a group of no rows
}

// answersNode has groups that are merged further and are the groups of a grouping set already.
type answersNode struct {
	in   readerNode
	by   *logical.Aggregate // which merges them further
	post *projection        // makes the columns of a groupsNode
}

func (n *answersNode) input() node           { return n.in }
func (n *answersNode) schema() *arrow.Schema { return n.in.schema() }

// read implements readerNode. A streamNode adds the groups to the answer as they come by.
func (n *answersNode) read(ctx context.Context, r *run) (array.RecordReader, error) {
	return n.in.read(ctx, r)
}

func (n *groupsNode) input() node { return n.of }

// groupReader reads what a projection makes of the groups of a groupsNode: of the groups of its last
// aggregation, and of the groups that are merged further and are an answer already, as they come by.
type groupReader struct {
	recordreader.Base
	ctx     context.Context
	node    *groupsNode
	post    *projection
	run     *run
	current *engine.Result // of the last aggregation; nil once it has ended
	passed  atomic.Int64   // groups that were merged further and are an answer already
	ended   bool           // all groups of current have been returned
	last    engine.Stats   // of the last aggregation, once current has ended
	stats   engine.Stats   // of the query then
}

func newGroupReader(ctx context.Context, n *groupsNode, r *run, post *projection) (array.RecordReader, error) {
	g := &groupReader{ctx: ctx, node: n, post: post, run: r}
	g.Init(post.schema, g.next, g.close)
	r.of(n).groups = g
	ready := make(chan struct{})
	defer close(ready)
	for _, of := range n.answers {
		r.of(of).answered = &answered{of: of, to: g, ready: ready}
	}
	var err error
	if g.current, err = n.of.start(ctx, r, post); err != nil {
		return nil, err
	}
	return g, nil
}

// close stops the aggregation.
func (r *groupReader) close() {
	if r.current != nil {
		r.endCurrent()
	}
}

// part returns which part of the groups are behind a number of rows, from 0 to 1, or -1.
func (r *groupReader) part(rows int64) float64 {
	if r.current == nil {
		return -1
	}
	return r.current.Part(rows)
}

// endCurrent ends the last aggregation.
func (r *groupReader) endCurrent() {
	r.current.Release()
	r.last = r.current.Stats()
	r.stats = r.last
	r.current = nil
	r.stats.Groups += r.passed.Load()
	if x, ok := r.node.of.in.(*expandNode); ok {
		r.stats.RowsRead /= int64(len(x.step.made))
	}
	if first := r.run.of(r.node.first).aggregation.Load(); first != nil { // which has read the input
		r.noteRead(first.Stats())
	} else if part := r.run.of(r.node.part).groups; part != nil && r.node.part != nil {
		r.noteRead(part.stats)
	}
}

// noteRead notes what another aggregation has read, which is the input of the query.
func (r *groupReader) noteRead(s engine.Stats) {
	r.stats.RowsRead, r.stats.Splits, r.stats.Filter = s.RowsRead, s.Splits, s.Filter
	r.stats.BytesRead = max(r.stats.BytesRead, s.BytesRead) // of several parts all bytes
	if r.stats.Groups > 0 {
		r.stats.Reduction = float64(s.RowsRead) / float64(r.stats.Groups)
	}
	noteReading(&r.stats, s)
}

func (r *groupReader) next() (arrow.RecordBatch, error) {
	if r.current == nil {
		return nil, nil
	}
	batch, err := recordreader.Owned(r.current)
	if batch != nil {
		return batch, nil
	}
	r.ended = err == nil
	r.endCurrent()
	if err == nil && r.stats.Groups == 0 {
		return r.ofNothing()
	}
	return nil, err
}

// ofNothing returns what the projection makes of the groups of no rows, or nil.
func (r *groupReader) ofNothing() (arrow.RecordBatch, error) {
	groups, err := r.node.groupsOfNothing(r.ctx, r.run)
	if groups == nil {
		return nil, err
	}
	defer groups.Release()
	of := newProjector(r.post, r.run.statement.Allocator())
	defer of.Release()
	if err := of.Begin(r.ctx, groups); err != nil {
		return nil, err
	}
	return of.Next(r.ctx)
}

// answered takes groups that are merged further, which are an answer already.
type answered struct {
	of     *answersNode
	to     *groupReader
	ready  <-chan struct{} // closed once the last aggregation has begun
	passed atomic.Int64    // groups
}

// add adds what groups are in the answer, as they come by. Any goroutine may call it.
func (a *answered) add(ctx context.Context, groups arrow.RecordBatch) error {
	<-a.ready
	a.passed.Add(groups.NumRows())
	a.to.passed.Add(groups.NumRows())
	made := newProjector(a.of.post, a.to.run.statement.Allocator())
	defer made.Release()
	if err := made.Begin(ctx, groups); err != nil {
		return err
	}
	for {
		rows, err := made.Next(ctx)
		if rows == nil || err != nil {
			return err
		}
		err = a.to.current.Add(ctx, rows)
		rows.Release()
		if err != nil {
			return err
		}
	}
}

// groupsOfNothing returns the groups of a query that has read no row: one group for each grouping
// set without keys.
func (n *groupsNode) groupsOfNothing(ctx context.Context, r *run) (arrow.RecordBatch, error) {
	var sets []int32
	for i, present := range n.sets {
		if !slices.Contains(present, true) {
			sets = append(sets, int32(i))
		}
	}
	if len(sets) == 0 {
		return nil, nil
	}
	grouped := n.of.query
	grouped.Keys = nil
	if len(grouped.Aggregates) == 0 {
		grouped.Aggregates = []query.Aggregate{{Func: query.CountStar, Name: "count(*)"}}
	}
	none := scan.Batches(n.of.in.rows(nil).Schema(), nil)
	result, err := r.statement.Groups(ctx, none, grouped, engine.GroupsOptions{})
	if err != nil {
		return nil, err
	}
	defer result.Release()
	group, err := recordreader.Next(result)
	if group == nil {
		return nil, err
	}
	var columns []arrow.Array
	defer func() { recordreader.ReleaseAll(columns) }()
	for _, f := range n.made.Fields()[:len(n.of.query.Keys)-1] { // the last is the number of the set
		columns = append(columns, nulls(f.Type, len(sets)))
	}
	columns = append(columns, int32s(sets))
	for i := range n.of.query.Aggregates {
		column, err := array.Concatenate(slices.Repeat(group.Columns()[i:i+1], len(sets)), memory.DefaultAllocator)
		if err != nil {
			return nil, err
		}
		columns = append(columns, column)
	}
	return recordreader.Batch(n.made, columns, int64(len(sets))), nil
}
