//go:build cgo

package sql

import (
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/mpga/mpga/internal/expr"
)

// isColumns says whether COLUMNS( begins at an index.
func (s *script) isColumns(i int) bool {
	return s.isWord(i, ColumnsCall) && s.token(i-1).Token != pg.Token_ASCII_46 && s.token(i+1).Token == pg.Token_ASCII_40
}

// inColumns says whether a name in parts, whose last part is at an index, stands behind COLUMNS(.
func (s *script) inColumns(i int) bool {
	for s.token(i-1).Token == pg.Token_ASCII_46 {
		i -= 2
	}
	return s.token(i-1).Token == pg.Token_ASCII_40 && s.isColumns(i-2)
}

// refuseColumns notes the error of what DuckDB has of COLUMNS and mpga has not, and PostgreSQL's parser does not read.
func (s *script) refuseColumns(i int) {
	switch before := s.token(i - 1).Token; {
	case s.failed != nil:
	case before == pg.Token_ASCII_42 && isStarItem(s.token(i-2).Token):
		const star = "not supported: *COLUMNS, a list of arguments; name the columns"
		s.failed = errorAt(s.text, int(s.token(i-1).Start), star)
	case s.isWord(i+2, "lambda") && isName(s.token(i+3)):
		const lambda = "not supported: COLUMNS of a lambda; want a regular expression, names in [...], or * EXCLUDE (...)"
		s.failed = errorAt(s.text, int(s.token(i+2).Start), lambda)
	}
}

// isStarItem says whether a * behind a token stands for columns.
func isStarItem(before pg.Token) bool {
	switch before {
	case pg.Token_SELECT, pg.Token_ASCII_44, pg.Token_ASCII_46, pg.Token_DISTINCT, pg.Token_ASCII_40:
		return true
	}
	return false
}

// columnsCall reads COLUMNS(...).
func (p *statements) columnsCall(call *pg.FuncCall) *expr.Expr {
	if call.GetAggStar() {
		p.take(call, "funcname", "agg_star")
	} else {
		p.take(call, "funcname", "args")
	}
	at := p.offset(call.GetLocation())
	of := &Columns{}
	star := func() {
		of.IsStar, of.Star.At = true, at
		if starred := p.starOf(at); starred != nil {
			made := starred.Star
			of.Star.Star = &made
		}
	}
	args := call.GetArgs()
	switch {
	case call.GetAggStar():
		star()
	case len(args) != 1:
		p.fail(at, "COLUMNS takes one argument, not %d", len(args))
	case args[0].GetColumnRef() != nil:
		fields := args[0].GetColumnRef().GetFields()
		if last := len(fields) - 1; fields[last].GetAStar() == nil {
			p.failColumns(at)
		}
		p.take(args[0].GetColumnRef(), "fields")
		of.Star.Of = words(fields[:len(fields)-1])
		star()
	case args[0].GetAArrayExpr() != nil:
		list := args[0].GetAArrayExpr()
		p.take(list, "elements")
		for _, x := range p.exprs(list.GetElements()) {
			name, ok := x.Value.(string)
			if !ok || x.Op != expr.OpConstant {
				p.failColumns(at)
			}
			of.Names = append(of.Names, name)
		}
		if of.Names == nil {
			p.failColumns(at)
		}
	default:
		x := p.expr(args[0])
		pattern, ok := x.Value.(string)
		if !ok || x.Op != expr.OpConstant {
			p.failColumns(at)
		}
		of.Pattern = pattern
	}
	return &expr.Expr{Op: expr.OpCall, Name: ColumnsCall, Value: of, At: at}
}

func (p *statements) failColumns(at int) {
	const text = "not supported: this COLUMNS; want COLUMNS('regular expression'), COLUMNS(['name', ...]) or " +
		"COLUMNS(* EXCLUDE (...))"
	p.fail(at, text)
}

// columnsReplaced refuses REPLACE in COLUMNS.
func (s *script) columnsReplaced(i int) {
	if s.failed == nil {
		const instead = "not supported: REPLACE in COLUMNS; want it in a statement behind FROM"
		s.failed = errorAt(s.text, int(s.token(i).Start), instead)
	}
}

// isColumnsName says whether a function is COLUMNS.
func isColumnsName(call *pg.FuncCall) bool {
	return len(call.GetFuncname()) == 1 && strings.EqualFold(lastName(call.GetFuncname()), ColumnsCall)
}
