package expr

import (
	"slices"
	"strings"

	"github.com/mpga/mpga/internal/nested"
)

// partsOfStructs are the functions that put structs and maps together, or look through their parts.
func partsOfStructs() []Function {
	return []Function{
		operator("struct_insert", "struct_insert(s, name := a, ...)", "the struct with more fields",
			"struct_insert({'a': 1}, b := 2)", "{'a': 1, 'b': 2}", 3, -1, insertFields(false)),
		operator("struct_update", "struct_update(s, name := a, ...)",
			"the struct with other values of fields, or more fields",
			"struct_update({'a': 1}, a := 2)", "{'a': 2}", 3, -1, insertFields(true)),
		function("struct_concat", "s, ...", "the fields of structs in one", "struct_concat({'a': 1}, {'b': 2})",
			"{'a': 1, 'b': 2}", joinStructs),
		function("struct_keys", "s", "the names of the fields, as a list", "struct_keys({'a': 1})", "[a]", fieldNames),
		function("struct_values", "s", "the struct without its names", "struct_values({'a': 1, 'b': 'x'})", "(1, x)",
			valuesOfStruct),
		function("struct_contains", "s, a", "whether a is a field of a struct without names", "struct_contains(row(3, 4), 3)",
			"true", amongFields("list_contains"), "struct_has"),
		function("struct_position", "s, a", "the number of the first field that is a, or NULL",
			"struct_position(row(3, 4), 4)", "2", amongFields("list_position"), "struct_indexof"),
		function("map_concat", "m, ...", "the entries of maps in one; of a key the last",
			"map_concat(MAP {'a': 1}, MAP {'a': 2})", "{a=2}", joinMaps),
		function("map_contains_value", "m, a", "whether an entry has the value", "map_contains_value(MAP {'k': 1}, 1)",
			"true", func(b *binder, n *node) { b.becomes(n, "list_contains", b.made(n, "map_values", n.args[0]), n.args[1]) }),
		function("map_contains_entry", "m, key, a", "whether the map has the entry",
			"map_contains_entry(MAP {'k': 1}, 'k', 2)", "false", func(b *binder, n *node) {
				b.becomes(n, "list_contains", b.made(n, "map_entries", n.args[0]), b.made(n, "row", n.args[1], n.args[2]))
			}),
	}
}

// made returns a call of a function, as a part of a node.
func (b *binder) made(n *node, name string, args ...*node) *node {
	call := &node{text: n.text, at: n.at, column: -1, single: -1, name: name, args: args}
	b.bindCall(functionsByName[name], call)
	return b.finish(call)
}

// becomes makes a node a call of another function.
func (b *binder) becomes(n *node, name string, args ...*node) {
	n.name, n.args = name, args
	b.bindCall(functionsByName[name], n)
}

// fields returns the fields of a struct as nodes; all are NULL where it is.
func (b *binder) fields(n *node, i int) []*node {
	s := n.args[i]
	if s.typ.ID != Struct {
		b.fail(s.at, "%s: argument %d is of type %s, want a struct", n.text, i+1, s.typ)
	}
	s.shared, b.program.shared = true, true
	fields := make([]*node, len(s.typ.parts))
	for at, t := range s.typ.parts {
		f := &node{text: s.text, at: s.at, column: -1, single: -1, args: []*node{s}}
		f.setParts(t, map1e(f, func(v string) (string, error) {
			value, ok := s.typ.layout.Field(v, at)
			if !ok {
				return "", errNull
			}
			return value, nil
		}))
		fields[at] = b.finish(f)
	}
	return fields
}

// insertFields binds struct_insert, and struct_update, which may have names that the struct has.
func insertFields(updates bool) binding {
	return func(b *binder, n *node) {
		fields := b.fields(n, 0)
		names := slices.Clone(n.args[0].typ.names)
		if isTuple(names) && len(names) > 0 || len(n.args)%2 == 0 {
			b.fail(n.at, "%s: want a struct with names, and names and values behind it", n.text)
		}
		for i := 1; i < len(n.args); i += 2 {
			name := b.word(n, i)
			at := slices.IndexFunc(names, func(known string) bool { return strings.EqualFold(known, name) })
			switch {
			case at < 0:
				names, fields = append(names, name), append(fields, n.args[i+1])
			case updates:
				fields[at] = n.args[i+1]
			default:
				b.fail(n.args[i].at, "%s: the struct has a field %s already", n.text, name)
			}
		}
		n.args = fields
		b.pack(n, names)
	}
}

func joinStructs(b *binder, n *node) {
	var names []string
	var fields []*node
	for i := range n.args {
		fields = append(fields, b.fields(n, i)...)
		names = append(names, n.args[i].typ.names...)
	}
	isNamed := !isTuple(names)
	for i, name := range names {
		isSame := func(other string) bool { return strings.EqualFold(other, name) }
		if isNamed && (name == "" || slices.ContainsFunc(names[:i], isSame)) {
			b.fail(n.at, "%s: want names that differ, or none", n.text)
		}
	}
	n.args = fields
	b.pack(n, names)
}

func fieldNames(b *binder, n *node) {
	s := n.args[0]
	if s.typ.ID != Struct || isTuple(s.typ.names) {
		b.fail(s.at, "%s: argument 1 is of type %s, want a struct with names", n.text, s.typ)
	}
	var list []byte
	for _, name := range s.typ.names {
		list = nested.AppendText(append(list, nested.Some), name)
	}
	list = append(list, nested.End)
	n.typ = ListOf(typeOf(Text))
	n.eval = map1e(n, func(string) (string, error) { return string(list), nil })
}

// valuesOfStruct binds struct_values: the same bytes.
func valuesOfStruct(b *binder, n *node) {
	s := n.args[0]
	if s.typ.ID != Struct {
		b.fail(s.at, "%s: argument 1 is of type %s, want a struct", n.text, s.typ)
	}
	n.typ, n.eval = structOf(make([]string, len(s.typ.parts)), s.typ.parts...), sameValues(n)
}

// amongFields binds a function of the list of the fields of a struct without names.
func amongFields(name string) binding {
	return func(b *binder, n *node) {
		if s := n.args[0]; s.typ.ID != Struct || !isTuple(s.typ.names) {
			b.fail(s.at, "%s: argument 1 is of type %s, want a struct without names", n.text, s.typ)
		}
		b.becomes(n, name, b.made(n, "list_value", b.fields(n, 0)...), n.args[1])
	}
}

// joinMaps binds map_concat. Maps that are NULL are left out; of no others the result is NULL.
func joinMaps(b *binder, n *node) {
	t := typeOf(Null)
	for _, a := range n.args {
		u, ok := common(t, a.typ)
		if !ok || u.ID != Map && u.ID != Null {
			b.fail(a.at, "%s: %s and %s do not go together; want maps, cast one of them", n.text, t, a.typ)
		}
		t = u
	}
	if len(n.args) < 2 {
		b.fail(n.at, "%s: want two maps or more", n.text)
	}
	if t.ID == Null {
		n.typ, n.isConst, n.args = t, true, nil
		return
	}
	b.castArgs(n, t)
	n.typ = t
	n.eval = func(f *frame) (*vector, error) {
		args, out, err := f.all(n, textKind)
		if err != nil {
			return nil, err
		}
		out.null = f.e.bitmap(f.n)
		for i := range out.texts {
			entries, isNull := f.mapEntries(t, args, i)
			if out.null[i>>6] |= bitOf(isNull) << (i & 63); isNull {
				continue
			}
			if out.texts[i], err = f.e.newList(n, entries); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
}

// mapEntries returns the entries of the maps of a row, of a key the last, and whether all maps are NULL.
func (f *frame) mapEntries(t Type, maps []*vector, row int) (entries []nested.Element, isNull bool) {
	isNull = true
	places := map[string]int{}
	for _, m := range maps {
		if m.isNull(row) {
			continue
		}
		isNull = false
		for _, x := range f.e.list(t.layout, m.texts[row]) {
			key, _, _ := t.layout.Parts[0].Parts[0].Part(x.Value)
			if at, ok := places[key]; ok {
				entries[at] = x
				continue
			}
			places[key] = len(entries)
			entries = append(entries, x)
		}
	}
	return entries, isNull
}
