package expr

import (
	"regexp"
	"regexp/syntax"
	"slices"

	"github.com/mpga/mpga/internal/regex"
)

// replaceMatches writes a string with its first match, or all matches, replaced. It claims the
// memory of the result before it allocates the memory.
func replaceMatches(e *Evaluator, n *node, re *regex.Regexp, s, with string, all bool) (string, error) {
	out, err := e.room(n, len(s))
	if err != nil {
		return "", err
	}
	at, found := 0, false
	err = eachMatch(e, n, re, s, all, func(m []int) error {
		found = true
		if size := len(out) + m[0] - at + groupsLen(s, with, m) + len(s) - m[1]; size > cap(out) {
			m = slices.Clone(m) // which the next search overwrites
			if size, err = replacedLen(e, n, re, s, with, all); err != nil {
				return err
			}
			grown, err := e.room(n, size)
			if err != nil {
				return err
			}
			out = append(grown, out...)
		}
		out = append(out, s[at:m[0]]...)
		eachPart(s, with, m, func(part string) { out = append(out, part...) })
		at = m[1]
		return nil
	})
	if err != nil || !found {
		return s, err
	}
	return e.keep(append(out, s[at:]...)), nil
}

// replacedLen returns the length of replaceMatches's result.
func replacedLen(e *Evaluator, n *node, re *regex.Regexp, s, with string, all bool) (int, error) {
	size := len(s)
	err := eachMatch(e, n, re, s, all, func(m []int) error {
		size += groupsLen(s, with, m) - (m[1] - m[0])
		return nil
	})
	return size, err
}

// groupsLen returns the length of a replacement whose groups are filled in.
func groupsLen(s, with string, match []int) (size int) {
	eachPart(s, with, match, func(part string) { size += len(part) })
	return size
}

const (
	// matchedAtOnce is the length up to which all matches of a string are found at once.
	matchedAtOnce = 4 << 10

	// matchBytes and groupBytes are the bytes of a match and of its groups in a list, which grows.
	matchBytes, groupBytes = 64, 16
)

// eachMatch calls a function with the first match of a string, or with all matches: the bounds of
// the match and of its groups, which are valid until the next search.
func eachMatch(e *Evaluator, n *node, re *regex.Regexp, s string, all bool, f func(match []int) error) error {
	if !all {
		if m := re.First(s); m != nil {
			return f(m)
		}
		return nil
	}
	known := 0
	ok, err := re.Each(s, func(m []int) error {
		known++
		return f(m)
	})
	if ok || err != nil {
		return err
	}
	return eachOfLibrary(e, n, re.Library(), s, func(m []int) error {
		if known--; known >= 0 {
			return nil
		}
		return f(m)
	})
}

// eachOfLibrary is eachMatch for all matches, by the library alone. A list of all matches may take a
// hundred times the string's memory.
func eachOfLibrary(e *Evaluator, n *node, re *regexp.Regexp, s string, f func(match []int) error) error {
	switch {
	case len(s) > matchedAtOnce && !looksBehind(re):
		return eachMatchAhead(re, s, f)
	case len(s) > matchedAtOnce:
		matches := 0
		re.ReplaceAllStringFunc(s, func(string) string { matches++; return "" })
		if err := e.claim(n, matches*(matchBytes+groupBytes*(re.NumSubexp()+1))); err != nil {
			return err
		}
	}
	for _, m := range re.FindAllStringSubmatchIndex(s, -1) {
		if err := f(m); err != nil {
			return err
		}
	}
	return nil
}

// eachMatchAhead is eachOfLibrary for a pattern that does not look behind: matches are found one by
// one.
func eachMatchAhead(re *regexp.Regexp, s string, f func(match []int) error) error {
	return regex.EachMatch(s, func(at int) []int {
		m := re.FindStringSubmatchIndex(s[at:])
		for i := range m {
			if m[i] >= 0 {
				m[i] += at
			}
		}
		return m
	}, f)
}

// looksBehind says whether a match may depend on the text before the match.
func looksBehind(re *regexp.Regexp) bool {
	parsed, err := syntax.Parse(re.String(), syntax.Perl)
	return err != nil || containsBehind(parsed)
}

func containsBehind(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpBeginLine, syntax.OpBeginText, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return true
	}
	return slices.ContainsFunc(re.Sub, containsBehind)
}
