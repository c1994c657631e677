package vfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/mpga/mpga/internal/invariants"
)

// FS is the file system as mpga uses it: all reading, writing, renaming and removing goes through
// an FS, so that tests can fail the n-th call of any kind. Paths are the operating system's.
type FS interface {
	Open(name string) (File, error)                     // for reading, without waiting: a pipe or a device is an error
	Create(name string, perm fs.FileMode) (File, error) // for writing; an existing file is an error
	Stat(name string) (fs.FileInfo, error)              // follows links
	ReadDir(name string) ([]fs.DirEntry, error)         // sorted by name
	MkdirAll(name string, perm fs.FileMode) error       // parents included
	Rename(from, to string) error                       // replaces to
	// swaps two names at once; errors.ErrUnsupported where the system cannot
	Exchange(a, b string) error
	// another name of a file; an existing one is an error; errors.ErrUnsupported where the system
	// cannot
	Link(from, to string) error
	Remove(name string) error  // one file or empty directory
	SyncDir(name string) error // makes renames in it durable
	// a device, pipe or terminal, for writing; a pipe that nobody reads is an error
	OpenDevice(name string) (File, error)
	RemoveAbandoned(name string) error       // a created file whose process is gone; others stay, without an error
	CreateTemp(dir string) (TempFile, error) // gone when it is closed; where the system can, without a name
}

// ManifestName is the name of the file that lists the files of a directory and the columns of their rows, which
// engine/sink writes. Readers of a directory pass over names that begin with an underscore.
const ManifestName = "_manifest.json"

// TempFile is a file for one process. It is safe for concurrent use.
type TempFile interface {
	io.ReaderAt
	io.WriterAt
	io.Closer

	// Discard gives the space of a range back where the file system can. The range is not read
	// again.
	Discard(offset, n int64)
}

// osTempFile is a TempFile of the operating system.
type osTempFile struct{ *osFile }

// File is an open file, which its user closes once. A file opened for reading supports Read, ReadAt
// and Seek; a file created for writing supports Write and Sync.
type File interface {
	io.Reader
	io.ReaderAt
	io.Seeker
	io.Writer
	io.Closer
	Stat() (fs.FileInfo, error)
	Sync() error
}

// OS is the operating system's file system.
var OS FS = osFS{}

type osFS struct{}

// osFile is a File of the operating system.
type osFile struct {
	*os.File
	closed invariants.CloseChecker
}

// newFile returns an open file, which its user closes once.
func newFile(f *os.File) *osFile {
	file := &osFile{File: f}
	file.closed.Open("the file " + f.Name())
	return file
}

// opened is newFile for a file that may not have been opened.
func opened(f *os.File, err error) (File, error) {
	if err != nil {
		return nil, err
	}
	return newFile(f), nil
}

func (f *osFile) Close() error {
	f.closed.Close()
	return f.File.Close()
}

func (osFS) Open(name string) (File, error) { return OpenRegular(name, os.OpenFile) }

// OpenRegular opens a regular file or a directory for reading, with a function such as os.OpenFile.
// Whatever else has the name is an error: opening a pipe that nobody writes to would not return.
func OpenRegular(name string, open func(string, int, fs.FileMode) (*os.File, error)) (File, error) {
	f, err := open(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		err = &fs.PathError{Op: "open", Path: name, Err: errNotRegular}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return newFile(f), nil
}

var errNotRegular = errors.New("it is a pipe, a socket or a device, and not a file")

// Create makes a file that is locked until it is closed. RemoveAbandoned recognizes it by the lock.
func (osFS) Create(name string, perm fs.FileMode) (File, error) {
	for {
		f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_RDWR, perm)
		if err != nil {
			return nil, err
		}
		if lockCreated(f) {
			return newFile(f), nil
		}
		_ = f.Close() // RemoveAbandoned was faster than the lock: there is no such file
	}
}

// OpenDevice implements FS. Without O_NONBLOCK the call would wait until somebody reads a pipe.
func (osFS) OpenDevice(name string) (File, error) {
	return opened(os.OpenFile(name, os.O_WRONLY|syscall.O_NONBLOCK, 0))
}

func (osFS) Stat(name string) (fs.FileInfo, error)        { return os.Stat(name) }
func (osFS) ReadDir(name string) ([]fs.DirEntry, error)   { return os.ReadDir(name) }
func (osFS) MkdirAll(name string, perm fs.FileMode) error { return os.MkdirAll(name, perm) }
func (osFS) Rename(from, to string) error                 { return os.Rename(from, to) }
func (osFS) Exchange(a, b string) error                   { return exchange(a, b) }
func (osFS) Link(from, to string) error                   { return link(from, to) }
func (osFS) Remove(name string) error                     { return os.Remove(name) }
func (osFS) RemoveAbandoned(name string) error            { return removeAbandoned(name) }
func (osFS) CreateTemp(dir string) (TempFile, error)      { return createTemp(dir) }

// link is os.Link. File systems say in several ways that they have no links.
func link(from, to string) error {
	err := os.Link(from, to)
	for _, no := range []syscall.Errno{syscall.EPERM, syscall.ENOSYS, syscall.ENOTSUP, syscall.EXDEV, syscall.EMLINK} {
		if errors.Is(err, no) {
			return fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
		}
	}
	return err
}

func (osFS) SyncDir(name string) error {
	dir, err := os.Open(name)
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}
