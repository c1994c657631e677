package engine

import (
	"context"
	"sync"

	"github.com/mpga/mpga/cpuagg"
)

// taskQueue shares the tasks of the partition-processing phase among workers. A task that is split
// puts others in its place, so that the queue is at its end when it is empty and nobody works.
type taskQueue struct {
	mu     sync.Mutex
	tasks  []cpuagg.Task
	active int
	wake   chan struct{} // closed and replaced when tasks come, or when the end does
}

func newTaskQueue(tasks []cpuagg.Task) *taskQueue {
	return &taskQueue{tasks: tasks, wake: make(chan struct{})}
}

// take returns the next task. It returns false when all is done or the context is. The worker is
// then active until it calls release.
func (q *taskQueue) take(ctx context.Context) (cpuagg.Task, bool) {
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
			return cpuagg.Task{}, false
		}
		select {
		case <-wake:
		case <-ctx.Done():
			return cpuagg.Task{}, false
		}
	}
}

// put adds tasks, before those that wait: what a split has made is processed while it is in memory.
func (q *taskQueue) put(tasks []cpuagg.Task) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.tasks = append(tasks, q.tasks...)
	q.wakeAll()
}

// release says that the worker is done with its task.
func (q *taskQueue) release() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.active--
	if q.active == 0 {
		q.wakeAll()
	}
}

// wakeAll lets the workers that wait look again.
//
// Requires: q.mu is held.
func (q *taskQueue) wakeAll() {
	close(q.wake)
	q.wake = make(chan struct{})
}
