package server

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"

	"github.com/dustin/go-humanize"

	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/internal/knob"
)

// UploadsDir is the directory of uploads, below the one of the files that clients may name.
const UploadsDir = "uploads"

// Uploads takes files of people into a directory whose files clients may name. A file appears whole or not at all,
// under a name of plain letters, and never in place of another. It is safe for concurrent use.
type Uploads struct {
	root *os.Root // no name and no link leads out of it
	most int64    // bytes of all files together

	mu   sync.Mutex
	used int64 // bytes of the files there are, and of files that are being taken
}

// partPrefix begins the names of files that are being taken. Readers of folders leave such names out.
const partPrefix = ".upload-"

// Uploads returns the directory of uploads, which it makes where there is none, for files of `most` bytes together. It
// must be closed.
func (a *Allowed) Uploads(most int64) (u *Uploads, err error) {
	if a.root == nil {
		return nil, fmt.Errorf("files are taken into a directory, and clients may name objects below %s", a.prefix)
	}
	if err := a.root.Mkdir(UploadsDir, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	root, err := a.root.OpenRoot(UploadsDir)
	if err != nil {
		return nil, err
	}
	u = &Uploads{root: root, most: most}
	if err := u.count(); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return u, nil
}

// Close closes the directory.
func (u *Uploads) Close() error { return u.root.Close() }

// count counts the bytes of the files there are, and removes what a server has left that was killed.
func (u *Uploads) count() error {
	return fs.WalkDir(u.root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		if strings.HasPrefix(name, partPrefix) {
			return u.root.Remove(name)
		}
		info, err := e.Info()
		if err == nil {
			u.used += info.Size()
		}
		return err
	})
}

// Take reads a file that is called `name` where it comes from, and returns by which name clients read it.
func (u *Uploads) Take(name string, from io.Reader) (taken string, err error) {
	clean, err := cleanName(name)
	if err != nil {
		return "", err
	}
	part := partPrefix + rand.Text()
	file, err := u.root.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return "", err
	}
	in := &counted{of: u, name: clean}
	_, err = io.Copy(file, io.TeeReader(from, in))
	if err = errors.Join(err, file.Sync(), file.Close()); err == nil {
		clean, err = u.link(part, clean)
	}
	if err = errors.Join(err, u.root.Remove(part)); err != nil {
		u.mu.Lock()
		u.used -= in.bytes
		u.mu.Unlock()
		return "", err
	}
	return path.Join(UploadsDir, clean), nil
}

// counted counts the bytes of a file that is being taken, and refuses those beyond the limit.
type counted struct {
	of    *Uploads
	name  string
	bytes int64
}

func (c *counted) Write(p []byte) (int, error) {
	u := c.of
	u.mu.Lock()
	defer u.mu.Unlock()
	if n := int64(len(p)); u.used+n > u.most {
		const why = "%w: %s: with it, the files of %s would take more than %s (%s)"
		return 0, knob.Errorf(why, ErrTooLarge, c.name, UploadsDir, humanize.IBytes(uint64(u.most)), uploadBytesKnob)
	}
	u.used += int64(len(p))
	c.bytes += int64(len(p))
	return len(p), nil
}

// namesMax bounds how many names are tried for a file.
const namesMax = 1000

// link gives a file that has been taken its name: with a number, where there is one of that name.
func (u *Uploads) link(part, name string) (string, error) {
	stem, ending, _ := strings.Cut(name, ".")
	for n := 1; n <= namesMax; n++ {
		if n > 1 {
			name = fmt.Sprintf("%s-%d.%s", stem, n, ending)
		}
		if err := u.root.Link(part, name); !errors.Is(err, fs.ErrExist) {
			return name, err
		}
	}
	return "", fmt.Errorf("%w: there are %d files %s already", ErrExists, namesMax, name)
}

// nameBytesMax bounds the name of a file.
const nameBytesMax = 128

// cleanName returns the last part of a name, with plain letters: the name of a file that mpga reads.
func cleanName(name string) (string, error) {
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	name = strings.TrimLeft(strings.Map(func(r rune) rune {
		switch {
		case r >= '0' && r <= '9', r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r == '.', r == '-', r == '_':
			return r
		}
		return '_'
	}, name), ".-_") // names that begin so are hidden from readers of folders
	if name == "" || len(name) > nameBytesMax {
		return "", fmt.Errorf("a file needs a name of 1 to %d letters", nameBytesMax)
	}
	if !dataset.IsDataFile(name) {
		const why = "%s has no ending of a file that mpga reads, such as .csv, .json, .parquet, .arrow or .csv.gz"
		return "", fmt.Errorf(why, name)
	}
	return name, nil
}
