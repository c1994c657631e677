package distributed

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Status tells what of a plan is done.
type Status struct {
	ID        string        `json:"id"`
	Committed bool          `json:"committed"`
	Stages    []StageStatus `json:"stages"`
}

// StageStatus tells what of a stage is done.
type StageStatus struct {
	Name    string `json:"name"`
	Tasks   int    `json:"tasks"`
	Done    int    `json:"done"`
	Missing []int  `json:"missing"` // the first 10,000 numbers of tasks that are not done
}

const missingMax = 10_000

// Status lists each stage once. It reads no manifest, so that a task counts as done that was done of
// other attempts than the sealed ones.
func (t *Tasks) Status() (*Status, error) {
	s := &Status{ID: t.Plan.ID}
	before, err := t.remembered()
	if err != nil {
		return nil, t.explainDamage(err)
	}
	s.Committed = before != nil
	for _, stage := range t.Plan.Stages {
		done := make([]bool, stage.Tasks)
		switch {
		case s.Committed: // what the stages have left may be gone
			for task := range done {
				done[task] = true
			}
		case stage.Name != StageCommit:
			if err := t.doneOf(stage.Name, done); err != nil {
				return nil, err
			}
		}
		s.Stages = append(s.Stages, statusOf(stage, done))
	}
	return s, nil
}

func statusOf(stage Stage, done []bool) StageStatus {
	status := StageStatus{Name: stage.Name, Tasks: stage.Tasks, Missing: []int{}}
	for task, is := range done {
		switch {
		case is:
			status.Done++
		case len(status.Missing) < missingMax:
			status.Missing = append(status.Missing, task)
		}
	}
	return status
}

// doneOf notes which tasks of a stage are done.
func (t *Tasks) doneOf(stage string, done []bool) error {
	names, err := t.attempts(stage, "")
	if err != nil {
		return err
	}
	if stage != StageMerge {
		for _, name := range names {
			if task, ok := taskOf(name); ok && task < len(done) {
				done[task] = true
			}
		}
		return nil
	}
	merged := make([]bool, t.Plan.Partitions)
	for _, name := range names {
		of, ok := rangeOf(name)
		for n := of.First; ok && n <= of.Last && n < len(merged); n++ {
			merged[n] = true
		}
	}
	for task, of := range t.Plan.Merges {
		done[task] = true
		for n := of.First; n <= of.Last; n++ {
			done[task] = done[task] && merged[n]
		}
	}
	return nil
}

// rangeOf returns the partitions that the name of a merge says.
func rangeOf(name string) (of Range, ok bool) {
	key, _, _ := strings.Cut(name, ".")
	first, last, _ := strings.Cut(key, "-")
	var err1, err2 error
	of.First, err1 = strconv.Atoi(first)
	of.Last, err2 = strconv.Atoi(last)
	return of, err1 == nil && err2 == nil && of.First >= 0
}

// A waiting task looks at its stage after waitFirst, and then less often: many may wait.
const (
	waitFirst = 2 * time.Second
	waitMost  = 30 * time.Second
)

// Wait returns when all tasks of a stage are done, or the context has ended.
func (t *Tasks) Wait(ctx context.Context, stage string) error {
	tasks := t.Plan.tasks(stage)
	if tasks == 0 {
		return fmt.Errorf("%w: it has no stage %s", ErrPlan, stage)
	}
	for every := waitFirst; ; every = min(every*3/2, waitMost) {
		done := make([]bool, tasks)
		before, err := t.remembered()
		if err == nil && before == nil && stage != StageCommit {
			err = t.doneOf(stage, done)
		}
		if err != nil || before != nil || !slices.Contains(done, false) {
			return t.explainDamage(err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %s: %w", ErrNotDone, stage, context.Cause(ctx))
		case <-time.After(every):
		}
	}
}
