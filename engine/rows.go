package engine

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/spawn"
	"github.com/mpga/mpga/internal/threads"
)

// RowMap makes the batches of Rows of those of a source. One goroutine at a time uses it.
type RowMap interface {
	// Begin turns to a batch, which stays the caller's and is valid until the next call of Begin.
	Begin(ctx context.Context, batch arrow.RecordBatch) error

	// Next returns what is made of the next rows of the batch; nil when nothing is left.
	Next(ctx context.Context) (arrow.RecordBatch, error)

	// Release is called after the last batch.
	Release()
}

// RowsOptions say what Engine.Rows returns.
type RowsOptions struct {
	Columns []int         // of the source, as the maps take them
	Schema  *arrow.Schema // of what the maps return
	NewMap  func() RowMap // one for each worker

	// InOrder keeps the order of the input: one worker reads it. The default is that batches come as they are
	// ready.
	InOrder bool
}

// Rows reads a source by all of the engine's threads, split by split, and returns what is made of its batches
// as they are ready. Rows must be released.
func (e *Engine) Rows(ctx context.Context, src scan.Source, opt RowsOptions) (rows *Rows, err error) {
	err = spawn.Call(func() (err error) {
		rows, err = e.rows(ctx, src, opt)
		return err
	})
	return rows, err
}

func (e *Engine) rows(ctx context.Context, src scan.Source, opt RowsOptions) (*Rows, error) {
	splits, err := src.Splits(ctx, opt.Columns)
	if err != nil {
		return nil, fmt.Errorf("splits: %w", err)
	}
	ctx, cancel, done, err := e.enterBudgeted(ctx)
	if err != nil {
		return nil, err
	}
	workers := max(min(e.opt.Threads, len(splits)), 1)
	if opt.InOrder {
		workers = 1
	}
	r := &Rows{engine: e, opt: opt, splits: splits}
	r.init(opt.Schema, workers)
	r.cancel = cancel
	spawn.Go(func() error { return r.run(ctx, workers) }, func(err error) {
		r.err = err
		close(r.batches)
		done()
	})
	return r, nil
}

// Rows streams the rows of a source. It is an array.RecordReader, to be used as a Result is.
type Rows struct {
	batchStream
	engine *Engine
	opt    RowsOptions
	splits []scan.Split
	next   atomic.Int64 // split
}

// run reads all splits by so many workers.
func (r *Rows) run(ctx context.Context, workers int) error {
	return threads.Parallel(ctx, r.engine.threads, workers, nil, func(ctx context.Context, _ int, t *threads.Thread) error {
		m := r.opt.NewMap()
		defer m.Release()
		for {
			i := r.next.Add(1) - 1
			if i >= int64(len(r.splits)) {
				return nil
			}
			if err := r.read(ctx, t, m, r.splits[i]); err != nil {
				return err
			}
		}
	})
}

// read reads a split.
func (r *Rows) read(ctx context.Context, t *threads.Thread, m RowMap, split scan.Split) error {
	var from array.RecordReader
	err := r.engine.decode(split, func() (err error) {
		opt := r.engine.readOptions()
		opt.Wait = t.Wait
		from, err = split.Open(ctx, opt)
		return err
	})
	if err != nil {
		return err
	}
	defer from.Release()
	for {
		var more bool
		err := r.engine.decode(split, func() error {
			more = from.Next()
			return from.Err()
		})
		if err != nil || !more {
			return err
		}
		spawn.Step()
		if err := r.mapBatch(ctx, t, m, from, split); err != nil {
			return err
		}
	}
}

// mapBatch sends what is made of the current batch of a split.
func (r *Rows) mapBatch(ctx context.Context, t *threads.Thread, m RowMap, from array.RecordReader, split scan.Split) error {
	batch := from.RecordBatch()
	err := scan.UseBatch(batch, func() error { return m.Begin(ctx, batch) })
	if err != nil {
		return scan.Placed(from, split.Name(), err)
	}
	for {
		var made arrow.RecordBatch
		err := scan.UseBatch(batch, func() (err error) {
			made, err = m.Next(ctx)
			return err
		})
		if err != nil {
			return scan.Placed(from, split.Name(), err)
		}
		if made == nil {
			return nil
		}
		if err := r.send(ctx, t, made); err != nil {
			return err
		}
	}
}

// send hands a batch over.
func (r *Rows) send(ctx context.Context, t *threads.Thread, batch arrow.RecordBatch) error {
	t.Give()
	select {
	case r.batches <- batch:
	case <-ctx.Done():
		batch.Release()
	}
	return t.Take(ctx)
}
