package workdir

import (
	"io"
	"sync"

	"github.com/mpga/mpga/internal/store"
	"github.com/mpga/mpga/internal/vfs"
)

// Copies are small packs of a store that a process has read or written, in a temporary file: it reads none of them from
// the store again. They must be closed. The zero value keeps none.
type Copies struct {
	Create func() (vfs.TempFile, error) // the file

	mu    sync.Mutex
	file  vfs.TempFile     // nil until there is a copy
	end   int64            // of file
	packs map[string]int64 // by name: where the copy begins; the content of a name never changes
}

const (
	copyBytes   = 1 << 20   // of a pack that is kept: one that is larger costs more to move than to ask for
	copiesBytes = 256 << 20 // of all
)

// find returns the file, and where the copy of a pack begins in it; ok is false where there is none.
func (c *Copies) find(name string) (file io.ReaderAt, at int64, ok bool) {
	if c == nil {
		return nil, 0, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	at, ok = c.packs[name]
	return c.file, at, ok
}

// Keep copies a pack, of a size, which a function writes, where it is small.
func (c *Copies) Keep(name string, bytes int64, write func(io.Writer) error) error {
	if !c.wants(bytes) {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.file == nil {
		file, err := c.Create()
		if err != nil {
			return store.NeedTemp(err, 0, 0)
		}
		c.file, c.packs = file, map[string]int64{}
	}
	if err := write(io.NewOffsetWriter(c.file, c.end)); err != nil {
		return store.NeedTemp(err, 0, 0)
	}
	c.packs[name] = c.end
	c.end += bytes
	return nil
}

// wants says whether a pack of a size is kept.
func (c *Copies) wants(bytes int64) bool {
	if c == nil || bytes == 0 || bytes > copyBytes {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.end+bytes <= copiesBytes
}

// Close gives the file back.
func (c *Copies) Close() error {
	if c == nil || c.file == nil {
		return nil
	}
	return c.file.Close()
}
