package dataset

import (
	"container/list"
	"io/fs"
	"sync"
	"time"

	"github.com/mpga/mpga/engine/scan/parquet"
	"github.com/mpga/mpga/internal/vfs"
)

// footers are the footers of Parquet files that the process opened last. A process that asks many
// questions of one file reads and decodes its footer once: of a wide table, that takes as long as
// a small question.
var footers = &footerCache{limit: footersBytesMax, settled: settledAfter}

const (
	// footersBytesMax is what decoded footers may take that nobody uses now.
	footersBytesMax = 16 << 20

	// settledAfter is how long ago a file must have changed for its footer to be kept: the clocks of
	// file systems tell no two changes apart that follow each other at once.
	settledAfter = 2 * time.Second
)

// footerCache keeps files of vfs.OS by their paths, the most recently used first.
type footerCache struct {
	limit   int64 // bytes
	settled time.Duration

	mu     sync.Mutex
	byPath map[string]*list.Element
	recent list.List // of *keptFooter
	bytes  int64
}

type keptFooter struct {
	file *parquet.File
	was  fs.FileInfo
}

// find returns the file of a path, if its footer is kept and it is now as it was then. w watches the
// file since before now.
func (c *footerCache) find(w *watch, path string) (*parquet.File, bool) {
	if w == nil || w.fsys != vfs.OS {
		return nil, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.byPath[path]
	if at == nil {
		return nil, false
	}
	kept := at.Value.(*keptFooter)
	if !unchanged(kept.was, w.was) {
		c.drop(at)
		return nil, false
	}
	c.recent.MoveToFront(at)
	return kept.file, true
}

// keep keeps the footer of a file that has been opened while w watched it, unless the file may have
// changed meanwhile.
func (c *footerCache) keep(w *watch, path string, file *parquet.File) {
	if w == nil || w.fsys != vfs.OS || file.FooterBytes() > c.limit {
		return
	}
	changed, known := vfs.ChangeTime(w.was)
	if !known || time.Since(changed) < c.settled {
		return
	}
	if now, err := w.fsys.Stat(path); err != nil || !unchanged(w.was, now) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if at := c.byPath[path]; at != nil {
		c.drop(at)
	}
	if c.byPath == nil {
		c.byPath = make(map[string]*list.Element)
	}
	c.byPath[path] = c.recent.PushFront(&keptFooter{file, w.was})
	for c.bytes += file.FooterBytes(); c.bytes > c.limit; {
		c.drop(c.recent.Back())
	}
}

// drop forgets a footer.
// Requires: c.mu is held.
func (c *footerCache) drop(at *list.Element) {
	kept := c.recent.Remove(at).(*keptFooter)
	delete(c.byPath, kept.file.Name())
	c.bytes -= kept.file.FooterBytes()
}

// unchanged says whether a file of vfs.OS is the same, with the same content. The time of change
// follows every write, also where a program sets the time of modification.
func unchanged(a, b fs.FileInfo) bool {
	before, known := vfs.ChangeTime(a)
	now, _ := vfs.ChangeTime(b)
	return known && before.Equal(now) && sameContent(a, b)
}
