package engine

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/scan"
)

// feed shares the input among workers. A worker takes whole splits while there are any; then it
// waits for a worker that still has one to hand over a part of its batch, so that a source of one
// split, or a large last one, keeps all workers busy.
type feed struct {
	splits []scan.Split
	pieces chan piece // unbuffered: taken only by workers that wait

	mu     sync.Mutex
	next   int           // split
	active int           // workers with a split or a piece
	done   chan struct{} // closed when no worker is active and no split is left

	waiting atomic.Int32
}

// piece is the rows from to to of a batch.
type piece struct {
	batch    arrow.RecordBatch // retained for the piece
	from, to int
	position uint64 // of the batch's first row
	split    scan.Split
}

func newFeed(splits []scan.Split) *feed {
	f := &feed{splits: splits, pieces: make(chan piece), done: make(chan struct{})}
	if len(splits) == 0 {
		close(f.done)
	}
	return f
}

// takeSplit returns the next split, if any is left. The worker is then active until it calls
// release.
func (f *feed) takeSplit() (scan.Split, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.next == len(f.splits) {
		return nil, false
	}
	f.next++
	f.active++
	return f.splits[f.next-1], true
}

// takePiece waits for a piece. It returns false when the input is used up or the context is done.
// The worker is then active until it calls release.
func (f *feed) takePiece(ctx context.Context) (piece, bool) {
	f.waiting.Add(1)
	defer f.waiting.Add(-1)
	select {
	case p := <-f.pieces:
		return p, true
	case <-f.done:
	case <-ctx.Done():
	}
	return piece{}, false
}

// offer hands a piece to a waiting worker, if there is one.
func (f *feed) offer(p piece) bool {
	if f.waiting.Load() == 0 {
		return false
	}
	f.begin() // the receiver's
	p.batch.Retain()
	select {
	case f.pieces <- p:
		return true
	default:
		p.batch.Release()
		f.release()
		return false
	}
}

// begin counts one more split or piece as being worked on, until release is called. The caller works on one
// itself, so that done stays open.
func (f *feed) begin() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.active++
}

// release says that the worker is done with its split or piece.
func (f *feed) release() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.active--
	if f.active == 0 && f.next == len(f.splits) {
		close(f.done)
	}
}
