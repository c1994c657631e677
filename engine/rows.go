package engine

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/arbiter"
	ordering "github.com/mpga/mpga/internal/order"
	"github.com/mpga/mpga/internal/spawn"
	"github.com/mpga/mpga/internal/threads"
)

// RowMap makes the batches of Rows from the batches of a source. One goroutine at a time uses it.
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

	// InOrder keeps the order of the input: one worker reads it. The default is that batches come
	// as they are ready.
	InOrder bool
}

// Rows reads a source by all of the engine's threads, split by split, and returns what is made of
// its batches as they are ready. Rows must be released.
func (e *Engine) Rows(ctx context.Context, src scan.Source, opt RowsOptions) (rows *Rows, err error) {
	err = spawn.Call(func() (err error) {
		rows, err = e.rows(ctx, src, opt)
		return err
	})
	return rows, err
}

func (e *Engine) rows(ctx context.Context, src scan.Source, opt RowsOptions) (*Rows, error) {
	started := time.Now()
	splits, err := src.Splits(ctx, opt.Columns)
	if err != nil {
		return nil, err
	}
	ctx, cancel, done, err := e.enterBudgeted(ctx)
	if err != nil {
		return nil, err
	}
	workers := max(min(e.opt.Threads, len(splits)), 1)
	if opt.InOrder {
		workers = 1
	}
	r := &Rows{engine: e, share: e.statement(), source: src, opt: opt, splits: splits,
		progress: newProgress(e.opt.Progress, src.Stats(), splits, started)}
	r.init(opt.Schema, workers)
	grant := r.share.Join(0, 0, nil) // what it holds is decoded columns
	r.cancel = cancel
	spawn.Go(func() (err error) {
		stop := r.progress.start()
		defer func() { err = errors.Join(err, stop(err == nil)) }()
		return r.progress.run(PhaseRead, func() error { return r.run(ctx, workers) })
	}, func(err error) {
		r.failure, r.stats = err, r.done(workers)
		close(r.batches)
		grant.Leave()
		done()
	})
	return r, nil
}

// Rows streams the rows of a source. It is an array.RecordReader, to be used as a Result is.
type Rows struct {
	batchStream
	engine   *Engine
	share    *arbiter.Statement
	source   scan.Source
	opt      RowsOptions
	splits   []scan.Split
	progress *progress

	next atomic.Int64 // split
	left atomic.Int64 // rows, because of errors
	sent atomic.Int64 // batches
	made atomic.Int64 // rows of batches that were sent, or are about to be
}

// Part returns which part of all rows a number of them is, from 0 to 1, or -1 where that is not known.
func (r *Rows) Part(rows int64) float64 {
	_, part := r.progress.read()
	return part * min(float64(rows)/float64(max(r.made.Load(), 1)), 1)
}

// run reads all splits with the given number of workers.
func (r *Rows) run(ctx context.Context, workers int) error {
	return threads.Parallel(ctx, r.engine.threads, workers, nil,
		func(ctx context.Context, _ int, t *threads.Thread) error {
			m := r.opt.NewMap()
			defer m.Release()
			for {
				i := r.next.Add(1) - 1
				if i >= int64(len(r.splits)) {
					return nil
				}
				if err := r.readSplit(ctx, t, m, r.splits[i]); err != nil {
					return err
				}
			}
		})
}

// done describes what the workers, whose number is workers, have done.
func (r *Rows) done(workers int) Stats {
	s := Stats{
		Route:         "cpu",
		Threads:       workers,
		RowsRead:      r.progress.rows.Load(),
		RowsRejected:  r.left.Load(),
		BytesRead:     r.progress.bytes.Load(),
		Splits:        len(r.splits),
		Filter:        scan.PruningOf(r.source),
		ResultBatches: r.sent.Load(),
		Elapsed:       time.Since(r.progress.started),
	}
	r.engine.memoryStats(&s)
	return s
}

// readSplit reads a split.
func (r *Rows) readSplit(ctx context.Context, t *threads.Thread, m RowMap, split scan.Split) error {
	opt := r.engine.readOptions(r.share)
	opt.Wait, opt.Borrow = t.Wait, t.Borrow
	opt.Progress = func(bytes int64) { r.progress.bytes.Add(bytes) }
	opt.Rejected = func(rows int64) { r.left.Add(rows) }
	batches, err := openSplit(ctx, split, opt)
	if err != nil {
		return err
	}
	defer batches.Release()
	for {
		batch, err := batches.next()
		if batch == nil || err != nil {
			return err
		}
		spawn.Step()
		r.progress.rows.Add(batch.NumRows())
		if err := r.mapBatch(ctx, t, m, batches, batch); err != nil {
			return err
		}
	}
}

// mapBatch sends what is made of the current batch of a split.
func (r *Rows) mapBatch(ctx context.Context, t *threads.Thread, m RowMap, from *splitReader,
	batch arrow.RecordBatch) error {
	err := scan.UseBatch(batch, func() error { return m.Begin(ctx, batch) })
	if err != nil {
		return scan.Placed(from.RecordReader, from.split.Name(), err)
	}
	for {
		var made arrow.RecordBatch
		err := scan.UseBatch(batch, func() (err error) {
			made, err = m.Next(ctx)
			return err
		})
		if err != nil {
			return scan.Placed(from.RecordReader, from.split.Name(), err)
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
	r.made.Add(batch.NumRows())
	t.Give()
	select {
	case r.batches <- batch:
		r.sent.Add(1)
	case <-ctx.Done():
		batch.Release()
	}
	return t.Take(ctx)
}

// sortShare is the part of the memory limit that a sort wishes for, to hold rows before they go to disk.
const sortShare = 8

// sortBytesMin is the least that a sort works with.
const sortBytesMin = 1 << 20

// Sort returns the rows of a reader, such as a Result, in order, within the engine's budgets. The
// input is retained, and read by the first call of Next. A reader that is not released holds Close
// up. An error that is ErrQuery says that the order does not suit the columns.
func (e *Engine) Sort(ctx context.Context, input array.RecordReader, by ordering.By) (*ordering.Reader, error) {
	ctx, _, done, err := e.enterBudgeted(ctx)
	if err != nil {
		return nil, err
	}
	var sorted *ordering.Reader
	err = spawn.Call(func() (err error) {
		sorted, err = ordering.New(ctx, input, by, e.sortOptions(), done)
		return err
	})
	if err != nil {
		done()
		return nil, err
	}
	return sorted, nil
}

// Collector is Sort for rows that the caller adds. purpose is what errors say that the rows are
// ordered for. A collector that is not released holds Close up.
func (e *Engine) Collector(ctx context.Context, schema *arrow.Schema, by ordering.By,
	purpose string) (*ordering.Collector, error) {
	ctx, _, done, err := e.enterBudgeted(ctx)
	if err != nil {
		return nil, err
	}
	opt := e.sortOptions()
	opt.Purpose = purpose
	var collector *ordering.Collector
	err = spawn.Call(func() (err error) {
		collector, err = ordering.NewCollector(ctx, schema, by, opt, done)
		return err
	})
	if err != nil {
		done()
		return nil, err
	}
	return collector, nil
}

// sortOptions are what the engine lets one sort use.
func (e *Engine) sortOptions() ordering.Options {
	return ordering.Options{
		Bytes:     max(e.memory.Limit()/sortShare, sortBytesMin),
		Statement: e.statement(),
		Memory:    e.memory,
		Temp:      e.temp,
		Threads:   e.opt.Threads,
		Units:     e.threads,
		BatchRows: e.opt.testing.ResultRows,
		Allocator: e.results,

		RunAllocator: e.opt.Allocator,
	}
}
