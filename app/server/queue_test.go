package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"
)

// waitUntil waits for what other goroutines do.
func waitUntil(t *testing.T, what string, done func() bool) {
	t.Helper()
	for range 10_000 {
		if done() {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("%s: never", what)
}

// A client with a thousand statements does not keep another from its turn: places are given in
// turns, in the order of coming within a client. Would catch a queue that is first come, first
// served. R3.
func TestQueueFair(t *testing.T) {
	limits := &Limits{Queries: 1, ClientQueries: 1, ClientWaiting: 100}
	q := newQueue(limits)
	leave, err := q.enter(context.Background(), "first")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var order []string
	var all sync.WaitGroup
	ask := func(client string, n int) {
		_, before := q.counts()
		all.Add(1)
		go func() {
			defer all.Done()
			leave, err := q.enter(context.Background(), client)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			order = append(order, fmt.Sprint(client, n))
			mu.Unlock()
			leave()
			leave() // does nothing
		}()
		waitUntil(t, "waiting", func() bool { _, now := q.counts(); return now > before })
	}
	for n := range 4 {
		ask("a", n)
	}
	for n := range 2 {
		ask("b", n)
	}
	ask("c", 0)
	leave()
	all.Wait()
	if want := []string{"a0", "b0", "c0", "a1", "b1", "a2", "a3"}; !slices.Equal(order, want) {
		t.Errorf("got %v, want %v", order, want)
	}
	if running, waiting := q.counts(); running+waiting > 0 || len(q.clients) > 0 {
		t.Errorf("%d run, %d wait, and %d clients are remembered", running, waiting, len(q.clients))
	}
}

// Limits hold for all and for each client, and who does not wait any more gets no place. R2.
func TestQueueLimits(t *testing.T) {
	q := newQueue(&Limits{Queries: 3, ClientQueries: 2, ClientWaiting: 1})
	ctx, cancel := context.WithCancelCause(context.Background())
	var leaves []func()
	for range 2 {
		leave, err := q.enter(ctx, "a")
		if err != nil {
			t.Fatal(err)
		}
		leaves = append(leaves, leave)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := q.enter(ctx, "a") // two of its own run
		ended <- err
	}()
	waitUntil(t, "waiting", func() bool { _, n := q.counts(); return n == 1 })
	if _, err := q.enter(ctx, "a"); !errors.Is(err, ErrBusy) {
		t.Errorf("a second one waits: %v", err)
	}
	leave, err := q.enter(context.Background(), "b") // before "a", which waits longer
	if err != nil {
		t.Fatal(err)
	}
	gone := errors.New("gone")
	cancel(gone)
	if err := <-ended; !errors.Is(err, gone) {
		t.Errorf("got %v, want the cause", err)
	}
	leave()
	for _, leave := range leaves {
		leave()
	}
	if running, waiting := q.counts(); running+waiting > 0 {
		t.Errorf("%d run and %d wait at the end", running, waiting)
	}
}

// At most so many run at a time, and all get a place, whatever comes together. Would catch a place
// that is lost or given twice.
func TestQueueMany(t *testing.T) {
	q := newQueue(&Limits{Queries: 3, ClientQueries: 2, ClientWaiting: 1000})
	var mu sync.Mutex
	running, most := 0, 0
	var all sync.WaitGroup
	for n := range 300 {
		all.Add(1)
		go func() {
			defer all.Done()
			ctx, cancel := context.WithTimeout(context.Background(), time.Duration(n%7)*time.Millisecond)
			defer cancel()
			if n%7 == 0 {
				ctx = context.Background()
			}
			leave, err := q.enter(ctx, fmt.Sprint("client ", n%5))
			if err != nil {
				return
			}
			mu.Lock()
			running++
			most = max(most, running)
			mu.Unlock()
			time.Sleep(time.Millisecond / 2)
			mu.Lock()
			running--
			mu.Unlock()
			leave()
		}()
	}
	all.Wait()
	if most > 3 || most < 2 {
		t.Errorf("%d ran at once, where 3 may", most)
	}
	if running, waiting := q.counts(); running+waiting > 0 {
		t.Errorf("%d run and %d wait at the end", running, waiting)
	}
}
