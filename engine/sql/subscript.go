//go:build cgo

package sql

import (
	"cmp"
	"slices"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/mpga/mpga/internal/expr"
)

// subscripts puts parentheses around strings, calls and nested values before a [, where PostgreSQL takes none without
// them, and marks the colons between two places.
func (s *script) subscripts() {
	for i, t := range s.tokens {
		if t.Token != pg.Token_ASCII_91 || s.opensList(i) || s.token(i+1).Token == pg.Token_ASCII_93 {
			continue
		}
		s.wrapOperand(i)
		s.markColons(i)
	}
}

// isCalled says whether the token at an index is the name of a function before its parenthesis.
func (s *script) isCalled(i int) bool {
	t := s.token(i)
	if i < 0 || s.token(i-1).Token == pg.Token_TYPECAST || slices.Contains(beforeOperand, strings.ToLower(s.word(t))) ||
		t.Token == pg.Token_IF_P && s.swapped[int(t.Start)] != "" { // of a comprehension
		return false
	}
	return t.Token == pg.Token_IDENT || t.Token == pg.Token_CAST ||
		t.KeywordKind != pg.KeywordKind_NO_KEYWORD && t.KeywordKind != pg.KeywordKind_RESERVED_KEYWORD
}

// beforeOperand are the words before an operand that PostgreSQL takes for names in other places.
var beforeOperand = []string{"by", "between", "escape", "glob", "ilike", "is", "like", "set", "to", "values"}

// markColons marks the colon between the places of the subscript that begins at an index, and the one before a step. A
// minus before a colon is a place that is left out.
func (s *script) markColons(i int) {
	end, colons := s.partner(i), 0
	for k := i + 1; k < end; k++ {
		switch t := s.tokens[k]; t.Token {
		case pg.Token_ASCII_40, pg.Token_ASCII_91, tokenOpenBrace:
			k = s.partner(k)
		case pg.Token_TYPECAST:
			if k == i+1 {
				s.swapped[int(t.Start)] = ":" + beforeStep
			}
		case pg.Token_ASCII_45:
			if s.token(k+1).Token == pg.Token_ASCII_58 {
				s.swapped[int(t.Start)] = " "
			}
		case pg.Token_ASCII_58:
			if colons++; colons == 1 {
				s.marks[int(t.Start)] = markColon
			} else {
				s.swapped[int(t.Start)] = beforeStep
			}
		}
	}
}

// beforeStep is the colon before a step.
const beforeStep = "]['" + stepWord + "':"

// element reads s[i] and s[from:to], which count characters, or elements.
func (p *statements) element(x *expr.Expr, index *pg.A_Indices) *expr.Expr {
	if !index.GetIsSlice() {
		p.take(index, "uidx")
		return callAt(x.At, "array_extract", x, p.expr(index.GetUidx()))
	}
	p.take(index, "is_slice", "lidx", "uidx")
	if step := index.GetLidx().GetAConst(); step.GetSval().GetSval() == stepWord && len(x.Args) == 3 {
		p.take(step, "sval")
		by := p.expr(index.GetUidx())
		for i, end := range sliceEnds {
			if x.Args[i+1] == end {
				x.Args[i+1] = backwards(by, end)
			}
		}
		x.Args = append(x.Args, by)
		return x
	}
	from, to := p.optional(index.GetLidx()), p.optional(index.GetUidx())
	return callAt(x.At, "array_slice", x, cmp.Or(from, sliceEnds[0]), cmp.Or(to, sliceEnds[1]))
}

// sliceEnds are the places from and to that a slice has where they are left out.
var sliceEnds = [2]*expr.Expr{expr.Constant(int64(1)), expr.Constant(int64(-1))}

// backwards returns the place that is left out of a slice of a step: the other end where the step is negative.
func backwards(step, end *expr.Expr) *expr.Expr {
	other := expr.Constant(-end.Value.(int64))
	if by, ok := step.Value.(int64); ok && step.Op == expr.OpConstant {
		if by < 0 {
			return other
		}
		return end
	}
	return expr.Call("case", expr.Call("<", step, expr.Constant(int64(0))), other, end)
}
