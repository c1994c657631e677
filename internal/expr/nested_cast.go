package expr

import (
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/internal/nested"
	"github.com/mpga/mpga/internal/timeformat"
)

// setNestedCast is setCast where a type is nested.
func setNestedCast(n *node, from Type, try bool) bool {
	to, zone := n.typ, n.zone
	switch {
	case to.ID == Text:
		n.fallible = false
		n.eval = map1f(n, func(e *Evaluator, s string) (string, error) {
			return e.keeping(n, appendNested(e.draft[:0], from, s, zone))
		})
		return true
	case from.ID == Text:
		return parseNestedCast(n, try)
	case from.ID == Struct && to.ID == Map:
		return structToMap(n, from, try)
	case from.ID != to.ID:
		return false
	}
	n.fallible = false
	if from.ID == Struct {
		return structCast(n, from, try)
	}
	element, into := from.parts[0], to.parts[0]
	if from.ID == Map {
		element, into = from.entry(), to.entry()
	}
	c, ok := n.partCast(element, into, try)
	if !ok {
		return false
	}
	arg := n.args[0]
	n.eval = func(f *frame) (*vector, error) {
		lists, err := f.eval(arg)
		if err != nil {
			return nil, err
		}
		e := elementsOf(from.layout, lists)
		parts, ends, err := f.runParts(c.node, e.parents, []param{{c.id, e.values(element)}})
		if err != nil {
			return nil, err
		}
		return f.lists(n, e.parents, lists, func(dst []byte, i int) []byte {
			return append(dst, parts[ends[i]:ends[i+1]]...)
		})
	}
	if from.ID == Map && from.parts[0] != to.parts[0] {
		n.withKeys(try)
	}
	return true
}

// withKeys lets a node, whose kernel makes maps, check their keys, which a cast may make NULL or equal. TRY_CAST has
// NULL in place of such a map.
func (n *node) withKeys(try bool) {
	made := *n
	n.args, n.fallible = []*node{&made}, !try
	l := n.typ.layout
	n.eval = map1e(n, func(s string) (string, error) {
		var keys []nested.Element
		for _, x := range l.Elements(nil, s) {
			value, ok := l.Parts[0].Field(x.Value, 0)
			keys = append(keys, nested.Element{Value: value, Null: !ok})
		}
		err := checkKeys(n, keys)
		if err != nil && try {
			err = errNull
		}
		return s, err
	})
}

// castPart is the cast of a part: a node over a parameter.
type castPart struct {
	node *node
	id   int64
}

// castIDs are the IDs of the parameters of parts, which are negative.
var castIDs atomic.Int64

func (n *node) partCast(from, to Type, try bool) (castPart, bool) {
	c := castPart{id: castIDs.Add(-1)}
	p := parameterOf(c.id, from)
	p.text, p.at = n.text, n.at
	if c.node = p; from == to {
		return c, true
	}
	c.node = &node{typ: to, text: n.text, at: n.at, column: -1, single: -1, args: []*node{p}, zone: n.zone}
	if to.ID == Null || !setCast(c.node, from, try) {
		return c, false
	}
	n.fallible = n.fallible || c.node.fallible
	return c, true
}

// structCast casts structs field by field.
func structCast(n *node, from Type, try bool) bool {
	to := n.typ
	places, ok := partPlaces(from, to)
	casts := make([]castPart, len(places))
	for i, at := range places {
		if at >= 0 && ok {
			casts[i], ok = n.partCast(from.parts[at], to.parts[i], try)
		}
	}
	if !ok {
		return false
	}
	writes := make([]func([]byte, *vector, int) []byte, len(places))
	for i, t := range to.parts {
		writes[i] = appender(t)
	}
	n.eval = func(f *frame) (*vector, error) {
		v, err := f.eval(n.args[0])
		if err != nil {
			return nil, err
		}
		fields := make([]*vector, len(places))
		for i, at := range places {
			if at < 0 {
				continue
			}
			sub := f.e.frameOf(f.from, f.n, f.rows)
			sub.params = append(sub.params, bound{casts[i].id, f.fieldOf(from, v, at)})
			fields[i], err = sub.eval(casts[i].node)
			f.e.done(sub)
			if err != nil {
				return nil, err
			}
		}
		return f.structs(n, v, fields, writes)
	}
	return true
}

// structToMap casts structs to maps of the names of the fields to their values.
func structToMap(n *node, from Type, try bool) bool {
	if isTuple(from.names) {
		return false
	}
	to := n.typ
	values := *n
	values.typ = structOf(from.names, slices.Repeat([]Type{to.parts[1]}, len(from.names))...)
	if values.fallible = false; !structCast(&values, from, try) {
		return false
	}
	n.args, n.typ, n.fallible = []*node{&values}, newNested(Map, nil, typeOf(Text), to.parts[1]), values.fallible
	layout := values.typ.layout
	made := *n
	made.eval = map1f(&made, func(e *Evaluator, s string) (string, error) {
		d := e.draft[:0]
		for i, part := range layout.Parts {
			_, _, rest := part.Part(s)
			d = nested.AppendText(append(d, nested.Some, nested.Some), from.names[i])
			d = append(d, s[:len(s)-len(rest)]...)
			s = rest
		}
		return e.keeping(n, append(d, nested.End))
	})
	n.args, n.typ = []*node{&made}, to
	ok := setNestedCast(n, made.typ, try)
	n.fallible = n.fallible || made.fallible
	return ok
}

// fieldOf returns a field of the structs of a vector.
func (f *frame) fieldOf(t Type, v *vector, at int) *vector {
	parts := f.e.vector(textKind, f.n)
	parts.null = f.e.bitmap(f.n)
	for i, s := range v.texts {
		value, ok := "", false
		if !v.isNull(i) {
			value, ok = t.layout.Field(s, at)
		}
		parts.texts[i] = value
		parts.null[i>>6] |= bitOf(!ok) << (i & 63)
	}
	return f.e.read(t.parts[at], parts)
}

// structs makes structs of vectors, NULL where a struct is; a vector that is nil is NULL.
func (f *frame) structs(
	n *node, of *vector, fields []*vector, writes []func([]byte, *vector, int) []byte,
) (*vector, error) {
	out := f.e.vector(textKind, f.n)
	out.null = of.null
	for row := range out.texts {
		if out.isNull(row) {
			continue
		}
		d := f.e.draft[:0]
		for i, v := range fields {
			if v == nil || n.typ.parts[i].ID == Null {
				d = append(d, nested.None)
			} else {
				d = appendPart(d, writes[i], v, row)
			}
		}
		var err error
		if out.texts[row], err = f.e.keeping(n, d); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// textShape returns a type with strings in place of all values that are not nested.
func textShape(t Type) Type {
	if !t.nested() || t.whole() {
		return typeOf(Text)
	}
	parts := make([]Type, len(t.parts))
	for i, p := range t.parts {
		parts[i] = textShape(p)
	}
	return newNested(t.ID, t.names, parts...)
}

// parseNestedCast casts strings to nested values: to values of strings first.
func parseNestedCast(n *node, try bool) bool {
	shape := textShape(n.typ)
	parse := &node{typ: shape, text: n.text, at: n.at, column: -1, single: -1, args: n.args, fallible: !try}
	parse.eval = tried(parse, typeOf(Text), try, func(s string) (string, bool) {
		b, ok := appendParsed(nil, shape, s)
		return string(b), ok
	})
	n.fallible = !try
	if shape == n.typ {
		if n.eval = parse.eval; shape.ID == Map {
			n.withKeys(try)
		}
		return true
	}
	n.args = []*node{parse}
	ok := setNestedCast(n, shape, try)
	n.fallible = n.fallible || !try
	return ok
}

// appendNested writes a nested value as DuckDB casts it to a string, and instants in a zone; nil is UTC.
func appendNested(b []byte, t Type, s string, zone *time.Location) []byte {
	if t.ID == Period {
		months, days, micros := nested.IntervalOf(s)
		return timeformat.AppendInterval(b, months, days, micros)
	}
	if t.ID == Named {
		return append(b, t.named().Text(nested.TextOf(s))...)
	}
	opened, closed := "[", "]"
	switch {
	case t.ID == Struct && isTuple(t.names):
		opened, closed = "(", ")"
	case t.ID != List:
		opened, closed = "{", "}"
	}
	b = append(b, opened...)
	if t.ID != Struct {
		for i, x := range t.layout.Elements(nil, s) {
			if i > 0 {
				b = append(b, ", "...)
			}
			if t.ID == List {
				b = appendPartText(b, t.parts[0], x, zone)
				continue
			}
			key, _, rest := t.layout.Parts[0].Parts[0].Part(x.Value)
			value, mark, _ := t.layout.Parts[0].Parts[1].Part(rest)
			b = append(appendPartText(b, t.parts[0], nested.Element{Value: key}, zone), '=')
			b = appendPartText(b, t.parts[1], nested.Element{Value: value, Null: mark == nested.None}, zone)
		}
		return append(b, closed...)
	}
	for i, part := range t.layout.Parts {
		if i > 0 {
			b = append(b, ", "...)
		}
		value, mark, rest := part.Part(s)
		if s = rest; opened == "{" {
			b = append(appendQuoted(b, t.names[i]), ": "...)
		}
		b = appendPartText(b, t.parts[i], nested.Element{Value: value, Null: mark == nested.None}, zone)
	}
	if opened == "(" && len(t.parts) == 1 {
		b = append(b, ',')
	}
	return append(b, closed...)
}

func appendPartText(b []byte, t Type, x nested.Element, zone *time.Location) []byte {
	switch {
	case x.Null:
		return append(b, "NULL"...)
	case t.nested() && !t.whole():
		return appendNested(b, t, x.Value, zone)
	case t.numeric():
		return appendValue(b, t, valueOf(t, x.Value))
	}
	from := len(b)
	if v := valueOf(t, x.Value); t.ID == TimestampTZ && zone != nil {
		b = appendInstant(b, v.(int64), zone)
	} else {
		b = appendValue(b, t, v)
	}
	text := b[from:]
	if needsQuotes(string(text)) {
		return appendQuoted(b[:from], strings.Clone(string(text)))
	}
	return b
}

// needsQuotes says whether a string within a nested value would be read as something else without quotes.
func needsQuotes(s string) bool {
	return s == "" || strings.ContainsAny(s, `"'(),:=[\]{}`) || strings.TrimSpace(s) != s || strings.EqualFold(s, "null")
}

func appendQuoted(b []byte, s string) []byte {
	b = append(b, '\'')
	for i := range len(s) {
		if s[i] == '\'' || s[i] == '\\' {
			b = append(b, '\\')
		}
		b = append(b, s[i])
	}
	return append(b, '\'')
}

// appendParsed reads a nested value of strings.
func appendParsed(b []byte, t Type, s string) ([]byte, bool) {
	s = strings.TrimSpace(s)
	opened, closed := byte('['), byte(']')
	switch {
	case t.ID == Struct && (isTuple(t.names) || strings.HasPrefix(s, "(")): // fields by their places
		opened, closed = '(', ')'
	case t.ID != List:
		opened, closed = '{', '}'
	}
	if len(s) < 2 || s[0] != opened || s[len(s)-1] != closed {
		return b, false
	}
	items, ok := splitOutside(s[1:len(s)-1], ',', len(s))
	if !ok {
		return b, false
	}
	if t.ID == Struct {
		return appendParsedStruct(b, t, items, opened == '(')
	}
	for _, item := range items {
		if t.ID == List {
			b, ok = appendParsedPart(b, t.parts[0], item)
		} else if pair, isPair := splitOutside(item, '=', 2); isPair && len(pair) == 2 {
			if b, ok = appendParsedPart(append(b, nested.Some), t.parts[0], pair[0]); ok {
				b, ok = appendParsedPart(b, t.parts[1], pair[1])
			}
		} else {
			return b, false
		}
		if !ok {
			return b, false
		}
	}
	return append(b, nested.End), true
}

func appendParsedStruct(b []byte, t Type, items []string, byPlace bool) ([]byte, bool) {
	values := slices.Repeat([]string{"NULL"}, len(t.parts))
	if last := len(items) - 1; byPlace && last >= 0 && items[last] == "" { // behind a comma, as in (1,)
		items = items[:last]
	}
	for i, item := range items {
		if !byPlace {
			pair, ok := splitOutside(item, ':', 2)
			if !ok || len(pair) != 2 {
				return b, false
			}
			if i = t.field(unquoted(pair[0])); i < 0 {
				return b, false
			}
			item = pair[1]
		}
		if i >= len(values) {
			return b, false
		}
		values[i] = item
	}
	for i, value := range values {
		var ok bool
		if b, ok = appendParsedPart(b, t.parts[i], value); !ok {
			return b, false
		}
	}
	return b, true
}

func appendParsedPart(b []byte, t Type, s string) ([]byte, bool) {
	switch {
	case strings.EqualFold(s, "null"):
		return append(b, nested.None), true
	case t.nested():
		return appendParsed(append(b, nested.Some), t, s)
	}
	return nested.AppendText(append(b, nested.Some), unquoted(s)), true
}

func isQuote(c byte) bool { return c == '\'' || c == '"' }

// unquoted returns a string without the quotes around parts of it, without the backslashes before characters in these
// parts, and without the ones before quotes elsewhere. What stands in brackets outside of quotes stays as it is.
func unquoted(s string) string {
	if !strings.ContainsAny(s, `'"\`) {
		return s
	}
	var b strings.Builder
	quote, depth := byte(0), 0 // that the part at i is within; of brackets
	for i := 0; i < len(s); i++ {
		c, drop := s[i], false
		switch {
		case c == '\\' && i+1 < len(s) && (quote != 0 || isQuote(s[i+1])):
			if depth > 0 {
				b.WriteByte(c)
			}
			i++
			c = s[i]
		case c == quote:
			quote, drop = 0, depth == 0
		case quote == 0 && isQuote(c):
			quote, drop = c, depth == 0
		case quote == 0 && strings.IndexByte("[{(", c) >= 0:
			depth++
		case quote == 0 && strings.IndexByte("]})", c) >= 0:
			depth--
		}
		if !drop {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// splitOutside cuts a text at the separators that stand outside of quotes and brackets, into most parts or fewer, and
// takes the blanks around the parts away. A text of blanks has no parts.
func splitOutside(s string, separator byte, most int) (parts []string, ok bool) {
	if strings.TrimSpace(s) == "" {
		return nil, true
	}
	depth, from := 0, 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '\\':
			if i+1 < len(s) && isQuote(s[i+1]) {
				i++
			}
		case '\'', '"':
			end := i + 1
			for ; end < len(s) && s[end] != c; end++ {
				if s[end] == '\\' {
					end++
				}
			}
			if end >= len(s) {
				return nil, false
			}
			i = end
		case '[', '{', '(':
			depth++
		case ']', '}', ')':
			if depth--; depth < 0 {
				return nil, false
			}
		case separator:
			if depth == 0 && len(parts)+1 < most {
				parts = append(parts, strings.TrimSpace(s[from:i]))
				from = i + 1
			}
		}
	}
	return append(parts, strings.TrimSpace(s[from:])), depth == 0
}

// NestedTexts returns what appends the texts of an array's lists, structs or maps, as casts have them; nil of types
// with parts that SQL does not have. Requires: the row is not NULL.
func NestedTexts(a arrow.Array) func(dst []byte, row int) []byte {
	of := nested.Canonical(a.DataType())
	if of == nil {
		return nil
	}
	t := ofNested(of)
	write, err := nested.NewWriter(a, t.layout)
	if err != nil {
		return nil
	}
	var value []byte
	zone := zoneWithin(a.DataType())
	return func(dst []byte, row int) []byte {
		value = write(value[:0], row)
		return appendNested(dst, t, bytesText(value), zone)
	}
}
