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
	"io/fs"
	"sync/atomic"

	"github.com/mpga/mpga/internal/vfs"
)

// ErrInjected is what the failing operation returns, wrapped with its name and path.
var ErrInjected = errors.New("injected fault")

// FS is a vfs.FS that fails one operation. It is safe for concurrent use.
type FS struct {
	base   vfs.FS
	failAt atomic.Int64 // 0: never
	ops    atomic.Int64
	open   atomic.Int64
	read   atomic.Int64
	flip   atomic.Bool
}

var _ vfs.FS = (*FS)(nil)

// New returns a file system that does what base does and fails nothing yet.
func New(base vfs.FS) *FS { return &FS{base: base} }

// FailAt makes the n-th operation from the start of counting fail; n counts from 1, and 0 fails
// none. It also starts the count anew.
func (f *FS) FailAt(n int64) {
	f.failAt.Store(n)
	f.ops.Store(0)
}

// FlipBit lets the next read of a temporary file return a bit that was not written.
func (f *FS) FlipBit() { f.flip.Store(true) }

// Ops returns the operations since New or the last FailAt, the failed one included.
func (f *FS) Ops() int64 { return f.ops.Load() }

// Fired says whether the fault has happened.
func (f *FS) Fired() bool {
	n := f.failAt.Load()
	return n > 0 && f.ops.Load() >= n
}

// OpenFiles returns how many files have been opened or created and not closed.
func (f *FS) OpenFiles() int64 { return f.open.Load() }

// BytesRead returns how many bytes of files, other than temporary ones, have been read.
func (f *FS) BytesRead() int64 { return f.read.Load() }

// step counts one operation and returns its fault, if it is the one to fail.
func (f *FS) step(op, name string) error {
	if f.ops.Add(1) == f.failAt.Load() {
		return fmt.Errorf("%s %s: %w", op, name, ErrInjected)
	}
	return nil
}

// Open implements vfs.FS.
func (f *FS) Open(name string) (vfs.File, error) { return f.openWith("open", name, f.base.Open) }

// Create implements vfs.FS.
func (f *FS) Create(name string) (vfs.File, error) {
	return f.openWith("create", name, f.base.Create)
}

// CreatePrivate implements vfs.FS.
func (f *FS) CreatePrivate(name string) (vfs.File, error) {
	return f.openWith("create", name, f.base.CreatePrivate)
}

// OpenDevice implements vfs.FS.
func (f *FS) OpenDevice(name string) (vfs.File, error) {
	return f.openWith("open", name, f.base.OpenDevice)
}

func (f *FS) openWith(op, name string, open func(string) (vfs.File, error)) (vfs.File, error) {
	if err := f.step(op, name); err != nil {
		return nil, err
	}
	file, err := open(name)
	if err != nil {
		return nil, err
	}
	f.open.Add(1)
	return &faultFile{File: file, fs: f, name: name}, nil
}

// Stat implements vfs.FS.
func (f *FS) Stat(name string) (fs.FileInfo, error) {
	if err := f.step("stat", name); err != nil {
		return nil, err
	}
	return f.base.Stat(name)
}

// ReadDir implements vfs.FS.
func (f *FS) ReadDir(name string) ([]fs.DirEntry, error) {
	if err := f.step("readdir", name); err != nil {
		return nil, err
	}
	return f.base.ReadDir(name)
}

// Glob implements vfs.FS.
func (f *FS) Glob(pattern string) ([]string, error) {
	if err := f.step("glob", pattern); err != nil {
		return nil, err
	}
	return f.base.Glob(pattern)
}

// MkdirAll implements vfs.FS.
func (f *FS) MkdirAll(name string, perm fs.FileMode) error {
	if err := f.step("mkdir", name); err != nil {
		return err
	}
	return f.base.MkdirAll(name, perm)
}

// Rename implements vfs.FS.
func (f *FS) Rename(from, to string) error {
	if err := f.step("rename", from); err != nil {
		return err
	}
	return f.base.Rename(from, to)
}

// Exchange implements vfs.FS.
func (f *FS) Exchange(a, b string) error {
	if err := f.step("exchange", a); err != nil {
		return err
	}
	return f.base.Exchange(a, b)
}

// Remove implements vfs.FS.
func (f *FS) Remove(name string) error {
	if err := f.step("remove", name); err != nil {
		return err
	}
	return f.base.Remove(name)
}

// SyncDir implements vfs.FS.
func (f *FS) SyncDir(name string) error {
	if err := f.step("syncdir", name); err != nil {
		return err
	}
	return f.base.SyncDir(name)
}

// RemoveAbandoned implements vfs.FS.
func (f *FS) RemoveAbandoned(name string) error {
	if err := f.step("removeabandoned", name); err != nil {
		return err
	}
	return f.base.RemoveAbandoned(name)
}

// CreateTemp implements vfs.FS.
func (f *FS) CreateTemp(dir string) (vfs.TempFile, error) {
	if err := f.step("createtemp", dir); err != nil {
		return nil, err
	}
	file, err := f.base.CreateTemp(dir)
	if err != nil {
		return nil, err
	}
	f.open.Add(1)
	return &faultTemp{TempFile: file, fs: f}, nil
}

// faultTemp counts the operations of one temporary file.
type faultTemp struct {
	vfs.TempFile
	fs     *FS
	closed atomic.Bool
}

func (f *faultTemp) ReadAt(p []byte, off int64) (int, error) {
	if err := f.fs.step("readat", "temporary file"); err != nil {
		return 0, err
	}
	n, err := f.TempFile.ReadAt(p, off)
	if f.fs.flip.CompareAndSwap(true, false) && n > 0 {
		p[n/2] ^= 1
	}
	return n, err
}

// WriteAt fails halfway: what a full disk does to a large write.
func (f *faultTemp) WriteAt(p []byte, off int64) (int, error) {
	if err := f.fs.step("writeat", "temporary file"); err != nil {
		n, _ := f.TempFile.WriteAt(p[:len(p)/2], off)
		return n, err
	}
	return f.TempFile.WriteAt(p, off)
}

func (f *faultTemp) Close() error {
	fault := f.fs.step("close", "temporary file")
	if f.closed.CompareAndSwap(false, true) {
		f.fs.open.Add(-1)
	}
	if err := f.TempFile.Close(); err != nil {
		return err
	}
	return fault
}

// faultFile counts the operations of one open file.
type faultFile struct {
	vfs.File
	fs     *FS
	name   string
	closed atomic.Bool
}

func (f *faultFile) Read(p []byte) (int, error) {
	if err := f.fs.step("read", f.name); err != nil {
		return 0, err
	}
	n, err := f.File.Read(p)
	f.fs.read.Add(int64(n))
	return n, err
}

func (f *faultFile) ReadAt(p []byte, off int64) (int, error) {
	if err := f.fs.step("readat", f.name); err != nil {
		return 0, err
	}
	n, err := f.File.ReadAt(p, off)
	f.fs.read.Add(int64(n))
	return n, err
}

func (f *faultFile) Seek(offset int64, whence int) (int64, error) {
	if err := f.fs.step("seek", f.name); err != nil {
		return 0, err
	}
	return f.File.Seek(offset, whence)
}

// Write fails halfway: what a full disk does to a large write.
func (f *faultFile) Write(p []byte) (int, error) {
	if err := f.fs.step("write", f.name); err != nil {
		n, _ := f.File.Write(p[:len(p)/2])
		return n, err
	}
	return f.File.Write(p)
}

func (f *faultFile) Stat() (fs.FileInfo, error) {
	if err := f.fs.step("fstat", f.name); err != nil {
		return nil, err
	}
	return f.File.Stat()
}

func (f *faultFile) Sync() error {
	if err := f.fs.step("sync", f.name); err != nil {
		return err
	}
	return f.File.Sync()
}

func (f *faultFile) Close() error {
	fault := f.fs.step("close", f.name)
	if f.closed.CompareAndSwap(false, true) {
		f.fs.open.Add(-1)
	}
	if err := f.File.Close(); err != nil {
		return err
	}
	return fault
}
