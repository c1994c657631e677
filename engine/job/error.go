package job

import (
	"errors"
	"fmt"
	"strings"

	"github.com/mpga/mpga/internal/redact"
)

// ErrLocked marks a job that another process runs.
var ErrLocked = errors.New("the job is already running")

// Error is a mistake at a place of a job.
type Error struct {
	File   string // as it was given; "" for a job that no file holds
	Line   int    // from 1; 0 where it is not known
	Column int    // from 1, in characters; 0 where it is not known
	Field  string // such as steps[1].output.format; "" for the job as a whole
	Err    error
}

// Error returns file:line:column: field: cause. URLs have no secrets.
func (e *Error) Error() string {
	var b strings.Builder
	if e.File != "" {
		b.WriteString(e.File)
		if e.Line > 0 {
			fmt.Fprintf(&b, ":%d", e.Line)
		}
		if e.Column > 0 {
			fmt.Fprintf(&b, ":%d", e.Column)
		}
		b.WriteString(": ")
	}
	if e.Field != "" {
		b.WriteString(e.Field + ": ")
	}
	text := redact.Text(b.String() + e.Err.Error())
	if len(text) > errorBytesMax { // a value may be any text of the file
		return strings.ToValidUTF8(text[:errorBytesMax], "") + "..."
	}
	return text
}

// errorBytesMax is how many bytes of an error are printed.
const errorBytesMax = 2000

// Unwrap returns the cause, without the place.
func (e *Error) Unwrap() error { return e.Err }

// Errors is everything that is wrong with a job, in the order of its file.
type Errors []*Error

// errorsShown bounds the errors that are printed: the first errors are worth fixing first.
const errorsShown = 20

// Error returns a line for each error.
func (e Errors) Error() string {
	var lines []string
	for _, one := range e[:min(len(e), errorsShown)] {
		lines = append(lines, one.Error())
	}
	if more := len(e) - errorsShown; more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(lines, "\n")
}

// Unwrap lets errors.Is and errors.As look at each.
func (e Errors) Unwrap() []error {
	list := make([]error, len(e))
	for i, one := range e {
		list[i] = one
	}
	return list
}
