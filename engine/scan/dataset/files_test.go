//go:build unix

package dataset

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A pipe is refused at once: it would be opened twice, and the second time waits for a writer that
// is gone.
func TestPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip("no pipes here:", err)
	}
	if _, err := Open(t.Context(), []string{path}, Options{}); err == nil || !strings.Contains(err.Error(), "standard input") {
		t.Errorf("got %v", err)
	}
}

// Would catch a file whose name is that of standard input, which a pattern has found, and that is
// then not read.
func TestFileNamedAsStdin(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "-"), []byte("a\n1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	src, err := Open(t.Context(), []string{"?"}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if n := src.Schema().NumFields(); n != 1 {
		t.Errorf("%d columns", n)
	}
}
