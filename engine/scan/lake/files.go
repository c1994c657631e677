package lake

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mpga/mpga/internal/vfs"
)

// metadataBytesMax bounds one file of metadata: 1 GiB lists millions of files. L2.
const metadataBytesMax = 1 << 30

// entry is a file of a directory.
type entry struct {
	name     string // in the directory
	bytes    int64
	modified time.Time
}

// list returns the files of a directory, by name: none where an object store has no such prefix.
func list(fsys vfs.FS, dir string) (entries []entry, err error) {
	if objects, ok := vfs.ObjectsAt(fsys, dir); ok {
		found, err := objects.List(dir + "/")
		for _, o := range found {
			name := strings.TrimPrefix(o.Name, dir+"/")
			entries = append(entries, entry{name, o.Size, o.Modified})
		}
		return entries, err
	}
	found, err := fsys.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, of := range found {
		info, err := of.Info()
		if err == nil && info.Mode()&fs.ModeSymlink != 0 {
			info, err = fsys.Stat(join(dir, of.Name()))
		}
		if err != nil {
			return nil, err
		}
		if info.Mode().IsRegular() {
			entries = append(entries, entry{of.Name(), info.Size(), info.ModTime()})
		}
	}
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.name, b.name) })
	return entries, nil
}

// read returns the content of a file.
func read(fsys vfs.FS, path string) (content []byte, err error) {
	f, err := fsys.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	content, err = io.ReadAll(io.LimitReader(f, metadataBytesMax+1))
	if err == nil && len(content) > metadataBytesMax {
		err = fmt.Errorf("%s: more than %d B of metadata", path, metadataBytesMax)
	}
	return content, err
}

// readRange returns n bytes of a file.
func readRange(fsys vfs.FS, path string, from, n int64) (part []byte, err error) {
	f, err := fsys.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if from < 0 || n < 0 || n > info.Size() || from > info.Size()-n {
		return nil, fmt.Errorf("%s: %w: %d B from byte %d on, of %d", path, errDamaged, n, from, info.Size())
	}
	part = make([]byte, n)
	if _, err := f.ReadAt(part, from); err != nil && !(errors.Is(err, io.EOF)) {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return part, nil
}

// errDamaged marks metadata whose parts contradict each other. L2.
var errDamaged = errors.New("damaged metadata")

// join returns the path of a file in a directory.
func join(dir, name string) string {
	if strings.Contains(dir, "://") {
		return dir + "/" + name
	}
	return filepath.Join(dir, name)
}

// locate returns the path of a file as metadata name it: a URI, or a path from the root of the table on.
func locate(root, uri string) string {
	if rest, ok := strings.CutPrefix(uri, "file:"); ok {
		return "/" + strings.TrimLeft(rest, "/")
	}
	for _, alias := range []string{"s3a://", "s3n://"} {
		if rest, ok := strings.CutPrefix(uri, alias); ok {
			return "s3://" + rest
		}
	}
	if strings.Contains(uri, "://") || strings.HasPrefix(uri, "/") {
		return uri
	}
	return join(root, uri)
}

// unescaped returns a path as the log of Delta writes it, with %XX for some characters.
func unescaped(path string) string {
	if plain, err := url.PathUnescape(path); err == nil {
		return plain
	}
	return path
}

// Expired explains a file that is not there any more, which metadata name.
func Expired(err error, what string) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %s is gone: the state of the table has expired, or the table is being cleaned up; read its "+
			"last state", err, what)
	}
	return err
}
