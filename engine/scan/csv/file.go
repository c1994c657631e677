package csv

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/engine/scan/internal/fields"
	"github.com/mpga/mpga/engine/scan/internal/reserve"
	"github.com/mpga/mpga/engine/scan/internal/textfile"
	"github.com/mpga/mpga/internal/knob"
	"github.com/mpga/mpga/internal/vfs"
)

// File is a text whose first rows have been looked at.
type File struct {
	textfile.File
	opt     Options
	dialect *dialect
	names   []string
	guesses []columnGuess // by column, from the sample
	counts  []chunkCounts // by chunk
	infer   inference     // what is looked for in the sample

	sniffsQuote bool // no option says the quote
	settled     bool // the encoding, and returns
	returns     bool // lines end in CR
}

func newFile(opt Options) *File {
	c := &File{opt: opt, infer: *newInference(&opt), sniffsQuote: opt.Quote == 0 && !opt.NoQuote}
	c.opt.Quote = cmp.Or(opt.Quote, '"')
	if opt.SampleRows == textfile.SampleAll {
		c.opt.SampleRows = math.MaxInt - 1 // a header is one row more
	}
	c.Format, c.Newline, c.Decode = c, true, c.decoded
	c.Lenient, c.Rejects = opt.IgnoreErrors, opt.Rejects
	return c
}

// decoded implements textfile.Decode. At first it settles the encoding, and whether lines end in CR.
func (c *File) decoded(text io.Reader) (io.Reader, bool) {
	text, encoding := decoded(text, c.opt.Encoding)
	if encoding == EncodingAuto {
		encoding = EncodingUTF8
	}
	c.opt.Encoding = encoding
	if !c.settled {
		c.settled = true
		var head []byte
		head, text = peeked(text, returnsHeadBytes)
		c.returns = endsInReturns(&c.opt, head)
	}
	if c.returns {
		text = returnsReader{text}
	}
	return text, !encoding.isUTF8() || c.returns
}

// returnsHeadBytes is the text that is looked at for its ends of lines.
const returnsHeadBytes = 1 << 16

// returnsReader reads a text whose lines end in CR, with newlines in place of these.
type returnsReader struct{ io.Reader }

// Read implements io.Reader.
func (r returnsReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	for i, b := range p[:n] {
		if b == '\r' {
			p[i] = '\n'
		}
	}
	return n, err
}

// Open looks at the start of a file.
func Open(fsys vfs.FS, path, packed string, opt Options, samples *textfile.Samples) (*File, error) {
	c := newFile(opt)
	err := c.File.Open(fsys, path, packed, samples, c.examiner(samples.Memory), c.lookFurther)
	if err != nil {
		return nil, err
	}
	c.settle()
	c.counts = make([]chunkCounts, c.Chunks())
	return c, nil
}

// OpenStdin looks at the start of standard input, and keeps it.
func OpenStdin(stdin io.Reader, packed string, opt Options, samples *textfile.Samples) (*File, error) {
	c := newFile(opt)
	if err := c.File.OpenStdin(stdin, packed, samples, c.examiner(samples.Memory)); err != nil {
		return nil, err
	}
	c.settle()
	return c, nil
}

// examiner returns examine, which finds delimiter, header and types.
func (c *File) examiner(mem *reserve.Allocator) textfile.Examine {
	return func(buf []byte, whole bool) (bool, error) { return c.examine(buf, whole, mem) }
}

// Beginning describes what the start of the file says of all of its rows, but for types: the columns' names, and how
// rows are written.
func (c *File) Beginning() string {
	d := *c.dialect
	d.steps = nil // which follows from the others
	return fmt.Sprintf("%d %q %v %v", c.Start, c.names, d, c.returns)
}

var newline = []byte{'\n'}

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

// isBinary says whether what a file begins with is no text with some NUL bytes in its values: the first line has
// one, or they are many, as in UTF-16.
func isBinary(head []byte) bool {
	head = head[:min(len(head), 4096)]
	line := head
	if end := bytes.IndexByte(head, '\n'); end >= 0 {
		line = head[:end]
	}
	return bytes.IndexByte(line, 0) >= 0 || bytes.Count(head, []byte{0}) > len(head)/8
}

// examine looks at a sample. enough is false where the sample has no whole row.
func (c *File) examine(buf []byte, whole bool, mem *reserve.Allocator) (enough bool, err error) {
	start, err := textStart(buf)
	if err != nil {
		return false, err
	}
	for range c.opt.SkipLines {
		n := bytes.IndexByte(buf[start:], '\n')
		if n < 0 {
			return false, nil
		}
		start += n + 1
	}
	if isBinary(buf[start:]) {
		return false, knob.Errorf(
			"not text: there are NUL bytes; name its format if it has one of ours (%s), or its encoding (%s utf-16le)",
			knob.Name("dataset.Format"), knob.Name("dataset.CSV.Encoding"))
	}
	sampled := c.opt.sampleBytes(buf[start:])
	mem.Hold(sampled)
	defer mem.Drop(sampled)
	delimiter, start := c.sniff(buf, start, whole)
	c.dialect = newDialect(&c.opt, delimiter)
	s, err := takeSample(c.dialect, &c.opt, buf, start, c.opt.SampleRows+1, whole)
	if err == nil && len(s.rows) == 0 && whole {
		c.Start = int64(len(buf)) // it takes the columns of other files
		return true, nil
	}
	if err != nil || len(s.rows) == 0 {
		return false, err
	}
	width := s.width(&c.opt)
	if c.opt.NullPadding {
		width = max(width, len(c.opt.Names))
	}
	mem.Hold(textfile.KnownColumnBytes * int64(width))
	header := c.opt.Header == HeaderYes || c.opt.Header == HeaderAuto && s.hasHeader(&c.infer)
	c.Start = int64(start)
	from := 0 // the first row of values
	if header {
		c.Start = min(int64(s.ends[0]), int64(len(buf)))
		c.names = columnNames(s.rows[0], width)
		from = 1
		if err := checkNames(c.names); err != nil {
			return false, &textfile.Error{At: int(c.Start) - 1, Reason: err}
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
	c.dialect.trailing = header && s.endsInDelimiter(width)
	c.LinesBefore = int64(bytes.Count(buf[:c.Start], newline))
	s.rows = s.rows[:min(len(s.rows), from+c.opt.SampleRows)]
	c.guesses = c.infer.guessColumns(s, from, c.rowWidth())[:width]
	for i := range c.guesses {
		c.guesses[i].repeats = repeats(s.rows[from:], i)
	}
	if c.opt.SamplesBeyond() && !whole {
		c.Onward = c.onward(s.ends[len(s.rows)-1], from+c.opt.SampleRows-len(s.rows))
	}
	return true, nil
}

// onward returns a textfile.File.Onward that adds more rows to the guesses, from an offset on. It ends at an error,
// which reading the rows will find.
func (c *File) onward(p, rowsMax int) func(buf []byte, whole bool) (next int, more bool) {
	lines := 0
	return func(buf []byte, whole bool) (next int, more bool) {
		s, err := takeSample(c.dialect, &c.opt, buf, p, rowsMax, whole)
		if next, p = p, 0; err != nil {
			return next, false
		}
		s.lines = lines
		guesses := c.infer.guessColumns(s, 0, c.rowWidth())
		for i := range c.guesses {
			c.guesses[i].extend(&guesses[i])
		}
		if len(s.rows) > 0 {
			next = s.ends[len(s.rows)-1]
		}
		lines += bytes.Count(buf[:min(next, len(buf))], newline)
		rowsMax -= len(s.rows)
		return next, rowsMax > 0
	}
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
// text would be one long row otherwise.
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
// all files. It returns what the samples say. Where the files are a part of a table, known is what the
// samples of the whole table say; else it is nil.
func SetTypes(files []*File, opt *Options, known map[string]Guess) (map[string]Guess, error) {
	types := opt.Types
	joint := make(map[string]columnGuess)
	for name, guess := range known {
		joint[name] = columnGuess{types: guess.Types, seen: guess.Seen}
	}
	nameColumnsOfEmpty(files, opt, known)
	first := spellings(files, known)
	for _, f := range files {
		for i, name := range f.names {
			guess, ok := joint[first[name]]
			if !ok {
				guess.types = allTypes
			}
			guess.add(f.guesses[i])
			joint[first[name]] = guess
		}
	}
	for name := range types {
		if _, ok := first[name]; !ok && len(files) > 0 {
			return nil, knob.Errorf("%s: %s names column %q; the columns are %s",
				files[0].Path, knob.Name("dataset.CSV.Types"), name, strings.Join(files[0].names, ", "))
		}
		if !fields.CanBe(types[name]) && len(files) > 0 {
			return nil, knob.Errorf("%s: %s: column %q: CSV cannot be read as %s; read it as VARCHAR, and cast it",
				files[0].Path, knob.Name("dataset.CSV.Types"), name, query.TypeName(types[name]))
		}
	}
	for _, f := range files {
		if opt.Rejects != nil {
			f.Index = opt.Rejects.NextFile()
		}
		f.Formats = make([]fields.Format, len(f.names))
		all, repeats := make([]arrow.Field, len(f.names)), make([]bool, len(f.names))
		for i, name := range f.names {
			typ, ok := types[name]
			if !ok {
				typ, ok = types[first[name]]
			}
			switch {
			case ok:
				f.Formats[i] = f.infer.formatOf(typ)
			case opt.AllText:
				typ = arrow.BinaryTypes.String
			default:
				typ, f.Formats[i] = joint[first[name]].typ(&f.infer)
			}
			all[i] = arrow.Field{Name: name, Type: typ, Nullable: true}
			repeats[i] = f.guesses[i].repeats && arrow.IsBaseBinary(typ.ID())
		}
		f.Fields, f.Repeats = arrow.NewSchema(all, nil), repeats
	}
	said := make(map[string]Guess, len(joint))
	for name, guess := range joint {
		said[name] = Guess{Types: guess.types, Seen: guess.seen}
	}
	return said, nil
}

// spellings returns how each name of a column is first written, in the known table or a file: files may write it in
// another case. A file that has a name in two cases has two columns, in all files.
func spellings(files []*File, known map[string]Guess) map[string]string {
	first, lower := make(map[string]string), make(map[string]string)
	for name := range known {
		first[name] = name
	}
	for name := range first {
		small := strings.ToLower(name)
		if _, two := lower[small]; two {
			lower[small] = ""
		} else {
			lower[small] = name
		}
	}
	for _, f := range files {
		own := make(map[string]bool, len(f.names))
		for _, name := range f.names {
			small := strings.ToLower(name)
			if _, ok := lower[small]; !ok {
				lower[small] = name
			}
			if own[small] {
				lower[small] = ""
			}
			own[small] = true
		}
	}
	for _, f := range files {
		for _, name := range f.names {
			if first[name] == "" {
				first[name] = cmp.Or(lower[strings.ToLower(name)], name)
			}
		}
	}
	return first
}

// nameColumnsOfEmpty gives files without a row the columns of the others; where there are no others, the names of the
// options, of the known table, or a column of no values, as DuckDB does.
func nameColumnsOfEmpty(files []*File, opt *Options, known map[string]Guess) {
	names := opt.Names
	if names == nil {
		names = slices.Sorted(maps.Keys(known))
	}
	if i := slices.IndexFunc(files, func(f *File) bool { return f.names != nil }); i >= 0 {
		names = files[i].names
	}
	if len(names) == 0 {
		names = columnNames(nil, 1)
	}
	for _, f := range files {
		if f.names == nil {
			f.names = names
			f.guesses = f.infer.guessColumns(&sample{}, 0, len(names))
		}
	}
}

// Guess is what samples say of a column.
type Guess struct {
	Types typeSet `json:"types,string"` // that all values can have; of no use to another version of this package
	Seen  bool    `json:"seen"`         // some value is not NULL
}

// Delimiter returns what separates fields.
func (c *File) Delimiter() byte { return c.dialect.delimiter }

// NewSplitter implements textfile.Format.
func (c *File) NewSplitter(columns []int) textfile.Splitter {
	return newRowSplitter(c.dialect, c.rowWidth(), columns)
}

// SplitterBytes implements textfile.Format.
func (c *File) SplitterBytes(columns int) int64 { return splitterBytes(c.rowWidth(), columns) }

// RowBytes implements textfile.Format: a field takes the byte behind it.
func (c *File) RowBytes() int { return c.rowWidth() }

// rowWidth returns how many fields a row has.
func (c *File) rowWidth() int {
	if c.dialect.trailing {
		return len(c.names) + 1
	}
	return len(c.names)
}

// Columns implements textfile.Format.
func (c *File) Columns() fields.Options {
	return fields.Options{Unescape: c.dialect.unescape, Nulls: c.opt.NullStrings}
}

// LongRow implements textfile.Format.
func (c *File) LongRow() error { return errLongRow }

// RowLength implements textfile.Format.
func (c *File) RowLength(text io.Reader) (length int64) {
	d, inside := c.dialect, false
	for buffered := bufio.NewReader(text); length < textfile.RowLimitDefault; length++ {
		c, err := buffered.ReadByte()
		switch {
		case err != nil:
			return length
		case inside && c == d.escape && c != 0:
			skipped, _ := buffered.Discard(1)
			length += int64(skipped)
		case c == d.quote && !d.noQuote:
			inside = !inside
		case c == '\n' && !inside && length > 0:
			return length
		}
	}
	return length
}

// ValueError implements textfile.Format.
func (c *File) ValueError(name string, typ arrow.DataType, format *fields.Format, field []byte, _ bool) error {
	if fields.IsText(typ) {
		return knob.Errorf("column %q: %s is not valid UTF-8; name the encoding of the file (%s latin-1), "+
			"or read the column as bytes (%s %s)", name, decode.QuoteInvalid(field),
			knob.Name("dataset.CSV.Encoding"), knob.Name("dataset.CSV.Types"), fields.Setting(name, "BLOB"))
	}
	const types = knob.Name("dataset.CSV.Types")
	value := quoted(field)
	written := knob.Errorf("%s", format)
	if format.Times != nil {
		written = knob.Errorf("%s (%s, %s)", format, knob.Name("dataset.CSV.DateFormat"),
			knob.Name("dataset.CSV.TimestampFormat"))
	}
	loss, as := format.LossOf(typ, field), ""
	switch digits := fields.WholeDigits(fields.Trim(field)); {
	case loss != "":
		as = "; as a number: " + fields.Setting(name, fields.TypeName(typ))
	case typ.ID() == arrow.INT64 && digits > 0 && digits <= fields.HugeDigits:
		as = "; as a longer integer: " + fields.Setting(name, "HUGEINT")
	}
	return knob.Errorf("column %q: %s is not of type %s%v%s; as text: %s %s%s; or say what stands for NULL (%s)",
		name, value, fields.TypeName(typ), written, loss, types, fields.Setting(name, "VARCHAR"), as,
		knob.Name("dataset.CSV.NullStrings"))
}

// quoted returns a field in quotes, cut where it is longer than all numbers are.
func quoted(field []byte) string {
	const shown = fields.HugeDigits + 2
	if len(field) > shown {
		return fmt.Sprintf("%q...", field[:shown])
	}
	return fmt.Sprintf("%q", field)
}
