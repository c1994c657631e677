package engine

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/mpga/mpga/engine/internal/aggregator"
	"github.com/mpga/mpga/engine/scan"
)

// feed shares the input among workers. A worker takes whole splits while there are any; then it
// waits for a worker that still has a split to hand over a part of its batch, so that a source of
// one split, or a large last one, keeps all workers busy.
type feed struct {
	splits []scan.Split
	pieces chan aggregator.Piece // unbuffered: taken only by workers that wait

	mu     sync.Mutex
	left   []scan.Split  // that nobody has taken
	active int           // workers with a split or a piece
	done   chan struct{} // closed when no worker is active and no split is left

	waiting atomic.Int32  // workers that would take a piece
	span    atomic.Uint64 // positions that the input takes: one more than the largest
}

// newFeed returns the feed of an input that nobody has read.
func newFeed(splits []scan.Split) *feed {
	f := &feed{splits: splits, left: splits, pieces: make(chan aggregator.Piece), done: make(chan struct{})}
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
	if len(f.left) == 0 {
		return nil, false
	}
	split := f.left[0]
	f.left = f.left[1:]
	f.active++
	return split, true
}

// again has splits taken again. Requires: the input was used up, and no worker is left.
func (f *feed) again(splits []scan.Split) {
	f.left, f.done = splits, make(chan struct{})
}

// takePiece waits for a piece. It returns false when the input is used up or the context is done.
// The worker is then active until it calls release.
func (f *feed) takePiece(ctx context.Context) (aggregator.Piece, bool) {
	f.waiting.Add(1)
	defer f.waiting.Add(-1)
	select {
	case p := <-f.pieces:
		return p, true
	case <-f.done:
	case <-ctx.Done():
	}
	return aggregator.Piece{}, false
}

// offer hands a piece to a waiting worker, if there is one.
func (f *feed) offer(p aggregator.Piece) bool {
	if f.waiting.Load() == 0 {
		return false
	}
	f.mu.Lock()
	f.active++ // the receiver; done stays open, since the caller is active
	f.mu.Unlock()
	p.Batch.Retain()
	select {
	case f.pieces <- p:
		return true
	default:
		p.Batch.Release()
		f.release()
		return false
	}
}

// release says that the worker is done with its split or piece.
func (f *feed) release() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.active--
	if f.active == 0 && len(f.left) == 0 {
		close(f.done)
	}
}

// spans notes that positions below end belong to the input.
func (f *feed) spans(end uint64) {
	for {
		known := f.span.Load()
		if end <= known || f.span.CompareAndSwap(known, end) {
			return
		}
	}
}
