package cpuagg

import (
	"math"
	"math/bits"
	"unsafe"

	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/partition"
)

// States that grow refer to blocks of a heap. A vector's capacity and an index's size follow from
// the count, so that a state needs no word for either.

const (
	vectorElementsMin = 4    // capacity of the first block
	setScanMax        = 8    // up to here a set is searched from end to end, and has no index
	sketchHashesMax   = 1024 // up to here a sketch keeps the hashes, and is exact
)

// sketchWords is the size of a dense sketch's registers.
const sketchWords = partition.SketchRegisters / 8

// The estimator and the state have the same registers; else the index is out of range.
var _ = [1]struct{}{}[partition.SketchRegisters-rowdata.SketchRegisterCount]

// vectorBlock returns the size in words of the block of a vector of count elements.
func vectorBlock(count uint64, elementWords int) int {
	if count == 0 {
		return 0
	}
	return 1 << bits.Len(uint(max(vectorElementsMin, int(count))*elementWords-1))
}

// push appends an element to the vector {count, address} and returns its words, which hold
// anything.
func push(state []uint64, elementWords int, h *rowdata.Heap) []uint64 {
	return extend(state, elementWords, 1, h)
}

// extend is push for several elements.
func extend(state []uint64, elementWords int, more uint64, h *rowdata.Heap) []uint64 {
	count := state[0]
	old, want := vectorBlock(count, elementWords), vectorBlock(count+more, elementWords)
	if want > old {
		block := h.TakeBlock(want)
		if old > 0 {
			oldBlock := rowdata.WordsAt(&state[1], old)
			copy(block, oldBlock)
			h.FreeBlock(oldBlock)
		}
		state[1] = rowdata.Address(block)
	}
	state[0] += more
	return rowdata.WordsAt(&state[1], int(state[0])*elementWords)[int(count)*elementWords:]
}

// indexSlots returns the size of the index of a set of count elements. A slot holds an element's
// number + 1, with the upper bits of its hash above.
func indexSlots(count uint64) int {
	if count <= setScanMax {
		return 0
	}
	return 1 << bits.Len(uint(2*count-1))
}

const (
	indexBits = 40 // of an element's number: a trillion elements in one group's set
	indexMask = 1<<indexBits - 1
)

// intern returns the element of a key in the set {count, elements, index}, and whether the element
// is new. A new element has the key and zeros.
func intern(f *rowdata.Fold, state, key []uint64, h *rowdata.Heap) (element []uint64, added bool) {
	kw, ew := f.OrderWords(), f.ElementWords
	elements := f.Elements(state)
	if state[0] <= setScanMax {
		for at := 0; at < len(elements); at += ew {
			if equalKeys(f, elements[at:at+kw], key) {
				return elements[at : at+ew], false
			}
		}
		return addElement(f, state, key, h), true
	}
	hash := hashElement(f, key)
	index := rowdata.WordsAt(&state[2], indexSlots(state[0]))
	mask := uint64(len(index) - 1)
	for at := hash & mask; index[at] != 0; at = (at + 1) & mask {
		if (index[at]^hash)>>indexBits == 0 {
			e := int(index[at]&indexMask-1) * ew
			if equalKeys(f, elements[e:e+kw], key) {
				return elements[e : e+ew], false
			}
		}
	}
	return addElement(f, state, key, h), true
}

// addElement adds the element of a key that is not in the set.
func addElement(f *rowdata.Fold, state, key []uint64, h *rowdata.Heap) []uint64 {
	slots := indexSlots(state[0])
	element := push(state, f.ElementWords, h)
	clear(element[copy(element, key):])
	if f.Long {
		h.Keep(rowdata.AsBytes2(element[:2]))
	}
	if want := indexSlots(state[0]); want > slots {
		if slots > 0 {
			h.FreeBlock(rowdata.WordsAt(&state[2], slots))
		}
		state[2] = rowdata.Address(h.AllocBlock(want))
		for e := range int(state[0]) {
			indexElement(f, state, e)
		}
	} else if want > 0 {
		indexElement(f, state, int(state[0])-1)
	}
	return element
}

// indexElement enters element e, which is not in the index.
func indexElement(f *rowdata.Fold, state []uint64, e int) {
	elements := f.Elements(state)
	hash := hashElement(f, elements[e*f.ElementWords:e*f.ElementWords+f.OrderWords()])
	index := rowdata.WordsAt(&state[2], indexSlots(state[0]))
	mask := uint64(len(index) - 1)
	at := hash & mask
	for index[at] != 0 {
		at = (at + 1) & mask
	}
	index[at] = hash&^indexMask | uint64(e+1)
}

// hashElement hashes the key of an element.
func hashElement(f *rowdata.Fold, key []uint64) uint64 {
	switch {
	case len(key) == 1:
		return partition.Mix64(key[0])
	case f.Long && rowdata.AsBytes2(key).Long():
		return partition.HashBytes(rowdata.AsBytes2(key).Bytes(), 0)
	}
	return partition.HashWords(key, 0)
}

func (s *states) accumulateGrowing(f *rowdata.Fold, states []uint64, gids []uint32, in [3][]uint64) {
	kw := f.OrderWords()
	switch {
	case f.Kind == rowdata.FoldTop && kw == 1:
		s.accumulateTop(f, states, gids, in[0])
		return
	case f.Kind == rowdata.FoldCollect && f.ElementWords == 1:
		s.accumulateValues(states, gids, in[0])
		return
	case f.Kind == rowdata.FoldDistinct && kw == 1:
		accumulateDistinct[uint64](s, f, states, gids, in[0])
		return
	case f.Kind == rowdata.FoldDistinct:
		accumulateDistinct[[2]uint64](s, f, states, gids, in[0])
		return
	}
	for i, g := range gids {
		state := states[int(g)*f.Words : (int(g)+1)*f.Words]
		key := in[0][i*kw : (i+1)*kw]
		switch f.Kind {
		case rowdata.FoldHistogram:
			s.tally(f, state, key, 1, in[1][i])
		case rowdata.FoldCollect:
			element := push(state, f.ElementWords, &s.heap)
			copy(element, key)
			if f.Long {
				s.heap.Keep(rowdata.AsBytes2(element[:2]))
			}
			if f.ElementWords > kw {
				element[kw] = in[1][i]
			}
		case rowdata.FoldTop:
			s.keepTop(f, state, key)
		case rowdata.FoldSketch:
			s.sketch(f, state, key[0])
		}
	}
}

// accumulateDistinct adds elements, each as wide as E, to sets. Most elements are in their set
// already, and are found without intern.
func accumulateDistinct[E uint64 | [2]uint64](s *states, f *rowdata.Fold, states []uint64,
	gids []uint32, words []uint64) {
	keys := rowdata.View[E](words)
	kw := f.OrderWords()
	for i, g := range gids {
		state := (*[rowdata.SetWords]uint64)(states[int(g)*f.Words:])
		if key := words[i*kw : (i+1)*kw]; !has(f, state, key, keys[i]) {
			intern(f, state[:], key, &s.heap)
		}
	}
}

// has reports whether a set has an element of the same words as a key. A long string may be there
// under an address of its own.
func has[E uint64 | [2]uint64](f *rowdata.Fold, state *[rowdata.SetWords]uint64, key []uint64, want E) bool {
	n := int(state[0])
	elements := unsafe.Slice((*E)(unsafe.Pointer(unsafe.SliceData(rowdata.WordsAt(&state[1], n)))), n)
	if n <= setScanMax {
		for i := range elements {
			if elements[i] == want {
				return true
			}
		}
		return false
	}
	hash := partition.Mix64(key[0]) // as hashElement does, which would be a call
	if len(key) == 2 {
		if f.Long && rowdata.AsBytes2(key).Long() {
			return false
		}
		hash = partition.HashWords(key, 0)
	}
	index := rowdata.WordsAt(&state[2], indexSlots(uint64(n)))
	mask := uint64(len(index) - 1)
	for at := hash & mask; index[at] != 0; at = (at + 1) & mask {
		if (index[at]^hash)>>indexBits == 0 && elements[index[at]&indexMask-1] == want {
			return true
		}
	}
	return false
}

// accumulateValues collects values of one word. Most blocks have room for another value: the rows'
// loads and stores, which miss the cache where groups are many, then overlap.
func (s *states) accumulateValues(states []uint64, gids []uint32, x []uint64) {
	vectors := rowdata.View[[2]uint64](states)
	x = x[:len(gids)]
	for i, g := range gids {
		v := &vectors[g]
		n := v[0]
		if full := n&(n-1) == 0 && (n >= vectorElementsMin || n == 0); full { // vectorBlock
			push(v[:], 1, &s.heap)[0] = x[i]
			continue
		}
		rowdata.WordsAt(&v[1], int(n)+1)[n] = x[i]
		v[0] = n + 1
	}
}

// mergeGrowing folds a state that refers to another heap into a state of s.
func (s *states) mergeGrowing(f *rowdata.Fold, state, from []uint64) {
	if f.Kind == rowdata.FoldSketch && from[0] == rowdata.SketchDense {
		partition.MergeRegisters(s.registers(f, state), rowdata.SketchRegisters(from))
		return
	}
	kw, ew := f.OrderWords(), f.ElementWords
	elements := f.Elements(from)
	switch {
	case f.Kind == rowdata.FoldCollect && !f.Long:
		copy(extend(state, ew, from[0], &s.heap), elements)
		return
	case f.Kind == rowdata.FoldTop && kw == 1:
		for _, x := range elements {
			s.keepTopWord(f, state, x, flipOf(f))
		}
		return
	}
	for ; len(elements) > 0; elements = elements[ew:] {
		switch f.Kind {
		case rowdata.FoldDistinct:
			intern(f, state, elements[:kw], &s.heap)
		case rowdata.FoldHistogram:
			s.tally(f, state, elements[:kw], elements[kw], elements[kw+1])
		case rowdata.FoldCollect:
			element := push(state, ew, &s.heap)
			copy(element, elements[:ew])
			s.heap.Keep(rowdata.AsBytes2(element[:2]))
		case rowdata.FoldTop:
			s.keepTop(f, state, elements[:kw])
		case rowdata.FoldSketch:
			s.sketch(f, state, elements[0])
		}
	}
}

// tally adds rows of one value, the first row at position, to a histogram.
func (s *states) tally(f *rowdata.Fold, state, key []uint64, rows, position uint64) {
	element, added := intern(f, state, key, &s.heap)
	payload := element[f.OrderWords():]
	payload[0] += rows
	if added || position < payload[1] {
		payload[1] = position
	}
}

// keepTop offers a value to the binary heap of the Limit first values, whose root is the last of
// them.
func (s *states) keepTop(f *rowdata.Fold, state, key []uint64) {
	w := f.ElementWords
	if int(state[0]) < f.Limit {
		element := push(state, w, &s.heap)
		copy(element, key)
		if f.Long {
			s.heap.Keep(rowdata.AsBytes2(element))
		}
		s.siftUp(f, f.Elements(state), int(state[0])-1)
		return
	}
	elements := f.Elements(state)
	if s.topBefore(f, key, elements[:w]) {
		replaceValue(elements[:w], key, f.Long, &s.heap)
		s.siftDown(f, elements)
	}
}

// accumulateTop is keepTop for values of one word. It loads all roots before it compares any, so
// that the loads, which miss the cache where groups are many, overlap; few values then pass the
// comparison.
func (s *states) accumulateTop(f *rowdata.Fold, states []uint64, gids []uint32, x []uint64) {
	flip := flipOf(f)
	var roots [rowdata.TileRows]uint64 // flipped; or, while there is room, the last of all values
	pairs := rowdata.View[[2]uint64](states)
	for i, g := range gids {
		roots[i] = math.MaxUint64
		if int(pairs[g][0]) == f.Limit {
			roots[i] = rowdata.WordsAt(&pairs[g][1], 1)[0] ^ flip
		}
	}
	for i, g := range gids {
		if x[i]^flip < roots[i] || int(pairs[g][0]) < f.Limit {
			s.keepTopWord(f, pairs[g][:], x[i], flip)
		}
	}
}

// flipOf returns the bits to flip in the words of a FoldTop, so that the first value is the least.
func flipOf(f *rowdata.Fold) uint64 {
	if f.Descending {
		return math.MaxUint64
	}
	return 0
}

// keepTopWord is keepTop for values of one word.
func (s *states) keepTopWord(f *rowdata.Fold, state []uint64, x, flip uint64) {
	n := int(state[0])
	if n == f.Limit {
		replaceRoot(rowdata.WordsAt(&state[1], n), x, flip)
		return
	}
	push(state, 1, &s.heap)
	heap := rowdata.WordsAt(&state[1], n+1)
	for n > 0 && heap[(n-1)/2]^flip < x^flip {
		heap[n] = heap[(n-1)/2]
		n = (n - 1) / 2
	}
	heap[n] = x
}

// replaceRoot replaces the root of a full binary heap, the last of its words, if x comes before it.
func replaceRoot(heap []uint64, x, flip uint64) {
	if x^flip >= heap[0]^flip { // a row of the same tile has replaced the root
		return
	}
	at := 0
	for {
		child := 2*at + 1
		if child >= len(heap) {
			break
		}
		if right := child + 1; right < len(heap) && heap[right]^flip > heap[child]^flip {
			child = right
		}
		if heap[child]^flip <= x^flip {
			break
		}
		heap[at] = heap[child]
		at = child
	}
	heap[at] = x
}

// topBefore reports whether value a comes before b in a FoldTop.
func (s *states) topBefore(f *rowdata.Fold, a, b []uint64) bool {
	c := f.Compare(a, b)
	if f.Descending {
		return c > 0
	}
	return c < 0
}

func (s *states) siftUp(f *rowdata.Fold, elements []uint64, i int) {
	w := f.ElementWords
	for i > 0 {
		parent := (i - 1) / 2
		if !s.topBefore(f, elements[parent*w:parent*w+w], elements[i*w:i*w+w]) {
			return
		}
		swapElements(elements, w, i, parent)
		i = parent
	}
}

func (s *states) siftDown(f *rowdata.Fold, elements []uint64) {
	w := f.ElementWords
	n := len(elements) / w
	for i := 0; ; {
		last := i
		for child := 2*i + 1; child <= 2*i+2 && child < n; child++ {
			if s.topBefore(f, elements[last*w:last*w+w], elements[child*w:child*w+w]) {
				last = child
			}
		}
		if last == i {
			return
		}
		swapElements(elements, w, i, last)
		i = last
	}
}

func swapElements(elements []uint64, w, i, j int) {
	for k := range w {
		elements[i*w+k], elements[j*w+k] = elements[j*w+k], elements[i*w+k]
	}
}

// sketch adds a hash to a FoldSketch.
func (s *states) sketch(f *rowdata.Fold, state []uint64, hash uint64) {
	if state[0] == rowdata.SketchDense {
		partition.AddHash(rowdata.SketchRegisters(state), hash)
		return
	}
	intern(f, state, []uint64{hash}, &s.heap)
	if state[0] > sketchHashesMax {
		s.registers(f, state)
	}
}

// registers returns the registers of a sketch, which it makes dense if it is not.
func (s *states) registers(f *rowdata.Fold, state []uint64) []uint8 {
	if state[0] == rowdata.SketchDense {
		return rowdata.SketchRegisters(state)
	}
	block := s.heap.AllocBlock(sketchWords)
	dense := []uint64{rowdata.SketchDense, rowdata.Address(block), 0}
	registers := rowdata.SketchRegisters(dense)
	for _, hash := range f.Elements(state) {
		partition.AddHash(registers, hash)
	}
	copy(state, dense)
	return registers
}
