package measure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/dustin/go-humanize"

	"github.com/mpga/mpga/app/gen"
	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/device"
	"github.com/mpga/mpga/internal/testknobs"
	"github.com/mpga/mpga/internal/trace"
	"github.com/mpga/mpga/lab/pairs"
	"github.com/mpga/mpga/lab/papers"
)

// engineCase is one way to answer a query on an engine.
type engineCase struct {
	name     string
	device   string // Options.Device; "" is the device of the report
	options  engine.Options
	bits     int             // radix bits that are forced; 0 is none
	times    int             // runs that count, after one that does not; 0 is one
	isCold   bool            // the run that does not count is left out: there is nothing to warm up
	recorder *trace.Recorder // nil for none
}

// engineRun is what one way took.
type engineRun struct {
	seconds float64      // median
	device  device.Stats // of the last answer; the zero value where no device was asked
}

// load makes rows in memory, of a 4-byte key and a 4-byte value.
func load(ctx context.Context, rows, groups int64) (*pairs.Input, error) {
	return loadKeys(ctx, arrow.PrimitiveTypes.Uint32, rows, groups)
}

// loadKeys makes rows in memory, of a key of a type and a 4-byte value.
func loadKeys(ctx context.Context, key arrow.DataType, rows, groups int64) (*pairs.Input, error) {
	table, err := gen.Pairs(gen.PairsOptions{Rows: rows, Groups: groups, Key: key,
		Value: arrow.PrimitiveTypes.Uint32, Seed: 1})
	if err != nil {
		return nil, err
	}
	return pairs.Load(ctx, table)
}

// ask answers the query of an input in one way. A wrong answer is an error (M1).
func (m *measurer) ask(ctx context.Context, in *pairs.Input, c engineCase) (run engineRun, err error) {
	o := c.options
	o.Device, o.Trace = cmp.Or(c.device, m.engines), c.recorder
	eng, err := engine.Open(testknobs.With(o, testknobs.Engine{Device: testknobs.Device{RadixBits: c.bits}}))
	if err != nil {
		return run, err
	}
	defer func() { err = errors.Join(err, eng.Close()) }()
	warming := 1
	if c.isCold {
		warming = 0
	}
	times, stats, err := in.Time(ctx, eng, warming+max(c.times, 1))
	if err != nil {
		return run, fmt.Errorf("%s: %w", c.name, err)
	}
	times = times[warming:]
	slices.Sort(times)
	run.seconds = times[len(times)/2]
	if stats.Device != nil {
		run.device = *stats.Device
	}
	return run, nil
}

// quarter are options that leave a device a quarter of the input's bytes.
func quarter(in *pairs.Input, algorithm string, a engine.Ablation) engine.Options {
	return engine.Options{DeviceMemoryLimit: max(in.Bytes/4, 1<<20), Algorithm: algorithm, Ablation: a}
}

// times is how often an engine answers a query that is timed: a part of the repeats of kernels, which are shorter.
func (m *measurer) times() int { return min(m.report.Repeats, 3) }

// Rows of the figures whose rows are more than a device's memory.
const (
	outOfCoreRows    = 2e8     // of the figures merge and coprocessing42
	outOfCoreRowsMin = 1 << 20 // of every figure: a quarter of fewer rows is less memory than the pipeline runs in
)

// outOfCoreRows scales a paper's number of rows like rows, to no fewer than outOfCoreRowsMin.
func (m *measurer) outOfCoreRows(result *papers.Result, paper float64) int64 {
	rows := max(m.rows(result, paper), outOfCoreRowsMin)
	result.Scale = float64(rows) / paper
	return rows
}

// noteLimit notes which rows a figure has, and how much of the device's memory.
func noteLimit(result *papers.Result, in *pairs.Input) {
	result.Note(fmt.Sprintf("%d rows of a 4-byte key and a 4-byte value (%s), with the device's memory limited to a "+
		"quarter of that.", in.Rows, humanize.IBytes(uint64(in.Bytes))))
}

func linkMiB(run *engineRun) float64 {
	return float64(run.device.BytesIn+run.device.BytesOut) / (1 << 20)
}
