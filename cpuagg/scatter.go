package cpuagg

import (
	"fmt"
	"unsafe"

	"github.com/mpga/mpga/internal/invariants"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/partition"
)

// Content says what the pages of a partition hold.
type Content uint8

// The contents of pages.
const (
	Rows   Content = iota // keys and arguments
	States                // keys and accumulator states
)

// Store keeps the pages of partitions until they are processed. It is safe for concurrent use.
type Store interface {
	// NewPass returns the partitions of a scatter.
	NewPass(radix partition.Radix) Pass

	// NewSpool returns an empty spool of rows with a layout.
	NewSpool(layout *rowdata.RowLayout) Spool

	// Reclaim frees this many bytes of memory, or as many as waiting pages take.
	Reclaim(bytes int64) error
}

// Pass is the partitions of one scatter. It is safe for concurrent use.
type Pass interface {
	// Put takes over all pages, also where it returns an error. It keeps nothing of the slice.
	Put(content Content, pages []PartitionPage) error

	// Sizes returns the number of rows and states that have been put into each partition.
	Sizes() []int64

	// Take hands over the pages of a partition, which has no pages of that content afterwards.
	Take(partition int, content Content) Pages
}

// PartitionPage is a page, and the partition that its rows are of.
type PartitionPage struct {
	Partition int
	Page      *rowdata.Page
}

// Pages is a sequence of pages. One goroutine at a time uses it.
type Pages interface {
	// Next hands over the next page; at the end it returns io.EOF.
	Next() (*rowdata.Page, error)

	// Close drops the pages that Next has not handed over.
	Close()
}

// Spool is a sequence of pages on disk, written once and read as often as needed. One goroutine at
// a time uses it. It is an interface, like Store, since internal/store, which has the files,
// imports this package.
type Spool interface {
	// Put writes a page, which it takes over.
	Put(page *rowdata.Page) error

	// End ends the writing.
	End() error

	// Pages reads the pages in the order in which they were put.
	Pages() Pages

	// Discard gives the space on disk back. Nothing may read the spool any more.
	Discard()
}

// Pages of a partition double in size, so that many small partitions take little memory and
// large ones are written in large pieces.
const (
	pageBytesMin = 4 << 10
	pageBytesMax = 128 << 10
)

// scatterer writes rows, or states, to the open pages of the partitions of a pass.
type scatterer struct {
	content Content
	layout  *rowdata.RowLayout
	pass    *pass
	memory  rowdata.Memory
	open    []*rowdata.Page // by partition; nil where it has no open page
	next    []cursor        // by partition: where its next row goes
	refers  bool            // rows may refer to their page's heap
	rows    int64           // placed
	handed  int64           // rows in pages that the pass has
	lines   []line          // by partition; nil before scatterPairs needs them

	// Of the rows being scattered:
	at    []rowAddress    // by row: where it is written
	pages []*rowdata.Page // by row: the page it lies in, where rows refer to the page's heap
	full  []PartitionPage // to hand over once the rows are written
}

// rowAddress is the address of a row in a page that is open or full. As a number it needs no write
// barrier; open and full keep the page.
type rowAddress uintptr

// part returns the words at an offset of the row.
func (a *rowAddress) part(offset int) unsafe.Pointer {
	return unsafe.Add(*(*unsafe.Pointer)(unsafe.Pointer(a)), 8*offset)
}

// cursor is where the next row of a partition goes, and where its page ends. Beside each other the
// cursors of 2^11 partitions fit an L1 cache; the pages' own fields do not.
type cursor struct{ at, end rowAddress }

func newScatterer(m rowdata.Memory, content Content, layout *rowdata.RowLayout, p *pass) *scatterer {
	return &scatterer{
		content: content,
		layout:  layout,
		pass:    p,
		memory:  m,
		open:    make([]*rowdata.Page, p.radix.FanOut()),
		next:    make([]cursor, p.radix.FanOut()),
		at:      make([]rowAddress, rowdata.TileRows),
		pages:   make([]*rowdata.Page, rowdata.TileRows),
		refers:  layout.Refers(),
	}
}

// place finds room for rows with these hashes, at most rowdata.TileRows, and notes it in s.at. The
// caller then writes the parts with put, and calls seal. refers says that some rows refer to bytes
// outside them, which the rows' pages are to keep.
func (s *scatterer) place(hashes []uint64, refers bool) {
	radix, rowBytes := s.pass.radix, rowAddress(8*s.layout.Stride)
	at, next := s.at[:len(hashes)], s.next
	for i, h := range hashes {
		p := radix.Of(h)
		c := &next[p]
		if c.at == c.end || refers && s.open[p].Heap.Bytes() > int64(s.pass.pageBytes) {
			s.turn(p)
		}
		at[i] = c.at
		c.at += rowBytes
		if refers {
			s.pages[i] = s.open[p]
		}
	}
	s.rows += int64(len(hashes))
}

// turn opens the next page of a partition.
func (s *scatterer) turn(p int) {
	bytes := pageBytesMin
	if page := s.take(p); page != nil {
		bytes = min(16*len(page.Words), s.pass.pageBytes)
		s.full = append(s.full, PartitionPage{p, page})
	}
	stride := s.layout.Stride
	page := rowdata.NewPage(s.memory, max(bytes/(8*stride), 1)*stride)
	first := rowAddress(unsafe.Pointer(unsafe.SliceData(page.Words)))
	s.checkLines(first)
	s.open[p], s.next[p] = page, cursor{first, first + rowAddress(8*len(page.Words))}
}

// take returns the open page of a partition, or nil. The partition has no open page afterwards.
func (s *scatterer) take(p int) *rowdata.Page {
	page := s.open[p]
	if page != nil {
		s.settleLine(p)
		left := int(s.next[p].end-s.next[p].at) / 8
		page.Rows = (len(page.Words) - left) / s.layout.Stride
		s.open[p], s.next[p] = nil, cursor{}
	}
	return page
}

// seal hands over the pages that the placed rows have filled, all at once: workers wait for each
// other in the store.
func (s *scatterer) seal() error {
	if len(s.full) == 0 {
		return nil
	}
	for _, f := range s.full {
		s.handed += int64(f.Page.Rows)
		if invariants.Enabled && s.refers {
			err := f.Page.CheckReferences(s.layout)
			invariants.Checkf(err == nil, "A3: partition %d: %v", f.Partition, err)
		}
	}
	err := s.pass.parts.Put(s.content, s.full)
	clear(s.full)
	s.full = s.full[:0]
	return err
}

// put writes one part of the placed rows: words values a row, from values, at an offset.
func (s *scatterer) put(n, offset, words int, values []uint64) {
	if 0 < words && words <= len(putFixed) {
		putFixed[words-1](s.at[:n], offset, values)
		return
	}
	for i := range s.at[:n] {
		row := unsafe.Slice((*uint64)(s.at[i].part(offset)), words)
		copy(row, values[i*words:])
	}
}

// putFixed is putWords, by width.
var putFixed = [...]func(at []rowAddress, offset int, values []uint64){
	putWords[[1]uint64], putWords[[2]uint64], putWords[[3]uint64],
	putWords[[4]uint64], putWords[[5]uint64], putWords[[6]uint64],
}

// wordArray is values of the widths for which loops are compiled.
type wordArray interface {
	[1]uint64 | [2]uint64 | [3]uint64 | [4]uint64 | [5]uint64 | [6]uint64
}

// putWords is put for values of a width that the compiler knows, which spares a call for each.
func putWords[V wordArray](at []rowAddress, offset int, values []uint64) {
	from := rowdata.View[V](values)[:len(at)]
	for i := range at {
		*(*V)(at[i].part(offset)) = from[i]
	}
}

// keepLongs lets the strings at an offset of the placed rows lie in the rows' pages.
func (s *scatterer) keepLongs(n, offset int) {
	for i := range s.at[:n] {
		if v := (*rowdata.Bytes2)(s.at[i].part(offset)); v.Long() {
			s.pages[i].Heap.Keep(v)
		}
	}
}

// close hands the open pages to the store. A nil scatterer has no pages.
func (s *scatterer) close() error {
	if s == nil {
		return nil
	}
	for p := range s.open {
		if page := s.take(p); page != nil {
			s.full = append(s.full, PartitionPage{p, page})
		}
	}
	if err := s.seal(); err != nil {
		return err
	}
	if invariants.Enabled {
		invariants.Checkf(s.handed == s.rows, "A1: %d rows were placed, %d are in pages", s.rows, s.handed)
	}
	return nil
}

// scatterTile scatters the rows of a tile.
func (s *scatterer) scatterTile(b *rowdata.Bound, t *rowdata.Tile, hashes []uint64) error {
	if scattersPairs(b, s.layout) {
		s.scatterPairs(t.Keys, t.Args[0], hashes)
		return s.seal()
	}
	refers := s.refers && tileRefers(b, t)
	s.place(hashes, refers)
	n := t.Rows
	s.put(n, 0, b.Keys.Words, t.Keys)
	for a := range b.Args {
		if s.layout.Natural[a] < 0 {
			s.put(n, s.layout.Parts[a], b.Args[a].Words, t.Args[a])
		}
	}
	if refers {
		s.keepTile(b, n)
	}
	s.putValid(t)
	return s.seal()
}

// tileRefers reports whether some row of a tile refers to bytes outside it. Where all strings are
// short, pages need not be known by row.
func tileRefers(b *rowdata.Bound, t *rowdata.Tile) bool {
	for a := range b.Args {
		if argRefers(b, &b.Args[a]) && anyLongAt(t.Args[a], 0, 2) {
			return true
		}
	}
	return anyLong(&b.Keys, t.Keys)
}

// keepTile lets all strings of the n placed rows of a tile lie in the rows' pages.
func (s *scatterer) keepTile(b *rowdata.Bound, n int) {
	for _, w := range b.Keys.Longs {
		s.keepLongs(n, w)
	}
	for a := range b.Args {
		if s.layout.Natural[a] < 0 && argRefers(b, &b.Args[a]) {
			s.keepLongs(n, s.layout.Parts[a])
		}
	}
}

// putValid writes the validity bits of the placed rows.
func (s *scatterer) putValid(t *rowdata.Tile) {
	for first := 0; first < len(s.layout.ValidCols); first += 64 {
		cols := s.layout.ValidCols[first:min(first+64, len(s.layout.ValidCols))]
		offset := s.layout.Valid + first/64
		for i := range s.at[:t.Rows] {
			*(*uint64)(s.at[i].part(offset)) = 1<<len(cols) - 1
		}
		for bit, c := range cols {
			for i, ok := range t.Valid[c] {
				*(*uint64)(s.at[i].part(offset)) ^= uint64(ok^1) << bit
			}
		}
	}
}

// scatterStates scatters all groups of a table.
func (s *scatterer) scatterStates(t *table, st *states) error {
	width := t.layout.Words
	for from := 0; from < t.groups; from += rowdata.TileRows {
		to := min(from+rowdata.TileRows, t.groups)
		keys, states := t.keys[from*width:to*width], st.slice(from, to)
		if st.heap.Bytes() > stateBytesMax {
			if err := s.scatterParts(st.bound, keys, to-from, states); err != nil {
				return err
			}
		}
		if err := s.scatterGroups(st.bound, keys, to-from, states); err != nil {
			return err
		}
	}
	return nil
}

// scatterGroups scatters n groups, at most rowdata.TileRows: their keys, and their states by fold.
func (s *scatterer) scatterGroups(b *rowdata.Bound, keys []uint64, n int, states [][]uint64) error {
	var hashes [rowdata.TileRows]uint64
	s.pass.hash(&b.Keys, keys, hashes[:n])
	s.place(hashes[:n], s.refers)
	s.put(n, 0, b.Keys.Words, keys)
	for _, w := range b.Keys.Longs {
		s.keepLongs(n, w)
	}
	for i := range b.Folds {
		f := &b.Folds[i]
		s.put(n, s.layout.Parts[i], f.Words, states[i])
		if f.Refers() {
			s.keepStates(n, f, s.layout.Parts[i])
		}
	}
	return s.seal()
}

// keepStates moves the strings and blocks that the states at an offset of the placed rows refer to
// into the rows' pages.
func (s *scatterer) keepStates(n int, f *rowdata.Fold, offset int) {
	for i := range s.at[:n] {
		state := unsafe.Slice((*uint64)(s.at[i].part(offset)), f.Words)
		if err := f.Relocate(state, &s.pages[i].Heap); err != nil {
			panic(fmt.Sprintf("cpuagg: a state of %s: %v", f.Kind, err)) // made here, a moment ago
		}
	}
}

// argRefers reports whether the values of an argument may refer to bytes outside them.
func argRefers(b *rowdata.Bound, arg *rowdata.Arg) bool {
	return arg.Encoding == rowdata.Natural && b.Columns[arg.Column].Kind == rowdata.Bytes
}

// release drops the pages that have not been handed over. A nil scatterer has no pages.
func (s *scatterer) release() {
	if s == nil {
		return
	}
	for _, f := range s.full {
		f.Page.Release()
	}
	s.full = nil
	for p := range s.open {
		if page := s.take(p); page != nil {
			page.Release()
		}
	}
}
