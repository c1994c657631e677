// Package jsonpath finds values in texts of JSON, which it reads where they lie and makes no tree of.
package jsonpath

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Path is the way to a value: keys of objects, and places in arrays.
type Path []step

// step is a key, or, where isIndex, a place from 0; a negative one counts from behind the last. isAny is each key, or
// each place.
type step struct {
	key     string
	index   int
	isIndex bool
	isAny   bool
}

// IsMany says whether a path has a step of several values, [*] or .*, which FindAll finds.
func (p Path) IsMany() bool { return slices.ContainsFunc(p, func(s step) bool { return s.isAny }) }

// ParsePath reads $.key.key[index], /key/index, or, of a text that begins otherwise, one key; "" is the value itself.
func ParsePath(text string) (Path, error) {
	switch {
	case text == "":
		return nil, nil
	case strings.HasPrefix(text, "/"):
		return parsePointer(text), nil
	case !strings.HasPrefix(text, "$"):
		return Path{{key: text}}, nil
	}
	var p Path
	for rest := text[1:]; rest != ""; {
		s, behind, err := parseStep(rest)
		if err != nil {
			return nil, fmt.Errorf("the path %q of JSON: %w", text, err)
		}
		p, rest = append(p, s), behind
	}
	return p, nil
}

// Index is the path to a place in an array.
func Index(i int) Path { return Path{{index: i, isIndex: true}} }

// parsePointer reads a JSON pointer (RFC 6901), whose numbers are places in arrays, too.
func parsePointer(text string) (p Path) {
	for _, part := range strings.Split(text[1:], "/") {
		key := strings.ReplaceAll(strings.ReplaceAll(part, "~1", "/"), "~0", "~")
		s := step{key: key}
		if part == "0" || !strings.HasPrefix(part, "0") {
			s.index, s.isIndex = parseIndex(part)
		}
		p = append(p, s)
	}
	return p
}

// parseStep reads the first step of a path behind $.
func parseStep(text string) (s step, rest string, err error) {
	switch {
	case strings.HasPrefix(text, "."):
		return parseKey(text[1:])
	case !strings.HasPrefix(text, "["):
		return s, "", fmt.Errorf("want . or [ before %q", text)
	}
	inner, rest, closed := strings.Cut(text[1:], "]")
	if s.isIndex = true; inner == "*" && closed {
		s.isAny = true
		return s, rest, nil
	}
	number, hasHash := strings.CutPrefix(inner, "#")
	number, fromEnd := strings.CutPrefix(number, "-")
	var isNumber bool
	if s.index, isNumber = parseIndex(number); !isNumber || !closed || hasHash && !fromEnd {
		return s, "", fmt.Errorf("want a number in brackets, as in [0] or [#-1], not %q", text)
	}
	if fromEnd {
		s.index = -s.index
	}
	return s, rest, nil
}

// parseIndex reads a number of digits alone.
func parseIndex(digits string) (index int, ok bool) {
	index, err := strconv.Atoi(digits)
	return index, err == nil && digits[0] >= '0'
}

func parseKey(text string) (s step, rest string, err error) {
	if quoted, ok := strings.CutPrefix(text, `"`); ok {
		var closed bool
		if s.key, rest, closed = strings.Cut(quoted, `"`); !closed {
			err = errQuote
		}
		return s, rest, err
	}
	end := strings.IndexAny(text, ".[")
	if end < 0 {
		end = len(text)
	}
	if s.key = text[:end]; s.key == "" {
		return s, "", errors.New("want a key behind a point")
	}
	s.isAny = s.key == "*"
	return s, text[end:], nil
}

// Find returns the value at a path, as it is written; ok is false where there is none. Its error says where the text is
// no JSON.
func Find(text string, p Path) (value string, ok bool, err error) {
	value, err = whole(text)
	if err == nil && p.IsMany() {
		err = errors.New("a path of JSON with * finds several values: " +
			"it is for constant paths of json_extract, json_type and json_keys")
	}
	if err != nil {
		return "", false, err
	}
	for _, s := range p {
		if value, ok = member(value, &s); !ok {
			return "", false, nil
		}
	}
	return strings.TrimRight(value, space), true, nil
}

// whole returns the value of a text, as it is written but for space around it.
func whole(text string) (string, error) {
	r := reader{text: text}
	from, err := r.value()
	if err == nil {
		err = r.end()
	}
	if err != nil {
		return "", err
	}
	return strings.TrimRight(text[from:r.at], space), nil
}

// FindAll calls a function with the values at a path, which IsMany. Its error says where the text is no JSON.
func FindAll(text string, p Path, f func(value string)) error {
	value, err := whole(text)
	if err == nil {
		findAll(value, p, f)
	}
	return err
}

func findAll(value string, p Path, f func(value string)) {
	for i := range p {
		switch s := &p[i]; {
		case s.isAny && (value[0] == '[') == s.isIndex:
			Each(value, func(_, v string) bool {
				findAll(v, p[i+1:], f)
				return true
			})
			return
		case s.isAny:
			return
		default:
			var ok bool
			if value, ok = member(value, s); !ok {
				return
			}
		}
	}
	f(strings.TrimRight(value, space))
}

// member returns a member of an object or an array.
func member(of string, s *step) (value string, ok bool) {
	at, want := 0, s.index
	switch {
	case of[0] == '[' && s.isIndex:
		if want < 0 {
			want += Len(of)
		}
		Each(of, func(_, v string) bool {
			if at == want {
				value, ok = v, true
			}
			at++
			return !ok
		})
	case of[0] == '{' && (s.key != "" || !s.isIndex):
		Each(of, func(key, v string) bool {
			if key == s.key {
				value, ok = v, true
			}
			return !ok
		})
	}
	return value, ok
}

// Len returns how many elements an array has; 0 of other values.
func Len(value string) (n int) {
	if value[0] == '[' {
		Each(value, func(string, string) bool {
			n++
			return true
		})
	}
	return n
}

// Each calls a function with the members of an object, or with the elements of an array, whose keys are "", until it
// returns false. Requires: the value is whole.
func Each(value string, f func(key, value string) bool) {
	if value[0] != '{' && value[0] != '[' {
		return
	}
	r := reader{text: value, at: 1}
	for r.skip(); r.at < len(value) && value[r.at] != '}' && value[r.at] != ']'; r.skip() {
		key := ""
		if value[0] == '{' {
			from := r.at
			_ = r.quoted()
			key = Unquote(value[from:r.at])
			r.skip()
			r.at++ // the colon
		}
		from, _ := r.value()
		if !f(key, value[from:r.at]) {
			return
		}
		if r.skip(); r.at < len(value) && value[r.at] == ',' {
			r.at++
		}
	}
}
