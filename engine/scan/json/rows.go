package json

import (
	"errors"
	"io"

	"github.com/mpga/mpga/internal/knob"
)

var (
	errRow = knob.Errorf(
		`a row must be an object, {"key": value, ...}; is it another format (%s)?`,
		knob.Name("dataset.Format"))
	errComma       = errors.New("a comma between rows, where none belongs")
	errNoComma     = errors.New("no comma between two objects of an array")
	errBehindArray = errors.New("something behind the array of rows; a file holds one array, or objects without one")
	errOpenArray   = errors.New("the text ends within an array: its closing bracket is missing")
	errOpenObject  = errors.New("the text ends within an object")
	errSharedLine  = layoutError("a second row on a line, where the first rows of the text have lines of their own")
)

// rows is what lies between the objects that are rows: white space, and in an array commas and the
// closing bracket.
type rows struct {
	array  bool
	behind bool // of a row: a comma must follow in an array, where else it may
	limit  int  // of the buffer: a line that begins there or later belongs to the next chunk
}

// next returns where the next row begins behind p; or failed where the buffer ends before that is
// known. The error is io.EOF where it begins in the next chunk.
func (r *rows) next(s *scanner, p int) (at int, err error) {
	comma, past, line := false, false, !r.behind || !s.lines
	for ; ; p++ {
		switch c := s.text[p]; {
		case c == ' ', c == '\t', c == '\r':
		case c == '\n':
			line, past = true, past || p+1 >= r.limit
			if past && !r.array {
				return failed, io.EOF
			}
		case p >= s.size:
			return s.fail(p, errOpenArray), nil
		case c == ',' && r.array && !comma:
			comma = true
		case c == ',' && r.array:
			return failed, s.failureAt(p, errComma)
		case c == '{' && r.array && r.behind && !comma:
			return failed, s.failureAt(p, errNoComma)
		case c == '{' && past:
			return failed, io.EOF
		case c == '{' && !line:
			return failed, s.failureAt(p, errSharedLine)
		case c == '{':
			return p, nil
		case c == ']' && comma:
			return failed, s.failureAt(p, errComma)
		case c == ']' && r.array:
			return r.close(s, p+1)
		default:
			return failed, s.failureAt(p, errRow)
		}
	}
}

// close passes over what follows the array.
func (r *rows) close(s *scanner, p int) (int, error) {
	for ; p < s.size; p++ {
		switch s.text[p] {
		case ' ', '\t', '\r', '\n':
		default:
			return failed, s.failureAt(p, errBehindArray)
		}
	}
	return s.fail(p, nil), nil
}

// end returns the error of a text that ends where no row follows behind p. closed says that an array
// must have ended.
func (r *rows) end(s *scanner, p int, closed bool) error {
	comma := false
	for ; p < s.size; p++ {
		switch s.text[p] {
		case '{':
			return s.failureAt(p, errOpenObject)
		case ']':
			return nil // next has looked behind it
		case ',':
			comma = true
		}
	}
	if r.array && (closed || comma) {
		return s.failureAt(s.size, errOpenArray)
	}
	return nil
}
