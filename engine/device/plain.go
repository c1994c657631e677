package device

import (
	"context"
	"math"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/recordreader"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/threads"
	"github.com/mpga/mpga/kernels"
	"github.com/mpga/mpga/stream"
)

// plainResult says which bytes of a device's groups are the columns of a result, where all columns
// lie there as Arrow has them. Batches then share the memory that the groups were copied to.
type plainResult struct {
	send  func(ctx context.Context, th *threads.Thread, batch arrow.RecordBatch) error
	folds []plainFold // by aggregate
}

// plainFold is a fold whose states are results: words, or sums of two words.
type plainFold struct{ fold, words int }

// newPlainResult returns nil where a column of the result does not lie so, where the result is no
// batches, or where the engine does not choose their memory.
func newPlainResult(q *Query, l *Layout) *plainResult {
	if q.Output.Send == nil || l.parts != nil || !l.plainKeys() {
		return nil
	}
	p := &plainResult{send: q.Output.Send}
	for i := range q.Bound.Outputs {
		o := &q.Bound.Outputs[i]
		if o.Count >= 0 || !l.plainFold(o, q.Rows) {
			return nil
		}
		p.folds = append(p.folds, plainFold{o.Fold, l.shape.Folds[o.Fold].Words()})
	}
	return p
}

// plainKeys reports whether packed keys are the values of the one key column.
func (l *Layout) plainKeys() bool {
	keys := &l.bound.Keys
	if len(keys.Fields) != 1 || l.bound.Coded && l.bound.Counted[0] {
		return false
	}
	f := &keys.Fields[0]
	fixed, ok := l.bound.Columns[l.bound.KeyColumns[0]].Type.(arrow.FixedWidthDataType)
	bits := 8 * l.shape.KeyBytes
	return ok && fixed.BitWidth() == bits && !f.Interned && !f.Nullable &&
		(f.Kind == rowdata.Int64 || f.Kind == rowdata.Uint64) &&
		f.Base == 0 && f.Shift == 0 && f.Span == math.MaxUint64>>(64-bits)
}

// plainFold reports whether the states of an aggregate's fold are its results. rows is how many rows
// the input has at most, below 0 where that is not known.
func (l *Layout) plainFold(o *rowdata.Output, rows int64) bool {
	op := l.shape.Folds[o.Fold].Op
	switch o.Type.ID() {
	case arrow.INT64:
		if o.Aggregate.Func == query.Sum {
			return op == kernels.Sum128 || op == kernels.Sum64 && rows >= 0 && rows <= math.MaxInt32
		}
		return op == kernels.Count
	case arrow.FLOAT64:
		return op == kernels.SumFloat && o.Aggregate.Func == query.Sum
	}
	return false
}

// sharedChunk frees the columns of a batch that lie in the memory of a chunk of groups. It is an
// allocator, since buffers give their memory back to allocators.
type sharedChunk struct {
	memory.Allocator
	devices *coprocessor
	chunk   groupChunk
	left    atomic.Int64 // columns
}

// Free implements memory.Allocator.
func (s *sharedChunk) Free([]byte) {
	if s.left.Add(-1) > 0 {
		return
	}
	c := s.devices
	c.put(s.chunk.set, 1)
	c.query.Devices.put(c.lease.deviceSet, nil)
}

// plainWords returns the words of a fold's states, of some groups.
func plainWords(g *stream.Groups, f plainFold, from, to int) []uint64 {
	b := g.States[f.fold][8*f.words*from : 8*f.words*to]
	return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/8)
}

// isPlain reports whether all sums of a chunk are numbers of 64 bits.
func (p *plainResult) isPlain(chunk groupChunk) bool {
	for _, f := range p.folds {
		if f.words == 1 {
			continue
		}
		words, beyond := plainWords(chunk.set.Groups, f, chunk.from, chunk.to), uint64(0)
		for i := 1; i < len(words); i += 2 {
			beyond |= words[i] ^ uint64(int64(words[i-1])>>63)
		}
		if beyond != 0 {
			return false
		}
	}
	return true
}

// writePlain sends the groups of a chunk as they lie; sums of two words become one word in place.
// Requires: isPlain.
func (c *coprocessor) writePlain(ctx context.Context, th *threads.Thread, chunk groupChunk) error {
	p, g, from, to := c.plain, chunk.set.Groups, chunk.from, chunk.to
	shared := &sharedChunk{Allocator: memory.DefaultAllocator, devices: c, chunk: chunk}
	columns := make([]arrow.Array, 0, 1+len(p.folds))
	shared.left.Store(int64(cap(columns)))
	chunk.set.users.Add(1)
	c.query.Devices.retain(c.lease.deviceSet)
	add := func(dt arrow.DataType, b []byte) {
		data := array.NewData(dt, to-from, []*memory.Buffer{nil, memory.NewBufferWithAllocator(b, shared)}, nil, 0, 0)
		for _, buffer := range data.Buffers() {
			if buffer != nil {
				buffer.Release() // data has a reference of its own
			}
		}
		columns = append(columns, array.MakeFromData(data))
		data.Release()
	}
	width := c.layout.shape.KeyBytes
	schema := c.query.Bound.Schema
	add(schema.Field(0).Type, g.Keys[width*from:width*to])
	for i, f := range p.folds {
		if f.words == 2 && !slices.Contains(p.folds[:i], f) { // else it has become one
			words := plainWords(g, f, from, to)
			for j := range to - from {
				words[j] = words[2*j]
			}
		}
		at := 8 * f.words * from
		add(schema.Field(1+i).Type, g.States[f.fold][at:at+8*(to-from)])
	}
	batch := array.NewRecordBatch(schema, columns, int64(to-from))
	recordreader.ReleaseAll(columns)
	return p.send(ctx, th, batch)
}
