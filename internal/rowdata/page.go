package rowdata

import "slices"

// Page holds rows, or states of groups, of one partition: what the partition store keeps. A row
// or state takes RowLayout.Stride words; the strings and blocks that it refers to lie in the page's
// own heap, so that a page can be moved, written and dropped by itself.
type Page struct {
	Words []uint64 // room for a whole number of rows; filled up to Rows
	Rows  int
	Heap  Heap

	memory Memory // of Words
}

// NewPage returns an empty page of n words.
func NewPage(m Memory, n int) *Page {
	return &Page{Words: m.Alloc(n), Heap: NewHeap(m), memory: m}
}

// Release gives back the memory of the page. Nothing may refer to the page any more.
func (p *Page) Release() {
	p.Heap.Reset()
	p.memory.Free(p.Words)
	p.Words, p.Rows = nil, 0
}

// Bytes returns how much memory the page holds.
func (p *Page) Bytes() int64 { return int64(8*len(p.Words)) + p.Heap.Bytes() }

// RowLayout says where the parts of a scattered row lie, in words:
//
//	rows:   | packed key | arguments | bits of the columns that are not NULL |
//	states: | packed key | states |
type RowLayout struct {
	Stride    int
	KeyWords  int   // of the packed key
	Parts     []int // offset of each argument or fold
	Words     []int // of each part; 0 of an argument that is not stored
	Valid     int   // offset of the validity bits: of ValidCols[i], bit i%64 of word i/64
	ValidCols []int // columns that have a validity bit

	// Natural has, for each argument of rows, the index of the argument that it follows from, or
	// -1: an Ordered integer is the Natural integer with its sign flipped, and is not stored beside
	// it.
	Natural []int

	Longs []int // offsets of the Bytes2: the key's, then the arguments'
	Texts []int // arguments that are Bytes2

	states []stateRef // states that may refer to the page's heap
}

// stateRef is where the states of a fold lie in a row.
type stateRef struct {
	offset int
	fold   *Fold
}

// Refers reports whether rows may refer to their page's heap.
func (l *RowLayout) Refers() bool { return len(l.Longs) > 0 || len(l.states) > 0 }

// Relocate moves the strings and blocks that a row refers to.
func (l *RowLayout) Relocate(row []uint64, r Relocator) error {
	for _, at := range l.Longs {
		if row[at] == nullBytesWord {
			continue
		}
		if err := relocateBytes(row[at:at+2], r); err != nil {
			return err
		}
	}
	for _, s := range l.states {
		if err := s.fold.Relocate(row[s.offset:s.offset+s.fold.Words], r); err != nil {
			return err
		}
	}
	return nil
}

// RowLayout returns the layout of rows.
func (b *Bound) RowLayout() RowLayout {
	l := RowLayout{Stride: b.Keys.Words, KeyWords: b.Keys.Words, Longs: slices.Clone(b.Keys.Longs)}
	for i := range b.Args {
		arg := &b.Args[i]
		if arg.Encoding == Natural && b.Columns[arg.Column].Kind == Bytes {
			l.Longs, l.Texts = append(l.Longs, l.Stride), append(l.Texts, i)
		}
		l.Parts = append(l.Parts, l.Stride)
		l.Natural = append(l.Natural, b.naturalOf(arg))
		words := arg.Words
		if l.Natural[i] >= 0 {
			words = 0
		}
		l.Words = append(l.Words, words)
		l.Stride += words
	}
	l.Valid = l.Stride
	for _, sel := range b.Selections {
		l.ValidCols = append(l.ValidCols, sel...)
	}
	slices.Sort(l.ValidCols)
	l.ValidCols = slices.Compact(l.ValidCols)
	l.Stride += (len(l.ValidCols) + 63) / 64
	return l
}

// naturalOf returns the argument that is the natural encoding of an Ordered integer, or -1.
func (b *Bound) naturalOf(arg *Arg) int {
	if arg.Encoding != Ordered || b.Columns[arg.Column].Kind != Int64 {
		return -1
	}
	return slices.Index(b.Args, Arg{Column: arg.Column, Encoding: Natural, Words: 1})
}

// StateLayout returns the layout of states.
func (b *Bound) StateLayout() RowLayout {
	l := RowLayout{Stride: b.Keys.Words, KeyWords: b.Keys.Words, Longs: slices.Clone(b.Keys.Longs)}
	for i := range b.Folds {
		if b.Folds[i].Refers() {
			l.states = append(l.states, stateRef{l.Stride, &b.Folds[i]})
		}
		l.Parts = append(l.Parts, l.Stride)
		l.Words = append(l.Words, b.Folds[i].Words)
		l.Stride += b.Folds[i].Words
	}
	l.Valid = l.Stride
	return l
}

// ElementLayout returns the layout of the elements of a fold that keeps them, as rows of a page.
func (f *Fold) ElementLayout() RowLayout {
	l := RowLayout{Stride: f.ElementWords, Valid: f.ElementWords}
	if f.Long {
		l.Longs = []int{0}
	}
	return l
}
