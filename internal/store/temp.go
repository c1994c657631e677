package store

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/dustin/go-humanize"

	"github.com/mpga/mpga/internal/invariants"
	"github.com/mpga/mpga/internal/knob"
	"github.com/mpga/mpga/internal/vfs"
)

// ErrTempLimit marks a query that needs more of the temp directory than it may take, or than is
// free.
var ErrTempLimit = errors.New("the temp directory is full")

// tempNeed is an ErrTempLimit with what to do about it.
type tempNeed struct {
	error         // says so
	cause error   // does not
	part  float64 // of the input that was read
	bytes int64   // that would do
}

func (n *tempNeed) Unwrap() error { return n.error }

// NeedTemp adds to an ErrTempLimit what to do about it: to raise the limit to about that many bytes, which is what the
// files were to take in all when that part of the input, from 0 to 1, was read. Where nothing tells how much it is,
// bytes is 0. Of an error that has an advice already, of a stage that the rows come from, the number is doubled: the
// rows that it did not come to are the next stage's, whose files lie beside its own.
func NeedTemp(err error, part float64, bytes int64) error {
	if !errors.Is(err, ErrTempLimit) {
		return err
	}
	var before *tempNeed
	if errors.As(err, &before) {
		if before.bytes == 0 {
			return err
		}
		return newTempNeed(before.cause, before.part, 2*before.bytes)
	}
	return newTempNeed(err, part, bytes)
}

func newTempNeed(cause error, part float64, bytes int64) error {
	limit, dir, memory := knob.Name("engine.TempLimit"), knob.Name("engine.TempDir"), knob.Name("engine.MemoryLimit")
	if bytes <= 0 {
		return &tempNeed{knob.Errorf("%w; raise %s or %s, or name a larger %s", cause, limit, memory, dir), cause, part, 0}
	}
	return &tempNeed{knob.Errorf(
		"%w; %.0f%% of the rows are read: a %s of about %s would do, on a %s that has it, or a larger %s",
		cause, 100*part, limit, humanize.IBytes(uint64(bytes)), dir, memory), cause, part, bytes}
}

// Temp is the temporary files of an engine, and their budget.
type Temp struct {
	fs    vfs.FS
	dir   string
	limit int64
	used  atomic.Int64 // bytes on disk
}

// NewTemp returns the temporary files of a directory, of at most limit bytes together.
func NewTemp(fs vfs.FS, dir string, limit int64) *Temp { return &Temp{fs: fs, dir: dir, limit: limit} }

// Used returns how many bytes the files take.
func (t *Temp) Used() int64 { return t.used.Load() }

// Need returns the limit that lets a store's files take that many bytes beside the files of others,
// which is larger than the limit that was met; 0 for 0.
func (t *Temp) Need(s *Store, bytes int64) int64 {
	if bytes <= 0 {
		return 0
	}
	return max(bytes+t.Used()-s.Kept(), t.limit+t.limit/2)
}

// Limit returns how many bytes they may take.
func (t *Temp) Limit() int64 { return t.limit }

// tempFile is a file that is written at its end and read anywhere. One goroutine writes at a time.
type tempFile struct {
	temp *Temp
	mu   sync.Mutex // held while an extent is written
	file vfs.TempFile
	end  int64
	used atomic.Int64 // bytes that the file counts in temp.used
}

func (t *Temp) create() (*tempFile, error) {
	file, err := t.fs.CreateTemp(t.dir)
	if err != nil {
		return nil, fmt.Errorf("temp directory: %w", err)
	}
	return &tempFile{temp: t, file: file}, nil
}

// write appends bytes.
// Requires: f.mu is held.
func (f *tempFile) write(b []byte) error {
	if err := f.temp.writeAt(f.file, b, f.end); err != nil {
		return err
	}
	f.end += int64(len(b))
	f.used.Add(int64(len(b)))
	return nil
}

// writeAt counts bytes and writes them to a file.
func (t *Temp) writeAt(file vfs.TempFile, b []byte, at int64) error {
	n := int64(len(b))
	if used := t.used.Add(n); used > t.limit {
		invariants.Sometimes("store: the limit of the temp directory is reached")
		t.used.Add(-n)
		return fmt.Errorf("%w: %s of a limit of %s are in use in %s", ErrTempLimit,
			humanize.IBytes(uint64(used-n)), humanize.IBytes(uint64(t.limit)), t.dir)
	}
	if _, err := file.WriteAt(b, at); err != nil {
		t.used.Add(-n)
		if vfs.IsFull(err) {
			return fmt.Errorf("%w: %s: %w", ErrTempLimit, t.dir, err)
		}
		return fmt.Errorf("temp directory %s: %w", t.dir, err)
	}
	return nil
}

// Create returns a file whose bytes count until it is closed, where each byte is written once. Errors of writes
// are ErrTempLimit where the files take more than they may, or than is free.
func (t *Temp) Create() (vfs.TempFile, error) {
	file, err := t.fs.CreateTemp(t.dir)
	if err != nil {
		return nil, fmt.Errorf("temp directory: %w", err)
	}
	return &countedFile{TempFile: file, temp: t}, nil
}

// countedFile is a file of Create.
type countedFile struct {
	vfs.TempFile
	temp *Temp
	used atomic.Int64 // bytes that the file counts in temp.used
}

func (f *countedFile) WriteAt(b []byte, at int64) (int, error) {
	if err := f.temp.writeAt(f.TempFile, b, at); err != nil {
		return 0, err
	}
	f.used.Add(int64(len(b)))
	return len(b), nil
}

func (f *countedFile) Discard(offset, n int64) {
	f.TempFile.Discard(offset, n)
	f.used.Add(-n)
	f.temp.used.Add(-n)
}

func (f *countedFile) Close() error {
	f.temp.used.Add(-f.used.Swap(0))
	return f.TempFile.Close()
}

// discard gives back the space of bytes that nobody will read again.
func (f *tempFile) discard(offset, n int64) {
	f.file.Discard(offset, n)
	f.used.Add(-n)
	f.temp.used.Add(-n)
}
