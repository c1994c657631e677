package engine

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/cpujoin"
	"github.com/mpga/mpga/engine/internal/encode"
	"github.com/mpga/mpga/internal/gather"
	"github.com/mpga/mpga/internal/recordreader"
	"github.com/mpga/mpga/internal/rowdata"
)

// Hashed is rows in memory that are found by their keys. It is safe for concurrent use.
type Hashed struct {
	build  *cpujoin.Build
	keys   *rowdata.Bound
	schema *arrow.Schema

	nullsEqual []bool // by key: a NULL is equal to NULL

	memory rowdata.Memory
	asks   bool       // Predicate will be called
	ends   []keyRange // by key, where asks
	sets   []*keySet  // of several keys, where asks

	ranges *ranges

	batches []arrow.RecordBatch
	columns [][]arrow.Array   // by column and batch, and behind the batches a NULL
	codes   []*codes          // by column; nil of columns that are no strings, and of many rows
	found   [][]atomic.Uint32 // by batch, a bit for each row that Note has been told of

	rows     int64
	rowBytes int64 // of columns, on average

	lookupOnce sync.Once
	lookup     *lookup

	findersMu sync.Mutex
	finders   []*tableFinder // released

	// Of a join that a device makes; nil of others.
	of       *BuildSide
	device   *deviceSide // nil before the first pairs
	isTabled bool        // rows are in build, too
}

func newHashed(m rowdata.Memory, of *HashedOptions, workers int) *Hashed {
	h := &Hashed{keys: of.Keys, schema: of.Schema, nullsEqual: of.NullsEqual, memory: m}
	h.ranges = newRanges(of)
	h.build = cpujoin.NewBuild(m, &of.Keys.Keys, h.ranges.partners(), workers)
	return h
}

// eachFunc calls a function with the numbers below n, in any order and maybe side by side.
type eachFunc func(ctx context.Context, n int, f func(i int) error) error

// finish makes what rows are found by, of all batches, which were added to the build.
func (h *Hashed) finish(ctx context.Context, each eachFunc) error {
	if h.of == nil {
		if err := h.build.Finish(ctx, each); err != nil {
			return err
		}
	}
	h.columns = make([][]arrow.Array, h.schema.NumFields())
	for i, f := range h.schema.Fields() {
		for _, b := range h.batches {
			gather.Share(b.Column(i))
			h.columns[i] = append(h.columns[i], b.Column(i))
		}
		h.columns[i] = append(h.columns[i], nullOf(f.Type))
	}
	h.found = make([][]atomic.Uint32, len(h.batches))
	bytes := int64(0)
	for i, b := range h.batches {
		h.found[i] = make([]atomic.Uint32, (b.NumRows()+31)/32)
		h.rows, bytes = h.rows+b.NumRows(), bytes+rowdata.BatchBytes(b)
	}
	h.rowBytes = bytes / max(h.rows, 1)
	if !h.asks {
		return nil
	}
	return h.describeKeys(ctx, each)
}

// code makes dictionaries of strings, if rows are few.
func (h *Hashed) code(mem memory.Allocator) {
	if h.rows > CodedRowsMost {
		return
	}
	h.codes = make([]*codes, len(h.columns))
	for i, f := range h.schema.Fields() {
		h.codes[i] = newCodes(mem, f.Type, h.columns[i][:len(h.batches)])
	}
}

// RowBytes returns how many bytes the columns of a row take, on average.
func (h *Hashed) RowBytes() int64 { return h.rowBytes }

// nullOf returns an array of one NULL.
func nullOf(of arrow.DataType) arrow.Array {
	return array.MakeArrayOfNull(memory.DefaultAllocator, of, 1)
}

// release gives back what the rows take.
func (h *Hashed) release() {
	h.build.Release()
	if h.device != nil {
		h.device.release()
	}
	for _, s := range h.sets {
		s.release()
	}
	recordreader.ReleaseAll(h.batches)
	for _, column := range h.columns {
		column[len(column)-1].Release()
	}
	for _, c := range h.codes {
		if c != nil {
			c.release()
		}
	}
	h.batches, h.columns, h.codes = nil, nil, nil
}

// hashAdder adds batches to a Hashed. One goroutine at a time uses it.
type hashAdder struct {
	keys   *keyPacker
	lost   *lostRows
	to     *cpujoin.Worker
	values *rangeValues
}

func (h *Hashed) newAdder() *hashAdder {
	return &hashAdder{newKeyPacker(h.keys), h.newLostRows(), h.build.NewWorker(), h.ranges.newValues()}
}

// add adds the batch of a number, which is to be among the Hashed's batches.
func (a *hashAdder) add(number uint32, batch arrow.RecordBatch) error {
	if err := a.values.begin(number, batch); err != nil {
		return err
	}
	return a.keys.tiles(batch, func(t *rowdata.Tile, from int) error {
		a.to.Add(t.Keys, t.Rows, uint64(number)<<32|uint64(from), a.nulls(t, from), a.values.tile(from, t.Rows))
		return nil
	})
}

// nulls returns which rows of a tile, and of a batch from a row on, have a key that is NULL and equal to nothing, or a
// NULL in place of a range's value; nil where there are none.
func (a *hashAdder) nulls(t *rowdata.Tile, from int) []uint8 {
	skip := a.lost.of(t)
	for _, values := range a.values.columns {
		if values.NullN() == 0 {
			continue
		}
		if skip == nil {
			skip = a.lost.none(t)
		}
		for i := range skip {
			if values.IsNull(from + i) {
				skip[i] = 1
			}
		}
	}
	return skip
}

// lostRows tells which rows of a tile have a key that is NULL and equal to nothing. One goroutine at a time uses it.
type lostRows struct {
	nullsEqual []bool // by key
	skip       []uint8
}

func (h *Hashed) newLostRows() *lostRows {
	return &lostRows{h.nullsEqual, make([]uint8, rowdata.TileRows)}
}

// of returns a 1 for each such row, until the next call; nil where there are none.
func (l *lostRows) of(t *rowdata.Tile) (skip []uint8) {
	for k, valid := range t.Valid {
		if valid == nil || l.nullsEqual[k] {
			continue
		}
		if skip == nil {
			skip = l.none(t)
		}
		for i, v := range valid[:t.Rows] {
			skip[i] |= 1 - v
		}
	}
	return skip
}

// none returns a 0 for each row of a tile.
func (l *lostRows) none(t *rowdata.Tile) []uint8 {
	skip := l.skip[:t.Rows]
	clear(skip)
	return skip
}

// keyPacker packs the keys of batches whose first columns they are, tile by tile.
type keyPacker struct {
	encoder *encode.Encoder
	fields  []arrow.Field     // of the keys
	keys    arrow.RecordBatch // of the batch that is packed; nil of none
	from    int               // of keys: the first row of the next tile
}

func newKeyPacker(b *rowdata.Bound) *keyPacker {
	fields := make([]arrow.Field, len(b.Columns))
	for i, c := range b.Columns {
		fields[i] = arrow.Field{Name: c.Name, Type: c.Type, Nullable: true}
	}
	return &keyPacker{encoder: encode.NewEncoder(b, encode.NewInterners(b)), fields: fields}
}

// begin turns to a batch, which is in use until end. Readers may have brought strings as dictionaries or views.
func (k *keyPacker) begin(batch arrow.RecordBatch) error {
	return k.beginColumns(batch.Columns(), int(batch.NumRows()))
}

// beginColumns is begin of the columns of a batch.
func (k *keyPacker) beginColumns(columns []arrow.Array, rows int) error {
	n := len(k.fields)
	fields := slices.Clone(k.fields)
	for i := range fields {
		fields[i].Type = columns[i].DataType()
	}
	k.keys = array.NewRecordBatch(arrow.NewSchema(fields, nil), columns[:n:n], int64(rows))
	k.from = 0
	return k.encoder.SetBatch(k.keys, 0)
}

// next returns the next tile and its first row; nil at the end.
func (k *keyPacker) next() (t *rowdata.Tile, from int, err error) {
	rows := int(k.keys.NumRows())
	if k.from == rows {
		return nil, rows, nil
	}
	if t, err = k.encoder.Encode(k.from, rows); err != nil {
		return nil, 0, err
	}
	from = k.from
	k.from += t.Rows
	return t, from, nil
}

func (k *keyPacker) end() {
	if k.keys != nil {
		k.keys.Release()
		k.keys = nil
	}
}

// tiles calls a function with the tiles of a batch and their first rows.
func (k *keyPacker) tiles(batch arrow.RecordBatch, f func(t *rowdata.Tile, from int) error) error {
	return k.tilesOf(batch.Columns(), int(batch.NumRows()), f)
}

// tilesOf is tiles of the columns of a batch.
func (k *keyPacker) tilesOf(columns []arrow.Array, rows int, f func(t *rowdata.Tile, from int) error) error {
	defer k.end()
	if err := k.beginColumns(columns, rows); err != nil {
		return err
	}
	for {
		t, from, err := k.next()
		if t == nil || err != nil {
			return err
		}
		if err := f(t, from); err != nil {
			return err
		}
	}
}

// None returns the row whose columns are NULL.
func (h *Hashed) None() gather.Row { return gather.Row{Batch: uint32(len(h.batches))} }

// Column returns the values of a column, by its place behind the keys included, in some rows. Strings may come as
// dictionaries.
func (h *Hashed) Column(mem memory.Allocator, column int, rows []gather.Row) (arrow.Array, error) {
	if h.codes != nil && h.codes[column] != nil {
		return h.codes[column].column(mem, rows), nil
	}
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

// Batches returns how many batches there are.
func (h *Hashed) Batches() int { return len(h.batches) }

// BatchRows returns how many rows batch i has.
func (h *Hashed) BatchRows(i int) int64 { return h.batches[i].NumRows() }

// Noted returns the rows of batch i that Note was told of, or else the others.
func (h *Hashed) Noted(i int, noted bool) (rows []gather.Row) {
	for row := range uint32(h.batches[i].NumRows()) {
		if (h.found[i][row/32].Load()>>(row%32)&1 == 1) == noted {
			rows = append(rows, gather.Row{Batch: uint32(i), Row: row})
		}
	}
	return slices.Clip(rows)
}
