//go:build !(cgo && linux)

package nvml

import "errors"

// Read asks the management library for all devices: in this build, there is none.
func Read() ([]Device, error) { return nil, errors.New("NVML: built without cgo, or not for Linux") }
