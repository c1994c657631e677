package sink

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/mpga/mpga/internal/vfs"
)

// fileOutput is an output that appears under its name when it is complete (S1).
type fileOutput struct {
	vfs.File
	fs           vfs.FS
	path, temp   string
	keepExisting bool
	before       func() error // Options.BeforePublish
}

// createOutput starts the file or object of an output that is no directory.
func createOutput(path string, opt *Options) (output, error) {
	objects, ok := vfs.ObjectsAt(opt.FS, path)
	if !ok {
		isDevice, err := checkTarget(opt.FS, path, opt.KeepExisting)
		switch {
		case err != nil:
			return nil, err
		case isDevice:
			return openDevice(opt.FS, path)
		}
		f, err := createFile(opt.FS, path, opt.KeepExisting)
		if err != nil {
			return nil, err
		}
		f.before = opt.BeforePublish
		return f, nil
	}
	if err := checkObject(opt.FS, path, opt.KeepExisting); err != nil {
		return nil, err
	}
	upload, err := objects.Upload(path)
	if err != nil {
		return nil, err
	}
	return &objectOutput{Upload: upload, before: opt.BeforePublish}, nil
}

// checkObject refuses an object that is there and stays.
func checkObject(fsys vfs.FS, path string, keepExisting bool) error {
	if !keepExisting {
		return nil
	}
	_, err := fsys.Stat(path)
	switch {
	case err == nil:
		return fmt.Errorf("%s: %w", path, fs.ErrExist)
	case errors.Is(err, fs.ErrNotExist):
		return nil
	}
	return err
}

// createFile starts a file beside its target, and removes files that ended runs have left beside
// the target.
func createFile(fsys vfs.FS, path string, keepExisting bool) (*fileOutput, error) {
	vfs.RemoveAbandoned(fsys, path)
	f := &fileOutput{fs: fsys, path: path, temp: vfs.HiddenName(path), keepExisting: keepExisting}
	var err error
	f.File, err = fsys.Create(f.temp, 0o666)
	return f, opError(path, err)
}

// checkTarget refuses a path that a rename would not, or should not, replace (S2). It says whether
// the path is that of a device or a pipe, which is written to instead.
func checkTarget(fsys vfs.FS, path string, keepExisting bool) (isDevice bool, err error) {
	if strings.HasSuffix(path, string(filepath.Separator)) {
		return false, fmt.Errorf("%s: is a directory: name a file in it", path)
	}
	if err := checkParent(fsys, path); err != nil {
		return false, err
	}
	switch info, err := fsys.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("%s: %w", path, withoutPath(err))
	case info.IsDir():
		return false, fmt.Errorf("%s: is a directory: name a file in it", path)
	case !info.Mode().IsRegular():
		return true, nil
	case isDescriptor(path):
		return false, fmt.Errorf("%s: is a file that is open already: give its own name", path)
	case keepExisting:
		return false, fmt.Errorf("%s: %w", path, fs.ErrExist)
	case info.Mode().Perm()&0o222 == 0:
		return false, fmt.Errorf("%s: exists and is read-only (mode %s)", path, info.Mode())
	}
	return false, nil
}

// checkParent refuses a path that no directory has room for. S2.
func checkParent(fsys vfs.FS, path string) error {
	dir := filepath.Dir(path)
	switch info, err := fsys.Stat(dir); {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: the directory %s does not exist", path, dir)
	case err != nil:
		return fmt.Errorf("%s: directory: %w", path, err)
	case !info.IsDir():
		return fmt.Errorf("%s: %s is not a directory", path, dir)
	}
	return nil
}

func (f *fileOutput) commit() error {
	if err := f.publish(); err != nil {
		return errors.Join(err, f.remove())
	}
	// Until its directory is synced the file could be gone after a crash. The file is taken back
	// rather than left in doubt: an error means that there is no output.
	if err := syncDir(f.fs, filepath.Dir(f.path)); err != nil {
		return errors.Join(err, f.remove())
	}
	return nil
}

// publish makes the bytes durable and gives them their name. The file is closed either way, but not
// before it has its name: a hidden file that nobody has open counts as abandoned.
func (f *fileOutput) publish() error {
	if err := f.rename(); err != nil {
		return errors.Join(err, f.Close())
	}
	f.temp = f.path
	return opError("close", f.Close())
}

func (f *fileOutput) rename() error {
	if err := opError("sync", f.Sync()); err != nil {
		return err
	}
	if f.keepExisting {
		if _, err := f.fs.Stat(f.path); err == nil {
			return fs.ErrExist
		}
	}
	if f.before != nil {
		if err := f.before(); err != nil {
			return err
		}
	}
	return opError("rename", f.fs.Rename(f.temp, f.path))
}

func (f *fileOutput) abort() error { return errors.Join(f.Close(), f.remove()) }

func (f *fileOutput) remove() error { return opError("remove "+f.temp, f.fs.Remove(f.temp)) }

// syncDir makes the names in a directory durable, where the file system, unlike some of a network,
// has a way to do so.
func syncDir(fsys vfs.FS, path string) error {
	err := fsys.SyncDir(path)
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EINVAL) {
		return nil
	}
	return opError("sync directory", err)
}

// opError adds the name of an operation of the file system to its error; nil stays nil.
func opError(op string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", op, withoutPath(err))
}

// withoutPath drops the operation and the hidden name that an error of the file system carries.
func withoutPath(err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	var linkErr *os.LinkError
	if errors.As(err, &linkErr) {
		return linkErr.Err
	}
	return err
}
