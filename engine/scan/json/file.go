package json

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/engine/scan/internal/delivery"
	"github.com/mpga/mpga/engine/scan/internal/fields"
	"github.com/mpga/mpga/engine/scan/internal/reserve"
	"github.com/mpga/mpga/engine/scan/internal/textfile"
	"github.com/mpga/mpga/internal/knob"
	"github.com/mpga/mpga/internal/nested"
	"github.com/mpga/mpga/internal/vfs"
)

// File is a text whose first rows have been looked at.
type File struct {
	textfile.File
	array  bool // the rows are the elements of an array
	opt    Options
	sample *sample // nil behind SetTypes
	row    *object // what the keys of rows are
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

// Beginning describes what the start of the file says of all of its rows, but for types; "" of an array.
func (c *File) Beginning() string {
	if c.array {
		return ""
	}
	return strconv.FormatInt(c.Start, 10)
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
	if err := c.checkEnd(f); err != nil || c.Whole || !c.sample.columns.anyRepeats(c.sample.rows) {
		return err
	}
	further := c.newSample(c.sample.memory)
	defer further.drop()
	err := c.LookAt(f, func(buf []byte, p int) {
		_, _ = further.take(buf, p, c.array, false) // an error comes up again when the rows are read
	})
	c.sample.columns.vary(further.columns, further.rows)
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
	joint, err := joinSamples(files, opt, known)
	if err != nil {
		return nil, err
	}
	if len(joint.names) == 0 {
		if slices.ContainsFunc(files, func(f *File) bool { return f.sample.rows > 0 }) {
			return nil, decode.Locate(files[0].Path, errors.New("its objects have no keys, and so there are no columns"))
		}
		joint.add(emptyColumn, "")
	}
	all := make([]arrow.Field, len(joint.names))
	for i, name := range joint.names {
		all[i] = arrow.Field{Name: name, Type: joint.guesses[i].typ(), Nullable: true}
	}
	flat := delivery.Flatten(arrow.NewSchema(all, nil))
	formats, why := make([]fields.Format, len(flat.Paths)), make(map[string]error)
	for i, path := range flat.Paths {
		g, inferred := joint.at(path)
		formats[i].Inferred = inferred
		if reason := g.whyText(); reason != "" {
			why[flat.Schema.Field(i).Name] = textError(flat.Schema.Field(i).Name, reason)
		}
	}
	for _, f := range files {
		f.setColumns(flat, all, joint)
		f.Formats, f.Texts = formats, why
	}
	return joint.said(), nil
}

// at returns the guess at a path, and whether no option gives it or what it is in its type.
func (m *members) at(path []int) (g *columnGuess, inferred bool) {
	g = &columnGuess{}
	for _, i := range path {
		if m == nil || g.given != nil {
			return &columnGuess{}, false
		}
		g = &m.guesses[i]
		m = g.members
	}
	return g, g.given == nil
}

// joinSamples returns what the samples of all files together, what is known of the table, and the options say of the
// columns. The error is of a column and a member of it that both are given a type.
func joinSamples(files []*File, opt *Options, known []Guess) (*members, error) {
	joint := membersOf(known)
	for _, f := range files {
		joint.join(f.sample.columns)
	}
	for _, name := range opt.Names {
		if joint.find(name) == nil {
			joint.add(name, "")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(opt.Types)) {
		g := joint.atPath(name)
		if g == nil {
			return nil, knob.Errorf("%s has %q, and what it is in has a type, too: one of them says it", types, name)
		}
		g.given = opt.Types[name]
	}
	if opt.Names == nil {
		return joint, nil
	}
	wanted := newMembers()
	for _, name := range opt.Names {
		*wanted.add(name, "") = *joint.find(name)
	}
	return wanted, nil
}

// emptyColumn is the only column of files without rows, as in DuckDB.
const emptyColumn = "json"

// setColumns gives the file the columns of flat: all members of rows, and of structs in them.
func (c *File) setColumns(flat *delivery.Flat, all []arrow.Field, joint *members) {
	c.Fields, c.Repeats = flat.Schema, make([]bool, flat.Schema.NumFields())
	c.row = newObject(all, joint, c.sample.columns, "", c.opt.Names != nil)
	for column, path := range flat.Paths {
		c.row.place(path, int32(column))
		of, g := c.sample.columns, (*columnGuess)(nil)
		for _, name := range c.row.namesAt(path) {
			if g = of.find(name); g == nil {
				break
			}
			of = g.members
		}
		typ := flat.Schema.Field(column).Type
		_, isNested := typ.(*nested.Type)
		c.Repeats[column] = g != nil && g.repeats && arrow.IsBaseBinary(typ.ID()) && !isNested
	}
	c.sample = nil
}

// NewSplitter implements textfile.Format.
func (c *File) NewSplitter(columns []int) textfile.Splitter { return newSplitter(c, columns) }

// SplitterBytes implements textfile.Format.
func (c *File) SplitterBytes(columns int) int64 { return splitterBytes(c.Fields.NumFields(), columns) }

// RowBytes implements textfile.Format: the braces.
func (c *File) RowBytes() int { return len("{}") }

// Columns implements textfile.Format: NULL is an empty field without quotes.
func (c *File) Columns() fields.Options {
	return fields.Options{Unescape: unescape, Nulls: []string{""}, Nested: newNestedReader}
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
