package hostdevice

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mpga/mpga/kernels"
)

// Options of Open. The zero value is a device of 1 GiB without delays, faults or a hold on errors
// of its caller.
type Options struct {
	// MemoryLimit is the device's memory, in bytes. The default is 1 GiB.
	MemoryLimit int64

	// PinnedLimit bounds the pinned memory, in bytes. The default is 1 GiB.
	PinnedLimit int64

	// BytesPerSecond is the bandwidth of copies, in each direction. The default is the machine's
	// own.
	BytesPerSecond float64

	// Latency is what each piece of a stream's work takes at least. The default is none.
	Latency time.Duration

	// Fail is asked before each call and before each piece of asynchronous work; what it returns is
	// its error; what gives something back does so nevertheless. An error that is
	// kernels.ErrDeviceLost fails everything that follows, too. It is called by any goroutine. The
	// default is that nothing fails.
	Fail func(Call) error

	// Report takes breaches of the contract. The default panics.
	Report func(error)
}

// Call names what could fail.
type Call struct {
	Name   string // of the method: "Alloc"
	Number int64  // among all calls or all work of the device, from 1
	Work   bool   // the work that a call has enqueued
}

// FailNth returns an Options.Fail for the n-th call, or for the n-th piece of work.
func FailNth(n int64, work bool, err error) func(Call) error {
	return func(c Call) error {
		if c.Number == n && c.Work == work {
			return err
		}
		return nil
	}
}

// Noting returns an Options.Fail like another, and sets failed when that has failed something.
func Noting(failed *atomic.Bool, fail func(Call) error) func(Call) error {
	return func(c Call) error {
		err := fail(c)
		if err != nil {
			failed.Store(true)
		}
		return err
	}
}

const limitDefault = 1 << 30

// EnsureDefaults fills the fields that are zero.
func (o *Options) EnsureDefaults() {
	if o.MemoryLimit == 0 {
		o.MemoryLimit = limitDefault
	}
	if o.PinnedLimit == 0 {
		o.PinnedLimit = limitDefault
	}
	if o.Report == nil {
		o.Report = func(err error) { panic(err) }
	}
}

// Validate reports every field that is out of range.
func (o *Options) Validate() error {
	var errs []error
	check := func(ok bool, name string, value any) {
		if !ok {
			errs = append(errs, fmt.Errorf("%s (%v) must not be negative", name, value))
		}
	}
	check(o.MemoryLimit >= 0, "MemoryLimit", o.MemoryLimit)
	check(o.PinnedLimit >= 0, "PinnedLimit", o.PinnedLimit)
	check(o.BytesPerSecond >= 0, "BytesPerSecond", o.BytesPerSecond)
	check(o.Latency >= 0, "Latency", o.Latency)
	return errors.Join(errs...)
}

// device is a kernels.Device.
type device struct {
	options Options
	engines [2]sync.Mutex // of copies in, and of copies out

	mu      sync.Mutex
	calls   [2]int64 // made, and pieces of work begun
	lost    error
	streams map[*stream]bool // open
	events  int              // open
	named   int              // streams, ever
	device  arena
	pinned  arena
	host    clock // what the host has waited for

	strings sync.Mutex // held while known strings are read or written
}

// Open returns a device.
func Open(o Options) (kernels.Device, error) {
	o.EnsureDefaults()
	if err := o.Validate(); err != nil {
		return nil, err
	}
	d := &device{options: o, host: clock{}}
	d.device = arena{limit: o.MemoryLimit, full: kernels.ErrOutOfMemory, name: "device memory"}
	d.pinned = arena{limit: o.PinnedLimit, full: kernels.ErrPinnedLimit, name: "pinned memory"}
	return d, nil
}

func (d *device) Properties() kernels.Properties {
	return kernels.Properties{
		Name:              "host",
		UUID:              "host",
		ComputeCapability: 0,
		Multiprocessors:   1,
		MemoryBytes:       d.options.MemoryLimit,
		L2Bytes:           1 << 20,
		SharedBytesMax:    48 << 10,
		CopyEngines:       len(d.engines),
	}
}

// begin counts a call or a piece of work, and returns the error that it is to end with.
func (d *device) begin(name string, work bool) error {
	d.mu.Lock()
	i := 0
	if work {
		i = 1
	}
	d.calls[i]++
	call, lost := Call{name, d.calls[i], work}, d.lost
	d.mu.Unlock()
	if lost != nil {
		return lost
	}
	if d.options.Fail == nil {
		return nil
	}
	err := d.options.Fail(call)
	if err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	if errors.Is(err, kernels.ErrDeviceLost) {
		d.mu.Lock()
		d.lost = err
		d.mu.Unlock()
	}
	return err
}

// handle is in memory, streams and events, which their caller gives back once.
type handle struct {
	device *device
	closed bool // under device.mu
}

// close counts the call that gives something back, which calls forget unless again: it was given
// back before. An error does not keep it. The device's lock is held while forget is called.
func (h *handle) close(name string, forget func()) (again bool, err error) {
	err = h.device.begin(name, false)
	h.device.mu.Lock()
	defer h.device.mu.Unlock()
	if again = h.closed; !again {
		h.closed = true
		forget()
	}
	return again, err
}

// breach reports a breach of the contract and returns it.
func (d *device) breach(format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	d.options.Report(err)
	return err
}

func (d *device) Memory() (free, total int64, err error) {
	if err := d.begin("Memory", false); err != nil {
		return 0, 0, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.device.limit - d.device.used, d.device.limit, nil
}

func (d *device) Alloc(n int64) (kernels.Buffer, error) {
	m, err := d.alloc("Alloc", &d.device, n)
	if err != nil {
		return nil, err
	}
	return &buffer{m}, nil
}

func (d *device) AllocPinned(n int64) (kernels.Pinned, error) {
	m, err := d.alloc("AllocPinned", &d.pinned, n)
	if err != nil {
		return nil, err
	}
	return &pinned{m}, nil
}

func (d *device) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var errs []error
	left := func(n int, what string) {
		if n > 0 {
			errs = append(errs, fmt.Errorf("%d %s left when the device is closed", n, what))
		}
	}
	left(len(d.streams), "streams")
	for s := range d.streams {
		s.quit()
	}
	left(d.events, "events")
	left(len(d.device.blocks), "device buffers")
	left(len(d.pinned.blocks), "pinned buffers")
	return errors.Join(errs...)
}
