package job

import (
	"cmp"

	"github.com/mpga/mpga/engine/scan/options"
	"github.com/mpga/mpga/internal/knob"
)

// fieldNames are the fields of a step that set options of the library, by the options' names. Package
// options has the fields of input.
var fieldNames = map[knob.Name]string{
	"engine.Threads":       "limits.threads",
	"engine.Device":        "limits.device",
	"engine.Algorithm":     "limits.algorithm",
	"engine.JoinAlgorithm": "limits.join_algorithm",
	"engine.MemoryLimit":   "limits.memory",
	"engine.TempDir":       "limits.temp_dir",
	"engine.TempLimit":     "limits.temp",

	"engine.MaxRecursion": "limits.recursion",
	"engine.MaxPairs":     "limits.pairs",

	"query.Overflow":      "overflow",
	"query.Deterministic": "deterministic",

	"sink.Format":         "output.format",
	"sink.PartitionBy":    "output.partition_by",
	"sink.MaxRowsPerFile": "output.max_rows_per_file",
	"sink.Manifest":       "output.manifest",
	"sink.RowGroupRows":   "output.row_group_rows",
	"sink.Codec":          "output.codec",
	"sink.Layout":         "output.layout",
	"sink.Level":          "output.level",
}

// reworded returns an error that names the fields of a step where err names options of the library.
func reworded(err error) error {
	return knob.Reword(err, func(n knob.Name) string {
		if o := options.For(n); o != nil && o.YAML() != "" {
			return "input." + o.YAML()
		}
		return cmp.Or(fieldNames[n], n.String())
	})
}
