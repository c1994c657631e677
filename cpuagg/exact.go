package cpuagg

import (
	"github.com/mpga/mpga/internal/invariants"
	"github.com/mpga/mpga/internal/rowdata"
)

// Exact folds; rowdata.ExactTerm has the layout of their states. What a state holds is an exact
// number wherever its window lies and whether it is wide or not, so that windows may be chosen,
// moved and left as is convenient.
//
// Each value has a place: the value is its mantissa, an integer of 53 bits, times 2^(place-1074).
// In a window the value is its mantissa shifted by place - base, 0 to 63 bits: an integer of two
// words below 2^116, whose powers are integers of as many words as the term's sum has. A sum has
// room while it is below a quarter of the numbers that its words can hold: it can then take one
// more such power, or another sum that has room.

// exactStateWords is the most words of an exact state.
const exactStateWords = 22

// unitSlack is how many bits below a group's first value its window begins, at least: a later value
// may be 2^-24 times as large. Units are rounded down to a multiple of 1<<unitStepBits, so that
// states of like values have the same unit and merge without a shift.
const (
	unitSlack    = 24
	unitStepBits = 4
)

// unitFor returns the unit for a state whose first value has this place.
func unitFor(place int) uint64 {
	base := max(place-unitSlack, 0) >> unitStepBits << unitStepBits
	return uint64(min(base+rowdata.ExactUnitMin, rowdata.ExactUnitMax))
}

// exactShift returns by how many bits a mantissa is to be shifted in a window. It is above 63 when
// the value is zero, subnormal or not finite, or is outside the window, or when the state is empty,
// wide or special.
func exactShift(x, unit uint64) uint64 {
	return x>>52&0x7FF + rowdata.ExactUnitMin - 1 - unit
}

// crowded returns a number whose bit 63 says that a sum with this top word has no room.
func crowded(top uint64) uint64 { return top ^ top<<1 }

// split returns a finite double as mantissa and place, and its sign as all ones or 0.
func split(x uint64) (mantissa uint64, place int, sign uint64) {
	exponent := int(x >> 52 & 0x7FF)
	mantissa = x & (1<<52 - 1)
	if exponent > 0 {
		mantissa |= 1 << 52
		exponent--
	}
	return mantissa, exponent, uint64(int64(x) >> 63)
}

// specials returns the flags for values that are not finite.
func specials(values []uint64) (flags uint64) {
	for _, x := range values {
		switch {
		case x>>52&0x7FF != 0x7FF:
		case x<<12 != 0:
			flags |= rowdata.ExactNaN
		case x>>63 == 0:
			flags |= rowdata.ExactPlus
		default:
			flags |= rowdata.ExactMinus
		}
	}
	return flags
}

// addExact adds the values of a row to the sums of a state.
func (s *states) addExact(f *rowdata.Fold, state []uint64, x ...uint64) {
	if flags := specials(x) | state[0]&rowdata.ExactSpecial; flags != 0 {
		s.markSpecial(f, state, flags)
		return
	}
	if state[0] != rowdata.ExactWide {
		if fitWindow(f, state, x) {
			addToWindow(f, state, x)
			return
		}
		s.widen(f, state)
	}
	addToBlock(f, f.Kind.ExactBlock(state), x)
}

// markSpecial clears the sums of a state and sets flags.
func (s *states) markSpecial(f *rowdata.Fold, state []uint64, flags uint64) {
	if state[0] == rowdata.ExactWide {
		s.heap.FreeBlock(f.Kind.ExactBlock(state))
	}
	clear(exactSums(f, state))
	state[0] = state[0]&rowdata.ExactSpecial | flags
}

// exactSums returns the sums of a state that is not wide.
func exactSums(f *rowdata.Fold, state []uint64) []uint64 {
	end := len(state)
	if f.Kind != rowdata.FoldExactSum {
		end-- // the count
	}
	return state[f.Kind.ExactInputs():end]
}

// fitWindow chooses or moves the window of a state such that it takes the values. It returns false
// when no window does.
func fitWindow(f *rowdata.Fold, state, values []uint64) bool {
	for v, x := range values {
		mantissa, place, _ := split(x)
		base := place + rowdata.ExactUnitMin - int(state[v])
		switch {
		case mantissa == 0:
		case state[v] == 0:
			state[v] = unitFor(place)
		case base > 63:
			return false
		case base < 0 && !moveWindow(f, state, v, unitFor(place)):
			return false
		}
	}
	return hasRoom(f, state)
}

// hasRoom reports whether all sums of a state that is not wide have room.
func hasRoom(f *rowdata.Fold, state []uint64) bool {
	var full uint64
	sums := exactSums(f, state)
	for _, t := range f.Kind.ExactTerms() {
		full |= crowded(sums[t.Words()-1])
		sums = sums[t.Words():]
	}
	return full>>63 == 0
}

// moveWindow lowers the unit of an input. It returns false when the sums would then have no room.
func moveWindow(f *rowdata.Fold, state []uint64, input int, unit uint64) bool {
	down := int(state[input] - unit)
	for shift := false; ; shift = true {
		sums := exactSums(f, state)
		for _, t := range f.Kind.ExactTerms() {
			sum := sums[:t.Words()]
			sums = sums[t.Words():]
			n := down * t[input]
			if shift {
				shiftLeft(sum, n)
			} else if size := signedBits(sum); size > 0 && size+n > 64*len(sum)-2 {
				return false
			}
		}
		if shift {
			state[input] = unit
			return true
		}
	}
}

// addToWindow adds values that fit the window.
func addToWindow(f *rowdata.Fold, state, values []uint64) {
	var shifted [2][2]uint64
	var signs [2]uint64
	for v, x := range values {
		mantissa, place, sign := split(x)
		signs[v] = sign
		if mantissa != 0 {
			shift := place + rowdata.ExactUnitMin - int(state[v])
			shifted[v] = [2]uint64{mantissa << shift, mantissa >> 1 >> (63 - shift)}
		}
	}
	sums := exactSums(f, state)
	for _, t := range f.Kind.ExactTerms() {
		product, sign := productOf(t, shifted[0][:], shifted[1][:], signs)
		addSigned(sums[:t.Words()], product[:t.Words()], sign)
		sums = sums[t.Words():]
	}
}

// addToBlock adds values to the sums of a wide state.
func addToBlock(f *rowdata.Fold, block, values []uint64) {
	var mantissas [2][1]uint64
	var places [2]int
	var signs [2]uint64
	for v, x := range values {
		mantissas[v][0], places[v], signs[v] = split(x)
	}
	for _, t := range f.Kind.ExactTerms() {
		product, sign := productOf(t, mantissas[0][:], mantissas[1][:], signs)
		addAt(block[:t.BlockWords()], product[:t.Degree()], t[0]*places[0]+t[1]*places[1], sign)
		block = block[t.BlockWords():]
	}
}

// productOf returns the product of x and y to the powers of a term, and its sign.
func productOf(t rowdata.ExactTerm, x, y []uint64, signs [2]uint64) (product [8]uint64, sign uint64) {
	words := 0
	for v, factor := range [2][]uint64{x, y} {
		for range t[v] {
			sign ^= signs[v]
			if words == 0 {
				copy(product[:], factor)
			} else {
				before := product
				multiply(product[:words+len(factor)], before[:words], factor)
			}
			words += len(factor)
		}
	}
	return product, sign
}

// widen moves the sums of a state from its window to a block.
func (s *states) widen(f *rowdata.Fold, state []uint64) {
	invariants.Sometimes("cpuagg: an exact sum outgrows its window")
	block := s.heap.AllocBlock(f.Kind.ExactBlockWords())
	addWindowToBlock(f, block, state)
	clear(exactSums(f, state))
	state[0] = rowdata.ExactWide
	state[f.Kind.ExactInputs()] = rowdata.Address(block)
}

// addWindowToBlock adds the sums of a state that is not wide to the block of a wide state.
func addWindowToBlock(f *rowdata.Fold, block, state []uint64) {
	var buf [exactStateWords]uint64
	sums := exactSums(f, state)
	for _, t := range f.Kind.ExactTerms() {
		size := buf[:t.Words()]
		sign := magnitude(size, sums[:t.Words()])
		at := 0
		for v := range f.Kind.ExactInputs() {
			at += t[v] * (int(state[v]) - rowdata.ExactUnitMin)
		}
		if signedBits(sums[:t.Words()]) > 0 { // else an input may have no unit yet
			addAt(block[:t.BlockWords()], size, at, sign)
		}
		sums, block = sums[t.Words():], block[t.BlockWords():]
	}
}

// mergeExact adds a state that may refer to another heap to a state of s.
func (s *states) mergeExact(f *rowdata.Fold, state, from []uint64) {
	if f.Kind != rowdata.FoldExactSum {
		state[len(state)-1] += from[len(from)-1]
	}
	if flags := (state[0] | from[0]) & rowdata.ExactSpecial; flags != 0 {
		s.markSpecial(f, state, flags)
		return
	}
	if state[0] != rowdata.ExactWide && from[0] != rowdata.ExactWide && mergeWindows(f, state, from) {
		return
	}
	if state[0] != rowdata.ExactWide {
		s.widen(f, state)
	}
	block := f.Kind.ExactBlock(state)
	if from[0] != rowdata.ExactWide {
		addWindowToBlock(f, block, from)
		return
	}
	other := f.Kind.ExactBlock(from)
	for _, t := range f.Kind.ExactTerms() {
		addWords(block[:t.BlockWords()], other[:t.BlockWords()])
		block, other = block[t.BlockWords():], other[t.BlockWords():]
	}
}

// mergeWindows adds a state to another, both not wide. It returns false when no window takes both.
func mergeWindows(f *rowdata.Fold, state, from []uint64) bool {
	var buf [exactStateWords]uint64
	for v := range f.Kind.ExactInputs() {
		switch {
		case state[v] == from[v] || from[v] == 0:
		case state[v] == 0:
			state[v] = from[v]
		case from[v] < state[v]:
			if !moveWindow(f, state, v, from[v]) {
				return false
			}
		default:
			from = buf[:copy(buf[:], from)]
			if !moveWindow(f, from, v, state[v]) {
				return false
			}
		}
	}
	if !hasRoom(f, state) || !hasRoom(f, from) {
		return false
	}
	sums, others := exactSums(f, state), exactSums(f, from)
	for _, t := range f.Kind.ExactTerms() {
		addWords(sums[:t.Words()], others[:t.Words()])
		sums, others = sums[t.Words():], others[t.Words():]
	}
	return true
}
