package dataset

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mpga/mpga/engine/scan/internal/scantest"
)

// keepAll makes the process keep the footers of files that were written just now, and no others.
func keepAll(t *testing.T, limit int64) {
	before := footers
	footers = &footerCache{limit: limit}
	t.Cleanup(func() { footers = before })
}

// firstNumber returns the smallest number of a file of numbers, by its statistics.
func firstNumber(t *testing.T, path string) int64 {
	t.Helper()
	src, err := Open(t.Context(), []string{path}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return src.Stats().Columns[0].Min
}

// Would catch the footer of a file that is not there any more: of one that was written anew, also
// with as many bytes and the time of before, and of one that another was moved over.
func TestFootersKept(t *testing.T) {
	keepAll(t, footersBytesMax)
	dir := t.TempDir()
	path := scantest.WriteFile(t, dir, "n.parquet", numbersFile(t, "parquet", 100, 400))
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if n := firstNumber(t, path); n != 100 {
			t.Fatalf("first %d", n)
		}
	}
	if len(footers.byPath) != 1 {
		t.Fatalf("%d footers are kept", len(footers.byPath))
	}
	time.Sleep(20 * time.Millisecond) // longer than a clock of a file system stands still
	if err := os.WriteFile(path, numbersFile(t, "parquet", 200, 400), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, time.Time{}, info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if n := firstNumber(t, path); n != 200 {
		t.Errorf("first %d of a file that was written anew", n)
	}
	other := scantest.WriteFile(t, dir, "other.parquet", numbersFile(t, "parquet", 300, 400))
	if err := os.Rename(other, path); err != nil {
		t.Fatal(err)
	}
	if n := firstNumber(t, path); n != 300 {
		t.Errorf("first %d of a file that was moved there", n)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), []string{path}, Options{}); err == nil {
		t.Error("a file that was removed is open")
	}
}

// Would catch a footer that is kept although the file may have changed since it was read: the times
// of two changes that follow each other at once are equal.
func TestFootersUnsettled(t *testing.T) {
	keepAll(t, footersBytesMax)
	footers.settled = time.Hour
	path := scantest.WriteFile(t, t.TempDir(), "n.parquet", numbersFile(t, "parquet", 100, 400))
	firstNumber(t, path)
	if len(footers.byPath) != 0 {
		t.Error("the footer of a file is kept that has just been written")
	}
}

// Would catch footers that take more than they may, the loss of one that is in use, and a
// format that follows the first question in place of the options.
func TestFootersLimit(t *testing.T) {
	dir := t.TempDir()
	var paths []string
	for _, name := range []string{"a.parquet", "b.parquet", "c.parquet"} {
		paths = append(paths, scantest.WriteFile(t, dir, name, numbersFile(t, "parquet", 1, 400)))
	}
	keepAll(t, footersBytesMax)
	firstNumber(t, paths[0])
	keepAll(t, 2*footers.bytes)
	for _, i := range []int{0, 1, 0, 2} {
		firstNumber(t, paths[i])
	}
	for i, want := range []bool{true, false, true} {
		if kept := footers.byPath[paths[i]] != nil; kept != want {
			t.Errorf("%s: kept %t, want %t", filepath.Base(paths[i]), kept, want)
		}
	}
	if footers.bytes > footers.limit || footers.recent.Len() != 2 {
		t.Errorf("%d footers of %d B, in %d B", footers.recent.Len(), footers.bytes, footers.limit)
	}
	if _, err := Open(t.Context(), paths[:1], Options{Format: FormatArrow}); err == nil {
		t.Error("a Parquet file is read as Arrow")
	}
}
