package dataset

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/internal/vfs"
)

// watch remembers a file as it was when it was opened first, so that a split that is read to its
// end can tell whether another file, or other content, has come in its place: an answer of half of
// either file would be wrong. A text to which somebody has appended is read as it was.
type watch struct {
	fsys vfs.FS
	path string
	was  fs.FileInfo

	// head and tail are the ends of a text that may grow, nil of other files.
	head, tail []byte
}

// watchedBytes is how many bytes are remembered of either end of a text.
const watchedBytes = 4 << 10

// newWatch returns nil for standard input, devices and objects: an object store tells versions
// apart itself.
func newWatch(fsys vfs.FS, path string) (*watch, error) {
	if objects, ok := fsys.(vfs.Objects); ok && objects.IsObject(path) || path == decode.StdinName {
		return nil, nil
	}
	info, err := fsys.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil, err
	}
	return &watch{fsys: fsys, path: path, was: info}, nil
}

// letGrow accepts that somebody appends to the file, if it is a text that is read by ranges.
func (w *watch) letGrow(byRanges bool) (err error) {
	if w != nil && byRanges {
		w.head, w.tail, err = w.ends()
	}
	return err
}

// ends reads the beginning of the file, and the end that the file had.
func (w *watch) ends() (head, tail []byte, err error) {
	f, err := w.fsys.Open(w.path)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	n := min(w.was.Size(), watchedBytes)
	head, tail = make([]byte, n), make([]byte, n)
	if _, err := f.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, err
	}
	if _, err := f.ReadAt(tail, w.was.Size()-n); err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, err
	}
	return head, tail, nil
}

// check returns an error if the file has changed, not if it was removed. A nil watch returns nil.
func (w *watch) check() error {
	if w == nil {
		return nil
	}
	info, err := w.fsys.Stat(w.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case sameContent(w.was, info):
		return nil
	case sameFile(w.was, info) && info.Size() >= w.was.Size() && w.head != nil:
		head, tail, err := w.ends()
		if err != nil || bytes.Equal(head, w.head) && bytes.Equal(tail, w.tail) {
			return err
		}
	}
	return fmt.Errorf("the file changed while it was read: it had %d B of %s, and has %d B of %s",
		w.was.Size(), w.was.ModTime().Format(timeOfChange), info.Size(), info.ModTime().Format(timeOfChange))
}

// timeOfChange is precise enough that two changes differ.
const timeOfChange = "15:04:05.000000"

// sameContent says whether a file is the same, with the same content, as far as can be told without
// reading it.
func sameContent(a, b fs.FileInfo) bool {
	return sameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// sameFile is os.SameFile, and true for files of which a file system of others does not tell.
func sameFile(a, b fs.FileInfo) bool { return os.SameFile(a, b) || !os.SameFile(a, a) }
