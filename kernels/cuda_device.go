//go:build cgo && linux

package kernels

// #include "driver.h"
import "C"

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/mpga/mpga/internal/invariants"
)

// cudaDevice is a device's primary context, the memory taken in it, and the modules loaded into it.
type cudaDevice struct {
	driver     *driver
	context    unsafe.Pointer
	properties Properties
	ordinal    int
	limit      int64
	used       atomic.Int64 // bytes of buffers, without what is kept, or wasted
	kept       keptMemory
	pinned     *pinnedPool

	eventsMu sync.Mutex
	events   []unsafe.Pointer // closed

	mu      sync.Mutex
	modules map[*byte]unsafe.Pointer // by image
	kernels map[string]*kernel
}

func (d *driver) open(o Options) (*cudaDevice, error) {
	o.EnsureDefaults()
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if o.Ordinal >= d.devices {
		return nil, fmt.Errorf("%w %d: the driver sees %d", ErrNoDevice, o.Ordinal, d.devices)
	}
	info, err := d.info(o.Ordinal)
	if err != nil {
		return nil, err
	}
	if info.State != "" {
		return nil, fmt.Errorf("%w %d: %s", ErrNoDevice, o.Ordinal, info.State)
	}
	dev := &cudaDevice{
		driver:     d,
		properties: info.Properties,
		ordinal:    o.Ordinal,
		modules:    map[*byte]unsafe.Pointer{},
		kernels:    map[string]*kernel{},
	}
	if err := d.check(C.mpga_device_open(d.table, C.int(o.Ordinal), &dev.context), "device %d", o.Ordinal); err != nil {
		return nil, err
	}
	free, _, err := dev.driverMemory()
	if err != nil {
		return nil, errors.Join(err, d.release(o.Ordinal))
	}
	reserve := max(memoryReserveBytes, free/32)
	dev.limit, dev.kept.wasteLimit = max(0, free-reserve), reserve/2
	if o.MemoryLimit > 0 {
		dev.limit, dev.kept.wasteLimit = min(o.MemoryLimit, info.MemoryBytes), 0
	}
	dev.kept.limit = dev.limit / keptShare
	dev.pinned = newPinnedPool(o.PinnedLimit, dev.register, dev.unregister)
	return dev, nil
}

func (d *driver) release(ordinal int) error {
	return d.check(C.mpga_device_close(d.table, C.int(ordinal)), "device %d", ordinal)
}

func (d *cudaDevice) Properties() Properties { return d.properties }

func (d *cudaDevice) driverMemory() (free, total int64, err error) {
	var f, t C.int64_t
	err = d.driver.check(C.mpga_memory(d.driver.table, d.context, &f, &t), "device %d", d.ordinal)
	return int64(f), int64(t), err
}

func (d *cudaDevice) Memory() (free, total int64, err error) {
	kept := d.kept.size() // before the driver is asked: what goes meanwhile counts once
	free, _, err = d.driverMemory()
	return max(0, min(free+kept, d.limit-d.used.Load())), d.limit, err
}

// cudaBuffer is device memory.
type cudaBuffer struct {
	device *cudaDevice // nil once the memory is freed
	at     C.mpga_address
	bytes  int64
	room   int64 // bytes of the driver's allocation; these are its first
	closed invariants.CloseChecker
}

func (d *cudaDevice) Alloc(n int64) (Buffer, error) {
	if n < 0 {
		panic(fmt.Sprintf("device memory of %d B", n))
	}
	if used := d.used.Add(n); used > d.limit {
		d.used.Add(-n)
		return nil, fmt.Errorf("%d B of device %d, %d B of %d B in use: %w", n, d.ordinal, used-n, d.limit, ErrOutOfMemory)
	}
	b := &cudaBuffer{device: d, bytes: n, room: n}
	if kept, ok := d.kept.take(n); ok {
		b.at, b.room = C.mpga_address(kept.at), kept.bytes
	} else if err := d.allocate(b); err != nil {
		d.used.Add(-n)
		return nil, err
	}
	b.closed.Open("device memory")
	return b, nil
}

// allocate takes memory of the driver; where it has none, or the limit has none beside what is kept, after all that
// is kept was given back.
func (d *cudaDevice) allocate(b *cudaBuffer) error {
	if d.used.Load()+d.kept.size() > d.limit-d.kept.waste() {
		if err := d.free(d.kept.drop()); err != nil {
			return err
		}
	}
	try := func() error {
		status := C.mpga_alloc(d.driver.table, d.context, C.int64_t(max(b.bytes, 1)), &b.at)
		return d.driver.check(status, "%d B of device %d", b.bytes, d.ordinal)
	}
	return d.withoutKept(try)
}

// withoutKept tries something again where the driver has no memory, once what is kept was given back, by whomever.
func (d *cudaDevice) withoutKept(try func() error) error {
	err := try()
	if !errors.Is(err, ErrOutOfMemory) {
		return err
	}
	if err := d.free(d.kept.drop()); err != nil {
		return err
	}
	return try()
}

// free gives memory back to the driver.
func (d *cudaDevice) free(blocks []keptBlock) error {
	var errs []error
	for _, b := range blocks {
		status := C.mpga_free(d.driver.table, d.context, C.mpga_address(b.at))
		errs = append(errs, d.driver.check(status, "%d B at %#x of device %d", b.bytes, b.at, d.ordinal))
	}
	return errors.Join(errs...)
}

func (b *cudaBuffer) Bytes() int64 { return b.bytes }

func (b *cudaBuffer) Free() error {
	d := b.device
	if d == nil {
		panic("device buffer freed twice")
	}
	b.device = nil
	b.closed.Close()
	d.used.Add(-b.bytes)
	block := keptBlock{uint64(b.at), b.room}
	d.kept.reclaim(block, b.bytes)
	return d.free(d.kept.put(block))
}

// address returns where a span begins, as kernels take it: 0 for a span without a buffer.
//
// Requires: bytes from there lie in the buffer.
func address(at Span, bytes int64) uint64 {
	if at.Buffer == nil {
		return 0
	}
	b := at.Buffer.(*cudaBuffer)
	if b.device == nil || at.Offset < 0 || bytes < 0 || at.Offset > b.bytes-bytes {
		panic(fmt.Sprintf("span of %d B at %d of a device buffer of %d B", bytes, at.Offset, b.bytes))
	}
	return uint64(b.at) + uint64(at.Offset)
}

func (d *cudaDevice) register(at unsafe.Pointer, bytes int64) error {
	return d.driver.check(C.mpga_register(d.driver.table, d.context, at, C.int64_t(bytes)), "%d B of host memory", bytes)
}

func (d *cudaDevice) unregister(at unsafe.Pointer, bytes int64) error {
	return d.driver.check(C.mpga_unregister(d.driver.table, d.context, at), "%d B of host memory", bytes)
}

func (d *cudaDevice) AllocPinned(n int64) (Pinned, error) { return d.pinned.alloc(n) }

func (d *cudaDevice) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	errs := []error{d.pinned.close(), d.closeEvents(), d.free(d.kept.drop())}
	for _, module := range d.modules {
		errs = append(errs, d.driver.check(C.mpga_module_unload(d.driver.table, d.context, module), "device %d", d.ordinal))
	}
	d.modules, d.kernels = nil, nil
	released := d.driver.release(d.ordinal)
	if released == nil {
		errs = append(errs, d.pinned.unmapKnown())
	}
	return errors.Join(append(errs, released)...)
}

// kernelImage returns what the driver loads to run a kernel; tests replace it.
var kernelImage = embeddedImage

// kernel is a function of a module, ready to be launched.
type kernel struct {
	function    unsafe.Pointer
	sharedBytes int // of dynamic shared memory that a block may use
}

// sharedBytesFree is the dynamic shared memory that a block may use without asking: 48 KiB, less
// the static shared memory of the kernel, which has at most 8 KiB where it has dynamic shared
// memory, too.
const sharedBytesFree = 40 << 10

// kernel returns a function for launches with some dynamic shared memory. The first call for a
// module loads it.
func (d *cudaDevice) kernel(name string, sharedBytes int) (*kernel, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	k, ok := d.kernels[name]
	if !ok {
		var err error
		if k, err = d.loadKernel(name); err != nil {
			return nil, err
		}
		d.kernels[name] = k
	}
	if sharedBytes > k.sharedBytes {
		status := C.mpga_function_shared(d.driver.table, d.context, k.function, C.int(sharedBytes))
		if err := d.driver.check(status, "%s, %d B of shared memory", name, sharedBytes); err != nil {
			return nil, err
		}
		k.sharedBytes = sharedBytes
	}
	return k, nil
}

// Requires: d.mu is held.
func (d *cudaDevice) loadKernel(name string) (*kernel, error) {
	image, err := kernelImage(name, d.properties.ComputeCapability)
	if err != nil {
		return nil, err
	}
	module, ok := d.modules[&image[0]]
	if !ok {
		err := d.withoutKept(func() error {
			status := C.mpga_module_load(d.driver.table, d.context, unsafe.Pointer(&image[0]), &module)
			return d.driver.check(status, "%d B with %s, compute capability %d", len(image), name,
				d.properties.ComputeCapability)
		})
		if err != nil {
			return nil, err
		}
		d.modules[&image[0]] = module
	}
	text := append([]byte(name), 0)
	k := &kernel{sharedBytes: sharedBytesFree}
	status := C.mpga_function(d.driver.table, d.context, module, (*C.char)(unsafe.Pointer(&text[0])), &k.function)
	return k, d.driver.check(status, "%s", name)
}
