package objects

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"sync"

	"github.com/mpga/mpga/internal/redact"
	"github.com/mpga/mpga/internal/spawn"
	"github.com/mpga/mpga/internal/vfs"
)

// file is an open object. It is safe for concurrent use, but for Read and Seek.
//
// Announced ranges are read in pieces of pieceBytes, aheadPieces ahead of the reader; the first
// piece of each range is requested at once, so that the columns of a row group arrive in parallel.
// Other reads get smaller pieces, which are read ahead once the reads turn out to be in order;
// short reads, as of headers, get requests of their own. A piece is dropped when all of its bytes
// have been read.
type file struct {
	*io.SectionReader // of the file itself, for Read and Seek

	fs     *FS
	name   string
	store  store
	v      version
	ctx    context.Context
	cancel context.CancelFunc
	done   sync.WaitGroup // requests under way

	mu     sync.Mutex
	ranges []vfs.Range // announced, sorted, apart from each other
	pieces map[int64]*piece
	read   map[int64]bool // ends of pieces that have been asked for, by reads in order
}

// piece is some bytes of a file, on their way or here.
type piece struct {
	offset int64
	bytes  []byte
	served int64         // bytes that readers have had
	kept   bool          // until the file is closed
	ready  chan struct{} // closed when bytes are there or err is set
	err    error
}

const (
	// pieceBytes makes the latency of a store, some 30 ms, small beside the time of its transfer.
	pieceBytes = 1 << 20

	// pieceBytesSmall is for reads that nobody has announced.
	pieceBytesSmall = 256 << 10

	// aheadPieces is how many pieces behind the piece that is being read are on their way.
	aheadPieces = 3

	// gapBytes is the widest gap between two ranges that is read, too, to save a request.
	gapBytes = 64 << 10

	// shortBytes bounds the reads that count as reads of a header, not of data.
	shortBytes = 4 << 10

	// tailBytes is the end of a file, which holds the footer of most: it is read at once and kept.
	tailBytes = 64 << 10

	// announcedMax bounds the pieces that are asked for before anyone reads.
	announcedMax = 16
)

var (
	_ vfs.File      = (*file)(nil)
	_ vfs.Announcer = (*file)(nil)
)

func newFile(f *FS, name string, s store, v version) *file {
	o := &file{fs: f, name: name, store: s, v: v, pieces: make(map[int64]*piece), read: make(map[int64]bool)}
	o.ctx, o.cancel = context.WithCancel(f.ctx)
	o.SectionReader = io.NewSectionReader(o, 0, v.size)
	return o
}

func (f *file) Announce(ranges []vfs.Range) {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := append(slices.Clone(f.ranges), ranges...)
	slices.SortFunc(all, func(a, b vfs.Range) int { return cmp.Compare(a.Offset, b.Offset) })
	f.ranges = f.ranges[:0:0]
	for _, r := range all {
		r.Bytes = min(r.Bytes, f.v.size-r.Offset)
		if r.Bytes <= 0 || r.Offset < 0 {
			continue
		}
		if n := len(f.ranges); n > 0 && r.Offset <= f.ranges[n-1].Offset+f.ranges[n-1].Bytes+gapBytes {
			last := &f.ranges[n-1]
			last.Bytes = max(last.Bytes, r.Offset+r.Bytes-last.Offset)
			continue
		}
		f.ranges = append(f.ranges, r)
	}
	for _, r := range f.ranges {
		if len(f.pieces) < announcedMax && f.fs.roomAhead(pieceBytes) {
			f.piece(r, r.Offset, pieceBytes)
		}
	}
}

// piece returns the piece of a range that has an offset, and asks for it if nobody has.
//
// Requires: f.mu is held; the range has the offset.
func (f *file) piece(r vfs.Range, offset, size int64) *piece {
	start := r.Offset + (offset-r.Offset)/size*size
	p := f.pieces[start]
	if p != nil && offset < start+int64(len(p.bytes)) {
		return p
	}
	p = &piece{offset: start, bytes: make([]byte, min(size, r.Offset+r.Bytes-start)), ready: make(chan struct{})}
	f.drop(f.pieces[start]) // a shorter piece, of another range
	f.pieces[start] = p
	f.fs.held.Add(int64(len(p.bytes)))
	f.done.Add(1)
	spawn.Go(func() error { return f.fetch(p.bytes, p.offset) }, func(err error) {
		p.err = err
		close(p.ready)
		f.done.Done()
	})
	return p
}

// fetch reads bytes from the store. B2.
func (f *file) fetch(b []byte, offset int64) error {
	if err := f.fs.requests.Acquire(f.ctx, 1); err != nil {
		return context.Cause(f.ctx)
	}
	defer f.fs.requests.Release(1)
	got := 0
	op := fmt.Sprintf("reading %d B at %d", len(b), offset)
	err := f.fs.retry(f.ctx, op, f.name, func(ctx context.Context) (int, error) {
		n, err := f.store.read(ctx, b[got:], offset+int64(got), f.v)
		got += n
		if got == len(b) {
			return n, nil
		}
		if err == nil || errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return n, err
	})
	if errors.Is(err, errChanged) {
		f.fs.known.Delete(f.name) // the next Open takes it as it is then
	}
	return problem(op, f.name, err)
}

func (f *file) ReadAt(b []byte, offset int64) (int, error) {
	if offset < 0 {
		return 0, &fs.PathError{Op: "read", Path: redact.URL(f.name), Err: fs.ErrInvalid}
	}
	n := 0
	for n < len(b) {
		at := offset + int64(n)
		if at >= f.v.size {
			return n, io.EOF
		}
		p := f.pieceFor(at, len(b)-n)
		if p == nil {
			short := b[n:min(len(b), n+int(min(f.v.size-at, shortBytes)))]
			if err := f.fetch(short, at); err != nil {
				return n, err
			}
			n += len(short)
			continue
		}
		copied, err := f.copyFrom(p, b[n:], at)
		if err != nil {
			return n, err
		}
		n += copied
	}
	return n, nil
}

// pieceFor returns the piece to read from, or nil for a request of its own.
func (f *file) pieceFor(at int64, n int) *piece {
	f.mu.Lock()
	defer f.mu.Unlock()
	i, found := slices.BinarySearchFunc(f.ranges, at, func(r vfs.Range, at int64) int { return cmp.Compare(r.Offset, at) })
	if !found {
		i--
	}
	if i >= 0 && at < f.ranges[i].Offset+f.ranges[i].Bytes {
		return f.pieceAhead(f.ranges[i], at, pieceBytes)
	}
	whole := vfs.Range{Bytes: f.v.size}
	switch tail := max(f.v.size-tailBytes, 0); {
	case at >= tail:
		p := f.piece(vfs.Range{Offset: tail, Bytes: f.v.size - tail}, at, tailBytes)
		p.kept = true
		return p
	case f.pieces[at/pieceBytesSmall*pieceBytesSmall] == nil && n < shortBytes:
		return nil
	}
	if n > pieceBytesSmall { // all that the read covers at once, and no more
		p := f.piece(whole, at, pieceBytesSmall)
		for next := p.offset + pieceBytesSmall; next < min(at+int64(n), f.v.size); next += pieceBytesSmall {
			f.piece(whole, next, pieceBytesSmall)
		}
		return p
	}
	end := (at/pieceBytesSmall + 1) * pieceBytesSmall
	inOrder := f.read[end] || f.read[end-pieceBytesSmall]
	f.read[end] = true
	if inOrder {
		return f.pieceAhead(whole, at, pieceBytesSmall)
	}
	return f.piece(whole, at, pieceBytesSmall)
}

// pieceAhead returns a piece, and asks for the pieces behind it.
//
// Requires: f.mu is held; the range has the offset.
func (f *file) pieceAhead(r vfs.Range, at, size int64) *piece {
	p := f.piece(r, at, size)
	for i := range int64(aheadPieces) {
		if next := p.offset + (i+1)*size; next < r.Offset+r.Bytes && f.fs.roomAhead(size) {
			f.piece(r, next, size)
		}
	}
	return p
}

// copyFrom copies the bytes of a piece from an offset on.
func (f *file) copyFrom(p *piece, b []byte, at int64) (int, error) {
	select {
	case <-p.ready:
	case <-f.ctx.Done():
		return 0, context.Cause(f.ctx)
	}
	if p.err != nil {
		return 0, p.err
	}
	n := copy(b, p.bytes[at-p.offset:])
	f.mu.Lock()
	defer f.mu.Unlock()
	p.served += int64(n)
	if p.served >= int64(len(p.bytes)) && !p.kept {
		f.drop(p)
	}
	return n, nil
}

// drop forgets a piece, which may be nil or forgotten already.
//
// Requires: f.mu is held.
func (f *file) drop(p *piece) {
	if p != nil && f.pieces[p.offset] == p {
		delete(f.pieces, p.offset)
		f.fs.held.Add(-int64(len(p.bytes)))
	}
}

// Read reads no more at once than a few pieces hold. B4.
func (f *file) Read(b []byte) (int, error) { return f.SectionReader.Read(b[:min(len(b), pieceBytes)]) }

func (f *file) Stat() (fs.FileInfo, error) { return objectInfo{name: f.name, size: f.v.size}, nil }

// Write implements io.Writer: an open object is read only.
func (f *file) Write([]byte) (int, error) { return 0, unsupported("write", f.name) }

func (f *file) Sync() error { return nil }

// Close implements io.Closer. It waits for the requests, which it ends.
func (f *file) Close() error {
	f.cancel()
	f.done.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.pieces {
		f.drop(p)
	}
	return nil
}
