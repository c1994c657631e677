package engine

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/mpga/mpga/engine/internal/aggregator"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/spawn"
	"github.com/mpga/mpga/internal/threads"
)

// pipeline reads a source by several workers to a sink:
//
//	splits -> feed -> reader -> batches -> sink
//	             pieces <---- a worker that waits takes a part of another's batch
type pipeline struct {
	statement *Statement
	source    scan.Source // nil of a merge
	shared    *aggregator.Query
	sink      aggregator.Aggregator
	feed      *feed
	byBatch   bool // the sink takes whole batches, whose decimals are as wide as their types

	progress *progress
	pages    scan.PageCounts // that the CPU has decoded
	rejected atomic.Int64    // rows of the input that were left out because of errors
}

// readAll reads the input to the sink.
func (p *pipeline) readAll(ctx context.Context) error {
	for {
		err := p.shared.Parallel(ctx, func(ctx context.Context, i int, th *threads.Thread) error {
			r := &reader{of: p, rows: p.shared.NewRows(i, th)}
			return r.readAll(ctx)
		})
		if err != nil {
			return err
		}
		refused, err := p.sink.EndInput(ctx)
		if err != nil || len(refused) == 0 {
			return err
		}
		p.progress.takeSplits(-1, refused...)
		p.feed.again(refused)
	}
}

// takeThrough takes the input through the sink, once, and releases the sink.
func (p *pipeline) takeThrough(ctx context.Context) error {
	err := spawn.Call(func() error {
		if err := p.sink.Begin(ctx); err != nil {
			return err
		}
		if err := p.readAll(ctx); err != nil {
			return err
		}
		return p.sink.Process(ctx)
	})
	_, releaseErr := p.sink.Release(err)
	return errors.Join(err, releaseErr)
}

// readThrough is takeThrough with its progress, where reading is the only phase.
func (p *pipeline) readThrough(ctx context.Context) error {
	stop := p.progress.start()
	err := p.progress.run(PhaseRead, func() error { return p.takeThrough(ctx) })
	return errors.Join(err, stop(err == nil))
}

// stats describes what was read.
func (p *pipeline) stats() Stats {
	s := Stats{
		Route:        "cpu",
		Threads:      p.shared.Workers,
		RowsRead:     p.progress.delivered.Load(),
		RowsRejected: p.rejected.Load(),
		BytesRead:    p.progress.bytes.Load(),
		Splits:       len(p.feed.splits),
		Filter:       scan.PruningOf(p.source),
		Elapsed:      time.Since(p.progress.started),
	}
	p.statement.engine.memoryStats(&s)
	return s
}
