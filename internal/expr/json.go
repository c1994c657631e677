package expr

import (
	"fmt"

	"github.com/mpga/mpga/internal/jsonpath"
	"github.com/mpga/mpga/internal/nested"
)

// jsonFunctions are the functions of texts of JSON. What they take out of one is text, without space and in one form.
func jsonFunctions() []Function {
	return []Function{
		function("json_extract", "json, path", "the value at a path, as JSON: '$.key[0]', '/key/0', "+
			"a key, or a place from 0; a list of values at '$.key[*]' or '$.*', or at a list of paths",
			`json_extract('{"a": [1, 2]}', '$.a[1]')`, "2", madeJSON(jsonValue), "json_extract_path"),
		operator("->", "json -> path", "json_extract", `'{"a": {"b": 1}}' -> 'a'`, `{"b":1}`, 2, 2,
			madeJSON(jsonValue)),
		function("json_extract_string", "json, path", "the same, without the quotes of a string; NULL of null",
			`json_extract_string('{"a": "x"}', '$.a')`, "x", jsonAt(typeOf(Text), jsonString), "json_extract_path_text"),
		operator("->>", "json ->> path", "json_extract_string", `'{"a": "x"}' ->> 'a'`, "x", 2, 2, jsonAt(typeOf(Text), jsonString)),
		function("json_array_length", "json [, path]", "elements of an array; 0 of other values",
			"json_array_length('[1, 2]')", "2", jsonLength),
		function("json_keys", "json [, path]", "the keys of an object, as a list", `json_keys('{"a": 1, "b": 2}')`, "[a, b]",
			jsonAt(ListOf(typeOf(Text)), jsonKeys)),
		function("json_type", "json [, path]", "OBJECT, ARRAY, VARCHAR, UBIGINT, BIGINT, DOUBLE, BOOLEAN or NULL",
			"json_type('[1]')", "ARRAY", jsonAt(typeOf(Text), jsonKind)),
		function("json_valid", "s", "whether s is JSON", "json_valid('{')", "false", jsonValid),
		function("json_exists", "json, path", "whether there is a value at a path", `json_exists('{"a": null}', '$.a')`,
			"true", jsonExists),
		function("json_value", "json, path", "the value at a path, as JSON, NULL of null, objects and arrays",
			`json_value('{"a": "x"}', '$.a')`, `"x"`, jsonAt(typeOf(Text), jsonScalar)),
		function("json_structure", "json", "the types of a value, as JSON", `json_structure('{"a": [1, 2.5]}')`,
			`{"a":["DOUBLE"]}`, madeJSON(jsonStructure)),
		function("json_pretty", "json", "the same JSON with a line for each member", "json_pretty('[]')", "[]",
			jsonAt(typeOf(Text), func(dst []byte, value string) ([]byte, bool) {
				return jsonpath.AppendPretty(dst, value), true
			})),
		function("json_contains", "json, other", "whether json, or a value in it, is other, or has its parts",
			`json_contains('{"a": [1, 2]}', '[2]')`, "true", jsonContains),
		function("json_merge_patch", "json, patch, ...", "json with the members of a patch, but for nulls there",
			`json_merge_patch('{"a": 1, "b": 2}', '{"b": null, "c": 3}')`, `{"a":1,"c":3}`, jsonMerge),
		function("json_transform", "json, structure", "a value of a type that is written as json_structure does; "+
			"what is of another type is NULL", `json_transform('{"a": "1"}', '{"a": "INTEGER"}')`, "{'a': 1}",
			fromJSON(false), "from_json"),
		function("json_transform_strict", "json, structure", "the same; another type or another key is an error",
			`json_transform_strict('[1]', '["BIGINT"]')`, "[1]", fromJSON(true), "from_json_strict"),
	}
}

func jsonScalar(dst []byte, value string) ([]byte, bool) {
	switch value[0] {
	case 'n', '{', '[':
		return dst, false
	}
	return jsonpath.Append(dst, value), true
}

func jsonStructure(dst []byte, value string) ([]byte, bool) {
	return append(dst, jsonpath.Structure(value)...), true
}

// wholeJSON returns the value of a text of JSON.
func wholeJSON(text string) (string, error) {
	value, _, err := jsonpath.Find(text, nil)
	return value, err
}

func jsonExists(b *binder, n *node) {
	n.typ = typeOf(Bool)
	n.eval = jsonTest(n, b.jsonPlace(n), func(_ string, ok bool) bool { return ok })
}

// jsonTest makes the kernel of a condition on the value at a path, which is text.
func jsonTest(
	n *node, find func(text, path string, index int64) (string, bool, error), is func(value string, ok bool) bool,
) kernel {
	if n.args[1].typ.integer() {
		return test2(n, func(_ *Evaluator, text string, i int64) (bool, error) {
			value, ok, err := find(text, "", i)
			return err == nil && is(value, ok), err
		})
	}
	return test2(n, func(_ *Evaluator, text, path string) (bool, error) {
		value, ok, err := find(text, path, 0)
		return err == nil && is(value, ok), err
	})
}

func jsonContains(b *binder, n *node) {
	n.typ, n.fallible = typeOf(Bool), true
	n.args[0], n.args[1] = b.asJSON(n.args[0]), b.asJSON(n.args[1])
	b.want(n, Text, Text)
	n.eval = test2(n, func(_ *Evaluator, text, other string) (bool, error) {
		value, err := wholeJSON(text)
		if err != nil {
			return false, err
		}
		if other, err = wholeJSON(other); err != nil {
			return false, err
		}
		return jsonpath.Contains(value, other), nil
	})
}

// jsonMerge binds json_merge_patch: NULL is a value without members, and as a patch it makes NULL.
func jsonMerge(b *binder, n *node) {
	n.typ, n.isJSON, n.fallible = typeOf(Text), true, true
	types := make([]TypeID, len(n.args))
	for i := range n.args {
		n.args[i], types[i] = b.asJSON(n.args[i]), Text
	}
	b.want(n, types...)
	n.eval = func(f *frame) (*vector, error) {
		args, out, err := f.all(n, textKind)
		if err != nil {
			return nil, err
		}
		out.null = args[len(args)-1].null
		for row := range out.texts {
			if out.isNull(row) {
				continue
			}
			merged := ""
			for i, a := range args {
				if a.isNull(row) {
					merged = ""
					continue
				}
				value, err := wholeJSON(a.texts[row])
				switch {
				case err != nil:
					return nil, &Error{Message: fmt.Sprintf("%s: %v", n.text, err), At: n.at}
				case i == 0:
					merged = value
				default:
					merged = string(jsonpath.Merge(nil, merged, value))
				}
			}
			if out.texts[row], err = f.e.keeping(n, append(f.e.draft[:0], merged...)); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
}

// jsonWriter appends what a function makes of a value; ok is false for NULL.
type jsonWriter func(dst []byte, value string) (b []byte, ok bool)

func jsonValue(dst []byte, value string) ([]byte, bool) { return jsonpath.Append(dst, value), true }

func jsonString(dst []byte, value string) ([]byte, bool) {
	switch value[0] {
	case 'n':
		return dst, false
	case '"':
		return append(dst, jsonpath.Unquote(value)...), true
	}
	return jsonpath.Append(dst, value), true
}

func jsonKind(dst []byte, value string) ([]byte, bool) {
	return append(dst, jsonpath.Kind(value)...), true
}

func jsonKeys(dst []byte, value string) ([]byte, bool) {
	if value[0] == '{' {
		jsonpath.Each(value, func(key, _ string) bool {
			dst = nested.AppendText(append(dst, nested.Some), key)
			return true
		})
	}
	return append(dst, nested.End), true
}

// jsonPlace returns what finds the value of a text at the path of the second argument, or, without one, the whole.
func (b *binder) jsonPlace(n *node) func(text string, path string, index int64) (string, bool, error) {
	n.fallible = true
	n.args[0] = b.asJSON(n.args[0])
	switch {
	case len(n.args) == 1:
		b.want(n, Text)
		return func(text, _ string, _ int64) (string, bool, error) { return jsonpath.Find(text, nil) }
	case n.args[1].typ.integer():
		b.want(n, Text, Int64)
		return func(text, _ string, i int64) (string, bool, error) {
			return jsonpath.Find(text, jsonpath.Index(int(i)))
		}
	}
	b.want(n, Text, Text)
	if text, ok := n.args[1].value.(string); ok && n.args[1].isConst {
		p, err := jsonpath.ParsePath(text)
		return func(text, _ string, _ int64) (string, bool, error) {
			if err != nil {
				return "", false, err
			}
			return jsonpath.Find(text, p)
		}
	}
	return func(text, path string, _ int64) (string, bool, error) {
		p, err := jsonpath.ParsePath(path)
		if err != nil {
			return "", false, err
		}
		return jsonpath.Find(text, p)
	}
}

// jsonMap makes the kernel of a function of a value at a place.
func jsonMap[R element](b *binder, n *node, fn func(e *Evaluator, value string, ok bool) (R, error)) kernel {
	find := b.jsonPlace(n)
	of := func(e *Evaluator, text, path string, index int64) (r R, err error) {
		value, ok, err := find(text, path, index)
		if err != nil {
			return r, err
		}
		return fn(e, value, ok)
	}
	switch {
	case len(n.args) == 1:
		return map1f(n, func(e *Evaluator, text string) (R, error) { return of(e, text, "", 0) })
	case n.args[1].typ.kind() == intKind:
		return map2f(n, func(e *Evaluator, text string, i int64) (R, error) { return of(e, text, "", i) })
	}
	return map2f(n, func(e *Evaluator, text, path string) (R, error) { return of(e, text, path, 0) })
}

// jsonAt binds a function of a value at a place that makes a string, or a list of strings.
func jsonAt(t Type, write jsonWriter) binding {
	return func(b *binder, n *node) {
		if paths, isMany, err := constantPaths(n); isMany && err == nil {
			b.jsonAtAll(n, t, paths, write)
			return
		}
		n.typ = t
		n.eval = jsonMap(b, n, func(e *Evaluator, value string, ok bool) (string, error) {
			if !ok {
				return "", errNull
			}
			d, ok := write(e.draft[:0], value)
			if !ok {
				return "", errNull
			}
			return e.keeping(n, d)
		})
	}
}

// constantPaths returns the paths of a second argument that is a constant; isMany says that it is a list, or a path of
// several values.
func constantPaths(n *node) (paths []jsonpath.Path, isMany bool, err error) {
	if len(n.args) < 2 {
		return nil, false, nil
	}
	at := n.args[1]
	text, isText := at.value.(string)
	texts := []string{text}
	switch {
	case !isText || at.typ.ID != Text && at.typ != ListOf(typeOf(Text)):
		return nil, false, nil
	case at.typ.ID == List:
		texts, isMany = nil, true
		for _, x := range at.typ.layout.Elements(nil, text) {
			texts = append(texts, nested.TextOf(x.Value))
		}
	}
	for _, text := range texts {
		p, err := jsonpath.ParsePath(text)
		if err != nil {
			return nil, isMany, err
		}
		paths, isMany = append(paths, p), isMany || p.IsMany()
	}
	return paths, isMany, nil
}

// jsonAtAll binds a function of the values at constant paths: a list of the values at one path with *, or of the value
// at each of several paths, NULL where there is none.
func (b *binder) jsonAtAll(n *node, t Type, paths []jsonpath.Path, write jsonWriter) {
	isList := n.args[1].typ.ID == List
	for _, p := range paths {
		if isList && p.IsMany() {
			b.fail(n.args[1].at, "not supported: %s: a path with * in a list of paths", n.text)
		}
	}
	n.typ, n.args, n.fallible = ListOf(t), []*node{b.asJSON(n.args[0])}, true
	b.want(n, Text)
	n.eval = map1f(n, func(e *Evaluator, text string) (string, error) {
		var d, made []byte
		add := func(value string, ok bool) {
			if ok {
				made, ok = write(made[:0], value)
			}
			if !ok {
				d = append(d, nested.None)
			} else if d = append(d, nested.Some); t.ID == Text {
				d = nested.AppendText(d, string(made))
			} else {
				d = append(d, made...)
			}
		}
		for _, p := range paths {
			if !isList {
				err := jsonpath.FindAll(text, p, func(value string) { add(value, true) })
				if err != nil {
					return "", err
				}
				continue
			}
			value, ok, err := jsonpath.Find(text, p)
			if err != nil {
				return "", err
			}
			add(value, ok)
		}
		return e.keeping(n, append(append(e.draft[:0], d...), nested.End))
	})
}

// madeJSON binds a function of a value at a place that makes JSON.
func madeJSON(write jsonWriter) binding {
	bind := jsonAt(typeOf(Text), write)
	return func(b *binder, n *node) {
		bind(b, n)
		n.isJSON = n.typ.ID == Text
	}
}

func jsonLength(b *binder, n *node) {
	n.typ = typeOf(Uint64)
	n.eval = jsonMap(b, n, func(_ *Evaluator, value string, ok bool) (wide, error) {
		if !ok {
			return wide{}, errNull
		}
		return wideOf(int64(jsonpath.Len(value))), nil
	})
}

func jsonValid(b *binder, n *node) {
	n.typ = typeOf(Bool)
	n.args[0] = b.asJSON(n.args[0])
	b.want(n, Text)
	n.eval = test1(n, func(text string) bool {
		_, _, err := jsonpath.Find(text, nil)
		return err == nil
	})
}
