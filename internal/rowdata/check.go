package rowdata

import (
	"fmt"
	"slices"
)

// CheckReferences returns an error unless every string and block that the rows of a page refer to
// lies in the page's own heap (W4): the page then outlives the tile or the states that its rows
// were made from.
func (p *Page) CheckReferences(layout *RowLayout) error {
	for i := range p.Rows {
		if err := layout.Relocate(p.Words[i*layout.Stride:(i+1)*layout.Stride], ownBlocks{&p.Heap}); err != nil {
			return fmt.Errorf("row %d of %d: %w", i, p.Rows, err)
		}
	}
	return nil
}

// CheckKey returns an error unless the values of a packed key are in the ranges that the statistics
// of their columns promise (W2).
func (l *KeyLayout) CheckKey(key []uint64) error {
	for i := range l.Fields {
		f := &l.Fields[i]
		if f.Kind.Words() == 2 || f.IsNull(key) {
			continue
		}
		if code := key[f.Word] >> f.Shift & f.Mask(); code > f.Span {
			return fmt.Errorf("key %d: code %d, the range of its column ends at %d", i, code, f.Span)
		}
	}
	return nil
}

// ownBlocks is a Relocator that leaves the blocks of a heap where they are, and fails on blocks
// elsewhere.
type ownBlocks struct{ heap *Heap }

// Block implements Relocator.
func (o ownBlocks) Block(address *uint64, n uint64) ([]uint64, error) {
	if !o.heap.owns(*address, n) {
		return nil, fmt.Errorf("%d words at %#x are not of the page's heap", n, *address)
	}
	return WordsAt(address, int(n)), nil
}

// owns reports whether n words at an address lie in the heap.
func (h *Heap) owns(address, n uint64) bool {
	within := func(chunk []uint64) bool {
		first := Address(chunk)
		return first <= address && address+8*n <= first+8*uint64(cap(chunk))
	}
	for _, chunk := range h.large {
		if within(chunk) {
			return true
		}
	}
	return slices.ContainsFunc(h.chunks, within)
}
