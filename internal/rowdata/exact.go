package rowdata

// An exact fold sums products of powers of its inputs without rounding, so that neither the order
// of the rows nor the way in which they are split changes a bit of the result. It is a fixed-point
// accumulator (Kulisch; Neal, "Fast exact summation using small and large superaccumulators",
// arXiv:1505.05571, 2015), narrowed to a window: the values of most groups have similar exponents,
// and their sums then fit two words per degree of the term. A state is
//
//	| unit of each input, 1 or 2 words | sums of the terms | count, but for FoldExactSum |
//
// A unit is 0 until a value other than zero arrives; then the sums are two's complement integers,
// low word first, of 2*degree words, and inputs count as multiples of
//
//	2^(unit - ExactUnitMin - 1074)
//
// A value that does not fit the window turns the first word to ExactWide: the word after the units
// is then the address of a block of ExactBlockWords, which holds the sums with the range of all
// doubles, in units of 2^-1074 to the power of the degree. A value that is NaN or infinite turns
// the first word to flags of ExactSpecial; the other words but the count are then without meaning.

// First words of an exact state that are not a unit.
const (
	ExactWide    = 1 << 32
	ExactNaN     = 1 << 61
	ExactPlus    = 1 << 62 // +Inf was seen
	ExactMinus   = 1 << 63 // -Inf was seen
	ExactSpecial = ExactNaN | ExactPlus | ExactMinus
)

// ExactUnitMin is the unit that stands for 2^-1074, the least double. It is above 64, so that no
// value seems to fit the window of an empty state, whose unit is 0 (cpuagg's exactShift).
const ExactUnitMin = 65

// ExactUnitMax is the unit of the largest doubles: a mantissa shifted by up to 63 bits reaches all
// of them, and an exponent of NaN or an infinity is past it.
const ExactUnitMax = ExactUnitMin + doublePlaces - 64

// doublePlaces counts the places that the lowest bit of a finite double's mantissa can have.
const doublePlaces = 2046

// ExactTerm is a product of powers of an exact fold's inputs.
type ExactTerm [2]int

// Degree returns the sum of the powers.
func (t ExactTerm) Degree() int { return t[0] + t[1] }

// Words returns how many words the term's sum takes in a state.
func (t ExactTerm) Words() int { return 2 * t.Degree() }

// BlockWords returns how many words the term's sum takes in a block: room for 2^63 times the
// largest product of doubles, and for a sign.
func (t ExactTerm) BlockWords() int { return (t.Degree()*(doublePlaces+52) + 63 + 1 + 63) / 64 }

// exactTerms lists the terms of exact folds.
var exactTerms = [...][]ExactTerm{
	FoldExactSum:       {{1, 0}},
	FoldExactMoments2:  {{1, 0}, {2, 0}},
	FoldExactMoments4:  {{1, 0}, {2, 0}, {3, 0}, {4, 0}},
	FoldExactComoments: {{1, 0}, {0, 1}, {2, 0}, {0, 2}, {1, 1}},
}

// Exact reports whether a fold of this kind is exact.
func (k FoldKind) Exact() bool { return k >= FoldExactSum && k <= FoldExactComoments }

// ExactTerms lists the terms whose sums the states of an exact fold hold, in their order.
func (k FoldKind) ExactTerms() []ExactTerm { return exactTerms[k] }

// ExactInputs returns how many inputs an exact fold has.
func (k FoldKind) ExactInputs() int {
	if k == FoldExactComoments {
		return 2
	}
	return 1
}

// exactWords returns how many words a state of an exact fold takes.
func (k FoldKind) exactWords() int {
	n := k.ExactInputs()
	for _, t := range exactTerms[k] {
		n += t.Words()
	}
	if k != FoldExactSum {
		n++
	}
	return n
}

// ExactBlockWords returns how many words the block of a wide state takes.
func (k FoldKind) ExactBlockWords() int {
	n := 0
	for _, t := range exactTerms[k] {
		n += t.BlockWords()
	}
	return n
}

// ExactBlock views the block of a wide state.
func (k FoldKind) ExactBlock(state []uint64) []uint64 {
	return WordsAt(&state[k.ExactInputs()], k.ExactBlockWords())
}

// ExactSum returns the sum of one term of a state that is not special: a two's complement integer,
// low word first, and the exponent of its unit.
func (k FoldKind) ExactSum(state []uint64, term int) (sum []uint64, exponent int) {
	wide := state[0] == ExactWide
	at := k.ExactInputs()
	if wide {
		state, at = k.ExactBlock(state), 0
	}
	for _, t := range exactTerms[k][:term] {
		if wide {
			at += t.BlockWords()
		} else {
			at += t.Words()
		}
	}
	t := exactTerms[k][term]
	if wide {
		return state[at : at+t.BlockWords()], -1074 * t.Degree()
	}
	for v, power := range t[:k.ExactInputs()] {
		exponent += power * (int(state[v]) - ExactUnitMin - 1074)
	}
	return state[at : at+t.Words()], exponent
}
