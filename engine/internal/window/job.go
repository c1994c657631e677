package window

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

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
func (r *reader) run(j *job) (err error) {
	if j.batches, err = order.Batches(j.spans); err != nil {
		return err
	}
	first := 0
	for _, batch := range j.batches {
		j.firsts = append(j.firsts, first)
		first += int(batch.NumRows())
	}
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
	b := &rows{block: &j.block, batches: j.batches, opt: &r.opt, columns: map[int]arrow.Array{}}
	defer b.release()
	b.place()
	for _, m := range j.makers {
		if r.ctx.Err() != nil {
			return context.Cause(r.ctx)
		}
		column, err := m.column(r.ctx, b)
		if err != nil {
			return err
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
