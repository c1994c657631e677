// Command mpga-lab measures mpga and its parts: kernels, decoders, files, queries beyond a GPU's memory, the figures of
// the papers, a server, nights of a roll-up; and calculates what many hosts would do.
//
// One file holds one subcommand. Results go to the standard output, errors to the standard error.
//
// Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted, by SIGINT or SIGTERM.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"runtime/pprof"
	"strings"
	"syscall"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/mpga/mpga/internal/spawn"
	_ "github.com/mpga/mpga/kernels/cuda"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run runs the command line and returns the exit code.
func run(args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := newRootCommand()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := spawn.Call(func() error { return root.ExecuteContext(ctx) })
	switch {
	case err == nil:
		return 0
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, "mpga-lab: interrupted")
		return 128 + int(syscall.SIGINT)
	}
	fmt.Fprintf(stderr, "mpga-lab: %s\n", strings.ReplaceAll(err.Error(), "\n", "; "))
	if errors.As(err, new(usageError)) {
		return 2
	}
	return 1
}

func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use: "mpga-lab", Short: "Measure mpga and its parts", SilenceUsage: true, SilenceErrors: true, Args: wantArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%w (see %s --help)", err, cmd.CommandPath())
	})
	root.AddCommand(newKernelsCommand(), newJoinsCommand(), newDecodeCommand(), newFilesCommand(),
		newOutOfCoreCommand(), newPaperCommand(),
		newScaleCommand(), newServeCommand(), newNightsCommand())
	return root
}

// usageError is a command line that cannot be run.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// wantArgs makes a positional argument checker's error a usage error.
func wantArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usagef("%s: %w", cmd.Name(), err)
		}
		return nil
	}
}

// parseSize reads a size in bytes, such as 2GiB or 500MB; no text is 0.
func parseSize(flag, text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	n, err := humanize.ParseBytes(text)
	if err != nil || n == 0 || n > math.MaxInt64 {
		return 0, usagef("%s %q: want a size such as 512MiB or 2GB", flag, text)
	}
	return int64(n), nil
}

func byteSize(n int64) string { return humanize.IBytes(uint64(n)) }

func printJSON(w io.Writer, value any) error { return json.NewEncoder(w).Encode(value) }

// startProfile begins a profile of the CPU's work in a file, which stop ends; "" is no file.
func startProfile(name string) (stop func(), err error) {
	if name == "" {
		return func() {}, nil
	}
	file, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return func() {
		pprof.StopCPUProfile()
		_ = file.Close()
	}, nil
}
