//go:build cgo

package sql

import (
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
)

// selectFirst puts SELECT before FROM where a statement begins with FROM, as PostgreSQL has it: FROM t SELECT a is
// SELECT a FROM t, and FROM t is SELECT * FROM t.
func (s *script) selectFirst() {
	if !slices.ContainsFunc(s.tokens, func(t *pg.ScanToken) bool { return t.Token == pg.Token_FROM }) {
		return
	}
	stack := []*segment{{from: -1, selected: -1, end: -1}}
	for i, t := range s.tokens {
		top := stack[len(stack)-1]
		switch {
		case t.Token == pg.Token_ASCII_41 && len(stack) > 1:
			top.finish(s)
			stack = stack[:len(stack)-1]
			below := stack[len(stack)-1]
			below.tokens = append(below.tokens, top.done...)
			below.tokens = append(below.tokens, t)
			continue
		case slices.Contains(setTokens, t.Token):
			top.finish(s)
			top.done = append(top.done, t)
			continue
		case !top.begun && !isBeforeStatement(t, s, i):
			top.begun = true
			top.isStatement = t.Token == pg.Token_FROM || t.Token == pg.Token_WITH || t.Token == pg.Token_WITH_LA
		}
		top.note(s, i)
		top.tokens = append(top.tokens, t)
		if t.Token == pg.Token_ASCII_40 {
			inCall := slices.Contains(takeFrom, s.token(i-1).Token)
			stack = append(stack, &segment{from: -1, selected: -1, end: -1, begun: inCall})
		}
	}
	for len(stack) > 1 { // parentheses that are open: an error of the parser
		top := stack[len(stack)-1]
		top.finish(s)
		stack = stack[:len(stack)-1]
		below := stack[len(stack)-1]
		below.tokens = append(below.tokens, top.done...)
	}
	stack[0].finish(s)
	s.tokens = stack[0].done
	for i, t := range s.tokens {
		s.at[t.Start] = i
	}
}

// isBeforeStatement says whether a token may stand before the first word of a statement.
func isBeforeStatement(t *pg.ScanToken, s *script, i int) bool {
	return t.Token == pg.Token_ALL || t.Token == pg.Token_BY || s.isWord(i, "name") && s.token(i-1).Token == pg.Token_BY ||
		i < 2 && (verbs[strings.ToLower(s.word(t))] != "" || s.isWord(i, "analyze"))
}

// segment is the tokens of a statement between parentheses, or words of set operations.
type segment struct {
	done        []*pg.ScanToken // of statements before
	tokens      []*pg.ScanToken // with the tokens of what is between parentheses
	begun       bool            // its first word has been seen
	isStatement bool            // it begins with FROM or WITH

	from, selected, end int // where FROM, SELECT and what stands behind the items begin, in tokens; -1 of none
}

// behindItems are the tokens that may stand behind the items of a statement that begins with FROM.
var behindItems = []pg.Token{pg.Token_WHERE, pg.Token_GROUP_P, pg.Token_HAVING, pg.Token_ORDER, pg.Token_LIMIT,
	pg.Token_OFFSET, pg.Token_FETCH, pg.Token_WINDOW, pg.Token_ASCII_59}

// note notes where a clause begins.
func (g *segment) note(s *script, i int) {
	at := len(g.tokens)
	switch t := s.tokens[i].Token; {
	case !g.isStatement:
	case t == pg.Token_FROM && g.from < 0 && g.selected < 0:
		g.from = at
	case t == pg.Token_SELECT && g.selected < 0:
		g.selected = at
	case slices.Contains(behindItems, t) && g.selected >= 0 && g.end < 0:
		g.end = at
	}
}

// finish puts the clauses of the statement in order.
func (g *segment) finish(s *script) {
	if g.end < 0 {
		g.end = len(g.tokens)
	}
	switch {
	case g.from >= 0 && g.selected > g.from:
		g.tokens = slices.Concat(g.tokens[:g.from], g.tokens[g.selected:g.end], g.tokens[g.from:g.selected], g.tokens[g.end:])
	case g.from >= 0 && g.selected < 0:
		s.marks[int(g.tokens[g.from].Start)] = markSelectAll
	}
	*g = segment{done: append(g.done, g.tokens...), from: -1, selected: -1, end: -1}
}
