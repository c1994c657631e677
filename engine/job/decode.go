package job

import (
	"cmp"
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/mpga/mpga/engine/scan/options"
	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/nearest"
)

// decoder turns a tree of YAML into structs, and knows where each of their fields stands. J1. The
// library's own decoding (yaml.WithKnownFields) gives a line for "cannot construct !!str `many`
// into int", and neither the column nor the field's name, nor a place for the errors that Validate
// finds later.
type decoder struct {
	file   string
	lines  []string
	places map[string]place // by field, as in Error.Field
	errs   Errors
}

// place is where a field's value stands.
type place struct {
	node     *yaml.Node
	expanded bool // the value is not the text of the file
}

// add notes an error at a node.
func (d *decoder) add(field string, n *yaml.Node, err error) {
	d.errs = append(d.errs, &Error{File: d.file, Line: n.Line, Column: n.Column, Field: field, Err: err})
}

// located gives the errors of Validate their places.
func (d *decoder) located(err error) error {
	var list Errors
	if !errors.As(err, &list) {
		return err
	}
	for _, e := range list {
		within := -1
		var text *sql.Error
		if errors.As(e.Err, &text) {
			within = text.Offset
		}
		d.locate(e, within)
	}
	slices.SortStableFunc(list, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return list
}

// locate gives an error the place of its field, or of a byte within the field: unless within is
// below 0, or the text of the field is not the text of the file.
func (d *decoder) locate(e *Error, within int) {
	e.File = d.file
	at, ok := d.placeOf(e.Field)
	if !ok {
		return
	}
	e.Line, e.Column = at.node.Line, at.node.Column
	if within >= 0 && within <= len(at.node.Value) && at.node.Kind == yaml.ScalarNode && !at.expanded {
		e.Line, e.Column = d.within(at.node, within)
	}
}

// placeOf returns where a field stands, or the nearest around it that stands in the file.
func (d *decoder) placeOf(field string) (place, bool) {
	for {
		if at, ok := d.places[field]; ok {
			return at, true
		}
		cut := strings.LastIndexAny(field, ".[")
		if cut < 0 {
			at, ok := d.places[""]
			return at, ok
		}
		field = field[:cut]
	}
}

// within returns the line and the column of a byte of a scalar's value, as well as the way in which
// it is written allows.
func (d *decoder) within(n *yaml.Node, offset int) (line, column int) {
	before := n.Value[:offset]
	last := before[strings.LastIndexByte(before, '\n')+1:]
	line = n.Line
	if n.Style&yaml.LiteralStyle != 0 {
		line += 1 + strings.Count(before, "\n")
	}
	if line < 1 || line > len(d.lines) {
		return n.Line, n.Column
	}
	if n.Style&yaml.LiteralStyle != 0 {
		whole, _, _ := strings.Cut(n.Value[len(before)-len(last):], "\n")
		indent := len(d.lines[line-1]) - len(whole)
		if indent < 0 || !strings.HasSuffix(d.lines[line-1], whole) {
			return line, 0
		}
		return line, indent + utf8.RuneCountInString(last) + 1
	}
	column = n.Column
	if n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 {
		column++
	}
	if text := []rune(d.lines[line-1]); column-1 <= len(text) && strings.HasPrefix(string(text[column-1:]), n.Value) {
		return n.Line, column + utf8.RuneCountInString(before)
	}
	return n.Line, n.Column
}

// mapping fills a struct from a mapping; a scalar is the struct's short field.
func (d *decoder) mapping(field string, n *yaml.Node, v reflect.Value) {
	d.note(field, n)
	fields := fieldsOf(v.Type())
	if n.Kind != yaml.MappingNode {
		for _, f := range fields {
			if f.short && n.Kind == yaml.ScalarNode {
				f.fill(d, join(field, f.name), n, v)
				return
			}
		}
		d.add(field, n, fmt.Errorf("want fields such as %s:, got %s", fields[0].name, kindOf(n)))
		return
	}
	lines := make(map[string]int)
	for i := 0; i < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if first, twice := lines[key.Value]; twice {
			d.add(field, key, fmt.Errorf("%s stands twice, first in line %d", key.Value, first))
			continue
		}
		lines[key.Value] = key.Line
		at := slices.IndexFunc(fields, func(f fieldInfo) bool { return f.name == key.Value })
		if at < 0 {
			d.add(field, key, unknown("field", key.Value, namesOf(fields)))
			continue
		}
		fields[at].fill(d, join(field, key.Value), value, v)
		if words := fields[at].words; len(words) > 0 && value.Kind == yaml.ScalarNode && !isNull(value) &&
			!slices.Contains(words, value.Value) {
			d.add(join(field, key.Value), value, unknown("word", value.Value, words))
		}
	}
	for _, f := range fields {
		if f.required && lines[f.name] == 0 {
			d.add(field, n, fmt.Errorf(missing, f.name))
		}
	}
}

// missing is the error of a field that has to be there.
const missing = "%s is missing"

// value fills one field.
func (d *decoder) value(field string, n *yaml.Node, v reflect.Value) {
	if isNull(n) {
		if v.Kind() == reflect.Struct { // what it must have is not there, either
			for _, f := range fieldsOf(v.Type()) {
				if f.required {
					d.add(field, n, fmt.Errorf(missing, f.name))
				}
			}
		}
		d.note(field, n)
		return // as if the field were not there
	}
	switch {
	case v.Addr().Type().Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
		if text, ok := d.scalar(field, n); ok {
			if err := v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(text)); err != nil {
				d.add(field, n, err)
			}
		}
	case v.Kind() == reflect.Struct:
		d.mapping(field, n, v)
	case v.Kind() == reflect.Slice:
		d.list(field, n, v)
	case v.Kind() == reflect.Map:
		d.texts(field, n, v)
	default:
		d.plain(field, n, v)
	}
}

// list fills a slice. A value that is no list becomes a list with that value.
func (d *decoder) list(field string, n *yaml.Node, v reflect.Value) {
	d.note(field, n)
	items := n.Content
	if n.Kind != yaml.SequenceNode {
		if v.Type().Elem().Kind() == reflect.Struct {
			d.add(field, n, fmt.Errorf("want a list, got %s", kindOf(n)))
			return
		}
		items = []*yaml.Node{n}
	}
	v.Set(reflect.MakeSlice(v.Type(), len(items), len(items)))
	for i, item := range items {
		d.value(fmt.Sprintf("%s[%d]", field, i), item, v.Index(i))
	}
}

// texts fills a map from names to texts.
func (d *decoder) texts(field string, n *yaml.Node, v reflect.Value) {
	d.note(field, n)
	if n.Kind != yaml.MappingNode {
		d.add(field, n, fmt.Errorf("want names and values, got %s", kindOf(n)))
		return
	}
	m := make(map[string]string, len(n.Content)/2)
	for i := 0; i < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if _, twice := m[key.Value]; twice {
			d.add(field, key, fmt.Errorf("%s stands twice", key.Value))
		}
		m[key.Value], _ = d.scalar(join(field, key.Value), value)
	}
	v.Set(reflect.ValueOf(m))
}

// plain fills a text, a number or a choice of yes and no.
func (d *decoder) plain(field string, n *yaml.Node, v reflect.Value) {
	text, ok := d.scalar(field, n)
	if !ok {
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Int, reflect.Int64:
		i, err := strconv.ParseInt(strings.ReplaceAll(text, "_", ""), 10, 64)
		if err != nil {
			d.add(field, n, fmt.Errorf("%q: want a whole number", text))
			return
		}
		v.SetInt(i)
	case reflect.Bool:
		switch strings.ToLower(text) {
		case "true", "yes":
			v.SetBool(true)
		case "false", "no":
		default:
			d.add(field, n, fmt.Errorf("%q: want true or false", text))
		}
	default:
		panic(fmt.Sprintf("job: a field of type %s", v.Type()))
	}
}

// scalar returns the text of a scalar.
func (d *decoder) scalar(field string, n *yaml.Node) (string, bool) {
	d.note(field, n)
	if n.Kind != yaml.ScalarNode {
		d.add(field, n, fmt.Errorf("want one value, got %s", kindOf(n)))
		return "", false
	}
	return n.Value, true
}

// note remembers where a field stands.
func (d *decoder) note(field string, n *yaml.Node) {
	d.places[field] = place{node: n, expanded: n.Anchor == expandedMark}
}

// expandedMark is the anchor, which a tree without aliases has no other use for, of scalars whose
// variables were replaced.
const expandedMark = "expanded"

// isNull says whether a value is nothing.
func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// fieldInfo is what the tags of a struct's field say, or package options of a field of Input.
type fieldInfo struct {
	index           int
	option          *options.Option // of Input; nil of other structs
	name            string
	required, short bool
	doc             string
	words           []string // the words that the value may be; empty where it may be any text
	typ             reflect.Type
}

// fill fills the field of a struct.
func (f *fieldInfo) fill(d *decoder, field string, n *yaml.Node, v reflect.Value) {
	if f.required && n.Kind == yaml.ScalarNode && n.Value == "" && !isNull(n) {
		d.add(field, n, fmt.Errorf(missing, f.name))
	}
	if f.option == nil {
		d.value(field, n, v.Field(f.index))
		return
	}
	value := reflect.New(f.typ).Elem()
	if d.value(field, n, value); !isNull(n) {
		v.Addr().Interface().(*Input).set(f.option, value.Interface())
	}
}

// kindTypes are the types of what a file has for an option, but for texts.
var kindTypes = map[options.Kind]reflect.Type{
	options.Truth: reflect.TypeFor[bool](), options.Number: reflect.TypeFor[int](), options.Rows: reflect.TypeFor[int](),
	options.Size: reflect.TypeFor[Size](), options.Texts: reflect.TypeFor[[]string](),
	options.Types: reflect.TypeFor[map[string]string](),
}

// fieldsOf returns the fields that a file may have.
func fieldsOf(t reflect.Type) []fieldInfo {
	var fields []fieldInfo
	for _, o := range options.All() {
		if name := o.YAML(); name != "" && t == reflect.TypeFor[Input]() {
			typ := cmp.Or(kindTypes[o.Kind], reflect.TypeFor[string]())
			fields = append(fields, fieldInfo{option: o, name: name, doc: o.YAMLDoc(), words: o.Words(), typ: typ})
		}
	}
	for i := range t.NumField() {
		f := t.Field(i)
		tag := strings.Split(f.Tag.Get("yaml"), ",")
		if tag[0] == "" {
			continue
		}
		info := fieldInfo{index: i, name: tag[0], doc: f.Tag.Get("doc"), typ: f.Type,
			required: slices.Contains(tag, "required"), short: slices.Contains(tag, "short")}
		if words := f.Tag.Get("enum"); words != "" {
			info.words = strings.Split(words, ",")
		}
		fields = append(fields, info)
	}
	return fields
}

func namesOf(fields []fieldInfo) []string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	return names
}

// unknown says that a name is not known, and which names may have been meant.
func unknown(what, name string, known []string) error {
	if near := nearest.Names(name, known); len(near) > 0 {
		return fmt.Errorf("unknown %s %q; did you mean %s?", what, name, strings.Join(near, ", "))
	}
	if len(known) == 0 {
		return fmt.Errorf("unknown %s %q", what, name)
	}
	return fmt.Errorf("unknown %s %q: want one of %s", what, name, strings.Join(known, ", "))
}

func join(field, name string) string {
	if field == "" {
		return name
	}
	return field + "." + name
}

// kindOf names a node's kind as people do.
func kindOf(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "fields"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Tag == "!!null":
		return "nothing"
	}
	return fmt.Sprintf("%q", n.Value)
}
