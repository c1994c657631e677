package scan

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/internal/vfs"
)

// arrowStream is an Arrow IPC stream: a file, which can be read again, or standard input, of which
// the first bytes have been read.
type arrowStream struct {
	path   string
	fsys   vfs.FS // nil for standard input
	size   int64  // -1 for standard input
	fields *arrow.Schema

	head   *bytes.Buffer // what has been read of standard input
	stdin  io.Reader
	opened atomic.Bool
}

// stdinBodyMax bounds a message of a stream whose size nobody knows.
const stdinBodyMax = allocBytesMax

// openArrowStream reads the schema of a file.
func openArrowStream(fsys vfs.FS, path string) (in *arrowStream, err error) {
	f, err := fsys.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	s := &arrowStream{path: path, fsys: fsys, size: info.Size()}
	return s, s.readSchema(f, f)
}

// openArrowStdin reads the schema of standard input, and keeps what it read.
func openArrowStdin(stdin io.Reader) (*arrowStream, error) {
	s := &arrowStream{path: stdinName, size: -1, head: &bytes.Buffer{}, stdin: stdin}
	return s, s.readSchema(io.TeeReader(stdin, s.head), io.NopCloser(nil))
}

func (s *arrowStream) readSchema(from io.Reader, source io.Closer) error {
	r, err := newArrowReader(from, source, nil, s.bodyMax(), readOptions{Memory: newReserving(memory.DefaultAllocator, nil)})
	if err != nil {
		return errors.Join(locate(s.path, err), source.Close())
	}
	s.fields = deliveredSchema(r.stream.Schema())
	return r.Close()
}

func (s *arrowStream) bodyMax() int64 {
	if s.size < 0 {
		return stdinBodyMax
	}
	return s.size
}

func (s *arrowStream) name() string          { return s.path }
func (s *arrowStream) schema() *arrow.Schema { return s.fields }
func (s *arrowStream) stats() Stats          { return Stats{Rows: -1, Bytes: s.size, Once: s.stdin != nil} }
func (s *arrowStream) span() uint64          { return positionsUnknown }

func (s *arrowStream) parts(_ context.Context, columns []int) ([]part, error) {
	return []part{&streamPart{path: s.path, size: s.size, openAt: func(opt readOptions) (rowReader, error) {
		return s.open(columns, opt)
	}}}, nil
}

func (s *arrowStream) open(columns []int, opt readOptions) (rowReader, error) {
	if s.fsys == nil {
		if !s.opened.CompareAndSwap(false, true) {
			return nil, errReadOnce
		}
		return newArrowReader(io.MultiReader(s.head, s.stdin), io.NopCloser(nil), columns, s.bodyMax(), opt)
	}
	f, err := s.fsys.Open(s.path)
	if err != nil {
		return nil, err
	}
	r, err := newArrowReader(f, f, columns, s.bodyMax(), opt)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return r, nil
}
