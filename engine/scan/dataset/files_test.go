//go:build unix

package dataset

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A pipe is refused at once: it would be opened twice, and the second time waits for a writer that is gone.
func TestPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip("no pipes here:", err)
	}
	if _, err := Open(t.Context(), []string{path}, Options{}); err == nil || !strings.Contains(err.Error(), "standard input") {
		t.Errorf("got %v", err)
	}
}
