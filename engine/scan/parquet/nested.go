package parquet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	mathbits "math/bits"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/engine/scan/internal/delivery"
	"github.com/mpga/mpga/engine/scan/internal/reserve"
	"github.com/mpga/mpga/engine/scan/internal/rowset"
	"github.com/mpga/mpga/internal/nested"
)

// nestedNode is a part of a nested column: a leaf, a struct, a list, or a map, which is a list of structs.
type nestedNode struct {
	layout *nested.Layout
	def    int // definition level from which on there is a value, or, of a list, an element
	rep    int // repetition level of a further element of a list
	parts  []*nestedNode
	first  int // the first of the leaves of the column that are the node's
	leaves int // of the node

	typ arrow.DataType // of the values of a leaf
}

// nestedTree is a nested column: its root, and the Parquet columns and levels of its leaves.
type nestedTree struct {
	root   *nestedNode
	leaves []nestedLeafAt
}

// nestedLeafAt says where a leaf of a nested column is.
type nestedLeafAt struct {
	leaf int // index of the Parquet column
	slot int // definition level from which on there is a value, which may be NULL
	typ  arrow.DataType
}

// newNestedTree returns the tree of a column of a nested type, by what the field says of the file.
func newNestedTree(f *pqarrow.SchemaField, dt arrow.DataType, l *nested.Layout) *nestedTree {
	t := &nestedTree{}
	t.root = t.add(f, dt, l)
	return t
}

func (t *nestedTree) add(f *pqarrow.SchemaField, dt arrow.DataType, l *nested.Layout) *nestedNode {
	n := &nestedNode{layout: l, def: int(f.LevelInfo.DefLevel), rep: int(f.LevelInfo.RepLevel), first: len(t.leaves)}
	var types []arrow.DataType
	switch dt := dt.(type) {
	case *arrow.MapType:
		types = []arrow.DataType{dt.Elem()}
	case arrow.ListLikeType:
		types = []arrow.DataType{dt.Elem()}
	case *arrow.StructType:
		for _, of := range dt.Fields() {
			types = append(types, of.Type)
		}
	default:
		n.typ = delivery.Type(dt)
		t.leaves = append(t.leaves, nestedLeafAt{f.ColIndex, int(f.LevelInfo.RepeatedAncestorDefLevel), n.typ})
	}
	for i := range types {
		n.parts = append(n.parts, t.add(&f.Children[i], types[i], l.Parts[i]))
	}
	n.leaves = len(t.leaves) - n.first
	return n
}

// isWhole says whether a tree has leaves, and each is a column of the file: a corrupt schema may have none.
func (t *nestedTree) isWhole() bool {
	for _, l := range t.leaves {
		if l.leaf < 0 {
			return false
		}
	}
	return len(t.leaves) > 0
}

// nestedColumn reads the chunks of a nested column side by side. Repetition and definition levels say where rows and
// lists begin, and what is NULL; each value is written where the levels of its leaf have it.
type nestedColumn struct {
	tree    *nestedTree
	leaves  []*nestedLeaf
	builder *nested.Builder
	skipped int64 // rows to pass over before the next
}

func newNestedColumn(
	file io.ReaderAt, part *groupPart, c *partColumn, window int, mem *reserve.Allocator,
) *nestedColumn {
	n := &nestedColumn{tree: c.tree}
	typ := part.file.flat.Schema.Field(c.field).Type.(*nested.Type)
	n.builder = nested.NewBuilder(mem, typ, 0)
	for i, at := range c.tree.leaves {
		n.leaves = append(n.leaves, newNestedLeaf(file, part, at, c.tree.layoutOf(i), window, mem))
	}
	return n
}

// layoutOf returns the layout of a leaf's values.
func (t *nestedTree) layoutOf(leaf int) *nested.Layout {
	n := t.root
	for n.typ == nil {
		for _, p := range n.parts {
			if leaf >= p.first && leaf < p.first+p.leaves {
				n = p
				break
			}
		}
	}
	return n.layout
}

// skip implements chunkReader.
func (c *nestedColumn) skip(rows, _ int64) { c.skipped += rows }

// read implements chunkReader.
func (c *nestedColumn) read(_ context.Context, rows int64, _ *rowset.Set) (arrow.Array, error) {
	for ; c.skipped > 0; c.skipped-- {
		if err := c.pass(c.tree.root); err != nil {
			return nil, err
		}
	}
	for range rows {
		ok, err := c.value(c.tree.root)
		switch {
		case err != nil:
			return nil, err
		case ok:
			c.builder.Add()
		default:
			c.builder.AddNull()
		}
		if len(c.builder.Bytes) > math.MaxInt32 {
			return nil, fmt.Errorf("%d rows of nested values of more than %d B", rows, math.MaxInt32)
		}
	}
	return c.builder.Array()
}

// pass takes a row, or an element of a list, of the leaves of a node, and all that is in it.
func (c *nestedColumn) pass(n *nestedNode) error {
	before := len(c.builder.Bytes)
	_, err := c.value(n)
	c.builder.Bytes = c.builder.Bytes[:before]
	return err
}

// part writes a value with its mark.
func (c *nestedColumn) part(n *nestedNode) error {
	at := len(c.builder.Bytes)
	c.builder.Bytes = append(c.builder.Bytes, nested.Some)
	ok, err := c.value(n)
	if !ok {
		c.builder.Bytes = append(c.builder.Bytes[:at], nested.None)
	}
	return err
}

// value writes a value, and returns false in place of NULL.
func (c *nestedColumn) value(n *nestedNode) (ok bool, err error) {
	first := c.leaves[n.first]
	def, err := first.level()
	if err != nil {
		return false, err
	}
	if n.typ != nil {
		if def >= n.def {
			switch { // whole numbers without a call
			case first.shorts != nil:
				c.builder.Bytes = nested.AppendNumber(c.builder.Bytes, int64(first.shorts[first.element]))
			case first.longs != nil:
				c.builder.Bytes = nested.AppendNumber(c.builder.Bytes, first.longs[first.element])
			default:
				c.builder.Bytes = first.write(c.builder.Bytes, first.element)
			}
		}
		first.next(def)
		return def >= n.def, nil
	}
	if n.layout.Form == nested.Struct {
		if def < n.def {
			return false, c.nextLevels(n)
		}
		for _, p := range n.parts {
			if err := c.part(p); err != nil {
				return false, err
			}
		}
		return true, nil
	}
	if def < n.def {
		c.builder.Bytes = append(c.builder.Bytes, nested.End)
		return def == n.def-1, c.nextLevels(n)
	}
	for {
		if err := c.part(n.parts[0]); err != nil {
			return false, err
		}
		if more, err := first.repeats(n.rep); err != nil || !more {
			c.builder.Bytes = append(c.builder.Bytes, nested.End)
			return true, err
		}
	}
}

// nextLevels passes over a level of each leaf of a node.
func (c *nestedColumn) nextLevels(n *nestedNode) error {
	for _, l := range c.leaves[n.first : n.first+n.leaves] {
		def, err := l.level()
		if err != nil {
			return err
		}
		l.next(def)
	}
	return nil
}

func (c *nestedColumn) close() (err error) {
	for _, l := range c.leaves {
		err = errors.Join(err, l.close())
	}
	return err
}

// nestedLeaf reads the levels of a chunk, and its values page by page.
type nestedLeaf struct {
	pages  *chunkPages
	flat   *flatColumn // of the values; its pages are set by setPage
	layout *nested.Layout
	slot   int // definition level from which on there is a value, which may be NULL
	most   int // definition level of a value
	reps   int // the highest repetition level

	buffer   *memory.Buffer // of the levels and of the validity of a page's values
	rep, def []byte         // of the current page, from the level on that comes next
	values   arrow.Array    // of the current page; nil where it has none
	element  int            // of values, that comes next
	write    nested.Writer  // of values
	shorts   []int32        // values, where they are of this type
	longs    []int64        // the same
	ended    bool
	mem      memory.Allocator
}

func newNestedLeaf(
	file io.ReaderAt, part *groupPart, at nestedLeafAt, layout *nested.Layout, window int, mem *reserve.Allocator,
) *nestedLeaf {
	chunk, leaf := &part.file.groups[part.group].chunks[at.leaf], part.file.meta.Schema.Column(at.leaf)
	start := chunk.start()
	l := &nestedLeaf{mem: mem, layout: layout, slot: at.slot, most: int(leaf.MaxDefinitionLevel()),
		reps: int(leaf.MaxRepetitionLevel())}
	l.pages = newChunkPages(file, start, start+chunk.bytes, chunk.codec, chunk.unpacked, window, mem)
	l.pages.packed = part.file.packsAll()
	l.flat = &flatColumn{pages: l.pages, values: valuesOf(at.typ, leaf, mem), levelMax: 1, mem: mem, rows: math.MaxInt64}
	if views, ok := l.flat.values.(*viewValues); ok {
		views.pages = l.pages
	}
	return l
}

// level returns the definition level that comes next.
func (l *nestedLeaf) level() (def int, err error) {
	for len(l.def) == 0 {
		if l.ended {
			return 0, decode.Corrupt(errFewRows)
		}
		if err := l.nextPage(); err != nil {
			return 0, err
		}
	}
	return int(l.def[0]), nil
}

// repeats says whether the next level is of a further element of a list.
func (l *nestedLeaf) repeats(rep int) (bool, error) {
	for len(l.def) == 0 && !l.ended {
		if err := l.nextPage(); err != nil {
			return false, err
		}
	}
	return len(l.def) > 0 && int(l.rep[0]) >= rep, nil
}

// next passes over a level, which is def.
func (l *nestedLeaf) next(def int) {
	l.rep, l.def = l.rep[1:], l.def[1:]
	if def >= l.slot {
		l.element++
	}
}

// nextPage reads a page, or notes that there is none.
func (l *nestedLeaf) nextPage() error {
	next, err := l.pages.next()
	switch {
	case errors.Is(err, io.EOF):
		l.ended = true
		return nil
	case err != nil:
		return decode.Corrupt(err)
	case next.kind == pageDictionary:
		return decode.Corrupt(l.flat.setPage(next))
	}
	return decode.Corrupt(l.setPage(next))
}

// setPage begins a data page: it reads its levels and its values.
func (l *nestedLeaf) setPage(p page) (err error) {
	repetition, definition, data := p.repetition, p.levels, p.data
	if p.kind == pageV1 {
		if l.reps > 0 {
			if repetition, data, err = splitLevels(page{levelEncoding: p.levelEncoding, data: data}); err != nil {
				return err
			}
		}
		if l.most > 0 {
			if definition, data, err = splitLevels(page{levelEncoding: p.levelEncoding, data: data}); err != nil {
				return err
			}
		}
	}
	if l.buffer == nil {
		l.buffer = memory.NewResizableBuffer(l.mem)
	}
	l.buffer.Resize(2*p.values + p.values/8 + 1)
	all := l.buffer.Bytes()
	l.rep, l.def = all[:p.values], all[p.values:2*p.values]
	validity := all[2*p.values:]
	if err := levelBytes(l.rep, newRuns(repetition, mathbits.Len(uint(l.reps))), l.reps); err != nil {
		return fmt.Errorf("repetition levels of a page: %w", err)
	}
	if err := levelBytes(l.def, newRuns(definition, mathbits.Len(uint(l.most))), l.most); err != nil {
		return fmt.Errorf("definition levels of a page: %w", err)
	}
	clear(validity)
	elements := 0
	for _, d := range l.def {
		if int(d) >= l.slot {
			if int(d) == l.most {
				bitutil.SetBit(validity, elements)
			}
			elements++
		}
	}
	l.dropValues()
	if elements == 0 {
		return nil
	}
	l.flat.pagesRead++
	l.flat.left = elements
	l.flat.levels = levels{most: 1, runs: runs{width: 1, packed: validity, left: elements}}
	if err := l.flat.values.page(p.encoding, data); err != nil {
		return err
	}
	if l.values, err = l.flat.readRows(elements, nil); err != nil {
		return err
	}
	switch values := l.values.(type) {
	case *array.Int32:
		l.shorts = values.Int32Values()
	case *array.Int64:
		l.longs = values.Int64Values()
	}
	l.write, err = nested.NewWriter(l.values, l.layout)
	return err
}

// levelBytes writes levels, none of which is above most.
func levelBytes(out []byte, from runs, most int) error {
	var codes [512]uint32
	for len(out) > 0 {
		n := min(len(codes), len(out))
		if err := from.codes(codes[:n], most+1); err != nil {
			return err
		}
		for i, c := range codes[:n] {
			out[i] = byte(c)
		}
		out = out[n:]
	}
	return nil
}

func (l *nestedLeaf) dropValues() {
	if l.values != nil {
		l.values.Release()
		l.values = nil
	}
	l.element, l.shorts, l.longs = 0, nil, nil
}

func (l *nestedLeaf) close() error {
	l.dropValues()
	releaseBuffers(&l.buffer)
	return l.flat.close()
}
