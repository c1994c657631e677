package faultfs

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/mpga/mpga/internal/vfs"
)

// copyFile is a subject with a known sequence of operations.
func copyFile(fsys vfs.FS, from, to string) error {
	in, err := fsys.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	buf := make([]byte, 4)
	if _, err := in.ReadAt(buf, 0); err != nil {
		return err
	}
	out, err := fsys.Create(to, 0o666)
	if err != nil {
		return err
	}
	if _, err := out.Write(buf); err != nil {
		return errors.Join(err, out.Close(), fsys.Remove(to))
	}
	return out.Close()
}

// A wrapper that fails the wrong operation, or loses a file handle, would make every fault test
// that stands on it pass for nothing.
func TestFailAtEveryOperation(t *testing.T) {
	dir := t.TempDir()
	from := filepath.Join(dir, "from")
	if err := os.WriteFile(from, []byte("data"), 0o644); err != nil {
		t.Fatal(err)
	}
	fsys := New(vfs.OS)
	if err := copyFile(fsys, from, filepath.Join(dir, "clean")); err != nil {
		t.Fatal(err)
	}
	total := fsys.Ops()
	if total != 6 { // open, readat, create, write, close, close
		t.Fatalf("operations: got %d, want 6", total)
	}
	for n := int64(1); n <= total; n++ {
		fsys.FailAt(n)
		err := copyFile(fsys, from, filepath.Join(dir, "copy", string(rune('a'+n))))
		if n == 1 || n == 2 {
			if !errors.Is(err, ErrInjected) {
				t.Errorf("operation %d: got %v, want the injected fault", n, err)
			}
		}
		if !fsys.Fired() && n <= 3 {
			t.Errorf("operation %d: the fault did not happen", n)
		}
		if open := fsys.OpenFiles(); open != 0 {
			t.Errorf("operation %d: %d files left open", n, open)
		}
	}
}

func TestPartialWrite(t *testing.T) {
	dir := t.TempDir()
	fsys := New(vfs.OS)
	file, err := fsys.Create(filepath.Join(dir, "f"), 0o666)
	if err != nil {
		t.Fatal(err)
	}
	fsys.FailAt(1)
	if n, err := file.Write([]byte("abcdef")); n != 3 || !errors.Is(err, ErrInjected) {
		t.Errorf("write: got %d, %v; want 3 and the injected fault", n, err)
	}
	if err := file.Close(); err != nil {
		t.Error(err)
	}
}
