package textfile

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/engine/scan/internal/fields"
	"github.com/mpga/mpga/engine/scan/internal/reserve"
	"github.com/mpga/mpga/internal/vfs"
)

const (
	// chunkBytesDefault is a split of a text file, which is read whole into memory: large enough to
	// hide the cost of opening the split, small enough that the last splits keep all threads busy.
	// With the tail of its last row a chunk takes 4 MiB, a size of the engine's pool.
	chunkBytesDefault = 4<<20 - 2*tailBytes

	// blockBytesDefault is one read of a stream, and the sample of a text's start.
	blockBytesDefault = 1 << 20

	// RowLimitDefault is the limit of a row where nobody sets another.
	RowLimitDefault = 64 << 20

	// RowLimitMax is the largest limit of a row: spans point into buffers of a row and a few blocks.
	RowLimitMax = 256 << 20
)

const _ = uint(fields.EndMask + 1 - 4*RowLimitMax)

// Sizes are how much is read at a time. The zero value stands for the defaults; tests read less.
type Sizes struct {
	Chunk int64 // bytes of a split
	Block int   // bytes of one read of a stream
}

func (s *Sizes) ensureDefaults() {
	s.Chunk = cmp.Or(s.Chunk, chunkBytesDefault)
	s.Block = cmp.Or(s.Block, blockBytesDefault)
}

// Format is what the format of a text knows of its rows.
type Format interface {
	// NewSplitter returns what cuts rows into the fields of the wanted columns.
	NewSplitter(columns []int) Splitter

	// SplitterBytes returns the memory of a splitter for so many wanted columns.
	SplitterBytes(columns int) int64

	// RowBytes returns how many bytes a row takes at least.
	RowBytes() int

	// ReadChunk fills buf with a chunk, by ReadRange, and returns where in it the first row begins that
	// starts in the chunk; len(buf)+1 where no row does.
	ReadChunk(ctx context.Context, f io.ReaderAt, chunk int, buf []byte) (first int, err error)

	// RowLength returns how many bytes the first row of a text has, at most RowLimit.
	RowLength(text io.Reader) int64

	// Columns returns what the columns of a reader have in common, but for the memory.
	Columns() fields.Options

	// ValueError is the error of a field, in quotes or not, that is no value of its column's type.
	ValueError(column string, typ arrow.DataType, field []byte, quoted bool) error

	// LongRow is the error of a row that is longer than RowLimit.
	LongRow() error
}

// Splitter finds the fields of the wanted columns in rows. Its errors are of type Error where they
// have a place.
type Splitter interface {
	// Split finds some whole rows behind buf[p], which belong to the chunk that ends at limit, up to
	// rowsMax, and returns where it goes on. It returns no rows only where the buffer has no whole row,
	// or with an error, which is io.EOF where the chunk has no more rows. There are fields.Slack more
	// bytes behind buf.
	Split(buf []byte, p, limit, rowsMax int) (next, rows int, err error)

	// Fields returns the fields of a wanted column, of the rows that were split last.
	Fields(column int) []fields.Span

	// End returns the error of a text that ends behind buf[p], where Split has found no row.
	End(buf []byte, p int) error

	// RowStart returns where the row begins that Split would find at p.
	RowStart(buf []byte, p int) int
}

// Error is an error at an offset of a buffer.
type Error struct {
	At     int
	Reason error
}

// Error implements error.
func (e *Error) Error() string { return e.Reason.Error() }

// File is a text whose first rows have been looked at: a decode.Input.
type File struct {
	Format  Format
	Path    string
	Start   int64         // offset of the first row, in the text unpacked
	Fields  *arrow.Schema // set when the samples of all files are known
	Repeats []bool        // by column: it is read as codes of a dictionary
	Whole   bool          // a reader cannot begin in the middle of the text
	Newline bool          // the last row needs a newline behind it

	// RowLimit is how many bytes a row has at most: an open quote must not read the rest of a large file
	// into memory. The default is RowLimitDefault.
	RowLimit int

	fsys   vfs.FS // nil for standard input
	size   int64  // bytes of the file; -1 for standard input
	packed string // ".gz", ".zst", ".bz2" or ""
	sizes  Sizes

	chunks []chunk // nil where the text is a stream

	head   []byte      // what has been read of standard input
	stdin  io.Reader   // the rest of standard input, unpacked
	opened atomic.Bool // standard input is being read
}

// chunk is bytes [from, to) of a text file.
type chunk struct{ from, to int64 }

// Open looks at the start of a file by examine, as Look does, and then by further, which may be nil,
// at the rest of a file that is not compressed.
func (c *File) Open(
	fsys vfs.FS, path, packed string, samples *Samples, examine Examine, further func(io.ReaderAt) error,
) error {
	c.Path, c.fsys, c.packed, c.sizes = path, fsys, packed, samples.sizes()
	return decode.ReadFile(fsys, path, func(f vfs.File, size int64) error {
		c.size = size
		text, err := unpack(f, packed, samples.Memory)
		if err != nil {
			return err
		}
		defer text.Close()
		if _, err := c.look(text, samples, examine); err != nil {
			return err
		}
		if packed != "" {
			return nil
		}
		if !c.Whole {
			c.cutChunks()
		}
		if further != nil {
			return further(f)
		}
		return nil
	})
}

// OpenStdin looks at the start of standard input, and keeps it.
func (c *File) OpenStdin(stdin io.Reader, packed string, samples *Samples, examine Examine) error {
	text, err := unpack(stdin, packed, samples.Memory)
	if err != nil {
		return fmt.Errorf("standard input: %w", err)
	}
	c.Path, c.size, c.sizes, c.stdin = decode.StdinName, -1, samples.sizes(), text
	c.head, err = c.look(text, samples, examine)
	samples.buf = nil // it is the head
	if err != nil {
		return decode.Locate(decode.StdinName, err)
	}
	return nil
}

// Samples is what the texts of a table have in common while they are opened, one after the other.
type Samples struct {
	Memory *reserve.Allocator
	Sizes  Sizes
	buf    []byte // of the sample that is being looked at
}

// sizes returns the sizes, filled in.
func (s *Samples) sizes() Sizes {
	sizes := s.Sizes
	sizes.ensureDefaults()
	return sizes
}

// grow makes room for a sample of some bytes, of which n have been read.
func (s *Samples) grow(n, size int) {
	if cap(s.buf) >= size+fields.Slack {
		s.buf = s.buf[:size]
		return
	}
	s.Memory.Hold(int64(size)) // the last buffer is garbage, but not yet collected
	grown := make([]byte, size, size+fields.Slack)
	copy(grown, s.buf[:n])
	s.buf = grown
}

// Examine looks at the beginning of a text, which has room for fields.Slack more bytes behind it; whole
// says that it is all of it. enough is false where more is needed.
type Examine func(buf []byte, whole bool) (enough bool, err error)

// look reads enough of a text for a sample, and returns the text that it has read.
func (c *File) look(text io.Reader, samples *Samples, examine Examine) ([]byte, error) {
	c.RowLimit = cmp.Or(c.RowLimit, RowLimitDefault)
	n := 0
	for size := c.sizes.Block; ; size *= 2 {
		samples.grow(n, size)
		m, whole, err := readText(text, samples.buf[n:size])
		n += m
		buf := samples.buf[:n]
		if err != nil {
			return nil, err
		}
		enough, err := examine(buf, whole)
		if enough || err != nil {
			return buf, c.atLine(err, buf)
		}
		if whole {
			return nil, ErrNoRow
		}
		if size > c.RowLimit {
			return nil, c.Format.LongRow()
		}
	}
}

const (
	// placesFurther is at how many places behind its start a file is looked at for columns that do not
	// repeat after all: the start of a file is often unlike the rest.
	placesFurther = 4

	// placeBytes is what is read at each of these places.
	placeBytes = 64 << 10
)

// LookAt calls look with what a large file has at some places: p is behind the first newline there.
func (c *File) LookAt(f io.ReaderAt, look func(buf []byte, p int)) error {
	if c.size < (placesFurther+1)*placeBytes {
		return nil
	}
	for place := range int64(placesFurther) {
		buf := make([]byte, placeBytes, placeBytes+fields.Slack)
		n, err := f.ReadAt(buf, c.size/(placesFurther+1)*(place+1))
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		buf = buf[:n]
		look(buf, 1+bytes.IndexByte(buf, '\n'))
	}
	return nil
}

// ErrNoRow is the error of a text without rows.
var ErrNoRow = errors.New("the file holds no row")

// atLine adds the file and the line to an error about the sample.
func (c *File) atLine(err error, buf []byte) error {
	if at := (*Error)(nil); errors.As(err, &at) {
		return decode.Located(fmt.Errorf("%s, line %d: %w", c.Path, 1+bytes.Count(buf[:at.At], newline), err))
	}
	return err
}

// KnownColumnBytes is what a column takes of the memory before its rows are read: its name and
// guesses, and its fields in the schemas of file and table, with their indexes. The widest of
// tables take 850 B.
const KnownColumnBytes = 1 << 10

// Size returns the bytes of the file; -1 for standard input.
func (c *File) Size() int64 { return c.size }

// Chunks returns how many chunks the file is cut into; 0 where it is a stream.
func (c *File) Chunks() int { return len(c.chunks) }

// ReadsRanges says whether splits read ranges of the file, which then is no stream.
func (c *File) ReadsRanges() bool { return c.chunks != nil }

// Name implements decode.Input.
func (c *File) Name() string { return c.Path }

// Schema implements decode.Input.
func (c *File) Schema() *arrow.Schema { return c.Fields }

// Stats implements decode.Input.
func (c *File) Stats() decode.Stats {
	s := decode.Stats{Rows: -1, Bytes: c.size, Columns: make([]decode.ColumnStats, c.Fields.NumFields()), Once: c.fsys == nil}
	for i := range s.Columns {
		s.Columns[i].Repeats = c.Repeats[i]
	}
	return s
}

// Span implements decode.Input: a row takes at least the byte of its newline.
func (c *File) Span() uint64 {
	if c.chunks == nil {
		return decode.PositionsUnknown
	}
	return uint64(c.size) + 2
}

// Parts implements decode.Input.
func (c *File) Parts(_ context.Context, columns []int) ([]decode.Part, error) {
	if c.chunks == nil {
		open := func(opt decode.Options) (decode.RowReader, error) { return c.openStream(columns, opt) }
		return []decode.Part{&decode.StreamPart{Path: c.Path, Size: c.size, OpenAt: open}}, nil
	}
	var parts []decode.Part
	for i := range c.chunks {
		parts = append(parts, &part{file: c, columns: columns, index: i, chunk: c.chunks[i]})
	}
	return parts, nil
}

// openStream reads a text from its start.
func (c *File) openStream(columns []int, opt decode.Options) (decode.RowReader, error) {
	r := newReader(c, columns, opt)
	if c.fsys == nil {
		if !c.opened.CompareAndSwap(false, true) {
			return nil, errors.Join(decode.ErrReadOnce, r.Close())
		}
		counted := &decode.CountingReader{R: io.MultiReader(bytes.NewReader(c.head), c.stdin)}
		r.consumed = func() int64 { return counted.N }
		r.text, r.before = counted, c.Start
		return r, nil
	}
	f, err := c.fsys.Open(c.Path)
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	r.closers = []io.Closer{f}
	counted := &decode.CountingReader{R: f}
	r.consumed = func() int64 { return counted.N }
	err = decode.Guard(func() (err error) {
		text, err := unpack(counted, c.packed, r.opt.Memory)
		if err == nil {
			r.text, r.before = text, c.Start
			r.closers = []io.Closer{text, f}
		}
		return err
	})
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}
