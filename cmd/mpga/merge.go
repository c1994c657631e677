package main

import (
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/partial"
	"github.com/mpga/mpga/engine/sink"
	"github.com/mpga/mpga/internal/vfs"
)

// partialFlags are the flags of mpga agg that end it before results are made.
type partialFlags struct {
	partial    bool
	partitions int
}

// partitionsFlag is the name of partialFlags.partitions.
const partitionsFlag = "partitions"

func (f *partialFlags) register(flags *pflag.FlagSet) {
	flags.BoolVar(&f.partial, "partial", false, "write partial states to a directory, named by -o, for mpga merge")
	flags.IntVar(&f.partitions, partitionsFlag, 64,
		"of partial states: `N` files, a power of two, the same for all that are merged")
}

// check reports flags that contradict each other.
func (f *partialFlags) check(cmd *cobra.Command, output string) error {
	switch {
	case !f.partial && cmd.Flags().Changed(partitionsFlag):
		return usagef("--%s is for --partial", partitionsFlag)
	case !f.partial:
		return nil
	}
	if err := checkPartialOutput(cmd, output, "give --%s to mpga merge"); err != nil {
		return err
	}
	opt := partial.Options{Partitions: f.partitions, Create: new(partial.Dir).Create}
	if err := opt.Validate(); err != nil || f.partitions == 0 {
		return usagef("--%s %d: want a power of two from 1 to 2048", partitionsFlag, f.partitions)
	}
	return nil
}

// checkPartialOutput reports flags that do not suit states; instead is a format that says what to
// do with a flag.
func checkPartialOutput(cmd *cobra.Command, output, instead string) (err error) {
	switch {
	case sink.IsDevice(output):
		return usagef("--partial: name a directory for the states with -o")
	case cmd.Flags().Changed("format"):
		return usagef("--partial: states have one format; "+instead, "format")
	}
	if objects, ok := filesOf(cmd.Context()).(vfs.Objects); ok && objects.IsObject(output) {
		return usagef("--partial: states go to a directory of this machine, not to %s", output)
	}
	layout := pflag.NewFlagSet("", pflag.ContinueOnError)
	layout.SortFlags = false
	new(layoutFlags).register(layout)
	layout.VisitAll(func(f *pflag.Flag) {
		if err == nil && cmd.Flags().Changed(f.Name) {
			err = usagef("--partial: states are laid out in one way; "+instead, f.Name)
		}
	})
	return err
}

// writePartial makes the directory that is the output of the command, and commits it when write has
// written partial states into it.
func (r *request) writePartial(write func(partial.Options) (engine.Stats, error)) (err error) {
	dir, err := partial.CreateDir(vfs.OS, r.output)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Abort()) }() // nothing after Commit
	done, err := write(partial.Options{Create: dir.Create})
	if err != nil {
		return err
	}
	r.shown.close()
	r.pictures.ended(done)
	return r.commit(dir, done)
}

// mergeFlags are the flags of mpga merge.
type mergeFlags struct {
	outputFlags
	only    []int
	partial bool
	threads int
	budgetFlags
}

func newMergeCommand() *cobra.Command {
	var f mergeFlags
	cmd := &cobra.Command{
		Use:   "merge DIR...",
		Short: "Merge partial states to a result",
		Long: `Merge the partial states that mpga agg --partial has written, one DIR for each input, to the result
that mpga agg gives for all inputs at once. The order of the DIRs is that of the inputs, which first,
last, list, string_agg and ties go by.

Partitions can be merged by several processes: --only takes a part of them, and the results of all
parts together are the answer. With --partial neighbours are merged to partial states, which are merged
again: a tree of merges gives the same answer.`,
		Example: `  mpga agg --by origin --agg 'avg(delay)' --partial -o jan jan.parquet
  mpga agg --by origin --agg 'avg(delay)' --partial -o feb feb.parquet
  mpga merge jan feb -o delays.parquet
  mpga merge jan feb --partial -o winter`,
		Args:              wantSome("the directories of partial states"),
		ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs),
		RunE:              f.run,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	f.outputFlags.register(cmd)
	themed(flags, themeOutput, func() {
		flags.BoolVar(&f.partial, "partial", false, "write partial states to a directory, named by -o, for another merge")
	})
	themed(flags, themeInput, func() {
		flags.IntSliceVar(&f.only, "only", nil, "merge the partitions `I,J` alone, which count from 0")
	})
	themed(flags, themeResources, func() {
		flags.IntVar(&f.threads, "threads", 0, "use `N` threads; 0 is as many as there are processors")
		f.budgetFlags.register(flags)
	})
	f.outputFlags.registerReports(cmd)
	return cmd
}

// check reports flags that contradict each other.
func (f *mergeFlags) check(cmd *cobra.Command) error {
	switch {
	case !f.partial:
		return nil
	case len(f.only) > 0:
		return usagef("--only: partial states are merged whole; give it to the merge that makes the result")
	}
	return checkPartialOutput(cmd, f.output, "give --%s to the merge that makes the result")
}

func (f *mergeFlags) run(cmd *cobra.Command, dirs []string) error {
	if err := f.check(cmd); err != nil {
		return err
	}
	sinkOptions, err := f.outputFlags.options(cmd, f.partial)
	if err != nil {
		return err
	}
	sinkOptions.Query = commandLine(cmd, dirs)
	return f.answer(cmd, engine.Options{Threads: f.threads}, &f.budgetFlags, sinkOptions, func(r *request) error {
		sources := make([][]partial.Blob, len(dirs))
		for i, dir := range dirs {
			if sources[i], err = partial.OpenDir(vfs.OS, dir); err != nil {
				return err
			}
		}
		if f.partial {
			return r.writePartial(func(opt partial.Options) (engine.Stats, error) {
				return r.eng.MergePartial(r.ctx, sources, opt)
			})
		}
		result, err := r.eng.Merge(r.ctx, sources, partial.MergeOptions{Partitions: f.only})
		if err != nil {
			return err
		}
		return r.write(result)
	})
}
