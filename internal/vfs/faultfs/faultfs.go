// Package faultfs wraps a file system so that tests can fail its n-th operation, see that every
// file is closed again, and count what is read.
//
// A test runs its subject once to count the operations, then once for each n:
//
//	for n := int64(1); n <= total; n++ {
//		fsys := faultfs.New(vfs.OS)
//		fsys.FailAt(n)
//		... the answer is right or errors.Is(err, faultfs.ErrInjected) ...
//		... fsys.OpenFiles() is 0 ...
//	}
//
// Every call of the file system and of its files is an operation. A Close that fails still closes,
// as the operating system's does. The package is for tests only.
package faultfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync/atomic"

	"github.com/mpga/mpga/internal/vfs"
)

// ErrInjected is what the failing operation returns, wrapped with its name and path.
var ErrInjected = errors.New("injected fault")

// FS is a vfs.FS that fails one operation. It is safe for concurrent use.
type FS struct {
	base   vfs.FS
	failAt atomic.Int64 // the operation that fails, counted from 1; 0 for none
	killAt atomic.Int64 // the first of the operations that all fail, counted from 1; 0 for none
	ops    atomic.Int64 // operations since New or the last FailAt
	open   atomic.Int64 // files that are not closed
	read   atomic.Int64 // bytes of files that are not temporary
	flip   atomic.Bool  // the next read of a temporary file returns a wrong bit
}

var _ vfs.FS = (*FS)(nil)

// New returns a file system that does what base does and fails nothing yet.
func New(base vfs.FS) *FS { return &FS{base: base} }

// FailAt makes the n-th operation from the start of counting fail; n counts from 1, and 0 fails
// none. It also starts the count anew.
func (f *FS) FailAt(n int64) {
	f.failAt.Store(n)
	f.killAt.Store(0)
	f.ops.Store(0)
}

// KillAt makes the n-th operation from the start of counting fail, and all that follow, as if the process had been
// killed there: what it would remove stays. It also starts the count anew.
func (f *FS) KillAt(n int64) {
	f.failAt.Store(0)
	f.killAt.Store(n)
	f.ops.Store(0)
}

// FlipBit lets the next read of a temporary file return a bit that was not written.
func (f *FS) FlipBit() { f.flip.Store(true) }

// Ops returns the operations since New or the last FailAt, the failed one included.
func (f *FS) Ops() int64 { return f.ops.Load() }

// Fired says whether the fault has happened.
func (f *FS) Fired() bool {
	n := max(f.failAt.Load(), f.killAt.Load())
	return n > 0 && f.ops.Load() >= n
}

// OpenFiles returns how many files have been opened or created and not closed.
func (f *FS) OpenFiles() int64 { return f.open.Load() }

// BytesRead returns how many bytes of files, other than temporary ones, have been read.
func (f *FS) BytesRead() int64 { return f.read.Load() }

// step counts one operation and returns its fault, if it is the one to fail.
func (f *FS) step(op, name string) error {
	number, kill := f.ops.Add(1), f.killAt.Load()
	if number == f.failAt.Load() || kill > 0 && number >= kill {
		return fmt.Errorf("%s %s: %w", op, name, ErrInjected)
	}
	return nil
}

// call does an operation on a name with the file system below, unless the operation is the one to
// fail.
func call[T any](f *FS, op, name string, do func(name string) (T, error)) (result T, err error) {
	if err := f.step(op, name); err != nil {
		return result, err
	}
	return do(name)
}

// callError is call for operations that return nothing but an error.
func (f *FS) callError(op, name string, do func(name string) error) error {
	if err := f.step(op, name); err != nil {
		return err
	}
	return do(name)
}

// Stat implements vfs.FS; it is an operation that may be the one to fail.
func (f *FS) Stat(name string) (fs.FileInfo, error) { return call(f, "stat", name, f.base.Stat) }

// ReadDir implements vfs.FS; it is an operation that may be the one to fail.
func (f *FS) ReadDir(name string) ([]fs.DirEntry, error) {
	return call(f, "readdir", name, f.base.ReadDir)
}

// Remove implements vfs.FS; it is an operation that may be the one to fail.
func (f *FS) Remove(name string) error { return f.callError("remove", name, f.base.Remove) }

// SyncDir implements vfs.FS; it is an operation that may be the one to fail.
func (f *FS) SyncDir(name string) error { return f.callError("syncdir", name, f.base.SyncDir) }

// RemoveAbandoned implements vfs.FS; it is an operation that may be the one to fail.
func (f *FS) RemoveAbandoned(name string) error {
	return f.callError("removeabandoned", name, f.base.RemoveAbandoned)
}

// MkdirAll implements vfs.FS; it is an operation that may be the one to fail.
func (f *FS) MkdirAll(name string, perm fs.FileMode) error {
	return f.callError("mkdir", name, func(name string) error { return f.base.MkdirAll(name, perm) })
}

// Rename implements vfs.FS; it is an operation that may be the one to fail.
func (f *FS) Rename(from, to string) error {
	return f.callError("rename", from, func(from string) error { return f.base.Rename(from, to) })
}

// Link implements vfs.FS; it is an operation that may be the one to fail.
func (f *FS) Link(from, to string) error {
	return f.callError("link", from, func(from string) error { return f.base.Link(from, to) })
}

// Exchange implements vfs.FS; it is an operation that may be the one to fail.
func (f *FS) Exchange(a, b string) error {
	return f.callError("exchange", a, func(a string) error { return f.base.Exchange(a, b) })
}

// Open implements vfs.FS. The file counts as open until it is closed, and its operations may fail.
func (f *FS) Open(name string) (vfs.File, error) { return f.openWith("open", name, f.base.Open) }

// OpenDevice implements vfs.FS; the device is as a file of Open.
func (f *FS) OpenDevice(name string) (vfs.File, error) {
	return f.openWith("open", name, f.base.OpenDevice)
}

// Create implements vfs.FS; the file is as one of Open.
func (f *FS) Create(name string, perm fs.FileMode) (vfs.File, error) {
	return f.openWith("create", name, func(name string) (vfs.File, error) { return f.base.Create(name, perm) })
}

func (f *FS) openWith(op, name string, open func(string) (vfs.File, error)) (vfs.File, error) {
	file, err := call(f, op, name, open)
	if err != nil {
		return nil, err
	}
	f.open.Add(1)
	return &faultFile{File: file, handle: handle{fs: f, name: name}}, nil
}

// CreateTemp implements vfs.FS; the file is as one of Open, and errors call it temporary file.
func (f *FS) CreateTemp(dir string) (vfs.TempFile, error) {
	file, err := call(f, "createtemp", dir, f.base.CreateTemp)
	if err != nil {
		return nil, err
	}
	f.open.Add(1)
	return &faultTemp{TempFile: file, handle: handle{fs: f, name: "temporary file"}}, nil
}

// handle counts the operations of one open file.
type handle struct {
	fs     *FS
	name   string
	closed atomic.Bool
}

func (h *handle) step(op string) error { return h.fs.step(op, h.name) }

// write fails halfway: what a full disk does to a large write.
func (h *handle) write(op string, p []byte, write func([]byte) (int, error)) (int, error) {
	if err := h.step(op); err != nil {
		n, _ := write(p[:len(p)/2])
		return n, err
	}
	return write(p)
}

func (h *handle) close(file io.Closer) error {
	fault := h.step("close")
	if h.closed.CompareAndSwap(false, true) {
		h.fs.open.Add(-1)
	}
	if err := file.Close(); err != nil {
		return err
	}
	return fault
}

// faultTemp is a temporary file.
type faultTemp struct {
	vfs.TempFile
	handle
}

func (f *faultTemp) ReadAt(p []byte, off int64) (int, error) {
	if err := f.step("readat"); err != nil {
		return 0, err
	}
	n, err := f.TempFile.ReadAt(p, off)
	if f.fs.flip.CompareAndSwap(true, false) && n > 0 {
		p[n/2] ^= 1
	}
	return n, err
}

func (f *faultTemp) WriteAt(p []byte, off int64) (int, error) {
	return f.write("writeat", p, func(p []byte) (int, error) { return f.TempFile.WriteAt(p, off) })
}

func (f *faultTemp) Close() error { return f.close(f.TempFile) }

// faultFile is a file that has a name.
type faultFile struct {
	vfs.File
	handle
}

func (f *faultFile) Read(p []byte) (int, error) { return f.readBy("read", p, f.File.Read) }

func (f *faultFile) ReadAt(p []byte, off int64) (int, error) {
	return f.readBy("readat", p, func(p []byte) (int, error) { return f.File.ReadAt(p, off) })
}

func (f *faultFile) readBy(op string, p []byte, read func([]byte) (int, error)) (int, error) {
	if err := f.step(op); err != nil {
		return 0, err
	}
	n, err := read(p)
	f.fs.read.Add(int64(n))
	return n, err
}

func (f *faultFile) Seek(offset int64, whence int) (int64, error) {
	if err := f.step("seek"); err != nil {
		return 0, err
	}
	return f.File.Seek(offset, whence)
}

func (f *faultFile) Write(p []byte) (int, error) { return f.write("write", p, f.File.Write) }

func (f *faultFile) Stat() (fs.FileInfo, error) {
	if err := f.step("fstat"); err != nil {
		return nil, err
	}
	return f.File.Stat()
}

func (f *faultFile) Sync() error {
	if err := f.step("sync"); err != nil {
		return err
	}
	return f.File.Sync()
}

func (f *faultFile) Close() error { return f.close(f.File) }
