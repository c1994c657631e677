package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/mpga/mpga/app/cmdflags"
	"github.com/mpga/mpga/app/remote"
	"github.com/mpga/mpga/engine/device"
)

const (
	remoteFlag         = "remote"
	remoteVariable     = "MPGA_REMOTE"
	remoteIdleVariable = "MPGA_REMOTE_IDLE"

	remoteIdleTime = 10 * time.Minute
)

// registerRemote adds the flag of commands that a process which stays may answer.
func registerRemote(cmd *cobra.Command) {
	themed(cmd.Flags(), themeResources, func() {
		cmd.Flags().String(remoteFlag, "", "have a process of yours that stays between commands answer, which keeps its "+
			"GPU open: `WORD` is auto or off (default "+remoteVariable+", or off)")
	})
	cmdflags.Complete(cmd, map[string][]string{remoteFlag: {"auto", "off"}})
}

// remoteAsked says whether a process that stays is to answer a command.
func remoteAsked(cmd *cobra.Command) (bool, error) {
	flag := cmd.Flags().Lookup(remoteFlag)
	if flag == nil {
		return false, nil
	}
	word, source := flag.Value.String(), "--"+remoteFlag
	if !flag.Changed {
		word, source = os.Getenv(remoteVariable), remoteVariable
	}
	switch {
	case word == "off", word == "" && !flag.Changed:
		return false, nil
	case word != "auto":
		return false, usagef("%s %q: want auto or off", source, word)
	}
	_, err := remoteIdle()
	return true, err
}

// remoteIdle returns how long a process stays without a command.
func remoteIdle() (time.Duration, error) {
	text := os.Getenv(remoteIdleVariable)
	if text == "" {
		return remoteIdleTime, nil
	}
	idle, err := time.ParseDuration(text)
	if err != nil || idle <= 0 {
		return remoteIdleTime, usagef("%s %q: want a time such as 90s or 5m", remoteIdleVariable, text)
	}
	return idle, nil
}

// handedOver is the exit code of a command that another process has answered.
type handedOver int

func (handedOver) Error() string { return "another process has answered the command" }

// handOver returns handedOver where a process that stays has answered the command, and nil where this one is to.
func (o *observer) handOver(cmd *cobra.Command) error {
	asked, err := remoteAsked(cmd)
	if err != nil || !asked || o.devices != nil {
		return err
	}
	closed := slices.DeleteFunc([]int{0, 1, 2}, func(fd int) bool { return !startedClosed(fd) })
	code, err := remote.Do(cmd.Context(), remote.Options{Version: buildVersion(), Command: []string{"remote", "serve"}},
		o.args, closed...)
	var refusal *remote.Refusal
	switch {
	case err == nil:
		return handedOver(code)
	case !errors.As(err, &refusal):
		return fmt.Errorf("--%s: %w", remoteFlag, err)
	}
	level := slog.LevelInfo
	if explain := cmd.Flags().Lookup("explain"); refusal.Unsafe || explain != nil && explain.Changed {
		level = slog.LevelWarn
	}
	slog.Log(cmd.Context(), level, "the command answers by itself, without a process that stays",
		"reason", refusal.Reason)
	return nil
}

func newRemoteCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "remote",
		Short: "Show or stop the processes that stay between commands",
		Long: `Show or stop this user's processes that stay between commands. mpga sql, agg and run hand a command over to
one with --remote auto, or with MPGA_REMOTE=auto in the environment. The first such command starts the process; it goes
when it has had none for ten minutes, or for the time of MPGA_REMOTE_IDLE.`,
		Example: `  mpga remote status
  mpga remote stop`,
		Args: wantCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(&cobra.Command{
		Use:   "status",
		Short: "Show the processes",
		Args:  wantArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, err := remote.List()
			if err != nil {
				return err
			}
			return writeProcesses(cmd.OutOrStdout(), all)
		},
	}, &cobra.Command{
		Use:   "stop",
		Short: "End the processes, each once it has answered the command that it has",
		Args:  wantArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			stopped, err := remote.Stop(cmd.Context())
			if err != nil {
				return err
			}
			return writeText(cmd.OutOrStdout(), fmt.Sprintf("stopped: %d", stopped))
		},
	}, &cobra.Command{
		Use:    "serve NAME",
		Short:  "Be a process that stays between commands, with a socket NAME",
		Args:   wantArgs(cobra.ExactArgs(1)),
		Hidden: true,
		// Nobody watches this command: what is watched is each command that it answers.
		PersistentPreRunE: func(*cobra.Command, []string) error { return nil },
		RunE:              func(cmd *cobra.Command, args []string) error { return serveRemote(cmd.Context(), args[0]) },
	})
	return cmd
}

// writeProcesses writes a table of processes.
func writeProcesses(to io.Writer, all []remote.Status) error {
	if len(all) == 0 {
		return writeText(to, "no process stays between commands")
	}
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "process\tversion\tsince\tcommands\tstate")
	for _, s := range all {
		state := "idle"
		switch {
		case s.Stuck:
			fmt.Fprintf(table, "%d\t\t\t\tdoes not answer\n", s.PID)
			continue
		case s.Busy:
			state = "busy"
		}
		fmt.Fprintf(table, "%d\t%s\t%s\t%d\t%s\n", s.PID, s.Version, s.Since.Local().Format(time.DateTime), s.Calls, state)
	}
	return table.Flush()
}

// serveRemote answers commands of other processes, by the functions that answer this process's.
func serveRemote(ctx context.Context, name string) error {
	pool := device.NewPool(slog.New(callerLog{}))
	quiet := slog.New(slog.DiscardHandler)
	slog.SetDefault(quiet)
	cmdflags.NoCompletions = true
	err := remote.Serve(ctx, remote.ServeOptions{
		Version: buildVersion(),
		Name:    name,
		Run: func(ctx context.Context, call remote.Call) int {
			defer slog.SetDefault(quiet)
			in, out := standardInput(call.Stdin, slices.Contains(call.Closed, 0)),
				standardOutput(call.Stdout, slices.Contains(call.Closed, 1))
			return runWithin(ctx, &observer{devices: pool}, call.Args, in, out, call.Stderr)
		},
		Idle: func() time.Duration {
			idle, _ := remoteIdle() // the caller has looked at the error
			return idle
		},
	})
	return errors.Join(err, pool.Close())
}

// callerLog is the log of devices that stay between commands: the default logger, which is each caller's own.
type callerLog struct{}

func (callerLog) Enabled(ctx context.Context, level slog.Level) bool {
	return slog.Default().Enabled(ctx, level)
}

func (callerLog) Handle(ctx context.Context, r slog.Record) error {
	return slog.Default().Handler().Handle(ctx, r)
}

func (callerLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	return slog.Default().Handler().WithAttrs(attrs)
}

func (callerLog) WithGroup(name string) slog.Handler { return slog.Default().Handler().WithGroup(name) }
