package stream

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/mpga/mpga/internal/spawn"
	"github.com/mpga/mpga/kernels"
	"github.com/mpga/mpga/partition"
)

// Options of New.
type Options struct {
	// Devices share the tiles and the partitions.
	Devices []kernels.Device

	// Shape of the rows. Nullable says of each column whether its rows carry a bitmap.
	Shape    kernels.Shape
	Nullable []bool

	// Ranked are columns of Shape, of type Uint32, whose values become ranks when all rows have come: value v becomes
	// entry v of what Ranks returns. The entries are the numbers below the length, in another order; the first is 0.
	Ranked []int
	Ranks  func(ctx context.Context, column int) ([]uint32, error)

	// Rows is how many rows will come; 0 is unknown.
	Rows int64

	// Seed of the hash whose highest bits name a partition.
	Seed uint64

	// TakeRows and TakeStates take what the CPU is to finish: rows that there is no room for, and
	// groups whose keys may come again. They keep no memory of them, and are called by several
	// goroutines at once.
	TakeRows   func(context.Context, *Tile) error
	TakeStates func(context.Context, *Groups) error

	// OnCPU reports whether the CPU has rows of a partition when partitions are processed. It must be set
	// where the shape sorts: groups of such folds cannot be merged, so that the CPU then gets all rows of
	// the partition.
	OnCPU func(partition int) bool

	// Parts, if it is set, makes all rows leave the device by partition, without folds. The
	// default, nil, does not.
	Parts *Parts

	// Decode says how encoded tiles are decoded. The default, nil, has no encoded tiles.
	Decode *Decoding

	// Decoded, if it is set, takes the rows of encoded tiles as soon as they are decoded, and nothing is
	// aggregated. What it returns is called once the tile is free for other rows. Shape has columns alone
	// then, and no other tiles are submitted.
	Decoded func(context.Context, *Tile) (rest func() error, err error)

	// MemoryLimit bounds each device's memory, in bytes. The default is the memory that is free.
	MemoryLimit int64

	// PinnedLimit is how many bytes of host memory may be pinned for each device: a quarter of
	// them, at most, for its ring, and an eighth for the groups of a set of partitions. The
	// default, 0, is no bound.
	PinnedLimit int64

	// TileRows is the most rows of a tile. The default fills an eighth of the memory with the ring,
	// with tiles of 32 MiB at most.
	TileRows int

	// Algorithm does the work. The default is Auto. Others take no Parts.
	Algorithm Algorithm
	Ablation

	// Groups is the estimate of the groups. The default, 0, samples the first tile.
	Groups int64

	// RadixBits fixes the number of partitions, 2^RadixBits. The default, 0, follows the estimate
	// and the memory.
	RadixBits int

	// Timeout is how long a device may take for a piece of work, or its driver for a call. The
	// default is a minute.
	Timeout time.Duration

	// Trace takes the spans of a device's work, by the device's clock, which is set by the host's
	// when the run begins. It is called by several goroutines at once. The streams of partitions
	// are numbered after the streams of tiles. The default, nil, takes nothing.
	Trace func(device, stream int, lane Lane, name string, begin, end time.Time)
}

// feedback returns how a table of `slots` slots is loaded.
func (o *Options) feedback(slots int64) partition.Feedback {
	return partition.Feedback{Slots: slots, LFMin: o.LFMin, LFMax: o.LFMax}
}

// Parts takes the rows of RoutePartition.
type Parts struct {
	// Radix returns how many of the highest bits of a hash, radixBitsMax at most, name a partition,
	// for an input of `groups` groups.
	Radix func(groups int64) int

	// Take takes the rows of a tile: partition p has the rows from offsets[p] to offsets[p+1]. It
	// keeps no memory of them, and is called by several goroutines at once.
	Take func(ctx context.Context, t *Tile, offsets []uint64) error
}

const (
	streamsDefault = 4
	lfMinDefault   = 0.6
	lfMaxDefault   = 0.8
	timeoutDefault = kernels.TimeoutDefault
	tileBytesMax   = 32 << 20 // a copy of so much takes fifty times as long as it takes to begin
	tileRowsMin    = 1 << 10
	radixBitsMax   = 11 // of the hash bits that name a partition
)

// streamsDecode are the tiles of a ring of encoded tiles, by what a device has memory for: pages take longer
// than rows, since they are read for a tile, and decoded. With two, pages are decoded while others are read.
var streamsDecode = [...]int{12, streamsDefault, 2}

// EnsureDefaults fills the fields that are zero, but for MemoryLimit and TileRows, which devices
// tell.
func (o *Options) EnsureDefaults() {
	if o.Streams == 0 {
		o.Streams = streamsDefault
	}
	o.LFMin, o.LFMax = o.loadFactors()
	if o.Timeout == 0 {
		o.Timeout = timeoutDefault
	}
	if o.PinnedLimit == 0 {
		o.PinnedLimit = math.MaxInt64
	}
	if o.Nullable == nil {
		o.Nullable = make([]bool, len(o.Shape.Columns))
	}
}

// Validate reports every field that is out of its bounds.
func (o *Options) Validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(len(o.Devices) > 0, "Devices is empty")
	switch {
	case o.Decoded != nil:
		check(o.Decode != nil, "Decode must be set with Decoded")
		check(len(o.Shape.Folds) == 0 && o.Shape.KeyBytes == 0 && o.Parts == nil && o.Algorithm == Auto,
			"Decoded goes without keys, folds, Parts and Algorithm")
	case o.Parts == nil:
		check(o.TakeRows != nil && o.TakeStates != nil, "TakeRows and TakeStates must be set")
		check(!o.Shape.Sorts() || o.OnCPU != nil, "OnCPU must be set where the shape sorts")
		check(len(o.Ranked) == 0 || o.Ranks != nil, "Ranks must be set where columns are ranked")
	default:
		check(o.Parts.Radix != nil && o.Parts.Take != nil, "Parts.Radix and Parts.Take must be set")
		check(len(o.Shape.Folds) == 0, "Shape has folds (%d), which are not Parts' work", len(o.Shape.Folds))
	}
	if int(o.Algorithm) >= len(algorithms) {
		return errors.Join(append(errs, fmt.Errorf("Algorithm (%d) must be below %d", uint8(o.Algorithm),
			len(algorithms)))...)
	}
	errs = append(errs, o.Ablation.Validate(), o.Algorithm.Takes(&o.Shape, len(o.Ranked) > 0))
	check(o.Algorithm == Auto || o.Parts == nil, "Parts cannot be set with Algorithm (%s)", o.Algorithm)
	check(o.MemoryLimit >= 0, "MemoryLimit (%d B) must not be negative", o.MemoryLimit)
	check(o.PinnedLimit >= 0, "PinnedLimit (%d B) must not be negative", o.PinnedLimit)
	check(o.TileRows >= 0, "TileRows (%d) must not be negative", o.TileRows)
	check(o.RadixBits >= 0 && o.RadixBits <= radixBitsMax, "RadixBits (%d) must be in [0, %d]", o.RadixBits, radixBitsMax)
	return errors.Join(errs...)
}

// ErrDevice marks an error of a device: the input is to be aggregated elsewhere.
var ErrDevice = errors.New("device")

// ErrTimeout marks an ErrDevice of a device that does not answer.
var ErrTimeout = kernels.ErrTimeout

// deviceError is an ErrDevice with its cause.
type deviceError struct{ cause error }

func (e *deviceError) Error() string        { return e.cause.Error() }
func (e *deviceError) Unwrap() error        { return e.cause }
func (e *deviceError) Is(target error) bool { return target == ErrDevice }

// failure makes an error of a device an ErrDevice, but not spawn.ErrInternal: the CPU must not hide
// a bug.
func failure(err error) error {
	if err == nil || errors.Is(err, spawn.ErrInternal) {
		return err
	}
	return &deviceError{err}
}
