package aggregator_test

import (
	"context"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/cpuagg"
	"github.com/mpga/mpga/engine/internal/encode"
	"github.com/mpga/mpga/engine/internal/finalize"
	"github.com/mpga/mpga/internal/grouptest"
	"github.com/mpga/mpga/internal/mem"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/scatter"
	"github.com/mpga/mpga/internal/store"
	"github.com/mpga/mpga/internal/vfs"
)

// routes force the ways of rows through a run.
var routes = []struct {
	name     string
	opt      cpuagg.Options
	workers  int
	spillAll bool
}{
	{"one worker", cpuagg.Options{}, 1, false},
	{"three workers", cpuagg.Options{NoDense: true}, 3, false},
	{"rows scattered", cpuagg.Options{NoDense: true, NoPreAgg: true}, 2, false},
	{"states scattered, to disk", cpuagg.Options{NoDense: true, AlwaysPreAgg: true, TableGroups: 10, RadixBits: 2}, 2, true},
	{"split twice", cpuagg.Options{NoDense: true, NoPreAgg: true, RadixBits: 1, ForceSplits: 2}, 2, false},
	{"little memory", cpuagg.Options{TableGroups: 100, WorkerBytes: func() int64 { return 128 << 10 }}, 2, true},
}

// Package cpuagg answers the common cases between an encoder and a finalizer, without the engine
// around them; the test is here because cpuagg may import neither. Would catch what the engine
// hides: a worker that keeps a part of a tile, groups that are finished twice, and memory or
// space that no one gives back.
func TestCases(t *testing.T) {
	for n, c := range grouptest.Cases() {
		if testing.Short() && n%25 != 0 {
			continue
		}
		want, wantErr := c.Want()
		for i, route := range routes {
			if (n+i)%3 != 0 { // the engine's tests have every case on every route
				continue
			}
			t.Run(c.Name+"/"+route.name, func(t *testing.T) {
				r := newRoute(t, c, route.opt, route.spillAll)
				got, err := r.answer(route.workers)
				r.close()
				switch {
				case (err != nil) != (wantErr != nil):
					t.Fatalf("error %v, want %v", err, wantErr)
				case err == nil:
					if err := grouptest.Equal(want, got); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
}

// route is one way through cpuagg for one case.
type route struct {
	t         *testing.T
	c         grouptest.Case
	bound     *rowdata.Bound
	memory    *mem.Memory
	temp      *store.Temp
	store     *store.Store
	run       *cpuagg.Run
	finalizer finalize.Finalizer
}

func newRoute(t *testing.T, c grouptest.Case, opt cpuagg.Options, spillAll bool) *route {
	t.Helper()
	b, err := rowdata.Bind(c.Query, c.Schema, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := &route{t: t, c: c, bound: b, memory: mem.NewMemory(64 << 20), temp: store.NewTemp(vfs.OS, t.TempDir(), 1<<40)}
	rows, states := b.RowLayout(), b.StateLayout()
	r.store = store.NewStore(store.StoreOptions{Memory: r.memory, Temp: r.temp, Layouts: [scatter.Contents]*rowdata.RowLayout{cpuagg.Rows: &rows, cpuagg.States: &states}, Writers: 2, SpillAll: spillAll})
	opt.Memory = r.memory
	r.run = cpuagg.NewRun(b, opt, r.store)
	r.finalizer = finalize.Finalizer{
		Bound: b, Allocator: memory.DefaultAllocator, Interners: encode.NewInterners(b), Room: func(int64) error { return nil },
	}
	return r
}

// close gives everything back, and fails the test where something is left.
func (r *route) close() {
	if err := r.store.Close(); err != nil || r.memory.Used() != 0 || r.temp.Used() != 0 {
		r.t.Errorf("closed: %v, %d B of memory and %d B of disk in use", err, r.memory.Used(), r.temp.Used())
	}
	r.memory.Close()
}

// answer runs the case, its tiles dealt to workers in turn.
func (r *route) answer(n int) (*grouptest.Rows, error) {
	workers := make([]*cpuagg.Worker, n)
	for i := range workers {
		workers[i] = r.run.NewWorker()
		defer workers[i].Release()
	}
	if err := r.add(workers); err != nil {
		return nil, err
	}
	scatter := r.run.MustScatter(workers)
	for _, w := range workers {
		if !scatter {
			break
		}
		if err := w.ScatterRest(); err != nil {
			return nil, err
		}
	}
	tasks, _ := r.run.Tasks(workers)
	var batches []arrow.RecordBatch
	for i := 0; len(tasks) > 0; i++ {
		task := tasks[0]
		groups, split, err := workers[i%n].Process(context.Background(), task)
		if err != nil {
			return nil, err
		}
		tasks = append(tasks[1:], split...)
		if groups == nil {
			continue
		}
		made, err := r.finish(groups)
		groups.Release()
		if err != nil {
			return nil, err
		}
		batches = append(batches, made...)
	}
	reader, err := array.NewRecordReader(r.bound.Schema, batches)
	if err != nil {
		return nil, err
	}
	return grouptest.ReadAll(reader, len(r.c.Query.Keys))
}

// add gives the tiles of the case to workers, and closes them.
func (r *route) add(workers []*cpuagg.Worker) error {
	encoders := make([]*encode.Encoder, len(workers))
	for i := range encoders {
		encoders[i] = encode.NewEncoder(r.bound, r.finalizer.Interners)
		encoders[i].Dense = r.run.Dense()
	}
	turn, position := 0, uint64(0)
	for _, batch := range r.c.Batches() {
		var columns []arrow.Array
		var fields []arrow.Field
		for _, c := range r.bound.Columns {
			columns, fields = append(columns, batch.Column(c.Index)), append(fields, batch.Schema().Field(c.Index))
		}
		projected := array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, batch.NumRows())
		for from, rows := 0, int(batch.NumRows()); from < rows; from += rowdata.TileRows {
			turn = (turn + 1) % len(workers)
			if err := encoders[turn].SetBatch(projected, position); err != nil {
				return err
			}
			tile, err := encoders[turn].Encode(from, rows)
			if err != nil {
				return err
			}
			if err := workers[turn].Add(tile); err != nil {
				return err
			}
		}
		position += uint64(batch.NumRows())
	}
	for _, w := range workers {
		if err := w.Close(); err != nil {
			return err
		}
	}
	return nil
}

// finish makes batches of groups, those with runs alone.
func (r *route) finish(g *cpuagg.Groups) (batches []arrow.RecordBatch, err error) {
	const rowsMax = 1000
	for from := 0; from < g.Len; {
		to := from + 1
		for to < g.Len && to-from < rowsMax && !g.HasRuns(from, to+1) {
			to++
		}
		batch, err := r.finalizer.Batch(context.Background(), g, from, to)
		if err != nil {
			return nil, err
		}
		batches = append(batches, batch)
		from = to
	}
	return batches, nil
}
