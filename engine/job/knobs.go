package job

import "github.com/mpga/mpga/internal/knob"

// fieldNames are the fields of a step that set the options of the library, by the options' names.
var fieldNames = map[knob.Name]string{
	"engine.Threads":     "limits.threads",
	"engine.Device":      "limits.device",
	"engine.Algorithm":   "limits.algorithm",
	"engine.MemoryLimit": "limits.memory",
	"engine.TempDir":     "limits.temp_dir",
	"engine.TempLimit":   "limits.temp",

	"query.Overflow":      "overflow",
	"query.Deterministic": "deterministic",

	"dataset.Format":               "input.format",
	"dataset.NoHive":               "input.no_hive",
	"dataset.DistrustStatistics":   "input.trust_statistics",
	"dataset.CSV.Delimiter":        "input.delimiter",
	"dataset.CSV.Quote":            "input.quote",
	"dataset.CSV.NoQuote":          "input.quote",
	"dataset.CSV.Escape":           "input.escape",
	"dataset.CSV.Header":           "input.header",
	"dataset.CSV.NullStrings":      "input.nulls",
	"dataset.CSV.Types":            "input.types",
	"dataset.Filename":             "input.filename",
	"dataset.CSV.Comment":          "input.comment",
	"dataset.CSV.DateFormat":       "input.date_format",
	"dataset.CSV.TimestampFormat":  "input.timestamp_format",
	"dataset.CSV.DecimalSeparator": "input.decimal_separator",
	"dataset.CSV.Thousands":        "input.thousands",
	"dataset.CSV.Encoding":         "input.encoding",
	"dataset.CSV.SkipLines":        "input.skip",
	"dataset.CSV.NullPadding":      "input.null_padding",
	"dataset.CSV.IgnoreErrors":     "input.ignore_errors",
	"dataset.CSV.Rejects":          "input.rejects",
	"dataset.CSV.SampleRows":       "input.sample_rows",

	"dataset.JSON.Types":      "input.types",
	"dataset.JSON.SampleRows": "input.sample_rows",
	"dataset.JSON.RowLimit":   "input.row_limit",

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
		if field, ok := fieldNames[n]; ok {
			return field
		}
		return n.String()
	})
}
