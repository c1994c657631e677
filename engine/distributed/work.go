package distributed

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/vfs"
)

// workDir is a directory of a file system, or the objects whose URLs begin with a prefix. Names in it
// have slashes.
type workDir struct {
	fs     vfs.FS
	root   string         // without a slash at its end
	budget rowdata.Budget // of what is read; nil without a limit
}

// entry is a file in a workDir.
type entry struct {
	name     string // within the directory that was listed
	bytes    int64
	modified time.Time
}

func (w workDir) objects() (vfs.Objects, bool) { return vfs.ObjectsAt(w.fs, w.root) }

// path returns the path, or the URL, of a name.
func (w workDir) path(name string) string {
	if _, ok := w.objects(); ok {
		return w.root + "/" + name
	}
	return filepath.Join(w.root, filepath.FromSlash(name))
}

// baseName returns the last part of a path or a URL.
func baseName(path string) string {
	path = filepath.ToSlash(path)
	return path[strings.LastIndexByte(path, '/')+1:]
}

// write writes a file whole or not at all, in place of a file of its name.
func (w workDir) write(name string, fill func(io.Writer) error) error {
	buffered := func(to io.Writer) error {
		b := bufio.NewWriterSize(to, 1<<20)
		if err := fill(b); err != nil {
			return err
		}
		return b.Flush()
	}
	return w.put(name, func(path string) error { return vfs.WriteAny(w.fs, path, buffered) })
}

// put calls a function that writes a file. Of a file system it makes the directory before, and
// then the name durable, where the file system has a way to.
func (w workDir) put(name string, write func(path string) error) error {
	path := w.path(name)
	if _, ok := w.objects(); ok {
		return write(path)
	}
	dir := filepath.Dir(path)
	if err := w.fs.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	if err := write(path); err != nil {
		return err
	}
	if err := w.fs.SyncDir(dir); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil
}

// writeJSON writes a value.
func (w workDir) writeJSON(name string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return w.write(name, writerOf(text))
}

// writerOf returns a function that writes a text.
func writerOf(text []byte) func(io.Writer) error {
	return func(to io.Writer) error {
		_, err := to.Write(text)
		return err
	}
}

// putNew writes a small file, unless a file has its name, which is fs.ErrExist.
func (w workDir) putNew(name string, content []byte) error {
	return w.put(name, func(path string) error {
		if objects, ok := w.objects(); ok {
			return objects.PutNew(path, content)
		}
		return w.linkNew(path, content)
	})
}

// linkNew is putNew for a file, in a directory that is there.
func (w workDir) linkNew(path string, content []byte) error {
	vfs.RemoveAbandoned(w.fs, path)
	hidden := vfs.HiddenName(path)
	// open, and so locked, until it has its name: else others take it for abandoned
	file, err := w.fs.Create(hidden, 0o666)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err == nil {
		err = file.Sync()
	}
	if err == nil {
		err = w.fs.Link(hidden, path)
	}
	if errors.Is(err, errors.ErrUnsupported) { // R2: the last writer wins
		if err = w.fs.Rename(hidden, path); err == nil {
			return file.Close()
		}
	}
	return errors.Join(err, w.fs.Remove(hidden), file.Close())
}

// readMax bounds a file that is read whole.
const readMax = 1 << 30

// parsedBytes is what a byte of a file takes, about, while the file is parsed: itself, and the values that it becomes.
const parsedBytes = 3

// read gives a function the text of a file. While the function parses it, the memory of that is reserved; afterwards
// the values count as what the process holds.
func (w workDir) read(name string, parse func(text []byte) error) (err error) {
	file, err := w.fs.Open(w.path(name))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if info.Size() > readMax {
		return fmt.Errorf("%s is larger than %d B", w.path(name), readMax)
	}
	held := rowdata.NewReservation(w.budget)
	defer held.Release()
	if err := held.Resize(parsedBytes * info.Size()); err != nil {
		return fmt.Errorf("%s of %s: %w", w.path(name), humanize.IBytes(uint64(info.Size())), err)
	}
	text := make([]byte, info.Size())
	if _, err := io.ReadFull(file, text); err != nil {
		return err
	}
	return parse(text)
}

// readJSON reads a value, which must be all of the file.
func (w workDir) readJSON(name string, value any) error {
	return w.read(name, func(text []byte) error {
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		err := d.Decode(value)
		if err == nil {
			if _, more := d.Token(); !errors.Is(more, io.EOF) {
				err = errors.New("something follows it")
			}
		}
		if err != nil {
			return fmt.Errorf("%w: %s is damaged: %w", ErrDamaged, w.path(name), err)
		}
		return nil
	})
}

// list returns the entries of a directory whose names begin with a prefix, sorted by name: of objects
// all below the directory. A directory that is not there has none.
func (w workDir) list(dir, prefix string) (found []entry, err error) {
	if objects, ok := w.objects(); ok {
		from := w.path(dir + "/")
		list, err := objects.List(from + prefix)
		for _, o := range list {
			found = append(found, entry{name: strings.TrimPrefix(o.Name, from), bytes: o.Size, modified: o.Modified})
		}
		return found, err
	}
	entries, err := w.fs.ReadDir(w.path(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), prefix) {
			continue
		}
		found = append(found, entry{name: e.Name()})
	}
	return found, err
}
