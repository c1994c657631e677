package distributed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"

	"github.com/mpga/mpga/engine/partial"
	"github.com/mpga/mpga/internal/spawn"
	"github.com/mpga/mpga/internal/store"
	"github.com/mpga/mpga/internal/vfs"
)

// spool keeps the blobs of all partitions while they are written side by side, so that they can be put
// one after the other: in memory while they are small, then in a file.
type spool struct {
	create func() (vfs.TempFile, error) // the file
	each   int                          // bytes of a blob that stay in memory

	mu    sync.Mutex
	file  vfs.TempFile // nil until a blob is larger than each
	end   int64        // of file
	blobs []spooled    // by partition
}

// spooled is a blob: parts of the spool's file, and what follows in memory.
type spooled struct {
	spool *spool
	parts []vfs.Range
	rest  []byte
	bytes int64
}

// spoolBytes is the memory that the blobs of a spool take together, before a file does.
const spoolBytes = 16 << 20

func newSpool(create func() (vfs.TempFile, error), partitions int) *spool {
	s := &spool{create: create, each: max(spoolBytes/partitions, 4<<10), blobs: make([]spooled, partitions)}
	for i := range s.blobs {
		s.blobs[i].spool = s
	}
	return s
}

// createBlob implements partial.Options.Create.
func (s *spool) createBlob(partition int) (io.WriteCloser, error) { return &s.blobs[partition], nil }

func (b *spooled) Write(text []byte) (int, error) {
	b.bytes += int64(len(text))
	if len(b.rest)+len(text) <= b.spool.each {
		b.rest = append(b.rest, text...)
		return len(text), nil
	}
	for _, part := range [][]byte{b.rest, text} {
		if len(part) == 0 {
			continue
		}
		at, err := b.spool.append(part)
		if err != nil {
			return 0, err
		}
		b.parts = append(b.parts, vfs.Range{Offset: at, Bytes: int64(len(part))})
	}
	b.rest = b.rest[:0]
	return len(text), nil
}

func (b *spooled) Close() error { return nil }

// append writes bytes to the file, and returns where they are.
func (s *spool) append(text []byte) (at int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		if s.file, err = s.create(); err != nil {
			return 0, err
		}
	}
	at = s.end
	if _, err := s.file.WriteAt(text, at); err != nil {
		return 0, fmt.Errorf("states that do not fit the memory: %w", store.NeedTemp(err, 0, 0))
	}
	s.end += int64(len(text))
	return at, nil
}

// copyTo writes the blobs one after the other.
func (s *spool) copyTo(to io.Writer) error {
	for i := range s.blobs {
		b := &s.blobs[i]
		for _, part := range b.parts {
			if _, err := io.Copy(to, io.NewSectionReader(s.file, part.Offset, part.Bytes)); err != nil {
				return err
			}
		}
		if _, err := to.Write(b.rest); err != nil {
			return err
		}
	}
	return nil
}

// sizes returns the bytes of the blobs, and their sum.
func (s *spool) sizes() (blobs []int64, sum int64) {
	for i := range s.blobs {
		blobs = append(blobs, s.blobs[i].bytes)
		sum += s.blobs[i].bytes
	}
	return blobs, sum
}

func (s *spool) close() error {
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}

// packed is a blob in a pack.
type packed struct {
	path   string // of the pack, for errors
	number int    // of the partition
	open   func() (io.ReaderAt, io.Closer, error)
	offset int64
	bytes  int64
}

func (b *packed) Name() string { return fmt.Sprintf("%s, partition %d", b.path, b.number) }

func (b *packed) Open() (partial.BlobReader, error) {
	from, closer, err := b.open()
	if err != nil {
		return nil, err
	}
	return packedReader{io.NewSectionReader(from, b.offset, b.bytes), closer}, nil
}

type packedReader struct {
	*io.SectionReader
	io.Closer
}

// packs are the blobs of some partitions of several packs, ready to be merged.
type packs struct {
	sources [][]partial.Blob
	runs    []string
	copies  vfs.TempFile // of objects, which are read once; nil of files
}

// packsAtOnce is how many objects are read at the same time.
const packsAtOnce = 8

// openPacks opens partitions of the packs of attempts. Of files it touches none. Of objects it copies
// the range of the partitions, which lie side by side, to a temporary file: one call for each pack.
func (t *Tasks) openPacks(ctx context.Context, attempts []manifest, of Range) (*packs, error) {
	p := &packs{sources: make([][]partial.Blob, len(attempts))}
	var group spawn.Group
	group.SetLimit(packsAtOnce)
	_, remote := t.work.objects()
	if remote {
		var err error
		if p.copies, err = t.Engine.CreateTemp(); err != nil {
			return nil, err
		}
		// A list tells the sizes of the packs, which the file system asks for one by one else. R6.
		if _, err := t.work.list(attempts[0].Stage, ""); err != nil {
			return nil, errors.Join(err, p.close())
		}
	}
	var end int64 // of copies
	for i := range attempts {
		m := &attempts[i]
		p.runs = append(p.runs, m.run())
		from, bytes := m.extent(of)
		path, at := t.work.path(m.name()+packSuffix), end
		open := func() (io.ReaderAt, io.Closer, error) {
			file, err := t.openPack(path, m.Bytes)
			return file, file, err
		}
		base := from
		if remote {
			open, base = func() (io.ReaderAt, io.Closer, error) { return p.copies, io.NopCloser(nil), nil }, at
			group.Go(func() error {
				return t.copyPack(ctx, path, m.Bytes, vfs.Range{Offset: from, Bytes: bytes}, p.copies, at)
			})
		}
		for n := of.First; n <= of.Last; n++ {
			p.sources[i] = append(p.sources[i], &packed{path, n, open, base, m.Blobs[n]})
			base += m.Blobs[n]
		}
		end += bytes
	}
	if err := group.Wait(); err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}

// extent returns where the blobs of partitions lie in the attempt's pack.
func (m *manifest) extent(of Range) (from, bytes int64) {
	for i, n := range m.Blobs[:of.Last+1] {
		if i < of.First {
			from += n
		} else {
			bytes += n
		}
	}
	return from, bytes
}

// openPack opens a pack, which must have the size that its manifest says.
func (t *Tasks) openPack(path string, bytes int64) (vfs.File, error) {
	file, err := t.FS.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: a pack is missing: %w", ErrDamaged, err)
	}
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && info.Size() != bytes {
		err = fmt.Errorf("%w: %s has %d B, where %d were written", ErrDamaged, path, info.Size(), bytes)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// copyPack copies a range of an object to a place in a file.
func (t *Tasks) copyPack(ctx context.Context, path string, bytes int64, of vfs.Range,
	to io.WriterAt, at int64) (err error) {
	if of.Bytes == 0 {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	file, err := t.openPack(path, bytes)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if a, ok := file.(vfs.Announcer); ok {
		a.Announce([]vfs.Range{of})
	}
	_, err = io.Copy(io.NewOffsetWriter(to, at), io.NewSectionReader(file, of.Offset, of.Bytes))
	return store.NeedTemp(err, 0, 0)
}

func (p *packs) close() error {
	if p.copies == nil {
		return nil
	}
	return p.copies.Close()
}
