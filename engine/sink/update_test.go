package sink

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/mpga/mpga/engine/sink/sinktest"
	"github.com/mpga/mpga/internal/vfs"
	"github.com/mpga/mpga/internal/vfs/faultfs"
)

// Catches a file that is written again though nothing in it is new, one that stays though something is, and changes that
// the manifest does not tell.
func TestUpdate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out.parquet")
	write := func(run string, from, to int64) (m Manifest) {
		t.Helper()
		opt := Options{Update: true, Run: run, Overwrite: true, PartitionBy: []string{"year"}}
		sinktest.Check(t, writeDir(dir, opt, cityBatch(t, 40).NewSlice(from, to)))
		text, err := os.ReadFile(filepath.Join(dir, ManifestName))
		sinktest.Check(t, err)
		sinktest.Check(t, json.Unmarshal(text, &m))
		rows := int64(0)
		for _, f := range m.Files {
			info, err := os.Stat(filepath.Join(dir, f.Path))
			sinktest.Check(t, err)
			if rows += f.Rows; info.Size() != f.Bytes {
				t.Errorf("%+v has %d B", f, info.Size())
			}
		}
		if rows != to-from || len(listTree(t, dir)) != len(m.Files)+1 {
			t.Errorf("run %s: %d rows, and %s", run, rows, listTree(t, dir))
		}
		return m
	}
	stat := func(of ManifestFile) os.FileInfo {
		info, err := os.Stat(filepath.Join(dir, of.Path))
		sinktest.Check(t, err)
		return info
	}
	first := write("1", 0, 40)
	folders := first.Changes[0].Added
	if len(folders) < 2 || len(first.Changes) != 1 || len(first.Changes[0].Replaced)+len(first.Changes[0].Removed) != 0 {
		t.Fatalf("%+v", first.Changes)
	}
	before := stat(first.Files[0])
	same := write("2", 0, 40)
	if c := same.Changes[0]; c.Run != "2" || len(c.Added)+len(c.Replaced)+len(c.Removed) != 0 || len(same.Changes) != 2 {
		t.Errorf("%+v", same.Changes)
	}
	if !os.SameFile(before, stat(first.Files[0])) {
		t.Error("a file that is what it was is another one")
	}
	other := write("3", 0, 39) // the last row is of one folder
	c := other.Changes[0]
	if len(c.Added)+len(c.Removed) != 0 || len(c.Replaced) != 1 || !slices.Contains(folders, c.Replaced[0]) {
		t.Errorf("%+v", c)
	}
	for i, f := range other.Files {
		if isNew := filepath.Dir(f.Path) == c.Replaced[0]; isNew == (f.SHA256 == first.Files[i].SHA256) {
			t.Errorf("%s: replaced %v", f.Path, isNew)
		}
	}
	fewer := write("4", 0, 1)
	if c := fewer.Changes[0]; len(c.Removed) != len(folders)-1 || len(c.Added) != 0 {
		t.Errorf("%+v", c)
	}

	// A file that somebody has changed since is written again.
	path := filepath.Join(dir, fewer.Files[0].Path)
	text, err := os.ReadFile(path)
	sinktest.Check(t, err)
	text[len(text)/2] ^= 1
	sinktest.Check(t, os.WriteFile(path, text, 0o666))
	if c := write("5", 0, 1).Changes[0]; !slices.Equal(c.Replaced, []string{filepath.Dir(fewer.Files[0].Path)}) {
		t.Errorf("%+v", c)
	}
}

// Catches a directory that is neither the one of before nor the new one, wherever a call fails or the process ends.
func TestUpdateFaults(t *testing.T) {
	failed := 0
	for n := int64(1); n < 160; n++ {
		dir := filepath.Join(t.TempDir(), "out.csv")
		fsys := faultfs.New(vfs.OS)
		opt := Options{Update: true, Run: "1", Overwrite: true, PartitionBy: []string{"year"}, Format: CSV, FS: fsys}
		sinktest.Check(t, writeDir(dir, opt, cityBatch(t, 40)))
		if n%2 == 0 {
			fsys.FailAt(n / 2)
		} else {
			fsys.KillAt(n/2 + 1)
		}
		opt.Run = "2"
		err := writeDir(dir, opt, cityBatch(t, 39))
		fsys.FailAt(0)
		text, readErr := os.ReadFile(filepath.Join(dir, ManifestName))
		sinktest.Check(t, readErr)
		var m Manifest
		sinktest.Check(t, json.Unmarshal(text, &m))
		want := map[string]int64{"1": 40, "2": 39}[m.Changes[0].Run]
		if m.Rows != want || err == nil && m.Changes[0].Run != "2" {
			t.Errorf("call %d: %v: run %s has %d rows", n, err, m.Changes[0].Run, m.Rows)
		}
		for _, f := range m.Files {
			content, err := os.ReadFile(filepath.Join(dir, f.Path))
			sinktest.Check(t, err)
			if sum := sha256.Sum256(content); hex.EncodeToString(sum[:]) != f.SHA256 {
				t.Errorf("call %d: %s is not what the manifest says", n, f.Path)
			}
		}
		if err != nil {
			failed++
		}
	}
	if failed < 40 {
		t.Errorf("%d runs failed", failed)
	}
}
