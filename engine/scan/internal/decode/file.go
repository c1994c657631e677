package decode

import (
	"errors"

	"github.com/mpga/mpga/internal/vfs"
)

// ReadFile opens a file, calls read with the file and its size in bytes, and closes the file.
// Errors of read name the file.
func ReadFile(fsys vfs.FS, path string, read func(f vfs.File, size int64) error) (err error) {
	f, err := fsys.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return Locate(path, read(f, info.Size()))
}
