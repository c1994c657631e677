package parquet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	mathbits "math/bits"
	"sort"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/engine/scan/internal/delivery"
	"github.com/mpga/mpga/engine/scan/internal/reserve"
	"github.com/mpga/mpga/engine/scan/internal/rowset"
	"github.com/mpga/mpga/internal/recordreader"
)

// listElement says where the elements of a list are.
type listElement struct {
	leaf int // index of the Parquet column; -1 where the column is no list of values that are read
	slot int // definition level from which on there is an element, which may be NULL
}

// listColumn reads one chunk of a list column. Repetition levels say where rows begin, definition
// levels which of them have elements; a flatColumn reads the elements of a page, as if each was a
// row.
type listColumn struct {
	pages *chunkPages
	flat  *flatColumn // of the elements; its pages are set by setPage
	mem   memory.Allocator
	of    listElement
	most  int // definition level of a value

	buffer *memory.Buffer // of marks, and of the validity of the page's elements; nil before the first page
	marks  []byte         // of the current page, by level, from the level on that comes next
	ended  bool           // there are no more pages

	nulls   []int // rows of the batch whose list is NULL
	row     int64 // index in the chunk of the row that comes next
	skipped int64 // rows to pass over before that
}

// The marks of a level.
const (
	markRow     = 1 // a row begins
	markElement = 2 // an element is there
	markNull    = 4 // the list is NULL
)

func newListColumn(
	file io.ReaderAt, part *groupPart, c *partColumn, element arrow.DataType, window int, mem *reserve.Allocator,
) *listColumn {
	chunk, leaf := part.chunk(c), part.file.meta.Schema.Column(c.leaf)
	start := chunk.start()
	l := &listColumn{mem: mem, of: part.file.elements[c.field], most: int(leaf.MaxDefinitionLevel())}
	l.pages = newChunkPages(file, start, start+chunk.bytes, chunk.codec, chunk.unpacked, window, mem)
	l.pages.packed = part.file.packsAll()
	l.flat = &flatColumn{pages: l.pages, values: valuesOf(element, leaf, mem), levelMax: 1, mem: mem, rows: math.MaxInt64}
	if views, ok := l.flat.values.(*viewValues); ok {
		views.pages = l.pages
	}
	return l
}

// skip implements chunkReader.
func (c *listColumn) skip(rows, _ int64) { c.skipped += rows }

// read implements chunkReader.
func (c *listColumn) read(_ context.Context, rows int64, _ *rowset.Set) (arrow.Array, error) {
	const passedAtOnce = 1 << 12
	for c.skipped > 0 {
		n := min(c.skipped, passedAtOnce)
		passed, err := c.take(int(n))
		if err != nil {
			return nil, err
		}
		passed.Release()
		c.skipped -= n
	}
	return c.take(int(rows))
}

// take returns the lists of the next rows.
func (c *listColumn) take(rows int) (arrow.Array, error) {
	ends := delivery.NewBuffer(c.mem, arrow.Int32Traits.BytesRequired(rows+1))
	defer ends.Release()
	offsets := arrow.Int32Traits.CastFromBytes(ends.Bytes())
	var parts []arrow.Array // of elements, by page
	defer func() { recordreader.ReleaseAll(parts) }()
	begun, elements := 0, 0
	c.nulls = c.nulls[:0]
	for {
		begin := elements
		begun, elements = c.walk(offsets[:rows], begun, elements)
		switch {
		case elements > math.MaxInt32:
			return nil, fmt.Errorf("%d rows whose lists have more than %d elements", rows, math.MaxInt32)
		case elements > begin:
			part, err := c.flat.readRows(elements-begin, nil)
			if err != nil {
				return nil, c.ofRow(err, offsets[:begun])
			}
			parts = append(parts, part)
		}
		if len(c.marks) > 0 || c.ended {
			break
		}
		if err := c.nextPage(begun > 0); err != nil {
			return nil, decode.Corrupt(err)
		}
	}
	if begun < rows {
		return nil, decode.Corrupt(errFewRows)
	}
	offsets[rows] = int32(elements)
	c.row += int64(rows)
	values, err := c.together(parts)
	if err != nil {
		return nil, err
	}
	defer values.Release()
	validity := c.validity(rows)
	if validity != nil {
		defer validity.Release()
	}
	data := array.NewData(arrow.ListOf(values.DataType()), rows, []*memory.Buffer{validity, ends},
		[]arrow.ArrayData{values.Data()}, len(c.nulls), 0)
	defer data.Release()
	return array.NewListData(data), nil
}

// validity returns the bits of the lists that are not NULL; nil where all are not.
func (c *listColumn) validity(rows int) *memory.Buffer {
	if len(c.nulls) == 0 {
		return nil
	}
	validity := delivery.NewBuffer(c.mem, (rows+7)/8)
	memory.Set(validity.Bytes(), 0xFF)
	for _, row := range c.nulls {
		bitutil.ClearBit(validity.Bytes(), row)
	}
	return validity
}

// walk takes levels of the page, up to the first of a row beyond the last of offsets, and writes
// where the elements of each row begin. It returns how many rows have begun, and how many elements
// they have so far.
func (c *listColumn) walk(offsets []int32, begun, elements int) (int, int) {
	for i, mark := range c.marks {
		if mark&markRow != 0 {
			if begun == len(offsets) {
				c.marks = c.marks[i:]
				return begun, elements
			}
			offsets[begun] = int32(elements)
			if mark&markNull != 0 {
				c.nulls = append(c.nulls, begun)
			}
			begun++
		}
		elements += int(mark / markElement % 2)
	}
	c.marks = nil
	return begun, elements
}

// together returns one array of the elements of pages.
func (c *listColumn) together(parts []arrow.Array) (arrow.Array, error) {
	switch len(parts) {
	case 0:
		c.flat.values.begin(0, nil)
		return c.flat.values.finish(nil, 0), nil
	case 1:
		parts[0].Retain()
		return parts[0], nil
	}
	return array.Concatenate(parts, c.mem)
}

// ofRow gives an error of an element the row of its list.
func (c *listColumn) ofRow(err error, offsets []int32) error {
	if text := (*decode.TextError)(nil); errors.As(err, &text) {
		element := text.Row - c.flat.row
		row := sort.Search(len(offsets), func(i int) bool { return int64(offsets[i]) > element })
		text.Row = c.row + int64(max(row-1, 0))
	}
	return err
}

// nextPage reads a data page, or notes that there is none. within says that the page may begin
// within a row.
func (c *listColumn) nextPage(within bool) error {
	next, err := c.pages.next()
	switch {
	case errors.Is(err, io.EOF):
		c.ended = true
		return nil
	case err != nil:
		return err
	case next.kind == pageDictionary:
		return c.flat.setPage(next)
	}
	if err := c.setPage(next); err != nil {
		return err
	}
	if !within && len(c.marks) > 0 && c.marks[0]&markRow == 0 {
		return errors.New("a column chunk that begins within a row")
	}
	return nil
}

// setPage begins a data page.
func (c *listColumn) setPage(p page) (err error) {
	repetition, definition, data := p.repetition, p.levels, p.data
	if p.kind == pageV1 {
		if repetition, data, err = splitLevels(page{levelEncoding: p.levelEncoding, data: p.data}); err != nil {
			return err
		}
		if definition, data, err = splitLevels(page{levelEncoding: p.levelEncoding, data: data}); err != nil {
			return err
		}
	}
	if c.buffer == nil {
		c.buffer = memory.NewResizableBuffer(c.mem)
	}
	c.buffer.Resize(p.values + p.values/8 + 1)
	marks, validity := c.buffer.Bytes()[:p.values], c.buffer.Bytes()[p.values:]
	elements, err := c.mark(marks, validity, newRuns(repetition, 1), newRuns(definition, mathbits.Len(uint(c.most))))
	if err != nil {
		return fmt.Errorf("levels of a page: %w", err)
	}
	c.marks = marks
	if elements == 0 {
		return nil
	}
	c.flat.pagesRead++
	c.flat.left = elements
	c.flat.levels = levels{most: 1, runs: runs{width: 1, packed: validity, left: elements}}
	return c.flat.values.page(p.encoding, data)
}

// mark writes the marks of levels, and a bit for each element, 1 for a value and 0 for NULL. It
// returns the number of elements.
func (c *listColumn) mark(marks, validity []byte, repetition, definition runs) (elements int, err error) {
	clear(validity)
	var begins, depths [512]uint32
	for at := 0; at < len(marks); at += len(begins) {
		n := min(len(begins), len(marks)-at)
		if err := repetition.codes(begins[:n], 2); err != nil {
			return 0, err
		}
		if err := definition.codes(depths[:n], c.most+1); err != nil {
			return 0, err
		}
		for i, level := range depths[:n] {
			mark := byte(markRow - begins[i])
			if int(level) < c.of.slot-1 {
				mark |= markNull
			}
			if int(level) >= c.of.slot {
				mark |= markElement
				if int(level) == c.most {
					bitutil.SetBit(validity, elements)
				}
				elements++
			}
			marks[at+i] = mark
		}
	}
	return elements, nil
}

func (c *listColumn) close() error {
	releaseBuffers(&c.buffer)
	return c.flat.close()
}
