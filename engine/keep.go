package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/arbiter"
	"github.com/mpga/mpga/internal/recordreader"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/scatter"
	"github.com/mpga/mpga/internal/spawn"
	"github.com/mpga/mpga/internal/store"
)

// Kept is rows that are read any number of times: in memory, and, where they outgrow it, in temporary files. It is
// safe for concurrent use.
type Kept struct {
	statement *Statement
	schema    *arrow.Schema
	grant     *arbiter.Grant
	store     *store.Store
	encoder   *store.BatchEncoder
	batches   []arrow.RecordBatch
	held      int64 // bytes of batches
	spools    []*keptSpool
	isEnded   bool // the last spool
	rows      int64
}

// keptSpool is batches in a temporary file, behind the batches in memory.
type keptSpool struct {
	scatter.Spool
	first, rows, bytes int64
}

// keptBytesMin is the least memory that is asked for kept rows, in bytes; spooledBytes, how many bytes of rows one
// thread reads in a piece.
const (
	keptBytesMin = 64 << 10
	spooledBytes = 32 << 20
)

// Keep reads all rows of a reader, which stays the caller's, and keeps them.
func (s *Statement) Keep(ctx context.Context, from array.RecordReader) (k *Kept, err error) {
	k = s.NewKept(from.Schema())
	if err = spawn.Call(func() error { return k.fill(ctx, from) }); err != nil {
		return nil, errors.Join(store.NeedTemp(err, 0, 0), k.Release())
	}
	return k, nil
}

// NewKept returns no rows, to which Add adds some. They are read between End and the next Add.
func (s *Statement) NewKept(schema *arrow.Schema) *Kept {
	return &Kept{
		statement: s, schema: schema, encoder: store.NewBatchEncoder(s.memory, s.engine.opt.Allocator),
		store: s.newBatchStore(1), grant: s.share.Join(keptBytesMin, arbiter.All, nil),
	}
}

// fill keeps the batches of a reader.
func (k *Kept) fill(ctx context.Context, from array.RecordReader) error {
	err := recordreader.Each(ctx, from, func(batch arrow.RecordBatch) error {
		spawn.Step()
		return k.Add(batch)
	})
	if err != nil {
		return err
	}
	return k.End()
}

// Add adds the rows of a batch, which stays the caller's.
func (k *Kept) Add(batch arrow.RecordBatch) error {
	bytes := rowdata.BatchBytes(batch)
	if len(k.spools) > 0 || k.statement.engine.opt.testing.SpillAll || k.held+bytes > k.grant.Bytes()/4 ||
		k.statement.memory.Room(bytes) != nil {
		if err := k.spool(batch, bytes); err != nil {
			return err
		}
	} else {
		batch.Retain()
		k.batches = append(k.batches, batch)
		k.held += bytes
	}
	k.rows += batch.NumRows()
	return nil
}

// End ends the adding of rows.
func (k *Kept) End() error {
	k.grant.Ask(k.held, k.held) // until Release
	return k.endSpool()
}

// spool writes a batch to a file.
func (k *Kept) spool(batch arrow.RecordBatch, bytes int64) error {
	if last := len(k.spools) - 1; last < 0 || k.isEnded || k.spools[last].bytes >= spooledBytes {
		if err := k.endSpool(); err != nil {
			return err
		}
		k.isEnded = false
		k.spools = append(k.spools, &keptSpool{Spool: k.store.NewSpool(&store.BatchLayout), first: k.rows})
	}
	to := k.spools[len(k.spools)-1]
	page, err := k.encoder.Page(batch)
	if err != nil {
		return err
	}
	to.rows, to.bytes = to.rows+batch.NumRows(), to.bytes+bytes
	return to.Put(page)
}

// endSpool ends the writing of the last spool.
func (k *Kept) endSpool() error {
	if len(k.spools) == 0 || k.isEnded {
		return nil
	}
	k.isEnded = true
	return k.spools[len(k.spools)-1].End()
}

// Rows returns how many rows there are.
func (k *Kept) Rows() int64 { return k.rows }

// Stats tells what was spilled.
func (k *Kept) Stats() (s Stats) {
	s.SpilledBytes, s.SpilledStored, s.SpillFiles = k.store.Spilled(), k.store.Stored(), k.store.Files()
	return s
}

// Source returns the rows.
// Requires: nobody reads them once Release is called.
func (k *Kept) Source() scan.Source {
	inMemory := scan.Batches(k.schema, k.batches)
	if len(k.spools) == 0 {
		return inMemory
	}
	return &keptSource{inMemory, k}
}

// Read returns the rows in their order. The end of the context ends the reading.
// Requires: the reader is released before the rows are.
func (k *Kept) Read(ctx context.Context) array.RecordReader {
	return scan.InOrder(ctx, k.schema, scan.OpenOptions{}, scan.Once(k.Source()))
}

// Release gives back what the rows take.
func (k *Kept) Release() error {
	recordreader.ReleaseAll(k.batches)
	for _, s := range k.spools {
		s.Discard()
	}
	k.grant.Leave()
	return k.store.Close()
}

// keptSource is the rows of a Kept that are not all in memory.
type keptSource struct {
	scan.Source // of the rows in memory
	of          *Kept
}

// Stats implements scan.Source.
func (s *keptSource) Stats() scan.Stats { return scan.Stats{Rows: s.of.rows, Bytes: -1} }

// Splits implements scan.Source.
func (s *keptSource) Splits(ctx context.Context, columns []int) ([]scan.Split, error) {
	splits, err := s.Source.Splits(ctx, columns)
	if err != nil {
		return nil, err
	}
	for _, spool := range s.of.spools {
		splits = append(splits, &spoolSplit{spool, columns, recordreader.Columns(s.of.schema, columns)})
	}
	return splits, nil
}

// spoolSplit is the rows of a spool.
type spoolSplit struct {
	of      *keptSpool
	columns []int
	schema  *arrow.Schema // of columns
}

// Position implements scan.Split.
func (s *spoolSplit) Position() uint64 { return uint64(s.of.first) }

// Rows implements scan.Split.
func (s *spoolSplit) Rows() int64 { return s.of.rows }

// Bytes implements scan.Split.
func (s *spoolSplit) Bytes() int64 { return s.of.bytes }

// Name implements scan.Split.
func (s *spoolSplit) Name() string { return fmt.Sprintf("kept rows from row %d on", s.of.first) }

// Open implements scan.Split.
func (s *spoolSplit) Open(ctx context.Context, opt scan.OpenOptions) (array.RecordReader, error) {
	opt.EnsureDefaults()
	from := store.NewBatchReader(s.of.Pages(), opt.Allocator)
	return recordreader.New(s.schema, func() (arrow.RecordBatch, error) {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		batch, err := from.Next()
		if batch == nil {
			return nil, err
		}
		defer batch.Release()
		return recordreader.Pick(s.schema, batch, s.columns), nil
	}, from.Close), nil
}
