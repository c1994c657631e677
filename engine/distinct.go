package engine

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/arbiter"
	"github.com/mpga/mpga/internal/gather"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/table"
)

// Distinct tells rows that are new from rows that were there before, as groups are told apart, while the table of their
// keys fits the memory. One goroutine at a time uses it.
type Distinct struct {
	statement *Statement
	keys      *keyPacker
	table     *table.Table
	grant     *arbiter.Grant
	hashes    []uint64
	numbers   []uint32
}

// DistinctKeys returns how rows of a schema are told apart.
func DistinctKeys(schema *arrow.Schema) (*rowdata.Bound, error) {
	var q query.Query
	for _, f := range schema.Fields() {
		q.Keys = append(q.Keys, query.Key{Column: f.Name})
	}
	return rowdata.Bind(q, schema, make([]scan.ColumnStats, schema.NumFields()))
}

// NewDistinct returns a Distinct of no rows. keys are DistinctKeys of the rows.
func (s *Statement) NewDistinct(keys *rowdata.Bound) *Distinct {
	return &Distinct{
		statement: s, keys: newKeyPacker(keys), table: table.New(s.memory, &keys.Keys, 0, false),
		grant:  s.share.Join(keptBytesMin, arbiter.All, nil),
		hashes: make([]uint64, rowdata.TileRows), numbers: make([]uint32, rowdata.TileRows),
	}
}

// Add returns the rows of a batch that are equal to no row before them, as a batch that is the caller's. Where the rows
// do not fit the memory, isFull is true, and none is added.
func (d *Distinct) Add(batch arrow.RecordBatch) (fresh arrow.RecordBatch, isFull bool, err error) {
	bytes := d.table.Bytes() + 2*rowdata.BatchBytes(batch) // a table of twice the size takes the place of a full one
	isFull = d.statement.engine.opt.testing.SpillAll || int(batch.NumRows()) > table.LenMax-d.table.Len ||
		d.table.Bytes()+bytes > d.grant.Bytes()/2 || d.statement.memory.Room(bytes) != nil
	if isFull {
		return nil, true, nil
	}
	var rows []gather.Row
	err = d.keys.tiles(batch, func(t *rowdata.Tile, from int) error {
		next, numbers := uint32(d.table.Len), d.numbers[:t.Rows]
		d.table.Find(t.Keys, d.hashes[:t.Rows], numbers)
		for i, number := range numbers {
			if number == next {
				next++
				rows = append(rows, gather.Row{Row: uint32(from + i)})
			}
		}
		return nil
	})
	if err != nil {
		return nil, false, err
	}
	if int64(len(rows)) == batch.NumRows() {
		batch.Retain()
		return batch, false, nil
	}
	fresh, err = gather.Batch(d.statement.engine.opt.Allocator, batch.Schema(), batch, rows)
	return fresh, false, err
}

// Release gives back what the table takes.
func (d *Distinct) Release() {
	d.table.Release()
	d.grant.Leave()
}
