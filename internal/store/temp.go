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

// MoreTemp adds to an ErrTempLimit what to do about it.
func MoreTemp(err error) error {
	return knob.Errorf("%w; raise %s or %s, or name a larger %s", err, knob.Name("engine.TempLimit"), knob.Name("engine.MemoryLimit"), knob.Name("engine.TempDir"))
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
	n := int64(len(b))
	if used := f.temp.used.Add(n); used > f.temp.limit {
		invariants.Sometimes("store: the limit of the temp directory is reached")
		f.temp.used.Add(-n)
		return fmt.Errorf("%w: %s of a limit of %s are in use in %s", ErrTempLimit,
			humanize.IBytes(uint64(used-n)), humanize.IBytes(uint64(f.temp.limit)), f.temp.dir)
	}
	if _, err := f.file.WriteAt(b, f.end); err != nil {
		f.temp.used.Add(-n)
		if vfs.IsFull(err) {
			return fmt.Errorf("%w: %s: %w", ErrTempLimit, f.temp.dir, err)
		}
		return fmt.Errorf("temp directory %s: %w", f.temp.dir, err)
	}
	f.end += n
	f.used.Add(n)
	return nil
}

// discard gives back the space of bytes that nobody will read again.
func (f *tempFile) discard(offset, n int64) {
	f.file.Discard(offset, n)
	f.used.Add(-n)
	f.temp.used.Add(-n)
}
