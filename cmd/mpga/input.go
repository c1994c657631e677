package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mpga/mpga/engine/scan/csv"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/engine/scan/json"
	"github.com/mpga/mpga/internal/vfs"
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
	filename  bool
	trust     string

	dateFormat, timestampFormat string
	decimal, thousands          string
	encoding                    string
	comment, escape             string
	skip                        int
	nullPadding, ignoreErrors   bool
	rejects                     string
	dry                         bool // no row is read, and the file of rejects is not written

	spool   *dataset.Spool // of standard input; nil before options
	leftOut *csv.Rejects   // nil before options
}

// quoteAuto is the quote of CSV that its sample says.
const quoteAuto = "auto"

// The words of --trust-statistics.
const trustOn, trustOff = "on", "off"

func (f *inputFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.format, "input-format", "auto", "of the files: `WORD` is auto (by the ending, then by the content) or one of "+
		strings.Join(dataset.FormatNames(), ", ")+"; arrows is a stream, json has one object per line, or an array")
	flags.StringVar(&f.delimiter, "delimiter", "", "`CHAR` between the fields of CSV, \\t for a tab; found in the text when not given")
	flags.StringVar(&f.quote, "quote", quoteAuto, "`CHAR` around fields of CSV that need it; empty when there is none; auto is a double quote, or a single one where the sample has it")
	flags.StringVar(&f.header, "header", "auto", "whether CSV begins with column names: `WORD` is auto, yes or no")
	flags.StringArrayVar(&f.nulls, "null", nil, "a field of CSV that is `TEXT` is NULL, in place of the empty one; may be repeated")
	flags.StringVar(&f.dateFormat, "date-format", "", "how dates of CSV are written, as `FORMAT` of strptime, as in %d.%m.%Y; found in the text when not given")
	flags.StringVar(&f.timestampFormat, "timestamp-format", "", "how timestamps of CSV are written, as `FORMAT` of strptime, as in '%d.%m.%Y %H:%M'; found in the text when not given")
	flags.StringVar(&f.decimal, "decimal-separator", ".", "`CHAR` before the fraction of numbers of CSV, . or a comma")
	flags.StringVar(&f.thousands, "thousands", "", "`CHAR` between the thousands of numbers of CSV, to be passed over")
	flags.StringVar(&f.encoding, "encoding", "auto", "of CSV: `WORD` is utf-8, utf-16, utf-16le, utf-16be, latin-1, windows-1252 or auto (UTF-16 by its byte order mark, else UTF-8)")
	flags.StringVar(&f.comment, "comment", "", "`CHAR` that begins a comment in CSV, which goes to the end of the line")
	flags.StringVar(&f.escape, "escape", "",
		"`CHAR` before a quote within quotes of CSV; found in the text when not given: the quote or a backslash")
	flags.IntVar(&f.skip, "skip", 0, "leave out the first `N` lines of each CSV file, before the header")
	flags.BoolVar(&f.nullPadding, "null-padding", false, "fill up rows of CSV that have too few fields with NULLs")
	flags.BoolVar(&f.ignoreErrors, "ignore-errors", false, "leave out rows of CSV with errors, and say how many they are")
	flags.StringVar(&f.rejects, "rejects", "", "write the rows that --ignore-errors, which this implies, leaves out to `FILE`, as CSV: file, line, byte, column, value, reason, text; "+
		"a column of CSV has the type of nine of ten values of the sample, or of all but one")
	flags.BoolVar(&f.filename, "filename", false, "add a column filename, with the name of the file of each row")
	flags.StringArrayVar(&f.types, "type", nil, "type of a column of CSV or JSON: `COLUMN=TYPE`, as in zip=string; may be repeated")
	flags.IntVar(&f.sample, "sample-rows", 0,
		"look at `N` rows of each CSV or JSON file for columns and types; -1 for all (default 20480)")
	flags.StringVar(&f.rowLimit, "row-limit", "", "most `BYTES` of an object of JSON, up to 256MiB; 64MiB when not given")
	flags.StringVar(&f.trust, "trust-statistics", trustOn,
		"believe minima, maxima, counts of NULLs, page indexes and Bloom filters of Parquet: `WORD` is on or off")
	flags.BoolVar(&f.noHive, "no-hive", false, "take folders named key=value for folders, not for columns")
}

// options turns the flags into options; reading the standard input ends with the context of the
// command.
func (f *inputFlags) options(cmd *cobra.Command) (dataset.Options, error) {
	opt := dataset.Options{
		FS:       filesOf(cmd.Context()),
		Stdin:    &interruptibleReader{ctx: cmd.Context(), from: cmd.InOrStdin()},
		NoHive:   f.noHive,
		Filename: f.filename,

		DistrustStatistics: f.trust == trustOff,
		CSV: csv.Options{
			NullStrings: f.nulls, SampleRows: f.sample, SkipLines: f.skip, DateFormat: f.dateFormat, TimestampFormat: f.timestampFormat,
			NullPadding: f.nullPadding, IgnoreErrors: f.ignoreErrors || f.rejects != "", InferMost: f.rejects != "",
		},
		JSON: json.Options{SampleRows: f.sample},
	}
	if f.format != "auto" {
		opt.Format = dataset.Format(strings.ToLower(f.format))
	}
	if f.trust != trustOn && f.trust != trustOff {
		return opt, usagef("--trust-statistics %q: want %s or %s", f.trust, trustOn, trustOff)
	}
	var err error
	for _, c := range []struct {
		flag, text string
		to         *byte
	}{
		{"--delimiter", f.delimiter, &opt.CSV.Delimiter},
		{"--quote", strings.TrimPrefix(f.quote, quoteAuto), &opt.CSV.Quote}, {"--comment", f.comment, &opt.CSV.Comment},
		{"--escape", f.escape, &opt.CSV.Escape},
		{"--decimal-separator", f.decimal, &opt.CSV.DecimalSeparator}, {"--thousands", f.thousands, &opt.CSV.Thousands},
	} {
		if *c.to, err = csv.ParseChar(c.text); err != nil {
			return opt, usagef("%s %w", c.flag, err)
		}
	}
	if opt.CSV.Encoding, err = csv.ParseEncoding(f.encoding); err != nil {
		return opt, usagef("--encoding %w", err)
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
	if err := checkRejects(f.rejects); err != nil {
		return opt, err
	}
	opt.EnsureDefaults()
	if err := opt.Validate(); err != nil {
		return opt, usageError{err}
	}
	if f.dry {
		f.rejects = ""
	}
	f.open(cmd, &opt)
	return opt, nil
}

// checkRejects refuses a file that could not be written when the rows have been read.
func checkRejects(path string) error {
	if path == "" {
		return nil
	}
	return checkFolder("--rejects", path)
}

// open makes what keeps standard input, and rows that are left out. end closes both.
func (f *inputFlags) open(cmd *cobra.Command, opt *dataset.Options) {
	dir := os.TempDir()
	if flag := cmd.Flags().Lookup("temp-dir"); flag != nil && flag.Value.String() != "" {
		dir = flag.Value.String()
	}
	f.spool = dataset.NewSpool(opt.FS, dir)
	f.leftOut = &csv.Rejects{}
	if f.rejects != "" {
		f.leftOut = csv.NewRejects(opt.FS, dir)
	}
	opt.Spool, opt.CSV.Rejects = f.spool, f.leftOut // read_csv may ask to ignore errors, too
}

// end writes the rows that were left out, unless the command has failed, says how many they are,
// and gives back what the input took. It returns the error of the command, or its own.
func (f *inputFlags) end(err error) error {
	if f.spool == nil {
		return err // the flags were wrong
	}
	if err == nil {
		if err = f.leftOut.Tell(slog.Default(), vfs.OS, f.rejects); err != nil {
			err = fmt.Errorf("--rejects: %w", err)
		}
	}
	return errors.Join(err, f.leftOut.Close(), f.spool.Close())
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
