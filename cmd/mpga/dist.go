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

	"github.com/spf13/cobra"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/distributed"
)

func newDistCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "dist",
		Short: "Answer a query by many processes, which an engine schedules",
		Long: `Answer a query by many processes on many hosts: on Spark, Kubernetes, Beam, or by a script. The engine
schedules the tasks of a plan and tries them again; mpga does them. The processes meet in a work directory
alone, on a file system that all share or in an object store:

    mpga dist plan      cut the input, and write the plan
    mpga dist partial   states of a split, or, for joins of large tables and for windows, its rows by their keys
    mpga dist combine   states of neighbouring splits, or rows of some keys, to states; not in all plans
    mpga dist merge     states, or rows, of some partitions to rows
    mpga dist commit    rows to the output, which appears whole

A task that is done already ends at once, so that second attempts, twins and reruns are harmless. A task
prints a line of JSON. Exit codes: 0 done, 1 failed, which another attempt may mend, 2 a plan or a command
that no attempt mends, 130 interrupted. docs/scale-out.md tells when this is worth it.`,
		Args: wantCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newDistPlanCommand(), newDistPartialCommand(), newDistCombineCommand(),
		newDistMergeCommand(), newDistCommitCommand(),
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
	themed(flags, themeInsight, func() { registerProgress(cmd, &f.progress) })
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
func (f *taskFlags) one(cmd *cobra.Command,
	do func(context.Context, *distributed.Tasks) (distributed.Done, error)) error {
	return f.run(cmd, 1,
		func(ctx context.Context, t *distributed.Tasks, _ int) (distributed.Done, error) {
			return do(ctx, t)
		})
}

// run does tasks one after the other, and prints what each has done.
func (f *taskFlags) run(cmd *cobra.Command, tasks int,
	do func(ctx context.Context, t *distributed.Tasks, i int) (distributed.Done, error)) (err error) {
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
	t := distributed.Tasks{Plan: p, FS: filesOf(ctx), Layout: p.Output.Options}
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
		Long: `Write the states of a split, or of several one after the other, a line of JSON for each. Where the plan joins
large tables, or has windows below its groups, write the split's rows by the hash of their keys. A GPU takes a
second or so to open: a process that has one should have splits that are worth it.`,
		Example: `  mpga dist partial --plan s3://bucket/work/0123456789abcdef/plan.json --split 7
  mpga dist partial --plan s3://bucket/work/0123456789abcdef/plan.json --split 0..7 --device cuda:0`,
		Args: wantArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			of, err := parseRange("split", splits)
			if err != nil {
				return err
			}
			return f.run(cmd, of.Last-of.First+1,
				func(ctx context.Context, t *distributed.Tasks, i int) (distributed.Done, error) {
					if last := len(t.Plan.Splits) - 1; of.Last > last {
						return distributed.Done{}, usagef("--split %s: the plan's last split is %d", splits, last)
					}
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
		Short:   "Merge the states of neighbouring splits, of a plan of many splits, or join rows of some partitions",
		Example: `  mpga dist combine --plan s3://bucket/work/0123456789abcdef/plan.json --node 3`,
		Args:    wantArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.one(cmd, func(ctx context.Context, t *distributed.Tasks) (distributed.Done, error) {
				return t.Combine(ctx, node)
			})
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
