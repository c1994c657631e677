//go:build cgo

package sql

import (
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// A verb may stand behind FROM, in parentheses. It is parsed as a statement whose only item is marked:
//
//	FROM (DESCRIBE t)           FROM (SELECT 0 FROM t)
//	FROM (SUMMARIZE SELECT a)   FROM (SELECT 0 FROM (SELECT a))
//	FROM (SHOW TABLES)          FROM (SELECT 0)

// bareValues puts parentheses around VALUES that stands behind FROM without them.
func (s *script) bareValues() {
	inFrom := []bool{false} // of what stands between parentheses
	for i, t := range s.tokens {
		top := len(inFrom) - 1
		switch t.Token {
		case pg.Token_ASCII_40:
			inFrom = append(inFrom, false)
		case pg.Token_ASCII_41:
			inFrom = inFrom[:max(top, 1)]
		case pg.Token_FROM:
			inFrom[top] = true
		case pg.Token_SELECT, pg.Token_WHERE, pg.Token_GROUP_P, pg.Token_ORDER, pg.Token_WINDOW:
			inFrom[top] = false
		}
		if t.Token != pg.Token_VALUES || !inFrom[top] || !s.isTablePlace(i) {
			continue
		}
		last := i // the parenthesis that closes the last row
		for row := i + 1; s.token(row).Token == pg.Token_ASCII_40 && !startsStatement(s.token(row+1).Token); row = last + 2 {
			if last = s.partner(row); s.token(last+1).Token != pg.Token_ASCII_44 {
				break
			}
		}
		if closes := int(s.token(last).Start); last > i && last < len(s.tokens) {
			s.open(i, last+1, "(")
			s.inserted[closes] = ")" + s.inserted[closes]
		}
	}
}

// nestedVerbs finds the verbs behind FROM.
func (s *script) nestedVerbs() {
	for i := range s.tokens {
		open := s.token(i - 1)
		isInFrom := slices.Contains(beforeTable, s.token(i-2).Token) || s.opensWith(i-2)
		if open.Token != pg.Token_ASCII_40 || !isInFrom {
			continue
		}
		t, next := s.tokens[i], s.token(i+1)
		switch verb := verbs[strings.ToLower(s.word(t))]; {
		case s.isWord(i, "show") && s.isWord(i+1, "tables") && s.token(i+2).Token == pg.Token_ASCII_41:
			s.markVerb(t, showTables)
		case verb != Describe && verb != Summarize:
		case startsStatement(next.Token):
			if end := s.closing(i); end >= 0 {
				s.markVerb(t, "0 FROM (")
				s.inserted[int(s.tokens[end].Start)] += ")"
			}
		case (isName(next) || next.Token == pg.Token_SCONST) && s.isTableAlone(i+1):
			s.markVerb(t, "0 FROM ")
			if next.Token == pg.Token_SCONST {
				s.files[int(next.Start)] = true
			}
		}
	}
}

// showTables is what is parsed in place of SHOW TABLES.
const showTables = "0"

// opensWith says whether the token at an index stands between a name of WITH and its statement.
func (s *script) opensWith(i int) bool {
	return s.token(i).Token == pg.Token_AS || s.token(i).Token == pg.Token_MATERIALIZED
}

// markVerb notes what is parsed in place of a verb behind FROM.
func (s *script) markVerb(t *pg.ScanToken, text string) {
	at := int(t.Start)
	s.marks[at], s.verbsWithin[at] = markVerb, text
	s.inserted[at] += "SELECT "
}

// closing returns the index of the parenthesis that closes the one before an index; -1 of none.
func (s *script) closing(i int) int {
	depth := 1
	for ; i < len(s.tokens); i++ {
		switch s.tokens[i].Token {
		case pg.Token_ASCII_40:
			depth++
		case pg.Token_ASCII_41:
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// isTableAlone says whether a table's name, in parts perhaps, or a string begins at an index, and a parenthesis closes
// behind it.
func (s *script) isTableAlone(i int) bool {
	for i++; s.token(i).Token == pg.Token_ASCII_46; i += 2 {
	}
	return s.token(i).Token == pg.Token_ASCII_41
}

// about takes the item that stands for a verb behind FROM, and puts what the verb tells there.
func (p *statements) about(s *Select) {
	if len(s.Items) == 0 || s.Items[0].Expr == nil || p.marks[s.Items[0].At] != markVerb {
		return
	}
	at := s.Items[0].At
	if len(s.Items) != 1 || s.Items[0].Name != "" || s.Items[0].Expr.Value != int64(0) {
		p.fail(at, "not supported: this %s behind FROM", strings.ToUpper(p.word(p.tokens[p.at[int32(at)]])))
	}
	s.Items = []Item{{}}
	if s.From == nil {
		s.From = &TableList{}
		return
	}
	verb := verbs[strings.ToLower(p.word(p.tokens[p.at[int32(at)]]))]
	of := &Select{Text: p.text, Items: []Item{{}}, From: s.From}
	if d, ok := s.From.(*Derived); ok && d.With == nil {
		of = d.Query
	}
	s.From = &About{At: at, Verb: verb, Query: of}
}
