//go:build !linux

package vfs

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"time"
)

// Discard implements TempFile: the space comes back when the file is closed.
func (f osTempFile) Discard(offset, n int64) {}

func (f osTempFile) Close() error { return errors.Join(f.osFile.Close(), os.Remove(f.Name())) }

func createTemp(dir string) (TempFile, error) {
	f, err := os.CreateTemp(dir, "mpga-spill-*")
	if err != nil {
		return nil, err
	}
	return osTempFile{newFile(f)}, nil
}

func lockCreated(*os.File) bool { return true }

func removeAbandoned(string) error { return nil }

func exchange(a, b string) error {
	return &os.LinkError{Op: "exchange", Old: a, New: b, Err: errors.ErrUnsupported}
}

// IsFull reports whether an error says that a disk is full, which is known on Linux only.
func IsFull(error) bool { return false }

// FreeBytes returns how many bytes a file may take on the file system of a directory.
func FreeBytes(dir string) (int64, error) {
	_, err := os.Stat(dir)
	return math.MaxInt64, err
}

// OpenFilesMax returns 0: the system is not asked how many files the process may have open.
func OpenFilesMax() int { return 0 }

// ChangeTime says that nothing is known of when a file was last changed.
func ChangeTime(fs.FileInfo) (changed time.Time, known bool) { return changed, false }
