package tests

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// killCommand is a run that spills, in folders of its own.
type killCommand struct {
	mpga, data, out, temp string
}

func newKillCommand(t *testing.T, rows string) *killCommand {
	t.Helper()
	c := &killCommand{mpga: buildCommand(t), data: filepath.Join(t.TempDir(), "pairs.parquet"), out: t.TempDir(), temp: t.TempDir()}
	if text, err := exec.Command(c.mpga, "gen", "pairs", "--rows", rows, "--groups", rows, "-o", c.data).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return c
}

func (c *killCommand) target() string { return filepath.Join(c.out, "answer.parquet") }

// command is the run, not started. stderr takes what it says.
func (c *killCommand) command(stderr *bytes.Buffer) *exec.Cmd {
	cmd := exec.Command(c.mpga, "agg", "--by", "key", "--agg", "count(*) as n, sum(value) as s, avg(value), stddev_samp(value)", "--threads", "2",
		"--memory-limit", "128MiB", "--temp-dir", c.temp, "--stats", "-o", c.target(), c.data)
	cmd.Stderr = stderr
	return cmd
}

// check says whether the answer of the run is whole.
func (c *killCommand) check(t *testing.T, rows string) {
	t.Helper()
	text, err := exec.Command(c.mpga, "agg", "--agg", "count(*) as groups, sum(n)", "--format", "csv", c.target()).Output()
	if err != nil || !strings.Contains(string(text), "\n"+rows+","+rows) {
		t.Errorf("%s: %v", text, err)
	}
}

// Killed at any moment, a run leaves nothing in the temp directory and no output that is half
// written, and the next run over the same output finishes as if nothing had been, and removes what
// was left of the hidden file.
func TestKill(t *testing.T) {
	const rows = "3000000"
	if testing.Short() {
		t.Skip("makes 3e6 rows")
	}
	c := newKillCommand(t, rows)
	start := time.Now()
	var stderr bytes.Buffer
	if err := c.command(&stderr).Run(); err != nil || !strings.Contains(stderr.String(), "spilled") {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	took := time.Since(start)
	c.check(t, rows)
	rng := rand.New(rand.NewPCG(*seedFlag, 5))
	left := 0
	const kills, killsMax = 6, 60
	for n := 0; n < kills || left == 0 && n < killsMax; n++ {
		if err := os.Remove(c.target()); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		cmd := c.command(new(bytes.Buffer))
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if n < kills {
			time.Sleep(time.Duration(rng.Float64() * float64(took)))
		}
		for n >= kills && len(fileNames(t, c.out)) == 0 { // none of the moments was one when the output was open
			time.Sleep(time.Millisecond)
		}
		killed := cmd.Process.Kill()
		if err := cmd.Wait(); err == nil && killed == nil {
			t.Log("it had ended before")
		}
		if names := fileNames(t, c.temp); len(names) > 0 {
			t.Errorf("left in the temp directory: %v", names)
		}
		for _, name := range fileNames(t, c.out) {
			if name == filepath.Base(c.target()) {
				c.check(t, rows)
			} else {
				left++
			}
		}
	}
	if left == 0 {
		t.Error("no run was killed while it had its output open: the test is too quick")
	}
	if err := c.command(&stderr).Run(); err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	c.check(t, rows)
	if names := fileNames(t, c.out); len(names) != 1 {
		t.Errorf("left beside the output: %v", names)
	}
}

// A temp directory that is removed while a run uses it: its files have no names, and the run goes
// on, or an error names the directory. Nothing half written is left.
func TestTempDirRemoved(t *testing.T) {
	const rows = "3000000"
	if testing.Short() {
		t.Skip("makes 3e6 rows")
	}
	c := newKillCommand(t, rows)
	rng := rand.New(rand.NewPCG(*seedFlag, 6))
	succeeded := 0
	for range 3 {
		if err := os.MkdirAll(c.temp, 0o777); err != nil {
			t.Fatal(err)
		}
		var stderr bytes.Buffer
		cmd := c.command(&stderr)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(rng.Float64() * float64(time.Second)))
		if err := os.Remove(c.temp); err != nil {
			t.Errorf("the temp directory holds names: %v", err)
		}
		err := cmd.Wait()
		var exit *exec.ExitError
		switch {
		case err == nil:
			succeeded++
			c.check(t, rows)
			if err := os.Remove(c.target()); err != nil {
				t.Fatal(err)
			}
		case !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(stderr.String(), c.temp) || strings.Contains(stderr.String(), "goroutine"):
			t.Errorf("%v: %s", err, &stderr)
		}
		if names := fileNames(t, c.out); len(names) > 0 {
			t.Errorf("left beside the output: %v", names)
		}
	}
	t.Logf("%d of 3 runs went on", succeeded)
}
