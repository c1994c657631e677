package kernels

import "unsafe"

// queue is what operators ask of a stream: kernels, fills and copies, in order, enqueued when they
// are submitted. The driver's streams are queues, and so is the executor of package cpurun in
// tests.
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

// operators are the Operators of a stream that is a queue.
type operators struct{ queue queue }
