package workdir

import (
	"fmt"
	"io"
	"sync"

	"github.com/mpga/mpga/engine/partial"
	"github.com/mpga/mpga/internal/store"
	"github.com/mpga/mpga/internal/vfs"
)

// Spool keeps the blobs of all partitions while they are written side by side, so that they can be put
// one after the other: in memory while they are small, then in a file.
type Spool struct {
	create func() (vfs.TempFile, error) // the file
	each   int                          // bytes of a blob that stay in memory

	mu    sync.Mutex
	file  vfs.TempFile // nil until a blob is larger than each
	end   int64        // of file
	blobs []spooled    // by partition
}

// spooled is a blob: parts of the spool's file, and what follows in memory.
type spooled struct {
	spool *Spool
	parts []vfs.Range
	rest  []byte
	bytes int64
}

// spoolBytes is the memory that the blobs of a spool take together, before a file does.
const spoolBytes = 16 << 20

// NewSpool returns an empty spool, which must be closed.
func NewSpool(create func() (vfs.TempFile, error), partitions int) *Spool {
	s := &Spool{create: create, each: max(spoolBytes/partitions, 4<<10), blobs: make([]spooled, partitions)}
	for i := range s.blobs {
		s.blobs[i].spool = s
	}
	return s
}

// Create implements partial.Options.Create.
func (s *Spool) Create(partition int) (io.WriteCloser, error) { return &s.blobs[partition], nil }

// Write implements io.Writer.
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

// Close implements io.Closer.
func (b *spooled) Close() error { return nil }

// append writes bytes to the file, and returns where they are.
func (s *Spool) append(text []byte) (at int64, err error) {
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

// CopyTo writes the blobs one after the other.
func (s *Spool) CopyTo(to io.Writer) error {
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

// Sizes returns the bytes of the blobs, and their sum.
func (s *Spool) Sizes() (blobs []int64, sum int64) {
	for i := range s.blobs {
		blobs = append(blobs, s.blobs[i].bytes)
		sum += s.blobs[i].bytes
	}
	return blobs, sum
}

// Close gives the file back.
func (s *Spool) Close() error {
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}

// Packed is a blob in a pack.
type Packed struct {
	Pack   string // the path of the pack, for errors
	Number int    // of the partition
	From   func() (io.ReaderAt, io.Closer, error)
	Offset int64
	Bytes  int64
}

// Name implements partial.Blob.
func (b *Packed) Name() string { return fmt.Sprintf("%s, partition %d", b.Pack, b.Number) }

// Open implements partial.Blob.
func (b *Packed) Open() (partial.BlobReader, error) {
	from, closer, err := b.From()
	if err != nil {
		return nil, err
	}
	return packedReader{io.NewSectionReader(from, b.Offset, b.Bytes), closer}, nil
}

type packedReader struct {
	*io.SectionReader
	io.Closer
}
