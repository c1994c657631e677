package tests

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// onFullDisk runs a script of the shell in which $DISK is a directory on a disk of its own with
// room for 64 KiB, and $MPGA the command. It returns what the script has written.
func onFullDisk(t *testing.T, script string) string {
	t.Helper()
	cmd := exec.Command("sh", "-c", `mount -t tmpfs -o size=64k tmpfs "$DISK" || exit 77; `+script)
	cmd.Env = append(os.Environ(), "DISK="+t.TempDir(), "MPGA="+buildCommand(t))
	cmd.Dir = t.TempDir()
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS, Unshareflags: syscall.CLONE_NEWNS}
	if os.Getuid() != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWNS | syscall.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
		}
	}
	text, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSYS) || errors.As(err, &exit) && exit.ExitCode() == 77:
		t.Skipf("no disk of one's own may be mounted here: %v, %s", err, text)
	case err != nil:
		t.Fatalf("%v\n%s", err, text)
	}
	return string(text)
}

// flightKeys is a query of about 300,000 groups.
const flightKeys = `agg --by origin,date,destination --agg 'sum(delay)'`

func flights(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("testdata/flights-2001.parquet")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// A disk that is full is an error that says so, for every kind of output, and nothing half written
// is left on it.
func TestDiskFull(t *testing.T) {
	outputs := []string{
		"-o $DISK/x.parquet", "-o $DISK/x.arrow", "-o $DISK/x.arrows", "-o $DISK/x.csv", "-o $DISK/x.csv.gz", "-o $DISK/x.csv.zst", "-o $DISK/x.tsv", "-o $DISK/x.json",
		"--partition-by origin -o $DISK/x", "--partition-by origin --format csv -o $DISK/x", "--max-rows-per-file 1000 --manifest -o $DISK/x", "--partial -o $DISK/x",
		"--temp-dir $DISK --memory-limit 128MiB --partition-by date -o x", // rows are gathered, and spilled
	}
	var script strings.Builder
	for _, output := range outputs {
		fmt.Fprintf(&script, "echo '%s:'; $MPGA %s %s %s; echo exit $?; ls -A $DISK; ls -A .\n", output, flightKeys, output, flights(t))
	}
	text := onFullDisk(t, script.String())
	for i, part := range strings.Split(text, ":\n")[1:] {
		lines := strings.Split(strings.TrimSpace(part), "\n")
		if i < len(outputs)-1 {
			lines = lines[:len(lines)-1] // what is tried next
		}
		if len(lines) != 2 || lines[1] != "exit 1" || !strings.Contains(lines[0], "no space left") && !strings.Contains(lines[0], "the temp directory is full") {
			t.Errorf("%s: %q", outputs[i], lines)
		}
	}
	if n := strings.Count(text, "exit 1\n"); n != len(outputs) {
		t.Errorf("%d of %d runs have failed\n%s", n, len(outputs), text)
	}
}

// A disk that is full for a side output is an error, and the output stays: the work is not lost for
// a report of it.
func TestDiskFullBesideOutput(t *testing.T) {
	sides := []string{"--stats=$DISK/s", "--trace=$DISK/s", "--report=$DISK/s", "--metrics-file=$DISK/s", "--otlp-file=$DISK/s"}
	var script strings.Builder
	script.WriteString("dd if=/dev/zero of=$DISK/full bs=4k 2>dd.log\nrm dd.log\n")
	for _, side := range sides {
		fmt.Fprintf(&script, "echo '%s:'; $MPGA %s %s -o x.csv %s; echo exit $?; ls -A $DISK; wc -l < x.csv; rm x.csv\n", side, flightKeys, side, flights(t))
	}
	text := onFullDisk(t, script.String())
	for i, part := range strings.Split(text, "$DISK/s:\n")[1:] {
		lines := strings.Split(part, "\n")
		flag, _, _ := strings.Cut(sides[i], "=")
		if len(lines) < 4 || !strings.Contains(lines[0], flag+": ") || !strings.Contains(lines[0], "no space left") || lines[1] != "exit 1" || lines[2] != "full" || lines[3] != "299902" {
			t.Errorf("%s: %q", sides[i], lines)
		}
	}
}
