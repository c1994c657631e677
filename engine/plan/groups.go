package plan

import (
	"context"
	"slices"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/recordreader"
	"github.com/mpga/mpga/internal/spawn"
)

// aggregateNode makes groups of rows.
type aggregateNode struct {
	in      sourceNode
	query   query.Query
	made    *arrow.Schema      // of the groups
	coded   bool               // the groups are grouped again: Engine.AggregateCoded makes them
	counted []string           // keys of coded groups whose values nobody looks at
	stats   []scan.ColumnStats // of coded groups
	most    *engine.Most       // the groups that are asked for, where a few are; nil for all
}

func (n *aggregateNode) input() node           { return n.in }
func (n *aggregateNode) schema() *arrow.Schema { return n.made }

// start starts the aggregation.
func (n *aggregateNode) start(ctx context.Context, r *run) (result *engine.Result, err error) {
	switch src := n.in.rows(r); {
	case n.most != nil:
		result, err = r.engine.AggregateMost(ctx, src, n.query, *n.most)
	case n.coded:
		result, err = r.engine.AggregateCoded(ctx, src, n.query, n.counted)
	default:
		result, err = r.engine.Aggregate(ctx, src, n.query)
	}
	if err != nil {
		return nil, err
	}
	r.of(n).aggregation.Store(result)
	return result, nil
}

// read implements readerNode.
func (n *aggregateNode) read(ctx context.Context, r *run) (array.RecordReader, error) {
	result, err := n.start(ctx, r)
	if err != nil {
		return nil, err
	}
	if finest := r.of(n).finest; finest != nil {
		return tee(ctx, result, finest), nil
	}
	return result, nil
}

// groupsNode has the groups of a statement: of its last aggregation, and of the one before it where
// these are the groups of a grouping set.
type groupsNode struct {
	of       *aggregateNode
	first    *aggregateNode // whose groups of merges; nil where of reads rows
	sets     [][]bool       // for each grouping set and key: the set has the key; nil for a single set
	answered int            // index of the grouping set whose groups first makes, or -1
	made     *arrow.Schema  // as of's, but NULL may stand where a set without keys has a group of no rows
}

func (n *groupsNode) input() node           { return n.of }
func (n *groupsNode) schema() *arrow.Schema { return n.made }

// groupReader reads the groups of a groupsNode: first the groups that are merged further and
// are an answer already, as they come by, then the groups of the last aggregation.
type groupReader struct {
	recordreader.Base
	ctx     context.Context
	cancel  context.CancelFunc
	node    *groupsNode
	run     *run
	current *engine.Result           // of the last aggregation; nil once it has ended
	finest  <-chan arrow.RecordBatch // groups of the set answered; nil when there are no more
	ahead   chan nextBatch           // of current, whose Next is called while finest is read; else nil
	read    int64                    // groups returned
	passed  int64                    // groups of finest
	ended   bool                     // all groups of current have been returned
	last    engine.Stats             // of the last aggregation, once current has ended
	stats   engine.Stats             // of the query then
}

func newGroupReader(ctx context.Context, n *groupsNode, r *run) (*groupReader, error) {
	g := &groupReader{node: n, run: r}
	g.Init(n.made, g.next, g.close)
	g.ctx, g.cancel = context.WithCancel(ctx)
	if n.answered >= 0 {
		finest := make(chan arrow.RecordBatch)
		r.of(n.first).finest, g.finest = finest, finest
	}
	var err error
	if g.current, err = n.of.start(g.ctx, r); err != nil {
		g.cancel()
		return nil, err
	}
	if g.finest != nil {
		g.lookAhead()
	}
	r.of(n).groups = g
	return g, nil
}

// nextBatch is what a call of recordreader.Next has returned, or its panic as an error.
type nextBatch struct {
	batch arrow.RecordBatch // the reader's; nil at the end
	err   error             // the batch does not count where it is set
}

// lookAhead calls Next of the last aggregation, which returns when all input has been read, or
// after an error.
func (r *groupReader) lookAhead() {
	current, ahead := r.current, make(chan nextBatch, 1)
	r.ahead = ahead
	var next nextBatch
	spawn.Go(func() (err error) {
		next.batch, err = recordreader.Next(current)
		return err
	}, func(err error) {
		next.err = err
		ahead <- next
	})
}

// close stops the aggregation.
func (r *groupReader) close() {
	r.cancel()
	if r.current != nil {
		if r.ahead != nil {
			<-r.ahead
		}
		r.endCurrent()
	}
}

// groupsExpected returns about how many groups the last aggregation has, or 0 where that is not
// known.
func (r *groupReader) groupsExpected() int64 {
	if r.current == nil {
		return 0
	}
	return r.current.RowsExpected()
}

// endCurrent ends the last aggregation.
func (r *groupReader) endCurrent() {
	r.current.Release()
	r.last = r.current.Stats()
	r.stats = r.last
	r.current = nil
	r.stats.Groups += r.passed
	if n := int64(len(r.node.sets)); n > 0 {
		r.stats.RowsRead /= n
	}
	if first := r.run.of(r.node.first).aggregation.Load(); first != nil { // which has read the input
		s := first.Stats()
		r.stats.RowsRead, r.stats.BytesRead, r.stats.Splits, r.stats.Filter = s.RowsRead, s.BytesRead, s.Splits, s.Filter
		if r.stats.Groups > 0 {
			r.stats.Reduction = float64(s.RowsRead) / float64(r.stats.Groups)
		}
		noteReading(&r.stats, s)
	}
}

func (r *groupReader) next() (arrow.RecordBatch, error) {
	if r.current == nil {
		return nil, nil
	}
	batch, err := r.groups()
	if batch != nil {
		r.read += batch.NumRows()
		return batch, nil
	}
	r.ended = err == nil
	r.endCurrent()
	if err == nil && r.read == 0 {
		return r.node.groupsOfNothing(r.ctx, r.run)
	}
	return nil, err
}

// groups returns the next batch of finest or of the last aggregation.
func (r *groupReader) groups() (arrow.RecordBatch, error) {
	for r.finest != nil {
		select {
		case next := <-r.ahead: // after an error
			return r.take(next)
		case groups, more := <-r.finest:
			if more {
				defer groups.Release()
				r.passed += groups.NumRows()
				return r.node.answer(groups), nil
			}
			r.finest = nil
		}
	}
	if r.ahead != nil {
		return r.take(<-r.ahead)
	}
	batch, err := recordreader.Next(r.current)
	return r.take(nextBatch{batch, err})
}

// take takes a batch of the last aggregation.
func (r *groupReader) take(next nextBatch) (arrow.RecordBatch, error) {
	r.ahead, r.finest = nil, nil
	if next.batch == nil || next.err != nil {
		return nil, next.err
	}
	next.batch.Retain()
	return next.batch, nil
}

// answer turns groups of the first aggregation into rows of the grouping set that they answer.
func (n *groupsNode) answer(groups arrow.RecordBatch) arrow.RecordBatch {
	keys := len(n.of.query.Keys) - 1 // the last is the number of the set
	number := int32s(slices.Repeat([]int32{int32(n.answered)}, int(groups.NumRows())))
	defer number.Release()
	columns := slices.Concat(groups.Columns()[:keys], []arrow.Array{number}, groups.Columns()[keys:])
	return newBatch(n.made, columns, groups.NumRows())
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
	result, err := r.engine.Aggregate(ctx, scan.Batches(n.of.in.rows(nil).Schema(), nil), grouped)
	if err != nil {
		return nil, err
	}
	defer result.Release()
	group, err := recordreader.Next(result)
	if group == nil {
		return nil, err
	}
	var columns []arrow.Array
	defer func() { releaseAll(columns) }()
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
	return newBatch(n.made, columns, int64(len(sets))), nil
}

// tee takes over a reader and returns it; another reader gets its batches by a channel too, which
// is closed at the end.
func tee(ctx context.Context, from array.RecordReader, to chan<- arrow.RecordBatch) array.RecordReader {
	end := sync.OnceFunc(func() { close(to) })
	return recordreader.New(from.Schema(), func() (arrow.RecordBatch, error) {
		batch, err := recordreader.Next(from)
		if batch == nil {
			end()
			return nil, err
		}
		batch.Retain()
		batch.Retain() // the other reader's
		select {
		case to <- batch:
		case <-ctx.Done():
			batch.Release()
		}
		return batch, nil
	}, func() {
		end()
		from.Release()
	})
}
