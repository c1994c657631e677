package bench

import "github.com/mpga/mpga/kernels"

// LinkSpeed returns how many bytes a second a copy from pinned memory to a device moves.
func LinkSpeed(device kernels.Device) (bytesPerSecond float64, err error) {
	return kernels.LinkSpeed(device, 256<<20)
}
