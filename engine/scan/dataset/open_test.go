package dataset

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/engine/scan/internal/scantest"
	"github.com/mpga/mpga/engine/scan/internal/textfile"
	"github.com/mpga/mpga/internal/vfs"
	"github.com/mpga/mpga/internal/vfs/faultfs"
)

func TestOpenFindsFiles(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a/1.csv", "a/2.csv", "a/.hidden.csv", "a/_temp.csv", "a/note.txt", "a/sub/3.csv", "a/_old/4.csv", "b/5.csv"} {
		scantest.WriteFile(t, dir, name, []byte("x,y\n"+string(name[len(name)-len("1.csv")])+"0,1\n"))
	}
	for _, c := range []struct {
		patterns []string
		want     []string
	}{
		{[]string{"a"}, []string{"10", "20", "30"}},
		{[]string{"a/*.csv"}, []string{"10", "20"}},
		{[]string{"b/5.csv", "a/1.csv"}, []string{"50", "10"}},
		{[]string{"*/[15].csv"}, []string{"10", "50"}},
		{[]string{"?"}, []string{"10", "20", "30", "50"}},
	} {
		var patterns []string
		for _, p := range c.patterns {
			patterns = append(patterns, filepath.Join(dir, p))
		}
		rows, err := scantest.ReadAll(mustOpen(t, Options{}, patterns...), []int{0}, scan.OpenOptions{})
		if err != nil || !slices.Equal(rows, c.want) {
			t.Errorf("%v: got %v, %v; want %v", c.patterns, rows, err, c.want)
		}
	}
}

func TestOpenErrors(t *testing.T) {
	dir := t.TempDir()
	scantest.WriteFile(t, dir, "empty.text", nil)
	scantest.WriteFile(t, dir, "empty.parquet", nil)
	scantest.WriteFile(t, dir, "folder/readme.md", []byte("x"))
	scantest.WriteFile(t, dir, "a.csv", []byte("x,y\n1,2\n"))
	scantest.WriteFile(t, dir, "b.csv", []byte("x,z\n1,2\n"))
	scantest.WriteFile(t, dir, "c.csv", []byte("x,y\n1,2.5,3\n"))
	scantest.WriteFile(t, dir, "old.feather", []byte("FEA1....FEA1"))
	scantest.WriteFile(t, dir, "text.csv.gz", []byte("x,y\n1,2\n"))
	scantest.WriteFile(t, dir, "other.csv.gz", pack(t, "x,y\n1,2\n", ".zst"))
	scantest.WriteFile(t, dir, "text.parquet", []byte("x,y\n1,2\n3,4\n"))
	for _, c := range []struct {
		patterns []string
		opt      Options
		want     []string
	}{
		{nil, Options{}, []string{"no input"}},
		{[]string{"none.csv"}, Options{}, []string{"none.csv", "no such file"}},
		{[]string{"*.none"}, Options{}, []string{"*.none", "no file matches"}},
		{[]string{"[.csv"}, Options{}, []string{"[.csv"}},
		{[]string{"folder"}, Options{}, []string{"folder", "no data file"}},
		{[]string{"empty.text"}, Options{}, []string{"empty.text", "empty"}},
		{[]string{"empty.parquet"}, Options{}, []string{"empty.parquet", "empty"}},
		{[]string{"a.csv", "b.csv"}, Options{}, []string{"a.csv", "b.csv", `"y"`}},
		{[]string{"text.csv.gz"}, Options{}, []string{"text.csv.gz", "not compressed", "without .gz"}},
		{[]string{"other.csv.gz"}, Options{}, []string{"other.csv.gz", "compressed as .zst is"}},
		{[]string{"text.parquet"}, Options{}, []string{"text.parquet", "Parquet"}},
		{[]string{"old.feather"}, Options{}, []string{"old.feather", "Feather version 1"}},
		{[]string{"a.csv"}, Options{Format: "xml"}, []string{"Format", "xml"}},
	} {
		var patterns []string
		for _, p := range c.patterns {
			patterns = append(patterns, filepath.Join(dir, p))
		}
		_, err := Open(context.Background(), patterns, c.opt)
		if err == nil {
			t.Errorf("%v: no error", c.patterns)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%v: %q says nothing of %q", c.patterns, err, want)
			}
		}
	}
	for _, stdin := range []string{"", "PAR1....", "ARROW1\x00\x00"} {
		if _, err := Open(context.Background(), []string{"-"}, Options{Stdin: strings.NewReader(stdin)}); err == nil || !strings.Contains(err.Error(), "standard input") {
			t.Errorf("standard input %q: got %v", stdin, err)
		}
	}
}

func TestHive(t *testing.T) {
	dir := t.TempDir()
	scantest.WriteFile(t, dir, "y=2023/d=2024-01-01/c=a%20b/f.csv", []byte("v,y\n1,0\n2,0\n"))
	scantest.WriteFile(t, dir, "y=2024/d=2024-01-02/c=__HIVE_DEFAULT_PARTITION__/f.csv", []byte("v,y\n3,0\n"))
	src := mustOpen(t, Options{}, dir)
	if got, want := scantest.SchemaText(src.Schema()), "v int64, y int64, d date32, c utf8"; got != want {
		t.Fatalf("schema: got %s, want %s", got, want)
	}
	mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
	rows, err := scantest.ReadAll(src, []int{3, 0, 1, 2}, scan.OpenOptions{Allocator: mem, BatchRows: 1})
	if err != nil {
		t.Fatal(err)
	}
	scantest.SameRows(t, rows, []string{"a b|1|2023|2024-01-01", "a b|2|2023|2024-01-01", "NULL|3|2024|2024-01-02"})
	mem.AssertSize(t, 0)
	stats := src.Stats()
	if want := (scan.ColumnStats{NoNulls: true, HasRange: true, Min: 2023, Max: 2024}); stats.Columns[1] != want {
		t.Errorf("y: got %+v, want %+v", stats.Columns[1], want)
	}
	if stats.Columns[3].NoNulls {
		t.Error("c: its folder for NULL is not known")
	}
	if got, want := scantest.SchemaText(mustOpen(t, Options{NoHive: true}, dir).Schema()), "v int64, y int64"; got != want {
		t.Errorf("without hive folders: got %s, want %s", got, want)
	}
	scantest.WriteFile(t, dir, "y=2025/f.csv", []byte("v,y\n1,0\n"))
	if _, err := Open(context.Background(), []string{dir}, Options{}); err == nil || !strings.Contains(err.Error(), "y/d/c") {
		t.Errorf("folders that differ: got %v", err)
	}
}

// Would catch a column without values that becomes a number.
func TestHiveOfNulls(t *testing.T) {
	file := scantest.WriteFile(t, t.TempDir(), "k=__HIVE_DEFAULT_PARTITION__/f.csv", []byte("v\n1\n"))
	if got, want := scantest.SchemaText(mustOpen(t, Options{}, file).Schema()), "v int64, k utf8"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Would catch folders that have one value though their names differ, and types of manifests that values do not have, that
// are another program's, or of which two disagree.
func TestHiveTypes(t *testing.T) {
	manifest := func(typ string) string {
		return `{"version": 1, "other": [{}], "partition_by": ["k"], "schema": [{"name": "k", "type": "` + typ + `"}, {"name": "v", "type": "x"}], "files": [`
	}
	for _, c := range []struct {
		folders  []string
		manifest string
		want     string
		rows     []string
	}{
		{[]string{"1", "-2"}, "", "int64", []string{"1", "-2"}},
		{[]string{"01234", "1234"}, "", "utf8", []string{"01234", "1234"}},
		{[]string{"+1", "1"}, "", "utf8", []string{"+1", "1"}},
		{[]string{"-0", "0"}, "", "utf8", []string{"-0", "0"}},
		{[]string{"-01", "1"}, "", "utf8", []string{"-01", "1"}},
		{[]string{"1e5", "100000"}, "", "utf8", []string{"1e5", "100000"}},
		{[]string{"9223372036854775808", "1"}, "", "utf8", []string{"9223372036854775808", "1"}},
		{[]string{"1", hiveNull}, manifest("utf8"), "utf8", []string{"1", "NULL"}},
		{[]string{hiveNull}, manifest("decimal(9, 2)"), "decimal(9, 2)", []string{"NULL"}},
		{[]string{"1.50", "-0.05"}, manifest("decimal(9, 2)"), "decimal(9, 2)", []string{"1.5", "-0.05"}},
		{[]string{"true", "false"}, manifest("bool"), "bool", []string{"true", "false"}},
		{[]string{"true", "1"}, manifest("bool"), "utf8", []string{"true", "1"}},
		{[]string{"1", "300"}, manifest("int8"), "int64", []string{"1", "300"}},
		{[]string{"1", "01"}, manifest("int8"), "utf8", []string{"1", "01"}},
		{[]string{"1", "x"}, manifest("int8"), "utf8", []string{"1", "x"}},
		{[]string{"1"}, manifest("list<item: int8>"), "int64", []string{"1"}},
		{[]string{"1"}, manifest("decimal(39, 50)"), "int64", []string{"1"}},
		{[]string{"1"}, manifest("decimal(38, 200)"), "int64", []string{"1"}},
		{[]string{"1"}, manifest("decimal(9, -2)"), "int64", []string{"1"}},
		{[]string{"1"}, manifest("timestamp[us, tz=nowhere]"), "int64", []string{"1"}},
		{[]string{"1.555"}, manifest("decimal(9, 2)"), "utf8", []string{"1.555"}},
		{[]string{"1234567.00"}, manifest("decimal(5, 2)"), "utf8", []string{"1234567.00"}},
		{[]string{"1"}, "[1, 2", "int64", []string{"1"}},
		{[]string{"1"}, `{"schema": 7, "partition_by": ["k"]}`, "int64", []string{"1"}},
		{[]string{"1"}, "", "int64", []string{"1"}},
	} {
		dir := t.TempDir()
		for i, folder := range c.folders {
			scantest.WriteFile(t, dir, fmt.Sprintf("k=%s/f%d.csv", folder, i), []byte("v\n1\n"))
		}
		if c.manifest != "" {
			scantest.WriteFile(t, dir, vfs.ManifestName, []byte(c.manifest))
		}
		for _, pattern := range []string{dir, filepath.Join(dir, "*", "*.csv"), filepath.Join(dir, "k="+c.folders[0], "f0.csv")} {
			src := mustOpen(t, Options{}, pattern)
			rows, err := scantest.ReadAll(src, []int{1}, scan.OpenOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(pattern, "f0.csv") {
				continue // of one folder, whose type may be another
			}
			if got, want := scantest.SchemaText(src.Schema()), "v int64, k "+c.want; got != want {
				t.Errorf("%q by %s: got %s, want %s", c.folders, c.manifest, got, want)
			}
			slices.Sort(rows)
			slices.Sort(c.rows)
			scantest.SameRows(t, rows, c.rows)
		}
	}
	dir := t.TempDir()
	for root, typ := range map[string]string{"a": "int8", "b": "int16"} {
		scantest.WriteFile(t, dir, root+"/k=1/f.csv", []byte("v\n1\n"))
		scantest.WriteFile(t, dir, root+"/"+vfs.ManifestName, []byte(manifest(typ)))
	}
	if got, want := scantest.SchemaText(mustOpen(t, Options{}, dir).Schema()), "v int64, k int64"; got != want {
		t.Errorf("two manifests: got %s, want %s", got, want)
	}
}

// Would catch a link to a directory that is followed round in a circle, or taken for a file.
func TestLinkedDir(t *testing.T) {
	dir := t.TempDir()
	scantest.WriteFile(t, dir, "a.csv", []byte("v\n1\n"))
	for _, name := range []string{"loop", "loop.csv"} {
		if err := os.Symlink(dir, filepath.Join(dir, name)); err != nil {
			t.Skip(err)
		}
	}
	rows, err := scantest.ReadAll(mustOpen(t, Options{}, dir), []int{0}, scan.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	scantest.SameRows(t, rows, []string{"1"})
}

// Columns are matched by name, types must agree, and formats may be mixed.
func TestUnify(t *testing.T) {
	dir := t.TempDir()
	batch := scantest.TypesBatch(t, 3, arrow.PrimitiveTypes.Int64, arrow.BinaryTypes.String)
	a := scantest.WriteFile(t, dir, "a.parquet", scantest.EncodeParquet(t, 2, []arrow.RecordBatch{batch}))
	b := scantest.WriteFile(t, dir, "b.csv", []byte("c12,c3\nx,5\n"))
	c := scantest.WriteFile(t, dir, "c.arrow", scantest.EncodeArrow(t, false, []arrow.RecordBatch{batch}))
	src := mustOpen(t, Options{}, a, b, c)
	rows, err := scantest.ReadAll(src, []int{0, 1}, scan.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := append(scantest.BatchRowsText(batch), "5|x")
	scantest.SameRows(t, rows, append(want, scantest.BatchRowsText(batch)...))
	if n, err := scantest.ReadAll(src, nil, scan.OpenOptions{}); err != nil || len(n) != 7 {
		t.Errorf("no columns: %d rows, %v; want 7", len(n), err)
	}
	d := scantest.WriteFile(t, dir, "d.csv", []byte("c12,c3\nx,5.5h\n"))
	if _, err := scantest.ReadAll(mustOpen(t, Options{}, a, d), []int{0}, scan.OpenOptions{}); err == nil ||
		!strings.Contains(err.Error(), "a.parquet") || !strings.Contains(err.Error(), "d.csv") || !strings.Contains(err.Error(), `"c3"`) {
		t.Errorf("types that disagree: got %v", err)
	}
	// Text files are inferred together: what is an integer in one may be a float in another.
	d = scantest.WriteFile(t, dir, "d.csv", []byte("c12,c3\nx,5.5\n"))
	if got, want := scantest.SchemaText(mustOpen(t, Options{}, b, d).Schema()), "c12 utf8, c3 float64"; got != want {
		t.Errorf("two texts: got %s, want %s", got, want)
	}
}

func TestBatchesAndReader(t *testing.T) {
	batches := scantest.IpcBatches(t, 3, 50)
	src := scan.Batches(batches[0].Schema(), batches)
	for range 2 {
		rows, err := scantest.ReadAll(src, scantest.AllColumns(src.Schema()), scan.OpenOptions{BatchRows: 7})
		if err != nil {
			t.Fatal(err)
		}
		scantest.SameRows(t, rows, scantest.BatchRowsText(batches...))
	}
	if stats := src.Stats(); stats.Rows != 153 || stats.Columns[0].NoNulls || !stats.Columns[len(stats.Columns)-1].NoNulls {
		t.Errorf("stats: %+v", stats)
	}
	once := scan.Reader(&sliceReader{schema: batches[0].Schema(), batches: batches})
	rows, err := scantest.ReadAll(once, scantest.AllColumns(once.Schema()), scan.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	scantest.SameRows(t, rows, scantest.BatchRowsText(batches...))
	if _, err := scantest.ReadAll(once, nil, scan.OpenOptions{}); !errors.Is(err, decode.ErrReadOnce) {
		t.Errorf("second reading: got %v", err)
	}
	wrong := scan.Batches(arrow.NewSchema([]arrow.Field{{Name: "x", Type: arrow.PrimitiveTypes.Int8}}, nil), batches)
	if _, err := wrong.Splits(context.Background(), []int{0}); err == nil {
		t.Error("batches of another schema: no error")
	}
}

// sliceReader is an array.RecordReader over batches.
type sliceReader struct {
	schema  *arrow.Schema
	batches []arrow.RecordBatch
	at      int
}

func (s *sliceReader) Retain()                        {}
func (s *sliceReader) Release()                       {}
func (s *sliceReader) Schema() *arrow.Schema          { return s.schema }
func (s *sliceReader) Next() bool                     { s.at++; return s.at <= len(s.batches) }
func (s *sliceReader) RecordBatch() arrow.RecordBatch { return s.batches[s.at-1] }
func (s *sliceReader) Record() arrow.RecordBatch      { return s.RecordBatch() }
func (s *sliceReader) Err() error                     { return nil }

// Every operation of the file system fails once: the rows are right or an error comes back, no file
// stays open and no memory is lost.
func TestFaults(t *testing.T) {
	dir := t.TempDir()
	batches := scantest.IpcBatches(t, 2, 20)
	scantest.WriteFile(t, dir, "p/k=1/f.parquet", scantest.EncodeParquet(t, 10, []arrow.RecordBatch{scantest.ParquetBatch(t, 30)}))
	scantest.WriteFile(t, dir, "a/f.arrow", scantest.EncodeArrow(t, false, batches))
	scantest.WriteFile(t, dir, "s/f.arrows", scantest.EncodeArrow(t, true, batches))
	text := "a,b\n" + strings.Repeat("1,\"x\ny\"\n", 30)
	scantest.WriteFile(t, dir, "c/f.csv", []byte(text))
	scantest.WriteFile(t, dir, "g/f.csv.gz", pack(t, text, ".gz"))
	scantest.WriteFile(t, dir, "z/f.csv.zst", pack(t, text, ".zst"))
	scantest.WriteFile(t, dir, "j/f.json", []byte("[\n"+strings.Repeat("{\"a\":1,\"b\":[2]},\n", 30)+"{}]"))
	for _, sub := range []string{"p", "a", "s", "c", "g", "z", "j"} {
		t.Run(sub, func(t *testing.T) {
			read := func(fsys vfs.FS) ([]string, error) {
				src, err := Open(context.Background(), []string{filepath.Join(dir, sub)}, Options{FS: fsys, sizes: textfile.Sizes{Chunk: 64}})
				if err != nil {
					return nil, err
				}
				mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
				defer mem.AssertSize(t, 0)
				return scantest.ReadAll(src, scantest.AllColumns(src.Schema()), scan.OpenOptions{Allocator: mem, BatchRows: 8, Borrow: scantest.Lend(1)})
			}
			fsys := faultfs.New(vfs.OS)
			want, err := read(fsys)
			if err != nil {
				t.Fatal(err)
			}
			total := fsys.Ops()
			for n := int64(1); n <= total; n++ {
				fsys.FailAt(n)
				got, err := read(fsys)
				if err == nil {
					scantest.SameRows(t, got, want)
				}
				if open := fsys.OpenFiles(); open != 0 {
					t.Fatalf("operation %d of %d: %d files left open (%v)", n, total, open, err)
				}
			}
			t.Log(total, "operations")
		})
	}
}

func TestCancel(t *testing.T) {
	path := scantest.WriteFile(t, t.TempDir(), "f.csv", []byte("a,b\n"+strings.Repeat("1,2\n", 1000)))
	src := mustOpen(t, Options{}, path)
	splits, err := src.Splits(context.Background(), []int{0})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r, err := splits[0].Open(ctx, scan.OpenOptions{BatchRows: 10})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	r.Next()
	cancel()
	if r.Next() || !errors.Is(r.Err(), context.Canceled) {
		t.Errorf("after cancel: %v", r.Err())
	}
}

// Progress must add up to what the splits said they would read.
func TestProgress(t *testing.T) {
	dir := t.TempDir()
	scantest.WriteFile(t, dir, "f.parquet", scantest.EncodeParquet(t, 10, []arrow.RecordBatch{scantest.ParquetBatch(t, 30)}))
	scantest.WriteFile(t, dir, "f.csv", []byte("a,b\n"+strings.Repeat("1,\"x\ny\"\n", 300)))
	scantest.WriteFile(t, dir, "f.arrow", scantest.EncodeArrow(t, false, scantest.IpcBatches(t, 3, 20)))
	for _, name := range []string{"f.parquet", "f.csv", "f.arrow"} {
		src := mustOpen(t, Options{sizes: textfile.Sizes{Chunk: 100}}, filepath.Join(dir, name))
		splits, err := src.Splits(context.Background(), []int{0, 1})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range splits {
			var got int64
			var rows []string
			if _, err := scantest.ReadSplit(s, scan.OpenOptions{BatchRows: 7, Progress: func(n int64) { got += n }}, &rows); err != nil {
				t.Fatal(err)
			}
			if got < s.Bytes()*9/10 || got > s.Bytes()+100 {
				t.Errorf("%s: %d B reported, %d B promised", s.Name(), got, s.Bytes())
			}
		}
	}
}

func TestDescribe(t *testing.T) {
	dir := t.TempDir()
	batch := scantest.TypesBatch(t, 20, arrow.PrimitiveTypes.Int8, arrow.FixedWidthTypes.Date32, arrow.PrimitiveTypes.Float64, arrow.BinaryTypes.String)
	scantest.WriteFile(t, dir, "f.parquet", scantest.EncodeParquet(t, 7, []arrow.RecordBatch{batch}))
	scantest.WriteFile(t, dir, "g.csv", []byte("a\tb\n1\t2\n"))
	scantest.WriteFile(t, dir, "h.arrow", scantest.EncodeArrow(t, false, []arrow.RecordBatch{batch, batch}))
	summary, err := Summarize(context.Background(), []string{dir}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	infos := summary.Files
	var got []string
	for _, i := range infos {
		got = append(got, fmt.Sprint(filepath.Base(i.Path), " ", i.Format, " ", i.Rows, " ", i.Parts))
	}
	if want := []string{"f.parquet parquet 20 3", "g.csv tsv -1 0", "h.arrow arrow 40 2"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for i, want := range [][2]string{{"-128", "127"}, {"-2.25e+100", "+Inf"}, {"", "a longer string, of more than 12 bytes"}, {"1969-12-31", "2024-02-29"}} {
		c := infos[0].Columns[i]
		if !c.HasRange || c.Min != want[0] || c.Max != want[1] || c.Nulls != 4 || c.CompressedBytes <= 0 || len(c.Codecs) != 1 {
			t.Errorf("%s: %+v, want the range %q", c.Name, c, want)
		}
	}
}
