package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/mpga/mpga/app/cmdflags"
	"github.com/mpga/mpga/app/shell"
	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/engine/sink"
	"github.com/mpga/mpga/internal/redact"
)

// shellFlags are the flags of mpga shell.
type shellFlags struct {
	command    string
	file       string
	tables     []string
	format     string
	limit      int
	separators bool
	progress   string

	input inputFlags
	queryFlags
	tableFlags
}

func newShellCommand() *cobra.Command {
	var f shellFlags
	cmd := &cobra.Command{
		Use:   "shell [FILES...]",
		Short: "Type statements of SQL, or run a script of them",
		Long: `Run statements of SQL as they are typed, each ended by a semicolon, or those of a script: of the standard
input, of --file or of --command, up to the first error. mpga alone is mpga shell, and so are mpga -c 'SELECT ...',
mpga FILE.sql and mpga sales.parquet.

Each of FILES is a table, named as the file is without its ending: mpga shell sales.parquet, then
SELECT count(*) FROM sales; Statements are those of mpga sql. Lines that begin with a dot are commands:
.help lists them, docs/shell.md tells more.`,
		Example: `  mpga shell tests/testdata/flights-2001.parquet
  printf 'DESCRIBE f; SELECT count(*) FROM f;' | mpga shell --table f=tests/testdata/flights-2001.parquet`,
		RunE: f.run,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	themed(flags, themeQuery, func() {
		flags.StringVarP(&f.command, "command", "c", "", "run the statements of `TEXT`, and end")
		flags.StringVarP(&f.file, "file", "f", "", "run the statements of `FILE`, and end")
	})
	themed(flags, themeInput, func() { registerTables(flags, &f.tables) })
	themed(flags, themeOutput, func() {
		flags.StringVar(&f.format, "format", "table", "of results: `WORD` as mpga sql has it; .mode changes it")
		flags.IntVar(&f.limit, "limit", 0,
			"show `N` rows of a table (default what the screen has room for, 40 at most); .maxrows changes it")
		flags.BoolVar(&f.separators, "separators", false, "separate thousands, 1,234.5, in table, vertical and markdown")
		registerProgress(cmd, &f.progress)
	})
	themed(flags, themeQuery, func() { f.registerMeaning(cmd) })
	f.registerResources(cmd)
	themed(flags, themeResources, func() { f.tableFlags.register(flags) })
	cmdflags.Complete(cmd, map[string][]string{"format": sink.FormatNames()})
	themed(flags, themeInput, func() { f.input.register(flags) })
	completeInput(cmd)
	return cmd
}

// options returns the options of a shell, but for its engine, its lines and its terminal.
func (f *shellFlags) options(cmd *cobra.Command, files []string) (opt shell.Options, err error) {
	if opt.Plan, err = f.planOptions(); err != nil {
		return opt, err
	}
	if opt.Plan.Tables, err = tableOptions(f.tables); err != nil {
		return opt, err
	}
	if cmd.Flags().Changed("max-rejects") {
		return opt, usagef("shell: --max-rejects is of one query, as mpga sql has it")
	}
	names := slices.Sorted(maps.Keys(opt.Plan.Tables))
	for _, file := range files {
		name := shell.TableName(file)
		if slices.Contains(names, name) || name == "" || strings.ContainsAny(name, "*?[") {
			return opt, usagef("shell: %s would be the table %q, which is taken, or no name: give it one by --table NAME=%s",
				file, name, file)
		}
		names = append(names, name)
	}
	opt.Files = files
	if opt.Plan.Scan, err = f.input.options(cmd); err != nil {
		return opt, err
	}
	opt.Plan.Scan.Readers = &dataset.Readers{} // what the flags say is for statements to come
	opt.Plan.Scan.Stdin = closedFile("the standard input, from which statements are read,")
	opt.Out = cmd.OutOrStdout()
	opt.Sink = sink.Options{FS: filesOf(cmd.Context()), RowsShown: f.limit, Separators: f.separators}
	if opt.Sink.Format, err = sink.ParseFormat(f.format); err != nil {
		return opt, usageError{err}
	}
	if f.limit < 0 {
		return opt, usagef("--limit %d: want the number of rows to show", f.limit)
	}
	opt.Ended = func(ctx context.Context, stats engine.Stats) { observerOf(ctx).query(ctx, stats) }
	return opt, nil
}

func (f *shellFlags) run(cmd *cobra.Command, files []string) (err error) {
	defer func() { err = f.input.end(err) }()
	opt, err := f.options(cmd, files)
	if err != nil {
		return err
	}
	if _, err := newProgress(f.progress, cmd.ErrOrStderr(), false); err != nil {
		return err
	}
	script, err := f.script()
	if err != nil {
		return err
	}
	var from io.Reader // nil of the standard input
	if script != nil {
		defer script.Close()
		from = script
	}
	var shown atomic.Pointer[progress] // of the statement that runs; nil before the first
	observer := observerOf(cmd.Context())
	engineOptions := f.engineOptions()
	engineOptions.Logger = slog.Default()
	engineOptions.Progress = func(p engine.Progress) {
		if shown := shown.Load(); shown != nil {
			(*shown).update(p)
		}
		observer.progress("", p)
	}
	if err := f.budgetFlags.apply(&engineOptions); err != nil {
		return err
	}
	opt.Progress = func(shared bool) func() {
		p, err := newProgress(f.progress, cmd.ErrOrStderr(), shared)
		if err != nil {
			panic(err) // the mode was good before
		}
		p = &oneProgress{to: p}
		shown.Store(&p)
		return p.close
	}
	eng, err := openWithin(engineOptions, &opt.Sink)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, eng.Close()) }()
	opt.Engine = eng
	if opt.Store, err = f.store(eng, &f.budgetFlags); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opt.Store.Close()) }()
	opt.Suit = func(files *sink.Options) { suitEngine(engineOptions, eng, files) }
	if from == nil && onTerminal(cmd) {
		return runOnTerminal(cmd, opt)
	}
	if from == nil {
		from = cmd.InOrStdin()
	}
	opt.In = shell.PlainLines(&interruptibleReader{ctx: cmd.Context(), from: from})
	if f.command != "" {
		suitScreen(&opt)
	}
	return shell.New(opt).Run(cmd.Context())
}

// script returns the statements of the flags, nil without any.
func (f *shellFlags) script() (io.ReadCloser, error) {
	switch {
	case f.command != "" && f.file != "":
		return nil, usagef("shell: give --command or --file, not both")
	case f.command != "":
		return io.NopCloser(strings.NewReader(f.command)), nil
	case f.file != "" && f.file != "-":
		return os.Open(f.file)
	}
	return nil, nil
}

// onTerminal says whether a person types at the command and reads what it prints.
func onTerminal(cmd *cobra.Command) bool {
	in, ok := cmd.InOrStdin().(*os.File)
	return ok && in == os.Stdin && isTerminal(in) && isTerminal(cmd.OutOrStdout())
}

// runOnTerminal runs a shell with an editor of lines. Ctrl-C, which else ends the command, cancels a
// statement.
func runOnTerminal(cmd *cobra.Command, opt shell.Options) (err error) {
	opt.Interactive = true
	if out, ok := fileOf(opt.Out); ok {
		opt.Out = out // which a pager takes over
	}
	suitScreen(&opt)
	opt.Pager = pagerCommand(os.LookupEnv)
	opt.Report = func(err error) {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s\n%s", redact.Text(errorText(err, exitFailed)), redact.Text(bugReport(err)))
	}
	interrupts := make(chan os.Signal, 1)
	signal.Reset(os.Interrupt)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	opt.Interrupts = interrupts

	var s *shell.Shell
	editor, err := shell.NewEditor(shell.HistoryPath(os.Getenv), func(line string, cursor int) (int, []string) {
		return s.Complete(cmd.Context(), line, cursor)
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, editor.Close()) }()
	opt.In = editor
	s = shell.New(opt)
	banner := "mpga " + buildVersion() + "; .help lists the commands, Ctrl-D leaves\n"
	if _, err := io.WriteString(opt.Out, banner); err != nil {
		return err
	}
	return s.Run(cmd.Context())
}

// suitScreen makes results fit the terminal that the output is.
func suitScreen(opt *shell.Options) {
	out := opt.Out
	suitTerminal(&opt.Sink)
	opt.Screen = func() (columns, lines int) {
		columns, lines, _ = terminalSize(out)
		return columns, lines
	}
}

// pagerCommand returns the command that shows long results: $PAGER, or less if there is one.
func pagerCommand(getenv func(string) (string, bool)) string {
	if pager, ok := getenv("PAGER"); ok {
		return pager
	}
	if _, err := exec.LookPath("less"); err != nil {
		return ""
	}
	return "less -SRFX"
}
