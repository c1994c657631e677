//go:build unix

package sink

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/mpga/mpga/engine/sink/sinktest"
)

// Would catch a device that is replaced by a file, a pipe that is waited for, and an open file that
// loses its link.
func TestDevices(t *testing.T) {
	dir := t.TempDir()
	batch := cityBatch(t, 2)
	for _, format := range []Format{"", CSV, Parquet, Arrow} {
		sinktest.Check(t, writeDir("/dev/null", Options{Format: format}, batch))
	}
	info, err := os.Stat("/dev/null")
	sinktest.Check(t, err)
	if info.Mode()&fs.ModeCharDevice == 0 {
		t.Fatalf("/dev/null has become %v", info.Mode())
	}
	for _, name := range []string{"-", "/dev/stdout", "/dev/fd/1"} {
		var out bytes.Buffer
		sinktest.Check(t, writeDir(name, Options{Format: CSV, Stdout: &out}, batch))
		if strings.Count(out.String(), "\n") != 3 {
			t.Errorf("%s: %q", name, out.String())
		}
	}
	for _, format := range []Format{CSV, Parquet} {
		if err := writeDir("/dev/full", Options{Format: format}, batch); err == nil || strings.Count(err.Error(), "no space left") != 1 {
			t.Errorf("/dev/full: %v", err)
		}
	}
	pipe := filepath.Join(dir, "pipe.csv")
	sinktest.Check(t, syscall.Mkfifo(pipe, 0o666))
	if err := writeDir(pipe, Options{}, batch); err == nil || !strings.Contains(err.Error(), "nobody reads") {
		t.Errorf("a pipe without a reader: %v", err)
	}
	reader, err := os.OpenFile(pipe, os.O_RDWR, 0)
	sinktest.Check(t, err)
	defer reader.Close()
	sinktest.Check(t, writeDir(pipe, Options{}, batch))
	text := make([]byte, 100)
	if n, err := reader.Read(text); err != nil || strings.Count(string(text[:n]), "\n") != 3 {
		t.Errorf("through a pipe: %q, %v", text[:n], err)
	}
	open, err := os.Create(filepath.Join(dir, "open.csv"))
	sinktest.Check(t, err)
	defer open.Close()
	descriptor := filepath.Join("/dev/fd", fmt.Sprint(open.Fd()))
	if err := writeDir(descriptor, Options{Format: CSV}, batch); err == nil || !strings.Contains(err.Error(), "give its own name") {
		t.Errorf("%s: %v", descriptor, err)
	}
	if got := listDir(t, dir); got != "open.csv pipe.csv" {
		t.Errorf("left: %s", got)
	}
}
