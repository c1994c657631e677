package engine

import (
	"cmp"
	"context"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/cpujoin"
	"github.com/mpga/mpga/engine/internal/aggregator"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/threads"
)

// readMapped calls a function with what is made of the batches of a source, which it takes over, by all threads, and
// another one at the end.
func (s *Statement) readMapped(ctx context.Context, of *aggregator.Query, src scan.Source, opt RowsOptions,
	keep func(worker int, batch arrow.RecordBatch) error, end func(ctx context.Context) error,
) (_ Stats, err error) {
	started := time.Now()
	splits, err := src.Splits(ctx, opt.Columns)
	if err != nil {
		return Stats{}, err
	}
	ctx, _, leave, err := s.enter(ctx)
	if err != nil {
		return Stats{}, err
	}
	defer func() { err = cmp.Or(err, leave()) }()
	query := *of
	query.Workers = max(min(query.Workers, len(splits)), 1)
	sink := newKeptSink(s, &query, opt, keep, end)
	input := s.mapped(src, splits, &query, sink, started)
	if of := sink.decoding; of != nil {
		of.Splits, of.Passed = splits, input.progress.passed
	}
	err = input.readThrough(ctx)
	stats := input.stats()
	stats.Device = sink.stats
	return stats, err
}

// mapped returns the pipeline from splits of a source to a sink of maps, whose reading has been prepared since a time.
func (s *Statement) mapped(src scan.Source, splits []scan.Split, of *aggregator.Query, sink aggregator.Aggregator,
	started time.Time) *pipeline {
	return &pipeline{
		statement: s, source: src, shared: of, sink: sink, feed: newFeed(splits), byBatch: true,
		progress: newProgress(s.engine.opt.Progress, src.Stats(), splits, started),
	}
}

// scatterer moves batches to partitions by the hashes of their keys. One goroutine at a time uses it.
type scatterer struct {
	*cpujoin.Scatterer
	layout *rowdata.KeyLayout
	keys   *keyPacker
}

// add takes over a batch, whose first columns are the keys.
func (s *scatterer) add(batch arrow.RecordBatch) error { return s.addBy(batch, batch.Columns()) }

// addBy takes over a batch whose rows go by the first of some columns.
func (s *scatterer) addBy(batch arrow.RecordBatch, columns []arrow.Array) error {
	rows := int(batch.NumRows())
	hashes := s.Hashes(rows)
	err := s.keys.tilesOf(columns, rows, func(t *rowdata.Tile, from int) error {
		s.Hash(s.layout, t.Keys, hashes[from:from+t.Rows])
		return nil
	})
	if err != nil {
		batch.Release()
		return err
	}
	return s.Add(batch)
}

// scatterers are the ways of workers to partitions; nil before the first batch of a worker.
type scatterers []*scatterer

// flush scatters the rows that the workers of a query hold.
func (w scatterers) flush(ctx context.Context, of *aggregator.Query) error {
	return of.Parallel(ctx, func(_ context.Context, i int, _ *threads.Thread) error {
		if w[i] == nil {
			return nil
		}
		return w[i].Flush()
	})
}

func (w scatterers) release() {
	for _, s := range w {
		if s != nil {
			s.Release()
		}
	}
}

// mapSink is the sink of what maps make of whole batches.
type mapSink struct {
	newMap func() RowMap
	maps   []RowMap                                                      // by worker: of one that reads batches
	take   func(ctx context.Context, r *aggregator.Rows, m RowMap) error // takes r's batch through the map
	end    func(ctx context.Context) error                               // once all are taken; nil does nothing
}

var _ aggregator.Aggregator = (*mapSink)(nil)

// newMapSink returns a sink for a number of workers.
func newMapSink(workers int, newMap func() RowMap,
	take func(ctx context.Context, r *aggregator.Rows, m RowMap) error) *mapSink {
	return &mapSink{newMap: newMap, maps: make([]RowMap, workers), take: take}
}

// Begin implements aggregator.Aggregator.
func (s *mapSink) Begin(context.Context) error { return nil }

// TakeSplit implements aggregator.Aggregator.
func (s *mapSink) TakeSplit(context.Context, *aggregator.Rows, scan.Split) (bool, error) {
	return false, nil
}

// Take implements aggregator.Aggregator: it takes the whole batch.
func (s *mapSink) Take(ctx context.Context, r *aggregator.Rows, from, to int) (int, error) {
	if s.maps[r.Worker] == nil {
		s.maps[r.Worker] = s.newMap()
	}
	if err := s.take(ctx, r, s.maps[r.Worker]); err != nil {
		return 0, err
	}
	return to - from, nil
}

// EndInput implements aggregator.Aggregator.
func (s *mapSink) EndInput(context.Context) ([]scan.Split, error) { return nil, nil }

// Process implements aggregator.Aggregator.
func (s *mapSink) Process(ctx context.Context) error {
	if s.end == nil {
		return nil
	}
	return s.end(ctx)
}

// Release implements aggregator.Aggregator.
func (s *mapSink) Release(error) (again bool, err error) {
	for _, m := range s.maps {
		if m != nil {
			m.Release()
		}
	}
	return false, nil
}
