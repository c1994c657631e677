package vfs

import (
	"errors"
	"io"
	"time"
)

// Objects is implemented by file systems where some names are URLs of objects in a store.
// Objects have no directories and are not renamed: an object appears under its name when it is
// complete.
type Objects interface {
	// IsObject says whether a name is a URL.
	IsObject(name string) bool

	// List returns the objects whose names begin with a prefix, sorted by name.
	List(prefix string) ([]Object, error)

	// Upload begins an object.
	Upload(name string) (Upload, error)

	// PutNew writes a small object, unless an object has its name, which is fs.ErrExist. Where several
	// write one name, the first wins, unless the store knows no conditions: then the last does.
	PutNew(name string, content []byte) error

	// Copy gives the bytes of an object to another name of its bucket, within the store, or returns
	// errors.ErrUnsupported.
	Copy(from, to string) error
}

// ObjectsAt returns the store of a path, if the path is the URL of an object.
func ObjectsAt(fsys FS, path string) (Objects, bool) {
	objects, ok := fsys.(Objects)
	return objects, ok && objects.IsObject(path)
}

// Object is what a list tells of an object.
type Object struct {
	Name     string
	Size     int64     // bytes
	Modified time.Time // zero where the store does not tell
	ETag     string    // of its content; "" where the store does not tell
}

// Upload is an object that is being written. One goroutine uses it; one of Commit and Abort ends
// it.
type Upload interface {
	io.Writer

	// Commit makes the object visible, in place of an object that had its name.
	Commit() error

	// Abort leaves nothing behind.
	Abort() error
}

// WriteAny writes a file as WriteFileBy does, or an object, whole or not at all.
func WriteAny(fsys FS, path string, write func(io.Writer) error) error {
	objects, ok := ObjectsAt(fsys, path)
	if !ok {
		return WriteFileBy(fsys, path, 0o666, write)
	}
	upload, err := objects.Upload(path)
	if err != nil {
		return err
	}
	if err := write(upload); err != nil {
		return errors.Join(err, upload.Abort())
	}
	return upload.Commit()
}

// Announcer is what a File may have besides: a file of a store, which takes long to answer, reads
// ahead what is announced. File has no Announce, since files of the system need none and wrappers
// of files would have to pass it on.
type Announcer interface {
	// Announce says which ranges will be read, each from its beginning.
	Announce(ranges []Range)
}

// Range is a part of a file.
type Range struct{ Offset, Bytes int64 }
