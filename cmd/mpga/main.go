// Command mpga answers SELECT keys, aggregates GROUP BY keys over Parquet, Arrow, CSV and JSON files.
//
// One file holds one subcommand; a subcommand turns its flags into the options of a package and
// prints what comes back. Results go to the standard output and nothing else does: errors,
// progress, statistics and logs go to the standard error.
//
// Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted, by SIGINT, SIGTERM or SIGHUP.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/mpga/mpga/app/cmdflags"
	"github.com/mpga/mpga/internal/nearest"
	"github.com/mpga/mpga/internal/redact"
	"github.com/mpga/mpga/internal/spawn"
	_ "github.com/mpga/mpga/kernels/cuda"
)

func main() {
	in, out := standardInput(os.Stdin, startedClosed(0)), standardOutput(os.Stdout, startedClosed(1))
	os.Exit(run(os.Args[1:], in, out, os.Stderr))
}

// run runs the command line and returns the exit code.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	signal.Ignore(syscall.SIGPIPE) // a closed pipe is an error of the write, which cleans up
	ctx, stop := signal.NotifyContext(context.Background(), interrupts()...)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	return runWithin(ctx, &observer{}, args, stdin, stdout, stderr)
}

// runWithin runs the command line within a context, which ends when the command is to, and returns the exit code.
func runWithin(ctx context.Context, o *observer, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	o.args = args
	defer func() {
		if o.files != nil {
			_ = o.files.Close()
		}
	}()
	root := newRootCommand(o)
	root.SetArgs(asShell(root, args))
	root.SetIn(stdin)
	out := &checkedWriter{to: stdout}
	root.SetOut(out)
	root.SetErr(stderr)
	err := spawn.Call(func() error { return root.ExecuteContext(ctx) })
	var done handedOver
	if errors.As(err, &done) {
		return int(done)
	}
	if err == nil && out.err != nil {
		err = fmt.Errorf("printing: %w", out.err)
	}
	code := exitCode(ctx, err)
	if endErr := spawn.Call(func() error { return o.end(err, code) }); endErr != nil && err == nil {
		err, code = endErr, exitFailed
	}
	if text := errorText(err, code); text != "" && !o.logError(text, err, code) {
		fmt.Fprintf(stderr, "mpga: %s\n%s", redact.Text(text), redact.Text(bugReport(err)))
	}
	return code
}

// interrupts are the signals that end a command as Ctrl-C does. A signal that the process was
// started to ignore, as nohup does with SIGHUP, stays ignored.
func interrupts() []os.Signal {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}
	return slices.DeleteFunc(signals, signal.Ignored)
}

func newRootCommand(o *observer) *cobra.Command {
	var asked *bool // --version
	root := &cobra.Command{
		Use:   "mpga",
		Short: "Group and aggregate Parquet, Arrow, CSV and JSON files",
		Long: `mpga groups the rows of Parquet, Arrow, CSV and JSON files by key columns and aggregates the others,
as SELECT keys, aggregates FROM files GROUP BY keys does.

mpga alone is mpga shell: it runs statements of SQL as they are typed, or the ones of the standard input;
mpga -c 'SELECT ...' runs a text, mpga FILE.sql a file, and mpga sales.parquet begins with a table.`,
		Example:       `  mpga agg --by origin --agg 'count(*) as flights, avg(delay)' tests/testdata/flights-2001.parquet`,
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			return o.start(cmd)
		},
		Args: wantCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case *asked:
				return printVersion(cmd)
			case !onTerminal(cmd) && !hasScript(cmd.InOrStdin()):
				return cmd.Help()
			}
			shell, _, err := cmd.Find([]string{"shell"})
			if err != nil {
				return err
			}
			shell.SetContext(cmd.Context())
			return shell.RunE(shell, nil)
		},
	}
	root.SetFlagErrorFunc(flagError)
	root.SetUsageFunc(printUsage)
	o.register(root.PersistentFlags())
	asked = root.Flags().Bool("version", false, "print the version, as mpga version does")
	cmdflags.Complete(root, map[string][]string{"log-level": {"debug", "info", "warn", "error"},
		"log-format": {"text", "json"}})
	root.AddCommand(newAggCommand(), newCompareCommand(), newMergeCommand(), newDescribeCommand(), newDevicesCommand(),
		newDistCommand(), newDocsCommand(), newGenCommand(), newSQLCommand(), newServeCommand(),
		newShellCommand(), newRemoteCommand(), newRollupCommand(), newRunCommand(), newVersionCommand())
	return root
}

// asShell returns the arguments of mpga shell where the first argument, behind flags of all commands, is a statement's
// text, a script or data.
func asShell(root *cobra.Command, args []string) []string {
	at := 0
	for at < len(args) {
		name, _, hasValue := strings.Cut(strings.TrimPrefix(args[at], "--"), "=")
		flag := root.PersistentFlags().Lookup(name)
		if flag == nil || !strings.HasPrefix(args[at], "--") {
			break
		}
		at++
		if !hasValue && flag.NoOptDefVal == "" {
			at++
		}
	}
	if at >= len(args) {
		return args
	}
	switch first := args[at]; {
	case strings.HasPrefix(first, "-c"), strings.HasPrefix(first, "--command"), first == "-f", first == "--file":
		return append([]string{"shell"}, args...)
	case strings.HasPrefix(first, "-"), isCommand(root, first), !isFile(first):
		return args
	case strings.EqualFold(filepath.Ext(first), ".sql"):
		return slices.Concat([]string{"shell"}, args[:at], []string{"--file"}, args[at:])
	}
	return append([]string{"shell"}, args...)
}

// isCommand says whether a word is the name of a subcommand, one that cobra adds among them.
func isCommand(root *cobra.Command, word string) bool {
	return slices.ContainsFunc(root.Commands(), func(c *cobra.Command) bool { return c.Name() == word }) ||
		slices.Contains([]string{"help", "completion", cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd}, word)
}

// isFile says whether a word names a file, there or not, or an object.
func isFile(word string) bool {
	if _, err := os.Stat(word); err == nil || strings.Contains(word, "://") {
		return true
	}
	return len(filepath.Ext(word)) > 1 && !strings.ContainsAny(word, " \t\n(")
}

// hasScript says whether the standard input has statements: it is a pipe or a file, no terminal and no /dev/null.
func hasScript(in io.Reader) bool {
	f, ok := in.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice == 0
}

// wantCommand refuses an argument of a command that has subcommands: the argument is none of their
// names.
func wantCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	first, _, _ := strings.Cut(strings.ToLower(args[0]), " ") // of a query without its command
	var names []string
	for _, c := range cmd.Commands() {
		if slices.Contains(c.SuggestFor, first) {
			return usagef("unknown command %q; did you mean %s?", args[0], c.CommandPath())
		}
		names = append(names, c.Name())
	}
	if near := nearest.Names(args[0], names); len(near) > 0 {
		return usagef("unknown command %q; did you mean %s %s?", args[0], cmd.CommandPath(), strings.Join(near, " or "))
	}
	return usagef("unknown command %q (see mpga --help)", args[0])
}
