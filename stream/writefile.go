package stream

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
)

// WriteFile writes a small file whole or not at all: under a hidden name, synced, then renamed, so that a reader
// of path finds either the old content or the new.
func WriteFile(fsys FS, path string, content []byte) error {
	return WriteFileBy(fsys, path, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
}

// WriteFileBy is WriteFile for content that a function writes.
func WriteFileBy(fsys FS, path string, write func(io.Writer) error) error {
	hidden := filepath.Join(filepath.Dir(path), fmt.Sprintf(".%s.%016x.tmp", filepath.Base(path), rand.Uint64()))
	file, err := fsys.Create(hidden)
	if err != nil {
		return err
	}
	err = write(file)
	if err == nil {
		err = file.Sync()
	}
	if err == nil {
		err = fsys.Rename(hidden, path)
	}
	if err != nil {
		return errors.Join(err, file.Close(), fsys.Remove(hidden))
	}
	return file.Close()
}
