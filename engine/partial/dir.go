package partial

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/mpga/mpga/internal/vfs"
)

// Dir is a directory with the blobs of one source, a file for each partition. It is written under a
// hidden name, and gets its own name when it is complete.
type Dir struct {
	fs     vfs.FS
	path   string         // its own name
	staged *vfs.StagedDir // nil after Commit and Abort
	at     string         // the name that it has
}

const (
	partialPrefix = "part-"
	partialSuffix = ".mpga"
)

// CreateDir begins a directory, which must not exist yet.
func CreateDir(fsys vfs.FS, path string) (*Dir, error) {
	path = filepath.Clean(path)
	parent := filepath.Dir(path)
	switch info, err := fsys.Stat(parent); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s: the directory %s does not exist", path, parent)
	case err != nil:
		return nil, fmt.Errorf("%s: directory: %w", path, err)
	case !info.IsDir():
		return nil, fmt.Errorf("%s: %s is not a directory", path, parent)
	}
	switch _, err := fsys.Stat(path); {
	case err == nil:
		return nil, fmt.Errorf("%s: %w: remove it, or name another directory", path, fs.ErrExist)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	staged, err := vfs.StageDir(fsys, path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &Dir{fs: fsys, path: path, staged: staged, at: staged.Path}, nil
}

// Create begins the file of a partition, for PartialOptions. Its Close makes it durable. It is safe
// for concurrent use.
func (d *Dir) Create(partition int) (io.WriteCloser, error) {
	file, err := d.fs.Create(filepath.Join(d.at, fmt.Sprintf("%s%05d%s", partialPrefix, partition, partialSuffix)), 0o666)
	if err != nil {
		return nil, err
	}
	return durableFile{file}, nil
}

// durableFile syncs before it closes.
type durableFile struct{ vfs.File }

func (f durableFile) Close() error { return errors.Join(f.Sync(), f.File.Close()) }

// Commit gives the directory its name. After an error nothing is left of it.
func (d *Dir) Commit() error {
	if err := d.publish(); err != nil {
		return errors.Join(fmt.Errorf("%s: %w", d.path, err), d.Abort())
	}
	d.staged = nil
	return nil
}

// publish renames the directory, for good.
func (d *Dir) publish() error {
	if err := d.syncDir(d.at); err != nil {
		return err
	}
	if err := d.fs.Rename(d.at, d.path); err != nil {
		return err
	}
	// Until its parent is synced the directory could be gone after a crash. It is taken back rather
	// than left in doubt: an error means that there is none.
	d.at = d.path
	if err := d.syncDir(filepath.Dir(d.path)); err != nil {
		return err
	}
	return d.staged.Unlock()
}

// syncDir makes the names in a directory durable, where the file system has a way to.
func (d *Dir) syncDir(path string) error {
	err := d.fs.SyncDir(path)
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EINVAL) {
		return nil
	}
	return err
}

// Abort removes what was written. It does nothing after Commit or an error of it.
func (d *Dir) Abort() error {
	if d.staged == nil {
		return nil
	}
	err := errors.Join(vfs.RemoveTree(d.fs, d.at), d.staged.Unlock())
	d.staged = nil
	return err
}

// OpenDir lists the blobs of a directory that Dir has written, for Engine.Merge.
func OpenDir(fsys vfs.FS, path string) ([]Blob, error) {
	entries, err := fsys.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var blobs []Blob
	for _, e := range entries {
		if name := e.Name(); strings.HasPrefix(name, partialPrefix) && strings.HasSuffix(name, partialSuffix) {
			blobs = append(blobs, fileBlob{fsys, filepath.Join(path, name)})
		}
	}
	if len(blobs) == 0 {
		return nil, fmt.Errorf("%s: %w: the directory holds none (%s*%s), as mpga agg --partial writes them", path,
			ErrMismatch, partialPrefix, partialSuffix)
	}
	return blobs, nil
}

// fileBlob is a blob in a file.
type fileBlob struct {
	fs   vfs.FS
	path string
}

func (b fileBlob) Name() string { return b.path }

func (b fileBlob) Open() (BlobReader, error) {
	file, err := b.fs.Open(b.path)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return sizedFile{file, info.Size()}, nil
}

type sizedFile struct {
	vfs.File
	size int64
}

func (f sizedFile) Size() int64 { return f.size }
