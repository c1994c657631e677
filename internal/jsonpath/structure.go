package jsonpath

import "strings"

// structure is what values of one place have in common.
type structure struct {
	kind    string // as Kind, "NULL" of none so far, or "JSON" of several
	names   []string
	members map[string]*structure
	element *structure
}

// Structure returns the types of a value as JSON: of an object the types of its members, of an array one that all its
// elements have, and names of SQL. Requires: the value is whole.
func Structure(value string) string {
	s := &structure{kind: "NULL"}
	s.add(value)
	return string(s.append(nil))
}

// numberKinds are the kinds of numbers, each with those before it.
var numberKinds = []string{"UBIGINT", "BIGINT", "HUGEINT", "DOUBLE"}

func rankOf(kind string) int {
	for i, k := range numberKinds {
		if k == kind {
			return i
		}
	}
	return -1
}

func (s *structure) add(value string) {
	kind := Kind(value)
	switch a, b := rankOf(s.kind), rankOf(kind); {
	case kind == "NULL" || kind == s.kind:
	case s.kind == "NULL":
		s.kind = kind
	case a < 0 || b < 0:
		s.kind = "JSON"
	case a < 3 && b < 3: // integers of both signs
		s.kind = "HUGEINT"
	default:
		s.kind = "DOUBLE"
	}
	Each(value, func(key, v string) bool {
		if value[0] == '[' {
			if s.element == nil {
				s.element = &structure{kind: "NULL"}
			}
			s.element.add(v)
			return true
		}
		of := s.members[key]
		if of == nil {
			if s.members == nil {
				s.members = map[string]*structure{}
			}
			key = strings.Clone(key)
			of = &structure{kind: "NULL"}
			s.names, s.members[key] = append(s.names, key), of
		}
		of.add(v)
		return true
	})
}

func (s *structure) append(dst []byte) []byte {
	switch {
	case s.kind == "OBJECT" && len(s.names) > 0:
		open := byte('{')
		for _, name := range s.names {
			dst = append(AppendString(append(dst, open), name), ':')
			dst = s.members[name].append(dst)
			open = ','
		}
		return append(dst, '}')
	case s.kind == "OBJECT":
		return append(dst, `"JSON"`...)
	case s.kind == "ARRAY" && s.element == nil:
		return append(dst, `["NULL"]`...)
	case s.kind == "ARRAY":
		return append(s.element.append(append(dst, '[')), ']')
	}
	return AppendString(dst, s.kind)
}
