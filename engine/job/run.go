package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/sink"
	"github.com/mpga/mpga/internal/vfs"
)

// Options are what a job runs with. The zero value is usable.
type Options struct {
	// Force runs every step, also steps whose last success still holds.
	Force bool

	// Version is the version of the program. The outputs of another version are made again.
	Version string

	// FS is where inputs, outputs and the states of steps are; the lock is a file of the system in
	// any case. The default is vfs.OS.
	FS vfs.FS

	// Logger takes what happens. The default discards.
	Logger *slog.Logger

	// Tracer takes a span of the job, of each step and of each of its phases. The default takes
	// none.
	Tracer trace.Tracer

	// Open opens the engine of a step, and may adapt how its result is written.
	// The default is engine.Open.
	Open func(engine.Options, *sink.Options) (*engine.Engine, error)

	// Progress, when set, is called while a step runs, as engine.Options.Progress is: calls of several
	// queries of the step's statement may overlap.
	Progress func(step string, p engine.Progress)

	// Report, when set, is called when a step has ended.
	Report func(StepReport)

	sleep func(context.Context, time.Duration) error // testing knob
}

// EnsureDefaults fills in fields that are zero.
func (o *Options) EnsureDefaults() {
	o.FS = cmp.Or(o.FS, vfs.OS)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.Tracer = cmp.Or(o.Tracer, noop.NewTracerProvider().Tracer(""))
	if o.Open == nil {
		o.Open = func(opt engine.Options, _ *sink.Options) (*engine.Engine, error) { return engine.Open(opt) }
	}
	if o.sleep == nil {
		o.sleep = sleep
	}
}

// Outcome is how a step has ended.
type Outcome string

// The outcomes.
const (
	Done    Outcome = "done"
	Skipped Outcome = "skipped" // its last success still holds
	Failed  Outcome = "failed"
)

// StepReport is what became of a step.
type StepReport struct {
	Step     string
	Outcome  Outcome
	Reason   string // why the step ran, or was skipped
	Started  time.Time
	Elapsed  time.Duration
	Attempts int          // 1 where none had to be repeated
	Stats    engine.Stats // of the last attempt; zero of a step that was skipped
	Rows     int64        // of the output
	Files    int          // that the output consists of
	Bytes    int64        // of these files
	Err      error        // of a step that failed
}

// Report is what became of a job.
type Report struct {
	Started time.Time
	Elapsed time.Duration
	Steps   []StepReport // that were begun
}

// Run runs the steps of a job, one after the other, until a step fails. The error then names the
// step. ErrLocked says that the job runs already. When the context ends the step that runs is given
// up, and nothing of its output is left.
func (j *Job) Run(ctx context.Context, opt Options) (report Report, err error) {
	opt.EnsureDefaults()
	j.EnsureDefaults()
	if err := j.Validate(); err != nil {
		return report, err
	}
	lock, err := j.lock(opt.FS)
	if err != nil {
		return report, fmt.Errorf("job %s: %w", j.Name, err)
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	vfs.RemoveAbandoned(opt.FS, filepath.Join(j.State, lockName))
	return j.runLocked(ctx, opt)
}

// runLocked runs the steps. Requires: the job's lock is held; options and job have their defaults.
func (j *Job) runLocked(ctx context.Context, opt Options) (report Report, err error) {
	report.Started = time.Now()
	ctx, span := opt.Tracer.Start(ctx, "job "+j.Name, trace.WithAttributes(attribute.String("mpga.job", j.Name)))
	defer func() {
		report.Elapsed = time.Since(report.Started)
		endSpan(span, err)
	}()
	opt.Logger.Info("job started", "job", j.Name, "steps", len(j.Steps))
	skipped := 0
	for i := range j.Steps {
		if err := context.Cause(ctx); err != nil {
			return report, err
		}
		r := stepRun{Options: &opt, job: j, step: &j.Steps[i], log: opt.Logger.With("job", j.Name, "step", j.Steps[i].Name)}
		done := r.run(ctx)
		report.Steps = append(report.Steps, done)
		if opt.Report != nil {
			opt.Report(done)
		}
		if done.Err != nil {
			return report, j.stepError(i, done.Err)
		}
		if done.Outcome == Skipped {
			skipped++
		}
	}
	opt.Logger.Info("job done", "job", j.Name, "steps", len(j.Steps), "skipped", skipped,
		"elapsed_seconds", time.Since(report.Started).Seconds())
	return report, nil
}

// lock takes the lock in the folder of the state, which is made if it is missing, for its owner
// alone.
func (j *Job) lock(fsys vfs.FS) (*os.File, error) {
	err := fsys.MkdirAll(filepath.Dir(j.State), 0o777)
	if err == nil {
		err = fsys.MkdirAll(j.State, 0o700)
	}
	if err == nil {
		var held *os.File
		if held, err = takeLock(j.State); err == nil || errors.Is(err, ErrLocked) {
			return held, err
		}
	}
	return nil, fmt.Errorf("%w (state: in the file, or --state, names another folder)", err)
}
