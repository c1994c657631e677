package expr

import (
	"math"
	"slices"
	"strings"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/nested"
)

// valueError is the error of a value of a call.
func valueError(n *node, format string, args ...any) error {
	return query.Valuef("%s: "+format, append([]any{n.text}, args...)...)
}

// listFunctions are the functions that make lists, or read them element by element.
func listFunctions() []Function {
	return []Function{
		operator("list_value", "[a, b, ...], list_value(a, ...)", "a list", "[1, 2]", "[1, 2]", 0, -1, listOf,
			"list_pack", "array_value"),
		function("list_contains", "list, a", "whether a is an element; a IN list too", "list_contains([1, 2], 2)", "true",
			listContains, "list_has", "array_contains", "array_has", "has"),
		function("list_position", "list, a", "the number of the first element that is a, or NULL", "list_position([4, 5], 5)",
			"2", listPosition, "list_indexof", "array_position", "array_indexof"),
		function("list_concat", "a, ...", "one list after the other, without NULL", "list_concat([1], [2, 3])", "[1, 2, 3]",
			joinLists(false), "list_cat", "array_concat", "array_cat"),
		function("list_append", "list, a", "the list with a behind it", "list_append([1], 2)", "[1, 2]", append1(true),
			"array_append", "array_push_back"),
		function("list_prepend", "a, list", "the list with a before it", "list_prepend(1, [2])", "[1, 2]", append1(false),
			"array_prepend"),
		function("array_push_front", "list, a", "the same, the list first", "array_push_front([2], 1)", "[1, 2]",
			func(b *binder, n *node) {
				n.args[0], n.args[1] = n.args[1], n.args[0]
				append1(false)(b, n)
			}),
		function("list_reverse", "list", "the last element first", "list_reverse([1, 2])", "[2, 1]",
			changed(func(e []nested.Element) []nested.Element {
				slices.Reverse(e)
				return e
			}), "array_reverse"),
		function("array_pop_back", "list", "all but the last element", "array_pop_back([1, 2])", "[1]",
			changed(func(e []nested.Element) []nested.Element { return e[:max(len(e)-1, 0)] })),
		function("array_pop_front", "list", "all but the first element", "array_pop_front([1, 2])", "[2]",
			changed(func(e []nested.Element) []nested.Element { return e[min(1, len(e)):] })),
		function("list_distinct", "list", "each element once, without NULL", "list_distinct([1, 1, NULL])", "[1]",
			changed(distinctElements), "array_distinct"),
		function("list_unique", "list", "how many elements differ, NULL apart", "list_unique([1, 1, NULL])", "1",
			countDistinct, "array_unique"),
		function("list_sort", "list [, order] [, nulls]",
			"in order; order is 'ASC' or 'DESC', nulls is 'NULLS FIRST' or 'NULLS LAST', as they are without it",
			"list_sort([3, 1, 2])", "[1, 2, 3]", sorted(false), "array_sort"),
		function("list_reverse_sort", "list [, nulls]", "the greatest first", "list_reverse_sort([3, 1, 2])", "[3, 2, 1]",
			sorted(true), "array_reverse_sort"),
		function("list_grade_up", "list [, order] [, nulls]", "the numbers of the elements in order",
			"list_grade_up([30, 10, 20])", "[2, 3, 1]", graded, "grade_up", "array_grade_up"),
		function("flatten", "list", "the elements of the lists in a list", "flatten([[1], [2, 3]])", "[1, 2, 3]", flatten),
		operator("list_zip", "list_zip(a, ... [, truncate])",
			"a list of tuples of an element of each; the shortest ends it where truncate is true",
			"list_zip([1, 2], [3])", "[(1, 3), (2, NULL)]", 1, -1, zip, "array_zip"),
		function("list_has_any", "a, b", "whether an element of b is one of a; a && b too", "list_has_any([1], [1, 2])",
			"true", hasElements(false), "array_has_any", "&&"),
		function("list_has_all", "a, b", "whether all elements of b are of a; a @> b too", "list_has_all([1], [1, 2])",
			"false", hasElements(true), "array_has_all", "@>"),
		function("list_intersect", "a, b", "each element that both have once", "list_intersect([1, 2], [2, 3])", "[2]",
			intersect, "array_intersect"),
	}
}

// listContains binds list_contains.
func listContains(b *binder, n *node) {
	b.alike(n, 0, 1)
	l := n.args[0].typ.layout
	n.typ = typeOf(Bool)
	n.eval = test2(n, func(e *Evaluator, s, key string) (bool, error) { return indexIn(e.list(l, s), key) >= 0, nil })
}

// indexIn returns the index of the first element that is a value, or -1.
func indexIn(list []nested.Element, value string) int {
	return slices.IndexFunc(list, func(x nested.Element) bool { return !x.Null && x.Value == value })
}

func listPosition(b *binder, n *node) {
	b.alike(n, 0, 1)
	l := n.args[0].typ.layout
	n.typ = typeOf(Int32)
	n.eval = func(f *frame) (*vector, error) {
		lists, err := f.eval(n.args[0])
		if err != nil {
			return nil, err
		}
		keys, err := f.eval(n.args[1])
		if err != nil {
			return nil, err
		}
		out := f.e.vector(intKind, f.n)
		for i, s := range lists.texts {
			at := -1
			switch {
			case lists.isNull(i):
			case keys.isNull(i):
				at = slices.IndexFunc(f.e.list(l, s), func(x nested.Element) bool { return x.Null })
			default:
				at = indexIn(f.e.list(l, s), keys.texts[i])
			}
			if out.ints[i] = int64(at) + 1; at < 0 {
				if err := out.setNull(f, i, errNull, nil); err != nil {
					return nil, err
				}
			}
		}
		return out, nil
	}
}

// joinLists binds list_concat, and || which is NULL where a list is.
func joinLists(nullOfNull bool) binding {
	return func(b *binder, n *node) {
		all := make([]int, len(n.args))
		for i := range all {
			all[i] = i
		}
		n.typ = ListOf(b.alikeLists(n, all...))
		null := never
		if nullOfNull {
			null = ofAny
		}
		n.eval = rowKernel(n, null, func(e *Evaluator, args []*vector, row int) (string, error) {
			d := e.draft[:0]
			for _, a := range args {
				if !a.isNull(row) {
					d = append(d, a.texts[row][:len(a.texts[row])-1]...)
				}
			}
			return e.keeping(n, append(d, nested.End))
		})
	}
}

// nullRows says which rows of a result are NULL: any is where an argument is.
type nullRows func(args []*vector, any []uint64) []uint64

func ofAny(_ []*vector, any []uint64) []uint64    { return any }
func ofFirst(args []*vector, _ []uint64) []uint64 { return args[0].null }
func never([]*vector, []uint64) []uint64          { return nil }

// rowKernel returns a kernel of strings, which value makes of the arguments in a row that is not NULL.
func rowKernel(n *node, null nullRows, value func(e *Evaluator, args []*vector, row int) (string, error)) kernel {
	return func(f *frame) (*vector, error) {
		args, out, err := f.all(n, textKind)
		if err != nil {
			return nil, err
		}
		out.null = null(args, out.null)
		for row := range out.texts {
			if out.isNull(row) {
				continue
			}
			if out.texts[row], err = value(f.e, args, row); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
}

// append1 binds list_append and list_prepend. A list that is NULL is empty.
func append1(behind bool) binding {
	list, value := 1, 0
	if behind {
		list, value = 0, 1
	}
	return func(b *binder, n *node) {
		n.typ = ListOf(b.alike(n, list, value))
		n.eval = rowKernel(n, never, func(e *Evaluator, args []*vector, row int) (string, error) {
			var all string
			if s := args[list].texts[row]; !args[list].isNull(row) {
				all = s[:len(s)-1]
			}
			x := nested.Element{Value: args[value].texts[row], Null: args[value].isNull(row)}
			d := e.draft[:0]
			if behind {
				d = nested.Append(append(d, all...), x)
			} else {
				d = append(nested.Append(d, x), all...)
			}
			return e.keeping(n, append(d, nested.End))
		})
	}
}

// distinctElements returns each element once, in the order in which they come first, without NULL.
func distinctElements(list []nested.Element) []nested.Element {
	const few = 16
	kept := list[:0]
	var seen map[string]bool
	if len(list) > few {
		seen = make(map[string]bool, len(list))
	}
	for _, x := range list {
		if x.Null || seen[x.Value] || seen == nil && indexIn(kept, x.Value) >= 0 {
			continue
		}
		if seen != nil {
			seen[x.Value] = true
		}
		kept = append(kept, x)
	}
	return kept
}

func countDistinct(b *binder, n *node) {
	b.list(n, 0)
	l := n.args[0].typ.layout
	n.typ = typeOf(Uint64)
	n.eval = map1f(n, func(e *Evaluator, s string) (wide, error) {
		return wideOf(int64(len(distinctElements(e.list(l, s))))), nil
	})
}

// elementOrder compares elements.
type elementOrder struct{ descending, nullsFirst bool }

func (o elementOrder) compare(a, b nested.Element) int {
	switch {
	case a.Null && b.Null:
		return 0
	case a.Null || b.Null:
		if a.Null == o.nullsFirst {
			return -1
		}
		return 1
	}
	c := strings.Compare(a.Value, b.Value)
	if o.descending {
		return -c
	}
	return c
}

// orderOf reads the arguments behind a list: the order, unless it is known, and the place of NULL.
func (b *binder) orderOf(n *node, o elementOrder, isKnown bool) elementOrder {
	words := n.args[1:]
	for i, a := range words {
		word := strings.ToUpper(b.word(n, i+1))
		switch {
		case i == 0 && !isKnown && (word == "ASC" || word == "DESC"):
			o.descending = word == "DESC"
		case (i == 1 || isKnown) && (word == "NULLS FIRST" || word == "NULLS LAST"):
			o.nullsFirst = word == "NULLS FIRST"
		default:
			b.fail(a.at, "%s: argument %d is %s; want 'ASC' or 'DESC', then 'NULLS FIRST' or 'NULLS LAST'", n.text, i+2, a.text)
		}
	}
	n.args = n.args[:1]
	return o
}

// sorted binds list_sort and list_reverse_sort.
func sorted(descending bool) binding {
	return func(b *binder, n *node) {
		o := b.orderOf(n, elementOrder{descending: descending}, descending)
		changed(func(e []nested.Element) []nested.Element {
			slices.SortStableFunc(e, o.compare)
			return e
		})(b, n)
	}
}

// graded binds list_grade_up.
func graded(b *binder, n *node) {
	o := b.orderOf(n, elementOrder{}, false)
	b.list(n, 0)
	l := n.args[0].typ.layout
	n.typ = ListOf(typeOf(Int64))
	of := n.typ.layout.Parts[0]
	n.eval = map1f(n, func(e *Evaluator, s string) (string, error) {
		list := e.list(l, s)
		places := make([]int, len(list))
		for i := range places {
			places[i] = i
		}
		slices.SortStableFunc(places, func(i, j int) int { return o.compare(list[i], list[j]) })
		d := e.draft[:0]
		for _, p := range places {
			d = of.AppendInt(append(d, nested.Some), int64(p)+1)
		}
		return e.keeping(n, append(d, nested.End))
	})
}

func flatten(b *binder, n *node) {
	inner := b.list(n, 0)
	if inner.ID != List {
		if inner.ID != Null {
			b.fail(n.at, "%s: argument 1 is of type %s, want a list of lists", n.text, n.args[0].typ)
		}
		inner = ListOf(inner)
	}
	n.typ = inner
	l := n.args[0].typ.layout
	n.eval = map1f(n, func(e *Evaluator, s string) (string, error) {
		d := e.draft[:0]
		for _, x := range e.list(l, s) {
			if !x.Null {
				d = append(d, x.Value[:len(x.Value)-1]...)
			}
		}
		return e.keeping(n, append(d, nested.End))
	})
}

// zip binds list_zip.
func zip(b *binder, n *node) {
	truncate := false
	if last := n.args[len(n.args)-1]; len(n.args) > 1 && last.typ.ID == Bool && last.isConst {
		truncate = last.value == true
		n.args = n.args[:len(n.args)-1]
	}
	types := make([]Type, len(n.args))
	for i := range n.args {
		types[i] = b.list(n, i)
	}
	n.typ = ListOf(structOf(make([]string, len(types)), types...))
	n.eval = rowKernel(n, never, func(e *Evaluator, args []*vector, row int) (string, error) {
		lists := make([][]nested.Element, len(args))
		most, least := 0, math.MaxInt
		for i, a := range args {
			if !a.isNull(row) {
				lists[i] = n.args[i].typ.layout.Elements(nil, a.texts[row])
			}
			most, least = max(most, len(lists[i])), min(least, len(lists[i]))
		}
		if truncate {
			most = least
		}
		d := e.draft[:0]
		for i := range most {
			d = append(d, nested.Some)
			for _, list := range lists {
				x := nested.Element{Null: true}
				if i < len(list) {
					x = list[i]
				}
				d = nested.Append(d, x)
			}
		}
		return e.keeping(n, append(d, nested.End))
	})
}

// hasElements binds list_has_any and list_has_all.
func hasElements(all bool) binding {
	return func(b *binder, n *node) {
		b.alikeLists(n, 0, 1)
		l := n.args[0].typ.layout
		n.typ = typeOf(Bool)
		n.eval = test2(n, func(e *Evaluator, s, t string) (bool, error) {
			of := setOf(e.list(l, s))
			for _, x := range e.list(l, t) {
				if !x.Null && of[x.Value] != all {
					return !all, nil
				}
			}
			return all, nil
		})
	}
}

func setOf(list []nested.Element) map[string]bool {
	set := make(map[string]bool, len(list))
	for _, x := range list {
		if !x.Null {
			set[x.Value] = true
		}
	}
	return set
}

func intersect(b *binder, n *node) {
	n.typ = ListOf(b.alikeLists(n, 0, 1))
	l := n.typ.layout
	n.eval = rowKernel(n, ofFirst, func(e *Evaluator, args []*vector, row int) (string, error) {
		var of map[string]bool
		if !args[1].isNull(row) {
			of = setOf(e.list(l, args[1].texts[row]))
		}
		kept := distinctElements(e.list(l, args[0].texts[row]))
		return e.newList(n, slices.DeleteFunc(kept, func(x nested.Element) bool { return !of[x.Value] }))
	})
}
