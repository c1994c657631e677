package dataset

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mpga/mpga/internal/vfs"
)

// linkFS has files by other names.
type linkFS struct {
	vfs.FS
	files map[string]string
}

func (f linkFS) Open(name string) (vfs.File, error) { return f.FS.Open(f.files[name]) }

func (f linkFS) Stat(name string) (fs.FileInfo, error) { return f.FS.Stat(f.files[name]) }

// Would catch files that are taken for each other, since their names look the same without secrets,
// and names that are shown with them.
func TestShownNames(t *testing.T) {
	dir := t.TempDir()
	fsys := linkFS{FS: vfs.OS, files: make(map[string]string)}
	var names []string
	for i, id := range []string{"SECRET-1", "SECRET-22", "SECRET-333"} {
		path := filepath.Join(dir, id)
		if err := os.WriteFile(path, []byte("n\n"+strings.Repeat("1\n", i+1)), 0o666); err != nil {
			t.Fatal(err)
		}
		names = append(names, "https://u:SECRET@h/get.csv?id="+id)
		fsys.files[names[i]] = path
	}
	want := []string{"https://***@h/get.csv?id=***", "https://***@h/get.csv?id=***#2", "https://***@h/get.csv?id=***#3"}
	summary, err := Summarize(t.Context(), names, Options{FS: fsys})
	if err != nil {
		t.Fatal(err)
	}
	infos := summary.Files
	ids, err := Identities(t.Context(), names, Options{FS: fsys})
	if err != nil {
		t.Fatal(err)
	}
	var shown, identified []string
	for i := range infos {
		shown, identified = append(shown, infos[i].Path), append(identified, ids[i].Path)
		if size := int64(2 + 2*(i+1)); infos[i].Bytes != size || ids[i].Bytes != size {
			t.Errorf("file %d: %d B and %d B, want %d", i, infos[i].Bytes, ids[i].Bytes, size)
		}
	}
	if !slices.Equal(shown, want) || !slices.Equal(identified, want) {
		t.Errorf("%q and %q, want %q", shown, identified, want)
	}
}
