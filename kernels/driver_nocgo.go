//go:build !(cgo && linux)

package kernels

import "fmt"

var errNotBuilt = fmt.Errorf("%w: built without cgo, or not for Linux", ErrNoDevice)

// Possible returns why there is no device: ErrNoDevice.
func Possible() error { return errNotBuilt }

// Devices lists the devices that the driver sees: in this build, none, with ErrNoDevice.
func Devices() ([]Info, error) { return nil, errNotBuilt }

// Open returns a device of the CUDA driver: in this build, ErrNoDevice.
func Open(Options) (Device, error) { return nil, errNotBuilt }
