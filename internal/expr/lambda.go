package expr

import (
	"github.com/mpga/mpga/internal/nested"
)

// lambda binds the lambda that an argument is, for parameters of some types, and puts what it returns in its place.
// It returns the IDs of the parameters; a lambda may have fewer than there are types, but not fewer than least.
func (b *binder) lambda(n *node, i, least int, types ...Type) (ids []int64) {
	e := n.args[i].lambda
	if e == nil {
		b.fail(n.args[i].at, "%s: argument %d must be a lambda, as in lambda x: x + 1", n.text, i+1)
	}
	params := e.Args[:len(e.Args)-1]
	if len(params) < least || len(params) > len(types) {
		b.fail(e.At, "%s: a lambda of %d parameters, want %d to %d", n.text, len(params), least, len(types))
	}
	for k, p := range params {
		id := p.Value.(int64)
		b.params[id] = types[k]
		ids = append(ids, id)
	}
	n.args[i] = b.bind(e.Args[len(e.Args)-1], 0)
	return ids
}

// numbers returns the number of each element in its list, from 1 on.
func (e elements) numbers() func(f *frame, from, n int) *vector {
	numbers := make([]int64, len(e.parents))
	for i, p := range e.parents {
		if numbers[i] = 1; i > 0 && e.parents[i-1] == p {
			numbers[i] = numbers[i-1] + 1
		}
	}
	return func(_ *frame, from, n int) *vector { return &vector{n: n, ints: numbers[from : from+n]} }
}

// params returns the parameters of a lambda of an element and its number.
func (e elements) params(ids []int64, t Type) []param {
	list := []param{{ids[0], e.values(t)}}
	if len(ids) > 1 {
		list = append(list, param{ids[1], e.numbers()})
	}
	return list
}

// lists makes a list of each row's parts, which add writes for each element.
func (f *frame) lists(n *node, parents []int32, of *vector, part func(dst []byte, i int) []byte) (*vector, error) {
	out := f.e.vector(textKind, f.n)
	out.null = of.null
	at := 0
	for row := range out.texts {
		d := f.e.draft[:0]
		for ; at < len(parents) && int(parents[at]) == row; at++ {
			d = part(d, at)
		}
		var err error
		if out.texts[row], err = f.e.keeping(n, append(d, nested.End)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// transform binds list_transform.
func transform(b *binder, n *node) {
	t := b.list(n, 0)
	ids := b.lambda(n, 1, 1, t, typeOf(Int64))
	body := n.args[1]
	n.typ = ListOf(body.typ)
	n.eval = func(f *frame) (*vector, error) {
		lists, err := f.eval(n.args[0])
		if err != nil {
			return nil, err
		}
		e := elementsOf(n.args[0].typ.layout, lists)
		parts, ends, err := f.runParts(body, e.parents, e.params(ids, t))
		if err != nil {
			return nil, err
		}
		return f.lists(n, e.parents, lists, func(dst []byte, i int) []byte {
			return append(dst, parts[ends[i]:ends[i+1]]...)
		})
	}
}

// invoke binds invoke: a lambda whose parameters are the other arguments.
func invoke(b *binder, n *node) {
	types := make([]Type, len(n.args)-1)
	for i, a := range n.args[1:] {
		types[i] = a.typ
	}
	ids := b.lambda(n, 0, len(types), types...)
	body := n.args[0]
	n.typ = body.typ
	n.eval = func(f *frame) (*vector, error) {
		sub := f.e.frameOf(f.from, f.n, f.rows)
		defer f.e.done(sub)
		sub.params = append(sub.params, f.params...)
		for i, id := range ids {
			v, err := f.eval(n.args[i+1])
			if err != nil {
				return nil, err
			}
			sub.params = append(sub.params, bound{id, v})
		}
		return sub.eval(body)
	}
}

// runParts is run for a node whose values are wanted as parts: behind each other, and where each begins.
func (f *frame) runParts(body *node, parents []int32, params []param) (parts []byte, ends []int, err error) {
	ends = append(make([]int, 0, len(parents)+1), 0)
	write := appender(body.typ)
	err = f.run(body, parents, params, func(v *vector, _ int) error {
		for i := range v.n {
			if body.typ.ID == Null {
				parts = append(parts, nested.None)
			} else {
				parts = appendPart(parts, write, v, i)
			}
			ends = append(ends, len(parts))
		}
		return nil
	})
	return parts, ends, err
}

// filterList binds list_filter.
func filterList(b *binder, n *node) {
	t := b.list(n, 0)
	ids := b.lambda(n, 1, 1, t, typeOf(Int64))
	b.castArg(n, 1, typeOf(Bool))
	n.typ = n.args[0].typ
	n.eval = func(f *frame) (*vector, error) {
		lists, err := f.eval(n.args[0])
		if err != nil {
			return nil, err
		}
		e := elementsOf(n.typ.layout, lists)
		kept := make([]bool, 0, len(e.of))
		err = f.run(n.args[1], e.parents, e.params(ids, t), func(v *vector, _ int) error {
			for i := range v.n {
				kept = append(kept, v.bit(i) && !v.isNull(i))
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		return f.lists(n, e.parents, lists, func(dst []byte, i int) []byte {
			if kept[i] {
				dst = nested.Append(dst, e.of[i])
			}
			return dst
		})
	}
}

// reduce binds list_reduce. The lists of all rows go on together, an element of each at a time.
func reduce(b *binder, n *node) {
	t := b.list(n, 0)
	result := t
	if len(n.args) == 3 {
		result = n.args[2].typ
	}
	ids := b.lambda(n, 1, 2, result, t, typeOf(Int64))
	if u, ok := common(result, n.args[1].typ); !ok || u != result {
		b.fail(n.at, "%s: the lambda gives %s, want %s as it gets; cast the list", n.text, n.args[1].typ, result)
	}
	b.castArg(n, 1, result)
	n.fallible = true
	write := appender(result)
	l := n.args[0].typ.layout
	n.setParts(result, func(f *frame) (*vector, error) {
		lists, err := f.eval(n.args[0])
		if err != nil {
			return nil, err
		}
		states := make([]nested.Element, f.n)
		rest := make([][]nested.Element, f.n)
		var first *vector
		if len(n.args) == 3 {
			if first, err = f.eval(n.args[2]); err != nil {
				return nil, err
			}
		}
		for i, s := range lists.texts {
			states[i].Null = true
			if lists.isNull(i) {
				continue
			}
			rest[i] = l.Elements(nil, s)
			switch {
			case first != nil && !first.isNull(i):
				states[i] = nested.Element{Value: string(write(nil, first, i))}
			case first != nil:
			case len(rest[i]) == 0:
				return nil, valueError(n, "an empty list has no first element")
			default:
				states[i], rest[i] = rest[i][0], rest[i][1:]
			}
		}
		return f.reduced(n, ids, states, rest, first != nil)
	})
}

// reduced goes on while lists have elements, and returns the states as parts.
func (f *frame) reduced(
	n *node, ids []int64, states []nested.Element, rest [][]nested.Element, hasFirst bool,
) (*vector, error) {
	write := appender(n.args[1].typ)
	for number := int64(1); ; number++ {
		var now elements
		var before elements
		for i, list := range rest {
			if len(list) > 0 {
				now.parents, now.of = append(now.parents, int32(i)), append(now.of, list[0])
				before.of = append(before.of, states[i])
				rest[i] = list[1:]
			}
		}
		if len(now.of) == 0 {
			break
		}
		params := []param{{ids[0], before.values(n.args[1].typ)}, {ids[1], now.values(n.args[0].typ.parts[0])}}
		if len(ids) > 2 {
			at := number + 1
			if hasFirst {
				at = number
			}
			params = append(params, param{ids[2], func(f *frame, _, n int) *vector { return f.e.repeated(intKind, n, at) }})
		}
		err := f.run(n.args[1], now.parents, params, func(v *vector, from int) error {
			for i := range v.n {
				state := &states[now.parents[from+i]]
				if *state = (nested.Element{Null: v.isNull(i)}); !state.Null {
					state.Value = string(write(nil, v, i))
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	out := f.e.vector(textKind, f.n)
	out.null = f.e.bitmap(f.n)
	for i, s := range states {
		out.texts[i] = s.Value
		out.null[i>>6] |= bitOf(s.Null) << (i & 63)
	}
	return out, nil
}
