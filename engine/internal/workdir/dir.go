package workdir

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/vfs"
)

// Dir is a directory of a file system, or the objects whose URLs begin with a prefix. Names in it
// have slashes.
type Dir struct {
	FS      vfs.FS
	Root    string         // without a slash at its end
	Budget  rowdata.Budget // of what is read; nil without a limit
	Damaged error          // the class of the errors of JSON that is not what was written
	Copies  *Copies        // of packs of a store; nil keeps none
}

// Entry is a file in a Dir.
type Entry struct {
	Name     string // within the directory that was listed
	Bytes    int64
	Modified time.Time // zero where it has not been asked for, or the store does not tell
}

// Objects returns the store of a directory that is the beginning of URLs; ok is false of another.
func (w Dir) Objects() (of vfs.Objects, ok bool) { return vfs.ObjectsAt(w.FS, w.Root) }

// Path returns the path, or the URL, of a name.
func (w Dir) Path(name string) string {
	if _, ok := w.Objects(); ok {
		return w.Root + "/" + name
	}
	return filepath.Join(w.Root, filepath.FromSlash(name))
}

// Absolute returns a path that means the same in another directory.
func Absolute(fsys vfs.FS, path string) string {
	if _, ok := vfs.ObjectsAt(fsys, path); ok {
		return strings.TrimRight(path, "/")
	}
	if full, err := filepath.Abs(path); err == nil {
		return full
	}
	return path
}

// BaseName returns the last part of a path or a URL.
func BaseName(path string) string {
	path = filepath.ToSlash(path)
	return path[strings.LastIndexByte(path, '/')+1:]
}

// Write writes a file whole or not at all, in place of a file of its name.
func (w Dir) Write(name string, fill func(io.Writer) error) error {
	buffered := func(to io.Writer) error {
		b := bufio.NewWriterSize(to, 1<<20)
		if err := fill(b); err != nil {
			return err
		}
		return b.Flush()
	}
	return w.put(name, func(path string) error { return vfs.WriteAny(w.FS, path, buffered) })
}

// put calls a function that writes a file. Of a file system it makes the directory before, and
// then the name durable, where the file system has a way to.
func (w Dir) put(name string, write func(path string) error) error {
	path := w.Path(name)
	if _, ok := w.Objects(); ok {
		return write(path)
	}
	dir := filepath.Dir(path)
	if err := w.FS.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	if err := write(path); err != nil {
		return err
	}
	if err := w.FS.SyncDir(dir); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil
}

// WriteJSON writes a value.
func (w Dir) WriteJSON(name string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return w.Write(name, TextWriter(text))
}

// TextWriter returns a function that writes a text.
func TextWriter(text []byte) func(io.Writer) error {
	return func(to io.Writer) error {
		_, err := to.Write(text)
		return err
	}
}

// PutNew writes a small file, unless a file has its name, which is fs.ErrExist.
func (w Dir) PutNew(name string, content []byte) error {
	return w.put(name, func(path string) error {
		if objects, ok := w.Objects(); ok {
			return objects.PutNew(path, content)
		}
		return w.linkNew(path, content)
	})
}

// linkNew is PutNew for a file, in a directory that is there.
func (w Dir) linkNew(path string, content []byte) error {
	vfs.RemoveAbandoned(w.FS, path)
	hidden := vfs.HiddenName(path)
	// open, and so locked, until it has its name: else others take it for abandoned
	file, err := w.FS.Create(hidden, 0o666)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err == nil {
		err = file.Sync()
	}
	if err == nil {
		err = w.FS.Link(hidden, path)
	}
	if errors.Is(err, errors.ErrUnsupported) { // the last writer wins
		if err = w.FS.Rename(hidden, path); err == nil {
			return file.Close()
		}
	}
	return errors.Join(err, w.FS.Remove(hidden), file.Close())
}

// readMax bounds a file that is read whole.
const readMax = 1 << 30

// ParsedBytes is what a byte of a file takes, about, while the file is parsed: itself, and the values that it becomes.
const ParsedBytes = 3

// Read gives a function the text of a file. While the function parses it, the memory of that is reserved; afterwards
// the values count as what the process holds.
func (w Dir) Read(name string, parse func(text []byte) error) (err error) {
	file, err := w.FS.Open(w.Path(name))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if info.Size() > readMax {
		return fmt.Errorf("%s is larger than %d B", w.Path(name), readMax)
	}
	held := rowdata.NewReservation(w.Budget)
	defer held.Release()
	if err := held.Resize(ParsedBytes * info.Size()); err != nil {
		return fmt.Errorf("%s of %s: %w", w.Path(name), humanize.IBytes(uint64(info.Size())), err)
	}
	text := make([]byte, info.Size())
	if _, err := io.ReadFull(file, text); err != nil {
		return err
	}
	return parse(text)
}

// ReadJSON reads a value, which must be all of the file.
func (w Dir) ReadJSON(name string, value any) error {
	return w.Read(name, func(text []byte) error {
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		err := d.Decode(value)
		if err == nil {
			if _, more := d.Token(); !errors.Is(more, io.EOF) {
				err = errors.New("something follows it")
			}
		}
		if err != nil {
			return fmt.Errorf("%w: %s is damaged: %w", w.Damaged, w.Path(name), err)
		}
		return nil
	})
}

// List returns the entries of a directory whose names begin with a prefix, sorted by name: of objects
// all below the directory. A directory that is not there has none.
func (w Dir) List(dir, prefix string) (found []Entry, err error) {
	if objects, ok := w.Objects(); ok {
		from := w.Path(dir + "/")
		list, err := objects.List(from + prefix)
		for _, o := range list {
			found = append(found, Entry{Name: strings.TrimPrefix(o.Name, from), Bytes: o.Size, Modified: o.Modified})
		}
		return found, err
	}
	entries, err := w.FS.ReadDir(w.Path(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), prefix) {
			continue
		}
		found = append(found, Entry{Name: e.Name()})
	}
	return found, err
}

// Walk lists all files below a directory, by names from the root of w.
func (w Dir) Walk(dir string) (files []Entry, err error) {
	if objects, ok := w.Objects(); ok {
		list, err := objects.List(w.Root + "/")
		for _, o := range list {
			files = append(files, Entry{Name: strings.TrimPrefix(o.Name, w.Root+"/"), Bytes: o.Size, Modified: o.Modified})
		}
		return files, err
	}
	entries, err := w.FS.ReadDir(w.Path(dir))
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		if e.IsDir() {
			below, err := w.Walk(name)
			if err != nil {
				return nil, err
			}
			files = append(files, below...)
			continue
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // its task has just ended
		} else if err != nil {
			return nil, err
		}
		files = append(files, Entry{Name: name, Bytes: info.Size(), Modified: info.ModTime()})
	}
	return files, nil
}
