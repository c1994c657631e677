package spawn

import (
	"context"
	"errors"
	"sync"
)

// Group is goroutines that somebody waits for together. The zero value has no limit and cancels
// nothing.
type Group struct {
	cancel context.CancelCauseFunc // nil of a group without a context
	limit  chan struct{}           // one element for each goroutine that runs; nil without a limit
	work   sync.WaitGroup

	mu  sync.Mutex
	err error // the first error, or the first that is ErrInternal
}

// WithContext returns a group, and a context that ends with the first error of a goroutine, which
// is its cause, or when Wait returns.
func WithContext(ctx context.Context) (*Group, context.Context) {
	ctx, cancel := context.WithCancelCause(ctx)
	return &Group{cancel: cancel}, ctx
}

// SetLimit bounds how many goroutines run at once. It is called before the first Go.
func (g *Group) SetLimit(n int) { g.limit = make(chan struct{}, n) }

// Go starts a goroutine. It waits first while as many run as may.
func (g *Group) Go(f func() error) {
	if g.limit != nil {
		g.limit <- struct{}{}
	}
	g.work.Add(1)
	Go(f, g.ended)
}

func (g *Group) ended(err error) {
	g.note(err)
	if g.limit != nil {
		<-g.limit
	}
	g.work.Done()
}

// note keeps an error, and ends the context. A bug is what others have failed of, even if theirs
// came first.
func (g *Group) note(err error) {
	if err == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err == nil || errors.Is(err, ErrInternal) && !errors.Is(g.err, ErrInternal) {
		g.err = err
	}
	if g.cancel != nil {
		g.cancel(g.err)
	}
}

// Wait waits for all goroutines and returns the first error that is ErrInternal, else the first
// error.
func (g *Group) Wait() error {
	g.work.Wait()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.cancel != nil {
		g.cancel(g.err)
	}
	return g.err
}
