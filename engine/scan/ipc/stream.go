package ipc

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/engine/scan/internal/delivery"
	"github.com/mpga/mpga/engine/scan/internal/reserve"
	"github.com/mpga/mpga/internal/vfs"
)

// Stream is an Arrow IPC stream: a file, which can be read again, or standard input, of which
// the first bytes have been read.
type Stream struct {
	path   string
	fsys   vfs.FS // nil for standard input
	size   int64  // -1 for standard input
	fields *arrow.Schema

	head   *bytes.Buffer // what has been read of standard input
	stdin  io.Reader
	opened atomic.Bool
}

// stdinBodyMax bounds a message of a stream whose size nobody knows.
const stdinBodyMax = reserve.BufferBytesMax

// OpenStream reads the schema of a file.
func OpenStream(fsys vfs.FS, path string) (in *Stream, err error) {
	f, err := fsys.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	s := &Stream{path: path, fsys: fsys, size: info.Size()}
	return s, s.readSchema(f, f)
}

// OpenStdin reads the schema of standard input, and keeps what it read.
func OpenStdin(stdin io.Reader) (*Stream, error) {
	s := &Stream{path: decode.StdinName, size: -1, head: &bytes.Buffer{}, stdin: stdin}
	return s, s.readSchema(io.TeeReader(stdin, s.head), io.NopCloser(nil))
}

func (s *Stream) readSchema(from io.Reader, source io.Closer) error {
	r, err := newReader(from, source, nil, s.bodyMax(), decode.Options{Memory: reserve.New(memory.DefaultAllocator, nil)})
	if err != nil {
		return errors.Join(decode.Locate(s.path, err), source.Close())
	}
	s.fields = delivery.Schema(r.stream.Schema())
	return r.Close()
}

func (s *Stream) bodyMax() int64 {
	if s.size < 0 {
		return stdinBodyMax
	}
	return s.size
}

func (s *Stream) Name() string          { return s.path }
func (s *Stream) Schema() *arrow.Schema { return s.fields }
func (s *Stream) Stats() decode.Stats {
	return decode.Stats{Rows: -1, Bytes: s.size, Once: s.stdin != nil}
}
func (s *Stream) Span() uint64 { return decode.PositionsUnknown }

func (s *Stream) Parts(_ context.Context, columns []int) ([]decode.Part, error) {
	return []decode.Part{&decode.StreamPart{Path: s.path, Size: s.size, OpenAt: func(opt decode.Options) (decode.RowReader, error) {
		return s.open(columns, opt)
	}}}, nil
}

func (s *Stream) open(columns []int, opt decode.Options) (decode.RowReader, error) {
	if s.fsys == nil {
		if !s.opened.CompareAndSwap(false, true) {
			return nil, decode.ErrReadOnce
		}
		return newReader(io.MultiReader(s.head, s.stdin), io.NopCloser(nil), columns, s.bodyMax(), opt)
	}
	f, err := s.fsys.Open(s.path)
	if err != nil {
		return nil, err
	}
	r, err := newReader(f, f, columns, s.bodyMax(), opt)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return r, nil
}
