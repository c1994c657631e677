package complete

import (
	"strings"

	"github.com/mpga/mpga/internal/sqlscan"
)

// place is where something is wanted.
type place struct {
	text   string
	tokens []sqlscan.Token // of the statement, without comments
	before int             // number of tokens before the place
	start  int             // byte of the text from which on candidates stand
	prefix string          // that candidates begin with
	inside sqlscan.Kind    // String, Name or Comment where the place is within an open token, else 0
	behind bool            // the place touches a string, a number or a name, which nothing continues
}

func placeOf(text string, cursor int) place {
	p := place{text: text, start: cursor}
	begin, end := statementAt(text, cursor)
	head, rest := cursor, cursor // the tokens of the statement end before head, and go on at rest
	typed := sqlscan.Scan(text[begin:cursor])
	if n := len(typed); n > 0 && typed[n-1].End == cursor-begin {
		last := typed[n-1]
		last.Start, last.End = last.Start+begin, last.End+begin
		switch {
		case last.Open:
			p.inside, p.start, p.prefix, head = last.Kind, last.Start+1, last.Value(text), last.Start
			if rest < end && text[rest] == text[head] { // the quote that ends it
				rest++
			}
		case last.Kind == sqlscan.Word:
			p.start, p.prefix, head = last.Start, last.Text(text), last.Start
		case last.Kind != sqlscan.Sign && last.Kind != sqlscan.Comment:
			p.behind = true
		}
	}
	p.add(begin, head)
	p.before = len(p.tokens)
	p.add(rest, end)
	return p
}

// add adds the tokens of a part of the text, but for comments.
func (p *place) add(begin, end int) {
	for _, t := range sqlscan.Scan(p.text[begin:max(begin, end)]) {
		if t.Kind != sqlscan.Comment {
			t.Start, t.End = t.Start+begin, t.End+begin
			p.tokens = append(p.tokens, t)
		}
	}
}

// statementAt returns the statement around a byte of a text: between semicolons.
func statementAt(text string, cursor int) (begin, end int) {
	for {
		length := sqlscan.StatementEnd(text[begin:])
		if length < 0 {
			return begin, len(text)
		}
		if begin+length > cursor {
			return begin, begin + length - 1
		}
		begin += length
	}
}

// back returns the n-th token before the place in upper case, or "".
func (p *place) back(n int) string {
	i := p.before - n
	if i < 0 {
		return ""
	}
	t := p.tokens[i]
	if t.Kind != sqlscan.Word && t.Kind != sqlscan.Sign {
		return "?"
	}
	return strings.ToUpper(t.Text(p.text))
}
