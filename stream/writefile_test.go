package stream_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/mpga/mpga/stream"
	"github.com/mpga/mpga/stream/faultfs"
)

// Would catch a file that is half written, or left under its hidden name, whatever fails.
func TestWriteFile(t *testing.T) {
	for n := int64(0); ; n++ {
		dir := t.TempDir()
		path := filepath.Join(dir, "a.json")
		if err := stream.WriteFile(stream.OS, path, []byte("old")); err != nil {
			t.Fatal(err)
		}
		fsys := faultfs.New(stream.OS)
		fsys.FailAt(n)
		err := stream.WriteFile(fsys, path, []byte("new"))
		content, readErr := os.ReadFile(path)
		if readErr != nil {
			t.Fatal(readErr)
		}
		if got := string(content); err == nil && got != "new" || got != "old" && got != "new" {
			t.Errorf("operation %d: %q, %v", n, got, err)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
			t.Errorf("operation %d: left %v, %v", n, left, err)
		}
		if open := fsys.OpenFiles(); open != 0 {
			t.Errorf("operation %d: %d open files", n, open)
		}
		if n > 0 && !fsys.Fired() {
			return
		}
	}
}
