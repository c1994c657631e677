package expr

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/mpga/mpga/internal/jsonpath"
	"github.com/mpga/mpga/internal/nested"
)

// jsonMakers are the functions that make JSON of values.
func jsonMakers() []Function {
	return []Function{
		function("to_json", "a", "any value as JSON; JSON itself is as it is", "to_json({'a': 1, 'b': [true, NULL]})",
			`{"a":1,"b":[true,null]}`, toJSON, "row_to_json", "array_to_json", "json_quote"),
		operator("json_object", "json_object(key, value, ...)", "an object of keys and values",
			"json_object('a', 1, 'b', NULL)", `{"a":1,"b":null}`, 0, -1, jsonObject),
		operator("json_array", "json_array(a, ...)", "an array of values", "json_array(1, 'x', NULL)", `[1,"x",null]`,
			0, -1, jsonArray),
		operator(JSONCast, "s::JSON", "the text of JSON, which is checked; other values as to_json has them; "+
			"a cast of JSON to another type reads it as json_transform_strict does",
			`'[1, 2]'::JSON`, "[1, 2]", 1, 1, castJSON(false)),
		operator(TryJSONCast, "TRY_CAST(s AS JSON)", "the same, NULL where the text is no JSON",
			`TRY_CAST('{' AS JSON)`, "NULL", 1, 1, castJSON(true)),
		function("json", "s", "the same JSON without space", `json(' [1, 2] ')`, "[1,2]", madeJSON(jsonValue)),
	}
}

// The names of casts to JSON.
const (
	JSONCast    = "::json"
	TryJSONCast = "try ::json"
)

// JSONOfList is the function that makes an array of a list, and JSONOfPairs the one that makes an object of a list of
// tuples of a key and a value. The second argument, a constant, says that the values are JSON.
const (
	JSONOfList  = "json of list"
	JSONOfPairs = "json of pairs"
)

// jsonPart returns what appends a part of a type as JSON; isJSON says that it is a text of JSON.
func jsonPart(t Type, isJSON bool) func(dst []byte, x nested.Element) []byte {
	write := jsonOf(t)
	return func(dst []byte, x nested.Element) []byte {
		switch {
		case x.Null:
			return append(dst, "null"...)
		case isJSON:
			return append(dst, nested.TextOf(x.Value)...)
		}
		return write(dst, x.Value)
	}
}

// jsonOf returns what appends a value of a type, as it is within others.
func jsonOf(t Type) func(dst []byte, s string) []byte {
	switch {
	case t.ID == Struct:
		return jsonStruct(t)
	case t.ID == List:
		element := jsonPart(t.parts[0], false)
		return func(dst []byte, s string) []byte {
			dst = append(dst, '[')
			for i, x := range t.layout.Elements(nil, s) {
				if i > 0 {
					dst = append(dst, ',')
				}
				dst = element(dst, x)
			}
			return append(dst, ']')
		}
	case t.ID == Map:
		return jsonMapOf(t)
	case t.ID == Bool, t.integer():
		return func(dst []byte, s string) []byte { return appendValue(dst, t, valueOf(t, s)) }
	case t.float():
		return func(dst []byte, s string) []byte { return jsonpath.AppendFloat(dst, valueOf(t, s).(float64)) }
	case t.numeric(): // decimals, with as many digits as they need
		return func(dst []byte, s string) []byte {
			from := len(dst)
			if dst = appendValue(dst, t, valueOf(t, s)); bytes.IndexByte(dst[from:], '.') < 0 {
				return dst
			}
			if dst = bytes.TrimRight(dst, "0"); dst[len(dst)-1] == '.' {
				dst = append(dst, '0')
			}
			return dst
		}
	}
	return func(dst []byte, s string) []byte {
		return jsonpath.AppendString(dst, formatValue(t, valueOf(t, s)))
	}
}

func jsonStruct(t Type) func(dst []byte, s string) []byte {
	parts, keys := make([]func([]byte, nested.Element) []byte, len(t.parts)), make([]string, len(t.parts))
	for i, p := range t.parts {
		if parts[i] = jsonPart(p, false); !isTuple(t.names) {
			keys[i] = string(jsonpath.AppendString(nil, t.names[i])) + ":"
		}
	}
	begin, end := byte('{'), byte('}')
	if isTuple(t.names) {
		begin, end = '[', ']'
	}
	return func(dst []byte, s string) []byte {
		open := begin
		for i, l := range t.layout.Parts {
			value, mark, rest := l.Part(s)
			dst = append(append(dst, open), keys[i]...)
			dst = parts[i](dst, nested.Element{Value: value, Null: mark == nested.None})
			s, open = rest, ','
		}
		return append(dst, end)
	}
}

func jsonMapOf(t Type) func(dst []byte, s string) []byte {
	key, item, entry := t.parts[0], jsonPart(t.parts[1], false), t.layout.Parts[0]
	return func(dst []byte, s string) []byte {
		dst = append(dst, '{')
		for i, x := range t.layout.Elements(nil, s) {
			if i > 0 {
				dst = append(dst, ',')
			}
			k, _, rest := entry.Parts[0].Part(x.Value)
			value, mark, _ := entry.Parts[1].Part(rest)
			dst = append(jsonpath.AppendString(dst, formatValue(key, valueOf(key, k))), ':')
			dst = item(dst, nested.Element{Value: value, Null: mark == nested.None})
		}
		return append(dst, '}')
	}
}

// ofParts makes a node JSON that a function writes of the arguments, each as it is within others.
func (b *binder) ofParts(
	n *node, write func(dst []byte, args []nested.Element, parts []jsonPartWriter) ([]byte, error),
) {
	parts := make([]jsonPartWriter, len(n.args))
	for i, a := range n.args {
		a = b.zonedTexts(a)
		n.args[i] = a
		parts[i] = jsonPart(a.typ, a.isJSON)
	}
	packed := &node{text: n.text, at: n.at, column: -1, single: -1, args: n.args}
	b.pack(packed, make([]string, len(n.args)))
	l := packed.typ.layout
	n.args, n.typ, n.isJSON = []*node{b.finish(packed)}, typeOf(Text), true
	n.eval = map1f(n, func(e *Evaluator, s string) (string, error) {
		args := e.elements[:0]
		for _, part := range l.Parts {
			value, mark, rest := part.Part(s)
			args = append(args, nested.Element{Value: value, Null: mark == nested.None})
			s = rest
		}
		e.elements = args
		d, err := write(e.draft[:0], args, parts)
		if err != nil {
			return "", err
		}
		return e.keeping(n, d)
	})
}

type jsonPartWriter = func(dst []byte, x nested.Element) []byte

func toJSON(b *binder, n *node) {
	b.ofParts(n, func(dst []byte, args []nested.Element, parts []jsonPartWriter) ([]byte, error) {
		if args[0].Null {
			return nil, errNull
		}
		return parts[0](dst, args[0]), nil
	})
}

// asJSON returns a node that is to_json of a value that is no text, or the node itself.
func (b *binder) asJSON(n *node) *node {
	if n.typ.ID == Text || n.typ.ID == Null {
		return n
	}
	made := &node{text: n.text, at: n.at, column: -1, single: -1, args: []*node{n}}
	toJSON(b, made)
	return b.finish(made)
}

func castJSON(try bool) binding {
	return func(b *binder, n *node) {
		a := n.args[0]
		if a.isJSON || a.typ.ID != Text && a.typ.ID != Null {
			toJSON(b, n)
			return
		}
		n.typ, n.isJSON, n.fallible = typeOf(Text), true, !try
		b.want(n, Text)
		n.eval = map1f(n, func(_ *Evaluator, s string) (string, error) {
			_, _, err := jsonpath.Find(s, nil)
			if err != nil && try {
				err = errNull
			}
			return s, err
		})
	}
}

// constantJSON makes a node a constant.
func constantJSON(n *node, value string) {
	n.typ, n.isConst, n.isJSON, n.value = typeOf(Text), true, true, value
}

func jsonObject(b *binder, n *node) {
	if len(n.args)%2 != 0 {
		b.fail(n.at, "%s: keys and values in turns", n.text)
	}
	if len(n.args) == 0 {
		constantJSON(n, "{}")
		return
	}
	for i := 0; i < len(n.args); i += 2 {
		if a := n.args[i]; a.typ.ID != Text {
			b.fail(a.at, "%s: the key %s is of type %s, want VARCHAR; cast it", n.text, a.text, a.typ)
		}
	}
	n.fallible = true
	b.ofParts(n, func(dst []byte, args []nested.Element, parts []jsonPartWriter) ([]byte, error) {
		open := byte('{')
		for i := 0; i < len(args); i += 2 {
			if args[i].Null {
				return nil, valueError(n, "a key is NULL")
			}
			dst = append(jsonpath.AppendString(append(dst, open), nested.TextOf(args[i].Value)), ':')
			dst, open = parts[i+1](dst, args[i+1]), ','
		}
		return append(dst, '}'), nil
	})
}

func jsonArray(b *binder, n *node) {
	if len(n.args) == 0 {
		constantJSON(n, "[]")
		return
	}
	b.ofParts(n, func(dst []byte, args []nested.Element, parts []jsonPartWriter) ([]byte, error) {
		open := byte('[')
		for i, x := range args {
			dst, open = parts[i](append(dst, open), x), ','
		}
		return append(dst, ']'), nil
	})
}

// isJSONOf takes the second argument of JSONOfList and JSONOfPairs.
func isJSONOf(n *node) bool {
	is, _ := n.args[1].value.(bool)
	n.args = n.args[:1]
	return is
}

// jsonOfList binds JSONOfList.
func jsonOfList(b *binder, n *node) {
	isJSON := isJSONOf(n)
	t := b.list(n, 0)
	n.typ, n.isJSON = typeOf(Text), true
	l, element := n.args[0].typ.layout, jsonPart(t, isJSON)
	n.eval = map1f(n, func(e *Evaluator, s string) (string, error) {
		d := append(e.draft[:0], '[')
		for i, x := range e.list(l, s) {
			if i > 0 {
				d = append(d, ',')
			}
			d = element(d, x)
		}
		return e.keeping(n, append(d, ']'))
	})
}

// jsonOfPairs binds JSONOfPairs.
func jsonOfPairs(b *binder, n *node) {
	isJSON := isJSONOf(n)
	t := b.list(n, 0)
	n.typ, n.isJSON, n.fallible = typeOf(Text), true, true
	l, item := n.args[0].typ.layout, jsonPart(t.parts[1], isJSON)
	n.eval = map1f(n, func(e *Evaluator, s string) (string, error) {
		d := append(e.draft[:0], '{')
		for i, x := range e.list(l, s) {
			if i > 0 {
				d = append(d, ',')
			}
			key, mark, rest := t.layout.Parts[0].Part(x.Value)
			if mark == nested.None {
				return "", valueError(n, "a key is NULL")
			}
			value, mark, _ := t.layout.Parts[1].Part(rest)
			d = append(jsonpath.AppendString(d, nested.TextOf(key)), ':')
			d = item(d, nested.Element{Value: value, Null: mark == nested.None})
		}
		return e.keeping(n, append(d, '}'))
	})
}

// nameOfType returns the name of a node's type, which is JSON of what functions of JSON make.
func (n *node) nameOfType() string {
	switch {
	case n.isJSON:
		return "JSON"
	case n.typ.span():
		return period.String()
	}
	return n.typ.String()
}

// jsonType returns the type that a structure says, as json_structure writes it: names of types, objects and arrays.
func (b *binder) jsonType(n *node, structure string) Type {
	if _, ok, err := jsonpath.Find(structure, nil); !ok || err != nil {
		b.fail(n.at, "%s: the structure is no JSON: %v", n.text, err)
	}
	return b.typeOfStructure(n, strings.TrimSpace(structure), 0)
}

func (b *binder) typeOfStructure(n *node, value string, depth int) Type {
	const depthMax = 64
	if depth > depthMax {
		b.fail(n.at, "%s: the structure is more than %d deep", n.text, depthMax)
	}
	switch value[0] {
	case '{':
		var names []string
		var parts []Type
		jsonpath.Each(value, func(key, v string) bool {
			if key == "" {
				b.fail(n.at, "%s: the structure has an empty key, which is no name of a field", n.text)
			}
			for _, name := range names {
				if strings.EqualFold(name, key) {
					b.fail(n.at, "%s: the structure has the key %q twice", n.text, key)
				}
			}
			names, parts = append(names, key), append(parts, b.typeOfStructure(n, v, depth+1))
			return true
		})
		if len(names) > 0 {
			return structOf(names, parts...)
		}
	case '[':
		if jsonpath.Len(value) == 1 {
			element, _, _ := jsonpath.Find(value, jsonpath.Index(0))
			return ListOf(b.typeOfStructure(n, element, depth+1))
		}
	case '"':
		return b.typeOfName(n, jsonpath.Unquote(value))
	}
	const want = "%s: the structure %s: want a type's name, an object with members, or an array of one element"
	b.fail(n.at, want, n.text, value)
	return Type{}
}

// typeOfName returns the type of a name, DECIMAL(9, 2) among them. JSON and "NULL" are text.
func (b *binder) typeOfName(n *node, written string) Type {
	name, rest, _ := strings.Cut(written, "(")
	if strings.EqualFold(name, "json") || strings.EqualFold(strings.Trim(name, `"`), "null") {
		return typeOf(Text)
	}
	var params []int
	for word := range strings.FieldsFuncSeq(rest, func(r rune) bool { return strings.ContainsRune(", )", r) }) {
		p, err := strconv.Atoi(word)
		if err != nil {
			b.fail(n.at, "%s: the structure has the type %s; types within others are objects and arrays, as in "+
				`{"a": ["INTEGER"]}`, n.text, written)
		}
		params = append(params, p)
	}
	t, err := ParseType(strings.TrimSpace(name), params...)
	if err != nil {
		b.fail(n.at, "%s: the structure: %v", n.text, err)
	}
	return t
}

// fromJSON binds json_transform, and where isStrict json_transform_strict: JSON as a value of a type.
func fromJSON(isStrict bool) binding {
	return func(b *binder, n *node) {
		t := b.jsonType(n, b.word(n, 1))
		n.args = []*node{b.asJSON(n.args[0])}
		b.want(n, Text)
		if !b.readJSON(n, t, isStrict) {
			b.fail(n.at, "%s: JSON cannot be read as %s", n.text, t)
		}
	}
}

// readJSON gives a node, whose argument is text of JSON, the kernel of reading it as a type: as strings where they are
// to be, and these cast. It returns false if there is no cast.
func (b *binder) readJSON(n *node, t Type, isStrict bool) bool {
	shape := textShape(t)
	parse := &node{typ: shape, text: n.text, at: n.at, column: -1, single: -1, args: n.args, fallible: true}
	parse.eval = map1f(parse, func(e *Evaluator, text string) (string, error) {
		value, _, err := jsonpath.Find(text, nil)
		if err != nil {
			return "", err
		}
		d, mark, err := appendShape(e.draft[:0], t, value, isStrict)
		if err != nil {
			return "", valueError(n, "%v", err)
		}
		if mark == nested.None {
			return "", errNull
		}
		if shape.ID == Text {
			return nested.TextOf(string(d)), nil
		}
		return e.keeping(parse, d)
	})
	if n.typ = t; shape == t {
		n.eval, n.fallible = parse.eval, true
		return true
	}
	n.args = []*node{parse}
	ok := setCast(n, shape, !isStrict)
	n.fallible = true
	return ok
}
