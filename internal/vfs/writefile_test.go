package vfs_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/mpga/mpga/internal/vfs"
	"github.com/mpga/mpga/internal/vfs/faultfs"
)

// Would catch a file that is half written, or left under its hidden name, whatever fails.
func TestWriteFile(t *testing.T) {
	for n := int64(0); ; n++ {
		dir := t.TempDir()
		path := filepath.Join(dir, "a.json")
		if err := vfs.WriteFile(vfs.OS, path, []byte("old")); err != nil {
			t.Fatal(err)
		}
		fsys := faultfs.New(vfs.OS)
		fsys.FailAt(n)
		err := vfs.WriteFile(fsys, path, []byte("new"))
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

// Would catch hidden files that pile up where runs are killed, and one taken away from a writer
// that is still at work, or that is nobody's: whatever output is next in a directory removes all
// that are abandoned there.
func TestRemoveAbandoned(t *testing.T) {
	dir := t.TempDir()
	const number = "0123456789abcdef"
	gone := []string{".a.csv." + number + ".tmp", ".b." + number + ".lock", ".c\nd." + number + ".tmp", ".b.1." + number + ".tmp"}
	stays := []string{
		".a.csv.0123.tmp", ".a.csv.0123456789ABCDEF.tmp", ".a.csv.0123456789abcdeg.tmp", "a.csv." + number + ".tmp", "." + number + ".tmp", ".." + number + ".tmp",
		".a.csv." + number + ".tmp.old", ".a.csv." + number + ".TMP", ".a.csv" + number + ".tmp", ".a.csv." + number + "0.tmp",
	}
	for _, name := range append(gone, stays...) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("half"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{".b." + number + ".tmp", ".lockless." + number + ".tmp"} {
		if err := os.MkdirAll(filepath.Join(dir, name, "k=1"), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	living, err := vfs.OS.Create(vfs.HiddenName(filepath.Join(dir, "living.csv")), 0o666)
	if err != nil {
		t.Fatal(err)
	}
	defer living.Close()
	link := ".link." + number + ".tmp"
	if err := os.Symlink("living.csv", filepath.Join(dir, link)); err != nil {
		t.Fatal(err)
	}
	if err := vfs.WriteFile(vfs.OS, filepath.Join(dir, "next.json"), []byte("x")); err != nil {
		t.Fatal(err)
	}
	stays = append(stays, "next.json", link, ".lockless."+number+".tmp")
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != len(stays)+1 { // and the file of the living writer
		t.Errorf("left %v", entries)
	}
	for _, name := range stays {
		if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
}

// Would catch a name of a side file that is valid, and whose hidden name is longer than file
// systems allow.
func TestWriteFileLongName(t *testing.T) {
	path := filepath.Join(t.TempDir(), strings.Repeat("x", 255))
	if err := vfs.WriteFile(vfs.OS, path, []byte("x")); err != nil {
		t.Error(err)
	}
}

// Would catch two processes that both take over the file of one that was killed: the slower one must not remove the file
// that the faster has made meanwhile.
func TestAbandonedOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	for range 300 {
		if err := os.WriteFile(path, nil, 0o666); err != nil {
			t.Fatal(err)
		}
		var held [3]vfs.File
		var work sync.WaitGroup
		for i := range held {
			work.Go(func() {
				if err := vfs.OS.RemoveAbandoned(path); err == nil || errors.Is(err, fs.ErrNotExist) {
					held[i], _ = vfs.OS.Create(path, 0o666) // an error: another has it
				}
			})
		}
		work.Wait()
		holders := 0
		for _, file := range held {
			if file != nil {
				holders++
				if err := file.Close(); err != nil {
					t.Error(err)
				}
			}
		}
		if holders != 1 {
			t.Fatalf("%d hold the file", holders)
		}
	}
}
