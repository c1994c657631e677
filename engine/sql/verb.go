//go:build cgo

package sql

import (
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// verbs are the verbs by the words that they are written as, in lower case.
var verbs = map[string]Verb{
	"describe": Describe, "desc": Describe, "show": Describe, "summarize": Summarize, "explain": Explain,
}

// readVerb finds the verb in front of the statement, which PostgreSQL's parser is not told of. L3.
func (s *script) readVerb() error {
	verb := verbs[strings.ToLower(s.word(s.tokens[0]))]
	if verb == "" {
		return nil
	}
	s.verb, s.verbWords = verb, 1
	if verb == Explain && s.isWord(1, "analyze") {
		s.verb, s.verbWords = ExplainAnalyze, 2
	}
	next := s.token(s.verbWords)
	switch {
	case startsStatement(next.Token), s.marks[int(next.Start)] == markPivot:
		return nil
	case verb == Explain:
		return errorAt(s.text, int(next.Start), "not supported: %s of this; want a SELECT", s.verb)
	case next.Token == 0 || next.Token == pg.Token_ASCII_59:
		return errorAt(s.text, int(next.Start), "%s of what? want a table, a file in single quotes, or a SELECT", verb)
	case next.Token == pg.Token_TABLE:
		s.of = 2
	default:
		s.of = 1
	}
	return nil
}

// startsStatement says whether a token may be the first of a SELECT.
func startsStatement(t pg.Token) bool {
	return slices.Contains([]pg.Token{pg.Token_SELECT, pg.Token_FROM, pg.Token_VALUES, pg.Token_WITH, pg.Token_WITH_LA,
		pg.Token_ASCII_40}, t)
}

// withoutVerb returns the text to parse in place of the verb, and how many tokens it replaces: the
// head of a SELECT where the verb stands before a table.
func (s *script) withoutVerb() (text string, taken int) {
	if s.of > 0 {
		return "SELECT * FROM ", s.of
	}
	return " ", s.verbWords
}
