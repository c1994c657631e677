package engine

import (
	"errors"
	"log/slog"
	"math"
	"os"
	"runtime"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/dustin/go-humanize"

	"github.com/mpga/mpga/engine/device"
	"github.com/mpga/mpga/internal/budget"
	"github.com/mpga/mpga/internal/knob"
	"github.com/mpga/mpga/internal/machine"
	"github.com/mpga/mpga/internal/testknobs"
	"github.com/mpga/mpga/internal/trace"
	"github.com/mpga/mpga/internal/vfs"
)

// Options configure an Engine. The zero value is usable.
type Options struct {
	// Threads is how many threads all queries of the engine use together.
	// The default is runtime.GOMAXPROCS(0).
	Threads int

	// Device says what may do the work: "auto" takes what the machine has and is expected to be
	// fastest, "cpu" the CPU alone; "cuda" the first GPU, "cuda:0,1" several, whatever is faster;
	// "host:256MiB" a GPU's double in plain Go, of so much memory, to try and test with. What a
	// device cannot aggregate, the CPU does. The default is "auto".
	Device string

	// Algorithm names a system of the papers that does the query, all of it, on a device: one of Algorithms, as
	// docs/papers.md describes them. A query that it has no way to do ends in ErrAlgorithm. Of a statement of several
	// steps it does the one that reads the input. Rows for which neither the device nor pinned memory has room are the
	// CPU's, which Stats tells. The default, "auto", is whatever is expected to be fastest.
	Algorithm string

	// Ablation changes parts of how devices group rows, to find out what each is good for.
	// The default changes nothing.
	Ablation Ablation

	// JoinAlgorithm names a join of the papers that makes the pairs of all joins with an equality on a device: one of
	// JoinAlgorithms. Both sides are partitioned by hash first, so that pairs of partitions fit the device. The rows of a
	// key that has more pairs than there is room for are the CPU's, and joins of nearest rows. The default, "auto", is
	// whatever is expected to be fastest.
	JoinAlgorithm string

	// DeviceMemoryLimit is how many bytes of a device's memory queries may take.
	// The default is what is free when the device is opened, less a reserve.
	DeviceMemoryLimit int64

	// MemoryLimit is how many bytes the process may have resident while queries run, 128 MiB at
	// least: what does not fit goes to TempDir. What the process holds already counts. Meanwhile
	// the engine sets the Go runtime's memory limit to a part of it, and, where the program has not
	// set GOGC, lets garbage grow to a 64th of it, 256 MiB at most.
	// The default is 80% of the memory of the control group or of the machine.
	MemoryLimit int64

	// TempDir is where partitions go that do not fit the memory. The files have no names where the
	// system allows it, and are gone with the process. The default is os.TempDir().
	TempDir string

	// TempLimit is how many bytes the files in TempDir may take together.
	// The default is 90% of what is free there when the engine opens.
	TempLimit int64

	// MaxRecursion is how many iterations a statement of WITH RECURSIVE may have. The default is 1,000,000.
	MaxRecursion int64

	// MaxPairs is how many pairs of rows a join may compare whose condition has no equality and no range of columns of
	// both sides. The default is 1e12.
	MaxPairs int64

	// FS is the file system of TempDir. The default is vfs.OS.
	FS vfs.FS

	// Progress, when set, is called while a query runs, about ten times a second and once when it
	// has succeeded. A query's calls come one at a time, from a goroutine of their own;
	// the calls of several queries may overlap, and one statement may have several queries.
	Progress func(Progress)

	// Logger takes what is worth knowing later: routes taken, queries ended. The default discards.
	Logger *slog.Logger

	// Allocator takes the memory of decoded columns and of result batches.
	// The default is a pool of the engine's own.
	Allocator memory.Allocator

	// Devices keeps devices open for the engine's successors, which have the same pool. The default, nil, keeps none:
	// devices close with their engine.
	Devices *device.Pool

	// Trace records when the workers, devices and files of queries did what. The default, nil,
	// costs nothing.
	Trace *trace.Recorder

	// MeasureLink has Stats tell how fast the link to devices is, which takes some milliseconds
	// when they are opened.
	MeasureLink bool

	testing testknobs.Engine
}

// Ablation changes parts of how devices group rows, and no answer.
type Ablation = device.Ablation

// Algorithms returns the names that Options.Algorithm takes.
func Algorithms() []string { return device.Algorithms() }

// JoinAlgorithms returns the names that Options.JoinAlgorithm takes.
func JoinAlgorithms() []string { return device.JoinAlgorithms() }

func init() {
	testknobs.Register(func(options any, k testknobs.Engine) { options.(*Options).testing = k })
}

// EnsureDefaults fills in what is zero.
func (o *Options) EnsureDefaults() {
	if o.Threads == 0 {
		o.Threads = runtime.GOMAXPROCS(0)
	}
	if o.Device == "" {
		o.Device = "auto"
	}
	if o.FS == nil {
		o.FS = vfs.OS
	}
	if o.MemoryLimit == 0 {
		const enough = (memoryLimitMin + 9) / 8 * 10 // of which 80% are the least limit
		o.MemoryLimit = machine.Memory(enough) / 10 * 8
	}
	if o.TempDir == "" {
		o.TempDir = os.TempDir()
	}
	if o.TempLimit == 0 {
		o.TempLimit = math.MaxInt64
		if free, err := vfs.FreeBytes(o.TempDir); err == nil {
			o.TempLimit = free / 10 * 9
		}
	}
	if o.MaxRecursion == 0 {
		o.MaxRecursion = maxRecursion
	}
	if o.MaxPairs == 0 {
		o.MaxPairs = maxPairs
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Allocator == nil {
		o.Allocator = new(budget.Pool)
	}
	if o.testing.ResultRows == 0 {
		o.testing.ResultRows = resultRows
	}
}

// Validate reports every field that is out of its bounds.
func (o *Options) Validate() error {
	var errs []error
	if o.Threads < 1 || o.Threads > threadsMax {
		errs = append(errs, knob.Errorf("%s (%d) must be in [1, %d]", knob.Name("engine.Threads"), o.Threads, threadsMax))
	}
	if err := device.Valid(o.Device); err != nil {
		errs = append(errs, knob.Errorf("%s: %w", knob.Name("engine.Device"), err))
	}
	if err := device.ValidAlgorithm(o.Algorithm, o.Device); err != nil {
		errs = append(errs, knob.Errorf("%s: %w", knob.Name("engine.Algorithm"), err))
	}
	if err := device.ValidJoinAlgorithm(o.JoinAlgorithm, o.Device); err != nil {
		errs = append(errs, knob.Errorf("%s: %w", knob.Name("engine.JoinAlgorithm"), err))
	}
	if err := o.Ablation.Validate(); err != nil {
		errs = append(errs, err)
	}
	if fields := o.Ablation.Changed(); o.Device == "cpu" && len(fields) > 0 {
		errs = append(errs, knob.Errorf("%s changes what devices do, and %s is \"cpu\"", fields[0],
			knob.Name("engine.Device")))
	}
	if o.DeviceMemoryLimit < 0 {
		errs = append(errs, knob.Errorf("%s (%d B) must not be negative",
			knob.Name("engine.DeviceMemoryLimit"), o.DeviceMemoryLimit))
	}
	if o.MemoryLimit < memoryLimitMin {
		errs = append(errs, knob.Errorf("%s (%d B) must be at least %s", knob.Name("engine.MemoryLimit"),
			o.MemoryLimit, humanize.IBytes(memoryLimitMin)))
	}
	if o.TempLimit < 0 {
		errs = append(errs, knob.Errorf("%s (%d B) must not be negative", knob.Name("engine.TempLimit"), o.TempLimit))
	}
	if o.MaxRecursion < 0 {
		errs = append(errs, knob.Errorf("%s (%d) must not be negative", knob.Name("engine.MaxRecursion"), o.MaxRecursion))
	}
	if o.MaxPairs < 0 {
		errs = append(errs, knob.Errorf("%s (%d) must not be negative", knob.Name("engine.MaxPairs"), o.MaxPairs))
	}
	return errors.Join(errs...)
}

// maxPairs is more pairs than two threads compare in four hours.
const maxPairs = 1e12

// maxRecursion is more iterations than a statement needs that ends, and takes some minutes.
const maxRecursion = 1_000_000

// resultRows is the most rows of a result batch: enough to hide the cost of a batch, few enough
// that one stays within a core's L2 cache and a reader sees the first soon.
const resultRows = 1 << 15

// memoryLimitMin is what the program, its runtime and one worker need.
const memoryLimitMin = 128 << 20

// threadsMax bounds Options.Threads: above it a typing error is likelier than a machine.
const threadsMax = 4096
