package mpgabeam

import (
	"context"
	"sync"
)

// The bundles of a worker run in one process, each with a copy of the function. What they share is
// here.
var (
	slots   = slotTable{bySize: map[int]chan struct{}{}}
	running = newTally()
)

// slotTable bounds the tasks that run at the same time: a channel with room for each number of
// tasks that a plan allows.
type slotTable struct {
	mu     sync.Mutex
	bySize map[int]chan struct{}
}

// take waits for a slot, and returns the function that gives it back.
func (t *slotTable) take(ctx context.Context, size int) (release func(), err error) {
	t.mu.Lock()
	slot := t.bySize[size]
	if slot == nil {
		slot = make(chan struct{}, size)
		t.bySize[size] = slot
	}
	t.mu.Unlock()
	select {
	case slot <- struct{}{}:
		return func() { <-slot }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// tally counts the tasks of each plan that this process runs.
type tally struct {
	mu     sync.Mutex
	ended  sync.Cond // a task has ended
	byPlan map[string]int
}

func newTally() *tally {
	t := &tally{byPlan: map[string]int{}}
	t.ended.L = &t.mu
	return t
}

// begin counts a task, and returns the function that counts it off.
func (t *tally) begin(plan string) (end func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.byPlan[plan]++
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.byPlan[plan]--
		t.ended.Broadcast()
	}
}

// wait returns when the process runs no task of a plan.
func (t *tally) wait(plan string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.byPlan[plan] > 0 {
		t.ended.Wait()
	}
}
