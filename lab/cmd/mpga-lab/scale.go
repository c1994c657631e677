package main

import (
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mpga/mpga/app/cmdflags"
	"github.com/mpga/mpga/engine/distributed"
	"github.com/mpga/mpga/lab/scaleout"
)

// scaleFlags are the flags of mpga-lab scale.
type scaleFlags struct {
	queries []string
	load    scaleout.Workload // the fields that flags give
	spread  string
	rate    float64 // rows/s of partial work; 0 is the query's own rates

	plan       distributed.Request
	splitBytes string

	cluster      scaleout.Cluster
	memory, temp string
	network      float64 // Gbit/s
	store        float64 // GB/s
	latency      time.Duration
	start        time.Duration

	runs   int
	seed   uint64
	format string
}

func newScaleCommand() *cobra.Command {
	f := scaleFlags{cluster: scaleout.StandardCluster()}
	cmd := &cobra.Command{
		Use:   "scale",
		Short: "Calculate what mpga dist takes on many hosts",
		Long: `Calculate, without running anything, what mpga dist takes for a query on many hosts beside an object store:
the bytes that cross the network, requests, the time of each stage with stragglers, failures and second
attempts, what each stage waits for, and the number of rows from which on a limit holds. Tasks are counted as
mpga dist plan counts them. Rates were measured on other machines, and are named; the network and the store are
assumptions: docs/scale-out.md tells which.

A flag of the query changes each query that is shown.`,
		Example: `  mpga-lab scale
  mpga-lab scale --query q5,rollup --rows 1e11 --hosts 20 --split-bytes 1GiB
  mpga-lab scale --query custom --groups 1e7 --spread zipf:1.1 --state-bytes 48 --row-bytes 20 --rate 1e7
  mpga-lab scale --query distinct --partitions 256 --merges 256 --format json`,
		Args: wantArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.run(cmd.OutOrStdout(), cmd.Flags().Changed)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	f.registerQuery(cmd)
	flags.StringVar(&f.splitBytes, "split-bytes", "", "cut the input into splits of about `SIZE` (default as mpga dist plan)")
	flags.IntVar(&f.plan.Splits, "splits", 0, "cut the input into `N` splits (default by --split-bytes)")
	flags.IntVar(&f.plan.Partitions, "partitions", 0, "`N` partitions of the keys, a power of two (default as mpga dist plan)")
	flags.IntVar(&f.plan.Merges, "merges", 0, "`N` tasks merge partitions (default as mpga dist plan)")
	flags.IntVar(&f.plan.Combines, "combines", 0, "merge the splits' states to `N` before that; -1 never does (default as mpga dist plan)")
	f.registerCluster(cmd)
	flags.IntVar(&f.runs, "runs", 21, "simulate `N` runs, of which the median and the 95th percentile are shown")
	flags.Uint64Var(&f.seed, "seed", 1, "the seed `N` of the simulation")
	flags.StringVar(&f.format, "format", "text", "`WORD` is text or json")
	names := []string{"custom"}
	for _, w := range scaleout.Standard() {
		names = append(names, w.Name)
	}
	cmdflags.Complete(cmd, map[string][]string{"query": names, "format": {"text", "json"}, "spread": {"uniform", "all", "zipf:1.1"}})
	return cmd
}

func (f *scaleFlags) registerQuery(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringSliceVar(&f.queries, "query", []string{"q1", "rollup", "q3", "q5", "q10", "distinct"}, "`LIST` of q1, rollup, q3, q5, q10, distinct, tpch1, custom (q5, but for flags)")
	flags.Float64Var(&f.load.Rows, "rows", 1e12, "`N` rows; ids 3 and 6 have a hundredth as many values")
	flags.Float64Var(&f.load.Groups, "groups", 0, "`N` groups (default the query's)")
	flags.StringVar(&f.spread, "spread", "", "groups of a split: `WORD` is uniform (each row is of any), all (each split has all), or zipf:S with an exponent")
	flags.Float64Var(&f.load.RowBytes, "row-bytes", 0, "`N` bytes of a row, of the columns that are read, in the files")
	flags.Float64Var(&f.load.StateBytes, "state-bytes", 0, "`N` bytes of a group's key and state in memory")
	flags.Float64Var(&f.load.PackedBytes, "packed-bytes", 0, "`N` bytes of the same in a pack")
	flags.Float64Var(&f.load.ResultBytes, "result-bytes", 0, "`N` bytes of a row of the output")
	flags.Float64Var(&f.load.Pairs, "pairs", 0, "`N` different pairs of a group and a value, of a distinct count, a median or a list")
	flags.BoolVar(&f.load.Ordered, "ordered", false, "the statement has ORDER BY")
	flags.Float64Var(&f.rate, "rate", 0, "`N` rows a second that a thread aggregates")
	flags.Float64Var(&f.load.StatesMerged, "merge-rate", 0, "`N` states a second that a thread merges")
}

func (f *scaleFlags) registerCluster(cmd *cobra.Command) {
	flags, c := cmd.Flags(), &f.cluster
	flags.IntVar(&c.Hosts, "hosts", c.Hosts, "`N` hosts")
	flags.IntVar(&c.Threads, "threads", c.Threads, "`N` threads of a host")
	flags.IntVar(&c.TaskThreads, "task-threads", c.TaskThreads, "`N` threads of a task")
	flags.StringVar(&f.memory, "memory", "64GiB", "`SIZE` of a host's memory")
	flags.StringVar(&f.temp, "temp", "1TB", "`SIZE` of a host's disk for temporary files")
	flags.Float64Var(&f.network, "network", 25, "`N` Gbit/s of a host's network")
	flags.Float64Var(&f.store, "store", 10, "`N` GB/s that the store gives to all hosts")
	flags.Float64Var(&c.Gets, "gets", c.Gets, "`N` GET a second that the store answers for a prefix")
	flags.Float64Var(&c.Puts, "puts", c.Puts, "`N` PUT a second that the store answers for a prefix")
	flags.IntVar(&c.Prefixes, "prefixes", c.Prefixes, "`N` prefixes over which the input is spread")
	flags.DurationVar(&f.latency, "latency", 100*time.Millisecond, "`TIME` that a request takes beside its bytes")
	flags.DurationVar(&f.start, "start", 100*time.Millisecond, "`TIME` from when a slot is free until a task reads its plan")
	flags.Float64Var(&c.Failures, "failures", c.Failures, "`N` failures of a slot in an hour")
	flags.Float64Var(&c.Stragglers, "stragglers", c.Stragglers, "`N` is the part of the attempts that are slow")
	flags.Float64Var(&c.Slow, "slow", c.Slow, "slow attempts take `N` times as long on average")
	flags.BoolVar(&c.Speculate, "speculation", c.Speculate, "start a twin beside a slow attempt")
}

// runsMax bounds the runs of a simulation.
const runsMax = 10_000

func (f *scaleFlags) run(w io.Writer, isGiven func(flag string) bool) error {
	switch {
	case f.runs < 1 || f.runs > runsMax:
		return usagef("--runs %d: want 1 to %d", f.runs, runsMax)
	case f.format != "text" && f.format != "json":
		return usagef("--format %q: want text or json", f.format)
	}
	if err := f.setCluster(); err != nil {
		return err
	}
	loads, err := f.workloads(isGiven)
	if err != nil {
		return err
	}
	report := scaleReport{Cluster: f.cluster}
	for _, load := range loads {
		j, err := scaleout.NewJob(load, f.cluster, f.plan)
		if err != nil {
			return usagef("scale: %s: %w", load.Name, err)
		}
		report.add(j, j.Simulate(f.runs, f.seed))
	}
	if f.format == "json" {
		return printJSON(w, &report)
	}
	return report.print(w)
}

// setCluster takes sizes and times over.
func (f *scaleFlags) setCluster() error {
	c := &f.cluster
	for _, size := range []struct {
		flag, text string
		to         *float64
	}{{"--memory", f.memory, &c.MemoryBytes}, {"--temp", f.temp, &c.TempBytes}} {
		n, err := parseSize(size.flag, size.text)
		if err != nil {
			return err
		}
		*size.to = float64(n)
	}
	bytes, err := parseSize("--split-bytes", f.splitBytes)
	if err != nil {
		return err
	}
	f.plan.SplitBytes = bytes
	c.Network, c.Store = f.network*1e9/8, f.store*1e9
	c.Latency, c.Start = f.latency.Seconds(), f.start.Seconds()
	return nil
}

// workloads returns the queries that are shown, as the flags have them.
func (f *scaleFlags) workloads(isGiven func(flag string) bool) (loads []scaleout.Workload, err error) {
	all := scaleout.Standard()
	custom := all[slices.IndexFunc(all, func(w scaleout.Workload) bool { return w.Name == "q5" })]
	custom.Name, custom.Statement, custom.Source = "custom", "q5, but for flags", "flags; the others as q5's"
	all = append(all, custom)
	for _, name := range f.queries {
		i := slices.IndexFunc(all, func(w scaleout.Workload) bool { return w.Name == name })
		if i < 0 {
			return nil, usagef("--query %q: want q1, rollup, q3, q5, q10, distinct, tpch1 or custom", name)
		}
		if !(f.load.Rows >= 1 && f.load.Rows <= 1e18) {
			return nil, usagef("--rows %g: want 1 to 1e18", f.load.Rows)
		}
		w := all[i].AtRows(math.Round(f.load.Rows))
		for flag, change := range f.changes(&w) {
			if isGiven(flag) {
				if err := change(); err != nil {
					return nil, err
				}
			}
		}
		loads = append(loads, w)
	}
	return loads, nil
}

// changes returns what flags change of a workload.
func (f *scaleFlags) changes(w *scaleout.Workload) map[string]func() error {
	set := func(to *float64, value float64) func() error {
		return func() error {
			*to = value
			return nil
		}
	}
	return map[string]func() error{
		"groups":       func() error { w.Groups, w.Grow = f.load.Groups, false; return nil },
		"pairs":        func() error { w.Pairs, w.Grow = f.load.Pairs, false; return nil },
		"row-bytes":    func() error { w.RowBytes, w.FileRow = f.load.RowBytes, max(w.FileRow, f.load.RowBytes); return nil },
		"state-bytes":  set(&w.StateBytes, f.load.StateBytes),
		"packed-bytes": set(&w.PackedBytes, f.load.PackedBytes),
		"result-bytes": set(&w.ResultBytes, f.load.ResultBytes),
		"merge-rate":   set(&w.StatesMerged, f.load.StatesMerged),
		"rate":         func() error { w.RowsInCache, w.RowsBeyond = f.rate, f.rate; return nil },
		"ordered":      func() error { w.Ordered = f.load.Ordered; return nil },
		"spread":       func() error { return setSpread(w, f.spread) },
	}
}

// setSpread sets how groups lie in splits.
func setSpread(w *scaleout.Workload, text string) (err error) {
	word, exponent, given := strings.Cut(text, ":")
	switch {
	case word == "uniform" && !given:
		w.Spread = scaleout.Uniform
	case word == "all" && !given:
		w.Spread = scaleout.All
	case word == "zipf" && given:
		w.Spread = scaleout.Zipf
		if w.Skew, err = strconv.ParseFloat(exponent, 64); err != nil || !(w.Skew > 0) {
			return usagef("--spread %q: want an exponent above 0", text)
		}
	default:
		return usagef("--spread %q: want uniform, all or zipf:S", text)
	}
	return nil
}
