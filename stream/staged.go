package stream

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"strings"
)

// StagedDir is a directory that is written under a hidden name beside the one that it is to have:
//
//	.name.<16 digits>.lock    open, and so locked, while the process lives
//	.name.<16 digits>.tmp/    the files
//
// The next StageDir for the same path recognizes and removes what a killed process has left.
type StagedDir struct {
	Path string // of the hidden directory

	fs     FS
	lock   string
	locked File // nil once it is unlocked
}

// stagedNameMax is the part of a name that a hidden name keeps, in bytes: file systems allow 255.
const stagedNameMax = 200

// StageDir begins a directory that is to be at a path, and removes abandoned ones.
func StageDir(fsys FS, path string) (*StagedDir, error) {
	dir, name := filepath.Split(filepath.Clean(path))
	name = name[:min(len(name), stagedNameMax)]
	removeAbandonedDirs(fsys, dir, name)
	number := fmt.Sprintf("%s.%s.%016x", dir, name, rand.Uint64())
	d := &StagedDir{Path: number + ".tmp", fs: fsys, lock: number + ".lock"}
	var err error
	if d.locked, err = fsys.Create(d.lock); err != nil {
		return nil, err
	}
	if err := fsys.MkdirAll(d.Path, 0o777); err != nil {
		return nil, errors.Join(err, d.Unlock())
	}
	return d, nil
}

// Unlock ends the claim on the hidden directory: it has been moved or removed, or is left to be removed.
// After an error it may be called again.
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

// removeAbandonedDirs removes what killed writers of the same directory have left. What cannot be removed is in
// nobody's way.
func removeAbandonedDirs(fsys FS, dir, name string) {
	entries, err := fsys.ReadDir(filepath.Clean(dir))
	if err != nil {
		return
	}
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.Name(), "."+name+".")
		number, ending, _ := strings.Cut(rest, ".")
		if _, err := strconv.ParseUint(number, 16, 64); !ok || len(number) != 16 || err != nil {
			continue
		}
		lock := filepath.Join(dir, "."+name+"."+number+".lock")
		if ending == "lock" && e.Type().IsRegular() {
			_ = fsys.RemoveAbandoned(lock)
		}
		// A lock is there before its directory is, and until that has been moved or removed.
		if _, err := fsys.Stat(lock); errors.Is(err, fs.ErrNotExist) {
			_ = RemoveTree(fsys, filepath.Join(dir, "."+name+"."+number+".tmp"))
		}
	}
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
