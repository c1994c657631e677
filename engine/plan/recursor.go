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

	seen  *engine.Distinct    // nil where a table of keys outgrows the memory, or does not suffice
	had   *engine.Kept        // of UNION without ALL, and of aggregates of USING KEY: all rows, but for waits
	state *engine.Kept        // of USING KEY
	waits []arrow.RecordBatch // owned: some rows that are to be in had

	waiting int64 // rows of waits
	ended   bool  // of USING KEY: the state is read
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
	for _, rows := range []*engine.Kept{x.rows, x.had, x.state} {
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
			return x.end()
		}
		if err := x.iterate(); err != nil {
			return nil, err
		}
		if x.node.keyed == nil {
			x.out = x.rows.Read(x.ctx)
		}
	}
}

// end returns the next batch once no iteration comes: of the state of USING KEY, and else none.
func (x *recursor) end() (arrow.RecordBatch, error) {
	if x.had != nil {
		x.note(x.had.Stats(), 0)
	}
	if x.node.keyed == nil || x.ended {
		return nil, nil
	}
	x.ended = true
	x.out = x.state.Read(x.ctx)
	return x.next()
}

// iterate makes the rows of the next iteration of the rows of the last one.
func (x *recursor) iterate() error {
	spawn.Step()
	if x.rows == nil {
		if x.node.fresh != nil {
			if x.had = x.run.statement.NewKept(x.node.made); x.node.fresh.keysSuffice {
				x.seen = x.run.statement.NewDistinct(x.node.fresh.keys)
			}
		}
		from := x.anchor
		x.anchor = nil
		if x.node.keyed != nil {
			return x.begin(from)
		}
		made, err := x.keep(from, x.node.places[0])
		x.rows = made
		return err
	}
	if most := x.run.statement.Engine().MaxRecursion(); x.count >= most {
		const text = "%w: WITH RECURSIVE %s has rows after %s iterations, as many as %s allows, %s in the last one; " +
			"a condition in its step ends it, or UNION in place of UNION ALL"
		return knob.Errorf(text, engine.ErrRecursion, x.node.before.Name, humanize.Comma(most),
			knob.Name("engine.MaxRecursion"), humanize.Comma(x.rows.Rows()))
	}
	x.count++
	working := map[*logical.Working]*engine.Kept{x.node.before: x.rows}
	if x.node.keyed != nil {
		working[x.node.keyed.made] = x.state
	}
	step := x.run.within(working)
	defer step.releaseTests()
	from, err := x.node.step.read(x.ctx, step)
	if err != nil {
		return err
	}
	last := x.rows
	if x.node.keyed != nil {
		err = x.turn(from, x.node.places[1])
	} else if made, failed := x.keep(from, x.node.places[1]); failed != nil {
		err = failed
	} else {
		x.rows = made
	}
	if err != nil {
		return err
	}
	stats := step.stats(x.node.step)
	step.addJoins(&stats)
	addSpilled(&stats, last.Stats())
	x.note(stats, last.Rows())
	step.releaseTests()
	return last.Release()
}

// begin takes the rows of the anchor of USING KEY, which it releases.
func (x *recursor) begin(from array.RecordReader) error {
	x.state = x.run.statement.NewKept(x.node.made)
	err := x.state.End()
	if !x.node.keyed.isLast {
		x.had = x.run.statement.NewKept(x.node.keyed.raw)
		err = cmp.Or(err, x.had.End())
	}
	if err != nil {
		from.Release()
		return err
	}
	return x.turn(from, x.node.places[0])
}

// turn takes the rows of an iteration of USING KEY, which it releases, makes the state of them, and the rows of the
// next iteration: rows of the state that it has changed.
func (x *recursor) turn(from array.RecordReader, places []int) error {
	n := x.node.keyed
	made, err := x.keepAs(n.raw, from, places)
	if err != nil {
		return err
	}
	before := x.state // a state without aggregates is made of the one before
	if !n.isLast {
		before = x.had
	}
	rows, err := x.together(n.raw, before, made)
	if err = errors.Join(err, made.Release()); err != nil {
		return err
	}
	last := x.state
	x.state, err = x.made(n.state, map[*logical.Working]*engine.Kept{n.rows: rows})
	if x.had != nil {
		rows, x.had = x.had, rows
	}
	if err = errors.Join(err, rows.Release()); err == nil {
		x.rows, err = x.made(n.changed, map[*logical.Working]*engine.Kept{n.made: x.state, n.last: last})
	}
	return errors.Join(err, last.Release())
}

// together keeps the rows of two sets, the first one's first. Batches that are small become larger ones: an iteration
// may have a row.
func (x *recursor) together(schema *arrow.Schema, sets ...*engine.Kept) (_ *engine.Kept, err error) {
	all := x.run.statement.NewKept(schema)
	defer func() {
		if err != nil {
			err = errors.Join(err, all.Release())
		}
	}()
	for _, rows := range sets {
		from := rows.Read(x.ctx)
		err = recordreader.Each(x.ctx, from, func(batch arrow.RecordBatch) error { return x.wait(batch, all) })
		if from.Release(); err != nil {
			return nil, err
		}
	}
	if err := cmp.Or(x.settle(all), all.End()); err != nil {
		return nil, err
	}
	return all, nil
}

// made keeps the rows of a statement over rows that are kept.
func (x *recursor) made(of readerNode, working map[*logical.Working]*engine.Kept) (*engine.Kept, error) {
	r := x.run.within(working)
	defer r.releaseTests()
	from, err := of.read(x.ctx, r)
	if err != nil {
		return nil, err
	}
	places := make([]int, x.node.made.NumFields())
	for i := range places {
		places[i] = i
	}
	return x.keepAs(x.node.made, from, places)
}

// keepAs keeps columns of the rows of a reader, which it releases.
func (x *recursor) keepAs(schema *arrow.Schema, from array.RecordReader, places []int) (*engine.Kept, error) {
	defer from.Release()
	made := x.run.statement.NewKept(schema)
	err := recordreader.Each(x.ctx, from, func(in arrow.RecordBatch) error {
		batch := recordreader.Pick(schema, in, places)
		defer batch.Release()
		return made.Add(batch)
	})
	if err = cmp.Or(err, made.End()); err != nil {
		return nil, errors.Join(err, made.Release())
	}
	return made, nil
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
	if err := cmp.Or(x.settle(x.had), raw.End(), x.had.End()); err != nil {
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
	if err := made.Add(fresh); err != nil {
		return err
	}
	return x.wait(fresh, x.had)
}

// wait adds rows to others, where they may wait for more.
func (x *recursor) wait(rows arrow.RecordBatch, in *engine.Kept) error {
	rows.Retain()
	x.waits = append(x.waits, rows)
	if x.waiting += rows.NumRows(); x.waiting < waitingRows {
		return nil
	}
	return x.settle(in)
}

// waitingRows is how many new rows wait at most: one batch is made of the rows of short iterations.
const waitingRows = 1 << 10

// settle adds the rows that wait to others.
func (x *recursor) settle(in *engine.Kept) error {
	if len(x.waits) == 0 {
		return nil
	}
	batch, err := recordreader.Joined(x.run.statement.Allocator(), x.waits)
	if err != nil {
		return err
	}
	defer batch.Release()
	recordreader.ReleaseAll(x.waits)
	x.waits, x.waiting = nil, 0
	return in.Add(batch)
}
