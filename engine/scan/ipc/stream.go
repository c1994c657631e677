package ipc

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/engine/scan/internal/delivery"
	"github.com/mpga/mpga/engine/scan/internal/reserve"
	"github.com/mpga/mpga/internal/vfs"
)

// Stream is an Arrow IPC stream: a file, which can be read again, or standard input, whose first
// bytes have been read.
type Stream struct {
	path string
	fsys vfs.FS // nil for standard input
	size int64  // -1 for standard input
	flat *delivery.Flat

	head   *bytes.Buffer // the bytes of standard input that have been read; nil of a file
	stdin  io.Reader
	opened atomic.Bool
}

// stdinBodyMax bounds a message of a stream whose size nobody knows.
const stdinBodyMax = reserve.BufferBytesMax

// OpenStream reads the schema of a file.
func OpenStream(fsys vfs.FS, path string) (*Stream, error) {
	s := &Stream{path: path, fsys: fsys}
	return s, decode.ReadFile(fsys, path, func(f vfs.File, size int64) error {
		s.size = size
		return s.readSchema(f)
	})
}

// OpenStdin reads the schema of standard input, and keeps the bytes that it read.
func OpenStdin(stdin io.Reader) (*Stream, error) {
	s := &Stream{path: decode.StdinName, size: -1, head: &bytes.Buffer{}, stdin: stdin}
	return s, decode.Locate(s.path, s.readSchema(io.TeeReader(stdin, s.head)))
}

func (s *Stream) readSchema(from io.Reader) (err error) {
	s.flat, err = readSchema(from, s.bodyMax())
	return err
}

// bodyMax bounds a message.
func (s *Stream) bodyMax() int64 {
	if s.size < 0 {
		return stdinBodyMax
	}
	return s.size
}

// Name returns the path that the stream was opened by.
func (s *Stream) Name() string { return s.path }

// Schema returns the columns of the stream, structs flattened.
func (s *Stream) Schema() *arrow.Schema { return s.flat.Schema }

// Stats returns the stream's bytes, -1 when they are not known, and -1 for its rows.
func (s *Stream) Stats() decode.Stats {
	return decode.Stats{Rows: -1, Bytes: s.size, Once: s.stdin != nil}
}

// Span returns decode.PositionsUnknown: nobody has counted the rows.
func (s *Stream) Span() uint64 { return decode.PositionsUnknown }

// Parts returns the one part that a stream has, which reads columns.
func (s *Stream) Parts(_ context.Context, columns []int) ([]decode.Part, error) {
	open := func(opt decode.Options) (decode.RowReader, error) { return s.open(columns, opt) }
	return []decode.Part{&decode.StreamPart{Path: s.path, Size: s.size, OpenAt: open}}, nil
}

func (s *Stream) open(columns []int, opt decode.Options) (decode.RowReader, error) {
	if s.fsys == nil {
		if !s.opened.CompareAndSwap(false, true) {
			return nil, decode.ErrReadOnce
		}
		return newReader(io.MultiReader(s.head, s.stdin), io.NopCloser(nil), s.flat, columns, s.bodyMax(), opt)
	}
	f, err := s.fsys.Open(s.path)
	if err != nil {
		return nil, err
	}
	r, err := newReader(f, f, s.flat, columns, s.bodyMax(), opt)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return r, nil
}
