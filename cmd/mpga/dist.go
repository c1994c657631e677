package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/distributed"
	"github.com/mpga/mpga/engine/job"
	"github.com/mpga/mpga/engine/sink"
	"github.com/mpga/mpga/internal/vfs"
)

func newDistCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "dist",
		Short: "Answer a query by many processes, which an engine schedules",
		Long: `Answer a query by many processes on many hosts: on Spark, Kubernetes, Beam, or by a script. The engine
schedules the tasks of a plan and tries them again; mpga does them. The processes meet in a work directory
alone, on a file system that all share or in an object store:

    mpga dist plan      cut the input, and write the plan
    mpga dist partial   states of a split
    mpga dist combine   states of neighbouring splits to one, where the plan has such a stage
    mpga dist merge     states of some partitions to rows
    mpga dist commit    rows to the output, which appears whole

A task that is done already ends at once, so that second attempts, twins and reruns are harmless. A task
prints a line of JSON. Exit codes: 0 done, 1 failed, which another attempt may mend, 2 a plan or a command
that no attempt mends, 130 interrupted. docs/scale-out.md tells when this is worth it.`,
		Args: wantCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newDistPlanCommand(), newDistPartialCommand(), newDistCombineCommand(), newDistMergeCommand(), newDistCommitCommand(),
		newDistStatusCommand(), newDistGCCommand(), newDistKubernetesCommand())
	return cmd
}

// taskFlags are the flags of the commands that do tasks.
type taskFlags struct {
	plan     string
	progress string
	queryFlags
}

func (f *taskFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.SortFlags = false
	themed(flags, themePlan, func() { f.registerPlan(cmd) })
	f.registerResources(cmd)
	themed(flags, themeInsight, func() {
		flags.StringVar(&f.progress, "progress", "auto", "progress on stderr: `WORD` is auto (a bar on a terminal), bar, plain, json or off")
	})
	completeWords(cmd, map[string][]string{"progress": progressModes})
}

func (f *taskFlags) registerPlan(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.plan, "plan", "", "the plan: `FILE` or URL, as mpga dist plan has written it")
	wantFlag(cmd, "plan")
}

// wantFlag makes a command line without a flag a wrong one.
func wantFlag(cmd *cobra.Command, name string) {
	cobra.CheckErr(cmd.MarkFlagRequired(name)) // for completion: cobra's own error is no usage error
	before := cmd.Args
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if !cmd.Flags().Changed(name) {
			return usagef("%s: --%s is missing (see %[1]s --help)", cmd.CommandPath(), name)
		}
		return before(cmd, args)
	}
}

// readPlan reads the plan that the flags name.
func (f *taskFlags) readPlan(ctx context.Context) (p *distributed.Plan, err error) {
	file, err := filesOf(ctx).Open(f.plan)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	text, err := io.ReadAll(file)
	if err != nil {
		return nil, err
	}
	p, err = distributed.Decode(text, buildVersion())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.plan, err)
	}
	return p, nil
}

// one does a task, and prints what it has done.
func (f *taskFlags) one(cmd *cobra.Command, do func(context.Context, *distributed.Tasks) (distributed.Done, error)) error {
	return f.run(cmd, 1, func(ctx context.Context, t *distributed.Tasks, _ int) (distributed.Done, error) { return do(ctx, t) })
}

// run does tasks one after the other, and prints what each has done.
func (f *taskFlags) run(cmd *cobra.Command, tasks int, do func(ctx context.Context, t *distributed.Tasks, i int) (distributed.Done, error)) (err error) {
	ctx := cmd.Context()
	p, err := f.readPlan(ctx)
	if err != nil {
		return err
	}
	shown, err := newProgress(f.progress, cmd.ErrOrStderr(), false)
	if err != nil {
		return err
	}
	shown = &oneProgress{to: shown}
	defer shown.close()
	observer := observerOf(ctx)
	observer.job(p.Name)
	opt := f.engineOptions()
	opt.Logger = slog.Default()
	opt.Progress = func(progress engine.Progress) {
		shown.update(progress)
		observer.progress("", progress)
	}
	if err := f.budgetFlags.apply(&opt); err != nil {
		return err
	}
	t := distributed.Tasks{Plan: p, FS: filesOf(ctx), TempDir: opt.TempDir, Layout: p.Output.Options}
	t.Layout.FS = t.FS
	if t.Engine, err = openWithin(opt, &t.Layout); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.Engine.Close()) }()
	opened := t.Open()
	for i := range tasks {
		done, err := do(ctx, opened, i)
		if err != nil {
			return err
		}
		if i == tasks-1 {
			shown.close()
		}
		if err := printJSON(cmd.OutOrStdout(), done); err != nil {
			return err
		}
	}
	return nil
}

// printJSON prints a value as a line.
func printJSON(w io.Writer, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	_, err = w.Write(append(text, '\n'))
	return err
}

// numberFlag adds the flag of a task's number.
func numberFlag(cmd *cobra.Command, to *int, name, usage string) {
	themed(cmd.Flags(), themePlan, func() { cmd.Flags().IntVar(to, name, 0, usage) })
}

func newDistPartialCommand() *cobra.Command {
	var f taskFlags
	var splits string
	cmd := &cobra.Command{
		Use:   "partial --plan PLAN --split N",
		Short: "Write the states of a split, or of some",
		Long: `Write the states of a split, or of several one after the other, a line of JSON for each. A GPU takes a
second or so to open: a process that has one should have splits that are worth it.`,
		Example: `  mpga dist partial --plan s3://bucket/work/0123456789abcdef/plan.json --split 7
  mpga dist partial --plan s3://bucket/work/0123456789abcdef/plan.json --split 0..7 --device cuda:0`,
		Args: wantArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			of, err := parseRange("split", splits)
			if err != nil {
				return err
			}
			return f.run(cmd, of.Last-of.First+1, func(ctx context.Context, t *distributed.Tasks, i int) (distributed.Done, error) {
				return t.Partial(ctx, of.First+i)
			})
		},
	}
	f.register(cmd)
	themed(cmd.Flags(), themePlan, func() {
		cmd.Flags().StringVar(&splits, "split", "", "the split: `N` counts from 0; or A..B, both counted")
	})
	wantFlag(cmd, "split")
	return cmd
}

func newDistCombineCommand() *cobra.Command {
	var f taskFlags
	var node int
	cmd := &cobra.Command{
		Use:     "combine --plan PLAN --node N",
		Short:   "Merge the states of neighbouring splits, of a plan of many splits",
		Example: `  mpga dist combine --plan s3://bucket/work/0123456789abcdef/plan.json --node 3`,
		Args:    wantArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.one(cmd, func(ctx context.Context, t *distributed.Tasks) (distributed.Done, error) { return t.Combine(ctx, node) })
		},
	}
	f.register(cmd)
	numberFlag(cmd, &node, "node", "the node of the tree: `N` counts from 0")
	wantFlag(cmd, "node")
	return cmd
}

func newDistMergeCommand() *cobra.Command {
	var f taskFlags
	var task int
	var partitions string
	cmd := &cobra.Command{
		Use:   "merge --plan PLAN (--task N | --partition A..B)",
		Short: "Merge the states of some partitions to rows",
		Long: `Merge the states of some partitions, of all splits, to rows: those of a task of the plan, or any range of
partitions. The ranges of all calls together must be all partitions before the commit.`,
		Example: `  mpga dist merge --plan s3://bucket/work/0123456789abcdef/plan.json --task 2
  mpga dist merge --plan s3://bucket/work/0123456789abcdef/plan.json --partition 0..15`,
		Args: wantArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("task") == (partitions != "") {
				return usagef("dist merge: give --task or --partition")
			}
			var of distributed.Range
			var err error
			if partitions != "" {
				of, err = parseRange("partition", partitions)
			}
			if err != nil {
				return err
			}
			return f.one(cmd, func(ctx context.Context, t *distributed.Tasks) (distributed.Done, error) {
				if partitions == "" {
					return t.Merge(ctx, task)
				}
				return t.MergeRange(ctx, of)
			})
		},
	}
	f.register(cmd)
	numberFlag(cmd, &task, "task", "the task of the plan's merges: `N` counts from 0")
	themed(cmd.Flags(), themePlan, func() {
		cmd.Flags().StringVar(&partitions, "partition", "", "the partitions: `A..B`, both counted, or one; they count from 0")
	})
	return cmd
}

// parseRange reads A..B or A, of a flag.
func parseRange(name, text string) (of distributed.Range, err error) {
	first, last, ok := strings.Cut(text, "..")
	if !ok {
		last = first
	}
	of.First, err = strconv.Atoi(first)
	if err == nil {
		of.Last, err = strconv.Atoi(last)
	}
	if err != nil || of.First < 0 || of.Last < of.First || of.Last > math.MaxInt32 {
		return of, usagef("--%s %q: want A..B with A at most B, or one number", name, text)
	}
	return of, nil
}

func newDistCommitCommand() *cobra.Command {
	var f taskFlags
	cmd := &cobra.Command{
		Use:     "commit --plan PLAN",
		Short:   "Make the output of what was merged, whole or not at all",
		Example: `  mpga dist commit --plan s3://bucket/work/0123456789abcdef/plan.json`,
		Args:    wantArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.one(cmd, func(ctx context.Context, t *distributed.Tasks) (distributed.Done, error) {
				return t.Commit(ctx)
			})
		},
	}
	f.register(cmd)
	return cmd
}

func newDistStatusCommand() *cobra.Command {
	var f taskFlags
	var format, wait string
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "status --plan PLAN",
		Short: "Tell what of a plan is done",
		Long: `Tell how many tasks of each stage of a plan are done, and whether the output is there. With --wait, return
when all tasks of a stage are done: so a stage can wait for the one before it, where nothing else makes it.`,
		Example: `  mpga dist status --plan plan.json
  mpga dist status --plan plan.json --wait partial --timeout 6h`,
		Args: wantArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := f.readPlan(cmd.Context())
			if err != nil {
				return err
			}
			t := distributed.Tasks{Plan: p, FS: filesOf(cmd.Context())}.Open()
			if format != "text" && format != "json" {
				return usagef("--format %q: want text or json", format)
			}
			if wait != "" {
				return waitFor(cmd.Context(), t, wait, timeout)
			}
			status, err := t.Status()
			if err != nil {
				return err
			}
			if format == "json" {
				return printJSON(cmd.OutOrStdout(), status)
			}
			return writeText(cmd.OutOrStdout(), statusText(p, status))
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	themed(flags, themePlan, func() {
		f.registerPlan(cmd)
		flags.StringVar(&wait, "wait", "", "return when all tasks of the stage `NAME` are done")
		flags.DurationVar(&timeout, "timeout", 0, "with --wait: fail after `TIME`; 0 waits for ever")
	})
	themed(flags, themeOutput, func() { flags.StringVar(&format, "format", "text", "`WORD` is text or json") })
	completeWords(cmd, map[string][]string{"format": {"text", "json"}, "wait": {distributed.StagePartial, distributed.StageCombine, distributed.StageMerge, distributed.StageCommit}})
	return cmd
}

func waitFor(ctx context.Context, t *distributed.Tasks, stage string, timeout time.Duration) error {
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, timeout, fmt.Errorf("%v have passed", timeout))
		defer cancel()
	}
	return t.Wait(ctx, stage)
}

// statusText writes a status for people.
func statusText(p *distributed.Plan, s *distributed.Status) string {
	var b strings.Builder
	fmt.Fprintf(&b, "plan %s (%s), work in %s\n", p.ID, p.Name, p.Work)
	for _, stage := range s.Stages {
		fmt.Fprintf(&b, "%-8s %d of %d", stage.Name, stage.Done, stage.Tasks)
		if n := len(stage.Missing); n > 0 && stage.Name != distributed.StageCommit {
			numbers := make([]string, min(n, 10))
			for i := range numbers {
				numbers[i] = strconv.Itoa(stage.Missing[i])
			}
			fmt.Fprintf(&b, ", missing %s", strings.Join(numbers, ", "))
			if stage.Tasks-stage.Done > len(numbers) {
				b.WriteString(", ...")
			}
		}
		b.WriteString("\n")
	}
	if s.Committed {
		fmt.Fprintf(&b, "output   %s\n", p.Output.Path)
	}
	return b.String()
}

func newDistGCCommand() *cobra.Command {
	var older time.Duration
	var dry bool
	cmd := &cobra.Command{
		Use:   "gc WORK",
		Short: "Remove what no plan in a work directory needs",
		Long: `Remove from a work directory what no plan needs: blobs and rows of plans that are committed, attempts that
do not count, and what is older than --older-than and belongs to no plan or to an attempt that never ended.
The note that a plan is committed stays.`,
		Example: `  mpga dist gc s3://bucket/work --dry-run
  mpga dist gc s3://bucket/work --older-than 24h`,
		Args: wantArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			found, err := distributed.Collect(filesOf(cmd.Context()), args[0], older, dry)
			if err != nil {
				return err
			}
			return writeText(cmd.OutOrStdout(), garbageText(found, dry))
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.DurationVar(&older, "older-than", 24*time.Hour, "what may still be written is removed once it is older than `TIME`")
	flags.BoolVar(&dry, "dry-run", false, "list what would be removed, and remove nothing")
	return cmd
}

func garbageText(found []distributed.Garbage, dry bool) string {
	var b strings.Builder
	var bytes int64
	for _, g := range found {
		bytes += g.Bytes
		if dry {
			fmt.Fprintf(&b, "%s  %d B  %s\n", g.Path, g.Bytes, g.Why)
		}
	}
	verb := "removed"
	if dry {
		verb = "would remove"
	}
	fmt.Fprintf(&b, "%s %d files, %d B\n", verb, len(found), bytes)
	return b.String()
}

// planFlags are the flags of mpga dist plan.
type planFlags struct {
	output, work, format       string
	plan                       string
	step                       string
	tables                     []string
	set                        []string
	date                       string
	splits, partitions, merges int
	slots                      int
	combines                   int
	splitBytes                 string

	input inputFlags
	layoutFlags
	queryFlags
}

func (f *planFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.SortFlags = false
	themed(flags, themePlan, func() {
		flags.StringVarP(&f.plan, "output-plan", "o", "", "write the plan to `FILE`; - is the standard output. It is in the work directory, too")
		flags.StringVar(&f.work, "work", "", "the work directory: `DIR` or URL, which all tasks can read and write (default the output's name and .work)")
		flags.IntVar(&f.splits, "splits", 0, "cut the input into `N` splits (default one for each --split-bytes)")
		flags.StringVar(&f.splitBytes, "split-bytes", "", "cut the input into splits of about `SIZE` (default 128MiB, and more with many groups)")
		flags.IntVar(&f.slots, "slots", 0, "`N` tasks will run at the same time: cut the input into three splits for each, of 16 GiB at most")
		flags.IntVar(&f.partitions, "partitions", 0, "`N` partitions of the keys, a power of two (default by the expected number of groups)")
		flags.IntVar(&f.merges, "merges", 0, "`N` tasks merge partitions (default by the expected size of the states)")
		flags.IntVar(&f.combines, "combines", 0, "merge the splits' states to `N` before that; -1 never does (default with many splits of few states)")
	})
	themed(flags, themeQuery, func() {
		flags.StringArrayVarP(&f.tables, "table", "t", nil, "let FROM name read a file, a folder or a pattern: `NAME=PATH`; may be repeated, also for one name")
		f.registerMeaning(cmd)
	})
	themed(flags, themeJob, func() {
		flags.StringVar(&f.step, "step", "", "of a job: the step `NAME` (default the only one)")
		flags.StringArrayVar(&f.set, "set", nil, "of a job: give a variable of the file a value: `NAME=VALUE`; may be repeated")
		flags.StringVar(&f.date, "date", "", "of a job: plan for a `DATE`, as mpga run --date does")
	})
	themed(flags, themeOutput, func() {
		flags.StringVar(&f.output, "output", "", "the output of the plan: a file, a directory or a URL; one without a known ending is a directory of Parquet files with a manifest")
		flags.StringVar(&f.format, "format", "", "of the result: `WORD` is csv, tsv, json, parquet, arrow or arrows; by the ending of the output when not given")
		f.layoutFlags.register(flags)
	})
	completeLayout(cmd)
	f.registerResources(cmd)
	themed(flags, themeInput, func() { f.input.register(flags) })
	completeInput(cmd)
}

func newDistPlanCommand() *cobra.Command {
	var f planFlags
	cmd := &cobra.Command{
		Use:   "plan QUERY|JOB.yaml --output OUTPUT",
		Short: "Cut the input of a query, and write the plan of its tasks",
		Long: `Plan a query, or a step of a job, as tasks for many processes: find the files, cut them into splits of about
equal cost, and decide how many partitions, merges and nodes of a tree there are. The plan names the files as
they are now: a task refuses one that has changed. Planning the same again gives the same plan.

The query is one aggregation: SELECT with GROUP BY or aggregates over one table, with HAVING, expressions,
ORDER BY and LIMIT.`,
		Example: `  mpga dist plan "SELECT id1, sum(v1) FROM 's3://bucket/in/*.parquet' GROUP BY id1" --output s3://bucket/out -o plan.json
  mpga dist plan nightly.yaml --step routes --work /shared/work -o plan.json`,
		Args: wantArgs(cobra.ExactArgs(1)),
		RunE: f.run,
	}
	f.register(cmd)
	return cmd
}

func (f *planFlags) run(cmd *cobra.Command, args []string) (err error) {
	ctx := cmd.Context()
	r, err := f.request(cmd, args[0])
	if err != nil {
		return err
	}
	opt := f.engineOptions()
	opt.Logger = slog.Default()
	if err := f.budgetFlags.apply(&opt); err != nil {
		return err
	}
	var unused sink.Options
	eng, err := openWithin(opt, &unused)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, eng.Close()) }()
	files := filesOf(ctx)
	p, err := distributed.New(ctx, eng, files, *r)
	if err != nil {
		return err
	}
	place, err := p.Write(files)
	if err != nil {
		return err
	}
	text, err := p.Encode()
	switch {
	case err != nil:
		return err
	case f.plan == "-":
		_, err = cmd.OutOrStdout().Write(text)
		return err
	case f.plan != "":
		if err := writePlan(files, f.plan, text); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), place)
	return err
}

// writePlan writes a plan to a file or an object.
func writePlan(files vfs.FS, path string, text []byte) error {
	objects, ok := vfs.ObjectsAt(files, path)
	if !ok {
		return vfs.WriteFile(files, path, text)
	}
	upload, err := objects.Upload(path)
	if err != nil {
		return err
	}
	if _, err := upload.Write(text); err != nil {
		return errors.Join(err, upload.Abort())
	}
	return upload.Commit()
}

// request makes of the flags what a plan is made of.
func (f *planFlags) request(cmd *cobra.Command, query string) (r *distributed.Request, err error) {
	if isJobFile(query) {
		r, err = f.ofJob(cmd, query)
	} else {
		r, err = f.ofQuery(cmd, query)
	}
	if err != nil {
		return nil, err
	}
	r.Layout.FS, r.Scan.FS = filesOf(cmd.Context()), filesOf(cmd.Context())
	r.Version, r.Splits, r.Partitions, r.Merges, r.Combines = buildVersion(), f.splits, f.partitions, f.merges, f.combines
	r.Slots = f.slots
	if r.SplitBytes, err = parseSize("--split-bytes", f.splitBytes); err != nil {
		return nil, err
	}
	if r.Output == "" {
		return nil, usagef("dist plan: name the output with --output")
	}
	if r.Work = f.work; r.Work == "" {
		r.Work = strings.TrimRight(r.Output, "/") + ".work"
	}
	return r, nil
}

// isJobFile says whether an argument is the file of a job, and no query.
func isJobFile(arg string) bool {
	return strings.HasSuffix(arg, ".yaml") || strings.HasSuffix(arg, ".yml")
}

// ofQuery is request for a query.
func (f *planFlags) ofQuery(cmd *cobra.Command, query string) (*distributed.Request, error) {
	for _, name := range []string{"step", "set", "date"} {
		if cmd.Flags().Changed(name) {
			return nil, usagef("--%s is for a job", name)
		}
	}
	meaning, err := f.planOptions()
	if err != nil {
		return nil, err
	}
	r := &distributed.Request{Name: "query", Statement: strings.TrimSpace(query), Overflow: meaning.Overflow, Deterministic: meaning.Deterministic, Output: f.output}
	if r.Tables, err = tableOptions(f.tables); err != nil {
		return nil, err
	}
	if f.input.rejects != "" {
		return nil, usagef("--rejects: rejects are not kept by a distributed query; --ignore-errors leaves such rows out")
	}
	if r.Scan, err = f.input.options(cmd); err != nil {
		return nil, err
	}
	if f.format != "" {
		if r.Layout.Format, err = sink.ParseFormat(f.format); err != nil {
			return nil, usageError{err}
		}
	}
	return r, f.layoutFlags.apply(cmd, f.output, &r.Layout)
}

// jobFlagsOnly are the flags of mpga dist plan that go with a job's file.
var jobFlagsOnly = map[string]bool{"output-plan": true, "output": true, "work": true, "splits": true, "split-bytes": true, "partitions": true, "merges": true,
	"combines": true, "slots": true, "step": true, "set": true, "date": true, "threads": true, "memory-limit": true, "temp-dir": true, "temp-limit": true}

// ofJob is request for a step of a job.
func (f *planFlags) ofJob(cmd *cobra.Command, path string) (*distributed.Request, error) {
	var err error
	cmd.LocalNonPersistentFlags().Visit(func(flag *pflag.Flag) {
		if !jobFlagsOnly[flag.Name] && err == nil {
			err = usagef("--%s: the job's file says it", flag.Name)
		}
	})
	if err != nil {
		return nil, err
	}
	run := runFlags{set: f.set, date: f.date}
	parse, err := run.parseOptions()
	if err != nil {
		return nil, err
	}
	j, err := job.Load(path, parse)
	if err != nil {
		return nil, err
	}
	r, err := j.Distributed(f.step)
	if err != nil {
		return nil, err
	}
	if f.output != "" {
		r.Output = f.output
	}
	return &r, nil
}
