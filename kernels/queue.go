package kernels

import "unsafe"

// queue is what operators ask of a stream: kernels, fills and copies, in order, enqueued when they
// are submitted. The driver's streams are queues, and so is the executor of package cpurun in tests.
type queue interface {
	// launch adds a kernel, whose one parameter is a struct of argBytes at arg, copied here.
	launch(kernel string, grid, block, sharedBytes int, arg unsafe.Pointer, argBytes uintptr) error
	// fill adds a fill of device memory.
	fill(at uint64, bytes int64, value byte)
	// copyWithin adds a copy from device memory to device memory.
	copyWithin(to, from uint64, bytes int64)
	// submit enqueues what was added. The text says what for, if that fails.
	submit(format string, operands ...any) error

	deviceProperties() Properties
	// address returns where a span begins, as kernels take it: 0 for a span without a buffer.
	//
	// Requires: bytes from there lie in the buffer.
	address(at Span, bytes int64) uint64
}

// operators are those of a stream that is a queue.
type operators struct{ queue queue }

func (o operators) Sample(shape *Shape, rows *Rows, registers Span) error {
	return sample(o.queue, shape, rows, registers)
}

func (o operators) Aggregate(shape *Shape, plan Plan, rows *Rows, into *Groups, scratch Span) error {
	return aggregate(o.queue, shape, plan, rows, into, scratch)
}

func (o operators) Merge(shape *Shape, plan Plan, in *Groups, count int64, into *Groups, scratch Span) error {
	return merge(o.queue, shape, plan, in, count, into, scratch)
}

func (o operators) Scatter(shape *Shape, rows *Rows, seed uint64, radixBits int, into *Rows, offsets, scratch Span) error {
	return scatter(o.queue, shape, rows, seed, radixBits, into, offsets, scratch)
}

func (o operators) ResetTable(shape *Shape, table Table) error {
	return resetTable(o.queue, shape, table)
}

func (o operators) Insert(shape *Shape, rows *Rows, table Table, overflow *Rows, status Span) error {
	return insert(o.queue, shape, rows, table, overflow, status)
}

func (o operators) InsertGroups(shape *Shape, in *Groups, count int64, table Table, overflow *Groups, status Span) error {
	return insertGroups(o.queue, shape, in, count, table, overflow, status)
}

func (o operators) Compact(shape *Shape, table Table, first, end int64, into *Groups) error {
	return compact(o.queue, shape, table, first, end, into)
}
