package order

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"golang.org/x/sync/semaphore"

	"github.com/mpga/mpga/internal/arbiter"
	"github.com/mpga/mpga/internal/mem"
	"github.com/mpga/mpga/internal/store"
	"github.com/mpga/mpga/internal/vfs"
)

// Options say what a sort may use. The zero value is usable.
type Options struct {
	// Bytes is how many bytes of rows and keys a sort holds before it writes them to disk, 1 MiB at
	// least. The default is 256 MiB.
	Bytes int64

	// Statement grants the sort its memory, beside other sinks and statements: where that is less than
	// Bytes, the sort holds no more. The default is a statement of this sort alone, with Bytes.
	Statement *arbiter.Statement

	// Memory is the memory of pages on their way to and from the disk. The default is a Memory of
	// Bytes for each sort.
	Memory *mem.Memory

	// Temp takes the rows that do not fit. The default is os.TempDir(), without a limit.
	Temp *store.Temp

	// Threads is how many goroutines a sort uses at most. The default is runtime.GOMAXPROCS(0).
	Threads int

	// Units, when set, are the threads that sorts and queries share: each goroutine holds a unit
	// while it computes. The default, nil, has no limit.
	Units *semaphore.Weighted

	// BatchRows is how many rows a batch of the result has at most. The default is 32,768.
	BatchRows int

	// ThinRows is how many rows a sort holds at least before it drops rows behind By.First. The default is 262,144.
	ThinRows int

	// Allocator takes the memory of batches. The default is memory.DefaultAllocator.
	Allocator memory.Allocator

	// RunAllocator takes the memory of batches of runs. No more runs are read at a time than Bytes has
	// room for. It must not fail: to the library that reads the batches, a failure is a
	// corrupt run. The default is Allocator.
	RunAllocator memory.Allocator

	// Purpose begins the errors: it says what rows are ordered for. The default is "order by".
	Purpose string
}

const (
	bytesDefault     = 256 << 20
	bytesMin         = 1 << 20
	batchRowsDefault = 1 << 15
	thinRowsDefault  = 1 << 18
)

// EnsureDefaults fills in what is zero.
func (o *Options) EnsureDefaults() {
	o.Bytes = cmp.Or(o.Bytes, bytesDefault)
	if o.Memory == nil {
		o.Memory = mem.NewMemory(o.Bytes)
	}
	if o.Temp == nil {
		o.Temp = store.NewTemp(vfs.OS, os.TempDir(), math.MaxInt64)
	}
	if o.Statement == nil {
		o.Statement = arbiter.New(func() int64 { return 2 * o.Bytes }).NewStatement()
	}
	o.Threads = cmp.Or(o.Threads, runtime.GOMAXPROCS(0))
	o.BatchRows = cmp.Or(o.BatchRows, batchRowsDefault)
	o.ThinRows = cmp.Or(o.ThinRows, thinRowsDefault)
	o.Allocator = cmp.Or(o.Allocator, memory.DefaultAllocator)
	o.RunAllocator = cmp.Or(o.RunAllocator, o.Allocator)
	o.Purpose = cmp.Or(o.Purpose, "order by")
}

// Validate reports every field that is out of its bounds.
func (o *Options) Validate() error {
	var errs []error
	if o.Bytes < bytesMin {
		errs = append(errs, fmt.Errorf("Bytes (%d) must be at least %d", o.Bytes, bytesMin))
	}
	if o.Threads < 1 {
		errs = append(errs, fmt.Errorf("Threads (%d) must be at least 1", o.Threads))
	}
	if o.BatchRows < 1 {
		errs = append(errs, fmt.Errorf("BatchRows (%d) must be at least 1", o.BatchRows))
	}
	if o.ThinRows < 1 {
		errs = append(errs, fmt.Errorf("ThinRows (%d) must be at least 1", o.ThinRows))
	}
	return errors.Join(errs...)
}
