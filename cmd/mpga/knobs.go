package main

import (
	"cmp"
	"strings"

	"github.com/mpga/mpga/engine/scan/options"
	"github.com/mpga/mpga/internal/knob"
)

// flagNames are the flags that set options of the library, by the options' names. Package options has
// the options of readers.
var flagNames = map[knob.Name]string{
	"engine.Threads":           "--threads",
	"engine.Device":            "--device",
	"engine.Algorithm":         "--algorithm",
	"engine.JoinAlgorithm":     "--join-algorithm",
	"engine.DeviceMemoryLimit": "--device-memory-limit",
	"engine.MemoryLimit":       "--memory-limit",
	"engine.TempDir":           "--temp-dir",
	"engine.TempLimit":         "--temp-limit",
	"engine.MaxRecursion":      "--max-recursion",
	"engine.MaxPairs":          "--max-pairs",

	"engine.Ablation.Bound":      "--bound",
	"engine.Ablation.Oversized":  "--oversized",
	"engine.Ablation.NoMerge":    "--no-merge",
	"engine.Ablation.LFMin":      "--lf-min",
	"engine.Ablation.LFMax":      "--lf-max",
	"engine.Ablation.LoadFactor": "--load-factor",
	"engine.Ablation.Streams":    "--streams",

	"query.Overflow":      "--overflow",
	"query.Deterministic": "--deterministic",

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

	"distributed.BroadcastBytes": "--broadcast-bytes",

	"rollup.State": "--state",

	"objects.Timeout": "--http-timeout",

	"server.QueryTime":     "--query-timeout",
	"server.StallTime":     "--stall-timeout",
	"server.UploadBytes":   "--uploads",
	"server.Sessions":      "--max-sessions",
	"server.ClientWaiting": "--max-waiting-per-client",
}

// flagName returns what sets an option: a flag, or an argument of read_csv and its like.
func flagName(n knob.Name) string {
	o := options.For(n)
	switch {
	case o == nil:
		return cmp.Or(flagNames[n], n.String())
	case o.Flag == "":
		return o.SQL()[0]
	}
	return "--" + o.Flag
}

// clientName returns what sets an option for a client of a server: an argument of read_csv and its like, or a flag of
// the server.
func clientName(n knob.Name) string {
	if o := options.For(n); o != nil && o.SQL() != nil {
		return o.SQL()[0]
	}
	return flagName(n)
}

// pythonName returns what sets an option in the package for Python: an argument of read_csv and its like, or of
// configure.
func pythonName(n knob.Name) string {
	return strings.ReplaceAll(strings.TrimPrefix(clientName(n), "--"), "-", "_")
}
