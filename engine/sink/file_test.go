package sink

import (
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/sink/sinktest"
	"github.com/mpga/mpga/internal/vfs"
	"github.com/mpga/mpga/internal/vfs/faultfs"
)

var pairSchema = arrow.NewSchema([]arrow.Field{
	{Name: "k", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
}, nil)

func listDir(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	sinktest.Check(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

// Catches an error path that leaves a file or a handle: each operation fails once, in each format.
// Only a fault in the removal itself may leave something, and says so.
func TestFaults(t *testing.T) {
	batch := sinktest.RandomBatch(t, pairSchema, 40_000, rand.New(rand.NewPCG(1, 2)))
	for _, name := range []string{"x.parquet", "x.arrow", "x.arrows", "x.csv", "x.csv.zst", "x.json.gz"} {
		fsys := faultfs.New(vfs.OS)
		looked := false
		for n := int64(1); ; n++ {
			dir := t.TempDir()
			fsys.FailAt(n)
			err := writeWith(fsys, filepath.Join(dir, name), batch)
			if !fsys.Fired() {
				sinktest.Check(t, err)
				if n < 8 {
					t.Errorf("%s: only %d operations", name, n)
				}
				break
			}
			if err == nil && !looked && listDir(t, dir) == name {
				looked = true // for what others have left, which is in nobody's way
				continue
			}
			if !errors.Is(err, faultfs.ErrInjected) {
				t.Errorf("%s, fault %d: %v", name, n, err)
			}
			if left := listDir(t, dir); left != "" {
				t.Errorf("%s, fault %d (%v): left %s", name, n, err, left)
			}
			if open := fsys.OpenFiles(); open != 0 {
				t.Errorf("%s, fault %d (%v): %d open files", name, n, err, open)
			}
		}
	}
}

func writeWith(fsys vfs.FS, path string, batch arrow.RecordBatch) error {
	w, err := Create(context.Background(), path, batch.Schema(), Options{FS: fsys, RowGroupRows: 10_000})
	if err != nil {
		return err
	}
	for range 2 {
		if err := w.Write(batch); err != nil {
			return errors.Join(err, w.Abort())
		}
	}
	return w.Commit()
}

// Catches an abort that leaves a file, and calls after the end that do something.
func TestAbort(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.csv")
	sinktest.Check(t, os.WriteFile(path, []byte("before"), 0o666))
	w, err := Create(t.Context(), path, pairSchema, Options{})
	sinktest.Check(t, err)
	batch := sinktest.RandomBatch(t, pairSchema, 10, rand.New(rand.NewPCG(1, 2)))
	sinktest.Check(t, w.Write(batch))
	if got := listDir(t, dir); !strings.HasPrefix(got, ".x.csv.") || !strings.HasSuffix(got, ".tmp x.csv") {
		t.Errorf("while writing: %s", got)
	}
	sinktest.Check(t, w.Abort())
	sinktest.Check(t, w.Abort())
	if err := w.Write(batch); err == nil {
		t.Error("written to after Abort")
	}
	sinktest.Check(t, w.Commit())
	if got, _ := os.ReadFile(path); string(got) != "before" || listDir(t, dir) != "x.csv" {
		t.Errorf("after Abort: %q in %s", got, listDir(t, dir))
	}
}

// Catches outputs that would fail only at the end, and messages without the path.
func TestRefusedTargets(t *testing.T) {
	dir := t.TempDir()
	sinktest.Check(t, os.Mkdir(filepath.Join(dir, "sub.csv"), 0o777))
	sinktest.Check(t, os.WriteFile(filepath.Join(dir, "ro.csv"), nil, 0o444))
	sinktest.Check(t, os.WriteFile(filepath.Join(dir, "old.csv"), nil, 0o666))
	cases := []struct {
		path string
		opt  Options
		want string
	}{
		{"sub.csv", Options{}, "is a directory"},
		{"sub.csv/", Options{}, "is a directory"},
		{"none/x.csv", Options{}, "does not exist"},
		{"old.csv/x.csv", Options{}, "is not a directory"},
		{"ro.csv", Options{}, "read-only"},
		{"old.csv", Options{KeepExisting: true}, fs.ErrExist.Error()},
		{"x.txt", Options{}, "names no format"},
		{"x.parquet.gz", Options{}, "codecs of its own"},
		{"x.csv", Options{Codec: "zstd"}, "Codec"},
		{"x.parquet", Options{Codec: "rar"}, "brotli, gzip, lz4, none, snappy, zstd"},
		{"x.csv", Options{Delimiter: '1'}, "Delimiter"},
		{"x.csv", Options{RowGroupRows: -1, CellWidth: 1, RowsShown: -2}, "RowsShown"},
	}
	for _, c := range cases {
		path := dir + "/" + c.path
		_, err := Create(t.Context(), path, pairSchema, c.opt)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), path) {
			t.Errorf("%s: %v, want %q", c.path, err, c.want)
		}
	}
	if _, err := Create(t.Context(), "", pairSchema, Options{}); err == nil {
		t.Error("no name is no error")
	}
	if got := listDir(t, dir); got != "old.csv ro.csv sub.csv" {
		t.Errorf("left: %s", got)
	}
}

// Catches a target that appears while writing and is replaced all the same.
func TestKeepExistingAtCommit(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.csv")
	w, err := Create(t.Context(), path, pairSchema, Options{KeepExisting: true})
	sinktest.Check(t, err)
	sinktest.Check(t, os.WriteFile(path, []byte("other"), 0o666))
	if err := w.Commit(); !errors.Is(err, fs.ErrExist) {
		t.Errorf("commit: %v", err)
	}
	if got, _ := os.ReadFile(path); string(got) != "other" || listDir(t, dir) != "x.csv" {
		t.Errorf("%q in %s", got, listDir(t, dir))
	}
}

// Catches names that the hidden name makes too long.
func TestLongName(t *testing.T) {
	name := strings.Repeat("x", 250) + ".csv"
	dir := t.TempDir()
	w, err := Create(t.Context(), filepath.Join(dir, name), pairSchema, Options{})
	sinktest.Check(t, err)
	sinktest.Check(t, w.Commit())
	if listDir(t, dir) != name {
		t.Error(listDir(t, dir))
	}
}

// Catches schemas and batches that an encoder would write wrongly rather than refuse.
func TestRefusedColumns(t *testing.T) {
	twice := arrow.NewSchema([]arrow.Field{pairSchema.Field(0), pairSchema.Field(0)}, nil)
	union := arrow.SparseUnionOf([]arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Int8}}, []arrow.UnionTypeCode{0})
	cases := []struct {
		format Format
		schema *arrow.Schema
		want   string
	}{
		{Parquet, twice, `two columns are named "k"`},
		{JSON, twice, `two columns are named "k"`},
		{Parquet, sinktest.SchemaOf([]arrow.DataType{arrow.FixedWidthTypes.MonthInterval}), `column "c00": parquet has no type`},
		{Parquet, sinktest.SchemaOf([]arrow.DataType{arrow.ListOf(union)}), `column "c00": parquet has no type`},
		{CSV, sinktest.SchemaOf([]arrow.DataType{union}), `column "c00": sparse_union`},
		{Table, sinktest.SchemaOf([]arrow.DataType{arrow.ListOf(union)}), `column "c00"`},
	}
	dir := t.TempDir()
	for _, c := range cases {
		_, err := Create(t.Context(), filepath.Join(dir, "x"), c.schema, Options{Format: c.format})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.format, err, c.want)
		}
	}
	if got := listDir(t, dir); got != "" {
		t.Errorf("left: %s", got)
	}

	strict := arrow.NewSchema([]arrow.Field{{Name: "k", Type: arrow.BinaryTypes.String}, {Name: "n", Type: arrow.PrimitiveTypes.Int64}}, nil)
	batch := sinktest.RandomBatch(t, pairSchema, 100, rand.New(rand.NewPCG(1, 2)))
	for _, schema := range []*arrow.Schema{strict, sinktest.SchemaOf(sinktest.FlatTypes[:2]), sinktest.SchemaOf(sinktest.FlatTypes[:1])} {
		w, err := Create(t.Context(), filepath.Join(dir, "x"), schema, Options{Format: Parquet})
		sinktest.Check(t, err)
		first := w.Write(batch)
		if first == nil || w.Commit() != first || w.Abort() != nil {
			t.Errorf("write of another schema: %v", first)
		}
	}
	if got := listDir(t, dir); got != "" {
		t.Errorf("left: %s", got)
	}
}

// Would catch hidden files that pile up where runs are killed, and one taken away from a writer
// that is still at work, or from nobody's output.
func TestAbandoned(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(dir, "x.csv")
	for _, name := range []string{".x.csv.0123456789abcdef.tmp", ".x.csv.01234567.tmp", ".y.csv.0123456789abcdef.tmp"} {
		sinktest.Check(t, os.WriteFile(filepath.Join(dir, name), []byte("half"), 0o666))
	}
	first, err := Create(t.Context(), target, pairSchema, Options{})
	sinktest.Check(t, err)
	second, err := Create(t.Context(), target, pairSchema, Options{})
	sinktest.Check(t, err)
	sinktest.Check(t, first.Commit())
	sinktest.Check(t, second.Commit())
	if left := listDir(t, dir); left != ".x.csv.01234567.tmp x.csv" {
		t.Errorf("left %s", left)
	}
}
