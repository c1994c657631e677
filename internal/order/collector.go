package order

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/spawn"
)

// Collector orders rows that the caller adds batch by batch, where a Reader reads them itself. One
// goroutine at a time uses it.
type Collector struct{ reader *Reader }

// NewCollector returns a collector of rows of a schema. done is as in New.
func NewCollector(ctx context.Context, schema *arrow.Schema, by By, opt Options,
	done func() error) (*Collector, error) {
	if len(by.Keys) == 0 {
		return nil, fmt.Errorf("%w: a Collector needs a key", query.ErrQuery)
	}
	r, err := newUnread(ctx, schema, by, opt, done)
	if err != nil {
		return nil, err
	}
	return &Collector{r}, nil
}

// Add takes the rows of a batch, which stays the caller's.
func (c *Collector) Add(batch arrow.RecordBatch) error {
	if c.reader.ctx.Err() != nil {
		return context.Cause(c.reader.ctx)
	}
	if err := c.reader.check(batch); err != nil {
		return err
	}
	err := spawn.Call(func() error { return c.reader.sort.add(c.reader.ctx, batch) })
	if err != nil {
		return c.reader.failed(err)
	}
	return nil
}

// Sorted returns the rows in order, once all of them are added. The reader belongs to the
// collector: Release of the collector ends both.
func (c *Collector) Sorted() *Reader { return c.reader }

// Release gives everything back.
func (c *Collector) Release() { c.reader.Release() }
