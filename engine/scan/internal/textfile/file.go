package textfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/engine/scan/internal/fields"
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

// File is a text whose first rows have been looked at: a decode.Input.
type File struct {
	Format  Format
	Path    string
	Start   int64            // offset of the first row, in the text unpacked
	Fields  *arrow.Schema    // set when the samples of all files are known
	Texts   map[string]error // by name of a column of text: why it is text, where most of its values are not
	Repeats []bool           // by column: it is read as codes of a dictionary
	Formats []fields.Format  // by column: how its values are written; nil where all are plain
	Whole   bool             // a reader cannot begin in the middle of the text
	Newline bool             // the last row needs a newline behind it

	// Decode returns a text in UTF-8, and whether it is another than what the file has: then the text is
	// a stream. The default, nil, takes the text as it is.
	Decode func(text io.Reader) (decoded io.Reader, other bool)

	// Onward, when set by examine, looks at the text behind the sample of its start: first at the text of
	// that sample once more, then at the text from next on, whose end is the text's where whole is true.
	// more is false where enough has been seen.
	Onward func(buf []byte, whole bool) (next int, more bool)

	Lenient     bool     // rows with errors are left out, by a Splitter that is Lenient
	Rejects     *Rejects // takes the rows that are left out; nil drops them
	Index       int      // among the files of Rejects
	LinesBefore int64    // newlines before Start; where Lenient

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

// Range is bytes [From, To) of a text file, whose rows are read: a row begins at From, where that is above 0, and ends
// before To. The file may be longer.
type Range struct{ From, To int64 }

// chunk is bytes [from, to) of a text file.
type chunk struct{ from, to int64 }

// Open looks at the start of a file by examine, and then by further, which may be nil,
// at the rest of a file that is not compressed.
func (c *File) Open(
	fsys vfs.FS, path, packed string, samples *Samples, examine Examine, further func(io.ReaderAt) error,
) error {
	c.Path, c.fsys, c.packed, c.sizes = path, fsys, packed, samples.sizes()
	return decode.ReadFile(fsys, path, func(f vfs.File, size int64) error {
		c.size = size
		unpacked, err := unpack(f, packed, samples.Memory)
		if err != nil {
			return err
		}
		defer unpacked.Close()
		within, all := samples.Range, io.Reader(unpacked)
		if within != nil {
			c.size, all = within.To, io.LimitReader(unpacked, within.To)
		}
		text, other := c.decoded(all)
		looked, err := c.look(text, samples, examine)
		if err == nil && c.Onward != nil {
			err = c.lookOnward(text, samples, len(looked))
		}
		if err != nil {
			return err
		}
		if within != nil && (packed != "" || other || c.Whole || within.To > size) {
			return fmt.Errorf("bytes %d to %d of %d cannot be read alone", within.From, within.To, size)
		}
		if packed != "" || other {
			return nil
		}
		if within != nil {
			c.Start = max(c.Start, within.From)
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
	c.stdin, _ = c.decoded(text)
	c.Path, c.size, c.sizes = decode.StdinName, -1, samples.sizes()
	c.head, err = c.look(c.stdin, samples, examine)
	samples.buf = nil // it is the head
	if err != nil {
		return decode.Locate(decode.StdinName, err)
	}
	return nil
}

// decoded returns a text in UTF-8, and whether it is another than the file has.
func (c *File) decoded(text io.Reader) (io.Reader, bool) {
	if c.Decode == nil {
		return text, false
	}
	return c.Decode(text)
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

// WhyText returns an element of Texts, or nil.
func (c *File) WhyText(column string) error { return c.Texts[column] }

// Stats implements decode.Input.
func (c *File) Stats() decode.Stats {
	s := decode.Stats{Rows: -1, Bytes: c.size,
		Columns: make([]decode.ColumnStats, c.Fields.NumFields()), Once: c.fsys == nil}
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
		left := &leftOut{}
		open := func(opt decode.Options) (decode.RowReader, error) { return c.openStream(columns, opt, left) }
		return []decode.Part{&decode.StreamPart{Path: c.Path, Size: c.size, OpenAt: open}}, nil
	}
	var parts []decode.Part
	for i := range c.chunks {
		parts = append(parts, &part{file: c, columns: columns, index: i, chunk: c.chunks[i]})
	}
	return parts, nil
}

// openStream reads a text from its start.
func (c *File) openStream(columns []int, opt decode.Options, left *leftOut) (decode.RowReader, error) {
	r := newReader(c, columns, opt, left)
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
			r.closers = []io.Closer{text, f}
			r.text, _ = c.decoded(text)
			r.before = c.Start
		}
		return err
	})
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}
