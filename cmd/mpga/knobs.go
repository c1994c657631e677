package main

import (
	"cmp"

	"github.com/mpga/mpga/internal/knob"
)

// flagNames are the flags that set the options of the library, by the options' names.
var flagNames = map[knob.Name]string{
	"engine.Threads":           "--threads",
	"engine.Device":            "--device",
	"engine.Algorithm":         "--algorithm",
	"engine.DeviceMemoryLimit": "--device-memory-limit",
	"engine.MemoryLimit":       "--memory-limit",
	"engine.TempDir":           "--temp-dir",
	"engine.TempLimit":         "--temp-limit",

	"engine.Ablation.Bound":      "--bound",
	"engine.Ablation.Oversized":  "--oversized",
	"engine.Ablation.NoMerge":    "--no-merge",
	"engine.Ablation.LFMin":      "--lf-min",
	"engine.Ablation.LFMax":      "--lf-max",
	"engine.Ablation.LoadFactor": "--load-factor",
	"engine.Ablation.Streams":    "--streams",

	"query.Overflow":      "--overflow",
	"query.Deterministic": "--deterministic",

	"dataset.Format":               "--input-format",
	"dataset.NoHive":               "--no-hive",
	"dataset.DistrustStatistics":   "--trust-statistics",
	"dataset.CSV.Delimiter":        "--delimiter",
	"dataset.CSV.Quote":            "--quote",
	"dataset.CSV.NoQuote":          "--quote",
	"dataset.CSV.Escape":           "--escape",
	"dataset.CSV.InferMost":        "--rejects",
	"dataset.CSV.Header":           "--header",
	"dataset.CSV.NullStrings":      "--null",
	"dataset.CSV.Types":            "--type",
	"dataset.Filename":             "--filename",
	"dataset.CSV.Comment":          "--comment",
	"dataset.CSV.DateFormat":       "--date-format",
	"dataset.CSV.TimestampFormat":  "--timestamp-format",
	"dataset.CSV.DecimalSeparator": "--decimal-separator",
	"dataset.CSV.Thousands":        "--thousands",
	"dataset.CSV.Encoding":         "--encoding",
	"dataset.CSV.SkipLines":        "--skip",
	"dataset.CSV.NullPadding":      "--null-padding",
	"dataset.CSV.IgnoreErrors":     "--ignore-errors",
	"dataset.CSV.Rejects":          "--rejects",

	"dataset.JSON.Types":      "--type",
	"dataset.JSON.SampleRows": "--sample-rows",
	"dataset.JSON.RowLimit":   "--row-limit",
	"dataset.CSV.SampleRows":  "--sample-rows",

	"sink.Format":         "--format",
	"sink.PartitionBy":    "--partition-by",
	"sink.MaxRowsPerFile": "--max-rows-per-file",
	"sink.Manifest":       "--manifest",
	"sink.Overwrite":      "--overwrite",
	"sink.RowGroupRows":   "--row-group-rows",
	"sink.Codec":          "--codec",
	"sink.Layout":         "--layout",
	"sink.Separators":     "--separators",
	"sink.Level":          "--level",
	"sink.Threads":        "--threads",

	"partial.Partitions": "--" + partitionsFlag,
	"objects.Timeout":    "--http-timeout",
}

// readerNames are options without a flag, by the arguments of read_csv and read_json that set them.
var readerNames = map[knob.Name]string{"dataset.CSV.Names": "names", "dataset.JSON.Names": "columns"}

// flagName returns what sets an option on the command line.
func flagName(n knob.Name) string { return cmp.Or(flagNames[n], readerNames[n], n.String()) }
