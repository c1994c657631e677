package expr

import (
	"slices"

	"github.com/mpga/mpga/internal/nested"
)

// ofLists binds a function by one binding where its first argument is nested, and else by another.
func ofLists(nested, other binding) binding {
	return func(b *binder, n *node) {
		isNested := func(a *node) bool { return a.typ.nested() && !a.typ.whole() }
		switch {
		case isNested(n.args[0]), len(n.args) == 2 && isNull(n.args[0]) && isNested(n.args[1]):
			nested(b, n)
		case n.name == "array_slice" && len(n.args) == 4:
			b.fail(n.at, "not supported: %s: a step in a string", n.text)
		default:
			other(b, n)
		}
	}
}

// NestedValue is the function that makes a value of a column of lists as a source has them.
const NestedValue = "value of"

func nestedValue(_ *binder, n *node) { n.typ, n.eval = n.args[0].typ, sameValues(n) }

// Flattened is the function of a list, and of the levels of lists that unnest takes off, 0 for all, which leaves one
// level of them.
const Flattened = "flattened"

func flattened(b *binder, n *node) {
	levels, _ := n.args[1].value.(int64)
	list := n.args[0]
	for level := int64(1); level != levels && list.typ.ID == List && list.typ.parts[0].ID == List; level++ {
		list = b.made(n, "flatten", list)
	}
	n.args = []*node{list}
	n.typ, n.eval = list.typ, sameValues(n)
}

// FieldsOfTuples is the function that makes a list of the fields of a list of tuples of one field.
const FieldsOfTuples = "fields of tuples"

func fieldsOfTuples(b *binder, n *node) {
	t := b.list(n, 0)
	n.typ = ListOf(t.parts[0])
	l := n.args[0].typ.layout
	n.eval = map1f(n, func(e *Evaluator, s string) (string, error) {
		d := e.draft[:0]
		for _, x := range e.list(l, s) {
			d = append(d, x.Value...)
		}
		return e.keeping(n, append(d, nested.End))
	})
}

// list requires an argument to be a list, and returns the type of the elements. A map is the list of its entries.
func (b *binder) list(n *node, i int) Type {
	a := n.args[i]
	switch {
	case isNull(a) && a.typ.ID != List && a.typ.ID != Map:
		b.castArg(n, i, ListOf(typeOf(Null)))
	case a.typ.ID == Map:
		entries := *a
		entries.typ = ListOf(a.typ.entry())
		n.args[i] = &entries
	case a.typ.ID != List:
		b.fail(a.at, "%s: argument %d is of type %s, want a list; cast it", n.text, i+1, a.typ)
	}
	return n.args[i].typ.parts[0]
}

// alike makes an argument a list, and others, from one on, values of its elements' type; returns that type.
func (b *binder) alike(n *node, list int, others ...int) Type {
	t := b.list(n, list)
	for _, i := range others {
		a := n.args[i]
		switch u, ok := common(t, a.typ); {
		case a.takes(t), a.intConstant() && t.integer() && fitsType(a.value, t):
		case !ok:
			b.fail(a.at, "%s: a list of %s and a value of %s do not go together; cast one of them", n.text, t, a.typ)
		default:
			t = u
		}
	}
	b.castArg(n, list, ListOf(t))
	for _, i := range others {
		b.castArg(n, i, t)
		n.args[i] = asPart(b, n.args[i])
	}
	return t
}

// alikeLists makes arguments lists of one type of elements, and returns that.
func (b *binder) alikeLists(n *node, which ...int) Type {
	t := typeOf(Null)
	for _, i := range which {
		u, ok := common(t, b.list(n, i))
		if !ok {
			const text = "%s: lists of %s and of %s do not go together; cast one of them"
			b.fail(n.args[i].at, text, n.text, t, n.args[i].typ.parts[0])
		}
		t = u
	}
	for _, i := range which {
		b.castArg(n, i, ListOf(t))
	}
	return t
}

// list returns the elements of a list. They are valid until the next call.
func (e *Evaluator) list(l *nested.Layout, s string) []nested.Element {
	e.elements = l.Elements(e.elements[:0], s)
	return e.elements
}

// keeping returns the bytes of a nested value as a string of the evaluator's.
func (e *Evaluator) keeping(n *node, value []byte) (string, error) {
	e.draft = value[:0]
	b, err := e.room(n, len(value))
	if err != nil {
		return "", err
	}
	return e.keep(append(b, value...)), nil
}

// newList returns a list of elements.
func (e *Evaluator) newList(n *node, elements []nested.Element) (string, error) {
	b := e.draft[:0]
	for _, x := range elements {
		b = nested.Append(b, x)
	}
	return e.keeping(n, append(b, nested.End))
}

// changed binds a function from a list to a list of the same type.
func changed(fn func(e []nested.Element) []nested.Element) binding {
	return func(b *binder, n *node) {
		b.list(n, 0)
		n.typ = n.args[0].typ
		l := n.typ.layout
		n.eval = map1f(n, func(e *Evaluator, s string) (string, error) { return e.newList(n, fn(e.list(l, s))) })
	}
}

// listLength binds the number of elements.
func listLength(id TypeID) binding {
	return func(b *binder, n *node) {
		b.list(n, 0)
		l := n.args[0].typ.layout
		n.typ = typeOf(id)
		count := map1e(n, func(s string) (int64, error) { return l.Len(s), nil })
		if n.eval = count; id == Uint64 {
			n.eval = map1e(n, func(s string) (wide, error) { return wideOf(l.Len(s)), nil })
		}
	}
}

// listOf binds list_value.
func listOf(b *binder, n *node) {
	t := typeOf(Null)
	if slices.ContainsFunc(n.args, func(a *node) bool { return a.typ.ID != Null }) {
		t = b.unify(n)
	}
	n.typ = ListOf(t)
	n.makes(slices.Repeat([]Type{t}, len(n.args)), true)
}

// makes sets the kernel of a struct, or of a list, of all arguments.
func (n *node) makes(types []Type, isList bool) {
	writes := make([]func([]byte, *vector, int) []byte, len(types))
	for i, t := range types {
		writes[i] = appender(t)
	}
	n.eval = func(f *frame) (*vector, error) {
		args, out, err := f.all(n, textKind)
		if err != nil {
			return nil, err
		}
		out.null = nil
		for row := range out.texts {
			b := f.e.draft[:0]
			for i, a := range args {
				if types[i].ID == Null {
					b = append(b, nested.None)
				} else {
					b = appendPart(b, writes[i], a, row)
				}
			}
			if isList {
				b = append(b, nested.End)
			}
			if out.texts[row], err = f.e.keeping(n, b); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
}

// structPack binds struct_pack, of names and values in turns.
func structPack(b *binder, n *node) {
	if len(n.args)%2 != 0 {
		b.fail(n.at, "%s: names and values in turns", n.text)
	}
	var names []string
	var values []*node
	for i := 0; i < len(n.args); i += 2 {
		names, values = append(names, b.word(n, i)), append(values, n.args[i+1])
	}
	n.args = values
	b.pack(n, names)
}

// pack makes a node a struct of its arguments.
func (b *binder) pack(n *node, names []string) {
	types := make([]Type, len(n.args))
	for i, a := range n.args {
		types[i] = a.typ
	}
	n.typ = structOf(names, types...)
	n.makes(types, false)
}

// tuple binds row.
func tuple(b *binder, n *node) { b.pack(n, make([]string, len(n.args))) }

// extract binds x[i], of lists, structs and maps.
func extract(b *binder, n *node) {
	switch t := n.args[0].typ; t.ID {
	case Struct:
		extractField(b, n)
	case Map:
		mapValue(b, n)
	default:
		b.castArg(n, 1, typeOf(Int64))
		l := n.args[0].typ.layout
		n.setParts(t.parts[0], map2f(n, func(e *Evaluator, s string, i int64) (string, error) {
			list := e.list(l, s)
			if i < 0 {
				i += int64(len(list)) + 1
			}
			if i < 1 || i > int64(len(list)) || list[i-1].Null {
				return "", errNull
			}
			return list[i-1].Value, nil
		}))
	}
}

// extractField binds s.f, s['f'] and, of a tuple, s[1].
func extractField(b *binder, n *node) {
	t := n.args[0].typ
	if t.ID != Struct {
		b.fail(n.args[0].at, "%s: argument 1 is of type %s, want a struct", n.text, t)
	}
	at := -1
	switch key := n.args[1].value.(type) {
	case string:
		if at = t.field(key); at < 0 || isTuple(t.names) {
			b.fail(n.at, "%s: there is no field %q in %s", n.text, key, t)
		}
	case int64:
		if at = int(key) - 1; at < 0 || at >= len(t.parts) || n.name != "struct_extract_at" && !isTuple(t.names) {
			b.fail(n.at, "%s: there is no field %d in %s; want one by its name, or of a tuple by its number", n.text, key, t)
		}
	default:
		b.fail(n.args[1].at, "%s: a field is named by a constant", n.text)
	}
	n.args = n.args[:1]
	n.name = "struct_extract"
	n.setParts(t.parts[at], map1e(n, func(s string) (string, error) {
		value, ok := t.layout.Field(s, at)
		if !ok {
			return "", errNull
		}
		return value, nil
	}))
}

// mapKey casts the key to the type of a map's keys, and returns the types.
func (b *binder) mapKey(n *node) (t Type, entry *nested.Layout) {
	t = n.args[0].typ
	if t.ID != Map {
		b.fail(n.args[0].at, "%s: argument 1 is of type %s, want a map", n.text, t)
	}
	b.castArg(n, 1, t.parts[0])
	n.args[1] = asPart(b, n.args[1])
	return t, t.layout.Parts[0]
}

// mapValue binds m[k].
func mapValue(b *binder, n *node) {
	t, entry := b.mapKey(n)
	n.setParts(t.parts[1], map2f(n, func(e *Evaluator, s, key string) (string, error) {
		for _, x := range e.list(t.layout, s) {
			if k, _, rest := entry.Parts[0].Part(x.Value); k == key {
				if value, mark, _ := entry.Parts[1].Part(rest); mark == nested.Some {
					return value, nil
				}
				return "", errNull
			}
		}
		return "", errNull
	}))
}

// mapValues binds map_extract: a list of the value of a key, or of none.
func mapValues(b *binder, n *node) {
	t, entry := b.mapKey(n)
	n.typ = ListOf(t.parts[1])
	n.eval = map2f(n, func(e *Evaluator, s, key string) (string, error) {
		for _, x := range e.list(t.layout, s) {
			if k, _, rest := entry.Parts[0].Part(x.Value); k == key {
				return e.keeping(n, append(append(e.draft[:0], rest...), nested.End))
			}
		}
		return "\x00", nil
	})
}

// mapHas binds map_contains.
func mapHas(b *binder, n *node) {
	t, entry := b.mapKey(n)
	n.typ = typeOf(Bool)
	n.eval = test2(n, func(e *Evaluator, s, key string) (bool, error) {
		return slices.ContainsFunc(e.list(t.layout, s), func(x nested.Element) bool {
			k, _, _ := entry.Parts[0].Part(x.Value)
			return k == key
		}), nil
	})
}

// entriesPart binds map_keys and map_values.
func entriesPart(part int) binding {
	return func(b *binder, n *node) {
		t := n.args[0].typ
		if t.ID != Map {
			b.fail(n.args[0].at, "%s: argument 1 is of type %s, want a map", n.text, t)
		}
		n.typ = ListOf(t.parts[part])
		n.eval = map1f(n, func(e *Evaluator, s string) (string, error) {
			list := e.list(t.layout, s)
			for i, x := range list {
				value, ok := t.layout.Parts[0].Field(x.Value, part)
				list[i] = nested.Element{Value: value, Null: !ok}
			}
			return e.newList(n, list)
		})
	}
}

// entriesOfMap binds map_entries: the same bytes.
func entriesOfMap(b *binder, n *node) {
	n.typ = ListOf(b.list(n, 0))
	n.eval = sameValues(n)
}

// mapOf binds map, of two lists, or of none.
func mapOf(b *binder, n *node) {
	if len(n.args) == 0 {
		n.typ, n.isConst, n.value = newNested(Map, nil, typeOf(Null), typeOf(Null)), true, "\x00"
		return
	}
	if len(n.args) != 2 {
		b.fail(n.at, "%s: want a list of keys and a list of values", n.text)
	}
	n.fallible = true
	n.typ = newNested(Map, nil, b.list(n, 0), b.list(n, 1))
	keysOf, valuesOf := n.args[0].typ.layout, n.args[1].typ.layout
	n.eval = map2f(n, func(e *Evaluator, keys, values string) (string, error) {
		of, with := keysOf.Elements(nil, keys), valuesOf.Elements(nil, values)
		if len(of) != len(with) {
			return "", valueError(n, "%d keys and %d values", len(of), len(with))
		}
		list := e.draft[:0]
		for i, k := range of {
			list = nested.Append(nested.Append(append(list, nested.Some), k), with[i])
		}
		if err := checkKeys(n, of); err != nil {
			return "", err
		}
		return e.keeping(n, append(list, nested.End))
	})
}

// checkKeys refuses NULL and a key that stands twice.
func checkKeys(n *node, keys []nested.Element) error {
	seen := make(map[string]bool, len(keys))
	for _, k := range keys {
		switch {
		case k.Null:
			return valueError(n, "a map has no key NULL")
		case seen[k.Value]:
			return valueError(n, "a map has each key once")
		}
		seen[k.Value] = true
	}
	return nil
}

// mapOfEntries binds map_from_entries.
func mapOfEntries(b *binder, n *node) {
	t := b.list(n, 0)
	if t.ID != Struct || len(t.parts) != 2 {
		b.fail(n.at, "%s: want a list of structs of a key and a value, not %s", n.text, n.args[0].typ)
	}
	n.fallible = true
	n.typ = newNested(Map, nil, t.parts...)
	l := n.typ.layout
	n.eval = map1f(n, func(e *Evaluator, s string) (string, error) {
		entries := e.list(l, s)
		keys := make([]nested.Element, len(entries))
		for i, x := range entries {
			if x.Null {
				return "", valueError(n, "an entry is NULL")
			}
			value, ok := l.Parts[0].Field(x.Value, 0)
			keys[i] = nested.Element{Value: value, Null: !ok}
		}
		return s, checkKeys(n, keys)
	})
}

// structFunctions are the functions of structs and maps.
func structFunctions() []Function {
	return []Function{
		operator("struct_pack", "{'name': a, ...}, struct_pack(name := a, ...)", "a struct", "{'a': 1, 'b': 'x'}",
			"{'a': 1, 'b': x}", 2, -1, structPack, "{"),
		function("row", "a, ...", "a struct of fields without names", "row(1, 'x')", "(1, x)", tuple),
		function("struct_extract", "s, field", "a field of a struct; s.field and s['field'] too; of a tuple its number",
			"struct_extract({'a': 1}, 'a')", "1", extractField),
		function("struct_extract_at", "s, n", "field n of a struct, from 1 on", "struct_extract_at({'a': 1, 'b': 2}, 2)", "2",
			extractField),
		operator("map", "MAP {key: a, ...}, map([key, ...], [a, ...])", "a map", "MAP {'a': 1}", "{a=1}", 0, 2, mapOf),
		function("map_from_entries", "list", "a map of structs of a key and a value", "map_from_entries([('a', 1)])",
			"{a=1}", mapOfEntries),
		function("map_entries", "m", "a list of structs of a key and a value", "map_entries(MAP {'a': 1})",
			"[{'key': a, 'value': 1}]", entriesOfMap),
		function("map_keys", "m", "the keys", "map_keys(MAP {'a': 1})", "[a]", entriesPart(0)),
		function("map_values", "m", "the values", "map_values(MAP {'a': 1})", "[1]", entriesPart(1)),
		function("map_extract", "m, key", "a list of the value of the key, or of none", "map_extract(MAP {'a': 1}, 'a')",
			"[1]", mapValues, "element_at"),
		function("map_extract_value", "m, key", "the value of the key, or NULL; m[key] too", "MAP {'a': 1}['a']", "1",
			mapValue),
		function("map_contains", "m, key", "whether the map has the key", "map_contains(MAP {'a': 1}, 'b')", "false", mapHas),
		function("cardinality", "m", "the number of entries", "cardinality(MAP {'a': 1})", "1", listLength(Uint64)),
	}
}
