package plan

import (
	"cmp"
	"context"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/logical"
	"github.com/mpga/mpga/internal/expr"
	"github.com/mpga/mpga/internal/nested"
	"github.com/mpga/mpga/internal/order"
	"github.com/mpga/mpga/internal/recordreader"
	"github.com/mpga/mpga/internal/spawn"
)

// Result streams the result of a statement. It is an array.RecordReader: one goroutine at a time
// uses it, and releases it in the end.
type Result struct {
	array.RecordReader
	query *Query // whose result it is
	run   *run
	text  string // of the statement; "" where the statement was made without a text
	err   error  // of a panic in Next
	ended bool   // Next has returned false

	analyzes bool      // Release notes the plan
	started  time.Time // when the query was
	rows     int64     // read
	plan     string    // with what each operator did; "" before Release, and where analyzes is false
}

// Analyze has Release note the plan with what each operator did, for Plan. It is called before the first Next.
func (r *Result) Analyze() { r.analyzes = true }

// Plan returns the plan with what each operator did, as Query.Analyze does: "" before Release, of a result that
// Analyze was not called for, and of one that was not read to a good end.
func (r *Result) Plan() string { return r.plan }

// notePlan notes the plan of a result that has been read, where Analyze was called.
func (r *Result) notePlan(ctx context.Context) {
	if !r.analyzes || !r.ended || r.Err() != nil {
		return
	}
	// A plan that cannot be told is no error of the rows, which have all been read.
	r.plan, _ = r.query.analyzed(ctx, r.run, r.rows, time.Since(r.started))
}

// Next makes the next batch current. It returns false at the end and after an error.
func (r *Result) Next() (more bool) {
	if r.err != nil {
		return false
	}
	r.err = spawn.Call(func() error {
		spawn.Step()
		if more = r.RecordReader.Next(); more {
			r.rows += r.RecordBatch().NumRows()
		}
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
	if !r.ended && r.query.last().project != nil {
		return engine.Stats{}
	}
	s := r.run.stats(r.query.root)
	r.run.addJoins(&s)
	return s
}

// addJoins adds what the build sides of joins, and statements of WITH, have read and spilled.
func (r *run) addJoins(to *engine.Stats) {
	r.mu.Lock()
	defer r.mu.Unlock()
	add := func(s engine.Stats) { addSpilled(to, s) }
	for _, w := range r.begun {
		if w.built.side != nil {
			add(w.built.side.Stats())
		}
		if w.kept.rows != nil {
			add(w.kept.made)
			add(w.kept.rows.Stats())
		}
		add(w.recursed.stats)
	}
}

// addSpilled adds what was read and spilled.
func addSpilled(to *engine.Stats, s engine.Stats) {
	to.BytesRead += s.BytesRead
	to.RowsRejected += s.RowsRejected
	to.SpilledBytes += s.SpilledBytes
	to.SpilledStored += s.SpilledStored
	to.SpillFiles += s.SpillFiles
}

// stats returns what was done for the rows of a node.
func (r *run) stats(n node) (stats engine.Stats) {
	for ; n != nil; n = n.input() {
		w := r.of(n)
		switch {
		case w.groups != nil:
			stats = w.groups.stats
		case len(w.reads) > 0:
			stats = w.reads[0].Stats()
			for _, later := range w.reads[1:] {
				stats.BytesRead += later.Stats().BytesRead
			}
		default:
			continue
		}
		for _, below := range r.statements(n.input()) {
			noteReading(&stats, r.stats(below))
		}
		return stats
	}
	return stats
}

// statements returns the derived tables among the inputs of a node; none where they did not run.
func (r *run) statements(n node) (list []node) {
	for ; n != nil; n = n.input() {
		switch of := n.(type) {
		case *streamNode:
			if of.described.isResult {
				return []node{of.in}
			}
		case *unionNode:
			for _, in := range of.in {
				list = append(list, r.statements(in)...)
			}
			return list
		}
	}
	return nil
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
	ctx, err := expr.InZone(ctx, q.zone) // of what is bound while it runs
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	r := newRun(q.engine.Statement(ctx))
	result, err := q.start(ctx, r)
	if err != nil {
		cancel()
		r.releaseTests()
		return nil, err
	}
	inner := result.RecordReader
	schema := q.Schema()
	isPlain := schema == q.root.schema()
	next := func() (arrow.RecordBatch, error) {
		batch, err := recordreader.Owned(inner)
		if batch == nil || isPlain {
			return batch, err
		}
		return nested.Batch(q.engine.Allocator(), schema, batch)
	}
	result.RecordReader = recordreader.New(schema, next, func() {
		cancel()
		inner.Release()
		result.notePlan(context.WithoutCancel(ctx))
		r.releaseTests()
	})
	return result, nil
}

// start starts the query as a part of a run.
func (q *Query) start(ctx context.Context, r *run) (*Result, error) {
	started := time.Now()
	return guarded(q.text.Text, func() (*Result, error) {
		if err := q.errUnbound(); err != nil {
			return nil, err
		}
		rows, err := q.root.read(ctx, r)
		if err != nil {
			return nil, logical.Located(q.text, err)
		}
		return &Result{RecordReader: rows, query: q, run: r, text: q.text.Text, started: started}, nil
	})
}

// pickNode picks columns of rows.
type pickNode struct {
	in      readerNode
	columns []int // of in
	made    *arrow.Schema
}

func (n *pickNode) input() node           { return n.in }
func (n *pickNode) schema() *arrow.Schema { return n.made }

// read implements readerNode.
func (n *pickNode) read(ctx context.Context, r *run) (array.RecordReader, error) {
	if r.given == n {
		return r.takeGiven()
	}
	from, err := n.in.read(ctx, r)
	if err != nil {
		return nil, err
	}
	return n.pick(from), nil
}

// pick takes over a reader and returns it with the columns that are picked.
func (n *pickNode) pick(from array.RecordReader) array.RecordReader {
	return recordreader.New(n.made, func() (arrow.RecordBatch, error) {
		in, err := recordreader.Next(from)
		if in == nil {
			return nil, err
		}
		return recordreader.Pick(n.made, in, n.columns), nil
	}, from.Release)
}

// sortNode orders and limits rows.
type sortNode struct {
	in readerNode
	by order.By
}

func (n *sortNode) input() node           { return n.in }
func (n *sortNode) schema() *arrow.Schema { return n.in.schema() }

// read implements readerNode.
func (n *sortNode) read(ctx context.Context, r *run) (array.RecordReader, error) {
	rows, err := n.in.read(ctx, r)
	if err != nil {
		return nil, err
	}
	sorted, err := r.statement.Sort(ctx, rows, n.by)
	rows.Release()
	if err != nil {
		return nil, err
	}
	sorted.Expect(func(rows int64) float64 { return r.partRead(n.in, rows) })
	r.of(n).sorted = sorted
	return sorted, nil
}

// partRead returns how much of the input of a node has been read once the node has made some number
// of rows, from 0 to 1, or -1 where that is not known.
func (r *run) partRead(n node, rows int64) float64 {
	if reads := r.of(n).reads; len(reads) > 0 {
		return reads[0].Part(rows)
	}
	if groups := r.of(n.input()).groups; groups != nil {
		return groups.part(rows)
	}
	return -1
}

// rowsNode makes the columns of a result of rows.
type rowsNode struct {
	in      sourceNode
	post    *projection
	inOrder bool // the order of the input is kept
}

func (n *rowsNode) input() node           { return n.in }
func (n *rowsNode) schema() *arrow.Schema { return n.post.schema }

// read implements readerNode.
func (n *rowsNode) read(ctx context.Context, r *run) (array.RecordReader, error) {
	if r.given == n {
		return r.takeGiven()
	}
	src, opt := r.exchanged[exchangePoint{n, 0}], sameRows(n.post.schema)
	if src == nil {
		src, opt = r.rowsOf(n.in), rowsOptions(n.post, r)
	}
	opt.InOrder = n.inOrder
	rows, err := r.statement.Rows(ctx, src, opt)
	if err != nil {
		return nil, err
	}
	w := r.of(n)
	w.reads = append(w.reads, rows)
	return rows, nil
}

// projectNode makes the columns of a result of groups, and leaves groups out by HAVING.
type projectNode struct {
	in   *groupsNode
	post *projection
}

func (n *projectNode) input() node           { return n.in }
func (n *projectNode) schema() *arrow.Schema { return n.post.schema }

// read implements readerNode: the threads that finish groups make the rows.
func (n *projectNode) read(ctx context.Context, r *run) (array.RecordReader, error) {
	if r.given == n {
		return r.takeGiven()
	}
	return newGroupReader(ctx, n.in, r, n.post)
}
