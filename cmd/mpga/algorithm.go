package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/device"
)

// algorithmFlags choose how devices group rows.
type algorithmFlags struct {
	algorithm string
	ablation  engine.Ablation
}

func (f *algorithmFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.algorithm, "algorithm", "auto", "have a system of the papers do the query, all of it, on a device: `NAME` is "+strings.Join(engine.Algorithms(), ", "))
	completeWords(cmd, map[string][]string{"algorithm": engine.Algorithms()})
	f.registerParts(cmd)
}

// registerParts adds the flags that change parts of what an algorithm does.
func (f *algorithmFlags) registerParts(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.ablation.Bound, "bound", "", "size a device's partitions by `WORD`: theorem (Theorem 1; the default of mp-ega) or tail (of the binomial distribution)")
	flags.StringVar(&f.ablation.Oversized, "oversized", "", "partitions larger than a device's memory: `WORD` is feedback (load by load), split (partition again) or cpu")
	flags.BoolVar(&f.ablation.NoMerge, "no-merge", false, "do not merge a device's small partitions")
	flags.Float64Var(&f.ablation.LFMin, "lf-min", 0, "load a device's tables while their load `FACTOR` is below this (default 0.6)")
	flags.Float64Var(&f.ablation.LFMax, "lf-max", 0, "load a device's tables up to this load `FACTOR` (default 0.8)")
	flags.Float64Var(&f.ablation.LoadFactor, "load-factor", 0, "fill the tables of sp-ega, mp-ega, lphga and global to this `FACTOR` by the groups expected (default 1, or 0.5)")
	flags.IntVar(&f.ablation.Streams, "streams", 0, "`N` tiles of a device in flight (default 4, or 12 where the device decodes)")
	completeWords(cmd, map[string][]string{"bound": device.Bounds(), "oversized": device.Oversizeds()})
}
