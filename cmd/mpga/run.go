package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/job"
	"github.com/mpga/mpga/engine/sink"
)

// runFlags are the flags of mpga run.
type runFlags struct {
	set    []string
	date   string
	state  string
	dryRun bool
	force  bool
	schema bool
	backfillFlags
}

func newRunCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run JOB.yaml",
		Short: "Run a job: queries over files, one after the other",
		Long: `Run the steps of a job's file, each a query over files with an output.

A step whose query, input and output are what they were when it last succeeded is skipped. A step that
meets an error that may pass, of a disk or a network, is tried again. One process at a time runs a job; a
run that was killed leaves nothing that the next one trips over.

With --from and --to the job runs once for each date, in their order: a backfill. A date whose steps would
all be skipped is skipped.

docs/jobs.md tells what a file may have; --schema prints it for editors.`,
		Example: `  mpga run nightly.yaml
  mpga run --dry-run --set region=eu nightly.yaml
  mpga run --from 2026-01-01 --to 2026-01-31 nightly.yaml
  mpga run --date 2024-02-29 --force --log-format json --metrics-file /var/lib/node_exporter/nightly.prom nightly.yaml`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case f.schema && len(args) > 0:
				return usagef("run: --schema takes no file")
			case !f.schema && len(args) != 1:
				return usagef("run: name one file of a job (see mpga run --help)")
			}
			return nil
		},
		ValidArgsFunction: cobra.FixedCompletions([]string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt),
		SuggestFor:        []string{"job", "jobs", "backfill"},
		Annotations:       map[string]string{logLevelAnnotation: "info"},
		RunE:              f.run,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	themed(flags, themeJob, func() { f.register(flags) })
	themed(flags, themeBackfill, func() { f.backfillFlags.register(cmd) })
	registerRemote(cmd)
	return cmd
}

func (f *runFlags) register(flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.set, "set", nil, "give a variable of the file a value: `NAME=VALUE`; may be repeated")
	flags.StringVar(&f.date, "date", "",
		"run for a `DATE`, as in 2024-02-29 or 2024-02-29T06:00:00+01:00, which ${date} tells (default now, in UTC)")
	flags.StringVar(&f.state, "state", "",
		"keep the lock and what earlier runs did in `DIR`, in place of the file's state:")
	flags.BoolVar(&f.force, "force", false, "run every step, also where nothing has changed")
	flags.BoolVar(&f.dryRun, "dry-run", false, "check the file, print what each step would do, and run nothing")
	flags.BoolVar(&f.schema, "schema", false, "print the JSON schema of job files, for editors")
}

func (f *runFlags) run(cmd *cobra.Command, args []string) error {
	ctx := cmd.Context()
	if f.schema {
		_, err := cmd.OutOrStdout().Write(job.Schema())
		return err
	}
	parse, err := f.parseOptions()
	if err != nil {
		return err
	}
	dates, err := f.dates(f.date != "")
	if err != nil {
		return err
	}
	options := f.jobOptions(ctx)
	if f.dryRun {
		observerOf(ctx).metricsFile = "" // it tells of the last run, which this is not
	}
	if dates != nil {
		return f.backfill(cmd, args[0], parse, dates, options)
	}
	j, err := job.Load(args[0], parse)
	if err != nil {
		return err
	}
	f.begin(ctx, j)
	if f.dryRun {
		plan, err := j.Plan(ctx, options)
		if err != nil {
			return err
		}
		return writeText(cmd.OutOrStdout(), plan.String())
	}
	report, err := j.Run(ctx, options)
	if n := len(report.Steps); err != nil && ctx.Err() == nil && n > 0 && report.Steps[n-1].Err != nil {
		return fmt.Errorf("%w; %s goes on with this step", err, f.rerun(args[0], parse.Date))
	}
	return err
}

// rerun returns the command that runs a job again for its date.
func (f *runFlags) rerun(file string, date time.Time) string {
	text := strings.TrimSuffix(date.Format(time.RFC3339), "T00:00:00Z")
	command := "mpga run " + file + " --date " + text
	if len(f.set) > 0 {
		command += " with the same --set"
	}
	return command
}

// begin tells the observer which job runs, and gives the job the state of the flags.
func (f *runFlags) begin(ctx context.Context, j *job.Job) {
	if f.state != "" {
		j.State = f.state
	}
	observerOf(ctx).job(j.Name)
}

func (f *runFlags) jobOptions(ctx context.Context) job.Options {
	observer := observerOf(ctx)
	return job.Options{
		FS:      filesOf(ctx),
		Force:   f.force,
		Version: buildVersion(),
		Logger:  slog.Default(),
		Tracer:  observer.tracer,
		Open: func(opt engine.Options, result *sink.Options) (*engine.Engine, error) {
			opt.Devices = observer.devices
			return openWithin(opt, result)
		},
		Progress: observer.progress,
		Report:   observer.step,
	}
}

func (f *runFlags) parseOptions() (opt job.ParseOptions, err error) {
	opt.Getenv = os.LookupEnv
	opt.Set = make(map[string]string, len(f.set))
	for _, text := range f.set {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return opt, usagef("--set %q: want name=value", text)
		}
		opt.Set[name] = value
	}
	if opt.Date = time.Now().UTC(); f.date != "" {
		opt.Date, err = parseDate("--date", f.date)
	}
	return opt, err
}

// parseDate reads a day, which begins in UTC, or a moment with its zone.
func parseDate(flag, text string) (time.Time, error) {
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if date, err := time.Parse(layout, text); err == nil {
			return date, nil
		}
	}
	return time.Time{}, usagef("%s %q: want a date such as 2024-02-29 or 2024-02-29T06:00:00Z", flag, text)
}
