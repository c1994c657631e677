package rowdata

import (
	"errors"
	"fmt"
)

// ErrCorruptState marks a row or state with words that no fold writes, from a damaged file.
var ErrCorruptState = errors.New("corrupt state")

// Relocator moves blocks of words: from heap to heap, from a heap to a file, or back.
type Relocator interface {
	// Block moves the n words that *address refers to, sets *address to their new place, and
	// returns them there. n is positive.
	Block(address *uint64, n uint64) ([]uint64, error)
}

// Refers reports whether states of the fold may refer to a heap.
func (f *Fold) Refers() bool {
	return f.Grows() || f.Kind.Exact() || f.Kind == FoldBest && (f.Long || f.PayloadLong)
}

// Relocate moves the blocks that a state refers to. A moved state has its elements only, without
// room to grow or an index: other states merge it, and it takes no rows.
func (f *Fold) Relocate(state []uint64, r Relocator) error {
	switch {
	case f.Kind == FoldBest:
		return f.relocateBest(state, r)
	case f.Kind.Exact():
		return f.relocateExact(state, r)
	case !f.Grows() || state[0] == 0:
		return nil
	case f.Kind == FoldSketch && state[0] == SketchDense:
		_, err := r.Block(&state[1], SketchRegisterCount/8)
		return err
	}
	if state[0] > elementsMax {
		return fmt.Errorf("%d elements: %w", state[0], ErrCorruptState)
	}
	elements, err := r.Block(&state[1], state[0]*uint64(f.ElementWords))
	if f.Words == SetWords {
		state[2] = 0
	}
	if err != nil || !f.Long {
		return err
	}
	for ; len(elements) > 0; elements = elements[f.ElementWords:] {
		if err := relocateBytes(elements[:2], r); err != nil {
			return err
		}
	}
	return nil
}

// elementsMax bounds the elements of one state, so that their size in words does not overflow.
const elementsMax = 1 << 40

func (f *Fold) relocateBest(state []uint64, r Relocator) error {
	if state[0] == 0 {
		return nil
	}
	if f.Long {
		if err := relocateBytes(state[1:3], r); err != nil {
			return err
		}
	}
	if f.PayloadLong {
		return relocateBytes(state[f.Words-2:], r)
	}
	return nil
}

// relocateExact moves the block of an exact state.
func (f *Fold) relocateExact(state []uint64, r Relocator) error {
	if state[0] == ExactWide {
		_, err := r.Block(&state[f.Kind.ExactInputs()], uint64(f.Kind.ExactBlockWords()))
		return err
	}
	for _, unit := range state[:f.Kind.ExactInputs()] {
		if unit != 0 && unit&^ExactSpecial != 0 && (unit < ExactUnitMin || unit > ExactUnitMax) {
			return fmt.Errorf("unit %#x of an exact sum: %w", unit, ErrCorruptState)
		}
	}
	return nil
}

// relocateBytes moves a value, which is not the NULL of a key.
func relocateBytes(words []uint64, r Relocator) error {
	v := AsBytes2(words)
	if !v.Long() {
		if uint32(v[0]) == nullBytesWord {
			return fmt.Errorf("a string of %d bytes: %w", nullBytesWord, ErrCorruptState)
		}
		return nil
	}
	_, err := r.Block(&v[1], uint64(v.heapWords()))
	return err
}

// Block implements Relocator: it copies words into the heap, and never fails.
func (h *Heap) Block(address *uint64, n uint64) ([]uint64, error) {
	block := h.Alloc(int(n))
	copy(block, WordsAt(address, int(n)))
	*address = Address(block)
	return block, nil
}
