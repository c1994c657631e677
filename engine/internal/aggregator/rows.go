package aggregator

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/engine/internal/encode"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/threads"
)

// Piece is rows from From to To of a batch.
type Piece struct {
	Batch    arrow.RecordBatch
	From, To int
	Position uint64     // of the batch's first row in the input
	Split    scan.Split // of the batch

	Reader array.RecordReader // of the split, whose current batch it is; nil of a piece of another worker
}

// Rows is one worker's way from batches to an aggregator. It belongs to one goroutine.
type Rows struct {
	Worker int // from 0
	Thread *threads.Thread

	encoder *encode.Encoder
	piece   Piece
}

// NewRows returns the way of a worker, which holds the thread while it uses the rows. Of a query that is not
// bound, batches do not become tiles.
func (q *Query) NewRows(worker int, th *threads.Thread) *Rows {
	r := &Rows{Worker: worker, Thread: th}
	if q.Bound != nil {
		r.encoder = encode.NewEncoder(q.Bound, q.Interners)
	}
	return r
}

// SetPiece makes a piece current, whose batch must live until the next call. Parts of the batch may
// be given to others after it, not before: an array of dictionary codes makes its dictionary when
// it is first asked for, without a lock.
func (r *Rows) SetPiece(p Piece) error {
	r.piece = p
	if r.encoder == nil {
		return nil
	}
	return r.guard(func() error { return r.encoder.SetBatch(p.Batch, p.Position) })
}

// Piece returns the current piece.
func (r *Rows) Piece() Piece { return r.piece }

// Encoder returns the encoder, turned to the batch of the current piece.
func (r *Rows) Encoder() *encode.Encoder { return r.encoder }

// Tiles calls a function with the tiles of rows from to to of the current piece.
func (r *Rows) Tiles(from, to int, f func(*rowdata.Tile) error) error {
	for from < to {
		var tile *rowdata.Tile
		err := r.guard(func() (err error) {
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

// guard calls a function that works on the current batch, and says of which split its error is. A
// batch may be corrupt in ways that its decoder does not see: then a panic is an error of the
// split.
func (r *Rows) guard(f func() error) error {
	if err := scan.UseBatch(r.piece.Batch, f); err != nil {
		return fmt.Errorf("%s: %w", r.piece.Split.Name(), err)
	}
	return nil
}
