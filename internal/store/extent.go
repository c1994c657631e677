package store

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/mpga/mpga/internal/rowdata"
)

// extent is bytes of a file that hold frames.
type extent struct {
	file      *tempFile
	offset, n int64
}

func (e extent) discard() { e.file.discard(e.offset, e.n) }

// extentReader reads the pages of extents one after the other.
type extentReader struct {
	store   *Store
	layout  *rowdata.RowLayout
	extents []extent // not read to their end
	ahead   int      // bytes that are read at a time
	discard bool     // give the space of extents back once they are read

	frames  frameReader
	section *io.SectionReader // of the extent being read; nil between extents
	buffer  *bufio.Reader     // nil before the first extent
}

// next returns the next page, or io.EOF.
func (r *extentReader) next() (*rowdata.Page, error) {
	for len(r.extents) > 0 {
		e := r.extents[0]
		if r.section == nil {
			if r.buffer == nil {
				r.open()
			}
			r.section = io.NewSectionReader(e.file.file, e.offset, e.n)
			r.buffer.Reset(r.section)
		}
		page, err := r.frames.next()
		if err == nil {
			return page, nil
		}
		if at, _ := r.section.Seek(0, io.SeekCurrent); errors.Is(err, io.EOF) && at < e.n {
			err = fmt.Errorf("a file ends %d B early: %w", e.n-at, ErrCorrupt)
		}
		if !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("spilled pages in %s: %w", r.store.temp.dir, err)
		}
		if r.discard {
			e.discard()
		}
		r.extents, r.section = r.extents[1:], nil
	}
	r.recycle()
	return nil, io.EOF
}

// extentBuffers are buffers of readBytes. A query reads thousands of partitions.
var extentBuffers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, readBytes) }}

// open takes the buffers.
func (r *extentReader) open() {
	if r.ahead == readBytes {
		r.buffer = extentBuffers.Get().(*bufio.Reader)
	} else {
		r.buffer = bufio.NewReaderSize(nil, r.ahead)
	}
	r.frames = frameReader{layout: r.layout, memory: r.store.memory, from: r.buffer}
}

// recycle gives the buffers back.
func (r *extentReader) recycle() {
	if r.buffer != nil && r.ahead == readBytes {
		r.buffer.Reset(nil)
		extentBuffers.Put(r.buffer)
	}
	r.buffer, r.frames = nil, frameReader{}
}

// close ends the reading.
func (r *extentReader) close() {
	if r.discard {
		for _, e := range r.extents {
			e.discard()
		}
	}
	r.extents, r.section = nil, nil
	r.recycle()
}
