package finalize

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/internal/encode"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/vector"
)

// This file finalizes the states that hold their elements: quantiles, mode, lists. It reorders the
// elements in place.

// quantiles finalizes median and quantile_cont.
func (s *finalStates) quantiles() *vector.Vector {
	v := s.quantileVector()
	scratch := make([]uint64, 2)
	for i := range s.n {
		n := s.elements(i)
		if n == 0 {
			v.SetNull(i)
			continue
		}
		low, d := s.quantileIndex(n)
		a := s.element(s.nth(i, low), scratch)
		b := a
		if d > 0 {
			b = s.element(s.next(i, low), scratch)
		}
		v.Words[i] = interpolate(a, b, d, v.Kind == rowdata.Int64)
	}
	return v
}

// elements returns how many elements a group has.
func (s *finalStates) elements(group int) int {
	if s.found != nil {
		return int(s.found[rowdata.QuantileWords*group])
	}
	return len(s.fold.Elements(s.state(group))) / s.fold.ElementWords
}

// nth returns element k of a group in order, which is the quantile's.
func (s *finalStates) nth(group, k int) []uint64 {
	if s.found != nil {
		return s.found[rowdata.QuantileWords*group+1:][:1]
	}
	return nth(s.fold, s.fold.Elements(s.state(group)), k)
}

// next returns the element after element k of a group, which nth has returned.
func (s *finalStates) next(group, k int) []uint64 {
	if s.found != nil {
		return s.found[rowdata.QuantileWords*group+2:][:1]
	}
	return next(s.fold, s.fold.Elements(s.state(group)), k)
}

// quantileVector returns the vector of median and quantile_cont: of doubles, or of times.
func (s *finalStates) quantileVector() *vector.Vector {
	v := &vector.Vector{Kind: rowdata.Float64, Words: make([]uint64, s.n)}
	if s.out.Type.ID() != arrow.FLOAT64 {
		v.Kind = rowdata.Int64
	}
	return v
}

// quantileIndex returns the place of the quantile among n elements in ascending order: a fraction d
// of the way from element low to the next element.
func (s *finalStates) quantileIndex(n int) (low int, d float64) {
	q := 0.5
	if s.out.Aggregate.Func == query.QuantileCont {
		q = s.out.Aggregate.Fraction
	}
	at := q * float64(n-1)
	low, d = int(math.Floor(at)), at-math.Floor(at)
	switch {
	case !s.out.Aggregate.Descending:
		return low, d
	case d == 0:
		return n - 1 - low, 0
	}
	return n - 2 - low, 1 - d
}

// element returns a value of a FoldCollect as a double, or as a time in the result's unit.
func (s *finalStates) element(ordered, scratch []uint64) uint64 {
	col := &s.out.Column
	words := scratch[:col.Kind.Words()]
	copy(words, ordered)
	encode.UnorderValue(words, col.Kind)
	switch s.out.Type.ID() {
	case arrow.FLOAT64:
		if col.Kind != rowdata.Float64 {
			var out [1]uint64
			encode.Doubles(out[:], words, col)
			return out[0]
		}
	case arrow.TIMESTAMP:
		const microsPerDay, microsPerMilli = 86_400_000_000, 1000
		switch col.Type.ID() {
		case arrow.DATE32:
			return words[0] * microsPerDay
		case arrow.DATE64:
			return words[0] * microsPerMilli
		}
	}
	return words[0]
}

// interpolate returns the value a fraction d of the way from a to b, a <= b. Times are rounded to
// their unit; their difference may need all 64 bits, more than a float64 has.
func interpolate(a, b uint64, d float64, times bool) uint64 {
	if d == 0 {
		return a
	}
	if times {
		whole, rest := bits.Mul64(b-a, uint64(math.Ldexp(d, 64)))
		return a + whole + rest>>63
	}
	low, high := math.Float64frombits(a), math.Float64frombits(b)
	return math.Float64bits(low*(1-d) + high*d)
}

// discIndex returns the index, from 0, of the value that quantile_disc takes of n in ascending order.
func discIndex(n int, q float64, descending bool) int {
	at := max(1, n-int(math.Floor(float64(n)-float64(q*float64(n))))) - 1 // rounded twice, as on a device
	if descending {
		return n - 1 - at
	}
	return at
}

// nth returns element k in order.
func nth(f *rowdata.Fold, elements []uint64, k int) []uint64 {
	if f.ElementWords == 1 {
		selectNth(elements, k)
		return elements[k : k+1]
	}
	pairs := arrays[[2]uint64](elements)
	if !slices.IsSortedFunc(pairs, f.Compare2) {
		selectPair(f, pairs, k)
	}
	return pairs[k][:]
}

// next returns the element after element k, which nth has put in its place.
func next(f *rowdata.Fold, elements []uint64, k int) []uint64 {
	if f.ElementWords == 1 {
		return []uint64{slices.Min(elements[k+1:])}
	}
	least := slices.MinFunc(arrays[[2]uint64](elements)[k+1:], f.Compare2)
	return least[:]
}

// selectPair is selectNth for elements of two words, which a comparison costs most of: one for each element of
// a part tells smaller, equal and larger elements apart.
func selectPair(f *rowdata.Fold, pairs [][2]uint64, k int) {
	const sampled = 9
	lo, hi := 0, len(pairs)
	for budget := 3 * bits.Len(uint(len(pairs))); hi-lo > sampled && budget > 0; budget-- {
		var sample [sampled][2]uint64
		for i := range sample {
			sample[i] = pairs[lo+(2*i+1)*(hi-lo)/(2*sampled)]
		}
		slices.SortFunc(sample[:], f.Compare2)
		pivot := sample[(k-lo)*sampled/(hi-lo)]
		below, above := lo, hi
		for at := lo; at < above; {
			switch c := f.Compare2(pairs[at], pivot); {
			case c < 0:
				pairs[at], pairs[below] = pairs[below], pairs[at]
				below++
				at++
			case c > 0:
				above--
				pairs[at], pairs[above] = pairs[above], pairs[at]
			default:
				at++
			}
		}
		switch {
		case k < below:
			hi = below
		case k >= above:
			lo = above
		default: // equal to the pivot
			return
		}
	}
	slices.SortFunc(pairs[lo:hi], f.Compare2)
}

// selectNth moves the k-th smallest word to index k, smaller words before it: quickselect without a
// branch on the words, which sorts the words that are left once they have not halved for a while.
func selectNth(words []uint64, k int) {
	const sortBelow = 32
	lo, hi := 0, len(words)
	for budget := 3 * bits.Len(uint(len(words))); hi-lo > sortBelow && budget > 0; budget-- {
		pivot := pivotFor(words[lo:hi], k-lo)
		below := lo + moveBelow(words[lo:hi], pivot)
		switch {
		case k < below:
			hi = below
		case lo < below:
			lo = below
		default: // the pivot is the least
			if pivot == math.MaxUint64 {
				return
			}
			if lo += moveBelow(words[lo:hi], pivot+1); k < lo {
				return
			}
		}
	}
	slices.Sort(words[lo:hi])
}

// pivotFor returns one of many words, such that the k-th smallest word is likely to be on the
// smaller side of the pivot, and near it. After Floyd and Rivest (CACM, 1975); a median costs 1.7
// looks at a word.
func pivotFor(words []uint64, k int) uint64 {
	const sampled, margin = 16, 1
	var sample [sampled]uint64
	for i := range sample {
		w, at := words[(2*i+1)*len(words)/(2*sampled)], i
		for ; at > 0 && sample[at-1] > w; at-- {
			sample[at] = sample[at-1]
		}
		sample[at] = w
	}
	at := k * sampled / len(words)
	if at < sampled/2 {
		return sample[at+margin]
	}
	return sample[at-margin]
}

// moveBelow moves the words below a bound to the front, and returns how many they are.
func moveBelow(words []uint64, bound uint64) int {
	var n uint64
	for i, w := range words {
		_, below := bits.Sub64(w, bound, 0)
		words[i] = words[n]
		words[n] = w
		n += below
	}
	return int(n)
}

// mode returns the value with most rows, of several such values the value with the least position.
func mode(f *rowdata.Fold, elements []uint64) []uint64 {
	w := f.ElementWords
	best := elements[:w]
	for e := elements[w:]; len(e) > 0; e = e[w:] {
		rows, position := e[w-2], e[w-1]
		if rows > best[w-2] || rows == best[w-2] && position < best[w-1] {
			best = e[:w]
		}
	}
	return best[:w-rowdata.HistogramWords]
}

// arrays views words as arrays of words.
func arrays[A [2]uint64 | [3]uint64](words []uint64) []A {
	var a A
	return unsafe.Slice((*A)(unsafe.Pointer(unsafe.SliceData(words))), len(words)/(int(unsafe.Sizeof(a))/8))
}

// sortByPosition sorts elements of values with a position behind each.
func sortByPosition(f *rowdata.Fold, elements []uint64) {
	if f.ElementWords == 2 {
		slices.SortFunc(arrays[[2]uint64](elements), func(a, b [2]uint64) int { return cmp.Compare(a[1], b[1]) })
		return
	}
	slices.SortFunc(arrays[[3]uint64](elements), func(a, b [3]uint64) int { return cmp.Compare(a[2], b[2]) })
}

// lists finalizes min(x, n), max(x, n) and list.
func (s *finalStates) lists() (arrow.Array, error) {
	kind := s.out.Column.Kind
	w := kind.Words()
	words, bytes := 0, int64(0)
	for i := range s.n {
		list := s.fold.Elements(s.state(i))
		words += min(len(list)/s.fold.ElementWords, s.elementsMax()) * w
		bytes += s.longBytes(list)
	}
	if err := s.Room(8*int64(words) + bytes); err != nil {
		return nil, err
	}
	elements := &vector.Vector{Kind: kind, Words: make([]uint64, 0, words)}
	lists := &vector.Vector{Kind: rowdata.Int64, Words: make([]uint64, s.n)}
	ends := make([]int, s.n)
	for i := range s.n {
		list := s.inOrder(i)
		if len(list) == 0 {
			lists.SetNull(i)
		}
		list = list[:s.fold.ElementWords*min(len(list)/s.fold.ElementWords, s.elementsMax())]
		ordered := s.fold.Kind != rowdata.FoldCollect
		for ; len(list) > 0; list = list[s.fold.ElementWords:] {
			elements.Words = append(elements.Words, list[:w]...)
			if ordered {
				encode.UnorderValue(elements.Words[len(elements.Words)-w:], kind)
			}
		}
		ends[i] = len(elements.Words) / w
	}
	return vector.Lists(s.Allocator, s.out.Type.(*arrow.ListType), elements, ends, lists)
}

// elementsMax bounds the elements of a list: the n of min(x, n) and max(x, n).
func (s *finalStates) elementsMax() int {
	if f := s.out.Aggregate.Func; f == query.MinN || f == query.MaxN {
		return s.out.Aggregate.Length
	}
	return math.MaxInt
}

// inOrder returns the elements of a group in the order of the result: a list by position, else by
// value.
func (s *finalStates) inOrder(group int) []uint64 {
	elements := s.fold.Elements(s.state(group))
	if s.fold.Kind == rowdata.FoldCollect {
		sortByPosition(s.fold, elements)
	} else {
		sortTop(s.fold, elements)
	}
	return elements
}

// sortTop sorts the elements of a FoldTop or FoldDistinct in its order.
func sortTop(f *rowdata.Fold, list []uint64) {
	if f.ElementWords == 1 {
		slices.Sort(list)
	} else {
		slices.SortFunc(arrays[[2]uint64](list), f.Compare2)
	}
	switch {
	case f.Descending && f.ElementWords == 1:
		slices.Reverse(list)
	case f.Descending:
		slices.Reverse(arrays[[2]uint64](list))
	}
}

// longBytes returns the bytes of the long strings of elements.
func (s *finalStates) longBytes(elements []uint64) (bytes int64) {
	if !s.fold.Long {
		return 0
	}
	for ; len(elements) > 0; elements = elements[s.fold.ElementWords:] {
		if v := rowdata.AsBytes2(elements[:2]); v.Long() {
			bytes += int64(v.Len())
		}
	}
	return bytes
}

// joined finalizes string_agg.
func (s *finalStates) joined() (arrow.Array, error) {
	separator := s.out.Aggregate.Separator
	nulls := &vector.Vector{Kind: rowdata.Int64, Words: make([]uint64, s.n)}
	offsets := vector.NewBuffer(s.Allocator, 4*(s.n+1))
	defer offsets.Release()
	ends := rowdata.View[int32](offsets.Bytes())
	total := int64(0)
	for i := range s.n {
		elements := s.fold.Elements(s.state(i))
		if len(elements) == 0 {
			nulls.SetNull(i)
		} else {
			text := joinedBytes(s.fold, elements, separator)
			if text > math.MaxInt32 {
				return nil, errStringTooLong
			}
			total += text
		}
		if total > math.MaxInt32 {
			return nil, vector.ErrTooLarge
		}
		ends[i+1] = int32(total)
	}
	if err := s.Room(total); err != nil {
		return nil, err
	}
	data := memory.NewResizableBuffer(s.Allocator)
	data.Resize(int(total))
	out, at := data.Bytes(), 0
	for i := range s.n {
		elements := s.inOrder(i)
		for first := true; len(elements) > 0; elements, first = elements[s.fold.ElementWords:], false {
			if !first {
				at += copy(out[at:], separator)
			}
			at += copy(out[at:], rowdata.AsBytes2(elements[:2]).Bytes())
		}
	}
	offsets.Retain()
	return vector.NewArray(s.out.Type, s.n, nil, nulls.Nulls(s.Allocator), offsets, data), nil
}

// joinedBytes returns the length of the string that elements are joined to.
func joinedBytes(f *rowdata.Fold, elements []uint64, separator string) int64 {
	bytes := int64(len(elements)/f.ElementWords-1) * int64(len(separator))
	for ; len(elements) > 0; elements = elements[f.ElementWords:] {
		bytes += int64(rowdata.AsBytes2(elements[:2]).Len())
	}
	return bytes
}
