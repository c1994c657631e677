package jsonpath

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

const space = " \t\r\n"

// reader walks a text. A comma may stand behind the last member, as DuckDB reads it.
type reader struct {
	text  string
	at    int
	depth int
}

// depthMax is how deep values may lie in others.
const depthMax = 1000

func (r *reader) skip() {
	for r.at < len(r.text) && strings.IndexByte(space, r.text[r.at]) >= 0 {
		r.at++
	}
}

func (r *reader) fail(what string) error {
	return fmt.Errorf("malformed JSON at byte %d: %s", r.at+1, what)
}

func (r *reader) peek() byte {
	if r.at == len(r.text) {
		return 0
	}
	return r.text[r.at]
}

// end returns an error where something stands behind the value.
func (r *reader) end() error {
	behind := *r
	if behind.skip(); behind.at < len(r.text) {
		return behind.fail("something stands behind the value")
	}
	return nil
}

// value walks over a value, and returns where it begins.
func (r *reader) value() (from int, err error) {
	r.skip()
	from = r.at
	switch c := r.peek(); {
	case c == '{' || c == '[':
		err = r.members(c == '{')
	case c == '"':
		err = r.quoted()
	case c == '-' || c >= '0' && c <= '9':
		err = r.number()
	default:
		err = r.word()
	}
	return from, err
}

func (r *reader) word() error {
	for _, w := range []string{"true", "false", "null"} {
		if strings.HasPrefix(r.text[r.at:], w) {
			r.at += len(w)
			return nil
		}
	}
	if r.at == len(r.text) {
		return r.fail("a value is missing")
	}
	return r.fail("want a value")
}

func (r *reader) members(isObject bool) error {
	if r.depth++; r.depth > depthMax {
		return fmt.Errorf("JSON is nested more than %d deep", depthMax)
	}
	defer func() { r.depth-- }()
	end := byte(']')
	if isObject {
		end = '}'
	}
	r.at++
	for {
		if r.skip(); r.peek() == end {
			r.at++
			return nil
		}
		if isObject {
			if r.peek() != '"' {
				return r.fail("want a key in quotes")
			}
			if err := r.quoted(); err != nil {
				return err
			}
			if r.skip(); r.peek() != ':' {
				return r.fail("want a colon behind a key")
			}
			r.at++
		}
		if _, err := r.value(); err != nil {
			return err
		}
		r.skip()
		switch r.peek() {
		case ',':
			r.at++
		case end:
		default:
			return r.fail(fmt.Sprintf("want a comma or %c", end))
		}
	}
}

var errQuote = errors.New("a quote is not closed")

// quoted walks over a string.
func (r *reader) quoted() error {
	for r.at++; r.at < len(r.text); r.at++ {
		switch c := r.text[r.at]; {
		case c == '"':
			r.at++
			return nil
		case c < ' ':
			return r.fail("a character that is to be escaped")
		case c == '\\':
			if err := r.escape(); err != nil {
				return err
			}
		}
	}
	return r.fail(errQuote.Error())
}

// escape walks to the last byte of an escape.
func (r *reader) escape() error {
	r.at++
	switch {
	case r.at == len(r.text):
	case r.text[r.at] == 'u' && r.at+4 < len(r.text):
		if _, ok := hex(r.text[r.at+1 : r.at+5]); ok {
			r.at += 4
			return nil
		}
	case strings.IndexByte(`"\/bfnrt`, r.text[r.at]) >= 0:
		return nil
	}
	return r.fail("no such escape")
}

func hex(digits string) (v rune, ok bool) {
	for i := range len(digits) {
		d := strings.IndexByte("0123456789abcdef", digits[i]|0x20)
		if d < 0 || digits[i] < '0' {
			return 0, false
		}
		v = v<<4 | rune(d)
	}
	return v, true
}

func (r *reader) digits() (n int) {
	for c := r.peek(); c >= '0' && c <= '9'; c = r.peek() {
		r.at++
		n++
	}
	return n
}

func (r *reader) number() error {
	if r.peek() == '-' {
		r.at++
	}
	first := r.peek()
	switch n := r.digits(); {
	case n == 0:
		return r.fail("want a digit")
	case n > 1 && first == '0':
		return r.fail("a number begins with 0")
	}
	if r.peek() == '.' {
		if r.at++; r.digits() == 0 {
			return r.fail("want a digit behind the point")
		}
	}
	if c := r.peek(); c == 'e' || c == 'E' {
		r.at++
		if c := r.peek(); c == '+' || c == '-' {
			r.at++
		}
		if r.digits() == 0 {
			return r.fail("want a digit behind e")
		}
	}
	return nil
}

// Unquote returns the text of a string in quotes, which is whole. A half of a surrogate pair is U+FFFD.
func Unquote(s string) string {
	s = s[1 : len(s)-1]
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b []byte
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			b = append(b, s[i])
			continue
		}
		i++
		if at := strings.IndexByte("bfnrt", s[i]); at >= 0 {
			b = append(b, "\b\f\n\r\t"[at])
			continue
		}
		if s[i] != 'u' {
			b = append(b, s[i])
			continue
		}
		c, _ := hex(s[i+1 : i+5])
		i += 4
		if utf16.IsSurrogate(c) && strings.HasPrefix(s[i+1:], `\u`) {
			low, _ := hex(s[i+3 : i+7])
			if pair := utf16.DecodeRune(c, low); pair != utf8.RuneError {
				c, i = pair, i+6
			}
		}
		b = utf8.AppendRune(b, c)
	}
	return string(b)
}
