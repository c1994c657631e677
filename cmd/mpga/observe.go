package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/device"
	"github.com/mpga/mpga/engine/job"
	"github.com/mpga/mpga/engine/objects"
	"github.com/mpga/mpga/internal/redact"
	"github.com/mpga/mpga/internal/vfs"
)

// observer is what all commands share: the log, the traces and the metrics by which a command is
// watched from outside, and the file system. Traces and metrics that nobody asks for cost nothing.
type observer struct {
	logLevel  string
	logFormat string
	verbose   int

	otlpFile      string
	metricsFile   string
	metricsListen string

	args    []string     // of the command line
	devices *device.Pool // of a process that stays between commands; nil of others

	httpTimeout time.Duration
	files       *objects.FS // the files of the system, and objects of stores by their URLs; nil before start

	started time.Time
	command string
	jobName string
	traces  *traces // nil when nobody has asked for traces
	tracer  trace.Tracer
	span    trace.Span // of the command; nil without traces, and of mpga run, whose job has a span of its own
	metrics *metrics   // nil when nobody has asked for metrics
}

func (o *observer) register(flags *pflag.FlagSet) {
	themed(flags, themeLogging, func() {
		flags.StringVar(&o.logLevel, "log-level", "warn",
			"log to stderr from `LEVEL` on: debug, info, warn or error; mpga run begins at info")
		flags.CountVarP(&o.verbose, "verbose", "v", "log more: -v is --log-level info, -vv is debug")
		flags.StringVar(&o.logFormat, "log-format", "text", "of the log: `WORD` is text or json")
	})
	themed(flags, themeWatching, func() {
		flags.StringVar(&o.otlpFile, "otlp-file", "",
			"write an OpenTelemetry trace to `FILE`, as OTLP's JSON; OTEL_EXPORTER_OTLP_ENDPOINT sends it to a collector")
		flags.StringVar(&o.metricsFile, "metrics-file", "",
			"write metrics to `FILE` at the end, for node_exporter's textfile collector")
		flags.StringVar(&o.metricsListen, "metrics-listen", "",
			"serve metrics at http://`ADDRESS`/metrics while the command runs, as in localhost:9464")
	})
	themed(flags, themeInput, func() {
		flags.DurationVar(&o.httpTimeout, "http-timeout", 30*time.Second,
			"give a request up when a server has sent nothing for a `TIME` as 90s or 5m; it is tried once more")
	})
}

// logLevelAnnotation is the annotation of a command with a log level of its own.
const logLevelAnnotation = "mpga-log-level"

type observerKey struct{}

// observerOf returns what observes a command, by its context.
func observerOf(ctx context.Context) *observer {
	if o, ok := ctx.Value(observerKey{}).(*observer); ok {
		return o
	}
	return &observer{tracer: noop.NewTracerProvider().Tracer("")}
}

// filesOf returns the file system of a command.
func filesOf(ctx context.Context) vfs.FS {
	if files := observerOf(ctx).files; files != nil {
		return files
	}
	return vfs.OS
}

// start begins to observe a command.
func (o *observer) start(cmd *cobra.Command) error {
	level := o.logLevel
	if own := cmd.Annotations[logLevelAnnotation]; own != "" && !cmd.Flags().Changed("log-level") {
		level = own
	}
	if err := setLogger(cmd.ErrOrStderr(), level, o.logFormat, o.verbose); err != nil {
		return err
	}
	if err := o.handOver(cmd); err != nil {
		return err
	}
	for flag, path := range map[string]string{"--otlp-file": o.otlpFile, "--metrics-file": o.metricsFile} {
		if err := checkFolder(flag, path); err != nil {
			return err
		}
	}
	o.started, o.command = time.Now(), cmd.Name()
	o.tracer = noop.NewTracerProvider().Tracer("")
	if o.httpTimeout <= 0 {
		return usagef("--http-timeout %s: want a time such as 30s or 5m", o.httpTimeout)
	}
	ctx := context.WithValue(cmd.Context(), observerKey{}, o)
	var err error
	if o.files, err = objects.New(ctx, vfs.OS,
		objects.Options{Timeout: o.httpTimeout, Logger: slog.Default()}); err != nil {
		return err
	}
	if o.traces, err = startTraces(ctx, o.otlpFile); err != nil {
		return err
	}
	if o.traces != nil {
		o.tracer = o.traces.provider.Tracer("github.com/mpga/mpga", trace.WithInstrumentationVersion(buildVersion()))
		ctx = o.traces.parent(ctx)
		if o.command != "run" {
			ctx, o.span = o.tracer.Start(ctx, o.command)
		}
	}
	if o.metricsFile != "" || o.metricsListen != "" {
		if o.metrics, err = startMetrics(o.metricsListen, o.started, o.command); err != nil {
			return err
		}
	}
	cmd.SetContext(ctx)
	return nil
}

// checkFolder refuses a file that could not be written when the work is done.
func checkFolder(flag, path string) error {
	if path == "" {
		return nil
	}
	if info, err := os.Stat(filepath.Dir(path)); err != nil || !info.IsDir() {
		return usagef("%s %s: there is no directory %s", flag, path, filepath.Dir(path))
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return usagef("%s %s: want a file", flag, path)
	}
	return nil
}

// query notes what a query of the command did.
func (o *observer) query(ctx context.Context, stats engine.Stats) {
	if o.span != nil {
		o.span.SetAttributes(job.StatsAttributes(stats)...)
		job.TracePhases(ctx, o.tracer, time.Now().Add(-stats.Elapsed), stats)
	}
	if o.metrics != nil {
		o.metrics.query(stats, "command", o.command)
	}
}

// job says which job the command runs.
func (o *observer) job(name string) {
	o.jobName = name
	if o.metrics != nil {
		o.metrics.begin(o.started, "command", o.command, "job", name)
	}
}

// progress notes how far the query of a command is, or a step of a job.
func (o *observer) progress(step string, p engine.Progress) {
	if o.metrics != nil {
		o.metrics.progress(p, "command", o.command, "job", o.jobName, "step", step)
	}
}

// step notes how a step of a job has ended.
func (o *observer) step(report job.StepReport) {
	if o.metrics != nil {
		o.metrics.step(report, "command", o.command, "job", o.jobName, "step", report.Step)
	}
}

// backfill notes what became of the dates of a job.
func (o *observer) backfill(report *job.BackfillReport) {
	if o.metrics == nil {
		return
	}
	for _, outcome := range []job.Outcome{job.Done, job.Skipped, job.Failed} {
		o.metrics.set("mpga_backfill_dates", float64(report.Count(outcome)), "command", o.command,
			"job", o.jobName, "outcome", string(outcome))
	}
}

const (
	// flushTimeMax bounds how long a collector that does not answer holds up a command that is
	// done.
	flushTimeMax = 5 * time.Second

	// flushTimeInterrupted takes the place of flushTimeMax after Ctrl-C, which ends a command
	// within a second.
	flushTimeInterrupted = 400 * time.Millisecond
)

// end writes and sends the metrics and traces of a command that ended with an error or nil.
func (o *observer) end(err error, code int) error {
	if o.span != nil {
		if err := redact.Error(err); err != nil {
			o.span.RecordError(err)
			o.span.SetStatus(codes.Error, err.Error())
		}
		o.span.End()
	}
	var errs []error
	if o.traces != nil {
		most := flushTimeMax
		if code == exitInterrupted {
			most = flushTimeInterrupted
		}
		ctx, cancel := context.WithTimeout(context.Background(), most)
		defer cancel()
		errs = append(errs, o.traces.stop(ctx))
	}
	if o.metrics != nil {
		o.metrics.run(o.started, code, "command", o.command, "job", o.jobName)
		errs = append(errs, o.metrics.stop(o.metricsFile))
	}
	return errors.Join(errs...)
}

// logError writes the error that ends a command to a log that programs read.
func (o *observer) logError(text string, err error, code int) bool {
	if o.logFormat != "json" || o.started.IsZero() {
		return false
	}
	attributes := []any{"exit_code", code}
	if report := bugReport(err); report != "" {
		attributes = append(attributes, "bug", report)
	}
	slog.Error(text, attributes...)
	return true
}
