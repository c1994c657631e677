package device

import (
	"time"

	"github.com/mpga/mpga/kernels/hostdevice"
)

// Knobs force paths on devices, for tests; see stream.Options. The zero value forces none.
type Knobs struct {
	TileRows, Streams, RadixBits int
	Groups                       int64
	LFMin, LFMax                 float64
	PinnedBytes                  int64 // of each device; 0 is a share of the memory limit
	Timeout                      time.Duration
	Patience                     time.Duration               // how long a query waits for others
	Opens                        time.Duration               // how long a device of the host takes to open, for the first query
	Count                        int                         // of devices of the host; 0 is one
	Fail                         func(hostdevice.Call) error // faults of a device of the host
	AutoHostBytes                int64                       // of a device of the host in place of GPUs, where the device is auto
	CPUSlower                    float64                     // than its usual rates
}
