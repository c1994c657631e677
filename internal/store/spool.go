package store

import (
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/scatter"
)

// spool is pages that go to disk at once, to be read in the order in which they were put.
type spool struct {
	store   *Store
	writer  frameWriter
	frames  *[]byte // of frameBuffers: frames that are not written yet; nil while there are none
	extents []extent
}

var _ scatter.Spool = (*spool)(nil)

// NewSpool implements scatter.Store.
func (s *Store) NewSpool(layout *rowdata.RowLayout) scatter.Spool {
	s.closed.Open("a store with spools")
	return &spool{store: s, writer: frameWriter{layout: layout, memory: s.memory}}
}

// Put implements scatter.Spool.
func (p *spool) Put(page *rowdata.Page) (err error) {
	defer page.Release()
	if p.frames == nil {
		p.frames = frameBuffers.Get().(*[]byte)
		*p.frames = (*p.frames)[:0]
	}
	before := len(*p.frames)
	if *p.frames, err = p.writer.append(*p.frames, page); err != nil {
		return err
	}
	p.store.spilled.Add(page.Bytes())
	p.store.framed.Add(int64(len(*p.frames) - before))
	if len(*p.frames) < extentBytes {
		return nil
	}
	return p.flush()
}

// flush writes the frames as an extent.
func (p *spool) flush() error {
	s := p.store
	file, err := s.lockFile()
	if err != nil {
		return err
	}
	defer file.mu.Unlock()
	e := extent{file: file, offset: file.end, n: int64(len(*p.frames))}
	if err := file.write(*p.frames); err != nil {
		return err
	}
	*p.frames = (*p.frames)[:0]
	s.stored.Add(e.n)
	s.mu.Lock()
	defer s.mu.Unlock()
	p.extents = append(p.extents, e)
	s.spools[p] = struct{}{}
	return nil
}

// End implements scatter.Spool.
func (p *spool) End() error {
	if p.frames == nil {
		return nil
	}
	var err error
	if len(*p.frames) > 0 {
		err = p.flush()
	}
	p.recycle()
	return err
}

// recycle gives the buffer back.
func (p *spool) recycle() {
	if p.frames != nil {
		frameBuffers.Put(p.frames)
		p.frames = nil
	}
}

// spoolReadBytes is how much is read of a spool at a time: a merge reads many.
const spoolReadBytes = 64 << 10

// Pages implements scatter.Spool.
func (p *spool) Pages() scatter.Pages {
	t := &taken{onDisk: extentReader{store: p.store, layout: p.writer.layout, extents: p.extents, ahead: spoolReadBytes}}
	t.closed.Open("the pages of a spool")
	return t
}

// Discard implements scatter.Spool.
func (p *spool) Discard() {
	p.store.mu.Lock()
	defer p.store.mu.Unlock()
	p.recycle()
	p.drop()
	delete(p.store.spools, p)
}

// drop gives the space of the extents back.
// Requires: p.store.mu is held.
func (p *spool) drop() {
	for _, e := range p.extents {
		e.discard()
	}
	p.extents = nil
}
