package kernels

import (
	"errors"
	"fmt"
)

// Options of Open. The zero value opens the first device, with its free memory.
type Options struct {
	// Ordinal is the driver's number of the device, from 0.
	Ordinal int

	// MemoryLimit bounds the device memory that is allocated, in bytes. The default is the memory
	// that is free when the device is opened, less a reserve of 1/32 and at least 256 MiB for the
	// driver.
	MemoryLimit int64

	// PinnedLimit bounds the page-locked host memory, in bytes, pooled memory included.
	// The default is 4 GiB.
	PinnedLimit int64
}

const (
	memoryReserveBytes = 256 << 20
	pinnedLimitDefault = 4 << 30
)

// EnsureDefaults fills the fields that are zero, but for MemoryLimit, which the device tells.
func (o *Options) EnsureDefaults() {
	if o.PinnedLimit == 0 {
		o.PinnedLimit = pinnedLimitDefault
	}
}

// Validate reports every field that is out of range.
func (o *Options) Validate() error {
	var errs []error
	check := func(name string, value int64) {
		if value < 0 {
			errs = append(errs, fmt.Errorf("%s (%d) must not be negative", name, value))
		}
	}
	check("Ordinal", int64(o.Ordinal))
	check("MemoryLimit", o.MemoryLimit)
	check("PinnedLimit", o.PinnedLimit)
	return errors.Join(errs...)
}

// Info describes a device that is not open.
type Info struct {
	Ordinal int
	Properties
	PCIBus string // domain:bus:device.function, as sysfs names it
	// State is "" for a device that Open takes, and otherwise why it does not.
	State string
}
