// Package cmdflags has the command-line flags that several commands share.
package cmdflags

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/device"
)

// Algorithm is the flags that choose how devices group rows.
type Algorithm struct {
	Name     string          // as engine.Options.Algorithm
	Ablation engine.Ablation // as engine.Options.Ablation
}

// Register adds all flags to a command.
func (f *Algorithm) Register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.Name, "algorithm", "auto", "have a system of the papers do the query, "+
		"all of it, on a device: `NAME` is "+strings.Join(engine.Algorithms(), ", "))
	Complete(cmd, map[string][]string{"algorithm": engine.Algorithms()})
	f.RegisterParts(cmd)
}

// RegisterParts adds the flags that change parts of what an algorithm does.
func (f *Algorithm) RegisterParts(cmd *cobra.Command) {
	flags := cmd.Flags()
	a := &f.Ablation
	flags.StringVar(&a.Bound, "bound", "", "size a device's partitions by `WORD`: theorem "+
		"(Theorem 1; the default of mp-ega) or tail (of the binomial distribution)")
	flags.StringVar(&a.Oversized, "oversized", "", "partitions larger than a device's memory: "+
		"`WORD` is feedback (load by load), split (partition again) or cpu")
	flags.BoolVar(&a.NoMerge, "no-merge", false, "do not merge a device's small partitions")
	flags.Float64Var(&a.LFMin, "lf-min", 0,
		"load a device's tables while their load `FACTOR` is below this (default 0.6)")
	flags.Float64Var(&a.LFMax, "lf-max", 0,
		"load a device's tables up to this load `FACTOR` (default 0.8)")
	flags.Float64Var(&a.LoadFactor, "load-factor", 0, "fill the tables of sp-ega, mp-ega, lphga, chen "+
		"and global to this `FACTOR` by the groups expected (default 1, or 0.5)")
	flags.IntVar(&a.Streams, "streams", 0,
		"`N` tiles of a device in flight (default 4, or 12 where the device decodes)")
	Complete(cmd, map[string][]string{"bound": device.Bounds(), "oversized": device.Oversizeds()})
}

// Complete lets the shell complete flags that take one of a few words.
func Complete(cmd *cobra.Command, words map[string][]string) {
	for flag, list := range words {
		CompleteBy(cmd, flag, cobra.FixedCompletions(list, cobra.ShellCompDirectiveNoFileComp))
	}
}

// NoCompletions has Complete and CompleteBy do nothing, in a process that reads many command lines: cobra keeps the
// functions of all flags for ever, and with them all that commands have used.
var NoCompletions bool

// CompleteBy lets the shell complete a flag by a function.
func CompleteBy(cmd *cobra.Command, flag string, complete cobra.CompletionFunc) {
	if NoCompletions {
		return
	}
	if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic(err) // there is no such flag
	}
}
