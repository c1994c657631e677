package plan

import (
	"cmp"
	"context"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/spawn"
)

// Result streams the result of a statement. It is an array.RecordReader, to be used as an engine.Result is:
// by one goroutine at a time, and released in the end.
type Result struct {
	array.RecordReader
	groups *groupReader // nil of a statement without groups
	text   string       // of the statement; "" where it has none
	err    error        // of a panic in Next
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
	return more && r.err == nil
}

// Err returns what ended the query early. It is nil until Next has returned false.
func (r *Result) Err() error { return spawn.InQuery(cmp.Or(r.err, r.RecordReader.Err()), r.text) }

// Stats tells what the last aggregation did, which a limit may have ended early. It is zero until Next has returned
// false, and of a statement without groups.
func (r *Result) Stats() engine.Stats {
	if r.groups == nil {
		return engine.Stats{}
	}
	return r.groups.stats
}

// Run starts the query and returns its result. Errors that appear after the start come from Result.Err.
func (q *Query) Run(ctx context.Context) (result *Result, err error) {
	err = spawn.Call(func() (err error) {
		result, err = q.run(ctx)
		return err
	})
	return result, spawn.InQuery(err, q.text.Text)
}

func (q *Query) run(ctx context.Context) (*Result, error) {
	if q.where != nil {
		q.where.mem = q.engine.Allocator()
	}
	result := &Result{text: q.text.Text}
	out, err := q.rowsOf(ctx, result)
	if err != nil {
		return nil, located(q.text, err)
	}
	if len(q.by.Keys) > 0 || q.by.Limited || q.by.Offset > 0 {
		sorted, err := q.engine.Sort(ctx, out, q.by)
		out.Release()
		if err != nil {
			return nil, err
		}
		out = sorted
	}
	if q.hidden > 0 {
		out = newFirstColumns(out, q.schema)
	}
	result.RecordReader = out
	return result, nil
}

// rowsOf starts to read the rows, which are ordered and limited afterwards.
func (q *Query) rowsOf(ctx context.Context, result *Result) (array.RecordReader, error) {
	if q.grouped {
		groups, err := newGroupReader(ctx, q)
		if err != nil {
			return nil, err
		}
		result.groups = groups
		return newProjectedReader(ctx, groups, newProjector(q.post, q.engine.Allocator())), nil
	}
	opt := rowsOptions(q.post, q.engine)
	opt.InOrder = len(q.by.Keys) == 0 && (q.by.Limited || q.by.Offset > 0) // the first rows are the first of the input
	return q.engine.Rows(ctx, q.source, opt)
}

// firstColumns is a reader without its last columns.
type firstColumns struct{ batches }

// newFirstColumns takes over the reader.
func newFirstColumns(from array.RecordReader, schema *arrow.Schema) *firstColumns {
	return &firstColumns{batches{schema: schema, from: from}}
}

func (r *firstColumns) Next() bool {
	r.drop()
	if !r.from.Next() {
		return false
	}
	in := r.from.RecordBatch()
	r.batch = newBatch(r.schema, in.Columns()[:r.schema.NumFields()], in.NumRows())
	return true
}

// groupReader reads the groups, as rows of Query.rows: first those that go on to be merged and are an answer
// already, as they come by, then the groups of the last aggregation.
type groupReader struct {
	batches
	ctx     context.Context
	cancel  context.CancelFunc
	query   *Query
	current *engine.Result
	finest  <-chan arrow.RecordBatch // nil when there are no more
	ahead   chan nextBatch           // what current.Next has returned, called while finest is read; else nil
	rows    int64
	passed  int64 // rows of finest
	stats   engine.Stats
}

func newGroupReader(ctx context.Context, q *Query) (*groupReader, error) {
	r := &groupReader{batches: batches{schema: q.rows}, query: q}
	r.closed = r.close
	r.ctx, r.cancel = context.WithCancel(ctx)
	q.finest = nil
	if q.answered >= 0 {
		q.finest = make(chan arrow.RecordBatch)
		r.finest = q.finest
	}
	var err error
	if r.current, err = q.engine.Aggregate(r.ctx, q.source, q.query); err != nil {
		r.cancel()
		return nil, err
	}
	if r.finest != nil {
		r.ahead = make(chan nextBatch, 1)
		r.lookAhead(r.current, r.ahead)
	}
	return r, nil
}

// nextBatch is what a call of Next has ended with.
type nextBatch struct {
	more bool
	err  error // of a call that panicked
}

// lookAhead calls Next of the last aggregation, which returns when all input has been read, or after an error.
func (r *groupReader) lookAhead(current *engine.Result, ahead chan<- nextBatch) {
	var more bool
	spawn.Go(func() error {
		more = current.Next()
		return nil
	}, func(err error) { ahead <- nextBatch{more, err} })
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

// endCurrent ends the last aggregation.
func (r *groupReader) endCurrent() {
	r.current.Release()
	r.stats = r.current.Stats()
	r.current = nil
	r.stats.Groups += r.passed
	if n := int64(len(r.query.sets)); n > 0 {
		r.stats.RowsRead /= n
	}
	if first := r.query.first; first != nil { // which has read the input
		s := first.Stats()
		r.stats.RowsRead, r.stats.BytesRead, r.stats.Splits, r.stats.Filter = s.RowsRead, s.BytesRead, s.Splits, s.Filter
	}
}

// next makes the next batch of the last aggregation current.
func (r *groupReader) next() bool {
	if r.ahead == nil {
		return r.current.Next()
	}
	for r.finest != nil {
		select {
		case next := <-r.ahead: // after an error
			r.ahead, r.finest = nil, nil
			return r.came(next)
		case batch, more := <-r.finest:
			if more {
				r.batch = r.query.answer(batch)
				r.passed += batch.NumRows()
				batch.Release()
				return true
			}
			r.finest = nil
		}
	}
	next := <-r.ahead
	r.ahead = nil
	return r.came(next)
}

// came takes what was looked ahead for.
func (r *groupReader) came(next nextBatch) (more bool) {
	r.err = next.err
	return next.more && next.err == nil
}

// answer makes groups of the first aggregation rows of the set that they answer.
func (q *Query) answer(groups arrow.RecordBatch) arrow.RecordBatch {
	keys := len(q.query.Keys) - 1 // the last is the number of the set
	number := repeated(int32(q.answered), int(groups.NumRows()))
	defer number.Release()
	columns := slices.Concat(groups.Columns()[:keys], []arrow.Array{number}, groups.Columns()[keys:])
	return newBatch(q.rows, columns, groups.NumRows())
}

func (r *groupReader) Next() bool {
	r.drop()
	if r.current == nil {
		return false
	}
	if r.next() {
		if r.batch == nil {
			r.batch = r.current.RecordBatch()
			r.batch.Retain()
		}
		r.rows += r.batch.NumRows()
		return true
	}
	r.err = cmp.Or(r.err, r.current.Err())
	r.endCurrent()
	if r.err == nil && r.rows == 0 {
		r.batch, r.err = r.query.groupsOfNothing(r.ctx)
	}
	return r.batch != nil
}

// groupsOfNothing returns the groups that there are without rows: one for each grouping set without keys.
func (q *Query) groupsOfNothing(ctx context.Context) (arrow.RecordBatch, error) {
	var sets []int
	for i, present := range q.sets {
		if !slices.Contains(present, true) {
			sets = append(sets, i)
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
	if !result.Next() {
		return nil, result.Err()
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, q.rows)
	defer b.Release()
	keys := len(q.query.Keys)
	number := q.rows.NumFields() - len(q.query.Aggregates) - 1 // of the set
	columns := make([]arrow.Array, q.rows.NumFields())
	for _, set := range sets {
		b.Field(number).(*array.Int32Builder).Append(int32(set))
	}
	for i := range columns {
		switch {
		case i == number:
			columns[i] = b.Field(i).NewArray()
		case i < keys:
			columns[i] = nulls(q.rows.Field(i).Type, len(sets))
		default:
			list := make([]arrow.Array, len(sets))
			for j := range list {
				list[j] = result.RecordBatch().Column(i - keys)
			}
			if columns[i], err = array.Concatenate(list, memory.DefaultAllocator); err != nil {
				return nil, err
			}
		}
		defer columns[i].Release()
	}
	return newBatch(q.rows, columns, int64(len(sets))), nil
}

// tee reads the result of an aggregation, and sends its batches to another reader too.
type tee struct {
	batches
	ctx context.Context
	to  chan<- arrow.RecordBatch // nil when it is closed
}

// newTee takes over the reader. It closes the channel.
func newTee(ctx context.Context, from array.RecordReader, to chan<- arrow.RecordBatch) *tee {
	t := &tee{batches: batches{schema: from.Schema(), from: from}, ctx: ctx, to: to}
	t.closed = t.end
	return t
}

func (t *tee) end() {
	if t.to != nil {
		close(t.to)
		t.to = nil
	}
}

func (t *tee) Next() bool {
	t.drop()
	if !t.from.Next() {
		t.end()
		return false
	}
	t.batch = t.from.RecordBatch()
	t.batch.Retain()
	t.batch.Retain() // the other reader's
	select {
	case t.to <- t.batch:
	case <-t.ctx.Done():
		t.batch.Release()
	}
	return true
}
