package scan

import (
	"github.com/mpga/mpga/internal/redact"
	"github.com/mpga/mpga/stream"
)

// shownFS is a file system in which files have the names that people see. The names with secrets are here alone: all
// that is made of a file's name, as an error, has none.
type shownFS struct {
	stream.FS
	full map[string]string // of the names that differ from those that people see
}

// show returns the names for people of files of a file system, and a file system that knows the files by these names.
func show(fsys stream.FS, names []string) ([]string, stream.FS) {
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

// Open implements stream.FS.
func (f *shownFS) Open(name string) (stream.File, error) {
	if full, ok := f.full[name]; ok {
		name = full
	}
	file, err := f.FS.Open(name)
	return file, redact.Error(err)
}
