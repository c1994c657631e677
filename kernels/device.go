package kernels

import "errors"

// Errors that callers branch on. Every error of a device wraps one of them, or a driver's code.
var (
	// ErrNoDevice: no usable device, or no driver. The text says which, and what would help.
	ErrNoDevice = errors.New("no device")
	// ErrOutOfMemory: the device, or its limit, has no room for an allocation.
	ErrOutOfMemory = errors.New("out of device memory")
	// ErrPinnedLimit: Options.PinnedLimit has no room for an allocation.
	ErrPinnedLimit = errors.New("over the limit of pinned memory")
	// ErrDeviceLost: the device failed; nothing on it can be used any more.
	ErrDeviceLost = errors.New("device lost")
)

// Device is the only door to a GPU. Methods may be called by any goroutine at any time.
type Device interface {
	Properties() Properties

	// Memory returns the bytes of device memory that are free and that there are, within the limit
	// that the device was opened with.
	Memory() (free, total int64, err error)

	// Alloc returns n bytes of device memory, aligned to 256 bytes, with any contents.
	Alloc(n int64) (Buffer, error)

	// AllocPinned returns n bytes of page-locked host memory, which the device copies from and to
	// at full speed, with any contents.
	AllocPinned(n int64) (Pinned, error)

	// NewStream returns a stream. Work on different streams may overlap.
	NewStream() (Stream, error)

	// Close frees the device. Streams, buffers and events must be closed before.
	Close() error
}

// Properties of a device that do not change while it is open.
type Properties struct {
	Name              string
	UUID              string
	ComputeCapability int // 90 for 9.0
	Multiprocessors   int
	MemoryBytes       int64
	L2Bytes           int64
	SharedBytesMax    int // of one block's shared memory
	DriverVersion     int // of CUDA, 13000 for 13.0
	CopyEngines       int
}

// Buffer is device memory. Between a method of a stream that takes it and an event recorded
// afterwards it belongs to the stream.
type Buffer interface {
	Bytes() int64
	// Free gives the memory back. No stream may own the buffer.
	Free() error
}

// Pinned is page-locked host memory, under the same rule as a Buffer.
type Pinned interface {
	Bytes() []byte
	Free() error
}

// Event marks a point of a stream.
type Event interface {
	// Wait returns when the work before the event is complete, with the first error of that work.
	// The event is done then.
	Wait() error
	// Nanos returns the time between an earlier event and this one, as the device measured it.
	// Requires: both are done.
	Nanos(since Event) (int64, error)
	Close() error
}

// Span is a part of a device buffer.
type Span struct {
	Buffer Buffer
	Offset int64 // bytes
}

// At returns the part that begins offset bytes further on.
func (s Span) At(offset int64) Span { return Span{s.Buffer, s.Offset + offset} }

// Copy is one transfer between host and device, of len(Host) bytes. Host lies in a Pinned
// (copied asynchronously), or in ordinary memory, which must stay as it is until the copy is done.
type Copy struct {
	Device Span
	Host   []byte
	Out    bool // from the device to the host
}

// Stream orders work on a device. Methods enqueue and return; memory that is passed in belongs to
// the stream until an event recorded after the call completes. One goroutine at a time uses a
// stream.
//
// An error of asynchronous work arrives at the next Wait of one of the stream's events.
type Stream interface {
	Copy(c Copy) error
	// CopyBatch enqueues many copies at once.
	CopyBatch(c []Copy) error
	// CopyWithin copies bytes from device memory to device memory that does not overlap it.
	CopyWithin(to, from Span, bytes int64) error
	// Fill sets bytes of device memory to a value.
	Fill(at Span, bytes int64, value byte) error

	// Record returns an event after all work enqueued so far. WaitFor lets later work of this
	// stream wait for an event of another.
	Record() (Event, error)
	WaitFor(e Event) error

	Operators

	// Close waits for the stream's work and frees the stream.
	Close() error
}
