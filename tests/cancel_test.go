package tests

import (
	"context"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"go.uber.org/goleak"

	"github.com/mpga/mpga/app/gen"
	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/sink"
	"github.com/mpga/mpga/internal/testknobs"
	"github.com/mpga/mpga/internal/vfs"
)

// cancelFS cancels a query at the n-th call of its temporary files: in the middle of a spill, of a
// task that is read back, or of one that is split.
type cancelFS struct {
	vfs.FS
	at     int64
	cancel context.CancelFunc
	calls  atomic.Int64
	open   atomic.Int64
}

func (f *cancelFS) CreateTemp(dir string) (vfs.TempFile, error) {
	file, err := f.FS.CreateTemp(dir)
	if err != nil {
		return nil, err
	}
	f.open.Add(1)
	return &cancelTemp{file, f}, nil
}

func (f *cancelFS) step() {
	if f.calls.Add(1) == f.at {
		f.cancel()
	}
}

type cancelTemp struct {
	vfs.TempFile
	fs *cancelFS
}

func (f *cancelTemp) ReadAt(p []byte, at int64) (int, error) {
	f.fs.step()
	return f.TempFile.ReadAt(p, at)
}

func (f *cancelTemp) WriteAt(p []byte, at int64) (int, error) {
	f.fs.step()
	return f.TempFile.WriteAt(p, at)
}

func (f *cancelTemp) Close() error {
	f.fs.open.Add(-1)
	return f.TempFile.Close()
}

// A query that is cancelled while it spills, reads back or splits ends soon, with the context's
// error, and leaves no file, no memory, no goroutine and no output that is half written.
func TestCancelSpilling(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	count := &cancelFS{FS: vfs.OS}
	if err := cancelAt(t, count); err != nil {
		t.Fatal(err)
	}
	calls := count.calls.Load()
	t.Logf("%d calls", calls)
	rng := rand.New(rand.NewPCG(*seedFlag, 8))
	for range 15 {
		fsys := &cancelFS{FS: vfs.OS, at: 1 + rng.Int64N(calls)}
		err := cancelAt(t, fsys)
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled at call %d: %v", fsys.at, err)
		}
		if after := fsys.calls.Load() - fsys.at; after > calls/4 { // the tasks that are under way: 4% at most were seen
			t.Errorf("%d calls of %d came after the query was cancelled at call %d", after, calls, fsys.at)
		}
		if t.Failed() {
			t.Fatalf("-seed=%d", *seedFlag)
		}
	}
}

// cancelAt runs a query that writes every page to disk and splits every task, into a Parquet file.
func cancelAt(t *testing.T, fsys *cancelFS) (err error) {
	t.Helper()
	temp, out := t.TempDir(), t.TempDir()
	target := filepath.Join(out, "answer.parquet")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	fsys.cancel = cancel
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	opt := engine.Options{Threads: 3, FS: fsys, TempDir: temp, Allocator: mem}
	knobs := testknobs.Engine{SpillAll: true, RadixBits: 2, NoDense: true, TableGroups: 100, ForceSplits: 2, ResultRows: 1000}
	eng, err := engine.Open(testknobs.With(opt, knobs))
	if err != nil {
		t.Fatal(err)
	}
	err = writeSpilled(ctx, eng, mem, target)
	if err := eng.Close(); err != nil {
		t.Error(err)
	}
	mem.AssertSize(t, 0)
	names := fileNames(t, out)
	if err != nil && len(names) > 0 || err == nil && len(names) != 1 {
		t.Errorf("after the error %v there are files: %v", err, names)
	}
	if names := fileNames(t, temp); len(names) > 0 || fsys.open.Load() != 0 {
		t.Errorf("the temp directory holds %v, and %d files are open", names, fsys.open.Load())
	}
	return err
}

func writeSpilled(ctx context.Context, eng *engine.Engine, mem memory.Allocator, target string) (err error) {
	src, err := gen.Pairs(gen.PairsOptions{Rows: 40_000, Groups: 8_000, Sparse: true, Seed: 2})
	if err != nil {
		return err
	}
	res, err := eng.Aggregate(ctx, src, spillQuery)
	if err != nil {
		return err
	}
	defer res.Release()
	w, err := sink.Create(ctx, target, res.Schema(), sink.Options{Allocator: mem})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Abort()) }() // nothing after Commit
	for res.Next() {
		if err := w.Write(res.RecordBatch()); err != nil {
			return err
		}
	}
	if err := res.Err(); err != nil {
		return err
	}
	return w.Commit()
}
