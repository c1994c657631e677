package engine

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/cpujoin"
	"github.com/mpga/mpga/internal/recordreader"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/scatter"
	"github.com/mpga/mpga/internal/spawn"
	"github.com/mpga/mpga/internal/store"
)

// JoinTask is partitions of both sides of a join.
type JoinTask struct {
	of   *BuildSide
	task *cpujoin.Task
}

// Bytes returns how many bytes the rows of the build side take in memory.
func (t *JoinTask) Bytes() int64 { return t.task.Bytes }

// Round is rows of the build side in memory, and all rows of the other side that may have a partner among them.
type Round struct {
	*Hashed
	First, Last bool // of the rounds of the same rows of the other side, whose batches come in one order
}

// TaskReader reads a task in rounds. One goroutine at a time uses it.
type TaskReader struct {
	of      *BuildSide
	waiting []*cpujoin.Task // the next one last
	round   Round
	build   batches            // of the task; nil where all its rows were taken
	ahead   arrow.RecordBatch  // of build: the first batch of the next round
	probe   *store.BatchReader // of the round
	spool   scatter.Spool      // of the probe side of a task of several rounds; nil of others
}

// batches are read one by one.
type batches interface {
	// Next returns the next batch, which the caller owns; nil at the end.
	Next() (arrow.RecordBatch, error)

	// Close gives back what was not read.
	Close()
}

// Open returns a reader of the task, which hands its rows over.
func (t *JoinTask) Open() *TaskReader {
	return &TaskReader{of: t.of, waiting: []*cpujoin.Task{t.task}}
}

// Next turns to the next round, which is valid until the next call; nil is the end.
func (r *TaskReader) Next(ctx context.Context) (round *Round, err error) {
	r.endRound()
	for r.build == nil {
		r.endTask()
		if len(r.waiting) == 0 {
			return nil, nil
		}
		if err := r.begin(ctx); err != nil {
			return nil, store.NeedTemp(err, 0, 0)
		}
	}
	if err := r.hash(ctx); err != nil {
		return nil, store.NeedTemp(err, 0, 0)
	}
	if r.spool != nil {
		r.probe = r.batches(r.spool.Pages())
	}
	return &r.round, nil
}

// Batch returns the next batch of the other side in this round, which the caller owns; nil is the end. A device has as
// many rows at once as it takes.
func (r *TaskReader) Batch() (arrow.RecordBatch, error) {
	if r.of.joinBytes == 0 {
		return r.probe.Next()
	}
	var list []arrow.RecordBatch
	for bytes := int64(0); bytes < r.of.taskBytes(); {
		batch, err := r.probe.Next()
		if err != nil {
			recordreader.ReleaseAll(list)
			return nil, err
		}
		if batch == nil {
			break
		}
		list, bytes = append(list, batch), bytes+rowdata.BatchBytes(batch)
	}
	if len(list) == 0 {
		return nil, nil
	}
	return whole(r.of.statement.engine.opt.Allocator, list)
}

func (r *TaskReader) batches(pages scatter.Pages) *store.BatchReader {
	return store.NewBatchReader(pages, r.of.statement.engine.opt.Allocator)
}

// begin takes the next task, or splits it where its build side is too large.
func (r *TaskReader) begin(ctx context.Context) error {
	last := len(r.waiting) - 1
	t := r.waiting[last]
	r.waiting = r.waiting[:last]
	most := r.of.taskBytes()
	if t.Bytes > most && t.CanSplit() {
		return r.split(ctx, t, most)
	}
	r.round.Last = true
	if t.Bytes > most {
		r.spool = r.of.store.NewSpool(&store.BatchLayout)
		if err := scatter.EachPage(t.Take(cpujoin.ProbeSide), r.spool.Put); err != nil {
			return err
		}
		if err := r.spool.End(); err != nil {
			return err
		}
	} else {
		r.probe = r.batches(t.Take(cpujoin.ProbeSide))
	}
	r.build = r.batches(t.Take(cpujoin.BuildSide))
	if r.spool != nil && r.of.opt.Range.Best {
		sorted, err := r.of.sorted(ctx, r.build)
		if err != nil {
			return err
		}
		r.build = sorted
	}
	return nil
}

// split scatters a task again, and puts the tasks that come of it in its place.
func (r *TaskReader) split(ctx context.Context, t *cpujoin.Task, most int64) error {
	r.of.splits.Add(1)
	parts := t.Split(most / 2)
	for _, side := range []scatter.Content{cpujoin.BuildSide, cpujoin.ProbeSide} {
		if err := r.scatterAgain(ctx, t, parts, side); err != nil {
			return err
		}
	}
	r.waiting = append(r.waiting, parts.Tasks(most/2, r.of.opt.rowBytes())...)
	return nil
}

// scatterAgain moves one side of a task to other partitions.
func (r *TaskReader) scatterAgain(ctx context.Context, t *cpujoin.Task, to *cpujoin.Parts, side scatter.Content) error {
	out := r.of.newScatterer(newKeyPacker(r.of.opt.Keys), to, side)
	defer out.Release()
	in := r.batches(t.Take(side))
	defer in.Close()
	for {
		batch, err := in.Next()
		switch {
		case err != nil:
			return err
		case batch == nil:
			return out.Flush()
		case ctx.Err() != nil:
			batch.Release()
			return context.Cause(ctx)
		}
		spawn.Step()
		if err := out.add(batch); err != nil {
			return err
		}
	}
}

// hash makes the build side of the round, of the next batches of the task.
func (r *TaskReader) hash(ctx context.Context) error {
	b := r.of
	r.round.First = r.round.Last // of the round before, or by begin
	r.round.Hashed = newHashed(b.statement.memory, &b.opt, 1)
	if b.joinBytes > 0 {
		r.round.of = b
	}
	add := r.round.newAdder()
	for bytes := int64(0); ; {
		batch := r.ahead
		r.ahead = nil
		if batch == nil {
			var err error
			if batch, err = r.build.Next(); err != nil {
				return err
			}
			if batch == nil {
				r.build.Close()
				r.build, r.round.Last = nil, true
				break
			}
		}
		if r.spool != nil {
			batch = r.fit(batch, bytes)
		}
		bytes += b.opt.bytesOf(batch)
		number := uint32(len(r.round.batches))
		r.round.batches = append(r.round.batches, batch)
		if r.round.of == nil {
			if err := add.add(number, batch); err != nil {
				return err
			}
		}
		if r.ahead != nil {
			break
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		spawn.Step()
	}
	if err := b.statement.memory.Room(r.round.Hashed.build.TableBytes()); err != nil {
		return err
	}
	if r.round.of != nil && len(r.round.batches) > 0 {
		all, err := whole(b.statement.engine.opt.Allocator, r.round.batches)
		r.round.batches = r.round.batches[:0]
		if err != nil {
			return err
		}
		r.round.batches = append(r.round.batches, all)
	}
	return r.round.finish(ctx, inTurn)
}

// inTurn is an eachFunc that calls the function in turn.
func inTurn(_ context.Context, n int, f func(i int) error) error {
	for i := range n {
		if err := f(i); err != nil {
			return err
		}
	}
	return nil
}

// fit takes over a batch, and returns the rows of it that fit a round beside rows of some bytes; the others are ahead.
func (r *TaskReader) fit(batch arrow.RecordBatch, bytes int64) arrow.RecordBatch {
	rows, left := batch.NumRows(), r.of.taskBytes()-bytes
	size := r.of.opt.bytesOf(batch)
	if size <= left {
		return batch
	}
	n := max(left*rows/size, 0)
	if bytes == 0 {
		n = max(n, 1)
	}
	if n == rows {
		return batch
	}
	defer batch.Release()
	r.ahead, r.round.Last = batch.NewSlice(n, rows), false
	r.of.rounds.Add(1)
	return batch.NewSlice(0, n)
}

// endRound gives back what the round has.
func (r *TaskReader) endRound() {
	if r.round.Hashed != nil {
		r.round.release()
		r.round.Hashed = nil
	}
	if r.probe != nil {
		r.probe.Close()
		r.probe = nil
	}
}

// endTask gives back what the task has.
func (r *TaskReader) endTask() {
	if r.build != nil {
		r.build.Close()
		r.build = nil
	}
	if r.ahead != nil {
		r.ahead.Release()
		r.ahead = nil
	}
	if r.spool != nil {
		r.spool.Discard()
		r.spool = nil
	}
}

// Release gives back what was not read.
func (r *TaskReader) Release() {
	r.endRound()
	r.endTask()
	r.waiting = nil
}
