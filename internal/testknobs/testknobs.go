// Package testknobs lets tests force paths of an engine that small inputs would not take. No knob
// may change an answer.
package testknobs

import (
	"time"

	"github.com/mpga/mpga/kernels/hostdevice"
)

// Engine forces paths of an engine. The zero value forces none.
type Engine struct {
	BatchRows    int  // rows of a batch asked of the source
	ResultRows   int  // rows of a result batch
	BlockRows    int  // rows after which a block of window functions ends; held before rows behind the first are dropped
	TableGroups  int  // groups that fit a worker's pre-aggregation table
	RadixBits    int  // fan-out of the scatter, as bits
	NoPreAgg     bool // scatter all rows
	AlwaysPreAgg bool // scatter no rows, only states
	NoDense      bool // no tables that are addressed by the key itself

	MemoryBytes int64 // in place of MemoryLimit, of pages and tables alone; of any size
	SpillAll    bool  // write every page to disk
	ForceSplits int   // split every partition of more than one group that often

	EstimateFactor float64 // of the groups, when the fan-out is chosen

	Device Device
}

// Device forces paths on devices; see stream.Options. The zero value forces none.
type Device struct {
	TileRows, Streams, RadixBits int
	Groups                       int64
	LFMin, LFMax                 float64
	NoDecode                     bool  // files are decoded by the CPU alone
	PinnedBytes                  int64 // of each device; 0 is a share of the memory limit
	Timeout                      time.Duration
	Patience                     time.Duration // how long a query waits for others
	// how long a device of the host takes to open, for the first query
	Opens          time.Duration
	Count          int                         // of devices of the host; 0 is one
	Fail           func(hostdevice.Call) error // faults of a device of the host
	BytesPerSecond float64                     // of copies to and from a device of the host, each way; 0 is the machine's
	AutoHostBytes  int64                       // of a device of the host in place of GPUs, where the device is auto
	CPUSlower      float64                     // than its usual rates
	// pieces that the CPU takes before devices open in the middle of a query, whatever it takes; a
	// reader waits for them
	ChangeAfter int64
}

// set is what Register was given.
var set func(options any, k Engine)

// Register says how options take knobs: options is a pointer to engine.Options. Package engine
// calls it, whose options have no public field for knobs.
func Register(f func(options any, k Engine)) { set = f }

// With returns options, which are engine.Options, with knobs.
func With[Options any](o Options, k Engine) Options {
	set(&o, k)
	return o
}
