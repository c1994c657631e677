package job

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/scan/csv"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/engine/sink"
	"github.com/mpga/mpga/internal/order"
	"github.com/mpga/mpga/internal/redact"
)

// stepRun is one step while it runs.
type stepRun struct {
	*Options
	job    *Job
	step   *Step
	log    *slog.Logger
	report StepReport
}

// run runs the step, repeatedly where an error may pass.
func (r *stepRun) run(ctx context.Context) StepReport {
	s := r.step
	r.report = StepReport{Step: s.Name, Outcome: Done, Started: time.Now()}
	ctx, span := r.Tracer.Start(ctx, "step "+s.Name, trace.WithAttributes(
		attribute.String("mpga.job", r.job.Name), attribute.String("mpga.step", s.Name),
		attribute.String("mpga.output", redact.URL(s.Output.Path))))
	if limit := time.Duration(s.Limits.Time); limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, fmt.Errorf("it took longer than limits.time (%v)", limit))
		defer cancel()
	}
	err := redact.Error(r.attempts(ctx))
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx) // err may say no more than that the context was cancelled
	}
	if err != nil {
		r.report.Outcome, r.report.Err = Failed, err
	}
	r.report.Elapsed = time.Since(r.report.Started)
	r.logEnd()
	span.SetAttributes(attribute.String("mpga.outcome", string(r.report.Outcome)),
		attribute.Int("mpga.attempts", r.report.Attempts))
	span.SetAttributes(StatsAttributes(r.report.Stats)...)
	endSpan(span, err)
	return r.report
}

func (r *stepRun) logEnd() {
	stats := &r.report.Stats
	switch r.report.Outcome {
	case Skipped:
		r.log.Info("step skipped", "reason", r.report.Reason)
	case Done:
		r.log.Info("step done", "rows_read", stats.RowsRead, "bytes_read", stats.BytesRead,
			"spilled_bytes", stats.SpilledBytes,
			"output", redact.URL(r.step.Output.Path), "rows", r.report.Rows, "output_bytes", r.report.Bytes,
			"attempts", r.report.Attempts, "elapsed_seconds", r.report.Elapsed.Seconds())
	}
}

// attempts tries the step until it is done, has failed for good, or was tried often enough. J5.
func (r *stepRun) attempts(ctx context.Context) error {
	pauses := r.step.Retry.pauses()
	for {
		r.report.Attempts++
		err := r.attempt(ctx)
		if err == nil || ctx.Err() != nil || !mayPass(err) {
			return err
		}
		if r.report.Attempts >= r.step.Retry.Attempts {
			if r.report.Attempts > 1 {
				err = fmt.Errorf("%w (after %d attempts)", err, r.report.Attempts)
			}
			return err
		}
		wait := pauses.NextBackOff()
		r.log.Warn("attempt failed", "attempt", r.report.Attempts, "error", redact.Error(err), "wait_seconds", wait.Seconds())
		if err := r.sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// attempt runs the step once, or finds that there is nothing to do.
func (r *stepRun) attempt(ctx context.Context) error {
	s := r.step
	scanOptions, err := s.Input.options()
	if err != nil {
		return err
	}
	scanOptions.FS = r.FS
	now, skip, reason, err := r.job.inspect(ctx, s, scanOptions, r.Options)
	if err != nil {
		return err
	}
	if r.report.Reason = reason; skip {
		r.report.Outcome = Skipped
		return nil
	}
	if s.Input.Rejects != "" && !isURL(s.Input.Rejects) {
		if err := csv.CheckRejectsFile(r.FS, s.Input.Rejects); err != nil {
			return fmt.Errorf("input.rejects: %w", err)
		}
	}
	r.log.Info("step started", "reason", reason, "files", len(now.Inputs), "bytes", totalBytes(now.Inputs))
	for _, path := range []string{s.Output.Path, s.Input.Rejects} {
		if path == "" || isURL(path) {
			continue
		}
		if err := r.FS.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return err
		}
	}
	if err := r.answer(ctx, scanOptions); err != nil {
		return err
	}
	now.Outputs, err = written(r.FS, s.Output.Path)
	if err != nil {
		return err
	}
	r.report.Files, r.report.Bytes = len(now.Outputs), totalBytes(now.Outputs)
	now.Finished, now.Rows = time.Now().UTC(), r.report.Rows
	return now.write(r.FS, r.job.statePath(s))
}

// inspect lists a step's inputs, and says whether the step need not run, and why.
func (j *Job) inspect(ctx context.Context, s *Step, scanOptions dataset.Options,
	opt *Options) (now *stepState, skip bool, reason string, err error) {
	now = &stepState{Format: stateFormat, Step: s.Name, Version: opt.Version}
	if now.Fingerprint, err = s.fingerprint(); err != nil {
		return nil, false, "", err
	}
	now.Inputs, err = s.inputs(ctx, scanOptions)
	if s.Input.Optional && errors.Is(err, dataset.ErrNoFile) {
		return nil, true, "its input is optional, and there is none: " + redact.Error(err).Error(), nil
	}
	if err != nil {
		return nil, false, "", err
	}
	for _, in := range now.Inputs {
		rejects := redact.URL(s.Input.Rejects)
		if within(in.Path, redact.URL(s.Output.Path)) || rejects != "" && within(in.Path, rejects) {
			return nil, false, "", fmt.Errorf("%s: the step would read what it writes", in.Path)
		}
	}
	switch reason = readState(opt.FS, j.statePath(s)).why(opt.FS, now, s.Output.Path); {
	case reason != "":
		return now, false, reason, nil
	case opt.Force:
		return now, false, "it is forced", nil
	}
	return now, true, "nothing has changed", nil
}

// within reports whether a file is an output, or a file of an output that is a directory.
func within(file, output string) bool {
	file, output = filepath.Clean(file), filepath.Clean(output)
	return file == output || strings.HasPrefix(file, output+string(filepath.Separator))
}

// isURL reports whether a path names an object in a store.
func isURL(path string) bool { return strings.Contains(path, "://") }

// answer runs the query and writes its result.
func (r *stepRun) answer(ctx context.Context, scanOptions dataset.Options) (err error) {
	s := r.step
	sinkOptions, err := s.sinkOptions()
	if err != nil {
		return err
	}
	sinkOptions.FS = r.FS
	query, err := s.query()
	if err != nil {
		return err
	}
	sinkOptions.Query = query.text
	started := time.Now()
	options := r.engineOptions(ctx)
	eng, err := r.Open(options, &sinkOptions)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, eng.Close()) }()
	if s.Rollup.State != "" {
		return r.runRollup(ctx, eng, s.rollup(query, r.Options, scanOptions, sinkOptions))
	}
	scanOptions.Budget = eng.Budget()
	rejects := csv.NewRejects(r.FS, options.TempDir)
	if scanOptions.CSV.IgnoreErrors {
		scanOptions.CSV.Rejects = rejects
	}
	defer func() { err = errors.Join(err, rejects.Close()) }()
	source, err := s.open(ctx, scanOptions)
	if err != nil {
		return err
	}
	prepared, err := query.prepare(ctx, eng, source, s.tables(r.FS))
	if err != nil {
		return err
	}
	defer prepared.Close()
	result, err := prepared.Run(ctx)
	if err != nil {
		return err
	}
	defer result.Release()
	sinkOptions.Collect = func(schema *arrow.Schema, by order.By, purpose string) (*order.Collector, error) {
		return eng.Statement(ctx).Collector(ctx, schema, by, purpose)
	}
	out, err := sink.Create(ctx, s.Output.Path, result.Schema(), sinkOptions)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Abort()) }() // nothing after Commit
	r.report.Rows = 0                                      // an earlier attempt may have written some
	for result.Next() {
		if err := out.Write(result.RecordBatch()); err != nil {
			return err
		}
		r.report.Rows += result.RecordBatch().NumRows()
	}
	r.report.Stats = result.Stats()
	TracePhases(ctx, r.Tracer, started, r.report.Stats)
	if err := errors.Join(result.Err(), context.Cause(ctx)); err != nil {
		return err
	}
	if err := rejects.Tell(r.log, r.FS, s.Input.Rejects); err != nil {
		return fmt.Errorf("input.rejects: %w", err)
	}
	if err := rejects.Check(s.Input.CSV.MaxRejects, s.Input.Rejects); err != nil {
		return err
	}
	return out.Commit()
}

// engineOptions returns how the engine of the step is opened.
func (r *stepRun) engineOptions(ctx context.Context) engine.Options {
	options := r.step.engineOptions()
	options.FS = r.FS
	options.Progress = r.progress()
	if r.log.Enabled(ctx, slog.LevelDebug) {
		options.Logger = r.log
	}
	options.EnsureDefaults()
	return options
}

// progressEvery is how often a step that runs long says in the log how far it is.
const progressEvery = 30 * time.Second

// progress returns what takes the engine's progress.
func (r *stepRun) progress() func(engine.Progress) {
	var mu sync.Mutex // queries of a statement run at the same time
	next := progressEvery
	isDue := func(p *engine.Progress) bool {
		mu.Lock()
		defer mu.Unlock()
		if p.Elapsed < next || p.Done {
			return false
		}
		next = p.Elapsed + progressEvery
		return true
	}
	return func(p engine.Progress) {
		if isDue(&p) {
			r.log.Info("step running", "phase", p.Phase, "fraction", p.Fraction, "rows_read", p.RowsRead,
				"elapsed_seconds", p.Elapsed.Seconds())
		}
		if r.Progress != nil {
			r.Progress(r.step.Name, p)
		}
	}
}

func totalBytes(files []dataset.Identity) int64 {
	var sum int64
	for _, f := range files {
		sum += f.Bytes
	}
	return sum
}
