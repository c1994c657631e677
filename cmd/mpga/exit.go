package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/distributed"
	"github.com/mpga/mpga/engine/job"
	"github.com/mpga/mpga/engine/rollup"
	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/knob"
	"github.com/mpga/mpga/internal/nearest"
	"github.com/mpga/mpga/internal/spawn"
)

// The exit codes.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 128 + int(syscall.SIGINT) // as shells say it
)

// usageError is a command line that cannot be run, whatever the files hold.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// exitCode says how a command ended; ctx is cancelled by signals alone.
func exitCode(ctx context.Context, err error) int {
	var usage usageError
	var text *sql.Error
	var file job.Errors
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, spawn.ErrInternal):
		return exitFailed
	case ctx.Err() != nil:
		return exitInterrupted
	case errors.As(err, &usage), errors.As(err, &text) && text.Cause == nil, errors.As(err, &file),
		errors.Is(err, engine.ErrQuery), errors.Is(err, distributed.ErrPlan),
		errors.Is(err, distributed.ErrReplaced),
		errors.Is(err, distributed.ErrDamaged), errors.Is(err, rollup.ErrStatement), errors.Is(err, rollup.ErrOther),
		errors.Is(err, rollup.ErrDamaged):
		return exitUsage
	}
	return exitFailed
}

// errorText returns what is printed of an error: one line, three where SQL text is pointed at, one
// for each error of a job's file, none where the reader of a pipe has gone, as head does.
func errorText(err error, code int) string {
	var text *sql.Error
	var file job.Errors
	switch {
	case err == nil || errors.Is(err, syscall.EPIPE):
		return ""
	case code == exitInterrupted:
		return "interrupted"
	case errors.As(err, &text), errors.As(err, &file):
		return knob.Reword(err, flagName).Error()
	}
	return strings.ReplaceAll(knob.Reword(err, flagName).Error(), "\n", "; ")
}

// bugReport returns what is printed below an error that is a bug of the program; "" of other
// errors.
func bugReport(err error) string {
	var bug *spawn.PanicError
	if !errors.As(err, &bug) {
		return ""
	}
	return fmt.Sprintf("This is a bug of mpga %s. Please report it, with the query and what follows, at %s\n\n%s",
		buildVersion(), bugsURL, bug.Stack)
}

// bugsURL is where bugs are reported.
const bugsURL = "https://github.com/mpga/mpga/issues"

// flagError returns the usage error of a command's flags.
func flagError(cmd *cobra.Command, err error) error {
	var value *pflag.InvalidValueError
	var unknown *pflag.NotExistError
	switch {
	case errors.As(err, &value) && valueWords[value.GetFlag().Value.Type()] != "":
		return usagef("--%s %q: want %s", value.GetFlag().Name, value.GetValue(), valueWords[value.GetFlag().Value.Type()])
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "":
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if near := nearest.Names(unknown.GetSpecifiedName(), names); len(near) > 0 {
			return usagef("%w; did you mean --%s? (see %s --help)", err, strings.Join(near, ", --"), cmd.CommandPath())
		}
	}
	return usagef("%w (see %s --help)", err, cmd.CommandPath())
}

// valueWords say what values the types of flags have.
var valueWords = map[string]string{
	"int": "a whole number", "int64": "a whole number", "uint64": "a whole number, 0 or more",
	"float64": "a number", "bool": "true or false",
	"duration": "a time such as 90s or 5m", "intSlice": "whole numbers, as in 0,3",
}

// wantArgs makes a positional argument checker's error a usage error.
func wantArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usagef("%s: %w", cmd.Name(), err)
		}
		return nil
	}
}

// wantSome refuses a command line without arguments, which name something.
func wantSome(something string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usagef("%s: name %s (see %s --help)", cmd.Name(), something, cmd.CommandPath())
		}
		return nil
	}
}

// inputFiles are the arguments of commands that read files.
const inputFiles = "the files to read, or - for the standard input"
