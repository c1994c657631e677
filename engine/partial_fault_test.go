package engine_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/partial"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/grouptest"
	"github.com/mpga/mpga/internal/invariants"
	"github.com/mpga/mpga/internal/testknobs"
	"github.com/mpga/mpga/internal/vfs"
	"github.com/mpga/mpga/internal/vfs/faultfs"
)

// mixedQuery has states of every form: words, strings, vectors, sets, positions.
var mixedQuery = query.Query{
	Keys: []query.Key{{Column: "s"}, {Column: "k"}},
	Aggregates: []query.Aggregate{
		{Func: query.CountStar}, {Func: query.Sum, Args: []string{"v"}}, {Func: query.Max, Args: []string{"s"}}, {Func: query.Median, Args: []string{"v"}},
		{Func: query.List, Args: []string{"s"}}, {Func: query.Mode, Args: []string{"v"}}, {Func: query.Last, Args: []string{"s"}}, {Func: query.ArgMin, Args: []string{"s", "v"}},
		{Func: query.CountDistinct, Args: []string{"s"}}, {Func: query.ApproxCountDistinct, Args: []string{"v"}},
	},
}

// mixedTable has keys of groups of about ten rows.
func mixedTable(rows int) (*arrow.Schema, []arrow.RecordBatch) {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "s", Type: grouptest.DictionaryTypes()[0], Nullable: true}, {Name: "k", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
		{Name: "v", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	}, nil)
	columns := make([][]any, 3)
	for i := range rows {
		columns[0] = append(columns[0], []any{"short", nil, "a string of more than twelve bytes"}[i%3])
		columns[1] = append(columns[1], int64(i%(rows/30+1)))
		columns[2] = append(columns[2], int64(i%7))
	}
	arrays := make([]arrow.Array, 3)
	for i, cells := range columns {
		arrays[i] = grouptest.Array(schema.Field(i).Type, cells)
	}
	return schema, []arrow.RecordBatch{grouptest.Batch(schema, arrays...)}
}

// TestPartialFaults fails every file operation once: partial states are in their directory whole or
// not at all, a merge gives the right answer or an error, and no file stays open or behind.
func TestPartialFaults(t *testing.T) {
	schema, batches := mixedTable(300)
	want, err := grouptest.Oracle(schema, batches, mixedQuery)
	if err != nil {
		t.Fatal(err)
	}
	pieces := cutBatches(rand.New(rand.NewPCG(1, 1)), batches, 2)
	fsys := faultfs.New(vfs.OS)
	for n := int64(0); ; n++ { // 0 fails nothing
		dir := t.TempDir()
		fsys.FailAt(n)
		got, err := throughFiles(t, fsys, dir, schema, pieces)
		switch {
		case err == nil:
			if err := grouptest.Equal(want, got); err != nil {
				t.Errorf("operation %d: %v", n, err)
			}
		case !errors.Is(err, faultfs.ErrInjected):
			t.Errorf("operation %d: %v", n, err)
		}
		if open := fsys.OpenFiles(); open != 0 {
			t.Errorf("operation %d (%v): %d open files", n, err, open)
		}
		checkLeft(t, dir, n, err)
		if n > 0 && !fsys.Fired() {
			t.Logf("%d operations", n-1)
			return
		}
		if invariants.Race {
			n += n / 8
		}
	}
}

// throughFiles writes partial states of pieces to directories and merges them.
func throughFiles(t *testing.T, fsys vfs.FS, dir string, schema *arrow.Schema, pieces [][]arrow.RecordBatch) (*grouptest.Rows, error) {
	eng := openChecked(t, testknobs.With(engine.Options{FS: fsys, TempDir: dir, Threads: 2}, testknobs.Engine{SpillAll: true, ForceSplits: 1}))
	defer eng.Close()
	var sources [][]partial.Blob
	for i, piece := range pieces {
		path := filepath.Join(dir, string(rune('a'+i)))
		if err := writeDir(eng, fsys, path, scan.Batches(schema, piece)); err != nil {
			return nil, err
		}
		blobs, err := partial.OpenDir(fsys, path)
		if err != nil {
			return nil, err
		}
		sources = append(sources, blobs)
	}
	return mergeAll(eng, sources, partial.MergeOptions{}, len(mixedQuery.Keys))
}

func writeDir(eng *engine.Engine, fsys vfs.FS, path string, src scan.Source) (err error) {
	dir, err := partial.CreateDir(fsys, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Abort()) }()
	if _, err := eng.Partial(context.Background(), src, mixedQuery, partial.Options{Partitions: 4, Create: dir.Create}); err != nil {
		return err
	}
	return dir.Commit()
}

// checkLeft checks that a folder holds whole directories of partial states alone.
func checkLeft(t *testing.T, dir string, n int64, err error) {
	t.Helper()
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		files, _ := os.ReadDir(filepath.Join(dir, e.Name()))
		if strings.HasPrefix(e.Name(), ".") || len(files) != 4 {
			t.Errorf("operation %d (%v): left %s with %d files", n, err, e.Name(), len(files))
		}
	}
}
