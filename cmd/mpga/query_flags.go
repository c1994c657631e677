package main

import (
	"cmp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mpga/mpga/app/cmdflags"
	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/timeformat"
)

// queryFlags are the flags of every command that runs a query: the meaning of sums, and the devices
// and threads.
type queryFlags struct {
	overflow      string
	deterministic bool
	zone          string // "" is the machine's
	threads       int
	budgetFlags
	algorithm cmdflags.Algorithm
	join      string
	device    string
	explain   bool
}

// registerMeaning adds the flags that change an answer.
func (f *queryFlags) registerMeaning(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.overflow, "overflow", "error",
		"integer sums past 64 bits: `WORD` is error, widen (all sums are 128 bits) or wrap")
	flags.BoolVar(&f.deterministic, "deterministic", false,
		"the same bits on every run: sums, means and variances of floats are exact, rounded once")
	flags.StringVar(&f.zone, "timezone", "",
		"clocks of `ZONE`, as Europe/Berlin, show timestamps with time zone: in texts, dates and parts; "+
			"the machine's when not given")
	cmdflags.Complete(cmd, map[string][]string{"overflow": {"error", "widen", "wrap"}})
}

// registerWork adds the flags that change how an answer is found.
func (f *queryFlags) registerWork(cmd *cobra.Command) {
	f.registerResources(cmd)
	flags := cmd.Flags()
	themed(flags, themeInsight, func() { flags.BoolVar(&f.explain, "explain", false, "print the plan and run nothing") })
}

// registerResources adds the flags that say what a query may take of the machine.
func (f *queryFlags) registerResources(cmd *cobra.Command) {
	flags := cmd.Flags()
	themed(flags, themeResources, func() {
		flags.IntVar(&f.threads, "threads", 0, "use `N` threads; 0 is as many as there are processors")
		f.budgetFlags.register(flags)
	})
	themed(flags, themeDevice, func() { f.registerDevice(cmd) })
}

// registerDevice adds the flags of devices.
func (f *queryFlags) registerDevice(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.device, "device", "auto",
		"what does the work: `WORD` is auto, cpu, cuda, cuda:0,1 for several GPUs, or host:256MiB for a GPU's double")
	f.algorithm.Register(cmd)
	flags.StringVar(&f.join, "join-algorithm", "auto", "have a join of the papers make the pairs of all joins with an "+
		"equality, on a device: `NAME` is "+strings.Join(engine.JoinAlgorithms(), ", "))
	cmdflags.Complete(cmd, map[string][]string{
		"device": {"auto", "cpu", "cuda", "cuda:0,1", "host:256MiB"}, "join-algorithm": engine.JoinAlgorithms(),
	})
}

// engineOptions returns what the flags say of how an answer is found, but for budgets.
func (f *queryFlags) engineOptions() engine.Options {
	return engine.Options{Threads: f.threads, Device: f.device, Algorithm: f.algorithm.Name,
		Ablation: f.algorithm.Ablation, JoinAlgorithm: f.join}
}

// planOptions returns what the flags say of a query's meaning.
func (f *queryFlags) planOptions() (opt plan.Options, err error) {
	opt.Deterministic, opt.TimeZone = f.deterministic, cmp.Or(f.zone, timeformat.LocalZone())
	if opt.Overflow, err = query.ParseOverflow(f.overflow); err != nil {
		return opt, usagef("--%w", err)
	}
	return opt, nil
}
