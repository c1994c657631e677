package job

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/mpga/mpga/internal/vfs"
)

// Backfill is a job for each of several dates, in their order.
type Backfill []Dated

// Dated is a job for a date.
type Dated struct {
	Date time.Time
	*Job
}

// LoadBackfill reads a job's file for each of several dates, which take the place of
// ParseOptions.Date. Errors of the file are of type Errors; one of them is a step whose output is
// the same for two dates though what it does is not.
func LoadBackfill(path string, opt ParseOptions, dates []time.Time) (Backfill, error) {
	text, err := readText(path)
	if err != nil {
		return nil, err
	}
	var b Backfill
	for _, date := range dates {
		opt.Date = date
		j, err := Parse(path, text, opt)
		if err != nil {
			return nil, err
		}
		b = append(b, Dated{date, j})
	}
	return b, b.checkOutputs()
}

// checkOutputs refuses dates of which each would replace what the date before has written.
func (b Backfill) checkOutputs() error {
	type writer struct {
		date        time.Time
		fingerprint string
	}
	writers := make(map[string]writer)
	for _, d := range b {
		for i := range d.Steps {
			s := &d.Steps[i]
			fingerprint, err := s.fingerprint()
			if err != nil {
				return err
			}
			for _, file := range []struct{ field, path string }{{"output.path", s.Output.Path},
				{"input.rejects", s.Input.Rejects}} {
				if file.path == "" {
					continue
				}
				path := filepath.Clean(file.path)
				first, taken := writers[path]
				if taken && first.fingerprint != fingerprint {
					e := &Error{Field: fmt.Sprintf("steps[%d].%s", i, file.field),
						Err: fmt.Errorf(
							"%s is written for %s and for %s: a backfill needs the date in the path, as ${date}",
							file.path, dateText(first.date), dateText(d.Date))}
					d.source.locate(e, -1)
					return Errors{e}
				}
				writers[path] = writer{d.Date, fingerprint}
			}
		}
	}
	return nil
}

// DateReport is what became of a date.
type DateReport struct {
	Date    time.Time
	Outcome Outcome // Skipped where every step was
	Report  Report
	Err     error // of a date that failed
}

// BackfillReport is what became of a backfill.
type BackfillReport struct {
	Dates []DateReport // that were begun
	Left  int          // dates that were not begun
}

// Count returns how many dates had an outcome.
func (r *BackfillReport) Count(o Outcome) (n int) {
	for i := range r.Dates {
		if r.Dates[i].Outcome == o {
			n++
		}
	}
	return n
}

// String returns a line with counts, and a line for each date that failed. URLs have no secrets.
func (r *BackfillReport) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d done, %d skipped, %d failed", counted(len(r.Dates)+r.Left, "date"),
		r.Count(Done), r.Count(Skipped), r.Count(Failed))
	if r.Left > 0 {
		fmt.Fprintf(&b, ", %d not begun", r.Left)
	}
	b.WriteByte('\n')
	for i := range r.Dates {
		if d := &r.Dates[i]; d.Err != nil {
			cause, _, _ := strings.Cut(d.Err.Error(), "\n")
			fmt.Fprintf(&b, "  %s failed: %s\n", dateText(d.Date), cause)
		}
	}
	return b.String()
}

// Run runs the job for each date, as Job.Run does, until a date fails; with keepGoing, the other
// dates come all the same. The error names the first date that failed. No other process runs the
// job meanwhile. J4.
func (b Backfill) Run(ctx context.Context, opt Options, keepGoing bool) (report BackfillReport, err error) {
	opt.EnsureDefaults()
	report.Left = len(b)
	if len(b) == 0 {
		return report, nil
	}
	ctx, span := opt.Tracer.Start(ctx, "backfill "+b[0].Name,
		trace.WithAttributes(attribute.String("mpga.job", b[0].Name),
			attribute.Int("mpga.dates", len(b))))
	defer func() { endSpan(span, err) }()
	var lock *os.File
	state := "" // whose lock is held
	defer func() {
		if lock != nil {
			err = errors.Join(err, lock.Close())
		}
	}()
	var failed error
	for _, d := range b {
		if err := context.Cause(ctx); err != nil {
			return report, err
		}
		if d.State != state || lock == nil { // a file may keep the state of each date by itself
			if lock != nil {
				if err := lock.Close(); err != nil {
					return report, err
				}
			}
			if lock, err = d.lock(opt.FS); err != nil {
				return report, fmt.Errorf("job %s: %w", d.Name, err)
			}
			state = d.State
			vfs.RemoveAbandoned(opt.FS, filepath.Join(state, lockName))
		}
		done := d.run(ctx, opt)
		report.Dates = append(report.Dates, done)
		report.Left--
		if done.Err == nil {
			continue
		}
		if err := context.Cause(ctx); err != nil {
			return report, err
		}
		if failed == nil {
			failed = fmt.Errorf("%s: %w", dateText(d.Date), done.Err)
		}
		if !keepGoing {
			break
		}
		opt.Logger.Error("date failed", "job", d.Name, "date", dateText(d.Date), "error", done.Err)
	}
	if n := report.Count(Failed); n > 1 {
		failed = fmt.Errorf("%d of %s failed, the first was %w", n, counted(len(b), "date"), failed)
	}
	return report, failed
}

// run runs the job for its date. Requires: the job's lock is held.
func (d *Dated) run(ctx context.Context, opt Options) DateReport {
	date := dateText(d.Date)
	ctx, span := opt.Tracer.Start(ctx, "date "+date, trace.WithAttributes(attribute.String("mpga.date", date)))
	opt.Logger = opt.Logger.With("date", date)
	done := DateReport{Date: d.Date, Outcome: Skipped}
	done.Report, done.Err = d.runLocked(ctx, opt)
	for _, s := range done.Report.Steps {
		if s.Outcome != Skipped {
			done.Outcome = Done
		}
	}
	if done.Err != nil {
		done.Outcome = Failed
	}
	span.SetAttributes(attribute.String("mpga.outcome", string(done.Outcome)))
	endSpan(span, done.Err)
	return done
}

// Plan says in a line for each date which steps would run. Nothing is written.
func (b Backfill) Plan(ctx context.Context, opt Options) (string, error) {
	var text strings.Builder
	for _, d := range b {
		plan, err := d.Job.Plan(ctx, opt)
		if err != nil {
			return "", fmt.Errorf("%s: %w", dateText(d.Date), err)
		}
		var runs []string
		for i := range plan.Steps {
			if !plan.Steps[i].Skip {
				runs = append(runs, plan.Steps[i].Step.Name)
			}
		}
		what := "nothing to do"
		if len(runs) > 0 {
			what = "runs " + strings.Join(runs, ", ")
		}
		fmt.Fprintf(&text, "%s: %s\n", dateText(d.Date), what)
	}
	return text.String(), nil
}
