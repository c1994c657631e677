package json

// kind says what a value is.
type kind uint8

const (
	kindString kind = iota
	kindNumber
	kindBool
	kindNull
	kindNested // an object or an array
)

// value reads a value at p, where there is no white space.
func (s *scanner) value(p int) (end int, k kind) {
	switch c := s.text[p]; c {
	case '"':
		if end = s.str(p + 1); end == failed {
			return failed, kindString
		}
		return end + 1, kindString
	case '{', '[':
		return s.nested(p), kindNested
	case 't':
		return s.word(p, "true", 0), kindBool
	case 'f':
		return s.word(p, "false", 0), kindBool
	case 'n':
		if s.text[p+1] == 'u' {
			return s.word(p, "null", 0), kindNull
		}
		return s.notFiniteValue(p), kindNumber
	case 'N', 'i', 'I':
		return s.notFiniteValue(p), kindNumber
	default:
		if c == '-' || c-'0' <= 9 {
			return s.number(p), kindNumber
		}
		return s.fail(p, errValue), kindNull
	}
}

// notFiniteValue reads NaN or an infinity, or fails where the word begins.
func (s *scanner) notFiniteValue(p int) int {
	end := s.notFinite(p)
	if end == failed && !s.short() {
		return s.fail(p, errValue)
	}
	return end
}

// nested reads an object or an array, and checks all that is in it.
func (s *scanner) nested(p int) int {
	s.nesting = s.nesting[:0]
	for {
		// A value begins at p.
		var open byte
		if c := s.text[p]; c == '{' || c == '[' {
			if s.depth+len(s.nesting) == nestingMax {
				return s.fail(p, errNested)
			}
			open = c
			s.nesting = append(s.nesting, c)
			p++
		} else if p, _ = s.value(p); p == failed {
			return failed
		}
		if p = s.between(p, open != 0); p == failed || len(s.nesting) == 0 {
			return p
		}
	}
}

// between goes on to the next value within nested ones. first says that the innermost has just been
// opened.
func (s *scanner) between(p int, first bool) int {
	for {
		if p = s.space(p); p == failed {
			return failed
		}
		inner := s.nesting[len(s.nesting)-1]
		switch c := s.text[p]; {
		case c == inner+2: // the closing character of either is two behind the opening one
			p++
			s.nesting = s.nesting[:len(s.nesting)-1]
			if len(s.nesting) == 0 {
				return p
			}
			first = false
			continue
		case first:
		case c == ',':
			if p = s.space(p + 1); p == failed {
				return failed
			}
		case inner == '{':
			return s.fail(p, errMember)
		default:
			return s.fail(p, errElement)
		}
		if inner == '{' {
			return s.nestedKey(p)
		}
		return p
	}
}

// nestedKey reads a key and its colon, up to the value.
func (s *scanner) nestedKey(p int) int {
	if s.text[p] != '"' {
		return s.fail(p, errKey)
	}
	if p = s.str(p + 1); p == failed {
		return failed
	}
	return s.colon(p + 1)
}

// colon reads a colon behind a key, up to the value.
func (s *scanner) colon(p int) int {
	if p = s.space(p); p == failed {
		return failed
	}
	if s.text[p] != ':' {
		return s.fail(p, errColon)
	}
	return s.space(p + 1)
}

// nextElement goes on behind a value to the next element or the closing bracket.
func (s *scanner) nextElement(p int) int {
	if p = s.space(p); p == failed {
		return failed
	}
	switch s.text[p] {
	case ']':
		return p
	case ',':
	default:
		return s.fail(p, errElement)
	}
	if p = s.space(p + 1); p != failed && s.text[p] == ']' {
		return s.fail(p, errValue)
	}
	return p
}

// member goes on behind a value to the next key or the closing brace.
func (s *scanner) member(p int) int {
	if s.text[p] <= ' ' {
		if p = s.space(p); p == failed {
			return failed
		}
	}
	switch s.text[p] {
	case '}':
		return p
	case ',':
	default:
		return s.fail(p, errMember)
	}
	if p++; s.text[p] != '"' {
		if p = s.space(p); p == failed {
			return failed
		}
		if s.text[p] != '"' {
			return s.fail(p, errKey)
		}
	}
	return p
}
