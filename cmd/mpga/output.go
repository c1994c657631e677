package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/sink"
	"github.com/mpga/mpga/internal/order"
)

// outputFlags say where a result goes, and which reports are written beside it.
type outputFlags struct {
	output string
	format string
	limit  int
	layoutFlags

	stats    string
	progress string
	pictures pictureFlags
}

func (f *outputFlags) register(flags *pflag.FlagSet) {
	flags.StringVarP(&f.output, "output", "o", "-", "write the result to `FILE`, whole or not at all; - is the standard output")
	flags.StringVar(&f.format, "format", "", "of the result: `WORD` is table, csv, tsv, json, parquet, arrow or arrows (a stream); by the ending of FILE when not given")
	flags.IntVar(&f.limit, "limit", 20, "show `N` rows of a table; 0 shows all")
	f.layoutFlags.register(flags)
}

func (f *outputFlags) registerReports(flags *pflag.FlagSet) {
	flags.StringVar(&f.stats, "stats", "", "print what the query did to stderr, or write it to `FILE` as JSON")
	flags.Lookup("stats").NoOptDefVal = statsToStderr
	f.pictures.register(flags)
	flags.StringVar(&f.progress, "progress", "auto", "progress on stderr: `WORD` is auto (a bar on a terminal), bar, plain, json or off")
}

// options says how the result is written; partial states are no result.
func (f *outputFlags) options(cmd *cobra.Command, partial bool) (sink.Options, error) {
	opt := sink.Options{Format: sink.Table, FS: filesOf(cmd.Context()), Stdout: cmd.OutOrStdout(), RowsShown: f.limit}
	if err := f.layoutFlags.apply(cmd, f.output, &opt); err != nil {
		return opt, err
	}
	var err error
	switch {
	case partial:
	case f.format != "":
		opt.Format, err = sink.ParseFormat(f.format)
	case !sink.IsStdout(f.output) && len(f.partitionBy) == 0 && f.maxRowsPerFile == 0 && !f.manifest:
		opt.Format, err = sink.FormatOf(f.output)
	case !sink.IsStdout(f.output):
		opt.Format = "" // a directory is parquet, unless its name ends otherwise
	}
	switch {
	case err != nil:
		return opt, usageError{err}
	case f.limit < 0:
		return opt, usagef("--limit %d: want the number of rows to show, or 0 for all", f.limit)
	case cmd.Flags().Changed("limit") && opt.Format != sink.Table && cmd.Name() != "agg": // whose limit is the query's
		return opt, usagef("--limit is for tables: %s gets all rows", opt.Format)
	case f.limit == 0:
		opt.RowsShown = -1
	}
	_, noColor := os.LookupEnv("NO_COLOR")
	opt.Color = sink.IsStdout(f.output) && isTerminal(opt.Stdout) && !noColor
	return opt, nil
}

// begin completes the options of the engine that answers a query: its budgets, its log, and what is measured to
// be shown. It returns what shows the progress.
func (f *outputFlags) begin(cmd *cobra.Command, o *engine.Options, budget *budgetFlags, result *sink.Options) (progress, error) {
	if err := checkStats(f.stats); err != nil {
		return nil, err
	}
	shown, err := newProgress(f.progress, cmd.ErrOrStderr(), isTerminal(cmd.OutOrStdout()) && result.Format != sink.Table)
	if err != nil {
		return nil, err
	}
	observer := observerOf(cmd.Context())
	o.Progress = func(p engine.Progress) {
		shown.update(p)
		observer.progress("", p)
	}
	o.Logger = slog.Default()
	if err := budget.apply(o); err != nil {
		return nil, err
	}
	o.MeasureLink = f.stats != "" || f.pictures.report != ""
	return shown, f.pictures.begin(o, result.Query)
}

// statsReader is a result with its statistics.
type statsReader interface {
	array.RecordReader
	Stats() engine.Stats
}

// write takes the result of an engine to its output, and the statistics to theirs.
func (f *outputFlags) write(ctx context.Context, stderr io.Writer, eng *engine.Engine, result statsReader, opt sink.Options, progress progress) (err error) {
	opt.Collect = func(schema *arrow.Schema, by order.By, purpose string) (*order.Collector, error) {
		return eng.Collector(ctx, schema, by, purpose)
	}
	out, err := sink.Create(f.output, result.Schema(), opt)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Abort()) }() // nothing after Commit
	defer func() { f.pictures.ended(result.Stats()) }()
	if err := copyBatches(out, result); err != nil {
		return err
	}
	progress.close()
	if err := ctx.Err(); err != nil {
		return err
	}
	observerOf(ctx).query(ctx, result.Stats())
	if err := out.Commit(); err != nil {
		return err
	}
	return writeStats(f.stats, stderr, result.Stats())
}

// copyBatches writes every batch of the reader.
func copyBatches(out sink.Writer, reader array.RecordReader) error {
	for reader.Next() {
		if err := out.Write(reader.RecordBatch()); err != nil {
			return err
		}
	}
	return reader.Err()
}

// writeText writes text that ends in a newline.
func writeText(w io.Writer, text string) error {
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	_, err := io.WriteString(w, text)
	return err
}
