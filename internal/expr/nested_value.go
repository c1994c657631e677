package expr

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/internal/nested"
)

// fillNested writes lists that Arrow has as strings.
func (f *frame) fillNested(v *vector, arr arrow.Array, t Type) error {
	write, err := nested.NewWriter(arr, t.layout)
	if err != nil {
		return err
	}
	at := len(f.e.bytes)
	all := f.e.bytes[at:at:cap(f.e.bytes)]
	ends := f.e.ints.get(f.n)
	for i := range v.texts {
		if !v.isNull(i) {
			all = write(all, f.row(i))
		}
		ends[i] = int64(len(all))
	}
	f.e.made += len(all)
	if at+len(all) <= cap(f.e.bytes) {
		f.e.bytes = f.e.bytes[:at+len(all)]
	} else {
		f.e.bytes = all // strings hold on to the old block
	}
	from := int64(0)
	for i, to := range ends {
		v.texts[i] = bytesText(all[from:to])
		from = to
	}
	return nil
}

// layoutOf returns how values of a type are written within others.
func layoutOf(t Type) *nested.Layout {
	if t.nested() {
		return t.layout
	}
	return nested.LayoutOf(partArrow(t))
}

// appender returns what writes the value of a row of a vector, which is not NULL.
func appender(t Type) func(dst []byte, v *vector, i int) []byte {
	l := layoutOf(t)
	switch t.kind() {
	case bitKind:
		return func(dst []byte, v *vector, i int) []byte { return append(dst, byte(bitOf(v.bit(i)))) }
	case intKind:
		return func(dst []byte, v *vector, i int) []byte { return l.AppendInt(dst, v.ints[i]) }
	case floatKind:
		return func(dst []byte, v *vector, i int) []byte { return l.AppendFloat(dst, v.floats[i]) }
	case wideKind:
		return func(dst []byte, v *vector, i int) []byte { return l.AppendWide(dst, v.wides[i]) }
	}
	if t.nested() {
		return func(dst []byte, v *vector, i int) []byte { return append(dst, v.texts[i]...) }
	}
	return func(dst []byte, v *vector, i int) []byte { return nested.AppendText(dst, v.texts[i]) }
}

// appendPart writes the value of a row, or NULL, as a part.
func appendPart(dst []byte, write func([]byte, *vector, int) []byte, v *vector, i int) []byte {
	if v.isNull(i) {
		return append(dst, nested.None)
	}
	return write(append(dst, nested.Some), v, i)
}

// written returns the values of a vector as they are within others. Strings of nested values stay.
func (f *frame) written(t Type, v *vector, n *node) (*vector, error) {
	if t.nested() {
		return v, nil
	}
	out := f.e.vector(textKind, v.n)
	if out.null = v.null; t.ID == Null {
		out.null = f.allNull()
	}
	write := appender(t)
	for i := range out.texts {
		if out.isNull(i) {
			continue
		}
		size := 16
		if t.kind() == textKind {
			size += len(v.texts[i])
		}
		b, err := f.e.room(n, size)
		if err != nil {
			return nil, err
		}
		out.texts[i] = f.e.keep(write(b, v, i))
	}
	return out, nil
}

// read returns the values that parts are. Their strings stay where they lie.
func (e *Evaluator) read(t Type, parts *vector) *vector {
	if t.nested() {
		return parts
	}
	l := layoutOf(t)
	out := e.vector(t.kind(), parts.n)
	out.null = parts.null
	for i, s := range parts.texts {
		if parts.isNull(i) {
			continue
		}
		switch t.kind() {
		case bitKind:
			if t.ID != Null {
				out.bits[i>>6] |= uint64(s[0]) << (i & 63)
			}
		case intKind:
			out.ints[i] = l.Int(s)
		case floatKind:
			out.floats[i] = l.Float(s)
		case wideKind:
			out.wides[i] = l.Wide(s)
		case textKind:
			out.texts[i] = nested.TextOf(s)
		}
	}
	return out
}

// valueOf returns the value that a part is, as Expr.Value has it.
func valueOf(t Type, s string) any {
	l := layoutOf(t)
	switch {
	case t.nested():
		return s
	case t.ID == Null:
		return nil
	case t.ID == Bool:
		return s[0] != 0
	case t.kind() == intKind:
		return l.Int(s)
	case t.kind() == floatKind:
		return l.Float(s)
	case t.kind() == wideKind:
		return l.Wide(s)
	}
	return nested.TextOf(s)
}

// asPart returns a node that has the values of a node as they are within others.
func asPart(b *binder, n *node) *node {
	if n.typ.nested() {
		return n
	}
	t := n.typ
	p := &node{typ: typeOf(Blob), text: n.text, at: n.at, column: -1, single: -1, args: []*node{n}}
	p.eval = func(f *frame) (*vector, error) {
		v, err := f.eval(n)
		if err != nil {
			return nil, err
		}
		return f.written(t, v, p)
	}
	return b.finish(p)
}

// setParts makes a node the values of a type that the strings are that a kernel gives.
func (n *node) setParts(t Type, parts kernel) {
	n.typ = t
	n.eval = func(f *frame) (*vector, error) {
		v, err := parts(f)
		if err != nil {
			return nil, err
		}
		return f.e.read(t, v), nil
	}
}

// run evaluates a node for elements of lists: rows of the frame with parts beside them as the lambda's parameters.
// It calls use with the values of at most vectorRows elements at a time, in order.
func (f *frame) run(body *node, parents []int32, params []param, use func(v *vector, from int) error) error {
	for from := 0; from < len(parents); from += vectorRows {
		before := f.e.mark()
		n := min(vectorRows, len(parents)-from)
		rows := f.e.rows.get(n)
		for i, p := range parents[from : from+n] {
			rows[i] = int32(f.row(int(p)))
		}
		sub := f.e.frameOf(0, n, rows)
		for _, outer := range f.params {
			sub.params = append(sub.params, bound{outer.id, f.e.pick(outer.values, parents[from:from+n])})
		}
		for _, p := range params {
			sub.params = append(sub.params, bound{p.id, p.values(f, from, n)})
		}
		v, err := sub.eval(body)
		if err == nil {
			err = use(v, from)
		}
		f.e.done(sub)
		f.e.back(before)
		if err != nil {
			return err
		}
	}
	return nil
}

// param is a parameter of a lambda: id tells it apart, values returns its values for some of the elements.
type param struct {
	id     int64
	values func(f *frame, from, n int) *vector
}

// bound is the values of a parameter for the rows of a frame.
type bound struct {
	id     int64
	values *vector
}

// pick returns the values of some rows of a vector.
func (e *Evaluator) pick(v *vector, rows []int32) *vector {
	n := len(rows)
	out := e.holding(vector{n: n})
	if v.null != nil {
		out.null = e.bitmap(n)
		for i, r := range rows {
			out.null[i>>6] |= bitOf(v.isNull(int(r))) << (i & 63)
		}
	}
	switch {
	case v.bits != nil:
		out.bits = e.bitmap(n)
		for i, r := range rows {
			out.bits[i>>6] |= bitOf(v.bit(int(r))) << (i & 63)
		}
	case v.ints != nil:
		out.ints = gather(e.ints.get(n), v.ints, rows)
	case v.floats != nil:
		out.floats = gather(e.floats.get(n), v.floats, rows)
	case v.wides != nil:
		out.wides = gather(e.wides.get(n), v.wides, rows)
	case v.texts != nil:
		out.texts = gather(e.texts.get(n), v.texts, rows)
	}
	return out
}

// parameter binds a parameter of a lambda.
func (b *binder) parameter(e *Expr) *node {
	t, ok := b.params[e.Value.(int64)]
	if !ok {
		b.fail(e.At, "the parameter %s stands outside of its lambda", e.Name)
	}
	id := e.Value.(int64)
	n := parameterOf(id, t)
	n.text, n.at, n.slot = e.Name, e.At, b.newSlot()
	return n
}

// parameterOf returns a node that has the values of a parameter.
func parameterOf(id int64, t Type) *node {
	n := &node{typ: t, column: -1, single: -1}
	n.eval = func(f *frame) (*vector, error) {
		for _, p := range f.params {
			if p.id == id {
				return p.values, nil
			}
		}
		return nil, fmt.Errorf("the parameter %s has no values", n.text)
	}
	return n
}

// elements is the elements of the lists of a frame's rows.
type elements struct {
	parents []int32 // rows of the frame
	of      []nested.Element
}

// elementsOf returns the elements of the lists, of NULL none.
func elementsOf(l *nested.Layout, lists *vector) elements {
	var e elements
	for i, s := range lists.texts {
		if lists.isNull(i) {
			continue
		}
		e.of = l.Elements(e.of, s)
		for len(e.parents) < len(e.of) {
			e.parents = append(e.parents, int32(i))
		}
	}
	return e
}

// values returns the elements as values of their type.
func (e elements) values(t Type) func(f *frame, from, n int) *vector {
	return func(f *frame, from, n int) *vector {
		parts := f.e.vector(textKind, n)
		for i, el := range e.of[from : from+n] {
			if el.Null {
				if parts.null == nil {
					parts.null = f.e.bitmap(n)
				}
				parts.null[i>>6] |= 1 << (i & 63)
			}
			parts.texts[i] = el.Value
		}
		return f.e.read(t, parts)
	}
}
