package json

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

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
	array   bool // the rows are the elements of an array
	opt     Options
	sample  *sample          // nil behind SetTypes
	names   []string         // of the columns of all files
	keys    []writtenKey     // by column
	columns map[string]int32 // by name
}

// Open looks at the start of a file.
func Open(fsys vfs.FS, path, packed string, opt Options, samples *textfile.Samples) (*File, error) {
	c := &File{opt: opt}
	c.Format, c.RowLimit = c, opt.RowLimit
	if err := c.File.Open(fsys, path, packed, samples, c.examiner(samples.Memory), c.lookFurther); err != nil {
		return nil, err
	}
	c.sample.settle()
	return c, nil
}

// OpenStdin looks at the start of standard input, and keeps it.
func OpenStdin(stdin io.Reader, packed string, opt Options, samples *textfile.Samples) (*File, error) {
	c := &File{opt: opt}
	c.Format, c.RowLimit = c, opt.RowLimit
	if err := c.File.OpenStdin(stdin, packed, samples, c.examiner(samples.Memory)); err != nil {
		return nil, err
	}
	c.sample.settle()
	return c, nil
}

// examiner returns examine, with the memory.
func (c *File) examiner(mem *reserve.Allocator) textfile.Examine {
	return func(buf []byte, whole bool) (bool, error) {
		mem.Hold(int64(len(buf))) // strings that may repeat
		defer mem.Drop(int64(len(buf)))
		if c.sample != nil {
			c.sample.drop()
		}
		c.sample = c.newSample(mem)
		return c.examine(buf, whole)
	}
}

// examine looks at the first rows of a text. The sample is new.
func (c *File) examine(buf []byte, whole bool) (enough bool, err error) {
	at, array, ok, err := start(buf)
	if err != nil || !ok {
		c.Start = int64(at)
		return whole, err
	}
	c.Start, c.array = int64(at), array
	enough, err = c.sample.take(buf, at, array, whole)
	c.Whole = c.sample.many
	return enough, err
}

// lookFurther looks at the end of an array that is read by chunks, and at rows further on in the file:
// it takes back the guess that a column repeats where its values there do not.
func (c *File) lookFurther(f io.ReaderAt) error {
	if err := c.checkEnd(f); err != nil || c.Whole || !slices.Contains(c.sample.repeats(), true) {
		return err
	}
	further := c.newSample(c.sample.memory)
	defer further.drop()
	err := c.LookAt(f, func(buf []byte, p int) {
		_, _ = further.take(buf, p, c.array, false) // an error comes up again when the rows are read
	})
	repeats := further.repeats()
	for name, column := range further.columns {
		if !repeats[column] && further.guesses[column].values&hasString != 0 {
			c.sample.vary(name)
		}
	}
	return err
}

// checkEnd looks for the end of an array that is read by chunks.
func (c *File) checkEnd(f io.ReaderAt) error {
	if !c.array || c.Whole {
		return nil
	}
	buf := make([]byte, 4<<10)
	for end := c.Size(); end > c.Start; {
		n := min(end-c.Start, int64(len(buf)))
		end -= n
		if err := c.ReadRange(f, end, buf[:n]); err != nil {
			return err
		}
		if last := bytes.TrimRight(buf[:n], " \t\r\n"); len(last) > 0 {
			if last[len(last)-1] != ']' {
				break
			}
			return nil
		}
	}
	return errOpenArray
}

// SetTypes gives all JSON files the columns of all of them, each of the type that the options say,
// else the samples together. It returns what the samples say. Where the files are a part of a table,
// known is what the samples of the whole table say; else it is nil.
func SetTypes(files []*File, opt *Options, known []Guess) ([]Guess, error) {
	if len(files) == 0 {
		return nil, nil
	}
	names, joint := joinSamples(files, opt, known)
	if len(names) == 0 {
		if slices.ContainsFunc(files, func(f *File) bool { return f.sample.rows > 0 }) {
			return nil, decode.Locate(files[0].Path, errors.New("its objects have no keys, and so there are no columns"))
		}
		names = []string{emptyColumn}
		joint[emptyColumn] = new(columnGuess)
	}
	said := make([]Guess, len(names))
	for i, name := range names {
		said[i] = Guess{Name: name, Values: joint[name].values, Others: joint[name].others}
	}
	all, columns := make([]arrow.Field, len(names)), make(map[string]int32, len(names))
	formats := make([]fields.Format, len(names))
	for i, name := range names {
		typ, given := opt.Types[name]
		if !given {
			typ = joint[name].typ()
		}
		formats[i].Inferred = !given
		all[i] = arrow.Field{Name: name, Type: typ, Nullable: true}
		columns[name] = int32(i)
	}
	schema := arrow.NewSchema(all, nil)
	for _, f := range files {
		f.setColumns(schema, names, columns)
		f.Formats = formats
	}
	return said, nil
}

// Guess is what samples say of a column.
type Guess struct {
	Name   string    `json:"name"`
	Values valueSet  `json:"values"` // kinds of its values; like Others of no use to another version of this package
	Others formatSet `json:"others"` // types that some of its strings does not have
}

// joinSamples returns the columns of files, and what the samples of all files together, and what is
// known of the table, say of each.
func joinSamples(files []*File, opt *Options, known []Guess) (names []string, joint map[string]*columnGuess) {
	joint = make(map[string]*columnGuess)
	for _, g := range known {
		joint[g.Name] = &columnGuess{values: g.Values, others: g.Others}
		names = append(names, g.Name)
	}
	for _, f := range files {
		for i, name := range f.sample.names {
			if joint[name] == nil {
				joint[name] = new(columnGuess)
				names = append(names, name)
			}
			joint[name].join(&f.sample.guesses[i])
		}
	}
	for _, name := range append(slices.Sorted(maps.Keys(opt.Types)), opt.Names...) {
		if joint[name] == nil {
			joint[name] = new(columnGuess)
			names = append(names, name)
		}
	}
	if opt.Names != nil {
		names = opt.Names
	}
	return names, joint
}

// emptyColumn is the only column of files without rows, as in DuckDB.
const emptyColumn = "json"

// setColumns sets the columns of the file.
func (c *File) setColumns(schema *arrow.Schema, names []string, columns map[string]int32) {
	c.Fields, c.names, c.columns = schema, names, columns
	c.keys, c.Repeats = make([]writtenKey, len(names)), make([]bool, len(names))
	for i, name := range names {
		c.keys[i] = keyOf(name)
	}
	for i, name := range c.sample.names {
		column, wanted := columns[name]
		if !wanted {
			continue
		}
		c.keys[column] = newWrittenKey(c.sample.keys[i])
		c.Repeats[column] = c.sample.repeated[i] && arrow.IsBaseBinary(schema.Field(int(column)).Type.ID())
	}
	c.sample = nil
}

// NewSplitter implements textfile.Format.
func (c *File) NewSplitter(columns []int) textfile.Splitter { return newSplitter(c, columns) }

// SplitterBytes implements textfile.Format.
func (c *File) SplitterBytes(columns int) int64 { return splitterBytes(len(c.names), columns) }

// RowBytes implements textfile.Format: the braces.
func (c *File) RowBytes() int { return len("{}") }

// Columns implements textfile.Format: NULL is an empty field without quotes.
func (c *File) Columns() fields.Options {
	return fields.Options{Unescape: unescape, Nulls: []string{""}}
}

// ReadChunk implements textfile.Format. The rows of a chunk are the lines that start behind a newline
// in the chunk, and in the first chunk the first line.
func (c *File) ReadChunk(_ context.Context, f io.ReaderAt, chunk int, buf []byte) (first int, lines int64, err error) {
	from, _ := c.ChunkRange(chunk)
	if err := c.ReadRange(f, from, buf); err != nil || chunk == 0 {
		return 0, 0, err
	}
	if i := bytes.IndexByte(buf, '\n'); i >= 0 {
		return i + 1, 0, nil
	}
	return len(buf) + 1, 0, nil
}

// LongRow implements textfile.Format.
func (c *File) LongRow() error {
	return knob.Errorf(
		"an object is longer than %d bytes; is a brace or a quote left open? The limit can be up to %d (%s)",
		c.RowLimit, textfile.RowLimitMax, knob.Name("dataset.JSON.RowLimit"))
}
