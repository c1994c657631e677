package main

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mpga/mpga/integrations/beam/internal/fakempga"
)

// The binary of the tests is the command, and the fake mpga that the command starts.
func TestMain(m *testing.M) {
	switch {
	case fakempga.IsCommand():
		os.Exit(fakempga.Main())
	case os.Getenv(commandVariable) != "":
		main()
	}
	os.Exit(m.Run())
}

const commandVariable = "MPGABEAM_TEST_COMMAND"

// newCommand returns the command with its flags, and what it will have printed.
func newCommand(t *testing.T, args ...string) (cmd *exec.Cmd, stdout, stderr *bytes.Buffer) {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	stdout, stderr = &bytes.Buffer{}, &bytes.Buffer{}
	cmd = exec.CommandContext(t.Context(), binary, append(args, "--mpga", binary)...)
	cmd.Env = append(os.Environ(), commandVariable+"=1")
	cmd.Stdout, cmd.Stderr = stdout, stderr
	return cmd, stdout, stderr
}

// exitCode runs the command.
func exitCode(t *testing.T, cmd *exec.Cmd) int {
	t.Helper()
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode()
}

func newPlan(t *testing.T, behaviours map[string]string) *fakempga.Plan {
	t.Helper()
	stages := []fakempga.Stage{{Name: "partial", Tasks: 3}, {Name: "merge", Tasks: 2}, {Name: "commit", Tasks: 1}}
	plan, err := fakempga.Write(t.TempDir(), fakempga.Plan{Stages: stages, Tasks: behaviours})
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// Would catch a command that does not run on the runner that it has by default, and anything but the
// stages on the standard output.
func TestCommand(t *testing.T) {
	plan := newPlan(t, map[string]string{"partial 1": fakempga.FailOnce})
	cmd, stdout, stderr := newCommand(t, "--plan", plan.Path(), "--attempts", "2")
	if code := exitCode(t, cmd); code != exitDone {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	want := `{"stage":"partial","tasks":3,"already":0,"rows":30,"groups":6,"bytes_read":900,"bytes_written":120,"seconds":0.75}
{"stage":"merge","tasks":2,"already":0,"rows":20,"groups":4,"bytes_read":600,"bytes_written":80,"seconds":0.5}
{"stage":"commit","tasks":1,"already":0,"rows":10,"groups":2,"bytes_read":300,"bytes_written":40,"seconds":0.25}
`
	if stdout.String() != want {
		t.Errorf("printed %s", stdout)
	}
}

// Would catch an error whose cause is lost between the stages of Beam.
func TestCommandFails(t *testing.T) {
	plan := newPlan(t, map[string]string{"merge 1": fakempga.Refuse})
	cmd, _, stderr := newCommand(t, "--plan", plan.Path())
	if code := exitCode(t, cmd); code != exitFailed {
		t.Errorf("exit code %d", code)
	}
	want := "mpga-beam: " + cmd.Path + " dist merge --plan " + plan.Path() +
		" --task 1: exit status 2 (no other attempt will help): mpga: flights.parquet has changed since the plan was made\n"
	if !strings.HasSuffix(stderr.String(), want) {
		t.Errorf("no %s at the end of %s", want, stderr)
	}
}

// Would catch wrong usage that starts a job, and exit codes that are not mpga's.
func TestCommandUsage(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
		text string
	}{
		{nil, exitUsage, "--plan is missing"},
		{[]string{"--plan", "p", "--runner", "crunch"}, exitUsage, `unknown runner "crunch": one of prism, flink`},
		{[]string{"--plan", "p", "--attempts", "0"}, exitUsage, "Attempts (0) must be at least 1"},
		{[]string{"--plan", "p", "--split", "0"}, exitUsage, "flag provided but not defined: -split"},
		{[]string{"--plan", "/nowhere", "--runner", "PrismRunner"}, exitFailed, "/nowhere: no such file"},
		{[]string{"--help"}, exitDone, "--memory-limit size"},
	} {
		cmd, stdout, stderr := newCommand(t, c.args...)
		if code := exitCode(t, cmd); code != c.code {
			t.Errorf("%v: exit code %d, not %d", c.args, code, c.code)
		}
		printed := stderr
		if c.code == exitDone {
			printed = stdout
		}
		if !strings.Contains(printed.String(), c.text) {
			t.Errorf("%v: no %q in %s", c.args, c.text, printed)
		}
	}
}

// Would catch Ctrl-C that leaves tasks behind.
func TestCommandInterrupted(t *testing.T) {
	plan := newPlan(t, map[string]string{"merge 0": fakempga.Hang})
	cmd, _, stderr := newCommand(t, "--plan", plan.Path())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for !strings.Contains(strings.Join(plan.Lines(), "\n"), "hangs") && t.Context().Err() == nil {
		time.Sleep(5 * time.Millisecond)
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // the exit code is below
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	if lines := plan.Lines(); lines[len(lines)-1] != "end merge 0 with 130" {
		t.Errorf("the task has not ended in %v", lines)
	}
}
