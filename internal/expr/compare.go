package expr

import (
	"cmp"
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// comparison binds = <> < <= > >=.
func comparison(sign string) binding {
	return func(b *binder, n *node) {
		b.unify(n)
		n.typ = typeOf(Bool)
		n.eval = compareKernel(sign, n.args[0], n.args[1])
	}
}

// compareKernel compares two arguments of one type. > and >= swap the arguments of < and <=.
func compareKernel(sign string, left, right *node) kernel {
	switch sign {
	case ">":
		sign, left, right = "<", right, left
	case ">=":
		sign, left, right = "<=", right, left
	}
	kind := left.typ.kind()
	equality := sign == "=" || sign == "<>"
	if equality && left.value == "" {
		left, right = right, left
	}
	if equality && right.value == "" {
		return compareEmpty(sign, left)
	}
	return binary(&node{args: []*node{left, right}}, bitKind, func(f *frame, a, b, out *vector) error {
		f.compare(sign, kind, out.bits, a, b)
		return nil
	})
}

// compareEmpty compares strings with the empty string, without a look at their bytes. Where nothing
// else has loaded the strings of a column, its offsets or views alone are read.
func compareEmpty(sign string, of *node) kernel {
	return func(f *frame) (*vector, error) {
		out := f.e.vector(bitKind, f.n)
		if of.column < 0 || f.loaded[of.column] != nil || !f.areEmpty(out, f.e.arrays[of.column]) {
			texts, err := f.eval(of)
			if err != nil {
				return nil, err
			}
			out.null = texts.null
			bitsWhere(out.bits, f.n, func(i int) bool { return len(texts.texts[i]) == 0 })
		}
		if sign == "<>" {
			out.invert()
		}
		return out, nil
	}
}

// areEmpty finds which strings of the frame's rows are empty. It reports whether it could.
func (f *frame) areEmpty(out *vector, arr arrow.Array) bool {
	if f.rows != nil {
		return false
	}
	switch a := arr.(type) {
	case interface{ ValueOffsets() []int32 }:
		emptyBetween(out.bits, a.ValueOffsets()[f.from:f.from+f.n+1])
	case interface{ ValueOffsets() []int64 }:
		emptyBetween(out.bits, a.ValueOffsets()[f.from:f.from+f.n+1])
	case array.ViewLike:
		views := viewsOf(arr)[f.from : f.from+f.n]
		bitsWhere(out.bits, f.n, func(i int) bool { return views[i].Len() == 0 })
	default:
		return false
	}
	out.null = f.nulls(arr)
	return true
}

// emptyBetween sets the bits of the strings that have no bytes between two offsets.
func emptyBetween[O int32 | int64](out []uint64, offsets []O) {
	ends := offsets[1:]
	bitsWhere(out, len(ends), func(i int) bool { return offsets[i] == ends[i] })
}

// bitsWhere sets the bits of n rows: 1 where a condition holds.
func bitsWhere(out []uint64, n int, is func(i int) bool) {
	for w := range out {
		var m uint64
		for i := w << 6; i < min(w<<6+64, n); i++ {
			m |= bitOf(is(i)) << (i & 63)
		}
		out[w] = m
	}
}

// compare sets the bits of the rows at which two vectors of a kind compare by = <> < or <=.
func (f *frame) compare(sign string, k kind, out []uint64, a, b *vector) {
	switch k {
	case bitKind:
		compareBits(sign, out, a.bits, b.bits)
	case intKind:
		compareAll(sign, out, a.ints, b.ints)
	case floatKind:
		x, y := f.e.ints.get(f.n), f.e.ints.get(f.n)
		orderFloats(x, a.floats)
		orderFloats(y, b.floats)
		compareAll(sign, out, x, y)
	case wideKind:
		compareWides(sign, out, a.wides, b.wides)
	case textKind:
		compareAll(sign, out, a.texts, b.texts)
	}
}

// compareAll compares all rows of a, NULLs too.
func compareAll[T cmp.Ordered](sign string, out []uint64, a, b []T) {
	b = b[:len(a)]
	for w := range out {
		x := a[w<<6 : min(w<<6+64, len(a))]
		y := b[w<<6:][:len(x)]
		var m uint64
		switch sign {
		case "=", "<>":
			for i := range x {
				m |= bitOf(x[i] == y[i]) << (i & 63)
			}
		case "<":
			for i := range x {
				m |= bitOf(x[i] < y[i]) << (i & 63)
			}
		case "<=":
			for i := range x {
				m |= bitOf(x[i] <= y[i]) << (i & 63)
			}
		}
		if sign == "<>" {
			m = ^m
		}
		out[w] = m
	}
}

// bitOf is compiled without a branch.
func bitOf(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

func compareWides(sign string, out []uint64, a, b []wide) {
	for i := range a {
		c := a[i].Cmp(b[i])
		is := c == 0
		switch sign {
		case "<>":
			is = c != 0
		case "<":
			is = c < 0
		case "<=":
			is = c <= 0
		}
		out[i>>6] |= bitOf(is) << (i & 63)
	}
}

func compareBits(sign string, out, a, b []uint64) {
	for w := range out {
		switch sign {
		case "=":
			out[w] = ^(a[w] ^ b[w])
		case "<>":
			out[w] = a[w] ^ b[w]
		case "<":
			out[w] = ^a[w] & b[w]
		case "<=":
			out[w] = ^a[w] | b[w]
		}
	}
}

// orderFloats maps doubles to integers that compare as SQL's doubles do: -0.0 is 0.0, every NaN is
// equal to itself and above all numbers.
func orderFloats(out []int64, values []float64) {
	for i, v := range values[:len(out)] {
		out[i] = orderFloat(v)
	}
}

func orderFloat(v float64) int64 {
	if v != v {
		return math.MaxInt64
	}
	w := int64(math.Float64bits(v + 0)) // -0.0 + 0 is 0.0
	return w ^ int64(uint64(w>>63)>>1)
}

// distinctness binds IS DISTINCT FROM and IS NOT DISTINCT FROM, where NULL is a value.
func distinctness(distinct bool) binding {
	return func(b *binder, n *node) {
		k := b.unify(n).kind()
		n.typ = typeOf(Bool)
		n.eval = binary(n, bitKind, func(f *frame, a, b, out *vector) error {
			f.compare("=", k, out.bits, a, b)
			for w := range out.bits {
				x, y := a.nullWord(w), b.nullWord(w)
				out.bits[w] = out.bits[w]&^(x|y) | x&y
			}
			out.null = nil
			if distinct {
				out.invert()
			}
			return nil
		})
	}
}

// between binds x BETWEEN low AND high.
func between(b *binder, n *node) {
	b.unify(n)
	n.typ = typeOf(Bool)
	x, least, most := n.args[0], n.args[1], n.args[2]
	low := &node{typ: n.typ, column: -1, single: -1, args: n.args[:2:2], fallible: x.fallible || least.fallible}
	low.eval = compareKernel(">=", x, least)
	high := &node{typ: n.typ, column: -1, single: -1, args: []*node{x, most}, fallible: x.fallible || most.fallible}
	high.eval = compareKernel("<=", x, most)
	n.eval = func(f *frame) (*vector, error) { return f.and(low, high, false) }
}

// membership binds x IN (...).
func membership(b *binder, n *node) {
	if len(n.args) == 2 && n.args[1].typ.ID == List && n.args[0].typ.ID != List { // x IN [a, b]
		n.args[0], n.args[1] = n.args[1], n.args[0]
		listContains(b, n)
		return
	}
	k := b.unify(n).kind()
	n.typ = typeOf(Bool)
	if k == bitKind || slices.ContainsFunc(n.args[1:], func(a *node) bool { return !a.isConst }) {
		n.eval = memberOfMany(n)
		return
	}
	switch k {
	case intKind:
		n.eval = memberOf(n, func(x int64) int64 { return x })
	case floatKind:
		n.eval = memberOf(n, orderFloat)
	case wideKind:
		n.eval = memberOf(n, func(x wide) wide { return x })
	case textKind:
		n.eval = memberOf(n, func(x string) string { return x })
	}
}

// membersFew is how many constants a value is compared with faster than it is looked up among.
const membersFew = 4

// memberOf looks values up in a set of constants; values that are equal in SQL have the same key.
func memberOf[A element, K comparable](n *node, key func(A) K) kernel {
	set := map[K]bool{}
	var list []K
	for _, a := range n.args[1:] {
		if a.value != nil {
			k := key(a.value.(A))
			set[k] = true
			list = append(list, k)
		}
	}
	has := func(x A) bool { return set[key(x)] }
	if len(list) <= membersFew {
		has = func(x A) bool {
			k := key(x)
			for _, y := range list { // slices.Contains is a call for each row
				if k == y {
					return true
				}
			}
			return false
		}
	}
	test := test1(n, has)
	if !slices.ContainsFunc(n.args[1:], isNull) {
		return test
	}
	return func(f *frame) (*vector, error) {
		out, err := test(f)
		if err != nil {
			return nil, err
		}
		null := f.e.bitmap(f.n)
		for w := range null {
			null[w] = ^out.bits[w] // a value that is not found may be equal to the NULL
		}
		out.null = f.e.union(out, &vector{null: null})
		return out, nil
	}
}

// memberOfMany is x = a OR x = b ...
func memberOfMany(n *node) kernel {
	equals := make([]kernel, len(n.args)-1)
	for i, a := range n.args[1:] {
		equals[i] = compareKernel("=", n.args[0], a)
	}
	return func(f *frame) (*vector, error) {
		out := f.e.vector(bitKind, f.n)
		for _, equal := range equals {
			v, err := equal(f)
			if err != nil {
				return nil, err
			}
			f.e.either(out, v)
		}
		return out, nil
	}
}
