package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/device"
	"github.com/mpga/mpga/internal/gen"
	"github.com/mpga/mpga/internal/papers"
	"github.com/mpga/mpga/internal/testknobs"
	"github.com/mpga/mpga/internal/trace"
)

// engineCase is one way to answer a query on an engine.
type engineCase struct {
	name     string
	device   string // Options.Device; "" is the device of the report
	options  engine.Options
	bits     int             // radix bits that are forced; 0 is none
	times    int             // runs that count, after one that does not; 0 is one
	isCold   bool            // there is one run, which counts: it has nothing to warm up
	recorder *trace.Recorder // nil for none
}

// engineRun is what one way took.
type engineRun struct {
	seconds float64 // median
	stats   engine.Stats
	device  device.Stats // of stats; the zero value where no device was asked
}

// outOfCore is the input of a figure that is larger than the device's memory.
type outOfCore struct {
	*pairsInput
	groups int64 // of the first answer; 0 before
}

// load makes rows in memory, of a 4-byte key and a 4-byte value.
func (r *paperRun) load(ctx context.Context, rows, groups int64) (*outOfCore, error) {
	table, err := gen.Pairs(pairsOf(rows, groups))
	if err != nil {
		return nil, err
	}
	in, err := loadPairs(ctx, table, false)
	if err != nil {
		return nil, err
	}
	return &outOfCore{pairsInput: in}, nil
}

func pairsOf(rows, groups int64) gen.PairsOptions {
	return gen.PairsOptions{Rows: rows, Groups: groups, Key: arrow.PrimitiveTypes.Uint32,
		Value: arrow.PrimitiveTypes.Uint32, Seed: 1}
}

// ask answers the query of an input in one way. The sums of the groups must add up to the input's, and each way must
// find as many groups as the first.
func (r *paperRun) ask(ctx context.Context, in *outOfCore, c engineCase) (run engineRun, err error) {
	o := c.options
	if o.Device = c.device; o.Device == "" {
		o.Device = r.engines
	}
	o.Trace = c.recorder
	eng, err := engine.Open(testknobs.With(o, testknobs.Engine{Device: testknobs.Device{RadixBits: c.bits}}))
	if err != nil {
		return run, err
	}
	defer func() { err = errors.Join(err, eng.Close()) }()
	more := max(c.times, 1)
	if c.isCold {
		more = 0
	}
	times, err := in.time(ctx, eng, more, &run.stats)
	if err != nil {
		return run, fmt.Errorf("%s: %w", c.name, err)
	}
	if in.groups == 0 {
		in.groups = run.stats.Groups
	}
	if run.stats.Groups != in.groups {
		return run, fmt.Errorf("%s has %d groups, and others have %d: an answer is wrong", c.name, run.stats.Groups,
			in.groups)
	}
	times = times[min(more, 1):]
	slices.Sort(times)
	run.seconds = times[len(times)/2]
	if d := run.stats.Device; d != nil {
		run.device = *d
	}
	return run, nil
}

// quarter are options that leave a device a quarter of the input's bytes.
func (in *outOfCore) quarter(algorithm string, a engine.Ablation) engine.Options {
	return engine.Options{DeviceMemoryLimit: max(in.bytes/4, 1<<20), Algorithm: algorithm, Ablation: a}
}

// times is how often an engine answers a query that is timed: a part of the repeats of kernels, which are shorter.
func (r *paperRun) times() int { return min(r.report.Repeats, 3) }

// outOfCoreRows are the rows of the figures out of core but for figure 7, and the least of them all: fewer fit any
// device's memory that the pipeline runs in.
const (
	outOfCoreRows    = 2e8
	outOfCoreRowsMin = 1 << 20
)

func (r *paperRun) outOfCoreRows(result *papers.Result, paper float64) int64 {
	rows := max(r.rows(result, paper), outOfCoreRowsMin)
	result.Scale = float64(rows) / paper
	return rows
}

// noteLimit notes which rows a figure has, and in how much memory.
func noteLimit(result *papers.Result, in *outOfCore) {
	result.Note(fmt.Sprintf("%d rows of a 4-byte key and a 4-byte value (%s), with the device's memory limited to a "+
		"quarter of that.", in.rows, byteSize(in.bytes)))
}

func linkMiB(run *engineRun) float64 {
	return float64(run.device.BytesIn+run.device.BytesOut) / (1 << 20)
}
