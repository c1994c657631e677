package expr

import (
	"errors"
	"slices"

	"github.com/mpga/mpga/engine/query"
)

// unlessNull binds constant_or_null.
func unlessNull(b *binder, n *node) {
	condition := b.made(n, "is not null", n.args[1])
	for _, a := range n.args[2:] {
		condition = b.made(n, "and", condition, b.made(n, "is not null", a))
	}
	b.becomes(n, "case", condition, n.args[0])
}

// caseOf binds CASE: conditions and results in turn, then perhaps the result of ELSE. A result is
// evaluated only for the rows that reach it, so that CASE WHEN can guard against errors.
func caseOf(b *binder, n *node) {
	var results []int
	for i := range n.args {
		if i%2 == 0 && i+1 < len(n.args) {
			b.castArg(n, i, typeOf(Bool))
		} else {
			results = append(results, i)
		}
	}
	n.typ = b.unify(n, results...)
	n.eval = func(f *frame) (*vector, error) { return f.choose(n) }
}

func (f *frame) choose(n *node) (*vector, error) {
	c := f.newChoice(n.typ.kind())
	for i := 0; i < len(n.args) && c.count > 0; i += 2 {
		if i+1 == len(n.args) {
			return c.out, c.put(f, n.args[i], c.open)
		}
		condition, err := f.condition(n.args[i], c.open, c.count)
		if err != nil {
			return nil, err
		}
		taken := f.e.bitmap(f.n)
		for w := range taken {
			taken[w] = condition.bits[w] & c.open[w] &^ condition.nullWord(w)
		}
		if err := c.put(f, n.args[i+1], taken); err != nil {
			return nil, err
		}
	}
	c.close(f)
	return c.out, nil
}

// choice is a result that is put together from parts of vectors.
type choice struct {
	out   *vector  // the result
	kind  kind     // of the result
	open  []uint64 // the rows that have no value yet
	count int      // number of open rows
}

func (f *frame) newChoice(k kind) *choice {
	c := &choice{out: f.e.vector(k, f.n), kind: k, open: f.e.bitmap(f.n), count: f.n}
	fillAll(c.open, ^uint64(0))
	c.open[len(c.open)-1] &= lastMask(f.n)
	return c
}

// put gives the rows that are taken, all of them open, the values of a node.
func (c *choice) put(f *frame, n *node, taken []uint64) error {
	count := countBits(taken, f.n)
	if count == 0 {
		return nil
	}
	dense := n.isConst || n.column >= 0 || count == f.n || !n.fallible && count > f.n/2
	v, places, err := f.among(n, taken, count, dense)
	if err != nil {
		return err
	}
	c.copy(f, v, taken, places)
	return nil
}

// among evaluates a node for all rows, or, if not dense, only for the selected rows: places then
// has the index of the value of each selected row.
func (f *frame) among(n *node, selected []uint64, count int, dense bool) (v *vector, places []int32, err error) {
	if dense {
		v, err = f.eval(n)
		return v, nil, err
	}
	v, err = f.sub(n, selected, count)
	places = f.e.rows.get(f.n)
	next := int32(0)
	eachBit(selected, f.n, func(i int) {
		places[i] = next
		next++
	})
	return v, places, err
}

// place returns the index of the value of row i; see among.
func place(places []int32, i int) int {
	if places == nil {
		return i
	}
	return int(places[i])
}

// copy gives the taken rows their values (see among), and closes the rows.
func (c *choice) copy(f *frame, v *vector, taken []uint64, places []int32) {
	switch c.kind {
	case bitKind:
		eachBit(taken, f.n, func(i int) {
			if v.bit(place(places, i)) {
				c.out.bits[i>>6] |= 1 << (i & 63)
			}
		})
	case intKind:
		eachBit(taken, f.n, func(i int) { c.out.ints[i] = v.ints[place(places, i)] })
	case floatKind:
		eachBit(taken, f.n, func(i int) { c.out.floats[i] = v.floats[place(places, i)] })
	case wideKind:
		eachBit(taken, f.n, func(i int) { c.out.wides[i] = v.wides[place(places, i)] })
	case textKind:
		eachBit(taken, f.n, func(i int) { c.out.texts[i] = v.texts[place(places, i)] })
	}
	if v.null != nil && c.out.null == nil {
		c.out.null = f.e.bitmap(f.n)
	}
	if v.null != nil {
		eachBit(taken, f.n, func(i int) {
			if v.isNull(place(places, i)) {
				c.out.null[i>>6] |= 1 << (i & 63)
			}
		})
	}
	for w := range taken {
		c.open[w] &^= taken[w]
	}
	c.count = countBits(c.open, f.n)
}

// close makes the open rows NULL.
func (c *choice) close(f *frame) {
	if c.count == 0 {
		return
	}
	if c.out.null == nil {
		c.out.null = f.e.bitmap(f.n)
	}
	for w := range c.open {
		c.out.null[w] |= c.open[w]
	}
}

// coalesce binds COALESCE, which evaluates an argument for the rows where those before it are NULL.
func coalesce(b *binder, n *node) {
	n.typ = b.unify(n)
	n.eval = func(f *frame) (*vector, error) {
		c := f.newChoice(n.typ.kind())
		for _, arg := range n.args {
			if c.count == 0 {
				break
			}
			if err := c.putPresent(f, arg); err != nil {
				return nil, err
			}
		}
		c.close(f)
		return c.out, nil
	}
}

// putPresent gives the open rows the values of a node that are not NULL.
func (c *choice) putPresent(f *frame, n *node) error {
	dense := c.count == f.n || n.isConst || n.column >= 0 || !n.fallible
	v, places, err := f.among(n, c.open, c.count, dense)
	if err != nil {
		return err
	}
	present := f.e.bitmap(f.n)
	eachBit(c.open, f.n, func(i int) {
		if !v.isNull(place(places, i)) {
			present[i>>6] |= 1 << (i & 63)
		}
	})
	c.copy(f, v, present, places)
	return nil
}

// nullIf binds NULLIF(a, b): a, or NULL where it equals b.
func nullIf(b *binder, n *node) {
	value := n.args[0]
	if value.typ.ID == Null {
		n.typ, n.isConst = typeOf(Int32), true
		return
	}
	pair := &node{args: slices.Clone(n.args), text: n.text, at: n.at}
	b.unify(pair)
	equal := compareKernel("=", pair.args[0], pair.args[1])
	n.typ = value.typ
	n.args = append([]*node{value}, pair.args...)
	n.eval = func(f *frame) (*vector, error) {
		v, err := f.eval(value)
		if err != nil {
			return nil, err
		}
		same, err := equal(f)
		if err != nil {
			return nil, err
		}
		null := f.e.bitmap(f.n)
		for w := range null {
			null[w] = same.bits[w]&^same.nullWord(w) | v.nullWord(w)
		}
		out := f.e.holding(*v)
		out.null = null
		return out, nil
	}
}

// extreme binds least and greatest, which leave NULL arguments out.
func extreme(sign string) binding {
	return func(b *binder, n *node) {
		n.typ = b.unify(n)
		n.eval = func(f *frame) (*vector, error) {
			best, err := f.eval(n.args[0])
			if err != nil {
				return nil, err
			}
			for _, arg := range n.args[1:] {
				v, err := f.eval(arg)
				if err != nil {
					return nil, err
				}
				best = f.better(sign, n.typ.kind(), v, best)
			}
			return best, nil
		}
	}
}

// better returns, row by row, a where it is before b in the order of a sign, or b is NULL, else b.
func (f *frame) better(sign string, k kind, a, b *vector) *vector {
	before := f.e.bitmap(f.n)
	x, y := a, b
	if sign == ">" {
		x, y = b, a
	}
	f.compare("<", k, before, x, y)
	c := f.newChoice(k)
	for w := range before {
		before[w] = (before[w] | b.nullWord(w)) &^ a.nullWord(w) & c.open[w]
	}
	c.copy(f, a, before, nil)
	c.copy(f, b, c.open, nil)
	return c.out
}

// attempt binds try: NULL for the rows whose values are errors.
func attempt(_ *binder, n *node) {
	n.typ, n.eval = n.args[0].typ, sameValues(n)
	if !n.args[0].fallible {
		return
	}
	n.eval = func(f *frame) (*vector, error) {
		v, err := f.eval(n.args[0])
		if !errors.Is(err, query.ErrValue) {
			return v, err
		}
		c := f.newChoice(n.typ.kind())
		if err := c.attempt(f, n.args[0], 0, f.n); err != nil {
			return nil, err
		}
		c.close(f)
		return c.out, nil
	}
}

// attempt gives the rows from one to another the values of a node, and leaves rows open whose values are errors.
func (c *choice) attempt(f *frame, n *node, from, to int) error {
	taken := f.e.bitmap(f.n)
	for i := from; i < to; i++ {
		taken[i>>6] |= 1 << (i & 63)
	}
	err := c.put(f, n, taken)
	switch {
	case !errors.Is(err, query.ErrValue):
		return err
	case to-from == 1:
		return nil
	}
	middle := (from + to) / 2
	if err := c.attempt(f, n, from, middle); err != nil {
		return err
	}
	return c.attempt(f, n, middle, to)
}
