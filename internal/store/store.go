package store

import (
	"errors"
	"math"
	"sync"
	"sync/atomic"

	"github.com/mpga/mpga/internal/invariants"
	"github.com/mpga/mpga/internal/mem"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/scatter"
	"github.com/mpga/mpga/internal/trace"
	"github.com/mpga/mpga/partition"
)

// Store keeps the pages of a query's partitions until they are processed: in memory while the
// budget has room, then in temporary files, the largest partition first. It is safe for concurrent
// use.
//
//	in memory --less than an eighth is left--> on disk, until a quarter is       (hysteresis)
//
// The pages of a partition on disk are a list of extents, each written at once.
type Store struct {
	memory   *mem.Memory
	temp     *Temp
	layouts  [scatter.Contents]*rowdata.RowLayout
	spillAll bool                    // every page goes to disk, for tests
	reclaim  func(bytes int64) error // nil: pages of this store are written
	disk     *trace.Rows             // nil where nobody measures
	filesMax int

	mu     sync.Mutex
	left   sync.Cond // an eviction has ended
	passes []*pass
	held   map[*storedPartition]struct{} // partitions with pages in memory
	spools map[*spool]struct{}           // spools with extents
	bytes  int64                         // of pages in memory
	peak   int64                         // most bytes
	files  []*tempFile

	put     atomic.Int64 // bytes of pages, in memory or not
	rows    atomic.Int64 // of these pages, and states
	spilled atomic.Int64 // bytes of pages written, before compression
	framed  atomic.Int64 // bytes of these pages, compressed
	stored  atomic.Int64 // bytes written
	created atomic.Int64 // files

	closed invariants.CloseChecker
}

// pass is the partitions of one scatter.
type pass struct {
	store      *Store
	partitions []storedPartition
}

// contentPages is pages by content.
type contentPages [scatter.Contents][]*rowdata.Page

// storedPartition is the pages of one partition. Requires: Store.mu is held.
type storedPartition struct {
	pages   contentPages
	extents [scatter.Contents][]extent
	rows    int64 // and states, that have been put
	bytes   int64 // of pages
	leaving int   // evictions under way
}

var _ scatter.Store = (*Store)(nil)

// StoreOptions say where a store keeps its pages.
type StoreOptions struct {
	Memory *mem.Memory
	Temp   *Temp

	// Layouts are the layouts of the pages, by content.
	Layouts [scatter.Contents]*rowdata.RowLayout

	// Writers is how many workers write at the same time.
	Writers int

	// SpillAll writes every page to disk at once, for tests.
	SpillAll bool

	// Reclaim makes room where memory is short. The default writes pages of this store.
	Reclaim func(bytes int64) error

	// Trace takes when files are written and read. The default, nil, measures nothing.
	Trace *trace.Rows
}

// NewStore returns an empty store.
func NewStore(opt StoreOptions) *Store {
	s := &Store{
		memory:   opt.Memory,
		temp:     opt.Temp,
		layouts:  opt.Layouts,
		spillAll: opt.SpillAll,
		reclaim:  opt.Reclaim,
		disk:     opt.Trace,
		filesMax: min(opt.Writers, spillFilesMax),
		held:     make(map[*storedPartition]struct{}),
		spools:   make(map[*spool]struct{}),
	}
	s.left.L = &s.mu
	return s
}

// spillFilesMax is how many files a query spills to: writers of one file wait for each other.
const spillFilesMax = 16

// NewPass implements scatter.Store.
func (s *Store) NewPass(radix partition.Radix) scatter.Partitions {
	s.closed.Open("a store with partitions")
	p := &pass{store: s, partitions: make([]storedPartition, radix.FanOut())}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.passes = append(s.passes, p)
	return p
}

// Put implements scatter.Partitions.
func (p *pass) Put(content scatter.Content, pages []scatter.PartitionPage) error {
	s := p.store
	s.mu.Lock()
	for _, f := range pages {
		p.partitions[f.Partition].add(s, content, f.Page)
	}
	s.peak = max(s.peak, s.bytes)
	s.mu.Unlock()
	left, low := s.memory.Left(), s.memory.Limit()/lowShare
	switch {
	case s.spillAll:
		_, err := s.Spill(math.MaxInt64)
		return err
	case left < low:
		return s.Reclaim(2*low - left)
	}
	return nil
}

// add adds a page in memory.
// Requires: s.mu is held.
func (part *storedPartition) add(s *Store, content scatter.Content, page *rowdata.Page) {
	bytes := page.Bytes()
	part.pages[content] = append(part.pages[content], page)
	part.rows += int64(page.Rows)
	if part.bytes == 0 {
		s.held[part] = struct{}{}
	}
	part.bytes += bytes
	s.bytes += bytes
	s.put.Add(bytes)
	s.rows.Add(int64(page.Rows))
}

// lowShare is the part of the budget that must be left when pages come, for owners that do not ask
// before they allocate: open pages, decoded columns.
const lowShare = 8

// Reclaim implements scatter.Store.
func (s *Store) Reclaim(bytes int64) error {
	if s.reclaim != nil {
		return s.reclaim(bytes)
	}
	_, err := s.Spill(bytes)
	return err
}

// Held implements arbiter.Pages.
func (s *Store) Held() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytes
}

// Spill implements arbiter.Pages: it writes the largest partitions to disk.
func (s *Store) Spill(bytes int64) (freed int64, err error) {
	for freed < bytes {
		part, pages, size := s.takeLargest()
		if part == nil {
			return freed, nil
		}
		if err := s.evict(part, pages); err != nil {
			return freed, err
		}
		invariants.Sometimes("store: a partition is written to disk")
		freed += size
	}
	return freed, nil
}

// takeLargest takes the pages of the partition with the most bytes of pages in memory; nil when no
// partition has pages there.
func (s *Store) takeLargest() (largest *storedPartition, pages contentPages, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for part := range s.held {
		if largest == nil || part.bytes > largest.bytes {
			largest = part
		}
	}
	if largest == nil {
		return nil, pages, 0
	}
	delete(s.held, largest)
	pages, bytes = largest.pages, largest.bytes
	largest.pages, largest.bytes = contentPages{}, 0
	largest.leaving++
	s.bytes -= bytes
	return largest, pages, bytes
}

// extentBytes is how much is written at a time.
const extentBytes = 1 << 20

// evict writes pages to disk and releases them.
func (s *Store) evict(to *storedPartition, pages contentPages) error {
	defer func() {
		for _, list := range pages {
			releaseAll(list)
		}
		s.mu.Lock()
		to.leaving--
		s.mu.Unlock()
		s.left.Broadcast()
	}()
	file, err := s.lockFile()
	if err != nil {
		return err
	}
	defer file.mu.Unlock()
	buf := frameBuffers.Get().(*[]byte)
	defer frameBuffers.Put(buf)
	for content := range pages {
		e, err := s.write(file, pages[content], s.layouts[content], buf)
		if err != nil {
			return err
		}
		if e.n > 0 {
			s.mu.Lock()
			to.extents[content] = append(to.extents[content], e)
			s.mu.Unlock()
		}
	}
	return nil
}

// write appends pages to a file, as one extent, and releases them. buf is for their frames.
// Requires: file.mu is held.
func (s *Store) write(file *tempFile, pages []*rowdata.Page, layout *rowdata.RowLayout,
	buf *[]byte) (e extent, err error) {
	e = extent{file: file, offset: file.end}
	defer func() {
		if e.n = file.end - e.offset; err != nil {
			invariants.Sometimes("store: an extent is dropped after an error")
			e.discard() // nobody will read the frames before the error
		}
	}()
	w := frameWriter{layout: layout, memory: s.memory}
	out := (*buf)[:0]
	for i, page := range pages {
		before := len(out)
		if out, err = w.append(out, page); err != nil {
			return e, err
		}
		s.spilled.Add(page.Bytes())
		s.framed.Add(int64(len(out) - before))
		page.Release()
		pages[i] = nil
		if len(out) >= extentBytes || i == len(pages)-1 {
			if err := file.write(out); err != nil {
				return e, err
			}
			s.stored.Add(int64(len(out)))
			*buf, out = out, out[:0]
		}
	}
	return e, nil
}

var frameBuffers = sync.Pool{New: func() any { return new([]byte) }}

func releaseAll(pages []*rowdata.Page) {
	for i, page := range pages {
		if page != nil {
			page.Release()
			pages[i] = nil
		}
	}
}

// lockFile returns a file with its lock held.
func (s *Store) lockFile() (*tempFile, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.files {
		if f.mu.TryLock() {
			return f, nil
		}
	}
	if len(s.files) < s.filesMax {
		f, err := s.temp.create()
		if err != nil {
			return nil, err
		}
		if s.disk != nil {
			f.file = tracedFile{f.file, s.disk}
		}
		f.mu.Lock()
		s.created.Add(1)
		s.files = append(s.files, f)
		return f, nil
	}
	invariants.Sometimes("store: a writer waits for another")
	f := s.files[len(s.passes)%len(s.files)]
	s.mu.Unlock()
	f.mu.Lock()
	s.mu.Lock()
	return f, nil
}

// Sizes implements scatter.Partitions.
func (p *pass) Sizes() []int64 {
	p.store.mu.Lock()
	defer p.store.mu.Unlock()
	sizes := make([]int64, len(p.partitions))
	for i := range p.partitions {
		sizes[i] = p.partitions[i].rows
	}
	return sizes
}

// Take implements scatter.Partitions.
func (p *pass) Take(partition int, content scatter.Content) scatter.Pages {
	s := p.store
	s.mu.Lock()
	defer s.mu.Unlock()
	part := &p.partitions[partition]
	for part.leaving > 0 {
		invariants.Sometimes("store: a partition is asked for while it is written to disk")
		s.left.Wait()
	}
	t := &taken{pages: part.pages[content], onDisk: extentReader{
		store: s, layout: s.layouts[content], extents: part.extents[content], ahead: readBytes, discard: true,
	}}
	t.closed.Open("the pages of a partition")
	part.pages[content], part.extents[content] = nil, nil
	for _, page := range t.pages {
		part.bytes -= page.Bytes()
		s.bytes -= page.Bytes()
	}
	if part.bytes == 0 {
		delete(s.held, part)
	}
	return t
}

// taken is pages that are being processed: pages in memory, then pages on disk.
type taken struct {
	pages  []*rowdata.Page
	onDisk extentReader
	closed invariants.CloseChecker
}

// readBytes is how much is read of a partition at a time.
const readBytes = 256 << 10

// Next implements scatter.Pages.
func (t *taken) Next() (*rowdata.Page, error) {
	t.closed.CheckOpen()
	if len(t.pages) > 0 {
		page := t.pages[0]
		t.pages = t.pages[1:]
		return page, nil
	}
	return t.onDisk.next()
}

// Close implements scatter.Pages.
func (t *taken) Close() {
	t.closed.Close()
	releaseAll(t.pages)
	t.pages = nil
	t.onDisk.close()
}

// BytesPeak returns the most memory that the pages took at once.
func (s *Store) BytesPeak() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.peak
}

// Spilled returns how many bytes of pages have been written to disk, before compression.
func (s *Store) Spilled() int64 { return s.spilled.Load() }

// Stored returns how many bytes have been written to disk.
func (s *Store) Stored() int64 { return s.stored.Load() }

// needSlack is how much more the files may take than the pages so far, as compressed, let expect: early on, rows and
// groups are in tables that make no pages yet; later, partitions that are split and runs that are merged lie on disk
// twice for a while.
const needSlack = 1.75

// Unpaged estimates how many bytes of pages the rows and states are to take that are not among the pages put so far,
// of the number that there is in all.
func (s *Store) Unpaged(all int64) int64 {
	rows := s.rows.Load()
	return int64(float64(s.put.Load()) / float64(max(rows, 1)) * float64(max(all-rows, 0)))
}

// Need estimates how many bytes of files the store takes before the end of its query, when it has been given the pages
// of that part of the input, from 0 to 1; 0 where nothing tells. Rows of pending bytes are still to be made pages.
// It takes all pages for spilled, compressed as the pages so far.
func (s *Store) Need(part float64, pending int64) int64 {
	if part <= 0 {
		return 0
	}
	spilled := s.spilled.Load()
	ratio := min(float64(s.framed.Load())/float64(max(spilled, 1)), 1)
	if spilled == 0 {
		ratio = 1
	}
	return int64(float64(max(s.put.Load(), spilled)+pending) / part * ratio * needSlack)
}

// Kept returns how many bytes the files take now.
func (s *Store) Kept() (bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.files {
		bytes += f.used.Load()
	}
	return bytes
}

// Files returns how many files have been created.
func (s *Store) Files() int64 { return s.created.Load() }

// Close drops all pages and files.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed.Close()
	for _, p := range s.passes {
		for i := range p.partitions {
			part := &p.partitions[i]
			for content := range part.pages {
				releaseAll(part.pages[content])
				for _, e := range part.extents[content] {
					e.discard()
				}
			}
			p.partitions[i] = storedPartition{}
		}
	}
	clear(s.held)
	for sp := range s.spools {
		sp.drop()
	}
	var errs []error
	for _, f := range s.files {
		if invariants.Enabled {
			used := f.used.Load()
			invariants.Checkf(used == 0, "T2: %d B of a file that is closed are still counted", used)
		}
		errs = append(errs, f.file.Close())
	}
	s.files, s.passes, s.bytes = nil, nil, 0
	return errors.Join(errs...)
}
