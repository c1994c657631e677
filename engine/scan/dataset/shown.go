package dataset

import (
	"errors"
	"io/fs"

	"github.com/mpga/mpga/internal/redact"
	"github.com/mpga/mpga/internal/vfs"
)

// shownFS is a file system in which files have the names that people see. Names with secrets are
// here alone: errors and all else that is made of a file's name have no secret. Open, Stat and
// IsObject take such names; nothing else does.
type shownFS struct {
	vfs.FS
	full map[string]string // names with secrets, by the names that people see
}

var (
	_ vfs.FS      = (*shownFS)(nil)
	_ vfs.Objects = (*shownFS)(nil)
)

// show returns the names for people of files of a file system, and a file system that knows the
// files by these names.
func show(fsys vfs.FS, names []string) ([]string, vfs.FS) {
	shown := redact.Names(names)
	full := make(map[string]string)
	for i, name := range names {
		if shown[i] != name {
			full[shown[i]] = name
		}
	}
	if len(full) == 0 {
		return names, fsys
	}
	return shown, &shownFS{FS: fsys, full: full}
}

// name returns the name with its secrets.
func (f *shownFS) name(shown string) string {
	if full, ok := f.full[shown]; ok {
		return full
	}
	return shown
}

// Open implements vfs.FS.
func (f *shownFS) Open(name string) (vfs.File, error) {
	file, err := f.FS.Open(f.name(name))
	return file, redact.Error(err)
}

// Stat implements vfs.FS.
func (f *shownFS) Stat(name string) (fs.FileInfo, error) {
	info, err := f.FS.Stat(f.name(name))
	return info, redact.Error(err)
}

// IsObject implements vfs.Objects.
func (f *shownFS) IsObject(name string) bool {
	objects, ok := f.FS.(vfs.Objects)
	return ok && objects.IsObject(f.name(name))
}

// List implements vfs.Objects. Files are listed before they have names for people.
func (f *shownFS) List(prefix string) ([]vfs.Object, error) {
	return nil, &fs.PathError{Op: "list", Path: redact.URL(prefix), Err: errors.ErrUnsupported}
}

// PutNew implements vfs.Objects.
func (f *shownFS) PutNew(name string, _ []byte) error {
	return &fs.PathError{Op: "upload", Path: redact.URL(name), Err: errors.ErrUnsupported}
}

// Copy implements vfs.Objects.
func (f *shownFS) Copy(from, _ string) error {
	return &fs.PathError{Op: "copy", Path: redact.URL(from), Err: errors.ErrUnsupported}
}

// Upload implements vfs.Objects.
func (f *shownFS) Upload(name string) (vfs.Upload, error) {
	return nil, &fs.PathError{Op: "upload", Path: redact.URL(name), Err: errors.ErrUnsupported}
}
