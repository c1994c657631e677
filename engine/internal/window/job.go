package window

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/internal/order"
	"github.com/mpga/mpga/internal/recordreader"
	"github.com/mpga/mpga/internal/rowdata"
)

// job is a block that a goroutine computes. Nobody else uses it until it is done.
type job struct {
	block
	held   rowdata.Reservation // of the block, and of what is made of it
	before *job                // the block before, whose makers the job goes on with; nil of none
	makers []maker             // nil before they are found, and once another job has them
	keeps  bool                // the block behind goes on with the makers

	batches []arrow.RecordBatch // owned
	firsts  []int               // of batches: their first rows in the block
	made    []arrow.Array       // owned: the further columns of the whole block

	done chan struct{}
	err  error // once it is done
}

// release gives back what a job has that is done.
func (j *job) release() {
	recordreader.ReleaseAll(j.batches)
	recordreader.ReleaseAll(j.made)
	j.block.release()
	j.batches, j.made = nil, nil
	j.held.Release()
}

// run computes a job.
func (r *reader) run(j *job) error {
	whole := &j.block // and the rows around it
	if len(j.around[0])+len(j.around[1]) > 0 {
		whole = j.whole()
		defer whole.release()
	}
	batches, err := order.Batches(whole.spans)
	if err != nil {
		return err
	}
	defer recordreader.ReleaseAll(batches)
	before := 0 // rows before the block
	for _, span := range j.around[0] {
		before += len(span.Marks)
	}
	j.take(batches, before)
	if j.before != nil {
		<-j.before.done
		if j.before.err != nil {
			return j.before.err
		}
	}
	if r.opt.Units != nil {
		if err := r.opt.Units.Acquire(r.ctx, 1); err != nil {
			return context.Cause(r.ctx)
		}
		defer r.opt.Units.Release(1)
	}
	r.findMakers(j)
	b := r.rowsOf(&j.block, j.batches)
	defer b.release()
	around := b
	if whole != &j.block {
		around = r.rowsOf(whole, batches)
		defer around.release()
	}
	for i, m := range j.makers {
		if r.ctx.Err() != nil {
			return context.Cause(r.ctx)
		}
		of := b
		if r.cuts.near[i] {
			of = around
		}
		column, err := of.made(r.ctx, m)
		if err != nil {
			return err
		}
		if of != b {
			defer column.Release()
			column = array.NewSlice(column, int64(before), int64(before+b.rows))
		}
		j.made = append(j.made, column)
	}
	if !j.keeps {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.idle, j.makers = append(r.idle, j.makers), nil
	}
	return nil
}

// take takes the rows of the block from batches that have some rows before it, and others behind it.
func (j *job) take(batches []arrow.RecordBatch, before int) {
	first := -before
	for _, batch := range batches {
		rows := int(batch.NumRows())
		if from, to := max(-first, 0), min(j.rows-first, rows); from < to {
			j.batches = append(j.batches, recordreader.Slice(batch, int64(from), int64(to)))
			j.firsts = append(j.firsts, first+from)
		}
		first += rows
	}
}

func (r *reader) rowsOf(b *block, batches []arrow.RecordBatch) *rows {
	return &rows{block: b, batches: batches, opt: &r.opt, columns: map[int]arrow.Array{}}
}

// findMakers gives the job the makers of the block before, or others that no job uses.
func (r *reader) findMakers(j *job) {
	if j.before != nil {
		j.makers, j.before.makers, j.before = j.before.makers, nil, nil
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if last := len(r.idle) - 1; last >= 0 {
		j.makers, r.idle = r.idle[last], r.idle[:last]
		return
	}
	for i := range r.opt.Calls {
		j.makers = append(j.makers, newMaker(&r.opt, &r.opt.Calls[i]))
	}
	r.all = append(r.all, j.makers...)
}
