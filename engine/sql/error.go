package sql

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/mattn/go-runewidth"

	"github.com/mpga/mpga/internal/redact"
)

// ErrNoCgo is returned by a build without cgo, which has no SQL parser.
var ErrNoCgo = errors.New("SQL needs a build with cgo: this one was made with CGO_ENABLED=0")

// Error is text that is not SQL, or SQL that a query cannot express.
type Error struct {
	Message string
	Text    string // as it was given
	Offset  int    // of the place in Text, in bytes, from 0 to len(Text)
	Cause   error  // error of an operation at the place, such as opening a file; nil where the text alone is wrong
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// Error returns the message, the line of the text and a caret, on three lines. URLs have no
// secrets.
func (e *Error) Error() string {
	line, column := e.line()
	return redact.Text(e.Message) + "\n    " + line + "\n    " + strings.Repeat(" ", column) + "^"
}

// lineRunesMax bounds the runes of a line on either side of the place: both sides fit 80 columns.
const lineRunesMax = 35

// line returns the line around the place, cut if long, and the place's column as a terminal counts.
func (e *Error) line() (line string, column int) {
	before, after := e.shown()
	before = before[strings.LastIndexByte(before, '\n')+1:]
	after, _, _ = strings.Cut(after, "\n")

	head, tail := []rune(before), []rune(after)
	if len(head) > lineRunesMax {
		head = append([]rune("..."), head[len(head)-lineRunesMax:]...)
	}
	if len(tail) > lineRunesMax {
		tail = append(tail[:lineRunesMax:lineRunesMax], []rune("...")...)
	}
	shown := printable(head)
	return shown + printable(tail), runewidth.StringWidth(shown)
}

// shown returns the text before the place and from there on, with URLs for people.
func (e *Error) shown() (before, after string) {
	text := redact.Text(e.Text)
	if text == e.Text {
		return text[:e.Offset], text[e.Offset:]
	}
	before = redact.Text(e.Text[:e.Offset])
	at := 0 // where both begin to differ, if the place is within a URL
	for at < min(len(before), len(text)) && before[at] == text[at] {
		at++
	}
	return text[:at], text[at:]
}

// printable replaces what would move a terminal's cursor.
func printable(text []rune) string {
	var b strings.Builder
	for _, r := range text {
		if !unicode.IsPrint(r) {
			r = ' '
		}
		b.WriteRune(r)
	}
	return b.String()
}

// errorAt builds an Error at a byte of the text; an offset outside is taken to its nearest end.
func errorAt(text string, offset int, format string, args ...any) *Error {
	return &Error{Message: fmt.Sprintf(format, args...), Text: text, Offset: min(max(offset, 0), len(text))}
}
