//go:build cgo

package sql

import (
	"slices"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/mpga/mpga/internal/expr"
)

// limitEnds are the tokens that may stand behind LIMIT n%.
var limitEnds = []pg.Token{0, pg.Token_OFFSET, pg.Token_ASCII_59}

// sharedLimit returns the index of the % or PERCENT that ends LIMIT, whose index is i, and -1 where it has none. In
// PostgreSQL's grammar no expression ends in a sign.
func (s *script) sharedLimit(i int) int {
	depth := 0
	for at := i + 1; at < len(s.tokens); at++ {
		next := s.token(at + 1).Token
		switch s.tokens[at].Token {
		case pg.Token_LIMIT, pg.Token_OFFSET, pg.Token_ASCII_59:
			return -1
		case pg.Token_ASCII_40, pg.Token_ASCII_91:
			depth++
		case pg.Token_ASCII_41, pg.Token_ASCII_93:
			if depth--; depth < 0 {
				return -1
			}
		case pg.Token_ASCII_37, pg.Token_IDENT:
			isSign := s.tokens[at].Token == pg.Token_ASCII_37 || s.isWord(at, "percent")
			if depth == 0 && at > i+1 && isSign && (slices.Contains(limitEnds, next) || next == pg.Token_ASCII_41) {
				return at
			}
		}
	}
	return -1
}

// limit reads what stands behind LIMIT: a number of rows, or a share of them in percent.
func (p *statements) limit(node *pg.Node) *expr.Expr {
	call := node.GetFuncCall()
	if call == nil || len(call.GetFuncname()) != 1 || lastName(call.GetFuncname()) != ShareCall ||
		len(call.GetArgs()) != 1 {
		return p.optional(node)
	}
	p.take(call, "funcname", "args")
	x := p.expr(call.GetArgs()[0])
	return &expr.Expr{Op: expr.OpCall, Name: ShareCall, Args: []*expr.Expr{x}, At: x.At}
}
