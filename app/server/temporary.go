package server

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/internal/vfs"
)

// temporary is a table of a session: batches in memory, or files. It does not change; a session
// replaces it. Whoever uses it retains and releases it.
type temporary struct {
	schema  *arrow.Schema
	batches []arrow.RecordBatch // held; none where there are files
	files   []*spilledFile      // held
	bytes   int64               // of batches
	of      *spilledTables
	holders
}

// release ends a hold. With the last, the table's memory and files are given back.
func (t *temporary) release() error {
	if !t.drop() {
		return nil
	}
	for _, b := range t.batches {
		b.Release()
	}
	t.of.memory.Add(-t.bytes)
	var errs []error
	for _, f := range t.files {
		errs = append(errs, f.release())
	}
	return errors.Join(errs...)
}

// planTable returns what the table's name stands for.
func (t *temporary) planTable() plan.Table {
	table := plan.Table{In: []string{Catalog, TemporarySchema}}
	if len(t.files) == 0 {
		table.Source = scan.Batches(t.schema, t.batches)
		return table
	}
	table.Scan = &dataset.Options{FS: t.of.fs, Format: dataset.FormatArrow, NoHive: true}
	for _, f := range t.files {
		table.Files = append(table.Files, f.path)
	}
	return table
}

// spilledFile is a file of rows of temporary tables, which goes with its last holder.
type spilledFile struct {
	path  string
	of    *spilledTables
	bytes int64 // of its rows, before compression
	holders
}

// release ends a hold.
func (f *spilledFile) release() error {
	if !f.drop() {
		return nil
	}
	f.of.disk.Add(-f.bytes)
	return f.of.fs.Remove(f.path)
}

// privateFS makes directories and files that the user alone can read.
type privateFS struct{ vfs.FS }

// MkdirAll implements vfs.FS.
func (p privateFS) MkdirAll(name string, _ fs.FileMode) error { return p.FS.MkdirAll(name, 0o700) }

// Create implements vfs.FS.
func (p privateFS) Create(name string, _ fs.FileMode) (vfs.File, error) {
	return p.FS.Create(name, 0o600)
}

// spilledTables are the temporary tables of all sessions: how much of the memory they take, and the
// directory of their files, which goes with the server. A process that was killed leaves the
// directory to the next server.
type spilledTables struct {
	fs     vfs.FS
	dir    string       // where the directory is
	memory atomic.Int64 // bytes of tables in memory
	disk   atomic.Int64 // bytes of the rows in files, before compression

	mu     sync.Mutex
	staged *vfs.StagedDir // nil before the first file
	last   int            // number of a file
}

// next returns the path of a new file.
func (s *spilledTables) next() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.staged == nil {
		staged, err := vfs.StageDir(s.fs, filepath.Join(s.dir, "mpga-serve"))
		if err != nil {
			return "", fmt.Errorf("temporary tables: %w", err)
		}
		s.staged = staged
	}
	s.last++
	return filepath.Join(s.staged.Path, fmt.Sprintf("%d.arrow", s.last)), nil
}

// close removes the directory.
func (s *spilledTables) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.staged == nil {
		return nil
	}
	err := errors.Join(vfs.RemoveTree(s.fs, s.staged.Path), s.staged.Unlock())
	s.staged = nil
	return err
}
