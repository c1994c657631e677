package scatter

import (
	"unsafe"

	"github.com/mpga/mpga/internal/invariants"
	"github.com/mpga/mpga/internal/rowdata"
)

// Pages of a partition double in size, so that many small partitions take little memory and
// large ones are written in large pieces.
const (
	pageBytesMin = 4 << 10
	PageBytesMax = 128 << 10
)

// Writer writes rows to the open pages of the partitions of a pass.
type Writer struct {
	Pass   *Pass
	Layout *rowdata.RowLayout

	content Content
	open    []*rowdata.Page // by partition; nil where it has no open page
	next    []cursor        // by partition: where its next row goes
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

// NewWriter returns a writer of one goroutine, for rows with a layout.
func NewWriter(p *Pass, content Content, layout *rowdata.RowLayout) *Writer {
	return &Writer{
		Pass:    p,
		Layout:  layout,
		content: content,
		open:    make([]*rowdata.Page, p.Radix.FanOut()),
		next:    make([]cursor, p.Radix.FanOut()),
		at:      make([]rowAddress, rowdata.TileRows),
		pages:   make([]*rowdata.Page, rowdata.TileRows),
	}
}

// place finds room for rows with these hashes, at most rowdata.TileRows, and notes it in w.at. refers
// says that some rows refer to bytes outside them, which the rows' pages are to keep.
func (w *Writer) place(hashes []uint64, refers bool) {
	radix, rowBytes := w.Pass.Radix, rowAddress(8*w.Layout.Stride)
	at, next := w.at[:len(hashes)], w.next
	for i, h := range hashes {
		p := radix.Of(h)
		c := &next[p]
		if c.at == c.end || refers && w.open[p].Heap.Bytes() > int64(w.Pass.PageBytes) {
			w.turn(p)
		}
		at[i] = c.at
		c.at += rowBytes
		if refers {
			w.pages[i] = w.open[p]
		}
	}
	w.rows += int64(len(hashes))
}

// turn opens the next page of a partition.
func (w *Writer) turn(p int) {
	bytes := pageBytesMin
	if page := w.take(p); page != nil {
		bytes = min(16*len(page.Words), w.Pass.PageBytes)
		w.full = append(w.full, PartitionPage{p, page})
	}
	stride := w.Layout.Stride
	page := rowdata.NewPage(w.Pass.opt.Memory, max(bytes/(8*stride), 1)*stride)
	first := rowAddress(unsafe.Pointer(unsafe.SliceData(page.Words)))
	w.checkLines(first)
	w.open[p], w.next[p] = page, cursor{first, first + rowAddress(8*len(page.Words))}
}

// take returns the open page of a partition, or nil. The partition has no open page afterwards.
func (w *Writer) take(p int) *rowdata.Page {
	page := w.open[p]
	if page != nil {
		w.settleLine(p)
		left := int(w.next[p].end-w.next[p].at) / 8
		page.Rows = (len(page.Words) - left) / w.Layout.Stride
		w.open[p], w.next[p] = nil, cursor{}
	}
	return page
}

// Seal hands over the pages that the placed rows have filled, all at once: workers wait for each
// other in the store.
func (w *Writer) Seal() error {
	if len(w.full) == 0 {
		return nil
	}
	for _, f := range w.full {
		w.handed += int64(f.Page.Rows)
		if invariants.Enabled && w.Layout.Refers() {
			err := f.Page.CheckReferences(w.Layout)
			invariants.Checkf(err == nil, "Z2: partition %d: %v", f.Partition, err)
		}
	}
	err := w.Pass.Partitions.Put(w.content, w.full)
	clear(w.full)
	w.full = w.full[:0]
	return err
}

// putPart writes one part of the placed rows: words values a row, from values, at an offset.
func (w *Writer) putPart(n, offset, words int, values []uint64) {
	switch {
	case words == 0:
		return
	case words <= len(putFixed):
		putFixed[words-1](w.at[:n], offset, values)
		return
	}
	for i := range w.at[:n] {
		row := unsafe.Slice((*uint64)(w.at[i].part(offset)), words)
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

// putWords is putPart for values of a width that the compiler knows, which spares a call for each.
func putWords[V wordArray](at []rowAddress, offset int, values []uint64) {
	from := rowdata.View[V](values)[:len(at)]
	for i := range at {
		*(*V)(at[i].part(offset)) = from[i]
	}
}

// keepLongs lets the strings at an offset of the placed rows lie in the rows' pages.
func (w *Writer) keepLongs(n, offset int) {
	for i := range w.at[:n] {
		if v := (*rowdata.Bytes2)(w.at[i].part(offset)); v.Long() {
			w.pages[i].Heap.Keep(v)
		}
	}
}

// Close hands the open pages to the store. A nil Writer has no pages.
func (w *Writer) Close() error {
	if w == nil {
		return nil
	}
	for p := range w.open {
		if page := w.take(p); page != nil {
			w.full = append(w.full, PartitionPage{p, page})
		}
	}
	if err := w.Seal(); err != nil {
		return err
	}
	if invariants.Enabled {
		invariants.Checkf(w.handed == w.rows, "Z1: %d rows were placed, %d are in pages", w.rows, w.handed)
	}
	return nil
}

// Tile scatters the rows of a tile.
func (w *Writer) Tile(t *rowdata.Tile, hashes []uint64) error {
	if isPair(w.Layout) {
		w.scatterPairs(t.Keys, t.Args[0], hashes)
		return w.Seal()
	}
	w.Put(t.Rows, t.Keys, t.Args, hashes, w.tileRefers(t))
	w.putValid(t)
	return w.Seal()
}

// tileRefers reports whether some row of a tile refers to bytes outside it. Where all strings are
// short, pages need not be known by row.
func (w *Writer) tileRefers(t *rowdata.Tile) bool {
	for _, a := range w.Layout.Texts {
		if rowdata.AnyLong(t.Args[a], 2, 0) {
			return true
		}
	}
	keyLongs := len(w.Layout.Longs) - len(w.Layout.Texts)
	return rowdata.AnyLong(t.Keys, w.Layout.KeyWords, w.Layout.Longs[:keyLongs]...)
}

// Put places n rows, at most rowdata.TileRows: their packed keys, and their parts. refers says that
// some rows refer to bytes outside them. The caller then calls Seal.
func (w *Writer) Put(n int, keys []uint64, parts [][]uint64, hashes []uint64, refers bool) {
	l := w.Layout
	w.place(hashes[:n], refers)
	w.putPart(n, 0, l.KeyWords, keys)
	for i, words := range l.Words {
		w.putPart(n, l.Parts[i], words, parts[i])
	}
	if refers {
		for _, at := range l.Longs {
			w.keepLongs(n, at)
		}
	}
}

// Placed returns words of a row of the last Put, whose rows refer to bytes outside them, and the heap
// of the row's page.
func (w *Writer) Placed(row, offset, words int) ([]uint64, *rowdata.Heap) {
	return unsafe.Slice((*uint64)(w.at[row].part(offset)), words), &w.pages[row].Heap
}

// putValid writes the validity bits of the placed rows.
func (w *Writer) putValid(t *rowdata.Tile) {
	for first := 0; first < len(w.Layout.ValidCols); first += 64 {
		cols := w.Layout.ValidCols[first:min(first+64, len(w.Layout.ValidCols))]
		offset := w.Layout.Valid + first/64
		for i := range w.at[:t.Rows] {
			*(*uint64)(w.at[i].part(offset)) = 1<<len(cols) - 1
		}
		for bit, c := range cols {
			for i, ok := range t.Valid[c] {
				*(*uint64)(w.at[i].part(offset)) ^= uint64(ok^1) << bit
			}
		}
	}
}

// HeapBytes returns how many bytes the heaps of the open pages have.
func (w *Writer) HeapBytes() (bytes int64) {
	for _, page := range w.open {
		if page != nil {
			bytes += page.Heap.Bytes()
		}
	}
	return bytes
}

// Release drops the pages that have not been handed over. A nil Writer has no pages.
func (w *Writer) Release() {
	if w == nil {
		return
	}
	for _, f := range w.full {
		f.Page.Release()
	}
	w.full = nil
	for p := range w.open {
		if page := w.take(p); page != nil {
			page.Release()
		}
	}
}
