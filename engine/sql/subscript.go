//go:build cgo

package sql

import (
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/mpga/mpga/internal/expr"
)

// subscripts puts parentheses around strings and calls before a [, where PostgreSQL takes none without them, and marks
// the colons between two places.
func (s *script) subscripts() {
	for i, t := range s.tokens {
		if t.Token != pg.Token_ASCII_91 || s.token(i+1).Token == pg.Token_ASCII_93 {
			continue
		}
		first := i - 1
		switch s.token(first).Token {
		case pg.Token_SCONST:
		case pg.Token_ASCII_41:
			if first = s.opening(first) - 1; !s.isCalled(first) {
				first = -1
			}
		case pg.Token_ASCII_93, pg.Token_IDENT:
			first = -1
		default:
			if kind := s.token(first).KeywordKind; kind == pg.KeywordKind_NO_KEYWORD || kind == pg.KeywordKind_RESERVED_KEYWORD {
				continue
			}
			first = -1 // a column that is named as a word of SQL
		}
		if first >= 0 {
			s.inserted[int(s.tokens[first].Start)] += "("
			s.inserted[int(t.Start)] += ")"
		}
		s.markColon(i)
	}
}

// opening returns the index of the parenthesis that the one at an index closes, or -1.
func (s *script) opening(i int) int {
	for depth := 0; i >= 0; i-- {
		switch s.tokens[i].Token {
		case pg.Token_ASCII_41:
			depth++
		case pg.Token_ASCII_40:
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// isCalled says whether the token at an index is the name of a function before its parenthesis.
func (s *script) isCalled(i int) bool {
	t := s.token(i)
	if i < 0 || s.token(i-1).Token == pg.Token_TYPECAST || slices.Contains(beforeOperand, strings.ToLower(s.word(t))) {
		return false
	}
	return t.Token == pg.Token_IDENT || t.Token == pg.Token_CAST ||
		t.KeywordKind != pg.KeywordKind_NO_KEYWORD && t.KeywordKind != pg.KeywordKind_RESERVED_KEYWORD
}

// beforeOperand are the words before an operand that PostgreSQL takes for names in other places.
var beforeOperand = []string{"by", "between", "escape", "glob", "ilike", "is", "like", "set", "to", "values"}

// markColon marks the colon between the places of the subscript that begins at an index.
func (s *script) markColon(i int) {
	for depth := 0; i < len(s.tokens); i++ {
		switch s.tokens[i].Token {
		case pg.Token_ASCII_91, pg.Token_ASCII_40, tokenOpenBrace:
			depth++
		case pg.Token_ASCII_93, pg.Token_ASCII_41, tokenCloseBrace:
			if depth--; depth == 0 {
				return
			}
		case pg.Token_ASCII_58:
			if depth == 1 {
				s.marks[int(s.tokens[i].Start)] = markColon
			}
		}
	}
}

// element reads s[i] and s[from:to], which count characters.
func (p *statements) element(x *expr.Expr, index *pg.A_Indices) *expr.Expr {
	if !index.GetIsSlice() {
		p.take(index, "uidx")
		return callAt(x.At, "array_extract", x, p.expr(index.GetUidx()))
	}
	p.take(index, "is_slice", "lidx", "uidx")
	from, to := p.optional(index.GetLidx()), p.optional(index.GetUidx())
	if from == nil {
		from = expr.Constant(int64(1))
	}
	if to == nil {
		to = expr.Constant(int64(-1))
	}
	return callAt(x.At, "array_slice", x, from, to)
}
