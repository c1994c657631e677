package server_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/mpga/mpga/app/server"
	"github.com/mpga/mpga/internal/vfs"
)

// newUploads returns the uploads of a directory, which end with the test.
func newUploads(t *testing.T, dir string, most int64) *server.Uploads {
	t.Helper()
	allowed, err := server.Allow(vfs.OS, dir)
	if err != nil {
		t.Fatal(err)
	}
	u, err := allowed.Uploads(most)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(u.Close(), allowed.Close()); err != nil {
			t.Error(err)
		}
	})
	return u
}

// namesIn returns the names in the directory of uploads.
func namesIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	list, err := os.ReadDir(filepath.Join(dir, server.UploadsDir))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

// Would catch a name that leads out of the directory, hides the file, or replaces another's, and a file that mpga does
// not read.
func TestUploadNames(t *testing.T) {
	dir := t.TempDir()
	u := newUploads(t, dir, 1<<20)
	for _, c := range []struct{ name, want string }{
		{"a.csv", "uploads/a.csv"}, {"a.csv", "uploads/a-2.csv"}, {"a.csv.gz", "uploads/a.csv.gz"},
		{"../../etc/b.parquet", "uploads/b.parquet"}, {`C:\temp\c.JSON`, "uploads/c.JSON"}, {"_.-d.csv", "uploads/d.csv"},
		{"Umsätze 2001'; DROP.tsv", "uploads/Ums_tze_2001___DROP.tsv"}, {"a\x00b\n.arrow", "uploads/a_b_.arrow"},
		{"", ""}, {"..", ""}, {"a/", ""}, {"page.html", ""}, {"a.parquet.gz", ""}, {".csv", ""},
		{strings.Repeat("a", 200) + ".csv", ""},
	} {
		got, err := u.Take(c.name, strings.NewReader("n\n1\n"))
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%q: %q, %v; want %q", c.name, got, err, c.want)
		}
	}
	if names := namesIn(t, dir); len(names) != 8 {
		t.Errorf("files: %q", names)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 1 {
		t.Errorf("beside the directory: %v, %v", list, err)
	}
}

// Would catch files beyond the limit, room that a refused file keeps, and parts of a file that did not come whole.
func TestUploadLimit(t *testing.T) {
	dir := t.TempDir()
	u := newUploads(t, dir, 100)
	ten := func() io.Reader { return strings.NewReader(strings.Repeat("1\n", 5)) }
	if _, err := u.Take("large.csv", strings.NewReader(strings.Repeat("1\n", 51))); !errors.Is(err, server.ErrTooLarge) {
		t.Errorf("102 bytes of 100: %v", err)
	}
	broken := errors.New("the line is cut")
	if _, err := u.Take("cut.csv", io.MultiReader(ten(), iotest.ErrReader(broken))); !errors.Is(err, broken) {
		t.Errorf("a file that is cut: %v", err)
	}
	if names := namesIn(t, dir); len(names) != 0 {
		t.Errorf("of refused files are left: %q", names)
	}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { _, _ = u.Take("n.csv", ten()) })
	}
	all.Wait()
	if names := namesIn(t, dir); len(names) != 10 {
		t.Errorf("%d files of 10 bytes in 100: %q", len(names), names)
	}
	left := filepath.Join(dir, server.UploadsDir, ".upload-killed")
	if err := os.WriteFile(left, make([]byte, 1000), 0o666); err != nil {
		t.Fatal(err)
	}
	again := newUploads(t, dir, 110)
	if _, err := again.Take("more.csv", ten()); err != nil {
		t.Errorf("10 bytes beside 100, of 110: %v", err)
	}
	if names := namesIn(t, dir); slices.Contains(names, ".upload-killed") || len(names) != 11 {
		t.Errorf("after another start: %q", names)
	}
}

// Would catch a directory of uploads that a link leads elsewhere.
func TestUploadLink(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	if err := os.Symlink(other, filepath.Join(dir, server.UploadsDir)); err != nil {
		t.Fatal(err)
	}
	allowed, err := server.Allow(vfs.OS, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer allowed.Close()
	if u, err := allowed.Uploads(100); err == nil {
		t.Errorf("files go to where a link leads")
		_ = u.Close()
	}
}
