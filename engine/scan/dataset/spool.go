package dataset

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/internal/knob"
	"github.com/mpga/mpga/internal/vfs"
)

// Spool keeps standard input whose format is read from its end, Parquet and Arrow files: in memory
// as long as it is small, else in a temporary file. It belongs to the caller of Open, who closes it
// when the source is not used any more.
type Spool struct {
	fsys vfs.FS
	dir  string

	blocks   [][]byte     // the beginning of the input, spoolBlock bytes each, but for the last
	file     vfs.TempFile // the rest; nil where the blocks have all
	size     int64        // of the input, in bytes
	budget   scan.Budget  // of the blocks; nil where there is no limit
	reserved int64        // bytes of budget
}

// NewSpool returns a spool that may make a temporary file in a folder of a file system.
func NewSpool(fsys vfs.FS, dir string) *Spool { return &Spool{fsys: fsys, dir: dir} }

const (
	// spoolBlock is how much is read at a time.
	spoolBlock = 1 << 20

	// spoolBlocksMax is how many blocks are kept in memory. More have no advantage: the system
	// keeps files in memory, too, as long as nobody needs it.
	spoolBlocksMax = 64
)

// fill reads an input to its end.
func (s *Spool) fill(from io.Reader, budget scan.Budget) error {
	s.budget = budget
	for len(s.blocks) < spoolBlocksMax && s.reserve() {
		block := make([]byte, spoolBlock)
		n, err := io.ReadFull(from, block)
		s.blocks = append(s.blocks, block[:n])
		s.size += int64(n)
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return nil
		case err != nil:
			return err
		}
	}
	file, err := s.fsys.CreateTemp(s.dir)
	if err != nil {
		return fmt.Errorf("a temporary file for it: %w", err)
	}
	s.file = file
	n, err := io.CopyBuffer(onlyWriter{io.NewOffsetWriter(file, 0)}, from, make([]byte, spoolBlock))
	s.size += n
	if vfs.IsFull(err) {
		err = knob.Errorf("%w; name a folder with more room (%s)", err, knob.Name("engine.TempDir"))
	}
	return err
}

// reserve takes a block of the budget, and returns false where it has no room: the file has.
func (s *Spool) reserve() bool {
	if s.budget == nil {
		return true
	}
	if s.budget.Reserve(spoolBlock) != nil {
		return false
	}
	s.reserved += spoolBlock
	return true
}

// onlyWriter hides all methods but Write.
type onlyWriter struct{ io.Writer }

// ReadAt implements io.ReaderAt.
func (s *Spool) ReadAt(p []byte, offset int64) (n int, err error) {
	for n < len(p) && offset/spoolBlock < int64(len(s.blocks)) {
		block := s.blocks[offset/spoolBlock]
		m := copy(p[n:], block[min(offset%spoolBlock, int64(len(block))):])
		if m == 0 {
			return n, io.EOF
		}
		n, offset = n+m, offset+int64(m)
	}
	switch {
	case n == len(p):
		return n, nil
	case s.file == nil:
		return n, io.EOF
	}
	m, err := s.file.ReadAt(p[n:], offset-int64(len(s.blocks))*spoolBlock)
	return n + m, err
}

// Close gives memory and file back. It may be called again.
func (s *Spool) Close() error {
	if s.reserved > 0 {
		s.budget.Unreserve(s.reserved)
	}
	file := s.file
	s.blocks, s.file, s.size, s.reserved = nil, nil, 0, 0
	if file == nil {
		return nil
	}
	return file.Close()
}

// stdinFS is a file system in which standard input is a file.
type stdinFS struct {
	vfs.FS
	spool *Spool
}

// Open implements vfs.FS.
func (f *stdinFS) Open(name string) (vfs.File, error) {
	if name != decode.StdinName {
		return f.FS.Open(name)
	}
	return &spooledFile{io.NewSectionReader(f.spool, 0, f.spool.size)}, nil
}

// spooledFile is a vfs.File that is read, and the fs.FileInfo of it.
type spooledFile struct{ *io.SectionReader }

func (f *spooledFile) Stat() (fs.FileInfo, error) { return spooledInfo{f.Size()}, nil }
func (f *spooledFile) Close() error               { return nil }
func (f *spooledFile) Sync() error                { return errors.ErrUnsupported }
func (f *spooledFile) Write([]byte) (int, error)  { return 0, errors.ErrUnsupported }

type spooledInfo struct{ size int64 }

func (i spooledInfo) Name() string       { return decode.StdinName }
func (i spooledInfo) Size() int64        { return i.size }
func (i spooledInfo) Mode() fs.FileMode  { return 0 }
func (i spooledInfo) ModTime() time.Time { return time.Time{} }
func (i spooledInfo) IsDir() bool        { return false }
func (i spooledInfo) Sys() any           { return nil }
