//go:build cgo

package sql

import (
	"slices"
	"strconv"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/mpga/mpga/internal/expr"
)

// A name before its item, or before its table, is parsed behind it:
//
//	SELECT n: a + 1 FROM t          SELECT a + 1 AS n FROM t
//	FROM r(i): range(3)             FROM range(3) AS r(i)

// clauseAt says which list of a statement a token stands in.
type clauseAt int

const (
	elsewhere clauseAt = iota
	inItems            // behind SELECT
	inTables           // behind FROM
)

// prefixed is a name before what it names: the tokens of the name, which are parsed before the token at an index.
type prefixed struct {
	name []*pg.ScanToken
	end  int
}

// prefixAliases puts names that stand before an item or a table, with a colon between, behind it.
func (s *script) prefixAliases() {
	if !slices.ContainsFunc(s.tokens, func(t *pg.ScanToken) bool { return t.Token == pg.Token_ASCII_58 }) {
		return
	}
	s.pair()
	var open []prefixed // the last ends first
	var kept []*pg.ScanToken
	levels := []clauseAt{elsewhere}
	for i := 0; i <= len(s.tokens); i++ {
		for last := len(open) - 1; last >= 0 && open[last].end <= i; last-- {
			kept, open = append(kept, open[last].name...), open[:last]
		}
		if i == len(s.tokens) {
			break
		}
		if colon := s.prefixColon(i, levels[len(levels)-1]); colon > 0 {
			s.inserted[int(s.tokens[i].Start)] = "AS "
			end := s.namedEnd(colon+1, levels[len(levels)-1])
			open = append(open, prefixed{s.tokens[i:colon], end})
			if s.tokens[i].Token == pg.Token_SCONST {
				s.quotedAlias(i)
			}
			i = colon
			continue
		}
		levels = s.clauseBehind(levels, i)
		kept = append(kept, s.tokens[i])
	}
	s.tokens = kept
	for i, t := range s.tokens {
		s.at[t.Start] = i
	}
}

// clauseBehind returns the lists that what stands behind the token at an index is in, by the depth of brackets.
func (s *script) clauseBehind(levels []clauseAt, i int) []clauseAt {
	last := len(levels) - 1
	switch t := s.tokens[i].Token; {
	case t == pg.Token_ASCII_40, t == pg.Token_ASCII_91, t == tokenOpenBrace:
		inner := elsewhere
		if levels[last] == inTables && slices.Contains(beforeTable, s.token(i-1).Token) {
			inner = inTables // FROM (a: t JOIN u ON true)
		}
		return append(levels, inner)
	case (t == pg.Token_ASCII_41 || t == pg.Token_ASCII_93 || t == tokenCloseBrace) && last > 0:
		return levels[:last]
	case t == pg.Token_SELECT:
		levels[last] = inItems
	case t == pg.Token_FROM && s.token(i-1).Token != pg.Token_DISTINCT:
		levels[last] = inTables
	case slices.Contains(behindItems, t):
		levels[last] = elsewhere
	}
	return levels
}

// prefixColon returns the index of the colon behind a name that begins at an index and stands before what it names; 0
// where no name does.
func (s *script) prefixColon(i int, in clauseAt) int {
	t, before := s.tokens[i], s.token(i-1).Token
	if in == elsewhere || !isName(t) && t.Token != pg.Token_SCONST {
		return 0
	}
	colon := i + 1
	switch {
	case before == pg.Token_ASCII_44:
	case in == inItems:
		if t.Token == pg.Token_SCONST || before != pg.Token_SELECT && before != pg.Token_DISTINCT {
			return 0
		}
	case !slices.Contains(beforeTable, before):
		return 0
	}
	if in == inTables && s.token(colon).Token == pg.Token_ASCII_40 {
		colon = s.partner(colon) + 1
	}
	if s.token(colon).Token != pg.Token_ASCII_58 {
		return 0
	}
	return colon
}

// namedEnd returns the index behind the item or the table that begins at an index.
func (s *script) namedEnd(i int, in clauseAt) int {
	for k := i; k < len(s.tokens); k++ {
		switch t := s.tokens[k].Token; {
		case t == pg.Token_ASCII_40, t == pg.Token_ASCII_91, t == tokenOpenBrace:
			if k = s.partner(k); in == inTables {
				return k + 1
			}
		case t == pg.Token_ASCII_44, t == pg.Token_ASCII_41, t == pg.Token_ASCII_93, t == tokenCloseBrace,
			t == pg.Token_FROM && s.token(k-1).Token != pg.Token_DISTINCT, slices.Contains(behindItems, t),
			slices.Contains(setTokens, t):
			return k
		case in == inTables && k > i && t != pg.Token_ASCII_46 && s.token(k-1).Token != pg.Token_ASCII_46:
			return k
		}
	}
	return len(s.tokens)
}

// quotedAlias notes that the string at an index is parsed as a name.
func (s *script) quotedAlias(i int) {
	s.swapped[int(s.tokens[i].Start)] = s.quotedName(i)
}

// quotedName returns the string at an index as a name in double quotes.
func (s *script) quotedName(i int) string {
	return `"` + strings.ReplaceAll(s.name(s.tokens[i]), `"`, `""`) + `"`
}

// markPlace marks the number of a column, #1, which is parsed as a name.
const markPlace = "#"

// numberPlaces makes # and a number behind it one token.
func (s *script) numberPlaces() {
	kept := s.tokens[:0]
	for i := 0; i < len(s.tokens); i++ {
		t, next := s.tokens[i], s.token(i+1)
		s.at[t.Start] = len(kept)
		if kept = append(kept, t); s.word(t) == "#" && next.Token == pg.Token_ICONST && next.Start == t.End {
			kept[len(kept)-1] = &pg.ScanToken{Start: t.Start, End: next.End, Token: pg.Token_IDENT}
			s.marks[int(t.Start)] = markPlace
			i++
		}
	}
	s.tokens = kept
}

// placed returns the column of a number, #1, that stands at a place; nil of other columns.
func (p *statements) placed(at int) *expr.Expr {
	if p.marks[at] != markPlace {
		return nil
	}
	name := p.word(p.tokens[p.at[int32(at)]])
	n, err := strconv.ParseInt(name[1:], 10, 64)
	if err != nil || n < 1 {
		p.fail(at, "%s: columns are numbered from #1 on", name)
	}
	return &expr.Expr{Op: expr.OpColumn, Name: name, Value: n, At: at}
}
