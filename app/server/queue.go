package server

import (
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/mpga/mpga/internal/knob"
)

// queue gives places to statements: as many run at once as the limits say. R2, R3.
type queue struct {
	limits *Limits

	mu      sync.Mutex
	taken   int                 // places
	clients map[string]*queuing // by the client's name
	waiting []*waiter           // in the order of their coming
}

// queuing is what a queue knows of a client that runs or waits.
type queuing struct {
	running int
	waiting int
	served  time.Time // when it was given a place last; zero before
}

// waiter is a statement that waits for a place.
type waiter struct {
	client string
	ready  chan struct{} // closed when it has a place
}

func newQueue(limits *Limits) *queue {
	return &queue{limits: limits, clients: make(map[string]*queuing)}
}

// enter waits for a place of a client's. leave gives the place back; further calls of leave do
// nothing.
func (q *queue) enter(ctx context.Context, client string) (leave func(), err error) {
	return q.wait(ctx, client, q.limits.ClientWaiting)
}

// enterAgain is enter for a statement that has begun, and has given its place up: it may always wait.
func (q *queue) enterAgain(ctx context.Context, client string) (leave func(), err error) {
	return q.wait(ctx, client, math.MaxInt)
}

// wait is enter where fewer than most statements of the client wait.
func (q *queue) wait(ctx context.Context, client string, most int) (leave func(), err error) {
	q.mu.Lock()
	c := q.clients[client]
	if c == nil {
		c = &queuing{}
		q.clients[client] = c
	}
	if c.waiting >= most {
		q.mu.Unlock()
		return nil, knob.Errorf("%w: %d statements of this client wait already, the most that may (%s)",
			ErrBusy, c.waiting, clientWaitingKnob)
	}
	w := &waiter{client: client, ready: make(chan struct{})}
	c.waiting++
	q.waiting = append(q.waiting, w)
	q.serve()
	q.mu.Unlock()
	leave = sync.OnceFunc(func() { q.leave(client) })
	select {
	case <-w.ready:
		return leave, nil
	case <-ctx.Done():
	}
	q.mu.Lock()
	i := slices.Index(q.waiting, w)
	if i >= 0 {
		q.waiting = slices.Delete(q.waiting, i, i+1)
		c.waiting--
		q.forget(client, c)
	}
	q.mu.Unlock()
	if i < 0 { // the place came at the same time
		leave()
	}
	return nil, context.Cause(ctx)
}

// serve gives away free places.
// Requires: q.mu is held.
func (q *queue) serve() {
	for q.taken < q.limits.Queries {
		best := -1
		for i, w := range q.waiting {
			if q.clients[w.client].running < q.limits.ClientQueries && (best < 0 || q.before(w, q.waiting[best])) {
				best = i
			}
		}
		if best < 0 {
			return
		}
		w := q.waiting[best]
		q.waiting = slices.Delete(q.waiting, best, best+1)
		c := q.clients[w.client]
		c.waiting--
		c.running++
		c.served = time.Now()
		q.taken++
		close(w.ready)
	}
}

// before says whether a statement comes before another that has waited longer.
// Requires: q.mu is held.
func (q *queue) before(a, b *waiter) bool {
	x, y := q.clients[a.client], q.clients[b.client]
	if x.running != y.running {
		return x.running < y.running
	}
	return x.served.Before(y.served)
}

// leave gives a place back.
func (q *queue) leave(client string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	c := q.clients[client]
	c.running--
	q.taken--
	q.forget(client, c)
	q.serve()
}

// forget drops a client that neither runs nor waits, while no other client waits either: as long as
// some do, when the client was served last still counts.
// Requires: q.mu is held.
func (q *queue) forget(client string, c *queuing) {
	if c.running == 0 && c.waiting == 0 && len(q.waiting) == 0 {
		delete(q.clients, client)
	}
	if len(q.waiting) == 0 && len(q.clients) > 2*q.limits.Queries {
		for name, c := range q.clients {
			if c.running == 0 && c.waiting == 0 {
				delete(q.clients, name)
			}
		}
	}
}

// counts returns how many statements run and wait.
func (q *queue) counts() (running, waiting int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.taken, len(q.waiting)
}
