package expr

// caseOf binds CASE: conditions and results in turn, then the result of ELSE, if there is one. A result is
// evaluated only for the rows that reach it, so that CASE WHEN can guard against errors.
func caseOf(b *binder, n *node) error {
	var results []int
	for i := range n.args {
		if i%2 == 0 && i+1 < len(n.args) {
			if err := b.castArg(n, i, typeOf(Bool)); err != nil {
				return err
			}
			continue
		}
		results = append(results, i)
	}
	t, err := b.unify(n, results)
	if err != nil {
		return err
	}
	n.typ = t
	n.eval = func(f *frame) (*vector, error) { return f.choose(n) }
	return nil
}

func (f *frame) choose(n *node) (*vector, error) {
	c := f.newChoice(n.typ.kind())
	for i := 0; i < len(n.args) && c.count > 0; i += 2 {
		if i+1 == len(n.args) {
			return c.out, c.rest(f, n.args[i])
		}
		condition, err := c.eval(f, n.args[i])
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

// choice is a result that is put together from parts of others.
type choice struct {
	out   *vector
	kind  kind
	open  []uint64 // rows that have no value yet
	count int      // of them
}

func (f *frame) newChoice(k kind) *choice {
	c := &choice{out: f.e.vector(k, f.n), kind: k, open: f.e.bitmap(f.n), count: f.n}
	for w := range c.open {
		c.open[w] = ^uint64(0)
	}
	c.open[len(c.open)-1] &= lastMask(f.n)
	return c
}

// eval evaluates a condition for the open rows; it is FALSE elsewhere, or anything.
func (c *choice) eval(f *frame, n *node) (*vector, error) {
	if c.count == f.n || !n.fallible && c.count > f.n/4 {
		return f.eval(n)
	}
	v, err := f.sub(n, c.open, c.count)
	if err != nil {
		return nil, err
	}
	return f.spread(v, c.open), nil
}

// put gives the rows that are taken, all of them open, the values of a node.
func (c *choice) put(f *frame, n *node, taken []uint64) error {
	count := countBits(taken, f.n)
	if count == 0 {
		return nil
	}
	var v *vector
	var err error
	dense := n.isConst || n.column >= 0 || count == f.n || !n.fallible && count > f.n/2
	if dense {
		v, err = f.eval(n)
	} else {
		v, err = f.sub(n, taken, count)
	}
	if err != nil {
		return err
	}
	c.copy(f, v, taken, dense)
	for w := range taken {
		c.open[w] &^= taken[w]
	}
	c.count -= count
	return nil
}

// copy gives the taken rows their values: those of the same rows if dense, else one value after the other.
func (c *choice) copy(f *frame, v *vector, taken []uint64, dense bool) {
	j := 0
	from := func(i int) int {
		if dense {
			return i
		}
		j++
		return j - 1
	}
	switch c.kind {
	case bitKind:
		eachBit(taken, f.n, func(i int) {
			if v.bit(from(i)) {
				c.out.bits[i>>6] |= 1 << (i & 63)
			}
		})
	case intKind:
		eachBit(taken, f.n, func(i int) { c.out.ints[i] = v.ints[from(i)] })
	case floatKind:
		eachBit(taken, f.n, func(i int) { c.out.floats[i] = v.floats[from(i)] })
	case wideKind:
		eachBit(taken, f.n, func(i int) { c.out.wides[i] = v.wides[from(i)] })
	case textKind:
		eachBit(taken, f.n, func(i int) { c.out.texts[i] = v.texts[from(i)] })
	}
	if v.null == nil {
		return
	}
	if c.out.null == nil {
		c.out.null = f.e.bitmap(f.n)
	}
	j = 0
	eachBit(taken, f.n, func(i int) {
		if v.isNull(from(i)) {
			c.out.null[i>>6] |= 1 << (i & 63)
		}
	})
}

// rest gives all open rows the values of a node.
func (c *choice) rest(f *frame, n *node) error {
	taken := f.e.bitmap(f.n)
	copy(taken, c.open)
	return c.put(f, n, taken)
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
func coalesce(b *binder, n *node) error {
	if err := b.unifyArgs(n); err != nil {
		return err
	}
	n.typ = n.args[0].typ
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
	return nil
}

// putPresent gives the open rows the values of a node that are not NULL.
func (c *choice) putPresent(f *frame, n *node) error {
	dense := c.count == f.n || n.isConst || n.column >= 0 || !n.fallible
	var v *vector
	var err error
	if dense {
		v, err = f.eval(n)
	} else {
		v, err = f.sub(n, c.open, c.count)
	}
	if err != nil {
		return err
	}
	present := f.e.bitmap(f.n)
	j := 0
	eachBit(c.open, f.n, func(i int) {
		at := i
		if !dense {
			at = j
			j++
		}
		if !v.isNull(at) {
			present[i>>6] |= 1 << (i & 63)
		}
	})
	if !dense { // v has a value for each open row, and copy wants one for each that is present
		v = v.compact(f, c.open, present)
	}
	c.copy(f, v, present, dense)
	for w := range present {
		c.open[w] &^= present[w]
	}
	c.count = countBits(c.open, f.n)
	return nil
}

// compact keeps, of the values of the rows in from, those of the rows in to.
func (v *vector) compact(f *frame, from, to []uint64) *vector {
	rows := f.e.rows.get()[:0]
	j := int32(0)
	eachBit(from, f.n, func(i int) {
		if to[i>>6]>>(i&63)&1 != 0 {
			rows = append(rows, j)
		}
		j++
	})
	out := f.e.vectors.get()
	*out = vector{n: len(rows)}
	switch {
	case v.bits != nil:
		out.bits = gatherBits(f.e.bitmap(len(rows)), flagsOf(v.bits, v.n), rows)
	case v.ints != nil:
		out.ints = gather(f.e.ints.get()[:len(rows)], v.ints, rows)
	case v.floats != nil:
		out.floats = gather(f.e.floats.get()[:len(rows)], v.floats, rows)
	case v.wides != nil:
		out.wides = gather(f.e.wides.get()[:len(rows)], v.wides, rows)
	default:
		out.texts = gather(f.e.texts.get()[:len(rows)], v.texts, rows)
	}
	return out
}

// nullIf binds NULLIF(a, b): a, or NULL where it equals b.
func nullIf(b *binder, n *node) error {
	value := n.args[0]
	if value.typ.ID == Null {
		n.typ = typeOf(Int32)
		return b.becomes(n, nil)
	}
	pair := &node{args: append([]*node(nil), n.args...), text: n.text, at: n.at}
	if err := b.unifyArgs(pair); err != nil {
		return err
	}
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
		out := f.e.vectors.get()
		*out = *v
		out.null = null
		return out, nil
	}
	return nil
}

// extreme binds least and greatest, which leave NULL arguments out.
func extreme(sign string) binding {
	return func(b *binder, n *node) error {
		if err := b.unifyArgs(n); err != nil {
			return err
		}
		n.typ = n.args[0].typ
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
		return nil
	}
}

// better returns, row by row, a where it is before b in the order of a sign, or b is NULL, else b.
func (f *frame) better(sign string, k kind, a, b *vector) *vector {
	before := f.e.bitmap(f.n)
	x, y := a, b
	if sign == ">" {
		x, y = b, a
	}
	switch k {
	case bitKind:
		compareBits("<", before, x.bits, y.bits)
	case intKind:
		compareAll("<", before, x.ints, y.ints)
	case floatKind:
		p, q := f.e.ints.get()[:f.n], f.e.ints.get()[:f.n]
		orderFloats(p, x.floats)
		orderFloats(q, y.floats)
		compareAll("<", before, p, q)
	case wideKind:
		compareWides("<", before, x.wides, y.wides)
	case textKind:
		compareAll("<", before, x.texts, y.texts)
	}
	c := f.newChoice(k)
	for w := range before {
		before[w] = (before[w] | b.nullWord(w)) &^ a.nullWord(w) & c.open[w]
	}
	c.copy(f, a, before, true)
	for w := range before {
		c.open[w] &^= before[w]
	}
	c.copy(f, b, c.open, true)
	return c.out
}
