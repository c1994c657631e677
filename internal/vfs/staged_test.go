package vfs

import (
	"os"
	"path/filepath"
	"testing"
)

// Would catch a directory of a killed process that stays, and one of a living process, or of
// another output, that is removed.
func TestStageDirAbandoned(t *testing.T) {
	parent := t.TempDir()
	path := filepath.Join(parent, "out")
	living, err := StageDir(OS, path)
	if err != nil {
		t.Fatal(err)
	}
	other, err := StageDir(OS, filepath.Join(parent, "out.b"))
	if err != nil {
		t.Fatal(err)
	}
	killed, err := StageDir(OS, path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(killed.Path, "part"), []byte("x"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := killed.locked.Close(); err != nil { // as the system does
		t.Fatal(err)
	}
	unlocked := filepath.Join(parent, ".out.0123456789abcdef.tmp") // of a cleaner that was killed
	if err := os.MkdirAll(filepath.Join(unlocked, "folder"), 0o777); err != nil {
		t.Fatal(err)
	}
	next, err := StageDir(OS, path)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{
		living.Path: true, living.lock: true, other.Path: true, next.Path: true, killed.Path: false, killed.lock: false, unlocked: false,
	} {
		if _, err := os.Stat(name); (err == nil) != want {
			t.Errorf("%s: %v, want it there: %v", name, err, want)
		}
	}
	for _, d := range []*StagedDir{living, other, next} {
		for range 2 {
			if err := RemoveTree(OS, d.Path); err != nil {
				t.Error(err)
			}
			if err := d.Unlock(); err != nil {
				t.Error(err)
			}
		}
	}
	if left, _ := os.ReadDir(parent); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}
