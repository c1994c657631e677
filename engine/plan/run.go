package plan

import (
	"context"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/scan"
)

// Result streams the result of a statement. It is an array.RecordReader, to be used as an engine.Result is:
// by one goroutine at a time, and released in the end.
type Result struct {
	array.RecordReader
	groups *groupReader // nil of a statement without groups
}

// Stats tells what the aggregation did; of grouping sets, what all of them read, and the rest of the first.
// It is zero until Next has returned false, and of a statement without groups.
func (r *Result) Stats() engine.Stats {
	if r.groups == nil {
		return engine.Stats{}
	}
	return r.groups.stats
}

// Run starts the query and returns its result. Errors that appear after the start come from Result.Err.
func (q *Query) Run(ctx context.Context) (*Result, error) {
	result := &Result{}
	var rows array.RecordReader
	var err error
	post := q.post
	if q.sets != nil {
		result.groups, err = newGroupReader(ctx, q)
		rows = result.groups
	} else {
		inputs := post.inputs()
		post = post.narrowed(inputs)
		rows, err = newSplitReader(ctx, q.source, inputs)
	}
	if err != nil {
		return nil, located(q.text, err)
	}
	var out array.RecordReader = newProjectedReader(ctx, rows, post, memory.DefaultAllocator)
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

// firstColumns is a reader without its last columns.
type firstColumns struct {
	array.RecordReader
	refs   atomic.Int64
	schema *arrow.Schema
	batch  arrow.RecordBatch
}

// newFirstColumns takes over the reader.
func newFirstColumns(from array.RecordReader, schema *arrow.Schema) *firstColumns {
	r := &firstColumns{RecordReader: from, schema: schema}
	r.refs.Store(1)
	return r
}

func (r *firstColumns) Retain() { r.refs.Add(1) }

func (r *firstColumns) Release() {
	if r.refs.Add(-1) == 0 {
		r.drop()
		r.RecordReader.Release()
	}
}

func (r *firstColumns) drop() {
	if r.batch != nil {
		r.batch.Release()
		r.batch = nil
	}
}

func (r *firstColumns) Schema() *arrow.Schema          { return r.schema }
func (r *firstColumns) RecordBatch() arrow.RecordBatch { return r.batch }
func (r *firstColumns) Record() arrow.RecordBatch      { return r.batch }

func (r *firstColumns) Next() bool {
	r.drop()
	if !r.RecordReader.Next() {
		return false
	}
	in := r.RecordReader.RecordBatch()
	r.batch = newBatch(r.schema, in.Columns()[:r.schema.NumFields()], in.NumRows())
	return true
}

// groupReader reads the groups of all grouping sets, one set after the other, as rows of Query.rows.
type groupReader struct {
	refs    atomic.Int64
	ctx     context.Context
	query   *Query
	set     int
	current *engine.Result
	batch   arrow.RecordBatch
	stats   engine.Stats
	err     error
}

func newGroupReader(ctx context.Context, q *Query) (*groupReader, error) {
	r := &groupReader{ctx: ctx, query: q}
	r.refs.Store(1)
	return r, r.begin()
}

// begin starts the aggregation of the current set.
func (r *groupReader) begin() (err error) {
	r.current, err = r.query.engine.Aggregate(r.ctx, r.query.source, r.query.sets[r.set].query)
	return err
}

func (r *groupReader) Retain() { r.refs.Add(1) }

func (r *groupReader) Release() {
	if r.refs.Add(-1) == 0 {
		r.drop()
		if r.current != nil {
			r.current.Release()
		}
	}
}

func (r *groupReader) drop() {
	if r.batch != nil {
		r.batch.Release()
		r.batch = nil
	}
}

func (r *groupReader) Schema() *arrow.Schema          { return r.query.rows }
func (r *groupReader) RecordBatch() arrow.RecordBatch { return r.batch }
func (r *groupReader) Record() arrow.RecordBatch      { return r.batch }
func (r *groupReader) Err() error                     { return r.err }

func (r *groupReader) Next() bool {
	r.drop()
	for r.err == nil && r.current != nil {
		if r.current.Next() {
			r.batch = r.query.widened(r.current.RecordBatch(), &r.query.sets[r.set])
			return true
		}
		r.err = r.current.Err()
		r.count(r.current.Stats())
		r.current.Release()
		r.current = nil
		if r.err != nil || r.set+1 == len(r.query.sets) {
			return false
		}
		r.set++
		r.err = r.begin()
	}
	return false
}

// count adds the statistics of a set.
func (r *groupReader) count(s engine.Stats) {
	if r.set == 0 {
		r.stats = s
		return
	}
	r.stats.RowsRead += s.RowsRead
	r.stats.BytesRead += s.BytesRead
	r.stats.Groups += s.Groups
	r.stats.Elapsed += s.Elapsed
}

// widened gives the groups of a set the columns that all sets have together.
func (q *Query) widened(in arrow.RecordBatch, set *groupingSet) arrow.RecordBatch {
	if len(q.sets) == 1 {
		in.Retain()
		return in
	}
	rows := int(in.NumRows())
	var made, columns []arrow.Array
	next := 0
	for k, present := range set.present {
		if present {
			columns = append(columns, in.Column(next))
			next++
			continue
		}
		null := array.MakeArrayOfNull(memory.DefaultAllocator, q.rows.Field(k).Type, rows)
		made, columns = append(made, null), append(columns, null)
	}
	aggregates := q.rows.NumFields() - 2*len(set.present)
	columns = append(columns, in.Columns()[next:next+aggregates]...)
	for _, present := range set.present {
		bit := constants(rows, present)
		made, columns = append(made, bit), append(columns, bit)
	}
	defer func() {
		for _, arr := range made {
			arr.Release()
		}
	}()
	return newBatch(q.rows, columns, in.NumRows())
}

// constants returns 0 for keys that are present and 1 for others, so many times.
func constants(rows int, present bool) arrow.Array {
	b := array.NewInt64Builder(memory.DefaultAllocator)
	defer b.Release()
	b.Reserve(rows)
	for range rows {
		if present {
			b.UnsafeAppend(0)
		} else {
			b.UnsafeAppend(1)
		}
	}
	return b.NewArray()
}

// splitReader reads the splits of a source one after the other.
type splitReader struct {
	refs   atomic.Int64
	ctx    context.Context
	schema *arrow.Schema
	splits []scan.Split
	from   array.RecordReader
	err    error
}

func newSplitReader(ctx context.Context, src scan.Source, columns []int) (*splitReader, error) {
	splits, err := src.Splits(ctx, columns)
	if err != nil {
		return nil, err
	}
	fields := make([]arrow.Field, len(columns))
	for i, c := range columns {
		fields[i] = src.Schema().Field(c)
	}
	r := &splitReader{ctx: ctx, schema: arrow.NewSchema(fields, nil), splits: splits}
	r.refs.Store(1)
	return r, nil
}

func (r *splitReader) Retain() { r.refs.Add(1) }

func (r *splitReader) Release() {
	if r.refs.Add(-1) == 0 {
		r.close()
	}
}

func (r *splitReader) close() {
	if r.from != nil {
		r.from.Release()
		r.from = nil
	}
}

func (r *splitReader) Schema() *arrow.Schema          { return r.schema }
func (r *splitReader) RecordBatch() arrow.RecordBatch { return r.from.RecordBatch() }
func (r *splitReader) Record() arrow.RecordBatch      { return r.from.RecordBatch() }
func (r *splitReader) Err() error                     { return r.err }

func (r *splitReader) Next() bool {
	for r.err == nil {
		if r.from != nil {
			if r.from.Next() {
				return true
			}
			r.err = r.from.Err()
			r.close()
			continue
		}
		if len(r.splits) == 0 {
			return false
		}
		r.from, r.err = r.splits[0].Open(r.ctx, scan.OpenOptions{})
		r.splits = r.splits[1:]
	}
	return false
}
