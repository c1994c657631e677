package options

import (
	"fmt"
	"strings"

	"github.com/mpga/mpga/engine/scan/csv"
	"github.com/mpga/mpga/engine/scan/dataset"
)

// auto is the word for what is found in the text.
const auto = "auto"

var formats, encodings = dataset.FormatNames(), csv.EncodingNames()

// All returns the options in the order in which help and errors list them. Errors speak of the
// first option that has a field.
func All() []*Option { return table }

var table = []*Option{
	{Kind: Word, fields: "Format", Flag: "input-format", yaml: "format",
		words: "auto " + strings.Join(formats, " "), Default: auto,
		Doc: "of the files: `WORD` is auto (by the ending, then by the content) or one of " +
			strings.Join(formats, ", ") + "; arrows is a stream, json has one object per line, or an array"},
	{Kind: Char, fields: "CSV.Delimiter", Flag: "delimiter", sql: "delim sep delimiter", of: "csv",
		Doc: "`CHAR` between the fields of CSV, \\t for a tab; found in the text when not given"},
	{Kind: Switch, fields: "CSV.Header", Flag: "header", sql: "header", of: "csv",
		words: "auto yes no", Default: auto,
		Doc: "whether CSV begins with column names: `WORD` is auto, yes or no"},
	{Kind: CharOrNone, fields: "CSV.Quote CSV.NoQuote", Flag: "quote", sql: "quote", of: "csv",
		Default: auto, set: setQuote,
		Doc: "`CHAR` around fields of CSV that need it; empty when there is none; " +
			"auto is a double quote, or a single one where the sample has it"},
	{Kind: Texts, fields: "CSV.NullStrings", Flag: "null", yaml: "nulls", sql: "nullstr null", of: "csv",
		Doc:     "a field of CSV that is `TEXT` is NULL, in place of the empty one; may be repeated",
		yamlDoc: "Fields of CSV that are NULL, in place of the empty one."},
	{Kind: Text, fields: "CSV.DateFormat", Flag: "date-format", sql: "dateformat date_format", of: "csv",
		Doc: "how dates of CSV are written, as `FORMAT` of strptime, as in %d.%m.%Y" + foundInText},
	{Kind: Text, fields: "CSV.TimestampFormat", Flag: "timestamp-format",
		sql: "timestampformat timestamp_format", of: "csv",
		Doc: "how timestamps of CSV are written, as `FORMAT` of strptime, as in '%d.%m.%Y %H:%M'" +
			foundInText},
	{Kind: CharOrNone, fields: "CSV.DecimalSeparator", Flag: "decimal-separator", Default: ".",
		sql: "decimal_separator", of: "csv",
		Doc: "`CHAR` before the fraction of numbers of CSV, . or a comma"},
	{Kind: CharOrNone, fields: "CSV.Thousands", Flag: "thousands", sql: "thousands", of: "csv",
		Doc: "`CHAR` between the thousands of numbers of CSV, to be passed over"},
	{Kind: Word, fields: "CSV.Encoding", Flag: "encoding", sql: "encoding", of: "csv",
		words: "auto " + strings.Join(encodings, " "), Default: auto,
		Doc: "of CSV: `WORD` is " + strings.Join(encodings, ", ") +
			" or auto (UTF-16 by its byte order mark, else UTF-8)"},
	{Kind: CharOrNone, fields: "CSV.Comment", Flag: "comment", sql: "comment", of: "csv",
		Doc: "`CHAR` that begins a comment in CSV, which goes to the end of the line"},
	{Kind: CharOrNone, fields: "CSV.Escape", Flag: "escape", sql: "escape", of: "csv",
		Doc: "`CHAR` before a quote within quotes of CSV" + foundInText + ": the quote or a backslash"},
	{Kind: Number, fields: "CSV.SkipLines", Flag: "skip", sql: "skip", of: "csv",
		Doc: "leave out the first `N` lines of each CSV file, before the header"},
	{Kind: Truth, fields: "CSV.NullPadding", Flag: "null-padding", sql: "null_padding", of: "csv",
		Doc: "fill up rows of CSV that have too few fields with NULLs"},
	{Kind: Truth, fields: "CSV.IgnoreErrors", Flag: "ignore-errors", sql: "ignore_errors", of: "csv",
		Doc: "leave out rows of CSV with errors, and say how many they are"},
	{Kind: File, fields: "CSV.Rejects CSV.InferMost", Flag: "rejects",
		Doc: "write the rows that --ignore-errors, which this implies, leaves out to `FILE`, as CSV: " +
			"file, line, byte, column, value, reason, text; " + inferMost,
		yamlDoc: "CSV file to write the rows to that are left out, with their places and the reasons; " +
			"it implies ignore_errors, and " + inferMost + "."},
	{Kind: Mark, fields: "CSV.MaxRejects", Flag: "max-rejects",
		Doc: "fail, and publish nothing, where more than `N` rows of CSV have errors, as 100, or more than a part of all " +
			"rows, as 1%; implies --ignore-errors, and " + inferMost,
		yamlDoc: "Rows of CSV that may have errors, as 100, or a part of all rows that the step reads, as 1%: more are an " +
			"error, and the output stays as it was. It implies ignore_errors, and " + inferMost + "."},
	{Kind: Truth, fields: "Filename", Flag: "filename", sql: "filename", of: "csv json parquet delta iceberg",
		Doc: "add a column filename, with the name of the file of each row"},
	{Kind: Truth, fields: "RowNumber", Flag: "file-row-number", sql: "file_row_number", of: "parquet delta iceberg",
		Doc: "add a column file_row_number, the number of each row in its file of Parquet or Arrow, from 0 on"},
	{Kind: Truth, fields: "UnionByName", Flag: "union-by-name", sql: "union_by_name", of: "csv json parquet",
		Doc: "take the columns of all files, by name: one that a file lacks is NULL in its rows"},
	{Kind: Types, fields: "CSV.Types JSON.Types", Flag: "type", yaml: "types",
		sql: "types dtypes column_types", of: "csv",
		Doc:     "type of a column of CSV or JSON: `COLUMN=TYPE`, as in zip=string; may be repeated",
		yamlDoc: "Types of columns of CSV and JSON by name, as in zip: string."},
	{Kind: Texts, fields: "CSV.Names", sql: "names column_names", of: "csv"},
	{Kind: Types, fields: "CSV.Names CSV.Types JSON.Names JSON.Types", sql: "columns", of: "csv json"},
	{Kind: Truth, fields: "CSV.AllText", sql: "all_varchar", of: "csv"},
	{Kind: Rows, fields: "CSV.SampleRows JSON.SampleRows", Flag: "sample-rows",
		sql: "sample_size", of: "csv json",
		Doc: "look at `N` rows of each CSV or JSON file for columns and types; -1 for all " +
			"(default 20480)",
		yamlDoc: "Rows of each file of CSV or JSON that are looked at for the columns and their types; " +
			"-1: all of CSV, and of the first 16 MiB of JSON. The default is 20480."},
	{Kind: Size, fields: "JSON.RowLimit", Flag: "row-limit", sql: "maximum_object_size", of: "json",
		Doc: "most `BYTES` of an object of JSON, up to 256MiB; 64MiB when not given"},
	{Kind: Truth, fields: "NoHive", Flag: "no-hive", sql: "hive_partitioning", Not: true, of: "csv json parquet",
		Doc: "take folders named key=value for folders, not for columns"},
	{Kind: Switch, fields: "DistrustStatistics", Flag: "trust-statistics", sql: "trust_statistics",
		of: "parquet delta iceberg", words: "on off", Default: "on", set: setTrust,
		Doc: "believe minima, maxima, counts of NULLs, page indexes and Bloom filters of Parquet: " +
			"`WORD` is on or off"},
	{Kind: Mark, fields: "Version", Flag: "table-version", sql: "version", of: "delta iceberg",
		Doc: "read the version `N` of a table of Delta, or of the metadata of a table of Iceberg; the last when not given"},
	{Kind: Mark, fields: "Snapshot", Flag: "snapshot", sql: "snapshot_from_id snapshot", of: "iceberg",
		Doc: "read the snapshot with the number `N` of a table of Iceberg"},
	{Kind: Text, fields: "AsOf", Flag: "as-of", sql: "as_of snapshot_from_timestamp", of: "delta iceberg",
		Doc: "read a table of Delta or Iceberg as it was at a `TIME`, as in '2026-11-30 12:00:00', in UTC"},
	{Kind: Fixed, sql: "format", words: "'auto'", of: "json"},
	{Kind: Fixed, sql: "records", words: "true", of: "json"},
	{Kind: Fixed, sql: "auto_detect", words: "true", of: "csv json"},
	{Kind: Fixed, sql: "compression", words: "'auto'", of: "csv json"},
}

// Parts of descriptions.
const (
	foundInText = "; found in the text when not given"
	inferMost   = "a column of CSV has the type of nine of ten values of the sample, " +
		"or of all but one"
)

// setQuote takes a quote, no quote, or auto.
func setQuote(opt *dataset.Options, text string) (err error) {
	opt.CSV.NoQuote = text == ""
	if text == auto {
		text = ""
	}
	opt.CSV.Quote, err = csv.ParseChar(text)
	return err
}

func setTrust(opt *dataset.Options, word string) error {
	if opt.DistrustStatistics = word == "off"; !opt.DistrustStatistics && word != "on" {
		return fmt.Errorf("%q: want on or off", word)
	}
	return nil
}
