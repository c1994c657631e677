package engine

import (
	"context"
	"errors"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/cpuagg"
	"github.com/mpga/mpga/engine/internal/aggregator"
	"github.com/mpga/mpga/internal/invariants"
	"github.com/mpga/mpga/internal/threads"
	"github.com/mpga/mpga/internal/vector"
)

// output takes finished groups.
type output interface {
	// begin is called when the input is used up; once more where a device fails after that.
	begin() error

	// writer returns one worker's way to the output.
	writer() aggregator.Writer

	// end is called when every writer has been closed.
	end() error
}

// batchOutput is the output that finalizes groups and sends them as record batches. It is every
// worker's writer, too.
type batchOutput struct {
	query  *execution
	to     *batchStream
	varies bool    // some column has values of no fixed width
	most   *most   // which groups are asked for; nil for all
	maps   rowMaps // what is made of groups
}

// rowMaps are the row maps of the threads that finish groups.
type rowMaps struct {
	made func() RowMap // nil: groups stay as they are

	mu   sync.Mutex
	idle []RowMap
}

// take returns a map that nobody else uses.
func (m *rowMaps) take() RowMap {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.idle) == 0 {
		return m.made()
	}
	last := len(m.idle) - 1
	of := m.idle[last]
	m.idle = m.idle[:last]
	return of
}

// give gives a map back.
func (m *rowMaps) give(of RowMap) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.idle = append(m.idle, of)
}

// release releases the maps.
// Requires: all have been given back.
func (m *rowMaps) release() {
	for _, of := range m.idle {
		of.Release()
	}
}

func (o *batchOutput) begin() error              { return nil }
func (o *batchOutput) writer() aggregator.Writer { return o }
func (o *batchOutput) end() error                { return nil }
func (o *batchOutput) Close() error              { return nil }
func (o *batchOutput) Release()                  {}

// Write implements aggregator.Writer.
func (o *batchOutput) Write(ctx context.Context, th *threads.Thread, g *cpuagg.Groups) error {
	if o.most != nil {
		all := g.Len
		g = o.most.of(g)
		o.query.progress.groups.Add(int64(all - g.Len))
	}
	rows := o.batchRows(g)
	for from := 0; from < g.Len; from += rows {
		if err := o.emit(ctx, th, g, from, min(from+rows, g.Len)); err != nil {
			return err
		}
	}
	return nil
}

// batchShare is the part of a worker's share of the memory limit that a batch of results may take,
// and batchBytesMax the most. There are some batches at a time: one is made, one waits, one is
// written.
const (
	batchShare    = 32
	batchBytesMax = 32 << 20
)

// batchRows returns how many groups make a batch: fewer where their strings or lists are long.
func (o *batchOutput) batchRows(g *cpuagg.Groups) int {
	e := o.query.statement.engine
	rows := e.opt.testing.ResultRows
	if g.Len == 0 || !o.varies {
		return rows
	}
	perGroup := g.Bytes()/int64(g.Len) + 1
	return int(min(max(min(e.share()/batchShare, batchBytesMax)/perGroup, 1), int64(rows)))
}

// emit finalizes groups from to to and sends them, in halves where one array cannot hold them.
func (o *batchOutput) emit(ctx context.Context, th *threads.Thread, g *cpuagg.Groups, from, to int) error {
	q := o.query
	var batch arrow.RecordBatch
	err := vector.ErrTooLarge
	if to-from == 1 || !g.HasRuns(from, to) {
		batch, err = q.final.Batch(ctx, g, from, to)
	}
	if errors.Is(err, vector.ErrTooLarge) && to-from > 1 {
		mid := (from + to) / 2
		if err := o.emit(ctx, th, g, from, mid); err != nil {
			return err
		}
		return o.emit(ctx, th, g, mid, to)
	}
	if err != nil {
		return err
	}
	return o.send(ctx, th, batch)
}

// send hands what is made of a batch of the query's groups to the reader of the result.
func (o *batchOutput) send(ctx context.Context, th *threads.Thread, batch arrow.RecordBatch) error {
	o.query.progress.groups.Add(batch.NumRows())
	return o.put(ctx, th, batch)
}

// put hands what is made of a batch of groups to the reader of the result. The thread may be nil.
func (o *batchOutput) put(ctx context.Context, th *threads.Thread, batch arrow.RecordBatch) error {
	if o.maps.made == nil {
		return o.to.send(ctx, th, batch)
	}
	defer batch.Release()
	invariants.Sometimes("engine: threads that finish groups make rows of them")
	of := o.maps.take()
	defer o.maps.give(of)
	return eachMade(ctx, of, batch, call, func(made arrow.RecordBatch) error { return o.to.send(ctx, th, made) })
}
