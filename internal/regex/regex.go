package regex

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// Regexp is a compiled expression. One goroutine at a time may use it.
type Regexp struct {
	library *regexp.Regexp
	program *program // nil where the expression is not simple
	machine machine
}

// Compile compiles an expression in the standard library's syntax. The error is the library's.
func Compile(expr string) (*Regexp, error) {
	library, err := regexp.Compile(expr)
	if err != nil {
		return nil, err
	}
	re := &Regexp{library: library, program: compile(expr)}
	if re.program != nil {
		re.machine.groups = make([]int, 2*(library.NumSubexp()+1))
	}
	return re, nil
}

// Groups returns the number of groups in parentheses.
func (re *Regexp) Groups() int { return re.library.NumSubexp() }

// Simple says whether the expression has a program: a match then takes less time than a look into a
// map.
func (re *Regexp) Simple() bool { return re.program != nil }

// Library returns the expression as the standard library has compiled it.
func (re *Regexp) Library() *regexp.Regexp { return re.library }

// MatchString says whether some part of a string matches.
func (re *Regexp) MatchString(s string) bool {
	re.machine.begin(s)
	if found, ok := re.find(s, 0); ok {
		return found
	}
	return re.library.MatchString(s)
}

// First returns the bounds of the first match of a string and of its groups, -1 for a group without
// a match; nil if there is no match. The slice is valid until the next call.
func (re *Regexp) First(s string) []int {
	re.machine.begin(s)
	found, ok := re.find(s, 0)
	switch {
	case !ok:
		return re.library.FindStringSubmatchIndex(s)
	case found:
		return re.machine.groups
	}
	return nil
}

// Each calls a function with each match of a string, as First returns it, until the function returns
// an error. It returns false where only the library can find the matches behind the last that the
// function was called with.
func (re *Regexp) Each(s string, f func(match []int) error) (ok bool, err error) {
	re.machine.begin(s)
	ok = true
	err = EachMatch(s, func(at int) []int {
		var found bool
		if found, ok = re.find(s, at); !found {
			return nil
		}
		return re.machine.groups
	}, f)
	return ok, err
}

// EachMatch calls f with the matches of a string, by the rules of the library's FindAll, until f
// returns an error. find returns the bounds of the first match from a place on, nil for none.
func EachMatch(s string, find func(at int) []int, f func(match []int) error) error {
	for at, last := 0, -1; at <= len(s); {
		m := find(at)
		if m == nil {
			return nil
		}
		again := m[1] == at && m[0] == last // an empty match behind another match
		if m[1] == at {
			_, size := utf8.DecodeRuneInString(s[at:])
			at += max(size, 1)
		} else {
			at = m[1]
		}
		if last = m[1]; again {
			continue
		}
		if err := f(m); err != nil {
			return err
		}
	}
	return nil
}

// find looks for the first match from a place on. ok is false where only the library can tell.
// Requires: the machine began with s.
func (re *Regexp) find(s string, from int) (found, ok bool) {
	p, m := re.program, &re.machine
	if p == nil {
		return false, false
	}
	for at := from; ; {
		if at = p.next(s, at); at < 0 {
			return false, true
		}
		end, ok := m.run(p, s, at)
		if !ok {
			return false, false
		}
		if end >= 0 {
			m.groups[0], m.groups[1] = at, end
			return true, true
		}
		if p.anchored || at == len(s) {
			return false, true
		}
		if p.leading != nil { // a match that begins later in the loop's characters would have been found
			for at < len(s)-1 && p.leading.has[s[at]] {
				at++
			}
		}
		_, size := utf8.DecodeRuneInString(s[at:])
		at += size
	}
}

// next returns the first place from a place on where a match may begin, or -1.
func (p *program) next(s string, at int) int {
	switch {
	case p.anchored:
		if at > 0 {
			return -1
		}
	case p.prefix != "":
		i := strings.Index(s[at:], p.prefix)
		if i < 0 {
			return -1
		}
		at += i
	case !p.first.empty:
		for ; at < len(s); at++ {
			if p.first.bytes[s[at]] {
				return at
			}
		}
		return -1
	}
	return at
}
