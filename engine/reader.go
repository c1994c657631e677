package engine

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/cpuagg"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/spec"
)

// reader is one worker's way through the input.
type reader struct {
	query   *query
	thread  *thread
	worker  *cpuagg.Worker
	encoder *encoder
	batch   arrow.RecordBatch // that the encoder is turned to
	filler  *filler           // of the devices, when they aggregate
	filter  *rowFilter        // of what devices have written, when the CPU goes on for them
	opening *opening          // of devices that may become the filler's
}

// readAll takes splits, then pieces, until the input is used up.
func (r *reader) readAll(ctx context.Context) error {
	f := r.query.feed
	r.encoder.dense = r.query.run.Dense() && r.filler == nil && r.filter == nil
	for {
		split, ok := f.takeSplit()
		if !ok {
			break
		}
		err := r.readSplit(ctx, split)
		f.release()
		if err != nil {
			return err
		}
	}
	if err := r.readHeld(ctx); err != nil {
		return err
	}
	for {
		r.thread.does("")
		r.thread.give()
		p, ok := f.takePiece(ctx)
		if !ok {
			return context.Cause(ctx)
		}
		err := r.thread.take(ctx)
		if err == nil {
			err = r.readBatch(ctx, p)
		}
		p.batch.Release()
		f.release()
		if err != nil {
			return err
		}
	}
}

func (r *reader) readSplit(ctx context.Context, split scan.Split) error {
	q := r.query
	r.thread.does(workRead)
	var batches array.RecordReader
	err := r.guard(split, func() (err error) {
		batches, err = split.Open(context.WithValue(ctx, threadKey{}, r.thread), scan.OpenOptions{
			Allocator: q.engine.decoded,
			BatchRows: q.engine.opt.testing.BatchRows,
			Threads:   max(q.workers/len(q.splits), 1),
			Progress:  func(bytes int64) { q.progress.bytes.Add(bytes) },

			NarrowDecimals: true,
		})
		return err
	})
	if err != nil {
		return err
	}
	defer batches.Release()
	position := split.Position()
	for {
		r.thread.work = workRead
		if err := r.thread.yield(ctx); err != nil {
			return err
		}
		var more bool
		err := r.guard(split, func() error {
			more = batches.Next()
			return batches.Err()
		})
		if err != nil || !more {
			q.spans(position)
			return err
		}
		batch := batches.RecordBatch()
		p := piece{batch: batch, to: int(batch.NumRows()), position: position, split: split}
		held, err := r.holds(ctx, p)
		if err == nil && !held {
			err = r.readBatch(ctx, p)
		}
		if err != nil {
			return err
		}
		position += uint64(batch.NumRows())
	}
}

// spans notes that positions below end belong to the input.
func (q *query) spans(end uint64) {
	for {
		known := q.span.Load()
		if end <= known || q.span.CompareAndSwap(known, end) {
			return
		}
	}
}

// guard calls a function that reads or decodes a split. Corrupt input must not end the process:
// what a decoder trips over becomes an error.
func (r *reader) guard(split scan.Split, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			r.query.engine.opt.Logger.Debug("decoder panicked", slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
			err = fmt.Errorf("%s: %w: %v", split.Name(), ErrCorrupt, p)
		}
	}()
	return f()
}

// A worker offers half of its batch to one that waits, if that is at least offerRowsMin rows.
const offerRowsMin = 2 * spec.TileRows

// readBatch aggregates the rows of a piece.
func (r *reader) readBatch(ctx context.Context, p piece) error {
	err := r.guard(p.split, func() error {
		return named(p.split, r.encoder.setBatch(p.batch, p.position))
	})
	r.batch = p.batch
	if err != nil {
		return err
	}
	q := r.query
	if r.filler == nil {
		r.thread.does(workAggregate)
	}
	for from := p.from; from < p.to; {
		if half := (p.to - from) / 2; half >= offerRowsMin {
			rest := p
			rest.from = p.to - half
			if q.feed.offer(rest) {
				p.to = rest.from
			}
		}
		n, err := r.aggregate(ctx, p.split, from, p.to)
		if err != nil {
			return err
		}
		from += n
		q.progress.rows.Add(int64(n))
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

// aggregate takes some rows of the batch, from row from on and up to row to, and returns how many.
func (r *reader) aggregate(ctx context.Context, split scan.Split, from, to int) (int, error) {
	if r.filler != nil {
		return r.filler.take(ctx, r, split, from, to)
	}
	end := min(to, from+spec.TileRows)
	return end - from, r.tiles(split, from, end, func(t *spec.Tile) error {
		if r.filter != nil {
			t = r.filter.keep(t)
		}
		return r.worker.Add(t)
	})
}

// tiles calls a function with the tiles of the batch's rows from from to to.
func (r *reader) tiles(split scan.Split, from, to int, f func(*spec.Tile) error) error {
	for from < to {
		var tile *spec.Tile
		err := r.guard(split, func() (err error) {
			tile, err = r.encoder.encode(from, to)
			return named(split, err)
		})
		if err != nil {
			return err
		}
		if err := f(tile); err != nil {
			return err
		}
		from += tile.Rows
	}
	return nil
}

// named says which split an error is of.
func named(split scan.Split, err error) error {
	if err != nil {
		err = fmt.Errorf("%s: %w", split.Name(), err)
	}
	return err
}
