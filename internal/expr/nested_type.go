package expr

import (
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/nested"
)

// shape is what nested types have beside their ID.
type shape struct {
	names  []string // of the fields of a struct; empty names are a tuple's
	parts  []Type   // of the elements, of the fields, or of key and value
	layout *nested.Layout
	arrow  *nested.Type
	text   string // the type in SQL
}

// period is the type of intervals that are values, which are strings of bytes as nested values are.
var period = func() Type {
	of := nested.NewType(arrow.FixedWidthTypes.MonthDayNanoInterval)
	return Type{ID: Period, shape: &shape{layout: nested.LayoutOf(of.Of), arrow: of, text: types[Period].name}}
}()

// namedOf returns a type of nested.Named.
func namedOf(of *nested.Named) Type {
	text := of.String()
	if known, ok := shapes.Load(text); ok {
		return Type{ID: Named, shape: known.(*shape)}
	}
	s := &shape{layout: nested.LayoutOf(of), arrow: nested.NewType(of), text: text}
	known, _ := shapes.LoadOrStore(text, s)
	return Type{ID: Named, shape: known.(*shape)}
}

// EnumOf returns the type ENUM of words, which are at least one and differ; ok is false of others.
func EnumOf(words []string) (t Type, ok bool) {
	known := map[string]bool{}
	for _, word := range words {
		known[word] = true
	}
	if len(known) != len(words) || len(words) == 0 || len(words) > nested.EnumWordsMax {
		return t, false
	}
	return namedOf(nested.NewNamed(nested.Enum, words...)), true
}

// shapes are the shapes of all types so far, by their text.
var shapes sync.Map

// nested says whether values are lists, structs or maps.
func (t Type) nested() bool { return t.shape != nil }

// ListOf returns the type of lists of a type.
func ListOf(element Type) Type { return newNested(List, nil, element) }

// NestedOf returns the type of structs whose fields have names, or of maps of two parts where names is nil.
func NestedOf(names []string, parts []Type) (t Type, ok bool) {
	switch {
	case names == nil && len(parts) == 2:
		return newNested(Map, nil, parts...), true
	case names == nil || len(names) != len(parts):
		return Type{}, false
	}
	return structOf(names, parts...), true
}

// structOf returns the type of structs.
func structOf(names []string, parts ...Type) Type { return newNested(Struct, names, parts...) }

func newNested(id TypeID, names []string, parts ...Type) Type {
	if isInterval := func(p Type) bool { return p.ID == Interval }; slices.ContainsFunc(parts, isInterval) {
		parts = slices.Clone(parts)
		for i := range parts {
			if isInterval(parts[i]) {
				parts[i] = period
			}
		}
	}
	text := nestedName(id, names, parts)
	if known, ok := shapes.Load(text); ok {
		return Type{ID: id, shape: known.(*shape)}
	}
	s := &shape{names: names, parts: parts, text: text}
	of := make([]arrow.DataType, len(parts))
	for i, p := range parts {
		of[i] = partArrow(p)
	}
	var dt arrow.DataType
	switch id {
	case List:
		dt = arrow.ListOf(of[0])
	case Map:
		dt = arrow.MapOf(of[0], of[1])
	default:
		fields := make([]arrow.Field, len(parts))
		for i := range fields {
			fields[i] = arrow.Field{Name: names[i], Type: of[i], Nullable: true}
		}
		dt = arrow.StructOf(fields...)
	}
	s.arrow = nested.NewType(dt)
	s.layout = nested.LayoutOf(s.arrow.Of)
	known, _ := shapes.LoadOrStore(text, s)
	return Type{ID: id, shape: known.(*shape)}
}

// partArrow returns the type that a part has in Arrow.
func partArrow(t Type) arrow.DataType {
	switch {
	case t.nested():
		return t.arrow.Of
	case t.ID == Null:
		return arrow.Null
	}
	return t.Arrow()
}

// ofNested returns the type of a nested type of nested.Canonical.
func ofNested(dt arrow.DataType) Type {
	part := func(dt arrow.DataType) Type {
		t, err := fromArrow(dt)
		if err != nil {
			panic("type " + dt.String() + " within a nested type") // which Canonical leaves out
		}
		return t
	}
	switch dt := dt.(type) {
	case *arrow.MonthDayNanoIntervalType:
		return period
	case *nested.Named:
		return namedOf(dt)
	case *arrow.MapType:
		return newNested(Map, nil, part(dt.KeyType()), part(dt.ItemType()))
	case *arrow.StructType:
		names, parts := make([]string, dt.NumFields()), make([]Type, dt.NumFields())
		for i, f := range dt.Fields() {
			names[i], parts[i] = f.Name, part(f.Type)
		}
		return structOf(names, parts...)
	}
	return ListOf(part(dt.(*arrow.ListType).Elem()))
}

func nestedName(id TypeID, names []string, parts []Type) string {
	switch id {
	case List:
		return parts[0].String() + "[]"
	case Map:
		return "MAP(" + parts[0].String() + ", " + parts[1].String() + ")"
	}
	texts := make([]string, len(parts))
	tuple := isTuple(names)
	for i, p := range parts {
		if texts[i] = p.String(); !tuple {
			texts[i] = quotedName(names[i]) + " " + texts[i]
		}
	}
	if tuple {
		return "TUPLE(" + strings.Join(texts, ", ") + ")"
	}
	return "STRUCT(" + strings.Join(texts, ", ") + ")"
}

// isTuple says whether no field has a name.
func isTuple(names []string) bool { return strings.Join(names, "") == "" }

// quotedName returns a name as SQL has it, in double quotes where it has other characters than letters and digits.
func quotedName(name string) string {
	plain := name != "" && !unicode.IsDigit(rune(name[0])) && name != "key" && name != "value"
	for _, r := range name {
		plain = plain && (r == '_' || r < 128 && (unicode.IsLetter(r) || unicode.IsDigit(r)))
	}
	if plain {
		return name
	}
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}

// field returns the index of a field of a struct, or -1; names differ by more than their case.
func (t Type) field(name string) int {
	for i, n := range t.names {
		if strings.EqualFold(n, name) {
			return i
		}
	}
	return -1
}

// entry returns the type of the entries of a map.
func (t Type) entry() Type { return structOf([]string{"key", "value"}, t.parts...) }

// commonNested is common for nested types.
func commonNested(a, b Type) (Type, bool) {
	if a.ID != b.ID || len(a.parts) != len(b.parts) || a.ID == Named {
		return Type{}, false
	}
	parts := make([]Type, len(a.parts))
	for i, p := range a.parts {
		other := i
		if a.ID == Struct && !isTuple(a.names) && !isTuple(b.names) {
			if other = b.field(a.names[i]); other < 0 {
				return Type{}, false
			}
		}
		var ok bool
		if parts[i], ok = common(p, b.parts[other]); !ok {
			return Type{}, false
		}
	}
	names := a.names
	if a.ID == Struct && isTuple(names) {
		names = b.names
	}
	return newNested(a.ID, names, parts...), true
}

// implicitParts says whether the parts of a nested type become the parts of another without a written cast.
func implicitParts(from, to Type) bool {
	places, ok := partPlaces(from, to)
	for i, at := range places {
		ok = ok && at >= 0 && implicit(from.parts[at], to.parts[i])
	}
	return ok
}

// partPlaces returns, for each part of a type, the part of another that becomes it by a cast, or -1: a NULL.
func partPlaces(from, to Type) (places []int, ok bool) {
	if from.ID != to.ID || from.ID == Named {
		return nil, false
	}
	byName := from.ID == Struct && !isTuple(from.names) && !isTuple(to.names)
	if !byName && len(from.parts) != len(to.parts) {
		return nil, false
	}
	found := 0
	for i := range to.parts {
		at := i
		if byName {
			at = from.field(to.names[i])
		}
		if at >= 0 {
			found++
		}
		places = append(places, at)
	}
	return places, found > 0 || len(places) == 0
}

// checkNested returns an error for a column of a type, or with parts, that queries do not know.
func checkNested(column string, dt arrow.DataType) error {
	if nested.Of(dt) != nil {
		return nil
	}
	return query.CheckReadable(column, dt)
}
