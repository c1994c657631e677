package engine

import (
	"context"
	"sync"
	"sync/atomic"
)

// lifetime is from Open to Close, and what runs in between.
type lifetime struct {
	ctx    context.Context // done when the engine closes
	cancel context.CancelCauseFunc

	mu      sync.Mutex
	closed  bool
	queries sync.WaitGroup

	begun, ended atomic.Int64 // queries that are or were executed
}

// newLifetime begins a lifetime.
func newLifetime() *lifetime {
	l := &lifetime{}
	l.ctx, l.cancel = context.WithCancelCause(context.Background())
	return l
}

// begin notes that a query is executed, until end. Before that, alone reports whether no other was executed
// meanwhile.
func (l *lifetime) begin() (alone func() bool, end func()) {
	begun := l.begun.Add(1)
	others := l.ended.Load() < begun-1
	return func() bool { return !others && l.begun.Load() == begun }, func() { l.ended.Add(1) }
}

// isClosed reports whether the lifetime has ended.
func (l *lifetime) isClosed() bool { return l.ctx.Err() != nil }

// enter returns the context of a query, which ends with the engine. The caller calls done when the
// query has given everything back.
func (l *lifetime) enter(ctx context.Context) (_ context.Context, cancel context.CancelCauseFunc,
	done func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, nil, nil, ErrClosed
	}
	l.queries.Add(1)
	qctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(l.ctx, func() { cancel(ErrClosed) })
	return qctx, cancel, func() {
		stop()
		l.queries.Done()
	}, nil
}
