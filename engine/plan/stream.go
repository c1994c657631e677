package plan

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/logical"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/recordreader"
)

// streamNode has the rows of a reader as a source: of a derived table, of groups, of rows in order. P4.
type streamNode struct {
	in        readerNode
	described *streamed // of no run, which cannot be read
}

// newStream returns the node, and names the reader in errors and traces.
func newStream(in readerNode, name string) *streamNode {
	fields := in.schema().Fields()
	taken := logical.Names{}
	for i := range fields {
		fields[i].Name = taken.Unique(fields[i].Name)
	}
	return &streamNode{in, &streamed{name: name, schema: arrow.NewSchema(fields, nil)}}
}

func (n *streamNode) input() node { return n.in }

// Source returns the result of the statement as rows of a table, of groups that a function returns whenever the rows
// are read; of is what it tells of itself. It may be read after Query.Close alone where nobody else reads the
// statement's tables.
func (p *Parts) Source(name string, of *logical.RolledUp, groups func(context.Context) (array.RecordReader, error),
) scan.Source {
	s := newStream(p.q.root, name).described
	s.rolled = of
	s.run = func(ctx context.Context) (array.RecordReader, error) {
		made, err := groups(ctx)
		if err != nil {
			return nil, err
		}
		rows, err := p.Finish(ctx, p.WithNothing(ctx, made))
		if err != nil {
			return nil, err
		}
		return p.InOrder(ctx, rows)
	}
	return s
}

// rows implements sourceNode.
func (n *streamNode) rows(r *run) scan.Source {
	if r == nil {
		return n.described
	}
	of := *n.described
	of.run = func(ctx context.Context) (array.RecordReader, error) { return n.in.read(ctx, r) }
	of.narrow = func(p scan.Predicate) bool { return r.narrow(n.in, p) }
	made := n.in
	if a, ok := made.(*answersNode); ok {
		made = a.in
	}
	of.running = &r.of(made).aggregation
	if a := r.of(n.in).answered; a != nil {
		of.seen = a.add
	}
	if of.isResult {
		of.bytesRead = func() int64 { return r.stats(n.in).BytesRead }
	}
	return &of
}

// streamed is the source of a stream: it begins to make the rows when the first split is opened, and
// hands the batches on as they come, each to one split.
type streamed struct {
	name    string
	schema  *arrow.Schema
	columns []scan.ColumnStats // as long as the schema, or nil
	readers int                // splits; 0 is one, which keeps the order of the batches
	grouped bool               // the rows are groups

	isResult  bool         // the rows are the result of a derived table, which tells how many bytes it has read
	bytesRead func() int64 // once all rows are made; nil of other rows

	run     func(context.Context) (array.RecordReader, error)
	narrow  func(p scan.Predicate) (ok bool) // before run, as scan.Narrower; nil of no run
	running *atomic.Pointer[engine.Result]   // the aggregation whose groups are the rows, once it runs; nil of other rows

	// seen is called with each batch, by the split that has taken it; nil is not.
	seen func(context.Context, arrow.RecordBatch) error

	rolled *logical.RolledUp // of a roll-up; else nil
}

// RolledUp returns what a roll-up tells of itself; nil of other rows.
func (s *streamed) RolledUp() *logical.RolledUp { return s.rolled }

// Schema implements scan.Source.
func (s *streamed) Schema() *arrow.Schema { return s.schema }

// Stats implements scan.Source. Once keeps the engine from reading some rows for a forecast: each
// reading runs the query.
func (s *streamed) Stats() scan.Stats {
	return scan.Stats{Rows: -1, Bytes: -1, Columns: s.columns, Once: true, Groups: s.grouped}
}

// RowsExpected implements scan.Expecter.
func (s *streamed) RowsExpected() int64 {
	if s.running == nil || s.running.Load() == nil {
		return 0
	}
	return s.running.Load().RowsExpected()
}

// Splits implements scan.Source.
func (s *streamed) Splits(_ context.Context, columns []int) ([]scan.Split, error) {
	shared := &sharedReader{run: s.run, bytesRead: s.bytesRead}
	splits := make([]scan.Split, max(s.readers, 1))
	for i := range splits {
		splits[i] = &streamedSplit{of: s, columns: columns, from: shared}
	}
	return splits, nil
}

// sharedReader runs a query for splits that share its batches. A batch is taken under a lock, and all else is done with
// it by the split that has it.
type sharedReader struct {
	run       func(context.Context) (array.RecordReader, error)
	bytesRead func() int64 // or nil

	mu     sync.Mutex
	opened bool
	reader array.RecordReader // nil before open, and once no split reads it
	err    error              // of run
	over   bool               // reader has no more batches
	users  int                // splits that read
}

// open runs the query for the first split. Splits that are opened after all others have been
// released find no rows: the others have read them.
func (r *sharedReader) open(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.opened {
		r.opened = true
		r.reader, r.err = r.run(ctx)
	}
	if r.err == nil {
		r.users++
	}
	return r.err
}

// next returns the next batch, which is the caller's, or nil at the end. The end tells progress, which
// may be nil, how many bytes the query has read.
func (r *sharedReader) next(progress func(bytes int64)) (arrow.RecordBatch, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.reader == nil || r.over {
		return nil, nil
	}
	batch, err := recordreader.Owned(r.reader)
	if batch != nil {
		return batch, nil
	}
	r.over = true
	if r.bytesRead != nil && err == nil && progress != nil {
		progress(r.bytesRead())
	}
	return nil, err
}

// release ends what open has begun.
func (r *sharedReader) release() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.users--; r.users == 0 && r.reader != nil {
		r.reader.Release()
		r.reader = nil
	}
}

type streamedSplit struct {
	of      *streamed
	columns []int
	from    *sharedReader
}

func (s *streamedSplit) Position() uint64 { return 0 }
func (s *streamedSplit) Rows() int64      { return -1 }
func (s *streamedSplit) Bytes() int64     { return 0 }
func (s *streamedSplit) Name() string     { return s.of.name }

// Open implements scan.Split. The thread of the worker is the query's while the worker waits for
// it.
func (s *streamedSplit) Open(ctx context.Context, opt scan.OpenOptions) (array.RecordReader, error) {
	opt.EnsureDefaults()
	var err error
	waited := opt.Wait(ctx, func() { err = s.from.open(ctx) })
	if err != nil {
		return nil, err
	}
	if waited != nil {
		s.from.release()
		return nil, waited
	}
	schema := recordreader.Columns(s.of.schema, s.columns)
	return recordreader.New(schema, func() (arrow.RecordBatch, error) {
		var in arrow.RecordBatch
		var err error
		waited := opt.Wait(ctx, func() {
			if in, err = s.from.next(opt.Progress); in != nil && s.of.seen != nil {
				err = s.of.seen(ctx, in)
			}
		})
		if in != nil {
			defer in.Release()
		}
		if waited != nil || in == nil || err != nil {
			return nil, cmp.Or(waited, err)
		}
		return recordreader.Pick(schema, in, s.columns), nil
	}, s.from.release), nil
}
