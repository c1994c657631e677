package engine

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/cpujoin"
	"github.com/mpga/mpga/engine/internal/encode"
	"github.com/mpga/mpga/internal/gather"
	"github.com/mpga/mpga/internal/rowdata"
)

// Hashed is rows in memory that are found by their keys. It is safe for concurrent use.
type Hashed struct {
	build   *cpujoin.Build
	keys    *rowdata.Bound
	schema  *arrow.Schema
	batches []arrow.RecordBatch
	columns [][]arrow.Array   // by column and batch, and behind the batches a NULL
	found   [][]atomic.Uint32 // by batch, a bit for each row that Note has been told of
}

func newHashed(m rowdata.Memory, of *HashedOptions, workers int) *Hashed {
	return &Hashed{build: cpujoin.NewBuild(m, &of.Keys.Keys, workers), keys: of.Keys, schema: of.Schema}
}

// finish makes what rows are found by, of all batches, which were added to the build.
func (h *Hashed) finish(
	ctx context.Context, each func(ctx context.Context, n int, f func(i int) error) error,
) error {
	if err := h.build.Finish(ctx, each); err != nil {
		return err
	}
	h.columns = make([][]arrow.Array, h.schema.NumFields())
	for i, f := range h.schema.Fields() {
		for _, b := range h.batches {
			h.columns[i] = append(h.columns[i], b.Column(i))
		}
		h.columns[i] = append(h.columns[i], nullOf(f.Type))
	}
	h.found = make([][]atomic.Uint32, len(h.batches))
	for i, b := range h.batches {
		h.found[i] = make([]atomic.Uint32, (b.NumRows()+31)/32)
	}
	return nil
}

// nullOf returns an array of one NULL.
func nullOf(of arrow.DataType) arrow.Array {
	return array.MakeArrayOfNull(memory.DefaultAllocator, of, 1)
}

// release gives back what the rows take.
func (h *Hashed) release() {
	h.build.Release()
	for _, b := range h.batches {
		b.Release()
	}
	for _, column := range h.columns {
		column[len(column)-1].Release()
	}
	h.batches, h.columns = nil, nil
}

// hashAdder adds batches to a Hashed. One goroutine at a time uses it.
type hashAdder struct {
	keys *keyPacker
	to   *cpujoin.Worker
	skip []uint8
}

func (h *Hashed) newAdder() *hashAdder {
	return &hashAdder{newKeyPacker(h.keys), h.build.NewWorker(), make([]uint8, rowdata.TileRows)}
}

// add adds the batch of a number, which is to be among the Hashed's batches.
func (a *hashAdder) add(number uint32, batch arrow.RecordBatch) error {
	return a.keys.tiles(batch, func(t *rowdata.Tile, from int) error {
		a.to.Add(t.Keys, t.Rows, uint64(number)<<32|uint64(from), a.nulls(t))
		return nil
	})
}

// nulls returns which rows of a tile have a key that is NULL; nil where there are none.
func (a *hashAdder) nulls(t *rowdata.Tile) []uint8 {
	skip := a.skip[:t.Rows]
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

// Turn makes the finder find rows of another Hashed of the same keys.
func (f *Finder) Turn(to *Hashed) { f.of, f.prober = to, to.build.NewProber() }

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
