package engine

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/engine/internal/aggregator"
	"github.com/mpga/mpga/engine/scan"
	ordering "github.com/mpga/mpga/internal/order"
	"github.com/mpga/mpga/internal/rowcode"
	"github.com/mpga/mpga/internal/spawn"
)

// RowMap makes the batches of Rows from the batches of a source. One goroutine at a time uses it.
type RowMap interface {
	// Begin turns to a batch, which stays the caller's and is valid until the next call of Begin.
	Begin(ctx context.Context, batch arrow.RecordBatch) error

	// Next returns what is made of the next rows of the batch; nil when nothing is left.
	Next(ctx context.Context) (arrow.RecordBatch, error)

	// Release is called after the last batch.
	Release()
}

// RowsOptions say what Statement.Rows returns.
type RowsOptions struct {
	Columns []int         // of the source, as the maps take them
	Schema  *arrow.Schema // of what the maps return
	NewMap  func() RowMap // one for each worker

	// Code adds the columns of Schema to a program for devices, of Columns; or tells what has no instructions. Where it
	// is set, devices may make the rows of build sides in place of maps.
	Code func(b *rowcode.Builder, columns []rowcode.Value) ([]rowcode.Value, error)

	// InOrder keeps the order of the input: one worker reads it. The default is that batches come
	// as they are ready.
	InOrder bool
}

// Rows reads a source by all of the engine's threads, split by split, and returns what is made of
// its batches as they are ready. Rows must be released.
func (s *Statement) Rows(ctx context.Context, src scan.Source, opt RowsOptions) (rows *Rows, err error) {
	err = spawn.Call(func() (err error) {
		rows, err = s.rows(ctx, src, opt)
		return err
	})
	return rows, err
}

func (s *Statement) rows(ctx context.Context, src scan.Source, opt RowsOptions) (*Rows, error) {
	started := time.Now()
	splits, err := src.Splits(ctx, opt.Columns)
	if err != nil {
		return nil, err
	}
	ctx, cancel, leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	workers := max(min(s.engine.opt.Threads, len(splits)), 1)
	if opt.InOrder {
		workers = 1
	}
	r := &Rows{}
	r.init(opt.Schema, workers)
	r.cancel = cancel
	sink := newMapSink(workers, opt.NewMap, func(ctx context.Context, of *aggregator.Rows, m RowMap) error {
		p := of.Piece()
		use := func(f func() error) error { return scan.UseBatchOf(p.Reader, p.Split.Name(), p.Batch, f) }
		return eachMade(ctx, m, p.Batch, use, func(b arrow.RecordBatch) error { return r.send(ctx, of.Thread, b) })
	})
	of := s.newQuery(workers)
	r.input = s.mapped(src, splits, of, sink, started)
	spawn.Go(func() error {
		defer of.Share.Join(0, 0, nil).Leave() // what the maps hold is decoded columns
		return r.input.readThrough(ctx)
	}, func(err error) {
		r.failure, r.stats = cmp.Or(err, leave()), r.done()
		close(r.batches)
	})
	return r, nil
}

// Rows streams the rows of a source. It is an array.RecordReader, to be used as a Result is.
type Rows struct {
	batchStream
	input *pipeline
}

// Part returns which part of all rows a number of them is, from 0 to 1, or -1 where that is not known.
func (r *Rows) Part(rows int64) float64 {
	part := r.input.progress.partOf(r.input.progress.delivered.Load())
	return part * min(float64(rows)/float64(max(r.made.Load(), 1)), 1)
}

// done describes what the workers have done.
func (r *Rows) done() Stats {
	s := r.input.stats()
	s.ResultBatches = r.sent.Load()
	return s
}

// sortShare is the part of the memory limit that a sort wishes for, to hold rows before they go to disk.
const sortShare = 8

// sortBytesMin is the least that a sort works with.
const sortBytesMin = 1 << 20

// Sort returns the rows of a reader, such as a Result, in order, within the engine's budgets. The
// input is retained, and read by the first call of Next. A reader that is not released holds Close
// up. An error that is ErrQuery says that the order does not suit the columns.
func (s *Statement) Sort(ctx context.Context, input array.RecordReader, by ordering.By) (*ordering.Reader, error) {
	ctx, _, leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	var sorted *ordering.Reader
	err = spawn.Call(func() (err error) {
		sorted, err = ordering.New(ctx, input, by, s.sortOptions(), leave)
		return err
	})
	if err != nil {
		return nil, errors.Join(err, leave())
	}
	return sorted, nil
}

// Collector is Sort for rows that the caller adds. purpose is what errors say that the rows are
// ordered for. A collector that is not released holds Close up.
func (s *Statement) Collector(ctx context.Context, schema *arrow.Schema, by ordering.By,
	purpose string) (*ordering.Collector, error) {
	ctx, _, leave, err := s.enter(ctx)
	if err != nil {
		return nil, err
	}
	opt := s.sortOptions()
	opt.Purpose = purpose
	var collector *ordering.Collector
	err = spawn.Call(func() (err error) {
		collector, err = ordering.NewCollector(ctx, schema, by, opt, leave)
		return err
	})
	if err != nil {
		return nil, errors.Join(err, leave())
	}
	return collector, nil
}

// sortOptions are what the statement lets one sort use.
func (s *Statement) sortOptions() ordering.Options {
	e := s.engine
	return ordering.Options{
		Bytes:     max(s.memory.Limit()/sortShare, sortBytesMin),
		Statement: s.share,
		Memory:    s.memory,
		Temp:      e.temp,
		Threads:   e.opt.Threads,
		Units:     e.threads,
		BatchRows: e.opt.testing.ResultRows,
		ThinRows:  e.opt.testing.BlockRows,
		Allocator: s.results,

		RunAllocator: e.opt.Allocator,
	}
}
