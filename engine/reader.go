package engine

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/cpuagg"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/spec"
)

// reader is one worker's way through the input.
type reader struct {
	query   *query
	worker  *cpuagg.Worker
	encoder *encoder
}

// readAll takes splits, then pieces, until the input is used up.
func (r *reader) readAll(ctx context.Context) error {
	f := r.query.feed
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
	for {
		r.query.releaseThread()
		p, ok := f.takePiece(ctx)
		err := r.query.reacquire(ctx)
		if !ok {
			return err
		}
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
	batches, err := split.Open(ctx, scan.OpenOptions{
		Allocator: q.engine.opt.Allocator,
		BatchRows: q.engine.opt.testing.BatchRows,
		Threads:   max(q.engine.opt.Threads/len(q.splits), 1),
		Progress:  func(bytes int64) { q.progress.bytes.Add(bytes) },
	})
	if err != nil {
		return err
	}
	defer batches.Release()
	position := split.Position()
	for {
		if err := q.yield(ctx); err != nil {
			return err
		}
		more, err := r.nextBatch(batches)
		if err != nil {
			return err
		}
		if !more {
			return nil
		}
		batch := batches.RecordBatch()
		if err := r.readBatch(ctx, piece{batch: batch, to: int(batch.NumRows()), position: position, split: split}); err != nil {
			return err
		}
		position += uint64(batch.NumRows())
	}
}

// nextBatch asks a reader for a batch. Corrupt input must not end the process: what a decoder
// trips over becomes an error.
func (r *reader) nextBatch(batches array.RecordReader) (more bool, err error) {
	defer r.recoverCorrupt(&err)
	if batches.Next() {
		return true, nil
	}
	return false, batches.Err()
}

// recoverCorrupt turns a panic over malformed data into an error.
func (r *reader) recoverCorrupt(err *error) {
	if p := recover(); p != nil {
		r.query.engine.opt.Logger.Debug("decoder panicked", slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
		*err = fmt.Errorf("%w: %v", ErrCorrupt, p)
	}
}

// A worker offers half of its batch to one that waits, if that is at least offerRowsMin rows.
const offerRowsMin = 2 * spec.TileRows

// readBatch aggregates the rows of a piece.
func (r *reader) readBatch(ctx context.Context, p piece) error {
	if err := r.setBatch(p); err != nil {
		return fmt.Errorf("%s: %w", p.split.Name(), err)
	}
	q := r.query
	for from := p.from; from < p.to; {
		if half := (p.to - from) / 2; half >= offerRowsMin {
			rest := p
			rest.from = p.to - half
			if q.feed.offer(rest) {
				p.to = rest.from
			}
		}
		tile, err := r.encode(from, p.to)
		if err != nil {
			return fmt.Errorf("%s: %w", p.split.Name(), err)
		}
		if err := r.worker.Add(tile); err != nil {
			return err
		}
		from += tile.Rows
		q.progress.rows.Add(int64(tile.Rows))
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

func (r *reader) setBatch(p piece) (err error) {
	defer r.recoverCorrupt(&err)
	return r.encoder.setBatch(p.batch, p.position)
}

func (r *reader) encode(from, to int) (t *spec.Tile, err error) {
	defer r.recoverCorrupt(&err)
	return r.encoder.encode(from, to)
}
