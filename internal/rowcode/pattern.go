package rowcode

import "strings"

// Pattern is a condition on a string, by its bytes.
type Pattern struct {
	Kind PatternKind
	Text string
}

// PatternKind says how a string is compared with the text of a pattern.
type PatternKind uint8

const (
	IsEqual  PatternKind = iota // the string is the text
	IsBefore                    // it comes before the text, byte by byte
	IsUpTo                      // it is the text, or comes before
	// it has the parts of the text, two or more, one after the other: the first begins it, the last
	// ends it
	IsLike
)

// PartEnd ends each part of a text but the last, of IsLike. No UTF-8 has the byte.
const PartEnd = 0xFE

// What a program may have of patterns. A column of strings is a column of words, which have a bit for each pattern,
// and StringThere.
const (
	PatternsMax    = 31
	PatternTextMax = 1024 // bytes of all texts
	StringThere    = 1 << PatternsMax
)

// Matches reports whether a string is as the pattern says.
func (p *Pattern) Matches(s string) bool {
	switch p.Kind {
	case IsEqual:
		return s == p.Text
	case IsBefore:
		return s < p.Text
	case IsUpTo:
		return s <= p.Text
	}
	parts := strings.Split(p.Text, string([]byte{PartEnd}))
	last := len(parts) - 1
	if !strings.HasPrefix(s, parts[0]) {
		return false
	}
	s = s[len(parts[0]):]
	for _, part := range parts[1:last] {
		at := strings.Index(s, part)
		if at < 0 {
			return false
		}
		s = s[at+len(part):]
	}
	return strings.HasSuffix(s, parts[last])
}

// Word returns the word of a string for patterns.
func Word(patterns []Pattern, s string) uint32 {
	word := uint32(StringThere)
	for i := range patterns {
		if patterns[i].Matches(s) {
			word |= 1 << i
		}
	}
	return word
}
