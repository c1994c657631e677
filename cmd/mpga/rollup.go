package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mpga/mpga/app/cmdflags"
	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/rollup"
	"github.com/mpga/mpga/engine/sink"
)

// rollupFlags are the flags of mpga rollup.
type rollupFlags struct {
	state      string
	onChange   string
	keepParts  int
	keep       string
	wholeBytes string
	tables     []string
	json       bool
	input      inputFlags
	outputFlags
	queryFlags
}

func newRollupCommand() *cobra.Command {
	var f rollupFlags
	cmd := &cobra.Command{
		Use:   "rollup QUERY --state DIR -o OUTPUT",
		Short: "Keep the answer of a query over files that come every day, and read the new ones alone",
		Long: `Answer a query with GROUP BY or aggregates over files that come every day. The states of the groups, by
file, stay in the directory of --state: the next run reads files that are new or changed, takes back what has
gone, merges the states, and writes the answer that a run over all files gives. Distinct counts, medians and
lists are exact, too.

The query is one that mpga dist can split: joined tables are read whole and watched. A run is one query for one
directory: another query is refused, until mpga rollup rebuild forgets the states. docs/rollups.md has more.`,
		Example: `  mpga rollup "SELECT k, count(DISTINCT u) FROM 'in/*.parquet' GROUP BY k" --state state -o out.parquet
  mpga rollup status state`,
		Args: wantQuery,
		RunE: f.run,
	}
	f.registerQuery(cmd)
	f.outputFlags.register(cmd)
	f.registerResources(cmd)
	f.outputFlags.registerReports(cmd)
	themed(cmd.Flags(), themeState, func() {
		cmd.Flags().BoolVar(&f.json, "json", false, "tell what the run did as a line of JSON")
	})
	f.registerInput(cmd)
	cmd.AddCommand(newRollupExplainCommand(), newRollupStatusCommand(), newRollupVerifyCommand(),
		newRollupRebuildCommand(), newRollupGCCommand())
	return cmd
}

// registerQuery adds the flags of the query and of its state.
func (f *rollupFlags) registerQuery(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.SortFlags = false
	themed(flags, themeQuery, func() {
		registerTables(flags, &f.tables)
		f.registerMeaning(cmd)
	})
	themed(flags, themeState, func() {
		flags.StringVar(&f.state, "state", "", "keep the states in the directory `DIR`, or below a URL")
		flags.StringVar(&f.onChange, "on-change", string(rollup.OnChangeRebuild),
			"where files that did not change would be read again, since a part beside them is not kept or a joined table is "+
				"another one: `WORD` is rebuild (read them) or fail")
		flags.IntVar(&f.keepParts, "keep-parts", 0,
			"keep the parts of the newest `N` files alone, beside what the answer is made of; 0 keeps all")
		flags.StringVar(&f.keep, "keep", "",
			"leave out files whose date, the last one in their path, is `DAYS` or more before the newest, as 400d "+
				"(default all count)")
		flags.StringVar(&f.wholeBytes, "whole-bytes", "",
			"tables of a join up to `SIZE` together are read whole (default 256MiB)")
	})
	cmdflags.Complete(cmd, map[string][]string{"on-change": {"rebuild", "fail"}})
}

// registerInput adds the flags of how files are read.
func (f *rollupFlags) registerInput(cmd *cobra.Command) {
	themed(cmd.Flags(), themeInput, func() { f.input.register(cmd.Flags()) })
	completeInput(cmd)
}

// wantQuery refuses a command line that is no query.
func wantQuery(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usagef("rollup: give a query as one argument, in quotes, or status, verify, rebuild or gc and a directory, "+
			"or explain and a query; "+
			"got %d arguments", len(args))
	}
	return nil
}

func (f *rollupFlags) run(cmd *cobra.Command, args []string) (err error) {
	defer func() { err = f.input.end(err) }()
	o, err := f.options(cmd, args[0])
	if err != nil {
		return err
	}
	sinkOptions, err := f.outputFlags.options(cmd, false)
	if err != nil {
		return err
	}
	sinkOptions.Query = o.Statement
	return f.answer(cmd, f.engineOptions(), &f.budgetFlags, sinkOptions, func(r *request) error {
		o.Layout = r.sink
		report, err := rollup.Run(r.ctx, r.eng, o)
		if err != nil {
			return err
		}
		r.shown.close()
		r.pictures.ended(report.Stats)
		observerOf(r.ctx).query(r.ctx, report.Stats)
		if err := writeStats(r.stats, cmd.ErrOrStderr(), report.Stats); err != nil {
			return err
		}
		if f.json {
			return json.NewEncoder(cmd.ErrOrStderr()).Encode(report)
		}
		return tellRollup(cmd.ErrOrStderr(), &report)
	})
}

// options returns what the flags say of the roll-up of a query.
func (f *rollupFlags) options(cmd *cobra.Command, text string) (o rollup.Options, err error) {
	if f.state == "" {
		return o, usagef("rollup: --state is missing (see mpga rollup --help)")
	}
	if err := f.input.refuse(cmd, "is not of a roll-up: --ignore-errors leaves such rows out"); err != nil {
		return o, err
	}
	meaning, err := f.planOptions()
	if err != nil {
		return o, err
	}
	o = rollup.Options{
		Statement: strings.TrimSpace(text), Overflow: meaning.Overflow, Deterministic: meaning.Deterministic,
		TimeZone: meaning.TimeZone,
		State:    f.state, Output: f.output, OnChange: rollup.OnChange(f.onChange), KeepParts: f.keepParts,
		FS: filesOf(cmd.Context()), Version: buildVersion(),
	}
	if o.Tables, err = tableOptions(f.tables); err != nil {
		return o, err
	}
	if o.KeepDays, err = rollup.ParseDays(f.keep); err != nil {
		return o, usagef("--keep %w", err)
	}
	if o.WholeBytes, err = parseSize("--whole-bytes", f.wholeBytes); err != nil {
		return o, err
	}
	o.Scan, err = f.input.options(cmd)
	return o, err
}

func newRollupExplainCommand() *cobra.Command {
	var f rollupFlags
	var format string
	cmd := &cobra.Command{
		Use:   "explain QUERY --state DIR",
		Short: "Tell what a run of a roll-up would read and merge, and why",
		Long: `Tell what mpga rollup of the query would do: which files it would read and why, which parts it would merge,
and which files have gone. Nothing is written. A state that it could not go on with is an error that says so.`,
		Args: wantQuery,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if format != "text" && format != "json" {
				return usagef("--format %q: want text or json", format)
			}
			defer func() { err = f.input.end(err) }()
			o, err := f.options(cmd, args[0])
			if err != nil {
				return err
			}
			var plain engine.Options
			plain.EnsureDefaults()
			eng, err := openWithin(plain, &sink.Options{})
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, eng.Close()) }()
			e, err := rollup.Explain(cmd.Context(), eng, o)
			switch {
			case err != nil:
				return err
			case format == "json":
				return printJSON(cmd.OutOrStdout(), e)
			}
			return writeText(cmd.OutOrStdout(), explainedText(e))
		},
	}
	f.registerQuery(cmd)
	f.registerInput(cmd)
	cmd.Flags().StringVar(&format, "format", "text", "`WORD` is text or json")
	cmdflags.Complete(cmd, map[string][]string{"format": {"text", "json"}})
	return cmd
}

// explainedText writes an explanation for people.
func explainedText(e *rollup.Explanation) string {
	var b strings.Builder
	if e.Generation == 0 {
		fmt.Fprintf(&b, "%s has no state: all of %d files are read\n", e.State, e.Files)
	} else {
		fmt.Fprintf(&b, "%s has generation %d, by mpga %s: %d of %d files are read, %d have gone\n", e.State,
			e.Generation, e.Version, len(e.Reads), e.Files, len(e.Gone))
	}
	for _, r := range e.Reads {
		fmt.Fprintf(&b, "read   %s, %d B: %s\n", r.Path, r.Bytes, r.Why)
	}
	for _, path := range e.Gone {
		fmt.Fprintf(&b, "gone   %s\n", path)
	}
	for _, w := range e.Whole {
		how := "whole, for each part"
		if w.Late {
			how = "once, and joined to the groups"
		}
		if w.Changed != "" {
			how += "; all parts are made anew, since " + w.Changed
		}
		fmt.Fprintf(&b, "table  of %d files, %d B: read %s\n", w.Files, w.Bytes, how)
	}
	for _, m := range e.Merges {
		fmt.Fprintf(&b, "merge  %d parts to level %d: %s to %s\n", m.Parts, m.Level, m.First, m.Last)
	}
	return b.String()
}

// tellRollup prints what a run has done, as a line.
func tellRollup(w io.Writer, r *rollup.Report) error {
	again := ""
	if r.Again > 0 {
		again = fmt.Sprintf(", %d of them again", r.Again)
	}
	grown := ""
	if r.Grown > 0 {
		grown = fmt.Sprintf(", %d grown", r.Grown)
	}
	_, err := fmt.Fprintf(w, "generation %d: %d files, %d new, %d changed, %d gone%s; read %d%s (%d rows), "+
		"merged %d parts, answered by %d: %d rows in %.2f s\n",
		r.Generation, r.Files, r.Added, r.Changed, r.Gone, grown, r.FilesRead, again, r.RowsRead,
		r.Merged, r.Sources, r.Rows, r.Seconds)
	return err
}

// stateCommand returns a command about the state of a roll-up.
func stateCommand(use, short, long string, run func(cmd *cobra.Command, dir string) error) *cobra.Command {
	return &cobra.Command{
		Use: use + " DIR", Short: short, Long: long, Args: wantArgs(cobra.ExactArgs(1)),
		ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs),
		RunE:              func(cmd *cobra.Command, args []string) error { return run(cmd, args[0]) },
	}
}

func newRollupStatusCommand() *cobra.Command {
	var format string
	cmd := stateCommand("status", "Tell what the state of a roll-up holds",
		`Tell what the state of a roll-up holds: its query, and for each part its files, rows, groups and bytes. The answer is
made of the parts that are marked with a star; the others are kept so that a change of a file costs little.`,
		func(cmd *cobra.Command, dir string) error {
			if format != "text" && format != "json" {
				return usagef("--format %q: want text or json", format)
			}
			s, err := rollup.ReadStatus(filesOf(cmd.Context()), dir)
			if err != nil {
				return err
			}
			if format == "json" {
				return printJSON(cmd.OutOrStdout(), s)
			}
			return writeText(cmd.OutOrStdout(), rollupText(s))
		})
	cmd.Flags().StringVar(&format, "format", "text", "`WORD` is text or json")
	cmdflags.Complete(cmd, map[string][]string{"format": {"text", "json"}})
	return cmd
}

// rollupText writes a status for people.
func rollupText(s *rollup.Status) string {
	if s.Statement == "" {
		return fmt.Sprintf("%s has no state: the next run reads all files\n", s.State)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\ngeneration %d, by mpga %s: %d files, %d rows; %d parts, %d B\n\n", s.Statement, s.Generation,
		s.Version, s.Files, s.Rows, len(s.Parts), s.Bytes)
	fmt.Fprintf(&b, "  level  files         rows       groups        bytes  from, to\n")
	for _, p := range s.Parts {
		star := " "
		if p.IsSource {
			star = "*"
		}
		fmt.Fprintf(&b, "%s %5d %6d %12d %12d %12d  %s", star, p.Level, p.Files, p.Rows, p.Groups, p.Bytes, p.First)
		if p.Last != p.First {
			fmt.Fprintf(&b, ", %s", p.Last)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func newRollupVerifyCommand() *cobra.Command {
	return stateCommand("verify", "Read the checksums of the state of a roll-up",
		`Read all packs of the state of a roll-up, and compare their checksums with those that were written.`,
		func(cmd *cobra.Command, dir string) error {
			packs, err := rollup.Verify(cmd.Context(), filesOf(cmd.Context()), dir)
			if err != nil {
				return err
			}
			return writeText(cmd.OutOrStdout(), fmt.Sprintf("%d packs are what was written\n", packs))
		})
}

func newRollupRebuildCommand() *cobra.Command {
	return stateCommand("rebuild", "Forget the state of a roll-up, so that the next run reads all files",
		`Forget the state of a roll-up: the next run reads all files, of whatever query it is. The output stays. A state that
is damaged, or of another version of mpga, is forgotten, too.`,
		func(cmd *cobra.Command, dir string) error {
			forgot, err := rollup.Forget(filesOf(cmd.Context()), dir, buildVersion())
			if err != nil {
				return err
			}
			text := "the state is forgotten: the next run reads all files\n"
			if !forgot {
				text = "there is no state: the next run reads all files\n"
			}
			return writeText(cmd.OutOrStdout(), text)
		})
}

func newRollupGCCommand() *cobra.Command {
	var dry bool
	var older time.Duration
	cmd := stateCommand("gc", "Remove what runs that were killed have left in the state of a roll-up",
		`Remove from the state of a roll-up the files that its newest manifest does not name: what runs that were killed have
left. In a store, where no lock keeps runs away, what is younger than --older-than stays.`,
		func(cmd *cobra.Command, dir string) error {
			found, err := rollup.Collect(filesOf(cmd.Context()), dir, older, dry)
			if err != nil {
				return err
			}
			var b strings.Builder
			var bytes int64
			for _, g := range found {
				if bytes += g.Bytes; dry {
					fmt.Fprintf(&b, "%s  %d B\n", g.Path, g.Bytes)
				}
			}
			return writeText(cmd.OutOrStdout(), b.String()+removedText(len(found), bytes, dry))
		})
	registerGarbage(cmd.Flags(), &older, &dry)
	return cmd
}
