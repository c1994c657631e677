package hostdevice

import (
	"math"
	"math/bits"
	"slices"

	"github.com/mpga/mpga/kernels"
)

// states are the states of a fold, by group: words from offset on, every stride words.
type states struct {
	words  []uint64
	stride int
	offset int
}

func (s *states) at(group, words int) []uint64 {
	i := group*s.stride + s.offset
	return s.words[i : i+words : i+words]
}

const sign = 1 << 63

var nan = math.Float64bits(math.NaN()) &^ 1 // without a payload

func float(w uint64) float64 { return math.Float64frombits(w) }
func word(f float64) uint64  { return math.Float64bits(f) }

// ordered maps a value of a type to a word in unsigned order: -0 is 0, NaN is the last.
func ordered(t kernels.ColumnType, w uint64) uint64 {
	switch t {
	case kernels.Uint32, kernels.Uint64:
		return w
	case kernels.Float64:
		switch f := float(w); {
		case f != f:
			return nan | sign
		case f == 0:
			return sign
		case w&sign != 0:
			return ^w
		}
		return w | sign
	}
	return w ^ sign
}

// unordered is the inverse of ordered.
func unordered(t kernels.ColumnType, w uint64) uint64 {
	switch t {
	case kernels.Uint32, kernels.Uint64:
		return w
	case kernels.Float64:
		if w&sign == 0 {
			return ^w
		}
	}
	return w ^ sign
}

// identities are the states of Min and Max without values, by type: the greatest value, and the
// least.
var identities = [...]struct{ min, max uint64 }{
	kernels.Int32:   {math.MaxInt32, 0xffffffff80000000},
	kernels.Uint32:  {math.MaxUint32, 0},
	kernels.Int64:   {math.MaxInt64, sign},
	kernels.Uint64:  {math.MaxUint64, 0},
	kernels.Float64: {nan, word(math.Inf(-1))},
}

// folder accumulates one fold of a shape.
type folder struct {
	kernels.Fold
	words     int
	typ       kernels.ColumnType // of the column
	otherType kernels.ColumnType
}

func folders(shape *kernels.Shape) []folder {
	out := make([]folder, len(shape.Folds))
	for i, f := range shape.Folds {
		out[i] = folder{Fold: f, words: f.Words()}
		if f.Column >= 0 {
			out[i].typ = shape.Columns[f.Column]
		}
		if f.Other >= 0 {
			out[i].otherType = shape.Columns[f.Other]
		}
	}
	return out
}

// reset makes a state the state of no rows.
func (f *folder) reset(state []uint64) {
	clear(state)
	switch f.Op {
	case kernels.Min:
		state[0] = identities[f.typ].min
	case kernels.Max:
		state[0] = identities[f.typ].max
	case kernels.BitAnd:
		state[0] = math.MaxUint64
	}
}

// load returns a value's low word, extended by its sign, and the word above.
func load(t kernels.ColumnType, column []byte, row int) (low, high uint64) {
	switch t {
	case kernels.Int32:
		low = uint64(view[int32](column)[row])
	case kernels.Uint32:
		return uint64(view[uint32](column)[row]), 0
	case kernels.Int128:
		w := view[uint64](column)
		return w[2*row], w[2*row+1]
	case kernels.Uint64, kernels.Float64:
		return view[uint64](column)[row], 0
	default:
		low = view[uint64](column)[row]
	}
	return low, uint64(int64(low) >> 63)
}

func loadFloat(t kernels.ColumnType, column []byte, row int) float64 {
	low, high := load(t, column, row)
	switch t {
	case kernels.Float64:
		return float(low)
	case kernels.Uint32, kernels.Uint64:
		return float64(low)
	case kernels.Int128:
		return float128(low, high)
	}
	return float64(int64(low))
}

// float128 converts the magnitude: the low word of a small negative number is near 2^64, and would
// lose all of its digits.
func float128(low, high uint64) float64 {
	if int64(high) >= 0 {
		return float64(high)*0x1p64 + float64(low)
	}
	low, borrow := bits.Sub64(0, low, 0)
	high, _ = bits.Sub64(0, high, borrow)
	return -(float64(high)*0x1p64 + float64(low))
}

// row sets w to the state of one row; false, when the row does not count for the fold.
func (f *folder) row(r *rows, i int, w []uint64) bool {
	if f.Column >= 0 && !r.isValid(f.Column, i) || f.Other >= 0 && !r.isValid(f.Other, i) {
		return false
	}
	switch f.Op {
	case kernels.Count:
		w[0] = 1
	case kernels.Sum128:
		w[0], w[1] = load(f.typ, r.columns[f.Column], i)
	case kernels.SumFloat:
		w[0] = word(loadFloat(f.typ, r.columns[f.Column], i))
	case kernels.SumExact:
		low, _ := load(f.typ, r.columns[f.Column], i)
		w[0], w[1] = exactWords(low, f.Unit)
	case kernels.MinN, kernels.MaxN:
		clear(w)
		low, _ := load(f.typ, r.columns[f.Column], i)
		w[0], w[1] = 1, ordered(f.typ, low)
		if f.Op == kernels.MinN {
			w[1] = ^w[1]
		}
	case kernels.Moments2, kernels.Moments4:
		x := loadFloat(f.typ, r.columns[f.Column], i)
		w[0], w[1] = 1, word(x)
		setAll(w[2:], x-x)
	case kernels.Comoments:
		x, y := loadFloat(f.typ, r.columns[f.Column], i), loadFloat(f.otherType, r.columns[f.Other], i)
		w[0], w[1], w[2] = 1, word(x), word(y)
		setAll(w[3:], x-x+(y-y))
	default:
		w[0], _ = load(f.typ, r.columns[f.Column], i)
	}
	return true
}

// addRow merges the state of a row, if the row counts for the fold, with a state.
func (f *folder) addRow(state []uint64, r *rows, i int) {
	var buffer [8]uint64
	if w := buffer[:f.words]; f.row(r, i, w) {
		f.merge(state, w)
	}
}

// exact returns the mantissa of a double, and where its lowest bit is, counted from 2^-1074.
func exact(w uint64) (mantissa uint64, place int) {
	mantissa, place = w&(1<<52-1), int(w>>52&0x7FF)
	if place > 0 {
		mantissa |= 1 << 52
		place--
	}
	return mantissa, place
}

// exactWords returns a double in units of 2^(unit-1074), in two's complement of 128 bits.
func exactWords(w uint64, unit int) (low, high uint64) {
	mantissa, place := exact(w)
	switch by := place - unit; { // a shift by 64 or more gives 0
	case by < 0:
		low = mantissa >> -by
	case by < 64:
		low, high = mantissa<<by, mantissa>>(64-by)
	default:
		high = mantissa << (by - 64)
	}
	if w&sign != 0 {
		var borrow uint64
		low, borrow = bits.Sub64(0, low, 0)
		high, _ = bits.Sub64(0, high, borrow)
	}
	return low, high
}

// setAll sets the sums of one row's moments: 0, but NaN where the value is not finite.
func setAll(w []uint64, d float64) {
	for i := range w {
		w[i] = word(d)
	}
}

// merge adds a state to another.
func (f *folder) merge(state, from []uint64) {
	switch f.Op {
	case kernels.Count, kernels.Sum64:
		state[0] += from[0]
	case kernels.Sum128, kernels.SumExact:
		var carry uint64
		state[0], carry = bits.Add64(state[0], from[0], 0)
		state[1] += from[1] + carry
	case kernels.SumFloat:
		state[0] = word(float(state[0]) + float(from[0]))
	case kernels.Min:
		state[0] = unordered(f.typ, min(ordered(f.typ, state[0]), ordered(f.typ, from[0])))
	case kernels.Max:
		state[0] = unordered(f.typ, max(ordered(f.typ, state[0]), ordered(f.typ, from[0])))
	case kernels.BitAnd:
		state[0] &= from[0]
	case kernels.BitOr:
		state[0] |= from[0]
	case kernels.BitXor:
		state[0] ^= from[0]
	case kernels.MinN, kernels.MaxN:
		state[0] += from[0]
		for _, w := range from[1:] {
			for i := 1; i < len(state); i++ {
				state[i], w = max(state[i], w), min(state[i], w)
			}
		}
	case kernels.Moments2, kernels.Moments4, kernels.Comoments:
		switch {
		case from[0] == 0:
		case state[0] == 0:
			copy(state, from)
		case f.Op == kernels.Comoments:
			mergeComoments(state, from)
		default:
			mergeMoments(state, from)
		}
	}
}

func add(w *uint64, f float64) { *w = word(float(*w) + f) }

// mergeMoments expresses the sums of from about the shift of state, by the binomial theorem.
func mergeMoments(state, from []uint64) {
	n, d := float64(from[0]), float(from[1])-float(state[1])
	s1, s2 := float(from[2]), float(from[3])
	state[0] += from[0]
	add(&state[2], s1+n*d)
	add(&state[3], s2+2*d*s1+n*d*d)
	if len(state) > 4 {
		s3, s4 := float(from[4]), float(from[5])
		add(&state[4], s3+3*d*s2+3*d*d*s1+n*d*d*d)
		add(&state[5], s4+4*d*s3+6*d*d*s2+4*d*d*d*s1+n*d*d*d*d)
	}
}

// mergeComoments does so for n, Kx, Ky and the sums of dx, dy, dx^2, dy^2, dx dy.
func mergeComoments(state, from []uint64) {
	n := float64(from[0])
	ex, ey := float(from[1])-float(state[1]), float(from[2])-float(state[2])
	sx, sy := float(from[3]), float(from[4])
	state[0] += from[0]
	add(&state[3], sx+n*ex)
	add(&state[4], sy+n*ey)
	add(&state[5], float(from[5])+2*ex*sx+n*ex*ex)
	add(&state[6], float(from[6])+2*ey*sy+n*ey*ey)
	add(&state[7], float(from[7])+ex*sy+ey*sx+n*ex*ey)
}

// sorted writes the states of a fold that needs the values of a group in order. gids is the group of each
// row, and place where the state of each group goes.
func (f *folder) sorted(to *states, in *rows, gids, place []int) {
	values := make([][]uint64, len(place))
	for row, group := range gids {
		if group != noGroup && in.isValid(f.Column, row) {
			w, _ := load(f.typ, in.columns[f.Column], row)
			values[group] = append(values[group], ordered(f.typ, w))
		}
	}
	for group, v := range values {
		slices.Sort(v)
		state := to.at(place[group], f.words)
		f.reset(state)
		switch n := len(v); {
		case f.Op == kernels.CountDistinct:
			state[0] = uint64(len(slices.Compact(v)))
		case n > 0:
			at := quantileAt(f.Op, f.Fraction, n)
			next := at
			if f.Op == kernels.QuantileCont {
				next = min(at+1, n-1)
			}
			state[0], state[1], state[2] = uint64(n), v[at], v[next]
		}
	}
}

// quantileAt returns where a quantile lies among n values in order, from 0 on.
func quantileAt(op kernels.FoldOp, fraction float64, n int) int {
	all := float64(n)
	if op == kernels.QuantileCont {
		return int(math.Floor(fraction * (all - 1)))
	}
	return max(n-int(math.Floor(all-float64(fraction*all)))-1, 0)
}
