//go:build cgo

package sql

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
	"github.com/pganalyze/pg_query_go/v6/parser"

	"github.com/mpga/mpga/internal/nearest"
)

// clauses are the clauses of a SELECT in their order, by their first words.
var clauses = []struct {
	token pg.Token
	name  string
}{
	{pg.Token_SELECT, "SELECT"}, {pg.Token_FROM, "FROM"}, {pg.Token_WHERE, "WHERE"}, {pg.Token_GROUP_P, "GROUP BY"},
	{pg.Token_HAVING, "HAVING"}, {pg.Token_WINDOW, "WINDOW"}, {pg.Token_ORDER, "ORDER BY"}, {pg.Token_LIMIT, "LIMIT"},
}

// clauseOf returns the place of a token in clauses, or -1.
func clauseOf(t *pg.ScanToken) int {
	for i, c := range clauses {
		if c.token == t.Token {
			return i
		}
	}
	return -1
}

var (
	statementWords = []string{"SELECT", "WITH", "FROM", "VALUES", "DESCRIBE", "SUMMARIZE", "EXPLAIN", "SHOW", "CREATE",
		"DROP", "COPY", "PIVOT", "UNPIVOT", "TABLE"}
	clauseWords = []string{"FROM", "WHERE", "GROUP", "HAVING", "WINDOW", "QUALIFY", "ORDER", "LIMIT", "UNION",
		"EXCEPT", "INTERSECT", "JOIN", "ON", "USING"}
	orderWords = []string{"ASC", "DESC", "NULLS"}
)

// syntaxError says what the parser found, where, and what may be meant.
func (s *script) syntaxError(err error) error {
	var parseErr *parser.Error
	if !errors.As(err, &parseErr) {
		return errorAt(s.text, 0, "the SQL parser: %v", err) // its answer could not be read
	}
	// The message repeats the rest of the text, which the caret shows better.
	message, _, _ := strings.Cut(parseErr.Message, " at or near ")
	at := s.offset(int32(byteOfRune(s.parsed, parseErr.Cursorpos-1)))
	i, ok := s.at[int32(at)]
	if at >= int(s.tokens[len(s.tokens)-1].End) {
		i = len(s.tokens)
	} else if before := s.token(i - 1); ok && before.KeywordKind == pg.KeywordKind_RESERVED_KEYWORD {
		// The word before is meant.
		if list := s.token(i - 2).Token; list == pg.Token_SELECT || list == pg.Token_ASCII_44 {
			i, at = i-1, int(before.Start)
		}
	}
	if offer := offerFile(s.text, at); offer != "" || message != "syntax error" && i < len(s.tokens) {
		return errorAt(s.text, at, "%s", message+offer)
	}
	if !ok && i < len(s.tokens) {
		return errorAt(s.text, at, "%s", message)
	}
	place, why := s.meant(i)
	if place < len(s.tokens) {
		at = int(s.tokens[place].Start)
	}
	return errorAt(s.text, at, "%s", message+why)
}

// meant says why a token, or the end of the text, may stand at a wrong place, and which token is to blame.
func (s *script) meant(i int) (place int, why string) {
	t, word := s.token(i), s.word(s.token(i))
	clause, before := clauseOf(t), s.clausesBefore(i)
	if open := s.opened(i + 1); open >= 0 && (i == len(s.tokens) || clause >= 0 || open == i ||
		s.token(i-1).Token == pg.Token_SELECT) { // which is the name of what stands before it
		return open, ": " + map[pg.Token]string{
			pg.Token_ASCII_40: "this parenthesis is open", pg.Token_ASCII_91: "this bracket is open",
			pg.Token_CASE: "CASE wants END",
		}[s.tokens[open].Token]
	}
	if i == len(s.tokens) {
		return i, ""
	}
	last := -1
	if len(before) > 0 {
		last = before[len(before)-1]
	}
	switch previous := s.token(i - 1); {
	case i == 0:
		if near := nearest.Offer(word, statementWords); near != "" {
			return i, near
		}
		return i, ": a statement begins with SELECT, FROM, WITH and the like"
	case t.Token == pg.Token_ASCII_41 && !s.hasOpen(i):
		return i, ": this parenthesis closes nothing"
	case (previous.Token == pg.Token_GROUP_P || previous.Token == pg.Token_ORDER) && t.Token != pg.Token_BY:
		return i, fmt.Sprintf(": BY stands behind %s", strings.ToUpper(s.word(previous)))
	case clause > 0 && slices.Contains(before, clause):
		return i, fmt.Sprintf(": %s stands twice", clauses[clause].name)
	case clause > 0 && clause < last:
		return i, fmt.Sprintf(": %s stands before %s", clauses[clause].name, clauses[last].name)
	case isSetWord(t) && last >= clauseOf(&pg.ScanToken{Token: pg.Token_ORDER}):
		return i, ": " + word + " stands before ORDER BY and LIMIT, or behind a SELECT in parentheses that has them"
	case last >= 0 && clauses[last].token == pg.Token_ORDER && isKeyless(t):
		return i, ": " + word + " is not expected behind a key of ORDER BY" + offerOrder(word)
	case t.Token == pg.Token_UNION && (previous.Token == pg.Token_TYPECAST || previous.Token == pg.Token_AS):
		return i, ": the type UNION is not supported"
	case t.KeywordKind == pg.KeywordKind_RESERVED_KEYWORD:
		return i, fmt.Sprintf(": %s is a word of SQL; a column of that name is written \"%[1]s\"", word)
	case t.Token == pg.Token_ICONST && previous.Token == pg.Token_IDENT && strings.EqualFold(s.word(previous), "top"):
		return i, ": the first rows are asked for by LIMIT " + word + " at the end"
	}
	why = ": " + word + " is not expected here"
	if previous := s.token(i - 1); previous.Token == pg.Token_IDENT {
		if near := nearest.Names(s.word(previous), clauseWords); len(near) > 0 {
			return i, why + "; did you mean " + near[0] + " by " + s.word(previous) + "?"
		}
	}
	if t.Token != pg.Token_IDENT && t.KeywordKind == pg.KeywordKind_NO_KEYWORD {
		return i, ""
	}
	if last == 0 && t.Token == pg.Token_IDENT {
		why += "; a comma may be missing before it"
	}
	return i, why
}

// isSetWord says whether a token stands between two SELECTs.
func isSetWord(t *pg.ScanToken) bool {
	return t.Token == pg.Token_UNION || t.Token == pg.Token_INTERSECT || t.Token == pg.Token_EXCEPT
}

// isKeyless says whether a token is a word that has no place behind a key of ORDER BY: a name, or an order once more.
func isKeyless(t *pg.ScanToken) bool {
	return t.Token == pg.Token_IDENT || t.Token == pg.Token_ASC || t.Token == pg.Token_DESC
}

// offerOrder says what may stand behind a key of ORDER BY in place of a word.
func offerOrder(word string) string {
	for _, order := range orderWords {
		if strings.HasPrefix(order, strings.ToUpper(word)) {
			return "; did you mean " + order + "?"
		}
	}
	if near := nearest.Offer(word, orderWords); near != "" {
		return near
	}
	return "; want ASC, DESC, NULLS FIRST, NULLS LAST or a comma"
}

// opened returns the last parenthesis, bracket or CASE before a token that nothing closes, in all the text, or -1.
func (s *script) opened(before int) int {
	var open []int
	for i, t := range s.tokens {
		switch t.Token {
		case pg.Token_ASCII_40, pg.Token_ASCII_91, pg.Token_CASE:
			open = append(open, i)
		case pg.Token_ASCII_41, pg.Token_ASCII_93, pg.Token_END_P:
			open = open[:max(len(open)-1, 0)]
		}
	}
	for i := len(open) - 1; i >= 0; i-- {
		if open[i] < before {
			return open[i]
		}
	}
	return -1
}

// hasOpen says whether a parenthesis is open before a token.
func (s *script) hasOpen(i int) bool {
	depth := 0
	for _, t := range s.tokens[:i] {
		switch {
		case t.Token == pg.Token_ASCII_40:
			depth++
		case t.Token == pg.Token_ASCII_41 && depth > 0:
			depth--
		}
	}
	return depth > 0
}

// clausesBefore returns which clauses the SELECT around a token has before it.
func (s *script) clausesBefore(i int) (found []int) {
	depth := 0
	for i--; i >= 0; i-- {
		switch t := s.tokens[i]; {
		case t.Token == pg.Token_ASCII_41:
			depth++
		case t.Token == pg.Token_ASCII_40 && depth == 0:
			return found
		case t.Token == pg.Token_ASCII_40:
			depth--
		case depth > 0 || t.Token == pg.Token_FROM && s.token(i-1).Token == pg.Token_DISTINCT:
		case isSetWord(t):
			return found
		case clauseOf(t) >= 0:
			found = slices.Insert(found, 0, clauseOf(t))
		}
	}
	return found
}
