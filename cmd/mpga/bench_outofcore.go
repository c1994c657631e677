package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
	"sync"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/gen"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/spec"
	"github.com/mpga/mpga/kernels"
	"github.com/mpga/mpga/kernels/bench"
)

// benchOutOfCoreFlags say what is measured.
type benchOutOfCoreFlags struct {
	rows    float64
	groups  []float64
	zipf    float64
	wide    bool
	device  string
	limit   string
	threads int
	times   int
	asJSON  bool
	profile string
	knobs   engine.DeviceKnobs
}

func newBenchOutOfCoreCommand() *cobra.Command {
	var f benchOutOfCoreFlags
	cmd := &cobra.Command{
		Use:   "outofcore",
		Short: "Measure queries over more data than a GPU's memory",
		Long: `Measure SELECT key, sum(value) GROUP BY key over record batches that are in ordinary memory, with the
device's memory limited to a quarter of the input. Every answer is checked: the number of groups, and
what the sums add up to. The floor is the time in which the bytes that must cross the link do so, each way,
at the bandwidth that is measured first.`,
		Example: `  mpga bench outofcore --rows 1e9 --groups 1e3,1e7,1e9 --device cuda`,
		Args:    wantArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runBenchOutOfCore(cmd.Context(), cmd.OutOrStdout(), &f)
		},
	}
	flags := cmd.Flags()
	flags.Float64Var(&f.rows, "rows", 1e9, "`N` rows")
	flags.Float64SliceVar(&f.groups, "groups", []float64{1e3, 1e7, 1e8, 1e9}, "`LIST` of numbers of groups")
	flags.Float64Var(&f.zipf, "zipf", 0, "exponent `S` of a Zipf distribution of the keys; 0 is uniform")
	flags.BoolVar(&f.wide, "wide", false, "an int64 key, three sums of int64 and a count, in place of uint32 and one sum")
	flags.StringVar(&f.device, "device", "cuda", "what does the work, as in mpga agg")
	flags.StringVar(&f.limit, "device-memory-limit", "", "use `SIZE` of the device's memory (default a quarter of the input)")
	flags.IntVar(&f.threads, "threads", 0, "use `N` threads (default all)")
	flags.IntVar(&f.times, "times", 3, "`N` runs, of which the median is shown, after one that is not counted")
	flags.StringVar(&f.profile, "cpu-profile", "", "write a profile of the CPU's work to `FILE`, for go tool pprof")
	flags.IntVar(&f.knobs.TileRows, "tile-rows", 0, "`N` rows of a tile (default by the device's memory)")
	flags.IntVar(&f.knobs.Streams, "streams", 0, "`N` tiles in flight (default 4)")
	flags.IntVar(&f.knobs.RadixBits, "radix-bits", 0, "scatter to 2^`N` partitions (default by the groups)")
	flags.BoolVar(&f.asJSON, "json", false, "print a JSON object for each number of groups")
	return cmd
}

// outOfCoreResult is what one number of groups took.
type outOfCoreResult struct {
	Rows, Groups int64
	Seconds      float64 // median
	Floor        float64 // seconds
	Best         float64
	Bytes        int64 // of the input
	Stats        engine.Stats
}

func runBenchOutOfCore(ctx context.Context, w io.Writer, f *benchOutOfCoreFlags) error {
	limit, err := parseSize("--device-memory-limit", f.limit)
	if err != nil {
		return err
	}
	if f.rows < 1 || f.times < 1 {
		return usagef("--rows %g, --times %d: want 1 or more", f.rows, f.times)
	}
	link := linkSpeed()
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	if !f.asJSON {
		fmt.Fprintf(t, "groups\ts\tbest\tG rows/s\tfloor s\tof the floor\tphases\troute\tdevice routes\tpeak\tin\tout\tkernels\tsets\t\n")
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
			d = &engine.DeviceStats{}
		}
		fmt.Fprintf(t, "%g\t%.3f\t%.3f\t%.2f\t%.3f\t%.0f%%\t%v+%v\t%s\t%v %s\t%s\t%v\t%v\t%v\t%d\t\n", groups, r.Seconds, r.Best, float64(r.Rows)/r.Seconds/1e9, r.Floor,
			100*r.Floor/r.Seconds, r.Stats.PhaseTimes[engine.PhasePartition].Round(time.Millisecond), r.Stats.PhaseTimes[engine.PhaseProcess].Round(time.Millisecond), r.Stats.Route, d.Routes, d.Reason, humanize.IBytes(uint64(d.MemoryPeak)),
			d.CopyIn.Round(time.Millisecond), d.CopyOut.Round(time.Millisecond), d.Kernel.Round(time.Millisecond), d.Merged)
		t.Flush()
	}
	return t.Flush()
}

// linkSpeed returns the bytes a second of a pinned copy to the first GPU; infinite without one.
func linkSpeed() float64 {
	device, err := kernels.Open(kernels.Options{})
	if err != nil {
		return math.Inf(1)
	}
	defer device.Close()
	speed, err := bench.LinkSpeed(device)
	if err != nil {
		return math.Inf(1)
	}
	return speed
}

func (f *benchOutOfCoreFlags) measure(ctx context.Context, groups, limit int64, link float64) (*outOfCoreResult, error) {
	opt := gen.PairsOptions{Rows: int64(f.rows), Groups: groups, Key: arrow.PrimitiveTypes.Uint32, Value: arrow.PrimitiveTypes.Uint32, Seed: 1}
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
	in, err := loadPairs(ctx, table, f.wide)
	if err != nil {
		return nil, err
	}
	defer in.release()
	if limit == 0 {
		limit = in.bytes / 4
	}
	options := engine.Options{Threads: f.threads, Device: f.device, DeviceMemoryLimit: limit}
	eng, err := engine.Open(engine.WithTestingKnobs(options, engine.TestingKnobs{Device: f.knobs}))
	if err != nil {
		return nil, err
	}
	defer eng.Close()
	if f.profile != "" {
		file, err := os.Create(f.profile)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		if err := pprof.StartCPUProfile(file); err != nil {
			return nil, err
		}
		defer pprof.StopCPUProfile()
	}
	r := &outOfCoreResult{Rows: in.rows, Bytes: in.bytes}
	var times []float64
	for i := range f.times + 1 {
		start := time.Now()
		stats, err := in.run(ctx, eng)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			times = append(times, time.Since(start).Seconds())
		}
		r.Stats, r.Groups = stats, stats.Groups
	}
	slices.Sort(times)
	r.Seconds, r.Best = times[len(times)/2], times[0]
	state := int64(12)
	if f.wide {
		state = 8 + 3*16 + 8
	}
	// Each row in once, each group out once; both ways at the same time.
	r.Floor = max(float64(in.bytes), float64(r.Groups*state)) / link
	return r, nil
}

// loadedPairs is a table in ordinary memory, with what its answer must add up to.
type loadedPairs struct {
	source  scan.Source
	batches []arrow.RecordBatch
	query   spec.Query
	rows    int64
	bytes   int64
	sum     uint64 // of the first value, modulo 2^64
}

// loadBatchRows is how many rows the loaded batches have.
const loadBatchRows = 1 << 20

func loadPairs(ctx context.Context, table *gen.Table, wide bool) (*loadedPairs, error) {
	columns := []int{0, 1}
	splits, err := table.Splits(ctx, columns)
	if err != nil {
		return nil, err
	}
	lists := make([][]arrow.RecordBatch, len(splits))
	sums := make([]uint64, len(splits))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(16, 1))
	for i, s := range splits {
		group.Go(func() error {
			r, err := s.Open(ctx, scan.OpenOptions{BatchRows: loadBatchRows})
			if err != nil {
				return err
			}
			defer r.Release()
			for r.Next() {
				b := r.RecordBatch()
				b.Retain()
				lists[i] = append(lists[i], b)
				sums[i] += sumOf(b.Column(1))
			}
			return r.Err()
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	in := &loadedPairs{query: spec.Query{
		Keys:       []spec.Key{{Column: "key"}},
		Aggregates: []spec.Aggregate{{Func: spec.Sum, Args: []string{"value"}}},
	}}
	for i, list := range lists {
		in.batches = append(in.batches, list...)
		in.sum += sums[i]
	}
	schema := table.Schema()
	if wide {
		in.widen()
		schema = in.batches[0].Schema()
		for _, name := range []string{"v2", "v3"} {
			in.query.Aggregates = append(in.query.Aggregates, spec.Aggregate{Func: spec.Sum, Args: []string{name}})
		}
		in.query.Aggregates = append(in.query.Aggregates, spec.Aggregate{Func: spec.CountStar})
	}
	for _, b := range in.batches {
		in.rows += b.NumRows()
		for _, c := range b.Columns() {
			in.bytes += b.NumRows() * int64(c.DataType().(arrow.FixedWidthDataType).Bytes())
		}
	}
	in.source = scan.Batches(schema, in.batches)
	return in, nil
}

// widen adds two values, which are the first one again.
func (in *loadedPairs) widen() {
	for i, b := range in.batches {
		fields := append(slices.Clone(b.Schema().Fields()), arrow.Field{Name: "v2", Type: b.Column(1).DataType()}, arrow.Field{Name: "v3", Type: b.Column(1).DataType()})
		columns := []arrow.Array{b.Column(0), b.Column(1), b.Column(1), b.Column(1)}
		in.batches[i] = array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, b.NumRows())
		b.Release()
	}
}

func (in *loadedPairs) release() {
	for _, b := range in.batches {
		b.Release()
	}
}

func sumOf(a arrow.Array) (sum uint64) {
	switch a := a.(type) {
	case *array.Uint32:
		for _, v := range a.Uint32Values() {
			sum += uint64(v)
		}
	case *array.Int64:
		for _, v := range a.Int64Values() {
			sum += uint64(v)
		}
	}
	return sum
}

// run asks the query once and checks what the answer adds up to.
func (in *loadedPairs) run(ctx context.Context, eng *engine.Engine) (engine.Stats, error) {
	result, err := eng.Aggregate(ctx, in.source, in.query)
	if err != nil {
		return engine.Stats{}, err
	}
	defer result.Release()
	// One goroutine would take longer to add up a result than the query takes to make it.
	var sum atomic.Uint64
	batches := make(chan arrow.RecordBatch)
	var readers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), 8) {
		readers.Go(func() {
			for b := range batches {
				sum.Add(sumOf(b.Column(1)))
				b.Release()
			}
		})
	}
	for result.Next() {
		b := result.RecordBatch()
		b.Retain()
		batches <- b
	}
	close(batches)
	readers.Wait()
	if err := result.Err(); err != nil {
		return engine.Stats{}, err
	}
	if sum.Load() != in.sum {
		return engine.Stats{}, errors.New("the sums do not add up: the answer is wrong")
	}
	return result.Stats(), nil
}
