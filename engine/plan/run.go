package plan

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/invariants"
	"github.com/mpga/mpga/internal/order"
	"github.com/mpga/mpga/internal/recordreader"
	"github.com/mpga/mpga/internal/spawn"
)

// Result streams the result of a statement. It is an array.RecordReader: one goroutine at a time
// uses it, and releases it in the end.
type Result struct {
	array.RecordReader
	query  *Query         // whose result it is
	groups *groupReader   // nil for a statement without groups
	reads  []*engine.Rows // of a statement without groups: what has been begun, in order
	sort   *order.Reader  // of the rows, where all of them are ordered or limited; nil of others
	text   string         // of the statement; "" where the statement was made without a text
	err    error          // of a panic in Next
	ended  bool           // Next has returned false
}

// Next makes the next batch current. It returns false at the end and after an error.
func (r *Result) Next() (more bool) {
	if r.err != nil {
		return false
	}
	r.err = spawn.Call(func() error {
		spawn.Step()
		more = r.RecordReader.Next()
		return nil
	})
	more = more && r.err == nil
	r.ended = !more
	return more
}

// Err returns what ended the query early. It is nil until Next has returned false.
func (r *Result) Err() error { return spawn.InQuery(cmp.Or(r.err, r.RecordReader.Err()), r.text) }

// Stats tells what the last aggregation did, or, of a statement without groups, how the rows were
// read; a limit may have ended either early. The bytes count all readings; route, devices and pages are
// of the step that reads the input. Stats are zero until Next has returned false.
func (r *Result) Stats() engine.Stats {
	var stats engine.Stats
	switch {
	case r.groups != nil && !r.ended:
		return stats
	case r.groups != nil:
		stats = r.groups.stats
	default:
		stats = r.reads[0].Stats()
		for _, later := range r.reads[1:] {
			stats.BytesRead += later.Stats().BytesRead
		}
	}
	for _, inner := range r.query.subqueries {
		if inner.ran != nil {
			noteReading(&stats, inner.ran.Stats())
		}
	}
	return stats
}

// lastStats is what the last aggregation did; nil of a nil Result and where it has not ended.
func (r *Result) lastStats() *engine.Stats {
	if r == nil || r.groups == nil || r.groups.current != nil {
		return nil
	}
	return &r.groups.last
}

// firstStats is what the aggregation did whose groups the last one merges; nil where it did not run.
func (r *Result) firstStats() *engine.Stats {
	if r == nil || r.query.first == nil {
		return nil
	}
	s := r.query.first.Stats()
	return &s
}

// sortStats is what the order of the result did.
func (r *Result) sortStats() (s order.Stats) {
	if r != nil && r.sort != nil {
		s = r.sort.Stats()
	}
	return s
}

// noteReading copies route, device and page counts of the step that read a statement's input.
func noteReading(of *engine.Stats, by engine.Stats) {
	if by.Route != "" { // else it has not ended
		of.Route, of.Device, of.Pages = by.Route, by.Device, by.Pages
		of.RowsRejected += by.RowsRejected
	}
}

// Run starts the query and returns its result. Errors that appear after the start come from
// Result.Err.
func (q *Query) Run(ctx context.Context) (*Result, error) {
	return guarded(q.text.Text, func() (*Result, error) { return q.run(ctx) })
}

func (q *Query) run(ctx context.Context) (*Result, error) {
	if p := q.parameters; p != nil && p.values == nil && len(p.types) > 0 {
		return nil, fmt.Errorf("%w: the statement has %d parameters, and no values are given", query.ErrQuery, len(p.types))
	}
	if q.where != nil {
		q.where.mem = q.engine.Allocator()
	}
	if q.top != nil {
		q.top.test.mem = q.engine.Allocator()
	}
	result := &Result{query: q, text: q.text.Text}
	out, err := q.rowsOf(ctx, result)
	if err != nil {
		return nil, located(q.text, err)
	}
	if q.top == nil && (len(q.by.Keys) > 0 || q.by.Limited || q.by.Offset > 0) {
		sorted, err := q.engine.Sort(ctx, out, q.by)
		out.Release()
		if err != nil {
			return nil, err
		}
		sorted.Expect(result.partRead)
		result.sort, out = sorted, sorted
	}
	if q.hidden > 0 {
		out = firstColumns(out, q.schema)
	}
	result.RecordReader = out
	return result, nil
}

// partRead returns which part of all rows those are that have been read to be ordered, from 0 to 1, or -1 where that is
// not known.
func (r *Result) partRead(rows int64) float64 {
	switch {
	case r.groups == nil:
		return r.reads[0].Part(rows)
	case r.groups.groupsExpected() > 0:
		return min(float64(r.groups.rows)/float64(r.groups.groupsExpected()), 1)
	}
	return -1
}

// rowsOf starts to read the rows of the result, before they are ordered and limited.
func (q *Query) rowsOf(ctx context.Context, result *Result) (array.RecordReader, error) {
	if q.grouped {
		groups, err := newGroupReader(ctx, q)
		if err != nil {
			return nil, err
		}
		result.groups = groups
		return q.projectGroups(ctx, groups), nil
	}
	if q.top != nil {
		return q.top.run(ctx, result)
	}
	opt := rowsOptions(q.post, q.engine)
	opt.InOrder = len(q.by.Keys) == 0 && (q.by.Limited || q.by.Offset > 0) // the first rows are the first of the input
	rows, err := q.engine.Rows(ctx, q.source, opt)
	if err != nil {
		return nil, err
	}
	result.reads = append(result.reads, rows)
	return rows, nil
}

// manyGroups is how many groups are worth more threads than the caller's: beginning with them takes
// some 50 us, and HAVING alone 10 ns a group.
const manyGroups = 1 << 18

// projectGroups takes over a reader of groups, and returns what HAVING leaves of them and the
// statement makes of these: by all threads of the engine where there are many groups, which are
// known once the first are there.
func (q *Query) projectGroups(ctx context.Context, groups *groupReader) array.RecordReader {
	of := newProjector(q.post, q.engine.Allocator())
	one := projected(ctx, groups, of)
	if _, few := q.largestCounts(); few || q.engine.Threads() == 1 || groups.finest != nil || !q.post.computes() {
		return one
	}
	var from array.RecordReader // one, or all threads' reader; nil before the first batch
	return recordreader.New(q.post.schema, func() (arrow.RecordBatch, error) {
		if from == nil {
			first, err := recordreader.Next(groups)
			switch {
			case first == nil:
				return nil, err
			case groups.groupsExpected() >= manyGroups:
				from, err = q.projectByAll(ctx, groups)
			default:
				from, err = one, of.Begin(ctx, first)
			}
			if err != nil {
				return nil, err
			}
		}
		return owned(from)
	}, func() {
		if from != nil && from != one {
			from.Release()
		}
		one.Release()
	})
}

// projectByAll is projected by all threads of the engine. The current batch of the reader is part of
// what is projected.
func (q *Query) projectByAll(ctx context.Context, groups *groupReader) (array.RecordReader, error) {
	invariants.Sometimes("plan: all threads make rows of groups")
	first := groups.RecordBatch()
	first.Retain()
	rest := recordreader.New(q.rows, func() (arrow.RecordBatch, error) {
		if batch := first; batch != nil {
			first = nil
			return batch, nil
		}
		return owned(groups)
	}, func() {
		if first != nil {
			first.Release()
		}
	})
	run := func(ctx context.Context) (array.RecordReader, error) {
		context.AfterFunc(ctx, groups.cancel) // nobody waits for groups that nobody makes rows of
		rest.Retain()
		return rest, nil
	}
	src := &streamed{schema: q.rows, readers: q.engine.Threads(), run: run}
	rows, err := q.engine.Rows(ctx, src, rowsOptions(q.post, q.engine))
	if err != nil {
		rest.Release()
		return nil, err
	}
	return recordreader.New(q.post.schema, func() (arrow.RecordBatch, error) { return owned(rows) }, func() {
		groups.cancel()
		rows.Release()
		rest.Release()
	}), nil
}

// owned returns the next batch of a reader, which is the caller's, or nil at the end.
func owned(from array.RecordReader) (arrow.RecordBatch, error) {
	batch, err := recordreader.Next(from)
	if batch != nil {
		batch.Retain()
	}
	return batch, err
}

// firstColumns takes over a reader and returns it without its last columns.
func firstColumns(from array.RecordReader, schema *arrow.Schema) array.RecordReader {
	return recordreader.New(schema, func() (arrow.RecordBatch, error) {
		in, err := recordreader.Next(from)
		if in == nil {
			return nil, err
		}
		return newBatch(schema, in.Columns()[:schema.NumFields()], in.NumRows()), nil
	}, from.Release)
}

// groupReader reads the groups, as rows of Query.rows: first the groups that are merged further and
// are an answer already, as they come by, then the groups of the last aggregation.
type groupReader struct {
	recordreader.Base
	ctx     context.Context
	cancel  context.CancelFunc
	query   *Query
	current *engine.Result           // of the last aggregation; nil once it has ended
	finest  <-chan arrow.RecordBatch // Query.finest; nil when there are no more
	ahead   chan nextBatch           // of current, whose Next is called while finest is read; else nil
	rows    int64                    // returned
	passed  int64                    // rows of finest
	ended   bool                     // all groups of current have been returned
	last    engine.Stats             // of the last aggregation, once current has ended
	stats   engine.Stats             // of the query then
}

func newGroupReader(ctx context.Context, q *Query) (*groupReader, error) {
	r := &groupReader{query: q}
	r.Init(q.rows, r.next, r.close)
	r.ctx, r.cancel = context.WithCancel(ctx)
	q.finest = nil
	if q.answered >= 0 {
		q.finest = make(chan arrow.RecordBatch)
		r.finest = q.finest
	}
	var err error
	if r.current, err = q.lastGroups(r.ctx); err != nil {
		r.cancel()
		return nil, err
	}
	if r.finest != nil {
		r.lookAhead()
	}
	return r, nil
}

// lastGroups starts the last aggregation. Where the result is the groups with the largest counts,
// the engine may leave out the others.
func (q *Query) lastGroups(ctx context.Context) (*engine.Result, error) {
	if most, ok := q.largestCounts(); ok {
		return q.engine.AggregateMost(ctx, q.source, q.query, most)
	}
	return q.engine.Aggregate(ctx, q.source, q.query)
}

// mostGroups bounds the groups that the engine chooses by their counts.
const mostGroups = 256

// largestCounts returns which groups the result is made of, where these are the groups that have the largest
// values of an aggregate, which is a count.
func (q *Query) largestCounts() (of engine.Most, ok bool) {
	by := &q.by
	if !q.grouped || !q.rules.allows(LargestCounts) || len(by.Keys) == 0 || !by.Limited || by.Limit+by.Offset < 1 || max(by.Limit, by.Offset) > mostGroups ||
		q.post.having != nil || len(q.sets) > 0 || !by.Keys[0].Descending {
		return engine.Most{}, false
	}
	count := q.post.from[by.Keys[0].Column] - len(q.query.Keys)
	if count < 0 {
		return engine.Most{}, false
	}
	f := q.query.Aggregates[count].Func
	of = engine.Most{N: int(by.Limit + by.Offset), Count: count, Ties: len(by.Keys) > 1}
	return of, f == query.CountStar || f == query.Count
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
	if n := int64(len(r.query.sets)); n > 0 {
		r.stats.RowsRead /= n
	}
	if first := r.query.first; first != nil { // which has read the input
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
		r.rows += batch.NumRows()
		return batch, nil
	}
	r.ended = err == nil
	r.endCurrent()
	if err == nil && r.rows == 0 {
		return r.query.groupsOfNothing(r.ctx)
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
				return r.query.answer(groups), nil
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
func (q *Query) answer(groups arrow.RecordBatch) arrow.RecordBatch {
	keys := len(q.query.Keys) - 1 // the last is the number of the set
	number := int32s(slices.Repeat([]int32{int32(q.answered)}, int(groups.NumRows())))
	defer number.Release()
	columns := slices.Concat(groups.Columns()[:keys], []arrow.Array{number}, groups.Columns()[keys:])
	return newBatch(q.rows, columns, groups.NumRows())
}

// groupsOfNothing returns the groups of a query that has read no row: one group for each grouping
// set without keys.
func (q *Query) groupsOfNothing(ctx context.Context) (arrow.RecordBatch, error) {
	var sets []int32
	for i, present := range q.sets {
		if !slices.Contains(present, true) {
			sets = append(sets, int32(i))
		}
	}
	if len(sets) == 0 {
		return nil, nil
	}
	grouped := q.query
	grouped.Keys = nil
	if len(grouped.Aggregates) == 0 {
		grouped.Aggregates = []query.Aggregate{{Func: query.CountStar, Name: "count(*)"}}
	}
	result, err := q.engine.Aggregate(ctx, scan.Batches(q.source.Schema(), nil), grouped)
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
	for _, f := range q.rows.Fields()[:len(q.query.Keys)-1] { // the last is the number of the set
		columns = append(columns, nulls(f.Type, len(sets)))
	}
	columns = append(columns, int32s(sets))
	for i := range q.query.Aggregates {
		column, err := array.Concatenate(slices.Repeat(group.Columns()[i:i+1], len(sets)), memory.DefaultAllocator)
		if err != nil {
			return nil, err
		}
		columns = append(columns, column)
	}
	return newBatch(q.rows, columns, int64(len(sets))), nil
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
