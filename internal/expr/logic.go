package expr

import (
	"math/bits"

	"github.com/apache/arrow-go/v18/arrow/array"
)

// X1: a truth value is a bit, and a bit among the NULLs. A row that is NULL may have any bit.

// either puts a OR b into a.
func (e *Evaluator) either(a, b *vector) {
	if a.null == nil && b.null == nil {
		for w := range a.bits {
			a.bits[w] |= b.bits[w]
		}
		return
	}
	null := e.bitmap(a.n)
	for w := range a.bits {
		x, y, nx, ny := a.bits[w], b.bits[w], a.nullWord(w), b.nullWord(w)
		trues := x&^nx | y&^ny
		a.bits[w] = trues
		null[w] = (nx | ny) &^ trues
	}
	a.null = null
}

// invert puts NOT a into a.
func (v *vector) invert() {
	for w := range v.bits {
		v.bits[w] = ^v.bits[w]
	}
}

// ownBits returns a copy of a vector of bits, which may be written to; its NULLs are shared.
func (f *frame) ownBits(v *vector) *vector {
	out := f.e.vector(bitKind, f.n)
	copy(out.bits, v.bits)
	out.null = v.null
	return out
}

// and evaluates the right condition for the rows that the left one leaves open. Negated, it is OR,
// as the negation of NOT left AND NOT right.
func (f *frame) and(left, right *node, negated bool) (*vector, error) {
	a, err := f.eval(left)
	if err != nil {
		return nil, err
	}
	out := f.ownBits(a)
	if negated {
		out.invert()
	}
	open := f.e.bitmap(f.n) // TRUE or NULL so far
	for w := range open {
		open[w] = out.bits[w] | out.nullWord(w)
	}
	count := countBits(open, f.n)
	if count > 0 {
		b, err := f.condition(right, open, count)
		if err != nil {
			return nil, err
		}
		b = f.ownBits(b)
		if negated {
			b.invert()
		}
		f.e.both(out, b, open)
	}
	if negated {
		out.invert()
	}
	return out, nil
}

// condition evaluates a condition for all rows, or, if that may give an error or few rows are open,
// for the open rows alone. It is FALSE or anything for all other rows.
func (f *frame) condition(n *node, open []uint64, count int) (*vector, error) {
	if count == f.n || !n.fallible && count > f.n/f.atOnce(n) {
		return f.eval(n)
	}
	v, err := f.sub(n, open, count)
	if err != nil {
		return nil, err
	}
	return f.spread(v, open), nil
}

// atOnce returns k: a condition that is wanted for less than 1/k of the rows is evaluated for these
// alone. Looking up the values of a dictionary's entries takes as long as gathering rows.
func (f *frame) atOnce(n *node) int {
	if n.single >= 0 {
		if _, ok := f.e.arrays[n.single].(*array.Dictionary); ok {
			return 16
		}
	}
	return 4
}

// both puts a AND b into a. Only the open rows have a value in b; a is FALSE for all other rows.
func (e *Evaluator) both(a, b *vector, open []uint64) {
	if a.null == nil && b.null == nil {
		for w := range a.bits {
			a.bits[w] &= b.bits[w]
		}
		return
	}
	null := e.bitmap(a.n)
	for w := range a.bits {
		nx, ny := a.nullWord(w), b.nullWord(w)
		maybe := (a.bits[w] | nx) & (b.bits[w] | ny) & open[w]
		null[w] = maybe & (nx | ny)
		a.bits[w] = maybe &^ null[w]
	}
	a.null = null
}

// spread puts the values of the selected rows in their places; all other rows are FALSE.
func (f *frame) spread(v *vector, selected []uint64) *vector {
	out := f.e.vector(bitKind, f.n)
	deposit(out.bits, v.bits, selected, f.n)
	if v.null != nil {
		out.null = f.e.bitmap(f.n)
		deposit(out.null, v.null, selected, f.n)
	}
	return out
}

// deposit sets the bits of the selected rows: values has a bit for each of them, in order.
func deposit(out, values, selected []uint64, n int) {
	next := 0 // of the values
	for w := range wordsOf(n) {
		open := selected[w]
		if w == wordsOf(n)-1 {
			open &= lastMask(n)
		}
		if open == 0 {
			continue
		}
		word := values[next>>6] >> (next & 63)
		count := bits.OnesCount64(open)
		if next&63+count > 64 {
			word |= values[next>>6+1] << (64 - next&63)
		}
		next += count
		if word&(1<<count-1) == 0 {
			continue
		}
		for ; open != 0; open &= open - 1 {
			out[w] |= open & -open & -(word & 1)
			word >>= 1
		}
	}
}

// conjunction binds AND, and OR, of two or more conditions.
func conjunction(negated bool) binding {
	return func(b *binder, n *node) {
		n.typ = typeOf(Bool)
		b.castArgs(n, n.typ)
		left := n.args[0]
		for _, right := range n.args[1:] {
			l, r := left, right
			left = &node{typ: n.typ, column: -1, single: -1, args: []*node{l, r}, fallible: l.fallible || r.fallible}
			left.eval = func(f *frame) (*vector, error) { return f.and(l, r, negated) }
			if l.single == r.single && l.single >= 0 {
				left.single, left.slot = l.single, b.newSlot()
			}
		}
		n.eval = left.eval
	}
}

func inversion(b *binder, n *node) {
	n.typ = typeOf(Bool)
	n.eval = unary(n, bitKind, func(_ *frame, a, out *vector) error {
		copy(out.bits, a.bits)
		out.invert()
		return nil
	})
	b.castArgs(n, n.typ)
}

// nullTest binds IS NULL and IS NOT NULL.
func nullTest(isNull bool) binding {
	return func(_ *binder, n *node) {
		n.typ = typeOf(Bool)
		test := func(out *vector, null []uint64) {
			copy(out.bits, null)
			out.null = nil
			if !isNull {
				out.invert()
			}
		}
		ofValues := unary(n, bitKind, func(_ *frame, a, out *vector) error {
			test(out, a.null)
			return nil
		})
		n.eval = func(f *frame) (*vector, error) {
			c := n.args[0].column
			if c < 0 {
				return ofValues(f)
			}
			if _, coded := f.e.arrays[c].(*array.Dictionary); coded {
				return ofValues(f)
			}
			out := f.e.vector(bitKind, f.n)
			test(out, f.nulls(f.e.arrays[c])) // without the values, which may give an error
			return out, nil
		}
	}
}

// truthTest binds IS [NOT] TRUE and IS [NOT] FALSE, which are never NULL.
func truthTest(want, negated bool) binding {
	return func(b *binder, n *node) {
		n.typ = typeOf(Bool)
		n.eval = unary(n, bitKind, func(_ *frame, a, out *vector) error {
			copy(out.bits, a.bits)
			if !want {
				out.invert()
			}
			for w := range a.null {
				out.bits[w] &^= a.null[w]
			}
			out.null = nil
			if negated {
				out.invert()
			}
			return nil
		})
		b.castArgs(n, n.typ)
	}
}
