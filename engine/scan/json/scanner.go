package json

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"

	"github.com/mpga/mpga/engine/scan/internal/fields"
	"github.com/mpga/mpga/engine/scan/internal/textfile"
	"github.com/mpga/mpga/internal/knob"
)

// scanner reads JSON in a buffer, behind whose end there is a NUL, which no JSON has: it ends every
// value. A method that reads something at p returns where it ends, or failed.
type scanner struct {
	text  []byte // of the buffer, with the NUL and more bytes behind it: fields.Slack in all
	size  int    // of the buffer
	lines bool   // a row is within a line

	at      int   // where the last failure is
	reason  error // of the last failure
	escaped bool  // the string that was read last has escapes
	nesting []byte
	depth   int // objects and arrays around the value that is read, within a row
}

// failed is the place of nothing.
const failed = -1

// fail notes why there is nothing to read. At the end of the buffer, the reason is that more text is
// needed.
func (s *scanner) fail(at int, reason error) int {
	s.at, s.reason = at, reason
	return failed
}

// short says that the last failure is at the end of the buffer.
func (s *scanner) short() bool { return s.at >= s.size }

// failure returns the last failure.
func (s *scanner) failure() error { return &textfile.Error{At: s.at, Reason: s.reason} }

// failureAt fails and returns the failure.
func (s *scanner) failureAt(at int, reason error) error {
	s.fail(at, reason)
	return s.failure()
}

// open begins with a buffer.
// Requires: fields.Slack more bytes behind it.
func (s *scanner) open(buf []byte) {
	s.text, s.size = buf[:len(buf)+fields.Slack], len(buf)
	clear(s.text[len(buf):])
}

const (
	bytesOf1   = 0x0101010101010101
	bytesOf128 = 0x8080808080808080
)

var (
	errControl = errors.New(
		`a control character within a string, where JSON has \n, \t and the like; is a quote left open?`)
	errEscape = errors.New(
		`an escape that JSON does not have: \", \\, \/, \b, \f, \n, \r, \t and \u with four hexadecimal digits are all`)
	errSurrogate = errors.New(
		`half of a surrogate pair: \ud800 to \udbff and \udc00 to \udfff stand for a character only together`)
	errLeadingZero = errors.New(
		"a number with a leading zero, which JSON does not have; is it a code that belongs in quotes?")
	errNumber    = errors.New("a number without a digit where there must be one")
	errValue     = errors.New("not a value: want a string, a number, true, false, null, an object or an array")
	errKey       = errors.New("not a key: want a string in double quotes")
	errColon     = errors.New("no colon behind a key")
	errMember    = errors.New("neither a comma nor the closing brace behind a value of an object")
	errElement   = errors.New("neither a comma nor the closing bracket behind a value of an array")
	errManyLines = layoutError("a row that goes on behind its line, where the first rows of the text are lines")
	errNested    = fmt.Errorf("objects and arrays within each other, more than %d deep", nestingMax)
)

// layoutError is an error about rows that are not lines.
func layoutError(what string) error {
	return knob.Errorf("%s; look at more rows (%s), or write each row on a line of its own", what,
		knob.Name("dataset.JSON.SampleRows"))
}

// nestingMax bounds how deep objects and arrays may be within each other.
const nestingMax = 1000

// space passes over white space. Within a row that is a line, a newline is none.
func (s *scanner) space(p int) int {
	for {
		switch s.text[p] {
		case ' ', '\t', '\r':
		case '\n':
			if s.lines {
				return s.fail(p, errManyLines)
			}
		default:
			return p
		}
		p++
	}
}

// str reads a string behind its opening quote, and returns where its closing quote is.
func (s *scanner) str(p int) int {
	s.escaped = false
	text := s.text
	for {
		x := binary.LittleEndian.Uint64(text[p:][:8])
		quote, escape := x^bytesOf1*'"', x^bytesOf1*'\\'
		// The lowest top bit is that of the first quote, backslash or control character.
		stop := ((quote-bytesOf1)&^quote | (escape-bytesOf1)&^escape | (x-bytesOf1*' ')&^x) & bytesOf128
		if stop == 0 {
			p += 8
			continue
		}
		p += bits.TrailingZeros64(stop) / 8
		switch text[p] {
		case '"':
			return p
		case '\\':
			s.escaped = true
			if p = s.escape(p); p == failed {
				return failed
			}
		default:
			return s.fail(p, errControl)
		}
	}
}

// escape reads the escape at p.
func (s *scanner) escape(p int) int {
	switch s.text[p+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return p + 2
	case 'u':
	default:
		return s.fail(p+1, errEscape)
	}
	unit, q := s.hex(p + 2)
	if q == failed || !isSurrogate(unit) {
		return q
	}
	if unit >= lowSurrogates {
		return s.fail(p, errSurrogate)
	}
	for i, c := range []byte{'\\', 'u'} {
		if s.text[q+i] != c {
			return s.failPair(p, q+i)
		}
	}
	low, end := s.hex(q + 2)
	if end != failed && (low < lowSurrogates || !isSurrogate(low)) {
		return s.fail(p, errSurrogate)
	}
	return end
}

// failPair fails over the surrogate at p without another at q: there, where the buffer ends.
func (s *scanner) failPair(p, q int) int {
	if q >= s.size {
		p = q
	}
	return s.fail(p, errSurrogate)
}

// hex reads four hexadecimal digits.
func (s *scanner) hex(p int) (unit rune, end int) {
	for end = p; end < p+4; end++ {
		digit, ok := hexDigit(s.text[end])
		if !ok {
			return 0, s.fail(end, errEscape)
		}
		unit = unit<<4 | digit
	}
	return unit, end
}

// number reads a number. NaN and infinities are numbers, as they are to DuckDB.
func (s *scanner) number(p int) int {
	text := s.text
	if text[p] == '-' {
		p++
	}
	switch first := text[p] - '0'; {
	case first == 0:
		p++
		if text[p]-'0' <= 9 {
			return s.fail(p, errLeadingZero)
		}
	case first <= 9:
		for p++; text[p]-'0' <= 9; {
			p++
		}
	default:
		if end := s.notFinite(p); end != failed {
			return end
		}
		return s.fail(max(p, min(s.at, s.size)), errNumber)
	}
	if text[p] == '.' {
		if p = s.digits(p + 1); p == failed {
			return failed
		}
	}
	if text[p]|0x20 == 'e' {
		p++
		if text[p] == '+' || text[p] == '-' {
			p++
		}
		return s.digits(p)
	}
	return p
}

// digits reads one digit or more.
func (s *scanner) digits(p int) int {
	if s.text[p]-'0' > 9 {
		return s.fail(p, errNumber)
	}
	for s.text[p]-'0' <= 9 {
		p++
	}
	return p
}

// notFinite reads nan, inf or infinity, in any case.
func (s *scanner) notFinite(p int) int {
	for _, word := range []string{"infinity", "inf", "nan"} {
		if end := s.word(p, word, 0x20); end != failed || s.short() {
			return end
		}
	}
	return failed
}

// word reads a word of lower case; mask is the bit that letters of upper case lack, or 0.
func (s *scanner) word(p int, word string, mask byte) int {
	for i := range len(word) {
		if s.text[p+i]|mask != word[i] {
			return s.fail(p+i, errValue)
		}
	}
	return p + len(word)
}
