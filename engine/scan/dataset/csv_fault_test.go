package dataset

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/csv"
	"github.com/mpga/mpga/engine/scan/internal/scantest"
	"github.com/mpga/mpga/engine/scan/internal/textfile"
	"github.com/mpga/mpga/internal/vfs"
	"github.com/mpga/mpga/internal/vfs/faultfs"
)

// Whichever operation of the file system fails, there is the right file of rejects or none, and no
// file is open or left. Would catch rows that are counted and not written.
func TestCSVRejectsFaults(t *testing.T) {
	dir := t.TempDir()
	path := scantest.WriteFile(t, dir, "f.csv", []byte("a,b\n1,2\n3\n4,x\n5,6,7\n"+strings.Repeat("8\n", 2000)))
	out := filepath.Join(dir, "out", "rejects.csv")
	if err := os.Mkdir(filepath.Dir(out), 0o777); err != nil {
		t.Fatal(err)
	}
	fsys := faultfs.New(vfs.OS)
	once := func() error {
		rejects := csv.NewRejects(fsys, dir)
		opt := Options{FS: fsys, CSV: csv.Options{IgnoreErrors: true, Rejects: rejects, SampleRows: 1}, sizes: textfile.Sizes{Chunk: 900}}
		src, err := Open(context.Background(), []string{path}, opt)
		if err == nil {
			_, err = scantest.ReadAll(src, []int{0, 1}, scan.OpenOptions{})
		}
		if err == nil {
			err = rejects.WriteFile(fsys, out)
		}
		return errors.Join(err, rejects.Close())
	}
	if err := once(); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(out)
	if err != nil || bytes.Count(want, []byte{'\n'}) != 1+2003 {
		t.Fatalf("%v, %d lines", err, bytes.Count(want, []byte{'\n'}))
	}
	for n, total := int64(1), fsys.Ops(); n <= total; n++ {
		if err := os.Remove(out); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		fsys.FailAt(n)
		err := once()
		if err != nil && !errors.Is(err, faultfs.ErrInjected) {
			t.Errorf("operation %d: %v", n, err)
		}
		got, readErr := os.ReadFile(out)
		if err == nil && !bytes.Equal(got, want) || readErr == nil && !bytes.Equal(got, want) {
			t.Errorf("operation %d: error %v, %d B of rejects, want %d", n, err, len(got), len(want))
		}
		if open := fsys.OpenFiles(); open != 0 {
			t.Fatalf("operation %d: %d files are open", n, open)
		}
		left, _ := os.ReadDir(filepath.Dir(out))
		if len(left) > 1 || len(left) == 1 && left[0].Name() != filepath.Base(out) {
			if n < total-1 { // removing what was written may fail, too
				t.Errorf("operation %d: left %v", n, left)
			}
		}
	}
}

// Would catch a temporary file of standard input that stays open after an error.
func TestSpoolFaults(t *testing.T) {
	fsys := faultfs.New(vfs.OS)
	text := bytes.Repeat([]byte("PAR1"), spoolBlock)
	for n := int64(1); n <= 6; n++ {
		fsys.FailAt(n)
		spool := NewSpool(fsys, t.TempDir())
		_, err := Open(context.Background(), []string{"-"}, Options{FS: fsys, Stdin: bytes.NewReader(text), Spool: spool, Budget: noBlocks{}})
		if err == nil {
			t.Errorf("operation %d: no error", n)
		}
		if err := spool.Close(); err != nil && !errors.Is(err, faultfs.ErrInjected) {
			t.Error(err)
		}
		if open := fsys.OpenFiles(); open != 0 {
			t.Errorf("operation %d: %d files are open", n, open)
		}
	}
}
