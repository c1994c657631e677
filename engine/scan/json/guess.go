package json

import (
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/scan/internal/fields"
	"github.com/mpga/mpga/internal/nested"
)

// columnGuess is what a sample says of the values of a column, of a member of objects, or of the elements of arrays.
type columnGuess struct {
	values  valueSet
	others  formatSet // that some string of the sample does not have
	strings fields.Distinct
	varied  bool // strings has too many values to repeat
	repeats bool // the strings repeat; false until settle

	objects int64        // among the values
	members *members     // of the objects; nil where there is none, or isMap
	isMap   bool         // the objects have more than membersMax keys: element is of their values
	element *columnGuess // of the elements of arrays, of the values of a map; nil where there is none

	given arrow.DataType // by an option; nil of others
}

// members are the keys of objects, as they come first.
type members struct {
	names   []string
	keys    []string // with quotes and colon, as they are written first
	places  map[string]int32
	guesses []columnGuess
	counts  []int64 // by member: the objects that have it
}

func newMembers() *members { return &members{places: make(map[string]int32)} }

const (
	// depthMax is how deep objects and arrays are columns' values; deeper ones are text.
	depthMax = 64

	// membersMax is how many keys the objects of a place have at most where they are members of a struct.
	membersMax = 4096

	// mapKeys is from how many keys on objects are a map where all their values are alike, and mapShare the share of
	// the objects that have a key, on average, below which they are one. Both are DuckDB's.
	mapKeys  = 200
	mapShare = 0.1

	// alikeShare is the share of all members of the values of a map that a value has at least, on average.
	alikeShare = 0.8
)

// add adds a member.
func (m *members) add(name, key string) *columnGuess {
	m.places[name] = int32(len(m.names))
	m.names, m.keys, m.counts = append(m.names, name), append(m.keys, key), append(m.counts, 0)
	m.guesses = append(m.guesses, columnGuess{})
	return &m.guesses[len(m.guesses)-1]
}

// find returns a member, or nil.
func (m *members) find(name string) *columnGuess {
	if m == nil {
		return nil
	}
	if at, ok := m.places[name]; ok {
		return &m.guesses[at]
	}
	return nil
}

// atPath returns the member whose names, with points between them, are a path, and adds it where there is none: to
// the objects that the path leads to, or else as a member of that name.
func (m *members) atPath(path string) *columnGuess {
	if g := m.find(path); g != nil {
		return g
	}
	for i := range len(path) {
		if path[i] != '.' {
			continue
		}
		switch g := m.find(path[:i]); {
		case g == nil:
		case g.given != nil:
			return nil
		case g.values == hasObject && g.members != nil:
			return g.members.atPath(path[i+1:])
		}
	}
	return m.add(path, "")
}

// join adds members that another sample has.
func (m *members) join(o *members) {
	for i, name := range o.names {
		g := m.find(name)
		if g == nil {
			g = m.add(name, o.keys[i])
		}
		g.join(&o.guesses[i])
		m.counts[m.places[name]] += o.counts[i]
	}
}

// add notes a value that is neither NULL nor nested.
func (g *columnGuess) add(k kind, value []byte, rowsMax int) {
	switch k {
	case kindBool:
		g.values |= hasBool
	case kindNumber:
		g.values |= numberOf(value)
	case kindNested:
		g.values |= hasDeep
	case kindString:
		g.values |= hasString
		g.others |= allFormats &^ formatOf(value)
	}
	if k == kindString && !g.varied {
		g.varied = !g.strings.Add(value, rowsMax)
	}
}

// join adds what another sample says.
func (g *columnGuess) join(o *columnGuess) {
	g.values |= o.values
	g.others |= o.others
	g.objects += o.objects
	if o.isMap || g.isMap {
		g.collapse()
	}
	switch {
	case o.members == nil:
	case g.isMap:
		for i := range o.members.guesses {
			g.ofElements().join(&o.members.guesses[i])
		}
	default:
		if g.members == nil {
			g.members = newMembers()
		}
		if g.members.join(o.members); len(g.members.names) > membersMax {
			g.collapse()
		}
	}
	if o.element != nil {
		g.ofElements().join(o.element)
	}
}

// ofElements returns the guess of elements.
func (g *columnGuess) ofElements() *columnGuess {
	if g.element == nil {
		g.element = &columnGuess{varied: true}
	}
	return g.element
}

// collapse makes objects a map.
func (g *columnGuess) collapse() {
	if g.isMap = true; g.members != nil {
		merged := g.members.merged()
		g.ofElements().join(&merged)
		g.members = nil
	}
}

// merged returns what the guesses of all members say together.
func (m *members) merged() (all columnGuess) {
	for i := range m.guesses {
		all.join(&m.guesses[i])
	}
	return all
}

// settle gives up the strings: what is left takes little memory. rows is how many rows the sample has.
func (g *columnGuess) settle(rows int) {
	g.repeats, g.strings = g.repeat(rows), fields.Distinct{}
	if g.members != nil {
		for i := range g.members.guesses {
			g.members.guesses[i].settle(rows)
		}
	}
}

// repeat says whether the strings repeat.
func (g *columnGuess) repeat(rows int) bool {
	return g.values&hasString != 0 && !g.varied && g.strings.Repeat(rows)
}

// anyRepeats says whether the strings of a member, at any depth, repeat.
func (m *members) anyRepeats(rows int) bool {
	return m != nil && slices.ContainsFunc(m.guesses, func(g columnGuess) bool {
		return g.repeat(rows) || g.members.anyRepeats(rows)
	})
}

// vary takes back the guess that strings repeat where they do not in rows further on, which are counted.
func (m *members) vary(further *members, rows int) {
	for i, name := range further.names {
		g, o := m.find(name), &further.guesses[i]
		if g == nil {
			continue
		}
		if o.values&hasString != 0 && !o.repeat(rows) {
			g.varied = true
		}
		if g.members != nil && o.members != nil {
			g.members.vary(o.members, rows)
		}
	}
}

// typ returns the type that DuckDB's read_json would give to the values, but that integers beyond 64 bits are HUGEINT,
// or text, where DuckDB has doubles, which make different ones equal. HUGEINT is a decimal of 38 digits.
// Values of several kinds and no values at all are text. Lists and maps are of nested.Type.
func (g *columnGuess) typ() arrow.DataType {
	formats := allFormats &^ g.others
	switch {
	case g.given != nil:
		return columnOf(g.given)
	case g.values == hasBool:
		return arrow.FixedWidthTypes.Boolean
	case g.values != 0 && g.values&^numbers == 0:
		return g.numberType()
	case g.values == hasArray:
		return nested.NewType(arrow.ListOf(g.ofElements().typ()))
	case g.values == hasObject:
		return g.objectType()
	case g.values != hasString || formats == 0:
		return arrow.BinaryTypes.String
	case formats&isDate != 0:
		return arrow.FixedWidthTypes.Date32
	case formats&isTime != 0:
		return arrow.FixedWidthTypes.Time64us
	case formats&isZoned != 0:
		return &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}
	}
	return &arrow.TimestampType{Unit: arrow.Microsecond}
}

func (g *columnGuess) numberType() arrow.DataType {
	switch {
	case g.values&hasDouble == 0 && g.values&hasWhole != 0, g.values&hasDouble != 0 && g.values&hasExact != 0:
		// as doubles, some may be equal
		return arrow.BinaryTypes.String
	case g.values&hasDouble != 0:
		return arrow.PrimitiveTypes.Float64
	case g.values&hasHuge != 0:
		return &arrow.Decimal128Type{Precision: fields.HugeDigits}
	}
	return arrow.PrimitiveTypes.Int64
}

// objectType returns the type of objects: a map where they have no keys, an empty one, or many, by DuckDB's rule, and
// else a struct.
// Objects with keys that differ in case alone are text: names of SQL do not.
func (g *columnGuess) objectType() arrow.DataType {
	if g.isMap {
		return mapOf(g.ofElements())
	}
	if g.members == nil || len(g.members.names) == 0 {
		return mapOf(&columnGuess{})
	}
	if g.members.alikeButCase() != nil {
		return arrow.BinaryTypes.String
	}
	m, shares := g.members, 0.0
	for _, n := range m.counts {
		shares += float64(n) / float64(g.objects)
	}
	merged := m.merged()
	_, hasEmpty := m.places[""] // which is no name of a field
	if hasEmpty || shares/float64(len(m.names)) < mapShare || len(m.names) >= mapKeys && m.alike(&merged) {
		return mapOf(&merged)
	}
	all := make([]arrow.Field, len(m.names))
	for i, name := range m.names {
		all[i] = arrow.Field{Name: name, Type: m.guesses[i].typ(), Nullable: true}
	}
	return arrow.StructOf(all...)
}

func mapOf(values *columnGuess) arrow.DataType {
	return nested.NewType(arrow.MapOf(arrow.BinaryTypes.String, values.typ()))
}

// alike says whether the values of all members, which are merged, are of one type.
func (m *members) alike(merged *columnGuess) bool {
	if merged.mixed() {
		return false
	}
	if merged.members == nil {
		return true
	}
	had := 0
	for i := range m.guesses {
		if of := m.guesses[i].members; of != nil {
			had += len(of.names)
		}
	}
	return float64(had) >= alikeShare*float64(len(merged.members.names)*len(m.guesses))
}

// alikeButCase returns two keys that differ in case alone; nil where there are none.
func (m *members) alikeButCase() []string {
	lower := make(map[string]string, len(m.names))
	for _, name := range m.names {
		key := strings.ToLower(name)
		if other, ok := lower[key]; ok {
			return []string{other, name}
		}
		lower[key] = name
	}
	return nil
}

// mixed says whether values, or values in them, are of several kinds.
func (g *columnGuess) mixed() bool {
	switch {
	case g.values&^numbers != 0 && g.values&(g.values-1) != 0, g.values&hasDeep != 0:
		return true
	case g.element != nil && g.element.mixed():
		return true
	}
	return g.members != nil && slices.ContainsFunc(g.members.guesses, func(m columnGuess) bool { return m.mixed() })
}

// whyText returns why objects or arrays are text; "" where they are not, or an option says so.
func (g *columnGuess) whyText() string {
	isNested := g.values&(hasObject|hasArray) != 0
	switch {
	case g.given != nil:
		return ""
	case g.values&hasDeep != 0:
		return fmt.Sprintf("it has objects or arrays more than %d deep", depthMax)
	case isNested && g.values&(g.values-1) != 0:
		return "its values are " + g.kinds()
	case g.values == hasObject && g.members != nil:
		if names := g.members.alikeButCase(); names != nil {
			return fmt.Sprintf("its objects have the keys %q and %q, and names of members are the same in any case",
				names[0], names[1])
		}
	}
	return ""
}

// kinds names the kinds of the values.
func (g *columnGuess) kinds() string {
	var kinds []string
	for _, k := range []struct {
		of   valueSet
		name string
	}{
		{hasObject, "objects"}, {hasArray, "arrays"}, {hasString, "strings"}, {numbers, "numbers"},
		{hasBool, "truth values"},
	} {
		if g.values&k.of != 0 {
			kinds = append(kinds, k.name)
		}
	}
	last := len(kinds) - 1
	return strings.Join(kinds[:last], ", ") + " and " + kinds[last]
}

// columnOf returns a type with its lists and maps as strings of bytes, but its structs as structs.
func columnOf(dt arrow.DataType) arrow.DataType {
	of := dt
	if t, ok := dt.(*nested.Type); ok {
		of = t.Of
	}
	s, isStruct := of.(*arrow.StructType)
	switch {
	case !arrow.IsNested(of.ID()):
		return dt
	case !isStruct:
		return nested.NewType(of)
	}
	all := s.Fields()
	for i := range all {
		all[i].Type = columnOf(all[i].Type)
	}
	return arrow.StructOf(all...)
}

// Guess is what samples say of a column, of a member, or of elements. It is of no use to another version of this
// package.
type Guess struct {
	Name    string    `json:"name,omitempty"`
	Values  valueSet  `json:"values"` // kinds of its values
	Others  formatSet `json:"others"` // types that some of its strings does not have
	Objects int64     `json:"objects,omitempty"`
	Count   int64     `json:"count,omitempty"` // of a member: the objects that have it
	Members []Guess   `json:"members,omitempty"`
	Map     bool      `json:"map,omitempty"`
	Element *Guess    `json:"element,omitempty"`
}

// guess returns what the guess says.
func (g *columnGuess) guess(name string, count int64) Guess {
	made := Guess{Name: name, Values: g.values, Others: g.others, Objects: g.objects, Count: count, Map: g.isMap}
	if g.members != nil {
		made.Members = g.members.said()
	}
	if g.element != nil {
		element := g.element.guess("", 0)
		made.Element = &element
	}
	return made
}

func (m *members) said() []Guess {
	made := make([]Guess, len(m.names))
	for i, name := range m.names {
		made[i] = m.guesses[i].guess(name, m.counts[i])
	}
	return made
}

// membersOf returns the members of guesses.
func membersOf(said []Guess) *members {
	m := newMembers()
	for i := range said {
		*m.add(said[i].Name, "") = said[i].columnGuess()
		m.counts[i] = said[i].Count
	}
	return m
}

func (s *Guess) columnGuess() columnGuess {
	g := columnGuess{values: s.Values, others: s.Others, objects: s.Objects, isMap: s.Map}
	if s.Members != nil {
		g.members = membersOf(s.Members)
	}
	if s.Element != nil {
		element := s.Element.columnGuess()
		g.element = &element
	}
	return g
}
