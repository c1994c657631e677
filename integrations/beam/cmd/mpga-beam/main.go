// Command mpga-beam runs a plan of mpga dist plan as a pipeline of Apache Beam, on the runner that
// its flags name. The workers of a runner run the same program, by Beam's flag --worker.
//
// Exit codes are those of mpga: 0 done, 1 failed, 2 wrong usage, 130 interrupted.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/dataflow"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/flink"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/spark"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/universal"

	mpgabeam "github.com/mpga/mpga/integrations/beam"
)

const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130
)

// runnerNames are the runners that this program has, the default first. Universal is any other with a job service of
// Beam, at --endpoint.
var runnerNames = []string{"prism", "flink", "spark", "dataflow", "universal"}

func main() {
	flags := flag.CommandLine // has Beam's flags
	flags.Init("mpga-beam", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Usage = func() {}
	path, options := registerFlags(flags)
	switch err := flags.Parse(os.Args[1:]); {
	case errors.Is(err, flag.ErrHelp):
		printHelp(os.Stdout, flags)
		os.Exit(exitDone)
	case err != nil:
		os.Exit(complain(os.Stderr, err))
	}
	beam.Init() // in a worker this runs bundles, and does not return
	os.Exit(run(flags, *path, options, os.Stdout, os.Stderr))
}

// complain prints an error of usage, and returns its exit code.
func complain(stderr io.Writer, err error) int {
	fmt.Fprintf(stderr, "mpga-beam: %v (see mpga-beam --help)\n", err)
	return exitUsage
}

// registerFlags adds the flags of this program to those of Beam.
func registerFlags(flags *flag.FlagSet) (path *string, o *mpgabeam.Options) {
	o = &mpgabeam.Options{}
	o.EnsureDefaults()
	path = flags.String("plan", "", "the `path` or URL of the plan, which every worker can read: in a cluster WORK/ID/plan.json")
	flags.StringVar(&o.Binary, "mpga", o.Binary, "the `program` mpga, here and on the workers: a path, or a name in PATH")
	flags.IntVar(&o.TasksAtOnce, "tasks-at-once", o.TasksAtOnce, "the `number` of tasks that a worker process runs at a time; with more than one, set --threads and --memory-limit")
	flags.IntVar(&o.Attempts, "attempts", o.Attempts, "the `number` of times that a worker tries a task before the bundle fails; the runner's attempts come on top")
	flags.DurationVar(&o.Grace, "grace", o.Grace, "the `time` that a cancelled task has to end before it is killed")
	flags.IntVar(&o.Threads, "threads", o.Threads, "the `number` of threads of a task (default: mpga's)")
	flags.StringVar(&o.MemoryLimit, "memory-limit", o.MemoryLimit, "the memory that a task may take: a `size` such as 8GiB (default: mpga's)")
	flags.StringVar(&o.TempDir, "temp-dir", o.TempDir, "the `folder` on the workers where tasks spill (default: mpga's)")
	flags.StringVar(&o.Device, "device", o.Device, "the `device` where tasks aggregate: auto, cpu or cuda:N (default: mpga's)")
	return path, o
}

// ownFlags are the flags of registerFlags, in the order of the help text.
var ownFlags = []string{"plan", "runner", "mpga", "tasks-at-once", "attempts", "grace", "threads", "memory-limit", "temp-dir", "device"}

func printHelp(out io.Writer, flags *flag.FlagSet) {
	fmt.Fprint(out, `mpga-beam runs a plan of mpga dist plan on Apache Beam: partial tasks, then combine tasks where the plan
has them, then merge tasks, then the commit. Each task is a process of mpga on a worker.

Usage:
  mpga-beam --plan PLAN [--runner RUNNER] [flags]

Examples:
  mpga dist plan "SELECT origin, count(*) FROM 'flights/*.parquet' GROUP BY origin" --work work --output out -o plan.json
  mpga-beam --plan plan.json
  mpga-beam --plan gs://bucket/work/0123456789abcdef/plan.json --runner dataflow --project p --region r --staging_location gs://bucket/staging

It prints a line of JSON for each stage. A plan that has run is not run again: its tasks say that they are done.

Flags:
`)
	for _, name := range ownFlags {
		printFlag(out, flags.Lookup(name))
	}
	fmt.Fprint(out, "\nFlags of Beam and its runners:\n")
	flags.VisitAll(func(f *flag.Flag) {
		if !slices.Contains(ownFlags, f.Name) {
			printFlag(out, f)
		}
	})
}

func printFlag(out io.Writer, f *flag.Flag) {
	value, usage := flag.UnquoteUsage(f)
	if f.Name == "runner" {
		value, usage = "name", "one of "+strings.Join(runnerNames, ", ")+" (default prism, in this process)"
	}
	usage, _, _ = strings.Cut(usage, "\n")
	usage, _, _ = strings.Cut(usage, ". ") // Beam's first sentence says enough
	if f.DefValue != "" && f.DefValue != "0" && f.DefValue != "false" {
		usage += " (default " + f.DefValue + ")"
	}
	fmt.Fprintf(out, "  %-36s %s\n", strings.TrimSpace("--"+f.Name+" "+value), usage)
}

// run runs the plan and returns the exit code.
func run(flags *flag.FlagSet, path string, o *mpgabeam.Options, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once

	runner, err := checkUsage(flags, path, o)
	if err != nil {
		return complain(stderr, err)
	}
	stages, err := runPlan(ctx, runner, path, *o)
	if err == nil {
		err = printStages(stdout, stages)
	}
	switch {
	case ctx.Err() != nil && runner == runnerNames[0]:
		fmt.Fprintln(stderr, "mpga-beam: interrupted")
		return exitInterrupted
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, "mpga-beam: interrupted; a job that has started goes on until it is cancelled at the runner")
		return exitInterrupted
	case err != nil:
		fmt.Fprintf(stderr, "mpga-beam: %s\n", causeOf(err.Error()))
		return exitFailed
	}
	return exitDone
}

// causeOf returns what a function has failed with from the text of Beam, which has the whole stage
// in front. Beam's log has the whole text.
func causeOf(text string) string {
	if at := strings.LastIndex(text, "\nDoFn["); at >= 0 {
		if _, cause, ok := strings.Cut(text[at:], "failed:\n"); ok {
			return cause
		}
	}
	return text
}

// checkUsage returns the name of the runner.
func checkUsage(flags *flag.FlagSet, path string, o *mpgabeam.Options) (runner string, err error) {
	if flags.NArg() > 0 {
		return "", fmt.Errorf("unknown argument %q", flags.Arg(0))
	}
	if path == "" {
		return "", errors.New("--plan is missing")
	}
	runner = strings.TrimSuffix(strings.ToLower(*runners.Runner), "runner")
	if runner == "" {
		runner = runnerNames[0]
	}
	if !slices.Contains(runnerNames, runner) {
		return "", fmt.Errorf("unknown runner %q: one of %s", *runners.Runner, strings.Join(runnerNames, ", "))
	}
	return runner, o.Validate()
}

func runPlan(ctx context.Context, runner, path string, o mpgabeam.Options) ([]mpgabeam.Totals, error) {
	plan, err := mpgabeam.Open(ctx, path, o)
	if err != nil {
		return nil, err
	}
	return mpgabeam.Run(ctx, runner, plan)
}

// printStages prints the totals of each stage as a line of JSON.
func printStages(stdout io.Writer, stages []mpgabeam.Totals) error {
	for _, totals := range stages {
		line, err := json.Marshal(totals)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(stdout, "%s\n", line); err != nil {
			return fmt.Errorf("printing: %w", err)
		}
	}
	return nil
}
