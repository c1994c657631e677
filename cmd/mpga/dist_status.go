package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mpga/mpga/app/cmdflags"
	"github.com/mpga/mpga/engine/distributed"
)

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
	cmdflags.Complete(cmd, map[string][]string{"format": {"text", "json"},
		"wait": {distributed.StagePartial, distributed.StageCombine, distributed.StageMerge,
			distributed.StageCommit}})
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
	registerGarbage(cmd.Flags(), &older, &dry)
	return cmd
}

// registerGarbage adds the flags of commands that remove what nobody needs.
func registerGarbage(flags *pflag.FlagSet, older *time.Duration, dry *bool) {
	flags.SortFlags = false
	flags.DurationVar(older, "older-than", 24*time.Hour,
		"what may still be written is removed once it is older than `TIME`")
	flags.BoolVar(dry, "dry-run", false, "list what would be removed, and remove nothing")
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
	return b.String() + removedText(len(found), bytes, dry)
}

// removedText says how much was removed, or would be.
func removedText(files int, bytes int64, dry bool) string {
	verb := "removed"
	if dry {
		verb = "would remove"
	}
	return fmt.Sprintf("%s %d files, %d B\n", verb, files, bytes)
}
