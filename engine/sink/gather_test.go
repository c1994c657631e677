package sink

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/sink/sinktest"
	"github.com/mpga/mpga/internal/mem"
	"github.com/mpga/mpga/internal/order"
	"github.com/mpga/mpga/internal/store"
	"github.com/mpga/mpga/internal/vfs"
)

// spillingCollect gathers rows with the least memory, and spills to a directory of a file system.
func spillingCollect(fsys vfs.FS, dir string) func(*arrow.Schema, order.By, string) (*order.Collector, error) {
	return func(schema *arrow.Schema, by order.By, purpose string) (*order.Collector, error) {
		mem := mem.NewMemory(1 << 20)
		opt := order.Options{Bytes: 1 << 20, Memory: mem, Temp: store.NewTemp(fsys, dir, math.MaxInt64), Purpose: purpose}
		return order.NewCollector(context.Background(), schema, by, opt, func() error {
			mem.Close()
			return nil
		})
	}
}

// pad makes rows large enough that they are spilled.
var pad = strings.Repeat("x", 120)

// folderBatch has rows whose folder is a random one of many, by two columns, and a number that
// counts the rows.
func folderBatch(r *rand.Rand, rows, folders int, first int64) arrow.RecordBatch {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "n", Type: arrow.PrimitiveTypes.Int64},
		{Name: "a", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
		{Name: "pad", Type: arrow.BinaryTypes.String},
		{Name: "b", Type: arrow.BinaryTypes.String},
	}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	for i := range rows {
		folder := r.IntN(folders)
		b.Field(0).(*array.Int64Builder).Append(first + int64(i))
		if folder%7 == 0 {
			b.Field(1).AppendNull()
		} else {
			b.Field(1).(*array.Int32Builder).Append(int32(folder % 7))
		}
		b.Field(2).(*array.StringBuilder).Append(pad)
		b.Field(3).(*array.StringBuilder).Append(fmt.Sprint("b", folder/7))
	}
	return b.NewRecordBatch()
}

// linesOf returns what files of the folders are to have, by folder, as CSV without a header.
func linesOf(batches []arrow.RecordBatch) map[string][]string {
	want := map[string][]string{}
	for _, batch := range batches {
		a := batch.Column(1).(*array.Int32)
		for row := range int(batch.NumRows()) {
			key := hiveNull
			if a.IsValid(row) {
				key = fmt.Sprint(a.Value(row))
			}
			folder := "a=" + key + "/b=" + batch.Column(3).(*array.String).Value(row)
			want[folder] = append(want[folder], fmt.Sprintf("%d,%s\n", batch.Column(0).(*array.Int64).Value(row), pad))
		}
	}
	return want
}

// Catches folders that get another number of files than their rows need, and rows that are lost,
// come twice, in another folder or in another order, when rows are gathered, in memory or spilled:
// any number of files may be open.
func TestGatheredFolders(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 1))
	for _, c := range []struct {
		folders, open int
		perFile       int64
		spill         bool
	}{{5, 64, 0, false}, {100, 64, 0, false}, {150, 1, 0, true}, {60, 3, 40, true}, {200, 20, 25, false}, {3, 2, 1000, true}} {
		name := fmt.Sprintf("%+v", c)
		var batches []arrow.RecordBatch
		for i := range 8 {
			batches = append(batches, folderBatch(r, 1+r.IntN(3000), c.folders, int64(i)*10_000))
		}
		temp := t.TempDir()
		opt := Options{Format: CSV, NoHeader: true, PartitionBy: []string{"a", "b"}, OpenFilesMax: c.open, MaxRowsPerFile: c.perFile, Manifest: true}
		if c.spill {
			opt.Collect = spillingCollect(vfs.OS, temp)
		}
		dir := filepath.Join(t.TempDir(), "out")
		sinktest.Check(t, writeDir(dir, opt, batches...))
		want := linesOf(batches)
		files := 1 // the manifest
		for folder, lines := range want {
			n := 1
			if c.perFile > 0 {
				n = (len(lines) + int(c.perFile) - 1) / int(c.perFile)
			}
			files += n
			var got bytes.Buffer
			for i := range n {
				text, err := os.ReadFile(filepath.Join(dir, folder, fmt.Sprintf("part-%05d.csv", i)))
				sinktest.Check(t, err)
				got.Write(text)
			}
			if got.String() != strings.Join(lines, "") {
				t.Fatalf("%s: folder %s has other rows: %d B, want %d", name, folder, got.Len(), len(strings.Join(lines, "")))
			}
		}
		if got := listTree(t, dir); len(got) != files {
			t.Errorf("%s: %d files, want %d", name, len(got), files)
		}
		if left := listDir(t, temp); left != "" {
			t.Errorf("%s: left in the temp directory: %s", name, left)
		}
	}
}

// Catches types of columns that rows cannot be gathered with: lists, structs, dictionaries, views.
func TestGatheredTypes(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 2))
	schema := sinktest.SchemaOf(sinktest.AllTypes())
	fields := append(schema.Fields(), arrow.Field{Name: "k", Type: arrow.PrimitiveTypes.Int64})
	var batches []arrow.RecordBatch
	const rowsPerBatch = 200
	for range 5 {
		rows := sinktest.RandomBatch(t, schema, rowsPerBatch, r)
		k := array.NewInt64Builder(memory.DefaultAllocator)
		for i := range rowsPerBatch {
			k.Append(int64(i % 6))
		}
		batches = append(batches, array.NewRecordBatch(arrow.NewSchema(fields, nil), append(slices.Clone(rows.Columns()), k.NewArray()), rowsPerBatch))
	}
	texts := map[int]string{}
	for _, open := range []int{1, 64} {
		dir := filepath.Join(t.TempDir(), "out")
		sinktest.Check(t, writeDir(dir, Options{Format: JSON, PartitionBy: []string{"k"}, OpenFilesMax: open, Collect: spillingCollect(vfs.OS, t.TempDir())}, batches...))
		for i := range 6 {
			text, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("k=%d", i), "part-00000.json"))
			sinktest.Check(t, err)
			texts[open] += string(text)
		}
	}
	if texts[1] != texts[64] || strings.Count(texts[1], "\n") != 5*rowsPerBatch {
		t.Errorf("gathered rows are %d B of text, others %d", len(texts[1]), len(texts[64]))
	}
}

// Catches a directory that is given up while rows are gathered, and one whose gathering cannot
// start: nothing is left.
func TestGatheringEnds(t *testing.T) {
	parent := t.TempDir()
	released := 0
	release := func() error { released++; return nil }
	collect := func(schema *arrow.Schema, by order.By, purpose string) (*order.Collector, error) {
		return order.NewCollector(context.Background(), schema, by, order.Options{Purpose: purpose}, release)
	}
	opt := Options{Format: CSV, PartitionBy: []string{"year"}, OpenFilesMax: 1, Collect: collect}
	w, err := Create(t.Context(), filepath.Join(parent, "out"), cityBatch(t, 1).Schema(), opt)
	sinktest.Check(t, err)
	sinktest.Check(t, w.Write(cityBatch(t, 10)))
	sinktest.Check(t, w.Abort())
	if left := listDir(t, parent); left != "" || released != 1 {
		t.Errorf("left %s, released %d times", left, released)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	opt.Collect = func(schema *arrow.Schema, by order.By, purpose string) (*order.Collector, error) {
		return order.NewCollector(ctx, schema, by, order.Options{Purpose: purpose}, release)
	}
	w, err = Create(t.Context(), filepath.Join(parent, "out"), cityBatch(t, 1).Schema(), opt)
	sinktest.Check(t, err)
	sinktest.Check(t, w.Write(cityBatch(t, 10)))
	cancel(io.ErrClosedPipe)
	if err := w.Commit(); err == nil || !strings.Contains(err.Error(), io.ErrClosedPipe.Error()) {
		t.Errorf("Commit: %v", err)
	}
	if left := listDir(t, parent); left != "" || released != 2 {
		t.Errorf("left %s, released %d times", left, released)
	}
}

// Catches a directory of more folders than names can be kept of.
func TestTooManyFolders(t *testing.T) {
	g := &gathering{names: make([]string, filesMax), numbers: map[string]int32{"k=1": 1}}
	if _, err := g.numberOf("k=1"); err != nil {
		t.Error(err)
	}
	if _, err := g.numberOf("k=2"); err == nil || !strings.Contains(err.Error(), "PartitionBy: ") {
		t.Errorf("more than %d folders: %v", filesMax, err)
	}
}
