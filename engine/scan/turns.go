package scan

import (
	"cmp"
	"context"
	"math"
	"sync"
)

// turns bounds how many readers of a table read at the same time: as many as ask for it, until a
// reader has no room in the memory; then half as many each time, and one more whenever a reader has
// ended without being refused. A reader that waits for its turn holds no memory, so the readers
// that have a turn go on. What a reader has learned of the size of its steps, the next readers
// begin with.
type turns struct {
	mu      sync.Mutex
	active  int
	limit   int           // of active; math.MaxInt while there is no limit
	shrinks int           // how often the reader that has ended last has made its steps smaller
	changed chan struct{} // closed when a reader has ended; nil where nobody waits
}

// learned returns how often a reader makes its first step smaller: once less than the last reader.
func (t *turns) learned() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return max(t.shrinks-1, 0)
}

// learn notes how often a reader has made its steps smaller, and whether it was refused memory.
func (t *turns) learn(shrinks int, refused bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.shrinks = shrinks
	if !refused && t.limit < math.MaxInt {
		t.limit++
	}
}

// take waits for a turn.
func (t *turns) take(ctx context.Context, wait func(context.Context, func()) error) error {
	for {
		changed := t.tryTake()
		if changed == nil {
			return nil
		}
		var ended error
		err := wait(ctx, func() {
			select {
			case <-changed:
			case <-ctx.Done():
				ended = context.Cause(ctx)
			}
		})
		if err := cmp.Or(err, ended); err != nil {
			return err
		}
	}
}

// tryTake takes a turn and returns nil where there is one; else it returns a channel that is closed
// when another try is worth it.
func (t *turns) tryTake() (changed <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.active < t.limit {
		t.active++
		return nil
	}
	if t.changed == nil {
		t.changed = make(chan struct{})
	}
	return t.changed
}

// give takes a reader's turn back.
func (t *turns) give() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.active--
	if t.changed != nil {
		close(t.changed)
		t.changed = nil
	}
}

// alone says whether at most one reader reads.
func (t *turns) alone() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.active <= 1
}

// narrow halves how many may read, for a reader that has a turn; false where it is alone.
func (t *turns) narrow() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.active <= 1 {
		return false
	}
	t.limit = max(min(t.limit, t.active/2), 1)
	return true
}
