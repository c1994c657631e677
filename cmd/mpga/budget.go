package main

import (
	"math"
	"runtime/debug"

	"github.com/dustin/go-humanize"
	"github.com/spf13/pflag"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/objects"
	"github.com/mpga/mpga/engine/sink"
)

// budgetFlags are the flags that bound what a query takes of the machine.
type budgetFlags struct {
	memoryLimit string
	tempDir     string
	tempLimit   string
	deviceLimit string

	maxRecursion, maxPairs int64
}

func (f *budgetFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.memoryLimit, "memory-limit", "",
		"stay below `SIZE` of resident memory, 128MiB or more; what does not fit goes to --temp-dir "+
			"(default 80% of the machine or control group)")
	flags.StringVar(&f.tempDir, "temp-dir", "",
		"spill to files in `DIR` (default the system's directory for temporary files)")
	flags.StringVar(&f.tempLimit, "temp-limit", "",
		"spill at most `SIZE` at a time (default 90% of what is free in --temp-dir)")
	flags.StringVar(&f.deviceLimit, "device-memory-limit", "",
		"use at most `SIZE` of each GPU's memory (default what is free, less a reserve)")
	flags.Int64Var(&f.maxRecursion, "max-recursion", 0,
		"end a WITH RECURSIVE that has rows after `N` iterations (default 1000000)")
	flags.Int64Var(&f.maxPairs, "max-pairs", 0,
		"end a join whose condition has no equality and no range after `N` pairs of rows (default 1e12)")
}

// apply completes the options with the budgets that were given and with defaults, and checks them.
func (f *budgetFlags) apply(o *engine.Options) (err error) {
	o.TempDir, o.MaxRecursion, o.MaxPairs = f.tempDir, f.maxRecursion, f.maxPairs
	if o.MemoryLimit, err = parseSize("--memory-limit", f.memoryLimit); err != nil {
		return err
	}
	if o.TempLimit, err = parseSize("--temp-limit", f.tempLimit); err != nil {
		return err
	}
	if o.DeviceMemoryLimit, err = parseSize("--device-memory-limit", f.deviceLimit); err != nil {
		return err
	}
	o.EnsureDefaults()
	if err := o.Validate(); err != nil {
		return usageError{err}
	}
	return nil
}

// openWithin opens an engine, and makes the Go collector and the writer of the result suit the
// engine's memory limit.
func openWithin(o engine.Options, result *sink.Options) (*engine.Engine, error) {
	debug.SetMemoryLimit(o.MemoryLimit / collectorShare)
	eng, err := engine.Open(o)
	if err == nil {
		suitEngine(o, eng, result)
	}
	return eng, err
}

// suitEngine makes the writer of a result suit the memory limit of an engine.
func suitEngine(o engine.Options, eng *engine.Engine, result *sink.Options) {
	result.Threads = o.Threads
	if result.RowGroupRows == 0 && o.MemoryLimit < smallMemory {
		result.RowGroupRows = smallGroupRows
		if len(result.PartitionBy) > 0 {
			result.RowGroupRows, result.OpenFilesMax = smallPartRows, smallOpenFiles
		}
	}
	if files, ok := result.FS.(*objects.FS); ok {
		files.SetBytes(o.MemoryLimit / objectsShare)
	}
	result.GroupBytes = min(max(o.MemoryLimit/groupShare, groupBytesMin), groupBytesMax)
	if len(result.PartitionBy) > 0 {
		result.GroupBytes /= foldersAtOnce
	}
	result.Budget, result.Allocator = eng.Budget(), eng.Allocator()
}

// A Parquet row group holds a part of the memory limit, within bounds. With --partition-by, the
// files of some folders are open at a time, and share that part.
const (
	groupShare    = 16
	groupBytesMin = 4 << 20
	groupBytesMax = 256 << 20
	foldersAtOnce = 8
)

// parseSize reads a size such as 2GiB or 500MB; no text is 0.
func parseSize(flag, text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	n, err := humanize.ParseBytes(text)
	if err != nil || n == 0 || n > math.MaxInt64 {
		return 0, usagef("%s %q: want a size such as 512MiB or 2GB", flag, text)
	}
	return int64(n), nil
}

// collectorShare is the part of the memory limit at which the Go collector, whose heap has decoders
// and the writer of the result only, begins to hurry: the runtime's memory leaves room for the
// engine's.
const collectorShare = 3

// objectsShare is the part of the memory limit that files of stores may hold ahead of their
// readers.
const objectsShare = 16

// A Parquet writer holds a row group: below smallMemory one of smallGroupRows, a quarter of the
// default.
const (
	smallMemory    = 1 << 30
	smallGroupRows = 1 << 16

	// With --partition-by it holds a row group for each open file.
	smallPartRows  = 1 << 13
	smallOpenFiles = 16
)
