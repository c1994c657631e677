package engine

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/internal/aggregator"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/spawn"
	"github.com/mpga/mpga/internal/threads"
)

// reader is one worker's way through the input of a pipeline, to its sink.
type reader struct {
	of   *pipeline
	rows *aggregator.Rows
}

// readAll takes splits, then pieces of other workers' batches, until the input is used up.
func (r *reader) readAll(ctx context.Context) error {
	f := r.of.feed
	for {
		split, ok := f.takeSplit()
		if !ok {
			break
		}
		if err := r.readSplit(ctx, split); err != nil {
			return err
		}
	}
	for {
		r.rows.Thread.Does("")
		r.rows.Thread.Give()
		p, ok := f.takePiece(ctx)
		if !ok {
			return context.Cause(ctx)
		}
		if err := r.readOffered(ctx, p); err != nil {
			return err
		}
	}
}

// readOffered takes a piece that another worker has offered, and gives its batch back.
func (r *reader) readOffered(ctx context.Context, p aggregator.Piece) error {
	defer r.of.feed.release()
	defer p.Batch.Release()
	if err := r.rows.Thread.Take(ctx); err != nil {
		return err
	}
	return r.readPiece(ctx, p)
}

// readSplit takes a split that was taken from the feed.
func (r *reader) readSplit(ctx context.Context, split scan.Split) error {
	q, th := r.of, r.rows.Thread
	defer q.feed.release()
	th.Does(threads.WorkRead)
	taken, err := q.sink.TakeSplit(ctx, r.rows, split)
	if taken {
		q.progress.takeSplits(1, split)
		q.feed.spans(split.Position() + uint64(max(split.Rows(), 0)))
	}
	if taken || err != nil {
		return err
	}
	opt := q.statement.openOptions(ctx)
	opt.Wait, opt.Borrow = th.Wait, th.Borrow
	opt.Progress = func(bytes int64) { q.progress.bytes.Add(bytes) }
	opt.Rejected = func(rows int64) { q.rejected.Add(rows) }
	opt.Pages = q.pages.Add
	opt.NarrowDecimals = !q.byBatch
	batches, err := openSplit(ctx, split, opt)
	if err != nil {
		return err
	}
	defer batches.Release()
	position := split.Position()
	for {
		th.WillDo(threads.WorkRead)
		if err := th.Yield(ctx); err != nil {
			return err
		}
		var batch arrow.RecordBatch
		if batch, err = batches.next(); batch == nil || err != nil {
			q.feed.spans(position)
			return err
		}
		q.progress.delivered.Add(batch.NumRows())
		err = r.readPiece(ctx, aggregator.Piece{
			Batch: batch, To: int(batch.NumRows()), Position: position, Split: split, Reader: batches.RecordReader,
		})
		if err != nil {
			return err
		}
		position += uint64(batch.NumRows())
	}
}

// A worker offers half of its piece to a worker that waits, if the half is at least offerRowsMin
// rows: of a batch of 65,536 rows, a filter may have left few.
const offerRowsMin = rowdata.TileRows

// readPiece takes the rows of a piece that other workers do not take.
func (r *reader) readPiece(ctx context.Context, p aggregator.Piece) error {
	spawn.Step()
	if err := r.rows.SetPiece(p); err != nil {
		return err
	}
	q := r.of
	for from := p.From; from < p.To; {
		if half := (p.To - from) / 2; half >= offerRowsMin && !q.byBatch {
			rest := p
			rest.From, rest.Reader = p.To-half, nil
			if q.feed.offer(rest) {
				p.To = rest.From
			}
		}
		n, err := q.sink.Take(ctx, r.rows, from, p.To)
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
