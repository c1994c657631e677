package server

import (
	"io/fs"
	"path/filepath"

	"github.com/mpga/mpga/internal/vfs"
)

// UserFiles is every file that the user of the process may read, and every object and URL, for a
// server whose clients are that user's own. A client of a server with UserFiles
// reads what the user reads, and COPY writes what the user may write, so that only the user may reach such a server.
type UserFiles struct {
	readOnly        // for statements that read
	dir      string // where relative names begin, absolute; "" for the working directory of the process
}

// NewUserFiles returns the files of base. Relative names begin in the working directory.
func NewUserFiles(base vfs.FS) UserFiles { return UserFiles{readOnly: readOnly{base}} }

// in returns the same files for a client whose working directory is another.
func (u UserFiles) in(dir string) UserFiles {
	u.dir = dir
	return u
}

// path returns the name of a file, or the URL of an object, as the system has it.
func (u UserFiles) path(name string) string {
	if u.dir == "" || filepath.IsAbs(name) || u.IsObject(name) {
		return name
	}
	return filepath.Join(u.dir, name)
}

// Open implements vfs.FS.
func (u UserFiles) Open(name string) (vfs.File, error) { return u.FS.Open(u.path(name)) }

// Stat implements vfs.FS.
func (u UserFiles) Stat(name string) (fs.FileInfo, error) { return u.FS.Stat(u.path(name)) }

// ReadDir implements vfs.FS.
func (u UserFiles) ReadDir(name string) ([]fs.DirEntry, error) { return u.FS.ReadDir(u.path(name)) }

// IsObject implements vfs.Objects.
func (u UserFiles) IsObject(name string) bool {
	_, ok := vfs.ObjectsAt(u.FS, name)
	return ok
}

// List implements vfs.Objects.
func (u UserFiles) List(prefix string) ([]vfs.Object, error) {
	objects, ok := vfs.ObjectsAt(u.FS, prefix)
	if !ok {
		return nil, errNoFiles
	}
	return objects.List(prefix)
}

// Upload implements vfs.Objects.
func (u UserFiles) Upload(string) (vfs.Upload, error) { return nil, errReadOnly }

// PutNew implements vfs.Objects.
func (u UserFiles) PutNew(string, []byte) error { return errReadOnly }

// Copy implements vfs.Objects.
func (u UserFiles) Copy(string, string) error { return errReadOnly }

var _ vfs.Objects = UserFiles{}
