package plan

import (
	"cmp"
	"context"
	"errors"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/dustin/go-humanize"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/logical"
	"github.com/mpga/mpga/internal/knob"
	"github.com/mpga/mpga/internal/recordreader"
	"github.com/mpga/mpga/internal/spawn"
)

// recursed is what the iterations of a recursion have done.
type recursed struct {
	iterations, rows int64
	stats            engine.Stats // what the steps have read and spilled
}

// read implements readerNode.
func (n *recursionNode) read(ctx context.Context, r *run) (array.RecordReader, error) {
	anchor, err := n.anchor.read(ctx, r)
	if err != nil {
		return nil, err
	}
	of := &recursor{ctx: ctx, node: n, run: r, anchor: anchor}
	return recordreader.New(n.made, of.next, of.release), nil
}

// recursor makes the rows of a recursion.
type recursor struct {
	ctx    context.Context
	node   *recursionNode
	run    *run
	anchor array.RecordReader // nil once it has been read
	rows   *engine.Kept       // of the last iteration; nil before the anchor has been read
	out    array.RecordReader // of rows; nil once they are read
	count  int64              // iterations

	seen  *engine.Distinct    // nil where a table of keys outgrows the memory
	had   *engine.Kept        // all rows, but for waits; nil of UNION ALL whose step does not read them
	waits []arrow.RecordBatch // owned: some rows that are to be in had

	waiting int64 // rows of waits
}

func (x *recursor) release() {
	if x.anchor != nil {
		x.anchor.Release()
	}
	if x.out != nil {
		x.out.Release()
	}
	recordreader.ReleaseAll(x.waits)
	if x.seen != nil {
		x.seen.Release()
	}
	for _, rows := range []*engine.Kept{x.rows, x.had} {
		if rows != nil {
			_ = rows.Release() // of files that nobody reads any more
		}
	}
	*x = recursor{}
}

// next returns the next batch.
func (x *recursor) next() (arrow.RecordBatch, error) {
	for {
		if x.out != nil {
			batch, err := recordreader.Owned(x.out)
			if batch != nil || err != nil {
				return batch, err
			}
			x.out.Release()
			x.out = nil
		}
		if x.rows != nil && x.rows.Rows() == 0 {
			if x.had != nil {
				x.note(x.had.Stats(), 0)
			}
			return nil, nil
		}
		if err := x.iterate(); err != nil {
			return nil, err
		}
		x.out = x.rows.Read(x.ctx)
	}
}

// iterate makes the rows of the next iteration of the rows of the last one.
func (x *recursor) iterate() error {
	spawn.Step()
	if x.rows == nil {
		if x.node.fresh != nil {
			x.seen, x.had = x.run.statement.NewDistinct(x.node.fresh.keys), x.run.statement.NewKept(x.node.made)
		}
		if x.node.had != nil {
			x.had = x.run.statement.NewKept(x.node.made)
		}
		from := x.anchor
		x.anchor = nil
		made, err := x.keep(from, x.node.places[0])
		if x.rows = made; err != nil {
			return err
		}
		return x.addAll()
	}
	if most := x.run.statement.Engine().MaxRecursion(); x.count >= most {
		const text = "%w: WITH RECURSIVE %s has rows after %s iterations, as many as %s allows, %s in the last one; " +
			"a condition in its step ends it, or UNION in place of UNION ALL"
		return knob.Errorf(text, engine.ErrRecursion, x.node.before.Name, humanize.Comma(most),
			knob.Name("engine.MaxRecursion"), humanize.Comma(x.rows.Rows()))
	}
	x.count++
	step := x.run.within(map[*logical.Working]*engine.Kept{x.node.before: x.rows, x.node.had: x.had})
	defer step.releaseTests()
	from, err := x.node.step.read(x.ctx, step)
	if err != nil {
		return err
	}
	made, err := x.keep(from, x.node.places[1])
	if err != nil {
		return err
	}
	stats := step.stats(x.node.step)
	step.addJoins(&stats)
	last := x.rows
	x.rows = made
	addSpilled(&stats, last.Stats())
	x.note(stats, last.Rows())
	step.releaseTests()
	return cmp.Or(last.Release(), x.addAll())
}

// addAll adds the rows of an iteration, which the step has made whole, to all rows, where the step reads these.
func (x *recursor) addAll() error {
	if x.node.had == nil {
		return nil
	}
	rows := x.rows.Read(x.ctx)
	defer rows.Release()
	return cmp.Or(recordreader.Each(x.ctx, rows, x.had.Add), x.had.End())
}

// note notes what iterations have done, and the rows that the last one of them was made of.
func (x *recursor) note(s engine.Stats, rows int64) {
	w := x.run.of(x.node)
	x.run.mu.Lock()
	defer x.run.mu.Unlock()
	w.recursed.iterations, w.recursed.rows = x.count, w.recursed.rows+rows
	addSpilled(&w.recursed.stats, s)
}

// keep keeps the rows of an iteration, which it takes of a reader, and releases.
func (x *recursor) keep(from array.RecordReader, places []int) (_ *engine.Kept, err error) {
	defer from.Release()
	made := x.run.statement.NewKept(x.node.made)
	var raw *engine.Kept // rows that may have been there before
	defer func() {
		if raw != nil {
			err = cmp.Or(err, raw.Release())
		}
		if err != nil {
			err = errors.Join(err, made.Release())
		}
	}()
	err = recordreader.Each(x.ctx, from, func(in arrow.RecordBatch) (err error) {
		raw, err = x.take(made, raw, recordreader.Pick(x.node.made, in, places))
		return err
	})
	if err != nil {
		return nil, err
	}
	if raw != nil {
		if err := x.takeFresh(made, raw); err != nil {
			return nil, err
		}
	}
	return made, made.End()
}

// take adds the new rows of a batch, which it releases, to the rows of an iteration, or all of them to the raw ones,
// which it returns.
func (x *recursor) take(made, raw *engine.Kept, batch arrow.RecordBatch) (*engine.Kept, error) {
	defer batch.Release()
	if x.node.fresh == nil {
		return nil, made.Add(batch)
	}
	if x.seen != nil {
		fresh, isFull, err := x.seen.Add(batch)
		if err != nil {
			return raw, err
		}
		if !isFull {
			defer fresh.Release()
			return raw, x.add(made, fresh)
		}
		x.seen.Release()
		x.seen = nil
	}
	if raw == nil {
		raw = x.run.statement.NewKept(x.node.made)
	}
	return raw, raw.Add(batch)
}

// takeFresh adds the new ones of the raw rows to the rows of an iteration.
func (x *recursor) takeFresh(made, raw *engine.Kept) error {
	if err := cmp.Or(x.settle(), raw.End(), x.had.End()); err != nil {
		return err
	}
	n := x.node.fresh
	r := x.run.within(map[*logical.Working]*engine.Kept{n.made: raw, n.had: x.had})
	defer r.releaseTests()
	from, err := n.except.read(x.ctx, r)
	if err != nil {
		return err
	}
	fresh, err := x.run.statement.Keep(x.ctx, from)
	from.Release()
	if err != nil {
		return err
	}
	rows := fresh.Read(x.ctx)
	err = recordreader.Each(x.ctx, rows, func(batch arrow.RecordBatch) error {
		same := array.NewRecordBatch(x.node.made, batch.Columns(), batch.NumRows())
		defer same.Release()
		return x.add(made, same)
	})
	rows.Release()
	return errors.Join(err, fresh.Release())
}

// add adds new rows to the rows of an iteration, and to all rows.
func (x *recursor) add(made *engine.Kept, fresh arrow.RecordBatch) error {
	if fresh.NumRows() == 0 {
		return nil
	}
	fresh.Retain()
	x.waits = append(x.waits, fresh)
	if err := made.Add(fresh); err != nil {
		return err
	}
	if x.waiting += fresh.NumRows(); x.waiting < waitingRows {
		return nil
	}
	return x.settle()
}

// waitingRows is how many new rows wait at most: one batch is made of the rows of short iterations.
const waitingRows = 1 << 10

// settle adds the rows that wait to all.
func (x *recursor) settle() error {
	if len(x.waits) == 0 {
		return nil
	}
	columns := make([]arrow.Array, x.node.made.NumFields())
	defer func() { recordreader.ReleaseAll(columns) }()
	for i := range columns {
		var parts []arrow.Array
		for _, b := range x.waits {
			parts = append(parts, b.Column(i))
		}
		var err error
		if columns[i], err = array.Concatenate(parts, x.run.statement.Allocator()); err != nil {
			columns = columns[:i]
			return err
		}
	}
	batch := array.NewRecordBatch(x.node.made, columns, x.waiting)
	defer batch.Release()
	recordreader.ReleaseAll(x.waits)
	x.waits, x.waiting = nil, 0
	return x.had.Add(batch)
}
