package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/spf13/cobra"

	"github.com/mpga/mpga/app/cmdflags"
	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/sink"
	"github.com/mpga/mpga/internal/order"
)

// outputFlags say where a result goes, and which reports are written beside it.
type outputFlags struct {
	output string
	format string
	limit  int
	layoutFlags

	separators bool

	stats    string
	progress string
	pictures pictureFlags
}

func (f *outputFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	themed(flags, themeOutput, func() {
		flags.StringVarP(&f.output, "output", "o", "-",
			"write the result to `FILE`, whole or not at all; - is the standard output")
		flags.StringVar(&f.format, "format", "",
			"of the result: `WORD` is table, vertical (a line a field), markdown, csv, tsv, json, parquet, "+
				"arrow or arrows (a stream); by the ending of FILE when not given")
		flags.IntVar(&f.limit, "limit", 20, "show `N` rows of a table; 0 shows all")
		flags.BoolVar(&f.separators, "separators", false, "separate thousands, 1,234.5, in table, vertical and markdown")
		f.layoutFlags.register(flags)
	})
	completeLayout(cmd)
	cmdflags.Complete(cmd, map[string][]string{"format": sink.FormatNames()})
}

func (f *outputFlags) registerReports(cmd *cobra.Command) {
	flags := cmd.Flags()
	themed(flags, themeInsight, func() {
		flags.StringVar(&f.stats, "stats", "", "print what the query did to stderr, or write it to `FILE` as JSON")
		flags.Lookup("stats").NoOptDefVal = statsToStderr
		f.pictures.register(flags)
		registerProgress(cmd, &f.progress)
	})
}

// registerProgress adds the flag that says how progress is shown.
func registerProgress(cmd *cobra.Command, mode *string) {
	cmd.Flags().StringVar(mode, "progress", "auto",
		"progress on stderr: `WORD` is auto (a bar on a terminal), bar, plain, json or off")
	cmdflags.Complete(cmd, map[string][]string{"progress": progressModes})
}

// options says how the result is written; partial states are no result.
func (f *outputFlags) options(cmd *cobra.Command, partial bool) (sink.Options, error) {
	opt := sink.Options{Format: sink.Table, FS: filesOf(cmd.Context()), Stdout: cmd.OutOrStdout(),
		RowsShown: f.limit, Separators: f.separators}
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
	case f.separators && !slices.Contains(peopleFormats, opt.Format):
		return opt, usagef("--separators is for table, vertical and markdown: %s is read by programs", opt.Format)
	case cmd.Flags().Changed("limit") && opt.Format != sink.Table && opt.Format != sink.Vertical && cmd.Name() != "agg":
		// whose limit is the query's
		return opt, usagef("--limit is for tables: %s gets all rows", opt.Format)
	case f.limit == 0:
		opt.RowsShown = -1
	}
	if sink.IsStdout(f.output) {
		suitTerminal(&opt)
	}
	return opt, nil
}

// request is the query of a command: the engine that answers it, and where the result goes.
type request struct {
	*outputFlags
	ctx   context.Context // of the command
	cmd   *cobra.Command
	eng   *engine.Engine
	sink  sink.Options // of the result
	shown progress
	suit  func(*sink.Options) // makes another output suit the engine

	accept func() error // is asked before an output is published; nil agrees
}

// answer opens an engine within the budgets of the flags, and has ask answer a query with it. The
// engine's log, progress and events go where the flags of the command say.
func (f *outputFlags) answer(cmd *cobra.Command, opt engine.Options, budget *budgetFlags,
	result sink.Options, ask func(*request) error) (err error) {
	if err := checkStats(f.stats); err != nil {
		return err
	}
	rowByRow := sink.IsStdout(f.output) && result.Format != sink.Table
	shown, err := newProgress(f.progress, cmd.ErrOrStderr(), rowByRow && isTerminal(cmd.OutOrStdout()))
	if err != nil {
		return err
	}
	shown = &oneProgress{to: shown}
	observer := observerOf(cmd.Context())
	opt.Progress = func(p engine.Progress) {
		shown.update(p)
		observer.progress("", p)
	}
	opt.Logger, opt.Devices = slog.Default(), observer.devices
	if err := budget.apply(&opt); err != nil {
		return err
	}
	opt.MeasureLink = f.stats != "" || f.pictures.report != ""
	if err := f.pictures.begin(&opt, result.Query); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.pictures.end(err)) }()
	eng, err := openWithin(opt, &result)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, eng.Close()) }()
	defer shown.close()
	suit := func(other *sink.Options) { suitEngine(opt, eng, other) }
	return ask(&request{outputFlags: f, ctx: cmd.Context(), cmd: cmd, eng: eng, sink: result, shown: shown, suit: suit})
}

// statsReader is a result with its statistics.
type statsReader interface {
	array.RecordReader
	Stats() engine.Stats
}

// write writes a result to the output of the command, and its statistics to theirs, and releases
// it.
func (r *request) write(result statsReader) (err error) {
	defer result.Release()
	r.sink.Collect = func(schema *arrow.Schema, by order.By, purpose string) (*order.Collector, error) {
		return r.eng.Statement(r.ctx).Collector(r.ctx, schema, by, purpose)
	}
	out, err := sink.Create(r.ctx, r.output, result.Schema(), r.sink)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Abort()) }() // nothing after Commit
	defer func() { r.pictures.ended(result.Stats()) }()
	for result.Next() {
		if err := out.Write(result.RecordBatch()); err != nil {
			return err
		}
	}
	if err := result.Err(); err != nil {
		return err
	}
	r.shown.close()
	if err := r.ctx.Err(); err != nil {
		return err
	}
	return r.commit(out, result.Stats())
}

// commit commits the output of a query that has ended, and writes the query's statistics.
func (r *request) commit(out interface{ Commit() error }, stats engine.Stats) error {
	observerOf(r.ctx).query(r.ctx, stats)
	if r.accept != nil {
		if err := r.accept(); err != nil {
			return err
		}
	}
	if err := out.Commit(); err != nil {
		return err
	}
	return writeStats(r.stats, r.cmd.ErrOrStderr(), stats)
}

// print prints what tell says of a query.
func (r *request) print(query *plan.Query, tell planText) error {
	text, err := tell(query, r.ctx)
	if err != nil {
		return err
	}
	return writeText(r.cmd.OutOrStdout(), text)
}

// writeText writes text that ends in a newline.
func writeText(w io.Writer, text string) error {
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	_, err := io.WriteString(w, text)
	return err
}
