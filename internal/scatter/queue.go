package scatter

import (
	"context"
	"sync"
)

// Queue shares the tasks of the partition-processing phase among workers. A task that is split
// puts other tasks in its place, so that the queue is at its end when it is empty and no worker is
// active.
type Queue[T any] struct {
	mu     sync.Mutex
	tasks  []T
	active int           // workers that have taken a task and not called Release
	wake   chan struct{} // closed and replaced when tasks come, and at the end
}

// NewQueue returns a queue of tasks.
func NewQueue[T any](tasks []T) *Queue[T] {
	return &Queue[T]{tasks: tasks, wake: make(chan struct{})}
}

// Take returns the next task; the worker is then active until it calls Release. It returns false
// when all tasks or the context are done.
func (q *Queue[T]) Take(ctx context.Context) (task T, ok bool) {
	for {
		q.mu.Lock()
		if len(q.tasks) > 0 {
			t := q.tasks[0]
			q.tasks = q.tasks[1:]
			q.active++
			q.mu.Unlock()
			return t, true
		}
		wake, active := q.wake, q.active
		q.mu.Unlock()
		if active == 0 {
			return task, false
		}
		select {
		case <-wake:
		case <-ctx.Done():
			return task, false
		}
	}
}

// Put adds tasks before the waiting tasks: partitions that a split has made are processed while
// they are in memory.
func (q *Queue[T]) Put(tasks []T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.tasks = append(tasks, q.tasks...)
	q.wakeAll()
}

// Release says that the worker is done with its task.
func (q *Queue[T]) Release() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.active--
	if q.active == 0 {
		q.wakeAll()
	}
}

// wakeAll lets the workers that wait look again.
// Requires: q.mu is held.
func (q *Queue[T]) wakeAll() {
	close(q.wake)
	q.wake = make(chan struct{})
}
