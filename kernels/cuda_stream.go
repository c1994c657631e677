//go:build cgo && linux

package kernels

// #include "driver.h"
import "C"

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/mpga/mpga/internal/invariants"
)

// cudaStream is a stream of the driver that neither waits for the null stream nor holds it back.
type cudaStream struct {
	operators
	device *cudaDevice // nil once the stream is closed
	stream unsafe.Pointer
	closed invariants.CloseChecker

	// The batch that is being gathered, in memory that the next batch reuses.
	ops     []C.mpga_op
	args    []byte
	kernels map[int]string // names, by operation
}

func (d *cudaDevice) NewStream() (Stream, error) {
	s := &cudaStream{device: d, kernels: make(map[int]string)}
	s.operators = operators{s}
	status := C.mpga_stream_create(d.driver.table, d.context, &s.stream)
	if err := d.driver.check(status, "device %d", d.ordinal); err != nil {
		return nil, err
	}
	s.closed.Open("a stream of the driver")
	return s, nil
}

func (s *cudaStream) check(status C.mpga_status, format string, operands ...any) error {
	return s.device.driver.check(status, format, operands...)
}

var _ queue = (*cudaStream)(nil)

func (s *cudaStream) deviceProperties() Properties { return s.device.properties }

func (s *cudaStream) address(at Span, bytes int64) uint64 { return address(at, bytes) }

func (s *cudaStream) launch(name string, grid, block, sharedBytes int, arg unsafe.Pointer, argBytes uintptr) error {
	k, err := s.device.kernel(name, sharedBytes)
	if err != nil {
		s.clear()
		return err
	}
	s.kernels[len(s.ops)] = name
	for len(s.args)%argAlign != 0 {
		s.args = append(s.args, 0)
	}
	offset := len(s.args)
	s.args = append(s.args, unsafe.Slice((*byte)(arg), argBytes)...)
	s.ops = append(s.ops, C.mpga_op{
		kind: C.mpga_op_launch, function: k.function,
		grid: C.uint32_t(grid), block: C.uint32_t(block), shared_bytes: C.uint32_t(sharedBytes),
		arg_offset: C.uint64_t(offset),
	})
	return nil
}

// argAlign suits every type that a kernel's parameter may hold.
const argAlign = 16

func (s *cudaStream) fill(at uint64, bytes int64, value byte) {
	if bytes > 0 {
		s.ops = append(s.ops, C.mpga_op{kind: C.mpga_op_fill, to: C.uint64_t(at),
			bytes: C.uint64_t(bytes), value: C.uint8_t(value)})
	}
}

func (s *cudaStream) copyWithin(to, from uint64, bytes int64) {
	if bytes > 0 {
		s.copyOp(C.mpga_op_copy_within, to, from, bytes)
	}
}

// copyOp adds a copy of one of the three kinds to the batch.
func (s *cudaStream) copyOp(kind C.int, to, from uint64, bytes int64) {
	s.ops = append(s.ops, C.mpga_op{kind: kind, to: C.uint64_t(to), from: C.uint64_t(from), bytes: C.uint64_t(bytes)})
}

// submit makes one crossing into C.
func (s *cudaStream) submit(format string, operands ...any) error {
	if len(s.ops) == 0 {
		return nil
	}
	status := C.mpga_stream_submit(s.device.driver.table, s.device.context, s.stream,
		unsafe.SliceData(s.ops), C.int64_t(len(s.ops)), unsafe.Pointer(unsafe.SliceData(s.args)))
	defer s.clear()
	if status.code == 0 {
		return nil
	}
	at := int(status.index)
	what := ""
	if name := s.kernels[at]; name != "" {
		what = fmt.Sprintf(", %s of %d blocks of %d threads with %d B", name, s.ops[at].grid,
			s.ops[at].block, s.ops[at].shared_bytes)
	}
	return s.check(status, "%s, operation %d of %d%s", fmt.Sprintf(format, operands...), at+1, len(s.ops), what)
}

// clear begins another batch.
func (s *cudaStream) clear() {
	s.ops, s.args = s.ops[:0], s.args[:0]
	clear(s.kernels)
}

func (s *cudaStream) CopyWithin(to, from Span, bytes int64) error {
	s.copyWithin(address(to, bytes), address(from, bytes), bytes)
	return s.submit("copy of %d B within the device", bytes)
}

func (s *cudaStream) Fill(at Span, bytes int64, value byte) error {
	s.fill(address(at, bytes), bytes, value)
	return s.submit("fill of %d B", bytes)
}

func (s *cudaStream) Copy(c Copy) error {
	n := int64(len(c.Host))
	if n == 0 {
		return nil
	}
	out, wait, direction := C.int(0), C.int(0), "host to device"
	if c.Out {
		out, direction = 1, "device to host"
	}
	// The driver gets memory of Go's heap for the time of the call only. For such memory it stages
	// the copy itself, and waits for most of it.
	if !isPinned(c.Host) {
		wait = 1
	}
	status := C.mpga_stream_copy(s.device.driver.table, s.device.context, s.stream, C.mpga_address(address(c.Device, n)),
		unsafe.Pointer(unsafe.SliceData(c.Host)), C.int64_t(n), out, wait)
	return s.check(status, "%d B, %s", n, direction)
}

// CopyBatch enqueues the copies of pinned memory in one crossing into C; copies of ordinary memory
// wait one by one.
//
// Each copy is a call of the driver. Its batched call, cuMemcpyBatchAsync, is not used: with 1,000
// copies and more it has crashed and lost data (driver 580.159.04), and it was no faster here.
func (s *cudaStream) CopyBatch(copies []Copy) error {
	total := int64(0)
	for _, c := range copies {
		n := int64(len(c.Host))
		if n == 0 {
			continue
		}
		if !isPinned(c.Host) {
			if err := s.Copy(c); err != nil {
				s.clear()
				return err
			}
			continue
		}
		device, host := address(c.Device, n), uint64(uintptr(unsafe.Pointer(unsafe.SliceData(c.Host))))
		if c.Out {
			s.copyOp(C.mpga_op_copy_out, host, device, n)
		} else {
			s.copyOp(C.mpga_op_copy_in, device, host, n)
		}
		total += n
	}
	return s.submit("copies of %d B in all", total)
}

func (s *cudaStream) Close() error {
	d := s.device
	if d == nil {
		return errors.New("stream closed twice")
	}
	s.device = nil
	s.closed.Close()
	return d.driver.check(C.mpga_stream_destroy(d.driver.table, d.context, s.stream), "stream of device %d", d.ordinal)
}

// cudaEvent is an event of the driver.
type cudaEvent struct {
	device *cudaDevice
	event  unsafe.Pointer
	closed invariants.CloseChecker
}

func (s *cudaStream) Record() (Event, error) {
	e := &cudaEvent{device: s.device, event: s.device.spareEvent()}
	status := C.mpga_event_record(s.device.driver.table, s.device.context, s.stream, &e.event)
	if err := s.check(status, "stream of device %d", s.device.ordinal); err != nil {
		return nil, err
	}
	e.closed.Open("an event of the driver")
	return e, nil
}

func (s *cudaStream) WaitFor(e Event) error {
	status := C.mpga_stream_wait_event(s.device.driver.table, s.device.context, s.stream, e.(*cudaEvent).event)
	return s.check(status, "stream of device %d", s.device.ordinal)
}

func (e *cudaEvent) Wait() error {
	d := e.device
	return d.driver.check(C.mpga_event_wait(d.driver.table, d.context, e.event), "work of device %d", d.ordinal)
}

func (e *cudaEvent) Nanos(since Event) (int64, error) {
	d := e.device
	var millis C.float
	status := C.mpga_event_millis(d.driver.table, d.context, since.(*cudaEvent).event, e.event, &millis)
	return int64(float64(millis) * 1e6), d.driver.check(status, "events of device %d", d.ordinal)
}

func (e *cudaEvent) Close() error {
	d := e.device
	e.closed.Close()
	d.eventsMu.Lock()
	defer d.eventsMu.Unlock()
	d.events = append(d.events, e.event)
	return nil
}

// spareEvent returns an event that was closed, to be recorded again; nil where there is none. A query has
// thousands of events, and the driver takes microseconds to make one.
func (d *cudaDevice) spareEvent() (event unsafe.Pointer) {
	d.eventsMu.Lock()
	defer d.eventsMu.Unlock()
	if last := len(d.events) - 1; last >= 0 {
		event, d.events = d.events[last], d.events[:last]
	}
	return event
}

// closeEvents gives the driver its events back.
func (d *cudaDevice) closeEvents() (err error) {
	for event := d.spareEvent(); event != nil; event = d.spareEvent() {
		err = errors.Join(err, d.driver.check(C.mpga_event_destroy(d.driver.table, d.context, event),
			"event of device %d", d.ordinal))
	}
	return err
}
