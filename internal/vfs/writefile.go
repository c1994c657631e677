package vfs

import (
	"errors"
	"io"
	"io/fs"
)

// WriteFile writes a small file whole or not at all: under a hidden name, synced, then renamed, so
// that a reader of path finds either the old content or the new. A device or a pipe is written to
// as it is.
func WriteFile(fsys FS, path string, content []byte) error {
	return WriteFileBy(fsys, path, 0o666, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
}

// WriteFileBy is WriteFile for content that a function writes, and for a file with permissions.
func WriteFileBy(fsys FS, path string, perm fs.FileMode, write func(io.Writer) error) error {
	switch device, err := IsDevice(fsys, path); {
	case err != nil:
		return err
	case device:
		file, err := fsys.OpenDevice(path)
		if err != nil {
			return err
		}
		return errors.Join(write(file), file.Close())
	}
	RemoveAbandoned(fsys, path)
	hidden := HiddenName(path)
	file, err := fsys.Create(hidden, perm)
	if err != nil {
		return err
	}
	err = write(file)
	if err == nil {
		err = file.Sync()
	}
	if err == nil {
		err = fsys.Rename(hidden, path)
	}
	if err != nil {
		return errors.Join(err, file.Close(), fsys.Remove(hidden))
	}
	return file.Close()
}

// IsDevice says whether a path leads to a device, a pipe, a socket or a terminal, which are written
// to and not replaced. A path where nothing is yet does not.
func IsDevice(fsys FS, path string) (bool, error) {
	info, err := fsys.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && !info.IsDir() && !info.Mode().IsRegular(), err
}
