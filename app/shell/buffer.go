package shell

import (
	"strings"

	"github.com/mpga/mpga/internal/sqlscan"
)

// buffer gathers lines until they make statements. A line is scanned once, but for the lines of a
// string or a comment that may end it.
type buffer struct {
	text    []byte
	scanned int  // bytes of text whose tokens end no statement
	filled  bool // these have something to run
	open    bool // text ends within a string or a comment, which begins at scanned
}

// closers are the characters that may end a string, a name or a comment.
const closers = `'"*$`

// add takes a line, and returns the statements that it completes, with their semicolons.
func (b *buffer) add(line string) (statements []string) {
	b.text = append(append(b.text, line...), '\n')
	if b.open && !strings.ContainsAny(line, closers) {
		return nil
	}
	b.open = false
	from, begin := b.scanned, 0
	rest := string(b.text[from:])
	b.scanned = len(b.text)
	for _, t := range sqlscan.Scan(rest) {
		switch {
		case t.Open:
			b.open, b.scanned = true, from+t.Start
		case t.Kind == sqlscan.Sign && t.Text(rest) == ";":
			statements = append(statements, string(b.text[begin:from+t.End]))
			begin, b.filled = from+t.End, false
		case t.Kind != sqlscan.Comment:
			b.filled = true
		}
	}
	b.text = b.text[begin:]
	b.scanned -= begin
	if !b.filled && !b.open {
		b.clear()
	}
	return statements
}

// clear drops what is there.
func (b *buffer) clear() { *b = buffer{} }

// empty says whether no statement has begun.
func (b *buffer) empty() bool { return len(b.text) == 0 }
