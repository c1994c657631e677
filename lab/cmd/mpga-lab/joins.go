package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/mpga/mpga/kernels"
	"github.com/mpga/mpga/kernels/joins"
	"github.com/mpga/mpga/lab/bench"
)

// joinsFlags say which joins and sides are measured.
type joinsFlags struct {
	build, probe, keys float64
	keyBytes           int
	buildColumns       []int
	probeColumns       []int
	matchRatio, skew   float64
	algorithms         []string
	repeats            int
	parts              kernels.JoinPartitions
}

func newJoinsCommand() *cobra.Command {
	var f joinsFlags
	cmd := &cobra.Command{
		Use:   "joins",
		Short: "Measure the joins of a GPU",
		Long: `Measure the joins of the first GPU, with sides that are in its memory already: the median time between two
events of the device, of the transformation, the match and the columns of the answer. Every answer is checked.`,
		Example: `  mpga-lab joins --build 1e6 --probe 1e8
  mpga-lab joins --match-ratio 0.125 --algorithms phj-tr,phj-ur
  mpga-lab joins --build 6.7e7 --probe 6.7e7 --keys 8e6`,
		Args: wantArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runJoins(cmd.OutOrStdout(), &f)
		},
	}
	flags := cmd.Flags()
	flags.Float64Var(&f.build, "build", 1<<27, "`N` build rows")
	flags.Float64Var(&f.probe, "probe", 1<<27, "`N` probe rows")
	flags.Float64Var(&f.keys, "keys", 0, "`N` keys that both sides draw from (default: build rows have unique keys)")
	flags.IntVar(&f.keyBytes, "key-bytes", 4, "`BYTES` of a key, 4 or 8")
	flags.IntSliceVar(&f.buildColumns, "build-columns", []int{4, 4}, "`LIST` of bytes of the build side's payload columns")
	flags.IntSliceVar(&f.probeColumns, "probe-columns", []int{4, 4}, "`LIST` of bytes of the probe side's payload columns")
	flags.Float64Var(&f.matchRatio, "match-ratio", 1, "`SHARE` of the build rows whose keys probe rows have")
	flags.Float64Var(&f.skew, "skew", 0, "`EXPONENT` of a Zipf distribution of the probe rows' keys; 0: uniform")
	flags.StringSliceVar(&f.algorithms, "algorithms", nil, "`LIST` of phj-tr, phj-ur, smj-tr, smj-ur, nphj (default all)")
	flags.IntVar(&f.repeats, "repeats", 9, "`N` runs, whose median is shown")
	flags.IntVar(&f.parts.RadixBits, "radix-bits", 0, "`BITS` by which sides are partitioned (default by the build rows)")
	flags.IntVar(&f.parts.TableRows, "table-rows", 0, "`N` build rows of a table in shared memory")
	flags.IntVar(&f.parts.HeadBits, "head-bits", 0, "`BITS`: log2 of the chains of a table")
	flags.IntVar(&f.parts.Threads, "threads", 0, "`N` threads of a block that joins partitions")
	return cmd
}

func runJoins(w io.Writer, f *joinsFlags) error {
	algorithms := joins.Algorithms()
	if len(f.algorithms) > 0 {
		algorithms = nil
		for _, name := range f.algorithms {
			i := slices.IndexFunc(joins.Algorithms(), func(a joins.Algorithm) bool { return a.String() == name })
			if i < 0 {
				return usagef("--algorithms %q: want some of %v", strings.Join(f.algorithms, ","), joins.Algorithms())
			}
			algorithms = append(algorithms, joins.Algorithms()[i])
		}
	}
	switch {
	case f.build < 1 || f.build >= kernels.NoRow || f.probe < 1 || f.probe >= kernels.NoRow:
		return usagef("--build %g, --probe %g: want 1 to 2^32-2", f.build, f.probe)
	case f.keyBytes != 4 && f.keyBytes != 8:
		return usagef("--key-bytes %d: want 4 or 8", f.keyBytes)
	case f.repeats < 1:
		return usagef("--repeats %d: want 1 or more", f.repeats)
	}
	return withRunner(f.repeats, func(device kernels.Device, runner *bench.Runner) error {
		return measureJoins(w, f, algorithms, device, runner)
	})
}

// measureJoins prints what algorithms take.
func measureJoins(w io.Writer, f *joinsFlags, algorithms []joins.Algorithm, device kernels.Device,
	runner *bench.Runner) (err error) {
	c := bench.JoinCase{BuildRows: int64(f.build), ProbeRows: int64(f.probe), Keys: int64(f.keys), KeyBytes: f.keyBytes,
		MatchRatio: f.matchRatio, Skew: f.skew, BuildColumns: f.buildColumns, ProbeColumns: f.probeColumns}
	data, err := runner.PutJoin(c)
	defer func() { err = errors.Join(err, runner.Drop()) }()
	if err != nil {
		return err
	}
	p := device.Properties()
	fmt.Fprintf(w, "%s, CUDA %d.%d\n", p.Name, p.DriverVersion/1000, p.DriverVersion%1000/10)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "algorithm\tms\ttransform\tmatch\tcolumns\tG rows/s\tpairs\tMiB\t")
	for _, a := range algorithms {
		r, err := runner.RunJoin(data, a, f.parts)
		if err != nil {
			return fmt.Errorf("%v: %w", a, err)
		}
		millis := func(nanos int64) float64 { return float64(nanos) / 1e6 }
		fmt.Fprintf(t, "%v\t%.3f\t%.3f\t%.3f\t%.3f\t%.2f\t%d\t%d\t\n", a, millis(r.Nanos),
			millis(r.Stages[bench.Transform]), millis(r.Stages[bench.Match]), millis(r.Stages[bench.Materialise]),
			float64(c.BuildRows+c.ProbeRows)/float64(r.Nanos), r.Pairs, r.Scratch>>20)
	}
	return t.Flush()
}
