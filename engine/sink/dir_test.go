package sink

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/sink/sinktest"
	"github.com/mpga/mpga/internal/vfs"
	"github.com/mpga/mpga/internal/vfs/faultfs"
)

// listTree returns the files below a directory, and the empty directories with a slash behind them.
func listTree(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	sinktest.Check(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		switch below, _ := os.ReadDir(path); {
		case !e.IsDir():
			names = append(names, filepath.ToSlash(name))
		case len(below) == 0:
			names = append(names, filepath.ToSlash(name)+"/")
		}
		return err
	}))
	return names
}

// cityBatch has rows of a few cities and years, in turn.
func cityBatch(t *testing.T, rows int) arrow.RecordBatch {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "the city", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "year", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
	}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	for i := range rows {
		switch i % 3 {
		case 0:
			b.Field(0).(*array.StringBuilder).Append("Ulm/Ost")
		case 1:
			b.Field(0).(*array.StringBuilder).Append("Jena")
		case 2:
			b.Field(0).AppendNull()
		}
		b.Field(1).(*array.Int64Builder).Append(int64(i))
		b.Field(2).(*array.Int32Builder).Append(int32(2000 + i%2))
	}
	return b.NewRecordBatch()
}

func writeDir(path string, opt Options, batches ...arrow.RecordBatch) error {
	w, err := Create(context.Background(), path, batches[0].Schema(), opt)
	if err != nil {
		return err
	}
	for _, b := range batches {
		if err := w.Write(b); err != nil {
			return errors.Join(err, w.Abort())
		}
	}
	return w.Commit()
}

// Catches rows in a wrong folder or file, names that are not escaped, and partition columns left in
// files.
func TestPartitions(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	sinktest.Check(t, writeDir(dir, Options{Format: CSV, PartitionBy: []string{"the city", "year"}, MaxRowsPerFile: 2}, cityBatch(t, 9), cityBatch(t, 5)))
	want := map[string]string{
		"the%20city=Ulm%2FOst/year=2000/part-00000.csv":                  "n\n0\n6\n",
		"the%20city=Ulm%2FOst/year=2000/part-00001.csv":                  "n\n0\n",
		"the%20city=Ulm%2FOst/year=2001/part-00000.csv":                  "n\n3\n3\n",
		"the%20city=Jena/year=2000/part-00000.csv":                       "n\n4\n4\n",
		"the%20city=Jena/year=2001/part-00000.csv":                       "n\n1\n7\n",
		"the%20city=Jena/year=2001/part-00001.csv":                       "n\n1\n",
		"the%20city=__HIVE_DEFAULT_PARTITION__/year=2000/part-00000.csv": "n\n2\n8\n",
		"the%20city=__HIVE_DEFAULT_PARTITION__/year=2000/part-00001.csv": "n\n2\n",
		"the%20city=__HIVE_DEFAULT_PARTITION__/year=2001/part-00000.csv": "n\n5\n",
	}
	got := slices.DeleteFunc(listTree(t, dir), func(name string) bool { return name == ManifestName })
	for _, name := range got {
		text, err := os.ReadFile(filepath.Join(dir, name))
		sinktest.Check(t, err)
		if string(text) != want[name] {
			t.Errorf("%s: %q, want %q", name, text, want[name])
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d files, want %d: %s", len(got), len(want), got)
	}
	if left := listDir(t, filepath.Dir(dir)); left != "out" {
		t.Errorf("left %s", left)
	}
}

// Catches more open files than allowed, and folders of more than one file where rows of more
// folders alternate than may have open files.
func TestOpenFilesMax(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	fsys := &openCounter{FS: vfs.OS}
	sinktest.Check(t, writeDir(dir, Options{FS: fsys, Format: CSV, NoHeader: true, PartitionBy: []string{"the city"}, OpenFilesMax: 2}, cityBatch(t, 6), cityBatch(t, 6)))
	if fsys.most > 3 { // and the lock
		t.Errorf("%d files were open", fsys.most)
	}
	for name, want := range map[string]string{"Ulm%2FOst": "0\n3\n0\n3\n", "Jena": "1\n4\n1\n4\n", "__HIVE_DEFAULT_PARTITION__": "2\n5\n2\n5\n"} {
		text, err := os.ReadFile(filepath.Join(dir, "the%20city="+name, "part-00000.csv"))
		sinktest.Check(t, err)
		var numbers strings.Builder
		for line := range strings.Lines(string(text)) {
			number, _, _ := strings.Cut(line, ",")
			numbers.WriteString(number + "\n")
		}
		if numbers.String() != want {
			t.Errorf("%s: %q, want %q", name, numbers.String(), want)
		}
	}
	if files := listTree(t, dir); len(files) != 4 { // and the manifest
		t.Errorf("%d files: %s", len(files), files)
	}
}

// openCounter counts files that are open for writing.
type openCounter struct {
	vfs.FS
	mu         sync.Mutex
	open, most int
}

func (c *openCounter) Create(name string, perm fs.FileMode) (vfs.File, error) {
	f, err := c.FS.Create(name, perm)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open++
	c.most = max(c.most, c.open)
	return countedFile{f, c}, err
}

type countedFile struct {
	vfs.File
	counter *openCounter
}

func (f countedFile) Close() error {
	f.counter.mu.Lock()
	defer f.counter.mu.Unlock()
	f.counter.open--
	return f.File.Close()
}

// Catches a manifest that is not what lies there.
func TestManifest(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out.parquet")
	sinktest.Check(t, writeDir(dir, Options{Manifest: true, Query: "SELECT 1", PartitionBy: []string{"year"}, MaxRowsPerFile: 4}, cityBatch(t, 11)))
	text, err := os.ReadFile(filepath.Join(dir, ManifestName))
	sinktest.Check(t, err)
	var m Manifest
	sinktest.Check(t, json.Unmarshal(text, &m))
	if m.Version != 1 || m.Query != "SELECT 1" || m.Format != Parquet || m.Rows != 11 || len(m.Schema) != 3 || m.Schema[2] != (ManifestColumn{"year", "int32", true}) {
		t.Errorf("%+v", m)
	}
	var names []string
	bytes := int64(0)
	for _, f := range m.Files {
		content, err := os.ReadFile(filepath.Join(dir, f.Path))
		sinktest.Check(t, err)
		if sum := sha256.Sum256(content); int64(len(content)) != f.Bytes || hex.EncodeToString(sum[:]) != f.SHA256 {
			t.Errorf("%+v is not what lies there", f)
		}
		names = append(names, f.Path)
		bytes += f.Bytes
	}
	if want := append(names, ManifestName); !slices.Equal(listTree(t, dir), slices.Sorted(slices.Values(want))) || bytes != m.Bytes {
		t.Errorf("%s, the manifest has %s", listTree(t, dir), names)
	}
	sinktest.Check(t, writeDir(dir+"2.parquet", Options{Manifest: true}, cityBatch(t, 1).NewSlice(0, 0)))
	if got := listTree(t, dir+"2.parquet"); len(got) != 2 {
		t.Errorf("no rows, one file: %s", got)
	}
}

// Catches directories that are replaced without being asked, or that are not an output's; and
// options that contradict each other.
func TestRefusedDirs(t *testing.T) {
	dir := t.TempDir()
	sinktest.Check(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o666))
	sinktest.Check(t, os.MkdirAll(filepath.Join(dir, "home", "letters"), 0o777))
	sinktest.Check(t, os.Mkdir(filepath.Join(dir, "old"), 0o777))
	schema := cityBatch(t, 1).Schema()
	for _, c := range []struct {
		path string
		opt  Options
		want string
	}{
		{"old", Options{Manifest: true}, "(Overwrite)"},
		{"file", Options{Manifest: true, Overwrite: true}, "is a file"},
		{"home", Options{Manifest: true, Overwrite: true}, "letters in it is no part"},
		{"none/x", Options{Manifest: true}, "does not exist"},
		{"x", Options{PartitionBy: []string{"city"}}, `no column "city"`},
		{"x", Options{PartitionBy: []string{"n", "n"}}, "twice"},
		{"x", Options{PartitionBy: []string{"n", "year", "the city"}}, "no column is left"},
		{"x", Options{MaxRowsPerFile: -1}, "names no format"},
		{"x.csv", Options{MaxRowsPerFile: -1}, "MaxRowsPerFile (-1)"},
		{"x", Options{Manifest: true, Format: Table}, "not written as table"},
		{"x", Options{Manifest: true, Level: 3}, "codecs zstd, gzip and brotli"},
		{"x", Options{Manifest: true, Level: 23, Codec: "zstd"}, "[1, 22]"},
		{"x.arrow", Options{Level: 3, Codec: "zstd"}, "not for arrow"},
		{"x.csv.gz", Options{Level: 10}, "[1, 9]"},
	} {
		_, err := Create(t.Context(), filepath.Join(dir, c.path), schema, c.opt)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.path) {
			t.Errorf("%s %+v: %v, want %q", c.path, c.opt, err, c.want)
		}
	}
	if _, err := Create(t.Context(), "-", schema, Options{Manifest: true}); err == nil {
		t.Error("a directory on the standard output")
	}
	floats := arrow.NewSchema([]arrow.Field{{Name: "x", Type: arrow.PrimitiveTypes.Float64}, {Name: "y", Type: arrow.PrimitiveTypes.Float64}}, nil)
	if _, err := Create(t.Context(), filepath.Join(dir, "x"), floats, Options{PartitionBy: []string{"x"}}); err == nil || !strings.Contains(err.Error(), "DOUBLE") {
		t.Errorf("folders of floats: %v", err)
	}
	if got := listDir(t, dir); got != "file home old" {
		t.Errorf("left: %s", got)
	}
}

// Catches an error path that leaves a part of a directory or takes away the one before: each
// operation fails once, with and without a directory to replace, with and without a file system
// that exchanges names; without one, rows are gathered, and spilled.
func TestDirFaults(t *testing.T) {
	batch := cityBatch(t, 30)
	for _, before := range []bool{false, true} {
		for _, plain := range []bool{false, true} {
			for n := int64(1); ; n++ {
				parent := t.TempDir()
				dir := filepath.Join(parent, "out")
				opt := Options{PartitionBy: []string{"year"}, Manifest: true, Overwrite: true}
				var old []string
				if before {
					sinktest.Check(t, writeDir(dir, opt, batch.NewSlice(0, 1)))
					old = listTree(t, dir)
				}
				fsys := faultfs.New(vfs.OS)
				if plain {
					fsys = faultfs.New(noExchange{vfs.OS})
				}
				fsys.FailAt(n)
				opt.FS = fsys
				if plain {
					opt.OpenFilesMax, opt.Collect = 1, spillingCollect(fsys, t.TempDir())
				}
				err := writeDir(dir, opt, batch)
				name := fmt.Sprintf("before %v, plain %v, fault %d (%v)", before, plain, n, err)
				if open := fsys.OpenFiles(); open != 0 {
					t.Errorf("%s: %d open files", name, open)
				}
				var now []string
				if _, err := os.Stat(dir); err == nil {
					now = listTree(t, dir)
				}
				if !fsys.Fired() {
					sinktest.Check(t, err)
					if n < 20 || len(now) != 3 || listDir(t, parent) != "out" {
						t.Errorf("%s: %s in %s", name, now, listDir(t, parent))
					}
					break
				}
				switch {
				case err == nil && len(now) != 3:
					t.Errorf("%s: no error, and %s", name, now)
				case err != nil && !errors.Is(err, faultfs.ErrInjected):
					t.Errorf("%s: another error", name)
				case err != nil && !slices.Equal(now, old):
					t.Errorf("%s: left %s, before there was %s", name, now, old)
				case err != nil && strings.Trim(listDir(t, parent), "out") != "":
					t.Errorf("%s: left %s", name, listDir(t, parent))
				}
				sinktest.Check(t, writeDir(dir, Options{PartitionBy: []string{"year"}, Overwrite: true}, batch))
				if got := listDir(t, parent); got != "out" {
					t.Errorf("%s: after the next run there is %s", name, got)
				}
			}
		}
	}
}

// noExchange is a file system that cannot swap names.
type noExchange struct{ vfs.FS }

func (noExchange) Exchange(a, b string) error { return errors.ErrUnsupported }

// Would catch hidden directories that pile up where runs are killed, and one taken away from a
// writer that is still at work, or from nobody's output.
func TestAbandonedDirs(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{".x.0123456789abcdef.tmp", ".x.1123456789abcdef.tmp", ".x.01234567.tmp", ".y.0123456789abcdef.tmp"} {
		sinktest.Check(t, os.MkdirAll(filepath.Join(dir, name, "k=1"), 0o777))
		sinktest.Check(t, os.WriteFile(filepath.Join(dir, name, "k=1", "part-00000.csv"), nil, 0o666))
	}
	sinktest.Check(t, os.WriteFile(filepath.Join(dir, ".x.1123456789abcdef.lock"), nil, 0o666))
	batch := sinktest.RandomBatch(t, pairSchema, 10, rand.New(rand.NewPCG(1, 2)))
	first, err := Create(t.Context(), filepath.Join(dir, "x"), pairSchema, Options{Manifest: true})
	sinktest.Check(t, err)
	sinktest.Check(t, first.Write(batch))
	second, err := Create(t.Context(), filepath.Join(dir, "x"), pairSchema, Options{Manifest: true})
	sinktest.Check(t, err)
	sinktest.Check(t, first.Commit())
	if err := second.Commit(); !errors.Is(err, fs.ErrExist) {
		t.Errorf("the second writer: %v", err)
	}
	if left := listDir(t, dir); left != ".x.01234567.tmp .y.0123456789abcdef.tmp x" {
		t.Errorf("left %s", left)
	}
}
