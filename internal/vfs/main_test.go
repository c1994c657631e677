package vfs

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/mpga/mpga/internal/invariants"
)

// Would catch a file that nobody closes.
func TestMain(m *testing.M) { os.Exit(invariants.Run(m)) }

// Would catch files that invariants do not watch: a second Close must be found, under the tag
// alone.
func TestClosedTwice(t *testing.T) {
	file, err := OS.Create(filepath.Join(t.TempDir(), "f"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if found := recover() != nil; found != invariants.Enabled {
			t.Errorf("a second Close was found: %t", found)
		}
	}()
	_ = file.Close()
}
