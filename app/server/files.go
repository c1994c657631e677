package server

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mpga/mpga/internal/vfs"
)

// readOnly is a vfs.FS whose files are never written.
type readOnly struct{ vfs.FS }

// errReadOnly is the error of writing.
var errReadOnly = fmt.Errorf("%w: clients of a server write no files", ErrForbidden)

func (readOnly) Create(string, fs.FileMode) (vfs.File, error) { return nil, errReadOnly }
func (readOnly) MkdirAll(string, fs.FileMode) error           { return errReadOnly }
func (readOnly) Rename(string, string) error                  { return errReadOnly }
func (readOnly) Exchange(string, string) error                { return errReadOnly }
func (readOnly) Link(string, string) error                    { return errReadOnly }
func (readOnly) Remove(string) error                          { return errReadOnly }
func (readOnly) SyncDir(string) error                         { return errReadOnly }
func (readOnly) OpenDevice(string) (vfs.File, error)          { return nil, errReadOnly }
func (readOnly) RemoveAbandoned(string) error                 { return errReadOnly }
func (readOnly) CreateTemp(string) (vfs.TempFile, error)      { return nil, errReadOnly }

// noFiles is the file system of clients that may name no files.
type noFiles struct{ readOnly }

var errNoFiles = fmt.Errorf("%w: this server reads no files that its clients name, "+
	"but its tables only (--allow-files lets them)", ErrForbidden)

func (noFiles) Open(string) (vfs.File, error)          { return nil, errNoFiles }
func (noFiles) Stat(string) (fs.FileInfo, error)       { return nil, errNoFiles }
func (noFiles) ReadDir(string) ([]fs.DirEntry, error)  { return nil, errNoFiles }
func (noFiles) IsObject(name string) bool              { return strings.Contains(name, "://") }
func (noFiles) List(string) ([]vfs.Object, error)      { return nil, errNoFiles }
func (noFiles) Upload(name string) (vfs.Upload, error) { return nil, errReadOnly }
func (noFiles) PutNew(string, []byte) error            { return errReadOnly }
func (noFiles) Copy(string, string) error              { return errReadOnly }

// Allowed is the files below a directory of the system, or the objects whose URLs begin with a
// prefix, and nothing else: no link leads out of the directory. Clients name files by their paths
// in the directory, or from the root of the system.
type Allowed struct {
	readOnly
	dir    string   // absolute; "" of objects
	root   *os.Root // of dir; nil of objects
	prefix string   // of URLs; "" of a directory
}

// Allow returns the files below a directory, or the objects below a URL of base. It must be closed.
func Allow(base vfs.FS, place string) (*Allowed, error) {
	if objects, ok := base.(vfs.Objects); ok && objects.IsObject(place) {
		return &Allowed{readOnly: readOnly{base}, prefix: strings.TrimSuffix(place, "/") + "/"}, nil
	}
	dir, err := filepath.Abs(place)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &Allowed{readOnly: readOnly{base}, dir: dir, root: root}, nil
}

// Close closes the directory.
func (a *Allowed) Close() error {
	if a.root == nil {
		return nil
	}
	return a.root.Close()
}

// outside is the error of a name that is not allowed.
func (a *Allowed) outside(name string) error {
	place := a.prefix
	if a.root != nil {
		place = "the directory of files that clients may read"
	}
	return fmt.Errorf("%w: %s is not below %s (--allow-files)", ErrForbidden, name, place)
}

// below returns the path of a file in the directory.
func (a *Allowed) below(name string) (string, error) {
	if a.root == nil {
		return "", a.outside(name)
	}
	if filepath.IsAbs(name) {
		rel, err := filepath.Rel(a.dir, name)
		if err != nil {
			return "", a.outside(name)
		}
		name = rel
	}
	if name = filepath.Clean(name); !filepath.IsLocal(name) {
		return "", a.outside(name)
	}
	return name, nil
}

// Open implements vfs.FS.
func (a *Allowed) Open(name string) (vfs.File, error) {
	if a.IsObject(name) {
		if !a.allows(name) {
			return nil, a.outside(name)
		}
		return a.FS.Open(name)
	}
	path, err := a.below(name)
	if err != nil {
		return nil, err
	}
	file, err := vfs.OpenRegular(path, a.root.OpenFile)
	return file, a.told(name, err)
}

// told is an error of the directory with the name that the client gave, and without the directory's.
func (a *Allowed) told(name string, err error) error {
	if escapes(err) {
		return a.outside(name)
	}
	var of *fs.PathError
	if errors.As(err, &of) {
		return &fs.PathError{Op: of.Op, Path: name, Err: of.Err}
	}
	return err
}

// Stat implements vfs.FS.
func (a *Allowed) Stat(name string) (fs.FileInfo, error) {
	if a.IsObject(name) {
		if !a.allows(name) {
			return nil, a.outside(name)
		}
		return a.FS.Stat(name)
	}
	path, err := a.below(name)
	if err != nil {
		return nil, err
	}
	info, err := a.root.Stat(path)
	return info, a.told(name, err)
}

// ReadDir implements vfs.FS.
func (a *Allowed) ReadDir(name string) ([]fs.DirEntry, error) {
	path, err := a.below(name)
	if err != nil {
		return nil, err
	}
	list, err := fs.ReadDir(a.root.FS(), filepath.ToSlash(path))
	return slices.DeleteFunc(list, func(e fs.DirEntry) bool {
		return e.Type()&fs.ModeSymlink != 0 && a.leadsOut(filepath.Join(path, e.Name()))
	}), a.told(name, err)
}

// leadsOut says whether a name in the directory is a link that leads out of it. A pattern or a folder
// goes on without such a file; a statement that names it is refused.
func (a *Allowed) leadsOut(path string) bool {
	if _, err := a.root.Stat(path); !escapes(err) {
		return false
	}
	slog.Warn("a link that leads out of the directory of --allow-files is left out", "name", path)
	return true
}

// escapes says whether an error of a root is that of a link which leads out of it. Package os has no
// value for it.
func escapes(err error) bool {
	var of *fs.PathError
	return errors.As(err, &of) && of.Err.Error() == "path escapes from parent"
}

// IsObject implements vfs.Objects: whatever looks like a URL is no file.
func (a *Allowed) IsObject(name string) bool { return strings.Contains(name, "://") }

// List implements vfs.Objects.
func (a *Allowed) List(prefix string) ([]vfs.Object, error) {
	objects, ok := a.FS.(vfs.Objects)
	if !ok || !a.allows(prefix) {
		return nil, a.outside(prefix)
	}
	return objects.List(prefix)
}

// Upload implements vfs.Objects.
func (a *Allowed) Upload(string) (vfs.Upload, error) { return nil, errReadOnly }

// PutNew implements vfs.Objects.
func (a *Allowed) PutNew(string, []byte) error { return errReadOnly }

// Copy implements vfs.Objects.
func (a *Allowed) Copy(string, string) error { return errReadOnly }

// allows says whether the URL of an object, or a prefix of URLs, is below the allowed prefix.
func (a *Allowed) allows(name string) bool {
	if a.prefix == "" || !strings.HasPrefix(name, a.prefix) {
		return false
	}
	rest := name[len(a.prefix):]
	if strings.HasPrefix(a.prefix, "http://") || strings.HasPrefix(a.prefix, "https://") { // whose servers decode names
		path, _, _ := strings.Cut(rest, "?")
		plain, err := url.PathUnescape(path)
		if err != nil || strings.ContainsRune(plain, '\\') || strings.Contains("/"+plain+"/", "/../") {
			return false
		}
	}
	return rest == "" || !strings.HasPrefix(path.Clean("/"+rest), "/..") && !strings.Contains("/"+rest+"/", "/../")
}
