package bench

import (
	"errors"

	"github.com/mpga/mpga/kernels"
)

// LinkSpeed returns how many bytes a second a copy from pinned memory to a device moves.
func LinkSpeed(device kernels.Device) (bytesPerSecond float64, err error) {
	const bytes, repeats = 256 << 20, 4
	r, err := NewRunner(device, 1)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, r.Drop(), r.Close()) }()
	host, err := device.AllocPinned(bytes)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, host.Free()) }()
	at, err := r.alloc(bytes)
	if err != nil {
		return 0, err
	}
	var nanos int64
	for range repeats {
		n, err := r.time(func() error { return r.stream.Copy(kernels.Copy{Device: at, Host: host.Bytes()}) })
		if err != nil {
			return 0, err
		}
		if nanos == 0 || n < nanos {
			nanos = n
		}
	}
	return bytes / (float64(nanos) / 1e9), nil
}
