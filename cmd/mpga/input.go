package main

import (
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mpga/mpga/engine/scan/csv"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/engine/scan/json"
)

// inputFlags say how files are read.
type inputFlags struct {
	format    string
	delimiter string
	quote     string
	header    string
	nulls     []string
	types     []string
	sample    int
	rowLimit  string
	noHive    bool
}

func (f *inputFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.format, "input-format", "auto", "of the files: `WORD` is auto (by the ending, then by the content), parquet, arrow, arrows (a stream), csv, tsv or json (one object per line, or an array; also ndjson)")
	flags.StringVar(&f.delimiter, "delimiter", "", "`CHAR` between the fields of CSV, \\t for a tab; found in the text when not given")
	flags.StringVar(&f.quote, "quote", `"`, "`CHAR` around fields of CSV that need it; empty when there is none")
	flags.StringVar(&f.header, "header", "auto", "whether CSV begins with column names: `WORD` is auto, yes or no")
	flags.StringArrayVar(&f.nulls, "null", nil, "a field of CSV that is `TEXT` is NULL, in place of the empty one; may be repeated")
	flags.StringArrayVar(&f.types, "type", nil, "type of a column of CSV or JSON: `COLUMN=TYPE`, as in zip=string; may be repeated")
	flags.IntVar(&f.sample, "sample-rows", 0, "look at `N` rows of each CSV or JSON file for the columns and their types; 10,000 of CSV, 20,480 of JSON when not given")
	flags.StringVar(&f.rowLimit, "row-limit", "", "most `BYTES` of an object of JSON, up to 256MiB; 64MiB when not given")
	flags.BoolVar(&f.noHive, "no-hive", false, "take folders named key=value for folders, not for columns")
}

// options turns the flags into options; reading the standard input ends with the context of the
// command.
func (f *inputFlags) options(cmd *cobra.Command) (dataset.Options, error) {
	opt := dataset.Options{
		FS:     filesOf(cmd.Context()),
		Stdin:  &interruptibleReader{ctx: cmd.Context(), from: cmd.InOrStdin()},
		NoHive: f.noHive,
		CSV:    csv.Options{NullStrings: f.nulls, SampleRows: f.sample},
		JSON:   json.Options{SampleRows: f.sample},
	}
	if f.format != "auto" {
		opt.Format = dataset.Format(strings.ToLower(f.format))
	}
	var err error
	if opt.CSV.Delimiter, err = csv.ParseChar(f.delimiter); err != nil {
		return opt, usagef("--delimiter %w", err)
	}
	if opt.CSV.Quote, err = csv.ParseChar(f.quote); err != nil {
		return opt, usagef("--quote %w", err)
	}
	opt.CSV.NoQuote = f.quote == ""
	rowLimit, err := parseSize("--row-limit", f.rowLimit)
	if err != nil {
		return opt, err
	}
	opt.JSON.RowLimit = int(rowLimit)
	if opt.CSV.Header, err = csv.ParseHeader(f.header); err != nil {
		return opt, usagef("--header %w", err)
	}
	if opt.CSV.Types, err = columnTypes(f.types); err != nil {
		return opt, err
	}
	opt.EnsureDefaults()
	if err := opt.Validate(); err != nil {
		return opt, usageError{err}
	}
	return opt, nil
}

// columnTypes reads column=type; a column's name may have an equals sign, a type's has none.
func columnTypes(texts []string) (map[string]arrow.DataType, error) {
	types := make(map[string]arrow.DataType, len(texts))
	for _, text := range texts {
		i := strings.LastIndexByte(text, '=')
		if i < 1 {
			return nil, usagef("--type %q: want column=type, as in zip=string", text)
		}
		t, err := csv.ParseType(text[i+1:])
		if err != nil {
			return nil, usagef("--type %q: %w", text, err)
		}
		types[text[:i]] = t
	}
	return types, nil
}
