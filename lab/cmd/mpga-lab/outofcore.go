package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/spf13/cobra"

	"github.com/mpga/mpga/app/cmdflags"
	"github.com/mpga/mpga/app/gen"
	"github.com/mpga/mpga/app/report"
	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/device"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/testknobs"
	"github.com/mpga/mpga/internal/trace"
	"github.com/mpga/mpga/internal/vfs"
	"github.com/mpga/mpga/kernels"
	"github.com/mpga/mpga/lab/pairs"
)

// outOfCoreFlags are the flags of mpga-lab outofcore.
type outOfCoreFlags struct {
	rows      float64
	groups    []float64
	input     string  // files, in place of rows in memory; "" for none
	zipf      float64 // exponent; 0 is uniform
	wide      bool
	median    bool
	device    string
	limit     string // of the memory of a device; "" is a quarter of the input
	threads   int
	times     int // runs that count
	asJSON    bool
	profile   string // file of a profile of the CPU; "" for none
	trace     string // file of the events of the last number of groups; "" for none
	report    string // file of a page about it; "" for none
	knobs     testknobs.Device
	algorithm cmdflags.Algorithm
}

func newOutOfCoreCommand() *cobra.Command {
	var f outOfCoreFlags
	cmd := &cobra.Command{
		Use:   "outofcore",
		Short: "Measure queries over more data than a GPU's memory",
		Long: `Measure SELECT key, sum(value) GROUP BY key over record batches that are in ordinary memory, with the
device's memory limited to a quarter of the input; or, with --input, over files that have such columns. Every
answer is checked: the number of groups, and what the sums add up to. The floor is the time in which the bytes
that must cross the link do so, each way, at the bandwidth that is measured first. The first run has memory to
pin, and with --device auto a device to open: it is shown by itself.`,
		Example: `  mpga-lab outofcore --rows 1e9 --groups 1e3,1e7,1e9 --device cuda
  mpga gen pairs --rows 3e8 --groups 1e7 --key uint32 --value uint32 -o pairs.parquet
  mpga-lab outofcore --input pairs.parquet --device auto`,
		Args: wantArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runOutOfCore(cmd.Context(), cmd.OutOrStdout(), &f)
		},
	}
	flags := cmd.Flags()
	flags.Float64Var(&f.rows, "rows", 1e9, "`N` rows")
	flags.Float64SliceVar(&f.groups, "groups", []float64{1e3, 1e7, 1e8, 1e9}, "`LIST` of numbers of groups")
	flags.StringVar(&f.input, "input", "", "read `FILES`, of a column key and a column value, in place of rows in memory")
	flags.Float64Var(&f.zipf, "zipf", 0, "exponent `S` of a Zipf distribution of the keys; 0 is uniform")
	flags.BoolVar(&f.wide, "wide", false, "an int64 key, three sums of int64 and a count, in place of uint32 and one sum")
	flags.BoolVar(&f.median, "median", false, "the median of the values, too, which the CPU finds in what a device has partitioned")
	flags.StringVar(&f.device, "device", "cuda", "what does the work, as in mpga agg")
	flags.StringVar(&f.limit, "device-memory-limit", "", "use `SIZE` of the device's memory (default a quarter of the input)")
	flags.IntVar(&f.threads, "threads", 0, "use `N` threads (default all)")
	flags.IntVar(&f.times, "times", 3, "`N` runs, of which the median is shown, after one that is not counted")
	flags.StringVar(&f.profile, "cpu-profile", "", "write a profile of the CPU's work to `FILE`, for go tool pprof")
	flags.IntVar(&f.knobs.TileRows, "tile-rows", 0, "`N` rows of a tile (default by the device's memory)")
	f.algorithm.Register(cmd)
	flags.IntVar(&f.knobs.RadixBits, "radix-bits", 0, "scatter to 2^`N` partitions (default by the groups)")
	flags.BoolVar(&f.knobs.NoDecode, "no-decode", false, "have the CPU alone decode the files of --input")
	flags.StringVar(&f.trace, "trace", "", "write to `FILE` when workers, devices and disks did what: Chrome's trace events")
	flags.StringVar(&f.report, "report", "", "write to `FILE` a page of HTML with the timeline")
	flags.BoolVar(&f.asJSON, "json", false, "print a JSON object for each number of groups")
	return cmd
}

// outOfCoreResult is what one number of groups took.
type outOfCoreResult struct {
	Rows, Groups int64
	Seconds      float64 // median
	Floor        float64 // seconds
	Best, First  float64
	Bytes        int64 // of the input's columns in memory
	Stats        engine.Stats
}

func runOutOfCore(ctx context.Context, w io.Writer, f *outOfCoreFlags) error {
	limit, err := parseSize("--device-memory-limit", f.limit)
	if err != nil {
		return err
	}
	if f.rows < 1 || f.times < 1 {
		return usagef("--rows %g, --times %d: want 1 or more", f.rows, f.times)
	}
	link := linkSpeed()
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	if f.input != "" {
		f.groups = []float64{0} // the files tell
	}
	if !f.asJSON {
		fmt.Fprintf(t, "groups\ts\tbest\tfirst\tresident\tG rows/s\tfloor s\tof the floor\tphases\troute\tdevice routes\tpeak\tin\tout\tkernels\tsets\t\n")
	}
	for _, groups := range f.groups {
		r, err := f.measure(ctx, int64(groups), limit, link)
		if err != nil {
			return fmt.Errorf("%g groups: %w", groups, err)
		}
		if f.asJSON {
			if err := json.NewEncoder(w).Encode(r); err != nil {
				return err
			}
			continue
		}
		d := r.Stats.Device
		if d == nil {
			d = &device.Stats{}
		}
		round := func(took time.Duration) time.Duration { return took.Round(time.Millisecond) }
		phases := r.Stats.PhaseTimes
		fmt.Fprintf(t, "%d\t%.3f\t%.3f\t%.3f\t%s\t%.2f\t%.3f\t%.0f%%\t%v+%v\t%s\t%v %s\t%s\t%v\t%v\t%v\t%d\t\n",
			r.Groups, r.Seconds, r.Best, r.First, byteSize(r.Stats.ResidentPeak), float64(r.Rows)/r.Seconds/1e9,
			r.Floor, 100*r.Floor/r.Seconds, round(phases[engine.PhasePartition]), round(phases[engine.PhaseProcess]),
			r.Stats.Route, d.Routes, d.Reason, byteSize(d.MemoryPeak), round(d.CopyIn), round(d.CopyOut), round(d.Kernel), d.Merged)
		t.Flush()
	}
	return t.Flush()
}

// linkSpeed returns the bytes a second of a pinned copy to the first GPU; infinite without one.
func linkSpeed() float64 {
	gpu, err := kernels.Open(kernels.Options{})
	if err != nil {
		return math.Inf(1)
	}
	defer gpu.Close()
	speed, err := kernels.LinkSpeed(gpu, 256<<20)
	if err != nil {
		return math.Inf(1)
	}
	return speed
}

// open returns the input that is measured; rows in memory have so many groups.
func (f *outOfCoreFlags) open(ctx context.Context, groups int64) (*pairs.Input, error) {
	if f.input != "" {
		return pairs.Open(ctx, f.input)
	}
	opt := gen.PairsOptions{Rows: int64(f.rows), Groups: groups, Seed: 1}
	opt.Key, opt.Value = arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Uint32
	if f.zipf > 0 {
		opt.Dist, opt.Zipf = gen.Zipf, f.zipf
	}
	if f.wide {
		opt.Key, opt.Value = arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Int64
	}
	table, err := gen.Pairs(opt)
	if err != nil {
		return nil, usageError{err}
	}
	in, err := pairs.Load(ctx, table)
	if err == nil && f.wide {
		widen(in)
	}
	return in, err
}

// widen gives the rows two more values, and asks for three sums and a count.
func widen(in *pairs.Input) {
	in.Repeat([]string{"key"}, []string{"value", "v2", "v3"})
	for _, name := range []string{"v2", "v3"} {
		in.Query.Aggregates = append(in.Query.Aggregates, query.Aggregate{Func: query.Sum, Args: []string{name}})
	}
	in.Query.Aggregates = append(in.Query.Aggregates, query.Aggregate{Func: query.CountStar})
}

func (f *outOfCoreFlags) measure(ctx context.Context, groups, limit int64, link float64) (*outOfCoreResult, error) {
	in, err := f.open(ctx, groups)
	if err != nil {
		return nil, err
	}
	defer in.Release()
	if f.median {
		in.Query.Aggregates = append(in.Query.Aggregates, query.Aggregate{Func: query.Median, Args: []string{"value"}})
	}
	if limit == 0 {
		limit = in.Bytes / 4
	}
	options := engine.Options{Threads: f.threads, Device: f.device, DeviceMemoryLimit: limit, Algorithm: f.algorithm.Name, Ablation: f.algorithm.Ablation}
	if f.trace != "" || f.report != "" {
		options.Trace = trace.New()
	}
	eng, err := engine.Open(testknobs.With(options, testknobs.Engine{Device: f.knobs}))
	if err != nil {
		return nil, err
	}
	defer eng.Close()
	stop, err := startProfile(f.profile)
	if err != nil {
		return nil, err
	}
	defer stop()
	r := &outOfCoreResult{Rows: in.Rows, Bytes: in.Bytes}
	times, stats, err := in.Time(ctx, eng, 1+f.times)
	if err != nil {
		return nil, err
	}
	r.First, r.Groups, r.Stats = times[0], in.Groups, stats
	times = times[1:]
	if err := f.draw(options.Trace, fmt.Sprintf("sum by key, %d groups", groups), stats); err != nil {
		return nil, err
	}
	slices.Sort(times)
	r.Seconds, r.Best = times[len(times)/2], times[0]
	state := int64(12)
	if f.wide {
		state = 8 + 3*16 + 8
	}
	out := r.Groups * state
	if f.median {
		out = in.Bytes
	}
	// Each row in once, each group out once, or each row; both ways at the same time.
	r.Floor = max(float64(in.Bytes), float64(out)) / link
	return r, nil
}

// draw writes the files that show what the runs did, and when.
func (f *outOfCoreFlags) draw(events *trace.Recorder, query string, stats engine.Stats) (err error) {
	if f.trace != "" {
		err = vfs.WriteFileBy(vfs.OS, f.trace, 0o666, events.WriteJSON)
	}
	if f.report != "" {
		page := report.Page{Query: query, Stats: stats, Timeline: events.Timeline()}
		err = errors.Join(err, vfs.WriteFileBy(vfs.OS, f.report, 0o666, page.Write))
	}
	return err
}
