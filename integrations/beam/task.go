package mpgabeam

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/log"
)

// runFn runs tasks of one stage, each as a child process. Its fields go to the workers as JSON.
type runFn struct {
	Path    string
	Stage   string
	Options Options

	counters counters
}

// Setup is called once for each copy of the function in a worker.
func (f *runFn) Setup() { f.counters = newCounters(f.Stage) }

// ProcessElement runs a task and returns its totals. The context ends with the worker: a runner that
// cancels a job stops the workers.
func (f *runFn) ProcessElement(ctx context.Context, task int64) (Totals, error) {
	defer running.begin(f.Path)()
	release, err := slots.take(ctx, f.Options.TasksAtOnce)
	if err != nil {
		return Totals{}, err
	}
	defer release()

	pause := f.Options.Pause
	for attempt := 1; ; attempt++ {
		totals, err := f.try(ctx, task)
		if err == nil {
			f.counters.add(ctx, totals)
			return totals, nil
		}
		f.counters.failed.Inc(ctx, 1)
		if attempt == f.Options.Attempts || ctx.Err() != nil || errors.Is(err, errPermanent) {
			return Totals{}, err
		}
		log.Warnf(ctx, "attempt %d of %d: %v", attempt, f.Options.Attempts, err)
		if err := sleep(ctx, pause); err != nil {
			return Totals{}, err
		}
		pause *= 2
	}
}

// try runs a task once.
func (f *runFn) try(ctx context.Context, task int64) (Totals, error) {
	c := child{
		binary: f.Options.Binary,
		args:   taskArgs(f.Path, f.Stage, task, f.Options),
		grace:  f.Options.Grace,
		log:    func(line string) { log.Infof(ctx, "%s %d: %s", f.Stage, task, line) },
	}
	printed, err := c.run(ctx)
	if err != nil {
		return Totals{}, err
	}
	totals, err := parseSummary(printed, f.Stage, task)
	if err != nil {
		return Totals{}, fmt.Errorf("%s: %w (%w: another version of mpga?)", c.command(), err, errPermanent)
	}
	return totals, nil
}

// sleep waits, and returns the error of the context where that ends first.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
