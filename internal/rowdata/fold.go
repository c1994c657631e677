package rowdata

import (
	"cmp"
	"unsafe"
)

// FoldKind is a primitive accumulation: a state of a fixed number of words, a way to accumulate a
// row into a state, and an associative way to merge two states (W3). Aggregate functions are made
// of folds; functions of one query share folds. CPU and GPU hold the same states, so that each
// merges states of the other.
type FoldKind uint8

// The folds, with the words of their states. Inputs name their encoding.
const (
	// FoldCount: count. No input: counts the rows of its selection.
	FoldCount FoldKind = iota

	// FoldSumInt, FoldSumUint: the sum in 128 bits, low word first. Input: Natural.
	FoldSumInt
	FoldSumUint

	// FoldSumInt128: the sum in 192 bits, low word first. Input: Natural, Int128.
	FoldSumInt128

	// FoldSumFloat: the sum as a float64. Input: Natural, Float64.
	FoldSumFloat

	// FoldMin, FoldMax: the least and greatest word. Input: Ordered.
	FoldMin
	FoldMax

	// FoldBitAnd, FoldBitOr, FoldBitXor: one word. Input: Natural.
	FoldBitAnd
	FoldBitOr
	FoldBitXor

	// FoldMoments2: count, K, sum of (x-K), sum of (x-K)^2, where K is the group's first value:
	// the shifted-data algorithm of Chan, Golub and LeVeque (The American Statistician, 1983).
	// It needs no division per row, and loses no digits while K lies among the values.
	// Input: Double.
	FoldMoments2

	// FoldMoments4: FoldMoments2 and the sums of (x-K)^3 and (x-K)^4.
	FoldMoments4

	// FoldComoments: count, Kx, Ky, and the sums of dx, dy, dx^2, dy^2, dx*dy, with dx = x-Kx and
	// dy = y-Ky. Inputs: Double x, Double y.
	FoldComoments

	// FoldExactSum, FoldExactMoments2, FoldExactMoments4, FoldExactComoments: the sums of x; of x
	// and x^2; of x to x^4; of x, y, x^2, y^2 and xy; all exact, see ExactTerm. Inputs: Double x,
	// for co-moments also Double y.
	FoldExactSum
	FoldExactMoments2
	FoldExactMoments4
	FoldExactComoments

	// FoldBest: seen, order (1 or 2 words), tie (0 or 1 word), payload (0 to 2 words): the row that
	// comes first by order, then by least tie. Inputs: order (Ordered, or Bytes2 when Long), tie
	// (Position) when Tie, payload (Natural).
	FoldBest

	// FoldDistinct: a set: count, address of its elements, address of its index.
	// Input: Ordered, or Bytes2 when Long.
	FoldDistinct

	// FoldHistogram: a set whose elements carry their number of rows and least position.
	// Inputs: that of FoldDistinct, and Position.
	FoldHistogram

	// FoldCollect: a vector of all inputs side by side: count, address of its elements.
	FoldCollect

	// FoldTop: a vector of the Limit first values by order, as a binary heap whose root is the
	// last of these values. Input: that of FoldDistinct.
	FoldTop

	// FoldSketch: a set of hashes while they are few; then SketchDense, and the address of
	// HyperLogLog registers, one byte each. Input: Hashed.
	FoldSketch
)

// Words of the states that refer to a block.
const (
	VectorWords = 2
	SetWords    = 3
)

// QuantileWords are what is known of a group whose values a device has put in order: how many they are, the
// value at a quantile or the last one before it, and the next value, both Ordered.
const QuantileWords = 3

// SketchDense stands where a FoldSketch has its count, when it has registers.
const SketchDense = 1<<64 - 1

var foldNames = [...]string{
	FoldCount: "count", FoldSumInt: "sum in 128 bits", FoldSumUint: "sum in 128 bits",
	FoldSumInt128: "sum in 192 bits", FoldSumFloat: "sum as double", FoldMin: "min", FoldMax: "max",
	FoldBitAnd: "bitwise and", FoldBitOr: "bitwise or", FoldBitXor: "bitwise xor",
	FoldMoments2: "two moments", FoldMoments4: "four moments", FoldComoments: "co-moments",
	FoldExactSum: "exact sum", FoldExactMoments2: "two exact moments", FoldExactMoments4: "four exact moments",
	FoldExactComoments: "exact co-moments",
	FoldBest:           "best row", FoldDistinct: "set", FoldHistogram: "counted set", FoldCollect: "all values",
	FoldTop: "top values", FoldSketch: "HyperLogLog",
}

// String names the fold for people.
func (k FoldKind) String() string { return foldNames[k] }

// Encoding is how a column's values are presented to a fold.
type Encoding uint8

// The encodings. Each takes one word, but for Pair, and for Natural and Ordered of kinds of two
// words.
const (
	Natural Encoding = iota // the words of the kind
	// of Int64, Uint64, Float64: a word in unsigned order, -0 as 0, all NaNs the same and last; of
	// Int128: two such words
	Ordered
	Double   // the bits of the value as a float64, decimals scaled
	Hashed   // a 64-bit hash; equal values have equal hashes
	Position // the row's place in the input, which follows from no column
	Pair     // two words: the values of two columns as doubles, each in unsigned order
)

// Arg is one column in one encoding.
type Arg struct {
	Column   int // index into Bound.Columns; -1 for Position
	Encoding Encoding
	Words    int
	Other    int // the second column of a Pair; else 0
}

// Input is an argument in the rows of a selection.
type Input struct {
	Arg       int // index into Bound.Args
	Selection int // index into Bound.Selections
}

// Selection is a set of columns; a row is selected when no column of the set is NULL in the row.
// Only nullable columns are listed: an empty set selects every row.
type Selection []int

// Fold is one accumulation of a query.
type Fold struct {
	Kind      FoldKind
	Selection int
	Inputs    []int // indexes into Bound.Inputs, all of the fold's selection
	Words     int   // of the state

	Long         bool // the first input is a Bytes2, to be compared by its bytes
	Wide         bool // the first input is an Ordered Int128
	Descending   bool // FoldBest and FoldTop keep the greatest values instead of the least
	Tie          bool // FoldBest has a tie word
	PayloadWords int  // of FoldBest
	PayloadLong  bool // the payload of FoldBest is a Bytes2
	ElementWords int  // that one input row adds to FoldDistinct, FoldHistogram, FoldCollect, FoldTop, FoldSketch
	Limit        int  // of FoldTop: how many values it keeps
}

// OrderWords returns how many words of the first input are compared.
func (f *Fold) OrderWords() int {
	if f.Long || f.Wide {
		return 2
	}
	return 1
}

// Grows reports whether the state refers to a block that grows with the rows.
func (f *Fold) Grows() bool { return f.Kind >= FoldDistinct }

// KeepsElements reports whether the state has its elements one by one, so that it can be cut into
// parts, which merge to the whole.
func (f *Fold) KeepsElements() bool { return f.Kind >= FoldDistinct && f.Kind <= FoldTop }

// HistogramWords is what FoldHistogram adds to each element: rows, least position.
const HistogramWords = 2

// SketchRegisterCount is how many registers a dense FoldSketch has: 2^14, for an error below 1%.
const SketchRegisterCount = 1 << 14

// SketchRegisters views the registers of a dense FoldSketch.
func SketchRegisters(state []uint64) []uint8 {
	return unsafe.Slice((*uint8)(pointer(&state[1])), SketchRegisterCount)
}

// Elements views the elements of a FoldDistinct, FoldHistogram, FoldCollect or FoldTop.
func (f *Fold) Elements(state []uint64) []uint64 {
	if state[0] == 0 {
		return nil
	}
	return WordsAt(&state[1], int(state[0])*f.ElementWords)
}

// Compare orders the first inputs of two rows, of OrderWords words each.
func (f *Fold) Compare(a, b []uint64) int {
	switch {
	case f.Long:
		return AsBytes2(a).Compare(AsBytes2(b))
	case f.Wide:
		return cmp.Or(cmp.Compare(a[1], b[1]), cmp.Compare(a[0], b[0]))
	}
	return cmp.Compare(a[0], b[0])
}

// Compare2 is Compare for elements of two words.
func (f *Fold) Compare2(a, b [2]uint64) int { return f.Compare(a[:], b[:]) }
