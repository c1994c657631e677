package parquet

import (
	"encoding/binary"
	"slices"
)

// Field numbers of parquet.thrift: of FileMetaData, and of SchemaElement.
const (
	fieldSchema = 2

	fieldElementType, fieldChildren, fieldLogicalType = 1, 5, 10
)

// logicalTypeMax is the last logical type that arrow-go knows. It panics at newer ones and at the ninth, which is none,
// and refuses variants whose structs are not as the format has them. The physical types say how to read the columns.
const (
	logicalTypeMax     = 18
	logicalTypeNone    = 9
	logicalTypeVariant = 16
)

// schemaElement is where an element of a footer's schema lies, and what may have to be left out of it.
type schemaElement struct {
	from, to               int // bytes of the element
	childrenFrom, childEnd int // of the value of num_children
	children               int64
	isLeaf, isVariant      bool
	unknownFrom, unknownTo int // of a logical type that is not known
}

// leafRange is the leaves of a group of the schema.
type leafRange struct{ from, to int }

// repairSchema returns a footer without what arrow-go refuses a whole file for: logical types that it does not know,
// and groups without fields, which have no column; and the groups that were variants.
func repairSchema(raw []byte) (repaired []byte, variants []leafRange) {
	r := compactReader{data: raw}
	for id, typ := r.field(0); typ != compactStop; id, typ = r.field(id) {
		if id != fieldSchema {
			r.skip(typ, 0)
			continue
		}
		from := r.at
		var elements []schemaElement
		r.structs(typ, func(int) { elements = append(elements, r.schemaElement()) })
		needed := slices.ContainsFunc(elements, func(e schemaElement) bool {
			return e.unknownTo > 0 || !e.isLeaf && e.children == 0
		})
		if r.err != nil || !needed {
			return raw, nil
		}
		s := schemaRepair{raw: raw, elements: elements}
		body, next := s.group(0, 0)
		if next != len(elements) {
			return raw, nil // it is damaged otherwise
		}
		return slices.Concat(raw[:from], listHeader(s.kept), body, raw[r.at:]), s.variants
	}
	return raw, nil
}

// schemaElement reads an element of a schema.
func (r *compactReader) schemaElement() (e schemaElement) {
	e.from = r.at
	before := 0
	for {
		head := r.at
		id, typ := r.field(before)
		if typ == compactStop {
			break
		}
		value := r.at
		switch {
		case id == fieldElementType:
			e.isLeaf = true
			r.skip(typ, 0)
		case id == fieldChildren:
			e.children = r.number(typ)
			e.childrenFrom, e.childEnd = value, r.at
		case id == fieldLogicalType && typ == compactStruct:
			choice, _ := r.field(0)
			r.at = value
			e.isVariant = choice == logicalTypeVariant
			if r.skip(typ, 0); choice < 1 || choice > logicalTypeMax || choice == logicalTypeNone || e.isVariant {
				e.unknownFrom, e.unknownTo = head, r.at
			}
		default:
			r.skip(typ, 0)
		}
		before = id
	}
	e.to = r.at
	return e
}

// schemaRepair writes the elements of a schema again.
type schemaRepair struct {
	raw      []byte
	elements []schemaElement
	kept     int // elements
	leaves   int // of these
	variants []leafRange
}

// group returns the bytes of an element and of those below it, nil where it has no column, and the index of the next
// element. The index is beyond all elements where the schema is damaged.
func (s *schemaRepair) group(at, depth int) (body []byte, next int) {
	const depthMax = 100
	if at >= len(s.elements) || depth > depthMax {
		return nil, len(s.elements) + 1
	}
	e := &s.elements[at]
	s.kept++
	leaves := s.leaves
	if e.isLeaf {
		s.leaves++
	}
	next = at + 1
	var below []byte
	children := int64(0)
	for range e.children {
		var child []byte
		if child, next = s.group(next, depth+1); next > len(s.elements) {
			return nil, next
		}
		if child != nil {
			children++
			below = append(below, child...)
		}
	}
	if !e.isLeaf && children == 0 && at > 0 {
		s.kept--
		return nil, next
	}
	if e.isVariant {
		s.variants = append(s.variants, leafRange{leaves, s.leaves})
	}
	from := e.from
	if children != e.children {
		body = append(body, s.raw[from:e.childrenFrom]...)
		body = binary.AppendVarint(body, children)
		from = e.childEnd
	}
	if e.unknownTo > 0 {
		body = append(body, s.raw[from:e.unknownFrom]...)
		from = e.unknownTo
	}
	return append(append(body, s.raw[from:e.to]...), below...), next
}

// listHeader is what stands before the elements of a list of structures.
func listHeader(n int) []byte {
	const long = 15
	if n < long {
		return []byte{byte(n<<4 | compactStruct)}
	}
	return binary.AppendUvarint([]byte{long<<4 | compactStruct}, uint64(n))
}
