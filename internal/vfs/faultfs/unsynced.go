package faultfs

import (
	"io/fs"

	"github.com/mpga/mpga/internal/vfs"
)

// Unsynced is a file system without its waits for disks, which tests of many small files would
// consist of.
type Unsynced struct{ vfs.FS }

// SyncDir implements vfs.FS.
func (Unsynced) SyncDir(string) error { return nil }

// Create implements vfs.FS.
func (u Unsynced) Create(name string, perm fs.FileMode) (vfs.File, error) {
	file, err := u.FS.Create(name, perm)
	if err != nil {
		return nil, err
	}
	return unsyncedFile{file}, nil
}

type unsyncedFile struct{ vfs.File }

// Sync implements vfs.File.
func (unsyncedFile) Sync() error { return nil }
