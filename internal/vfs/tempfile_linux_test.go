package vfs

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// Would catch a temporary file that has a name, if only for a moment: a process that is killed then
// leaves it, and its directory cannot be removed.
func TestTempHasNoName(t *testing.T) {
	dir := t.TempDir()
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_RDWR, 0o600)
	if err != nil {
		t.Skip("the file system has no files without names: ", err)
	}
	if err := unix.Close(fd); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 1000 {
			f, err := OS.CreateTemp(dir)
			if err != nil {
				t.Error(err)
				return
			}
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		}
	}()
	for {
		if names, err := os.ReadDir(dir); err != nil || len(names) > 0 {
			t.Errorf("%v, %v", names, err)
		}
		select {
		case <-done:
			return
		default:
		}
	}
}
