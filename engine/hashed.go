package engine

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/cpujoin"
	"github.com/mpga/mpga/engine/internal/aggregator"
	"github.com/mpga/mpga/engine/internal/encode"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/arbiter"
	"github.com/mpga/mpga/internal/gather"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/spawn"
	"github.com/mpga/mpga/internal/threads"
)

// HashedOptions say what Engine.Hash makes of the rows of a source.
type HashedOptions struct {
	RowsOptions // the first columns of the batches are the keys

	// Keys is how keys are packed: a query of the keys over the first columns alone. Both sides of a join pack
	// them alike.
	Keys *rowdata.Bound
}

// Hashed is rows that are found by their keys: the build side of a join. It is safe for concurrent use until it is
// released.
type Hashed struct {
	build   *cpujoin.Build
	keys    *rowdata.Bound
	schema  *arrow.Schema
	batches []arrow.RecordBatch
	columns [][]arrow.Array   // by column and batch, and behind the batches a NULL
	found   [][]atomic.Uint32 // by batch, a bit for each row that Find has been told of
	grant   *arbiter.Grant
	stats   Stats
}

// Hash reads a source by all of the engine's threads, and keeps its rows, to be found by their keys. Rows with a key
// that is NULL are kept, and are not found.
func (e *Engine) Hash(ctx context.Context, src scan.Source, opt HashedOptions) (h *Hashed, err error) {
	err = spawn.Call(func() (err error) {
		h, err = e.hash(ctx, src, opt)
		return err
	})
	return h, err
}

func (e *Engine) hash(ctx context.Context, src scan.Source, opt HashedOptions) (*Hashed, error) {
	started := time.Now()
	splits, err := src.Splits(ctx, opt.Columns)
	if err != nil {
		return nil, err
	}
	ctx, _, done, err := e.enterBudgeted(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	of := &aggregator.Query{Workers: max(min(e.opt.Threads, len(splits)), 1), Share: e.statement(), Threads: e.threads}
	h := &Hashed{
		build: cpujoin.NewBuild(e.memory, &opt.Keys.Keys, of.Workers), keys: opt.Keys, schema: opt.Schema,
	}
	sink := &hashSink{
		to: h, query: of, memory: e.memory, newMap: opt.NewMap, workers: make([]*hashWorker, of.Workers),
	}
	input := &pipeline{
		engine: e, source: src, shared: of, sink: sink, feed: newFeed(splits), byBatch: true,
		progress: newProgress(e.opt.Progress, src.Stats(), splits, started),
	}
	stop := input.progress.start()
	err = input.progress.run(PhaseRead, func() error { return input.takeThrough(ctx) })
	if err = errors.Join(err, stop(err == nil)); err != nil {
		h.Release()
		return nil, err
	}
	rows := Rows{input: input}
	h.stats = rows.done()
	return h, nil
}

// Stats tells how the rows were read.
func (h *Hashed) Stats() Stats { return h.stats }

// Rows returns how many rows were kept.
func (h *Hashed) Rows() (rows int64) {
	for _, b := range h.batches {
		rows += b.NumRows()
	}
	return rows
}

// Release gives back what the rows take.
func (h *Hashed) Release() {
	h.build.Release()
	for _, b := range h.batches {
		b.Release()
	}
	for _, column := range h.columns {
		column[len(column)-1].Release()
	}
	h.batches, h.columns = nil, nil
	if h.grant != nil {
		h.grant.Leave()
	}
}

// hashSink is the sink of rows that are kept by their keys.
type hashSink struct {
	to      *Hashed
	query   *aggregator.Query
	memory  rowdata.Budget
	newMap  func() RowMap
	workers []*hashWorker // nil before its first batch

	mu sync.Mutex // of to's batches
}

// hashWorker is what one worker has.
type hashWorker struct {
	rows  RowMap
	keys  *keyPacker
	build *cpujoin.Worker
	skip  []uint8
}

var _ aggregator.Aggregator = (*hashSink)(nil)

// Begin implements aggregator.Aggregator.
func (s *hashSink) Begin(context.Context) error {
	s.to.grant = s.query.Share.Join(0, arbiter.All, nil)
	return nil
}

// TakeSplit implements aggregator.Aggregator.
func (s *hashSink) TakeSplit(context.Context, *aggregator.Rows, scan.Split) (bool, error) {
	return false, nil
}

// Take implements aggregator.Aggregator: it keeps what is made of the batch.
func (s *hashSink) Take(ctx context.Context, r *aggregator.Rows, from, to int) (int, error) {
	p, w := r.Piece(), s.workers[r.Worker]
	if w == nil {
		w = &hashWorker{
			rows: s.newMap(), keys: newKeyPacker(s.to.keys), build: s.to.build.NewWorker(),
			skip: make([]uint8, rowdata.TileRows),
		}
		s.workers[r.Worker] = w
	}
	err := scan.UseBatch(p.Batch, func() error {
		if err := w.rows.Begin(ctx, p.Batch); err != nil {
			return err
		}
		for {
			made, err := w.rows.Next(ctx)
			if made == nil || err != nil {
				return err
			}
			if err := s.keep(w, made); err != nil {
				return err
			}
		}
	})
	if err != nil {
		return 0, scan.Placed(p.Reader, p.Split.Name(), err)
	}
	return to - from, nil
}

// keep takes over a batch.
func (s *hashSink) keep(w *hashWorker, batch arrow.RecordBatch) error {
	if err := s.memory.Room(w.build.Growth(int(batch.NumRows()))); err != nil {
		batch.Release()
		return err
	}
	s.mu.Lock()
	number := uint64(len(s.to.batches))
	s.to.batches = append(s.to.batches, batch)
	s.mu.Unlock()
	return w.keys.tiles(batch, func(t *rowdata.Tile, from int) error {
		w.build.Add(t.Keys, t.Rows, number<<32|uint64(from), w.nulls(t))
		return nil
	})
}

// nulls returns which rows of a tile have a key that is NULL; nil where there are none.
func (w *hashWorker) nulls(t *rowdata.Tile) []uint8 {
	skip := w.skip[:t.Rows]
	some := false
	for _, valid := range t.Valid {
		if valid == nil {
			continue
		}
		if !some {
			clear(skip)
			some = true
		}
		for i, v := range valid[:t.Rows] {
			skip[i] |= 1 - v
		}
	}
	if !some {
		return nil
	}
	return skip
}

// EndInput implements aggregator.Aggregator.
func (s *hashSink) EndInput(context.Context) ([]scan.Split, error) { return nil, nil }

// Process implements aggregator.Aggregator: it makes the tables.
func (s *hashSink) Process(ctx context.Context) error {
	each := func(ctx context.Context, n int, f func(i int) error) error {
		var next atomic.Int64
		return s.query.Parallel(ctx, func(ctx context.Context, _ int, th *threads.Thread) error {
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return nil
				}
				if err := th.Yield(ctx); err != nil {
					return err
				}
				if err := f(i); err != nil {
					return err
				}
			}
		})
	}
	h := s.to
	if err := s.memory.Room(h.build.TableBytes()); err != nil {
		return err
	}
	if err := h.build.Finish(ctx, each); err != nil {
		return err
	}
	h.columns = make([][]arrow.Array, h.schema.NumFields())
	for i, f := range h.schema.Fields() {
		for _, b := range h.batches {
			h.columns[i] = append(h.columns[i], b.Column(i))
		}
		h.columns[i] = append(h.columns[i], array.MakeArrayOfNull(memory.DefaultAllocator, f.Type, 1))
	}
	h.found = make([][]atomic.Uint32, len(h.batches))
	for i, b := range h.batches {
		h.found[i] = make([]atomic.Uint32, (b.NumRows()+31)/32)
	}
	return nil
}

// Release implements aggregator.Aggregator.
func (s *hashSink) Release(error) (again bool, err error) {
	for _, w := range s.workers {
		if w != nil {
			w.rows.Release()
		}
	}
	return false, nil
}

// keyPacker packs the keys of batches whose first columns they are.
type keyPacker struct {
	encoder *encode.Encoder
	schema  *arrow.Schema // of the keys
}

func newKeyPacker(b *rowdata.Bound) *keyPacker {
	fields := make([]arrow.Field, len(b.Columns))
	for i, c := range b.Columns {
		fields[i] = arrow.Field{Name: c.Name, Type: c.Type, Nullable: true}
	}
	return &keyPacker{encode.NewEncoder(b, encode.NewInterners(b)), arrow.NewSchema(fields, nil)}
}

// tiles calls a function with the tiles of a batch and their first rows.
func (k *keyPacker) tiles(batch arrow.RecordBatch, f func(t *rowdata.Tile, from int) error) error {
	n := k.schema.NumFields()
	keys := array.NewRecordBatch(k.schema, batch.Columns()[:n:n], batch.NumRows())
	defer keys.Release()
	if err := k.encoder.SetBatch(keys, 0); err != nil {
		return err
	}
	for from := 0; from < int(batch.NumRows()); {
		t, err := k.encoder.Encode(from, int(batch.NumRows()))
		if err != nil {
			return err
		}
		if err := f(t, from); err != nil {
			return err
		}
		from += t.Rows
	}
	return nil
}

// Partners are pairs of rows: of a batch, and of a Hashed.
type Partners struct {
	Rows  []gather.Row // of the batch
	Found []gather.Row // of the Hashed
}

// Finder finds rows of a Hashed by the keys of other rows. One goroutine at a time uses it.
type Finder struct {
	of     *Hashed
	keys   *keyPacker
	prober *cpujoin.Prober
	pairs  cpujoin.Pairs
}

// NewFinder returns a finder.
func (h *Hashed) NewFinder() *Finder {
	return &Finder{of: h, keys: newKeyPacker(h.keys), prober: h.build.NewProber()}
}

// Find calls a function with the pairs of rows of a batch, whose first columns are the keys, and of the Hashed whose
// keys are equal: at most `most` pairs at a time, in the order of the batch. The pairs are valid until the function
// returns.
func (f *Finder) Find(batch arrow.RecordBatch, most int, use func(p *Partners) error) error {
	var p Partners
	return f.keys.tiles(batch, func(t *rowdata.Tile, from int) error {
		f.prober.Begin(t.Keys, t.Rows)
		for more := true; more; {
			f.pairs.Reset()
			more = f.prober.Next(&f.pairs, uint32(from), most)
			if len(f.pairs.Probe) == 0 {
				continue
			}
			p.Rows, p.Found = p.Rows[:0], p.Found[:0]
			for i, row := range f.pairs.Probe {
				found := f.pairs.Build[i]
				p.Rows = append(p.Rows, gather.Row{Row: row})
				p.Found = append(p.Found, gather.Row{Batch: uint32(found >> 32), Row: uint32(found)})
			}
			if err := use(&p); err != nil {
				return err
			}
		}
		return nil
	})
}

// None returns the row whose columns are NULL.
func (h *Hashed) None() gather.Row { return gather.Row{Batch: uint32(len(h.batches))} }

// Column returns the values of a column, by its place behind the keys included, in some rows.
func (h *Hashed) Column(mem memory.Allocator, column int, rows []gather.Row) (arrow.Array, error) {
	return gather.Column(mem, h.columns[column], rows)
}

// Note notes that rows have a partner.
func (h *Hashed) Note(rows []gather.Row) {
	for _, r := range rows {
		word, bit := &h.found[r.Batch][r.Row/32], uint32(1)<<(r.Row%32)
		if word.Load()&bit == 0 {
			word.Or(bit)
		}
	}
}

// Alone returns the rows that nobody has noted, of batch i; ok is false behind the last batch.
func (h *Hashed) Alone(i int) (rows []gather.Row, ok bool) {
	if i >= len(h.batches) {
		return nil, false
	}
	for row := range uint32(h.batches[i].NumRows()) {
		if h.found[i][row/32].Load()>>(row%32)&1 == 0 {
			rows = append(rows, gather.Row{Batch: uint32(i), Row: row})
		}
	}
	return slices.Clip(rows), true
}
