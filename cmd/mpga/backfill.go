package main

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/mpga/mpga/app/cmdflags"
	"github.com/mpga/mpga/engine/job"
)

// backfillFlags are the flags of mpga run that run a job for several dates.
type backfillFlags struct {
	from, to  string
	every     string
	keepGoing bool
}

func (f *backfillFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.from, "from", "", "run once for each date from `DATE` on, to that of --to")
	flags.StringVar(&f.to, "to", "", "the last `DATE` of --from, which counts; a day counts whole (default today, in UTC)")
	flags.StringVar(&f.every, "every", string(job.EveryDay),
		"from one date to the next: `WORD` is hour, day, week or month")
	flags.BoolVar(&f.keepGoing, "keep-going", false, "go on with the next date when a date has failed")
	cmdflags.Complete(cmd, map[string][]string{"every": job.Everies()})
}

// dates returns the dates of the flags, nil where they ask for no backfill.
func (f *backfillFlags) dates(single bool) ([]time.Time, error) {
	switch {
	case f.from == "" && f.to == "" && (f.every != string(job.EveryDay) || f.keepGoing):
		return nil, usagef("--every and --keep-going are for several dates: give --from and --to")
	case f.from == "" && f.to == "":
		return nil, nil
	case single:
		return nil, usagef("give --date, or --from and --to, not both")
	case f.from == "":
		return nil, usagef("give --from, too: the first date, where --to is the last")
	}
	if f.to == "" {
		f.to = time.Now().UTC().Format(time.DateOnly)
	}
	from, err := parseDate("--from", f.from)
	if err != nil {
		return nil, err
	}
	to, err := parseDate("--to", f.to)
	if err != nil {
		return nil, err
	}
	if len(f.to) == len(time.DateOnly) {
		to = to.AddDate(0, 0, 1).Add(-1)
	}
	dates, err := job.Dates(from, to, job.Every(f.every))
	if err != nil {
		return nil, usageError{err}
	}
	return dates, nil
}

// backfill runs a job for several dates, and prints what became of them; in a dry run, what would.
func (f *runFlags) backfill(cmd *cobra.Command, file string, parse job.ParseOptions,
	dates []time.Time, options job.Options) error {
	ctx := cmd.Context()
	backfill, err := job.LoadBackfill(file, parse, dates)
	if err != nil {
		return err
	}
	for _, d := range backfill {
		f.begin(ctx, d.Job)
	}
	if f.dryRun {
		text, err := backfill.Plan(ctx, options)
		if err != nil {
			return err
		}
		return writeText(cmd.OutOrStdout(), text)
	}
	report, err := backfill.Run(ctx, options, f.keepGoing)
	observerOf(ctx).backfill(&report)
	if len(report.Dates) == 0 { // another process runs the job
		return err
	}
	text := report.String()
	if err != nil && report.Left > 0 {
		text += "  the same command goes on with what is left; --keep-going goes on past dates that fail\n"
	}
	if printErr := writeText(cmd.OutOrStdout(), text); err == nil {
		err = printErr
	}
	return err
}
