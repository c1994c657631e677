package spec

// Page holds rows, or states of groups, of one partition: what the partition store keeps. A row
// or state takes RowLayout.Stride words; what they refer to lies in the page's own heap, so that a
// page can be moved, written and dropped by itself.
type Page struct {
	Words []uint64 // capacity of a whole number of rows; filled up to Rows
	Rows  int
	Heap  Heap
}

// Bytes returns how much memory the page holds.
func (p *Page) Bytes() int64 { return int64(8*len(p.Words)) + p.Heap.Bytes() }

// RowLayout says where the parts of a scattered row lie, in words:
//
//	rows:   | packed key | arguments | bits of the columns that are not NULL |
//	states: | packed key | states |
type RowLayout struct {
	Stride    int
	Parts     []int // offset of each argument or fold
	Valid     int   // offset of the validity bits: of ValidCols[i], bit i%64 of word i/64
	ValidCols []int // columns with such a bit
}

// RowLayout returns the layout of rows.
func (b *Bound) RowLayout() RowLayout {
	l := RowLayout{Stride: b.Keys.Words}
	for i := range b.Args {
		l.Parts = append(l.Parts, l.Stride)
		l.Stride += b.Args[i].Words
	}
	l.Valid = l.Stride
	needed := make([]bool, len(b.Columns))
	for _, sel := range b.Selections {
		for _, c := range sel {
			needed[c] = true
		}
	}
	for c, ok := range needed {
		if ok {
			l.ValidCols = append(l.ValidCols, c)
		}
	}
	l.Stride += (len(l.ValidCols) + 63) / 64
	return l
}

// StateLayout returns the layout of states.
func (b *Bound) StateLayout() RowLayout {
	l := RowLayout{Stride: b.Keys.Words}
	for i := range b.Folds {
		l.Parts = append(l.Parts, l.Stride)
		l.Stride += b.Folds[i].Words
	}
	l.Valid = l.Stride
	return l
}
