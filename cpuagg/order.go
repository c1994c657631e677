package cpuagg

import (
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/mpga/mpga/internal/rowdata"
)

// order is the order of a fold's elements in sorted runs: by position where elements carry one,
// since results then want that order, by value elsewhere.
type order struct {
	fold      *rowdata.Fold
	positions bool // elements are ordered by position, their last word
}

func orderOf(f *rowdata.Fold) order {
	return order{fold: f, positions: f.Kind == rowdata.FoldCollect && f.ElementWords > f.OrderWords()}
}

// prefix returns a word by which elements compare; between elements of the same prefix, compare
// decides.
func (o *order) prefix(element []uint64) uint64 {
	f := o.fold
	var p uint64
	switch {
	case o.positions:
		return element[f.ElementWords-1]
	case f.Long:
		p = textPrefix(rowdata.AsBytes2(element[:2]))
	case f.Wide:
		p = element[1]
	default:
		p = element[0]
	}
	if f.Descending {
		return ^p
	}
	return p
}

// textPrefix returns the first eight bytes of a string as a number; bytes past its end count as
// zeros.
func textPrefix(v *rowdata.Bytes2) uint64 {
	if v.Long() {
		return binary.BigEndian.Uint64(v.Bytes())
	}
	return bits.ReverseBytes64(v[0]>>32 | v[1]<<32)
}

func (o *order) compare(a, b []uint64) int {
	f := o.fold
	switch {
	case o.positions:
		return cmp.Compare(a[f.ElementWords-1], b[f.ElementWords-1])
	case f.Descending:
		return f.Compare(b, a)
	}
	return f.Compare(a, b)
}

// sort sorts elements in place.
func (o *order) sort(elements []uint64) {
	if o.fold.ElementWords == 1 && !o.fold.Descending {
		slices.Sort(elements)
		return
	}
	sortFixed[o.fold.ElementWords-1](o, elements)
}

// sortFixed is sortAs, by the words of an element.
var sortFixed = [elementWordsMax]func(o *order, elements []uint64){
	sortAs[[1]uint64], sortAs[[2]uint64], sortAs[[3]uint64], sortAs[[4]uint64],
}

// elementWordsMax is the words of the widest element: a string or a wide decimal in a histogram.
const elementWordsMax = 2 + rowdata.HistogramWords

// sortAs is sort for elements of a width that the compiler knows.
func sortAs[A any](o *order, elements []uint64) {
	words := int(unsafe.Sizeof(*new(A)) / 8)
	slices.SortFunc(rowdata.View[A](elements), func(a, b A) int {
		return o.compare(unsafe.Slice((*uint64)(unsafe.Pointer(&a)), words),
			unsafe.Slice((*uint64)(unsafe.Pointer(&b)), words))
	})
}
