package json

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan/internal/fields"
	"github.com/mpga/mpga/internal/nested"
)

// nestedReader is a fields.NestedReader. It reads text that a splitter has read: what it looks for is whether
// the values are of the type.
type nestedReader struct {
	scanner
	root      *part
	more      func(to []byte, bytes int) []byte
	unescaped []byte   // the last string with escapes
	moved     []byte   // the last members that were put in order
	trail     []string // where in the value the last failure is, from within
}

// part is a type within a nested type, or that type itself.
type part struct {
	typ     arrow.DataType
	scalar  func(to, field []byte) ([]byte, bool) // of a type that is not nested; else nil
	format  *fields.Format
	element *part // of a list, or of the values of a map; else nil
	isMap   bool
	key     func(to, field []byte) ([]byte, bool) // of a map

	keySet  // of a struct
	follows []int32
	members []*part
	spans   [][2]int        // by member: where the last object's is, as it is written
	has     []bool          // by member: the last object has it
	known   map[string]bool // keys of the last map
}

func newNestedReader(t *nested.Type, format *fields.Format) fields.NestedReader {
	return &nestedReader{root: newPart(t.Of, format)}
}

func newPart(typ arrow.DataType, format *fields.Format) *part {
	n := &part{typ: typ, format: format}
	switch t := typ.(type) {
	case *arrow.MapType:
		n.isMap, n.known, n.element = true, make(map[string]bool), newPart(t.ItemType(), format)
		n.key = fields.Part(t.KeyType(), format)
	case *arrow.ListType:
		n.element = newPart(t.Elem(), format)
	case *arrow.StructType:
		n.keySet = newKeySet(t.Fields(), nil, "", !format.Inferred)
		n.isPart = true
		n.follows = n.newFollows()
		n.spans, n.has = make([][2]int, t.NumFields()), make([]bool, t.NumFields())
		for _, f := range t.Fields() {
			n.members = append(n.members, newPart(f.Type, format))
		}
	default:
		n.scalar = fields.Part(typ, format)
	}
	return n
}

// readable says whether JSON is read as a type.
func readable(typ arrow.DataType) bool {
	switch t := typ.(type) {
	case *nested.Type:
		return readable(t.Of)
	case *arrow.MapType:
		return !arrow.IsNested(t.KeyType().ID()) && readable(t.KeyType()) && readable(t.ItemType())
	case *arrow.ListType:
		return readable(t.Elem())
	case *arrow.StructType:
		return !slices.ContainsFunc(t.Fields(), func(f arrow.Field) bool { return !readable(f.Type) })
	}
	return fields.CanBe(typ)
}

// Append implements fields.NestedReader.
func (r *nestedReader) Append(to, text []byte, at int, more func(to []byte, bytes int) []byte) ([]byte, bool) {
	r.text, r.size, r.more, r.trail = text, len(text), more, r.trail[:0]
	to, end := r.value(to, r.root, at)
	return to, end != failed
}

// room returns the values so far with room for what `bytes` bytes of text become.
func (r *nestedReader) room(to []byte, bytes int) []byte {
	if cap(to)-len(to) < bytes+fields.PartBytes {
		to = r.more(to, bytes+fields.PartBytes)
	}
	return to
}

// value appends the value at p, which is not NULL, and returns where it ends.
func (r *nestedReader) value(to []byte, n *part, p int) (out []byte, end int) {
	c := r.text[p]
	switch {
	case n.scalar != nil:
		end, quoted := r.skip(p)
		field := r.text[p+quoted : end-quoted]
		if r.escaped && quoted > 0 {
			r.unescaped = unescape(r.unescaped[:0], field)
			field = r.unescaped
		}
		out, ok := n.scalar(r.room(to, len(field)), field)
		if !ok {
			return to, r.fail(p, n.mismatch(field, quoted > 0))
		}
		return out, end
	case n.isMap && c == '{':
		return r.mapAt(to, n, p)
	case n.element != nil && !n.isMap && c == '[':
		return r.list(to, n, p)
	case n.members != nil && c == '{':
		return r.object(to, n, p)
	}
	end, quoted := r.skip(p)
	return to, r.fail(p, n.mismatch(r.text[p+quoted:end-quoted], quoted > 0))
}

// skip passes over the value at p. quoted is 1 of a string, whose quotes are a byte each.
func (r *nestedReader) skip(p int) (end, quoted int) {
	end, k := r.scanner.value(p)
	if k == kindString {
		quoted = 1
	}
	return end, quoted
}

// part appends the value at p with its mark.
func (r *nestedReader) part(to []byte, n *part, p int) (out []byte, end int) {
	to = r.room(to, 1)
	if r.text[p] == 'n' && r.text[p+1] == 'u' {
		return append(to, nested.None), p + len("null")
	}
	return r.value(append(to, nested.Some), n, p)
}

func (r *nestedReader) list(to []byte, n *part, p int) (out []byte, end int) {
	p = r.space(p + 1)
	for i := 1; r.text[p] != ']'; i++ {
		if to, p = r.part(to, n.element, p); p == failed {
			r.trail = append(r.trail, "["+strconv.Itoa(i)+"]")
			return to, failed
		}
		p = r.nextElement(p)
	}
	return append(r.room(to, 1), nested.End), p + 1
}

func (r *nestedReader) mapAt(to []byte, n *part, p int) (out []byte, end int) {
	clear(n.known)
	for p = r.space(p + 1); r.text[p] != '}'; p = r.member(p) {
		at := p
		end := r.str(p + 1)
		key := r.text[p+1 : end]
		if r.escaped {
			r.unescaped = unescape(r.unescaped[:0], key)
			key = r.unescaped
		}
		if n.known[string(key)] {
			return to, r.fail(at, fmt.Errorf("key %q is twice in an object", key))
		}
		n.known[string(key)] = true
		to = append(r.room(to, len(key)+2), nested.Some, nested.Some)
		var ok bool
		if to, ok = n.key(to, key); !ok {
			typ := n.typ.(*arrow.MapType).KeyType()
			return to, r.fail(at, fmt.Errorf("the key %q is not a %s", key, fields.TypeName(typ)))
		}
		name := string(key)
		if to, p = r.part(to, n.element, r.colon(end+1)); p == failed {
			r.trail = append(r.trail, "["+strconv.Quote(name)+"]")
			return to, failed
		}
	}
	return append(r.room(to, 1), nested.End), p + 1
}

// object appends a struct. Members are written as they come; where that is not their order, they are put in order
// behind the last.
func (r *nestedReader) object(to []byte, n *part, p int) (out []byte, end int) {
	clear(n.has)
	begin, next, inOrder := len(to), 0, true
	previous := int32(len(n.names))
	for p = r.space(p + 1); r.text[p] != '}'; p = r.member(p) {
		member := n.follows[previous]
		if key := &n.keys[member]; key.begins(r.text, p) {
			p = r.space(p + key.bytes)
		} else if p, member = r.key(&n.keySet, n.follows, p, previous); p == failed {
			return to, failed
		}
		previous = member
		if int(member) == len(n.names) {
			p, _ = r.skip(p)
			continue
		}
		if n.has[member] {
			return to, r.fail(p, n.twice(member))
		}
		n.has[member] = true
		if inOrder = inOrder && int(member) >= next; inOrder {
			to = r.nones(to, int(member)-next)
			next = int(member) + 1
		}
		n.spans[member][0] = len(to)
		if to, p = r.part(to, n.members[member], p); p == failed {
			r.trail = append(r.trail, "."+n.names[member])
			return to, failed
		}
		n.spans[member][1] = len(to)
	}
	if inOrder {
		return r.nones(to, len(n.names)-next), p + 1
	}
	return r.inOrder(to, n, begin), p + 1
}

// nones appends NULLs.
func (r *nestedReader) nones(to []byte, count int) []byte {
	to = r.room(to, count)
	for range count {
		to = append(to, nested.None)
	}
	return to
}

// inOrder puts the members of the object that begins at a place in order.
func (r *nestedReader) inOrder(to []byte, n *part, begin int) []byte {
	r.moved = append(r.moved[:0], to[begin:]...)
	to = r.room(to[:begin], len(r.moved)+len(n.names))
	for i, span := range n.spans {
		if n.has[i] {
			to = append(to, r.moved[span[0]-begin:span[1]-begin]...)
		} else {
			to = append(to, nested.None)
		}
	}
	return to
}

// mismatch is the error of a value of another type.
func (n *part) mismatch(field []byte, quoted bool) error {
	if n.scalar == nil {
		return fmt.Errorf("%s is not a %s", shown(field, quoted), query.TypeName(n.typ))
	}
	return fmt.Errorf("%s is not a %s%s", shown(field, quoted), fields.TypeName(n.typ), n.format.LossOf(n.typ, field))
}

// failureOf returns why the text of a value is not of a type, and where in it.
func failureOf(t *nested.Type, format *fields.Format, value []byte) (where string, reason error) {
	r := nestedReader{root: newPart(t.Of, format)}
	text := append(slices.Clone(value), make([]byte, fields.Slack)...)
	_, _ = r.Append(nil, text, 0, func(to []byte, bytes int) []byte { return slices.Grow(to, bytes) })
	for _, step := range slices.Backward(r.trail) {
		where += step
	}
	return where, r.reason
}
