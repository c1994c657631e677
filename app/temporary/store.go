package temporary

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/internal/knob"
	"github.com/mpga/mpga/internal/vfs"
)

// Options configure a Store.
type Options struct {
	// Engine makes the rows, and counts what is taken for them. The caller closes it after the store.
	Engine *engine.Engine

	// Dir is where tables go that do not fit MemoryBytes; Name is how the directory is named that is made there.
	Dir, Name string

	// MemoryBytes is how many bytes of the memory all tables may take; further ones go to files. The default is an
	// eighth of the engine's memory limit.
	MemoryBytes int64

	// DiskBytes is how many bytes the rows in files may take, before they are compressed. The default, 0, is no limit.
	DiskBytes int64

	// DiskKnob is what moves DiskBytes.
	DiskKnob knob.Name
}

// Store has the tables of all sessions of a process. It is safe for concurrent use.
type Store struct {
	opt    Options
	fs     vfs.FS
	memory atomic.Int64 // bytes of tables in memory
	disk   atomic.Int64 // bytes of the rows in files, before compression

	mu     sync.Mutex
	staged *vfs.StagedDir // nil before the first file
	last   int            // number of a file
}

// NewStore returns a store, which must be closed.
func NewStore(opt Options) *Store {
	if opt.MemoryBytes == 0 && opt.Engine != nil {
		opt.MemoryBytes = opt.Engine.MemoryLimit() / 8
	}
	opt.Name = cmp.Or(opt.Name, "mpga")
	return &Store{opt: opt, fs: privateFS{vfs.OS}}
}

// MemoryBytes returns how many bytes the tables in memory take.
func (s *Store) MemoryBytes() int64 { return s.memory.Load() }

// DiskBytes returns how many bytes the rows in files take, before compression.
func (s *Store) DiskBytes() int64 { return s.disk.Load() }

// next returns the path of a new file.
func (s *Store) next() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.staged == nil {
		staged, err := vfs.StageDir(s.fs, filepath.Join(s.opt.Dir, s.opt.Name))
		if err != nil {
			return "", fmt.Errorf("temporary tables: %w", err)
		}
		s.staged = staged
	}
	s.last++
	return filepath.Join(s.staged.Path, fmt.Sprintf("%d.arrow", s.last)), nil
}

// Close removes the directory. T3.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.staged == nil {
		return nil
	}
	err := errors.Join(vfs.RemoveTree(s.fs, s.staged.Path), s.staged.Unlock())
	s.staged = nil
	return err
}

// privateFS makes directories and files that the user alone can read.
type privateFS struct{ vfs.FS }

// MkdirAll implements vfs.FS.
func (p privateFS) MkdirAll(name string, _ fs.FileMode) error { return p.FS.MkdirAll(name, 0o700) }

// Create implements vfs.FS.
func (p privateFS) Create(name string, _ fs.FileMode) (vfs.File, error) {
	return p.FS.Create(name, 0o600)
}
