package engine

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	ordering "github.com/mpga/mpga/internal/order"
	"github.com/mpga/mpga/internal/spawn"
)

// sortShare is the part of the memory limit that a sort may hold of rows before they go to disk. The
// query whose result it sorts runs at the same time.
const sortShare = 8

// sortBytesMin is the least that a sort works with.
const sortBytesMin = 1 << 20

// Sort returns the rows of a reader, such as a Result, in order, within the engine's budgets. The input is
// retained, and read by the first call of Next. A reader that is not released holds Close up. An error that is
// ErrQuery says that the order does not suit the columns.
func (e *Engine) Sort(ctx context.Context, input array.RecordReader, by ordering.By) (*ordering.Reader, error) {
	ctx, _, done, err := e.enterBudgeted(ctx)
	if err != nil {
		return nil, err
	}
	var sorted *ordering.Reader
	err = spawn.Call(func() (err error) {
		sorted, err = ordering.New(ctx, input, by, e.sortOptions(), done)
		return err
	})
	if err != nil {
		done()
		return nil, err
	}
	return sorted, nil
}

// Collector is Sort for rows that the caller adds. purpose is what errors say that the rows are ordered for. A collector
// that is not released holds Close up.
func (e *Engine) Collector(ctx context.Context, schema *arrow.Schema, by ordering.By, purpose string) (*ordering.Collector, error) {
	ctx, _, done, err := e.enterBudgeted(ctx)
	if err != nil {
		return nil, err
	}
	opt := e.sortOptions()
	opt.Purpose = purpose
	var collector *ordering.Collector
	err = spawn.Call(func() (err error) {
		collector, err = ordering.NewCollector(ctx, schema, by, opt, done)
		return err
	})
	if err != nil {
		done()
		return nil, err
	}
	return collector, nil
}

// sortOptions are what the engine lets one sort use.
func (e *Engine) sortOptions() ordering.Options {
	return ordering.Options{
		Bytes:     max(e.memory.Limit()/sortShare, sortBytesMin),
		Memory:    e.memory,
		Temp:      e.temp,
		Threads:   e.opt.Threads,
		Units:     e.threads,
		BatchRows: e.opt.testing.ResultRows,
		Allocator: e.results,

		RunAllocator: e.opt.Allocator,
	}
}
