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
	"fmt"
	"io"
	"os"
	"os/signal"
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
	os.Exit(run(os.Args[1:], standardInput(), standardOutput(), os.Stderr))
}

// run runs the command line and returns the exit code.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	signal.Ignore(syscall.SIGPIPE) // a closed pipe is an error of the write, which cleans up
	ctx, stop := signal.NotifyContext(context.Background(), interrupts()...)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once

	var o observer
	defer func() {
		if o.files != nil {
			_ = o.files.Close()
		}
	}()
	root := newRootCommand(&o)
	root.SetArgs(args)
	root.SetIn(stdin)
	out := &checkedWriter{to: stdout}
	root.SetOut(out)
	root.SetErr(stderr)
	err := spawn.Call(func() error { return root.ExecuteContext(ctx) })
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
	root := &cobra.Command{
		Use:   "mpga",
		Short: "Group and aggregate Parquet, Arrow, CSV and JSON files",
		Long: `mpga groups the rows of Parquet, Arrow, CSV and JSON files by key columns and aggregates the others,
as SELECT keys, aggregates FROM files GROUP BY keys does.`,
		Example:       `  mpga agg --by origin --agg 'count(*) as flights, avg(delay)' tests/testdata/flights-2001.parquet`,
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			return o.start(cmd)
		},
		Args: wantCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !onTerminal(cmd) {
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
	cmdflags.Complete(root, map[string][]string{"log-level": {"debug", "info", "warn", "error"},
		"log-format": {"text", "json"}})
	root.AddCommand(newAggCommand(), newCompareCommand(), newMergeCommand(), newDescribeCommand(), newDevicesCommand(),
		newDistCommand(), newDocsCommand(), newGenCommand(), newSQLCommand(), newServeCommand(),
		newShellCommand(), newRunCommand(), newVersionCommand())
	return root
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
