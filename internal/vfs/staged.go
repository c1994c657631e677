package vfs

import (
	"errors"
	"io/fs"
	"path/filepath"
)

// StagedDir is a directory that is written under a hidden name, beside its name to come.
type StagedDir struct {
	Path string // of the hidden directory

	fs     FS
	lock   string
	locked File // nil once it is unlocked
}

// StageDir begins a directory that is to be at a path, and removes abandoned files and directories
// beside it.
func StageDir(fsys FS, path string) (*StagedDir, error) {
	RemoveAbandoned(fsys, path)
	hidden := newHidden(path)
	d := &StagedDir{Path: hidden + ".tmp", fs: fsys, lock: hidden + ".lock"}
	var err error
	if d.locked, err = fsys.Create(d.lock, 0o666); err != nil {
		return nil, err
	}
	if err := fsys.MkdirAll(d.Path, 0o777); err != nil {
		return nil, errors.Join(err, d.Unlock())
	}
	return d, nil
}

// Unlock ends the claim on the hidden directory: it has been moved or removed, or is left to be
// removed. After an error it may be called again.
func (d *StagedDir) Unlock() error {
	err := d.fs.Remove(d.lock)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if d.locked != nil {
		err = errors.Join(err, d.locked.Close())
		d.locked = nil
	}
	return err
}

// RemoveTree removes a directory and everything in it. One that is not there is no error.
func RemoveTree(fsys FS, path string) error {
	entries, err := fsys.ReadDir(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		if below := filepath.Join(path, e.Name()); e.IsDir() {
			errs = append(errs, RemoveTree(fsys, below))
		} else {
			errs = append(errs, fsys.Remove(below))
		}
	}
	return errors.Join(append(errs, fsys.Remove(path))...)
}
