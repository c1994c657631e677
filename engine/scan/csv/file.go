package csv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/engine/scan/internal/reserve"
	"github.com/mpga/mpga/internal/knob"
	"github.com/mpga/mpga/internal/vfs"
)

const (
	// chunkBytesDefault is a split of a text file, which is read whole into memory: large enough to
	// hide the cost of opening the split, small enough that the last splits keep all threads busy.
	// With the tail of its last row a chunk takes 4 MiB, a size of the engine's pool.
	chunkBytesDefault = 4<<20 - 2*tailBytes

	// blockBytesDefault is one read of a stream, and the sample of a text's start.
	blockBytesDefault = 1 << 20

	// rowBytesMax bounds a row: an open quote must not read the rest of a large file into memory.
	rowBytesMax = 64 << 20
)

// File is a text whose first rows have been looked at.
type File struct {
	path    string
	fsys    vfs.FS // nil for standard input
	size    int64  // bytes of the file; -1 for standard input
	packed  string // ".gz", ".zst" or ""
	opt     Options
	index   int // among the text files of a table; set by SetTypes
	sizes   Sizes
	dialect *dialect
	start   int64 // offset of the first row after the header, in the text unpacked
	names   []string
	guesses []columnGuess // by column, from the sample
	fields  *arrow.Schema // set by SetTypes
	formats []valueFormat // by column; set by SetTypes

	linesBefore int64     // newlines before start
	infer       inference // what is looked for in the sample

	chunks []chunk // nil where the text is a stream

	head   []byte      // what has been read of standard input
	stdin  io.Reader   // the rest of standard input, unpacked
	opened atomic.Bool // standard input is being read
}

// Open looks at the start of a file.
func Open(fsys vfs.FS, path, packed string, opt Options, sizes Sizes, mem *reserve.Allocator) (*File, error) {
	sizes.ensureDefaults()
	c := &File{path: path, fsys: fsys, packed: packed, opt: opt, sizes: sizes, infer: *newInference(&opt)}
	return c, decode.ReadFile(fsys, path, func(f vfs.File, size int64) error {
		c.size = size
		unpacked, err := unpack(f, packed, mem)
		if err != nil {
			return err
		}
		defer unpacked.Close()
		text, err := c.decoded(unpacked)
		if err != nil {
			return err
		}
		if _, err := c.look(text, mem); err != nil {
			return err
		}
		if !c.ReadsRanges() {
			return nil
		}
		c.cutChunks()
		return c.lookFurther(f)
	})
}

// OpenStdin looks at the start of standard input, of which head has been read, and keeps it.
func OpenStdin(stdin io.Reader, packed string, opt Options, sizes Sizes, mem *reserve.Allocator) (*File, error) {
	sizes.ensureDefaults()
	c := &File{path: decode.StdinName, size: -1, opt: opt, sizes: sizes, infer: *newInference(&opt)}
	text, err := unpack(stdin, packed, mem)
	if err == nil {
		c.stdin, err = c.decoded(text)
	}
	if err != nil {
		return nil, fmt.Errorf("standard input: %w", err)
	}
	if c.head, err = c.look(c.stdin, mem); err != nil {
		return nil, decode.Locate(decode.StdinName, err)
	}
	return c, nil
}

// decoded returns a text in UTF-8. At first it settles the encoding.
func (c *File) decoded(text io.Reader) (io.Reader, error) {
	text, encoding, err := decoded(text, c.opt.Encoding)
	if encoding == EncodingAuto {
		encoding = EncodingUTF8
	}
	c.opt.Encoding = encoding
	return text, err
}

// readText fills a buffer as far as a text goes. A compressed text that was cut off has not ended:
// decompressors return io.ErrUnexpectedEOF then, as io.ReadFull does for any text that is shorter
// than the buffer.
func readText(text io.Reader, buf []byte) (n int, ended bool, err error) {
	for n < len(buf) && err == nil {
		var m int
		m, err = text.Read(buf[n:])
		n += m
	}
	switch {
	case errors.Is(err, io.EOF):
		return n, true, nil
	case errors.Is(err, io.ErrUnexpectedEOF):
		return n, false, fmt.Errorf("%w: the compressed text ends too early: %w", decode.ErrCorrupt, err)
	}
	return n, false, err
}

// look reads enough of a text for a sample, finds delimiter, header and types, and returns the text
// that it has read.
func (c *File) look(text io.Reader, mem *reserve.Allocator) ([]byte, error) {
	var buf []byte
	for size := c.sizes.Block; ; size *= 2 {
		n := len(buf)
		mem.Hold(int64(size)) // the last buffer is garbage, but not yet collected
		buf = slices.Grow(buf, size-n)[:size]
		m, whole, err := readText(text, buf[n:])
		buf = buf[:n+m]
		if err != nil {
			return nil, err
		}
		enough, err := c.examine(buf, whole, mem)
		if enough || err != nil {
			return buf, c.atLine(err, buf)
		}
		if whole {
			return nil, errors.New("the file holds no row")
		}
		if size > rowBytesMax {
			return nil, errLongRow
		}
	}
}

// atLine adds the file and the line to an error about the sample.
func (c *File) atLine(err error, buf []byte) error {
	if at := (*textError)(nil); errors.As(err, &at) {
		return decode.Located(fmt.Errorf("%s, line %d: %w", c.path, 1+bytes.Count(buf[:at.at], newline), err))
	}
	return err
}

var newline = []byte{'\n'}

// knownColumnBytes is what a column takes of the memory before its rows are read: its name and
// guesses, and its fields in the schemas of file and table, with their indexes. The widest of
// tables take 850 B.
const knownColumnBytes = 1 << 10

// sampleBytes returns what the fields of a sample take at most: twice their size, as slices grow.
func (o *Options) sampleBytes(sample []byte) int64 {
	const field = 2 * 24
	most := 0
	for _, d := range append([]byte{o.Delimiter}, delimiters...) {
		if d != 0 {
			most = max(most, bytes.Count(sample, []byte{d}))
		}
	}
	lines := bytes.Count(sample, newline)
	if lines > o.SampleRows {
		most = most / lines * o.SampleRows
	}
	return field * int64(most+min(lines, o.SampleRows)+1)
}

// examine looks at a sample. enough is false where the sample has no whole row.
func (c *File) examine(buf []byte, whole bool, mem *reserve.Allocator) (enough bool, err error) {
	start, err := textStart(buf)
	if err != nil {
		return false, err
	}
	if bytes.IndexByte(buf[:min(len(buf), 4096)], 0) >= 0 {
		return false, knob.Errorf("not text: there are NUL bytes; name its format if it has one of ours (%s), or its encoding (%s utf-16le)",
			knob.Name("dataset.Format"), knob.Name("dataset.CSV.Encoding"))
	}
	for range c.opt.SkipLines {
		n := bytes.IndexByte(buf[start:], '\n')
		if n < 0 {
			return false, nil
		}
		start += n + 1
	}
	if whole && endsInReturns(&c.opt, buf[start:]) {
		return false, errors.New("its lines end in CR alone; convert them to LF or CRLF")
	}
	sampled := c.opt.sampleBytes(buf[start:])
	mem.Hold(sampled)
	defer mem.Drop(sampled)
	delimiter := c.opt.Delimiter
	if delimiter == 0 {
		delimiter = detectDelimiter(&c.opt, buf, start, whole)
	}
	c.dialect = newDialect(&c.opt, delimiter)
	s, err := takeSample(c.dialect, &c.opt, buf, start, c.opt.SampleRows+1, whole)
	if err != nil || len(s.rows) == 0 {
		return false, err
	}
	width := s.width(&c.opt)
	if c.opt.NullPadding {
		width = max(width, len(c.opt.Names))
	}
	mem.Hold(knownColumnBytes * int64(width))
	header := c.opt.Header == HeaderYes || c.opt.Header == HeaderAuto && s.hasHeader(&c.infer)
	c.start = int64(start)
	rows := s.rows
	if header {
		c.start = min(int64(s.ends[0]), int64(len(buf)))
		c.names = columnNames(rows[0], width)
		rows = rows[1:]
		if err := checkNames(c.names); err != nil {
			return false, &textError{at: int(c.start) - 1, reason: err}
		}
	} else {
		c.names = columnNames(nil, width)
	}
	if names := c.opt.Names; names != nil {
		if len(names) != width {
			return false, knob.Errorf("%d names are given (%s), and the first row has %d fields",
				len(names), knob.Name("dataset.CSV.Names"), width)
		}
		c.names = names
	}
	c.linesBefore = int64(bytes.Count(buf[:c.start], newline))
	if c.opt.IgnoreErrors {
		rows = slices.DeleteFunc(rows, func(row [][]byte) bool {
			return len(row) > width || len(row) < width && !c.opt.NullPadding
		})
	}
	c.guesses = c.infer.guessColumns(rows[:min(len(rows), c.opt.SampleRows)], width)
	return true, nil
}

// checkNames refuses names of columns that are not UTF-8.
func checkNames(names []string) error {
	for i, name := range names {
		if !utf8.ValidString(name) {
			return knob.Errorf("the name of column %d, %s, is not valid UTF-8; name the encoding of the file (%s latin-1)",
				i+1, decode.QuoteInvalid([]byte(name)), knob.Name("dataset.CSV.Encoding"))
		}
	}
	return nil
}

// endsInReturns says whether a text without a newline has a CR outside quotes, before its end: the
// text would be one long row.
func endsInReturns(o *Options, text []byte) bool {
	if bytes.IndexByte(text, '\n') >= 0 {
		return false
	}
	inside := false
	for i, c := range text {
		switch {
		case c == o.Quote && !o.NoQuote:
			inside = !inside
		case c == '\r' && !inside && i+1 < len(text):
			return true
		}
	}
	return false
}

// SetTypes gives the columns of all text files their types: by the options, else by the samples of
// all files.
func SetTypes(files []*File, opt *Options) error {
	types := opt.Types
	joint := make(map[string]columnGuess)
	for _, f := range files {
		for i, name := range f.names {
			guess, ok := joint[name]
			if !ok {
				guess.types = allTypes
			}
			guess.add(f.guesses[i])
			joint[name] = guess
		}
	}
	for name := range types {
		if _, ok := joint[name]; !ok && len(files) > 0 {
			return knob.Errorf("%s: %s names column %q; the columns are %s",
				files[0].path, knob.Name("dataset.CSV.Types"), name, strings.Join(files[0].names, ", "))
		}
	}
	for _, f := range files {
		if opt.Rejects != nil {
			f.index = opt.Rejects.nextFile()
		}
		f.formats = make([]valueFormat, len(f.names))
		fields := make([]arrow.Field, len(f.names))
		for i, name := range f.names {
			typ, ok := types[name]
			switch {
			case ok:
				f.formats[i] = f.infer.formatOf(typ)
			case opt.AllText:
				typ = arrow.BinaryTypes.String
			default:
				typ, f.formats[i] = joint[name].typ(&f.infer)
			}
			fields[i] = arrow.Field{Name: name, Type: typ, Nullable: true}
		}
		f.fields = arrow.NewSchema(fields, nil)
	}
	return nil
}

// ReadsRanges says whether splits read ranges of the file, which then is no stream.
func (c *File) ReadsRanges() bool { return c.packed == "" && c.opt.Encoding.isUTF8() }

// Delimiter returns what separates fields.
func (c *File) Delimiter() byte { return c.dialect.delimiter }

func (c *File) Name() string          { return c.path }
func (c *File) Schema() *arrow.Schema { return c.fields }

func (c *File) Stats() decode.Stats {
	s := decode.Stats{Rows: -1, Bytes: c.size, Columns: make([]decode.ColumnStats, len(c.names)), Once: c.fsys == nil}
	for i := range s.Columns {
		s.Columns[i].Repeats = c.repeats(i)
	}
	return s
}

// repeats says whether a column is read as codes of a dictionary.
func (c *File) repeats(column int) bool {
	return c.guesses[column].repeats && arrow.IsBaseBinary(c.fields.Field(column).Type.ID())
}

// Span implements decode.Input: a row takes at least the byte of its newline.
func (c *File) Span() uint64 {
	if c.chunks == nil {
		return decode.PositionsUnknown
	}
	return uint64(c.size) + 2
}

func (c *File) Parts(_ context.Context, columns []int) ([]decode.Part, error) {
	if c.chunks == nil {
		left := &leftOut{}
		open := func(opt decode.Options) (decode.RowReader, error) { return c.openStream(columns, opt, left) }
		return []decode.Part{&decode.StreamPart{Path: c.path, Size: c.size, OpenAt: open}}, nil
	}
	var parts []decode.Part
	for i := range c.chunks {
		parts = append(parts, &part{file: c, columns: columns, index: i, chunk: &c.chunks[i]})
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
		r.text, r.before = counted, c.start
		return r, nil
	}
	f, err := c.fsys.Open(c.path)
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
			r.text, _, err = decoded(text, c.opt.Encoding)
			r.before = c.start
		}
		return err
	})
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}
