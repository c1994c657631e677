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
	sink := &mappedSink{newMap: opt.NewMap, maps: make([]RowMap, query.Workers), keep: keep, end: end}
	input := &pipeline{
		statement: s, source: src, shared: &query, sink: sink, feed: newFeed(splits), byBatch: true,
		progress: newProgress(s.engine.opt.Progress, src.Stats(), splits, started),
	}
	err = input.readThrough(ctx)
	return input.stats(), err
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

// mappedSink is the sink of batches that are made of other batches.
type mappedSink struct {
	newMap func() RowMap
	maps   []RowMap // by worker; nil before its first batch
	keep   func(worker int, batch arrow.RecordBatch) error
	end    func(ctx context.Context) error
}

var _ aggregator.Aggregator = (*mappedSink)(nil)

// Begin implements aggregator.Aggregator.
func (s *mappedSink) Begin(context.Context) error { return nil }

// TakeSplit implements aggregator.Aggregator.
func (s *mappedSink) TakeSplit(context.Context, *aggregator.Rows, scan.Split) (bool, error) {
	return false, nil
}

// Take implements aggregator.Aggregator: it keeps what is made of the batch.
func (s *mappedSink) Take(ctx context.Context, r *aggregator.Rows, from, to int) (int, error) {
	p, m := r.Piece(), s.maps[r.Worker]
	if m == nil {
		m = s.newMap()
		s.maps[r.Worker] = m
	}
	err := scan.UseBatch(p.Batch, func() error {
		if err := m.Begin(ctx, p.Batch); err != nil {
			return err
		}
		for {
			made, err := m.Next(ctx)
			if made == nil || err != nil {
				return err
			}
			if err := s.keep(r.Worker, made); err != nil {
				return err
			}
		}
	})
	if err != nil {
		return 0, scan.Placed(p.Reader, p.Split.Name(), err)
	}
	return to - from, nil
}

// EndInput implements aggregator.Aggregator.
func (s *mappedSink) EndInput(context.Context) ([]scan.Split, error) { return nil, nil }

// Process implements aggregator.Aggregator.
func (s *mappedSink) Process(ctx context.Context) error { return s.end(ctx) }

// Release implements aggregator.Aggregator.
func (s *mappedSink) Release(error) (again bool, err error) {
	for _, m := range s.maps {
		if m != nil {
			m.Release()
		}
	}
	return false, nil
}
