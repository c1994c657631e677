package tests

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"go.uber.org/goleak"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/engine/sink"
	"github.com/mpga/mpga/internal/grouptest"
	"github.com/mpga/mpga/internal/testknobs"
	"github.com/mpga/mpga/internal/vfs"
	"github.com/mpga/mpga/internal/vfs/faultfs"
)

// faultQuery has states of every kind: words, sums, strings and lists.
var faultQuery = query.Query{
	Keys: []query.Key{{Column: "k"}},
	Aggregates: []query.Aggregate{
		{Func: query.CountStar}, {Func: query.Sum, Args: []string{"v"}}, {Func: query.Max, Args: []string{"s"}}, {Func: query.Median, Args: []string{"v"}},
	},
}

// faultTable is small, so that the test can fail each of its file operations.
func faultTable() (*arrow.Schema, []arrow.RecordBatch) {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "k", Type: arrow.BinaryTypes.String, Nullable: true}, {Name: "v", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
	}, nil)
	const rows = 3000
	columns := make([][]any, 3)
	for i := range rows {
		columns[0] = append(columns[0], []any{"north", "south", nil, "a key of more than twelve bytes"}[i%4])
		columns[1] = append(columns[1], int64(i))
		columns[2] = append(columns[2], []any{"x", nil, "another long string of the table"}[i%3])
	}
	arrays := make([]arrow.Array, 3)
	for i, cells := range columns {
		arrays[i] = grouptest.Array(schema.Field(i).Type, cells)
	}
	return schema, []arrow.RecordBatch{grouptest.Batch(schema, arrays...)}
}

// A run from files to a Parquet file, with its n-th file operation failing, for every n: it ends
// with the right answer or an error, and leaves no file open, no goroutine, no memory and no
// output.
func TestFaults(t *testing.T) {
	schema, batches := faultTable()
	want, err := grouptest.Oracle(schema, batches, faultQuery)
	if err != nil {
		t.Fatal(err)
	}
	for _, way := range inputs() {
		if way.name == "memory" {
			continue
		}
		t.Run(way.name, func(t *testing.T) {
			in, out := t.TempDir(), t.TempDir()
			way.open(t, rand.New(rand.NewPCG(1, 1)), in, schema, batches)
			fsys := faultfs.New(vfs.OS)
			for n := int64(0); ; n++ { // 0 fails nothing
				fsys.FailAt(n)
				runWithFault(t, fsys, in, out, want)
				if n > 0 && !fsys.Fired() {
					t.Logf("%d operations", fsys.Ops())
					return
				}
				if t.Failed() {
					t.Fatalf("with operation %d failing", n)
				}
			}
		})
	}
}

// runWithFault aggregates the files of a directory into a Parquet file, and checks what comes of
// it.
func runWithFault(t *testing.T, fsys *faultfs.FS, in, out string, want *grouptest.Rows) {
	t.Helper()
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	target := filepath.Join(out, "answer.parquet")
	err := aggregateFile(context.Background(), fsys, mem, in, target)
	if err != nil && !errors.Is(err, faultfs.ErrInjected) {
		t.Errorf("the error hides its cause: %v", err)
	}
	if err == nil {
		checkAnswer(t, target, want)
		if err := os.Remove(target); err != nil {
			t.Error(err)
		}
	}
	if left := fileNames(t, out); len(left) > 0 {
		t.Errorf("after the error %v there are files: %v", err, left)
	}
	if open := fsys.OpenFiles(); open != 0 {
		t.Errorf("after the error %v, %d files are open", err, open)
	}
	mem.AssertSize(t, 0)
}

// aggregateFile is what the command does: read, aggregate, write, commit.
func aggregateFile(ctx context.Context, fsys vfs.FS, mem memory.Allocator, in, target string) error {
	eng, err := engine.Open(engine.Options{Threads: 2, Allocator: mem})
	if err != nil {
		return err
	}
	defer eng.Close()
	types := map[string]arrow.DataType{"k": arrow.BinaryTypes.String, "v": arrow.PrimitiveTypes.Int64, "s": arrow.BinaryTypes.String}
	opt := dataset.Options{FS: fsys}
	if csv, _ := filepath.Glob(filepath.Join(in, "*sv*")); len(csv) > 0 {
		opt.CSV.Types = types
	}
	src, err := dataset.Open(ctx, []string{in}, opt)
	if err != nil {
		return err
	}
	res, err := eng.Aggregate(ctx, src, faultQuery)
	if err != nil {
		return err
	}
	defer res.Release()
	w, err := sink.Create(ctx, target, res.Schema(), sink.Options{FS: fsys, Allocator: mem})
	if err != nil {
		return err
	}
	for res.Next() {
		if err := w.Write(res.RecordBatch()); err != nil {
			return err
		}
	}
	if err := res.Err(); err != nil {
		return errors.Join(err, w.Abort())
	}
	return w.Commit()
}

// checkAnswer reads a result file, whose counts are exact and whose columns are told by their
// order.
func checkAnswer(t *testing.T, file string, want *grouptest.Rows) {
	t.Helper()
	src := openFiles(t, dataset.Options{}, file)
	q := query.Query{Keys: []query.Key{{Column: "k"}}}
	for _, f := range want.Schema.Fields()[1:] {
		q.Aggregates = append(q.Aggregates, query.Aggregate{Func: query.First, Args: []string{f.Name}, Name: f.Name})
	}
	got, err := ask(t, engine.Options{Threads: 1}, src, q)
	if err != nil {
		t.Error(err)
		return
	}
	if err := grouptest.Equal(want, got); err != nil {
		t.Error(err)
	}
}

func fileNames(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// A query that is abandoned, or cancelled at any moment, ends, with the context's error and with
// nothing left.
func TestCancel(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	schema, batches := grouptest.RandomTable(rand.New(rand.NewPCG(4, 4)), 200_000, arrow.PrimitiveTypes.Int64, arrow.BinaryTypes.String)
	q := query.Query{Keys: []query.Key{{Column: "c0"}, {Column: "c1"}}, Aggregates: []query.Aggregate{{Func: query.List, Args: []string{"c1"}}}}
	for step := range 20 {
		mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
		eng, err := engine.Open(testknobs.With(engine.Options{Threads: 4, Allocator: mem}, testknobs.Engine{BatchRows: 1000, ResultRows: 100}))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(step*step)*time.Millisecond/4)
		res, err := eng.Aggregate(ctx, scan.Batches(schema, batches), q)
		if err == nil {
			_ = step%2 == 0 && res.Next() // some are abandoned before their first batch
			for step%4 > 1 && res.Next() {
			}
			err = res.Err()
			res.Release()
		}
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("cancelled: %v", err)
		}
		cancel()
		if err := eng.Close(); err != nil {
			t.Error(err)
		}
		mem.AssertSize(t, 0)
	}
}
