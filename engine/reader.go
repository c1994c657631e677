package engine

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/cpuagg"
	"github.com/mpga/mpga/engine/device"
	"github.com/mpga/mpga/engine/encode"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/spawn"
	"github.com/mpga/mpga/internal/threads"
)

// reader is one worker's way through the input.
type reader struct {
	query   *execution
	thread  *threads.Thread
	worker  *cpuagg.Worker
	encoder *encode.Encoder
	batch   arrow.RecordBatch  // that the encoder is turned to
	devices *device.Aggregator // when they aggregate; else nil
	rows    device.Rows        // of the batch, for devices
	filter  *device.RowFilter  // of what devices have left, when the CPU goes on for them; else nil
	opening *opening           // of devices that may become the filler's
}

// readAll takes splits, then pieces, until the input is used up.
func (r *reader) readAll(ctx context.Context) error {
	f := r.query.feed
	r.encoder.Dense = r.query.run.Dense() && r.devices == nil && r.filter == nil
	for {
		split, ok := f.takeSplit()
		if !ok {
			break
		}
		if err := r.readSplit(ctx, split); err != nil {
			return err
		}
	}
	if err := r.readHeld(ctx); err != nil {
		return err
	}
	for {
		r.thread.Does("")
		r.thread.Give()
		p, ok := f.takePiece(ctx)
		if !ok {
			return context.Cause(ctx)
		}
		if err := r.readOffered(ctx, p); err != nil {
			return err
		}
	}
}

// readOffered aggregates a piece that another worker has offered.
func (r *reader) readOffered(ctx context.Context, p piece) error {
	if err := r.thread.Take(ctx); err != nil {
		p.batch.Release()
		r.query.feed.release()
		return err
	}
	return r.readPiece(ctx, p)
}

// readPiece aggregates a piece that is retained for the reader, and gives it back.
func (r *reader) readPiece(ctx context.Context, p piece) error {
	defer r.query.feed.release()
	defer p.batch.Release()
	return r.readBatch(ctx, p)
}

// readSplit aggregates a split that was taken from the feed.
func (r *reader) readSplit(ctx context.Context, split scan.Split) error {
	q := r.query
	defer q.feed.release()
	r.thread.Does(threads.WorkRead)
	var batches array.RecordReader
	err := q.engine.decode(split, func() (err error) {
		opt := q.engine.readOptions()
		opt.Wait = r.thread.Wait
		opt.Threads = max(q.workers/len(q.splits), 1)
		opt.Progress = func(bytes int64) { q.progress.bytes.Add(bytes) }
		opt.NarrowDecimals = true
		batches, err = split.Open(ctx, opt)
		return err
	})
	if err != nil {
		return err
	}
	defer batches.Release()
	position := split.Position()
	for {
		r.thread.WillDo(threads.WorkRead)
		if err := r.thread.Yield(ctx); err != nil {
			return err
		}
		var more bool
		err := q.engine.decode(split, func() error {
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
func (q *execution) spans(end uint64) {
	for {
		known := q.span.Load()
		if end <= known || q.span.CompareAndSwap(known, end) {
			return
		}
	}
}

// decode calls a function that reads a split. Corrupt input must not end the process: what a decoder trips over
// becomes an error of the split.
func (e *Engine) decode(split scan.Split, f func() error) error {
	panicked, err := spawn.Catch(f)
	if panicked == nil {
		return err
	}
	e.opt.Logger.Debug("decoder panicked", slog.Any("panic", panicked.Value), slog.String("stack", string(panicked.Stack)))
	return fmt.Errorf("%s: %w: %v", split.Name(), ErrCorrupt, panicked.Value)
}

// encode calls a function that works on the current batch. A batch may be corrupt in ways that its decoder does not
// see: then a panic is an error of the split.
func (r *reader) encode(split scan.Split, f func() error) error {
	return named(split, scan.UseBatch(r.batch, f))
}

// A worker offers half of its batch to one that waits, if that is at least offerRowsMin rows.
const offerRowsMin = 2 * rowdata.TileRows

// readBatch aggregates the rows of a piece.
func (r *reader) readBatch(ctx context.Context, p piece) error {
	spawn.Step()
	r.batch = p.batch
	err := r.encode(p.split, func() error { return r.encoder.SetBatch(p.batch, p.position) })
	if err != nil {
		return err
	}
	q := r.query
	if r.devices == nil {
		r.thread.Does(threads.WorkAggregate)
	} else {
		r.rows = device.Rows{Thread: r.thread, Batch: p.batch, Encoder: r.encoder, Tiles: func(from, to int, f func(*rowdata.Tile) error) error {
			return r.tiles(p.split, from, to, f)
		}}
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
	if r.devices != nil {
		return r.devices.Take(ctx, &r.rows, from, to)
	}
	end := min(to, from+rowdata.TileRows)
	return end - from, r.tiles(split, from, end, func(t *rowdata.Tile) error {
		if r.filter != nil {
			t = r.filter.Keep(t)
		}
		return r.worker.Add(t)
	})
}

// tiles calls a function with the tiles of the batch's rows from from to to.
func (r *reader) tiles(split scan.Split, from, to int, f func(*rowdata.Tile) error) error {
	for from < to {
		var tile *rowdata.Tile
		err := r.encode(split, func() (err error) {
			tile, err = r.encoder.Encode(from, to)
			return err
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
