//go:build cgo

package sql

import (
	"slices"
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

// columnsWords notes what PostgreSQL's parser does not read of COLUMNS: a * before it, and LAMBDA within. It returns
// how many tokens from index i on are left out.
func (s *script) columnsWords(i int) (left int) {
	switch {
	case s.isColumns(i) && s.token(i-1).Token == pg.Token_ASCII_42 && isStarItem(s.token(i-2).Token):
		s.marks[int(s.tokens[i].Start)] = markUnpacked
	case s.isColumns(i-2) && s.token(i-1).Token == pg.Token_ASCII_40 && s.isWord(i, "lambda") && isName(s.token(i+1)) &&
		s.token(i+2).Token == pg.Token_ASCII_58:
		s.lambdas[int(s.tokens[i-2].Start)] = true
		return 1
	case s.tokens[i].Token == pg.Token_ASCII_42 && s.isColumns(i+1) && isStarItem(s.token(i-1).Token):
		return 1
	}
	return 0
}

// likeWords are the words that may stand between a * and a pattern of names.
var likeWords = []string{"like", "ilike", "not", "similar", "to", "glob"}

// starName stands for the name of a column in the condition that * LIKE is parsed as.
const starName = "name of a column"

// starLike returns what is parsed in place of * LIKE 'pattern': COLUMNS of a condition on the names; "" of other texts.
func (s *script) starLike(i int) (text string, taken int) {
	if !isStarItem(s.token(i-1).Token) || s.token(i-1).Token == pg.Token_ASCII_40 ||
		s.token(i-1).Token == pg.Token_ASCII_46 {
		return "", 0
	}
	next := i + 1
	for slices.ContainsFunc(likeWords, func(word string) bool { return s.isWord(next, word) }) {
		text += s.word(s.token(next)) + " "
		next++
	}
	if next == i+1 || s.token(next).Token != pg.Token_SCONST {
		return "", 0
	}
	s.lambdas[int(s.tokens[i].Start)] = true
	return ColumnsCall + "('" + starName + "', '" + starName + "' " + text + s.word(s.token(next)) + ")", next + 1 - i
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
	of.Unpacked = p.marks[at] == markUnpacked
	args := call.GetArgs()
	switch {
	case call.GetAggStar():
		star()
	case p.lambdas[at] && len(args) == 2 && args[0].GetAConst().GetSval().GetSval() == starName:
		p.take(args[0].GetAConst(), "sval")
		of.Parameter = starName
		of.Condition = p.expr(args[1]).Replace(func(x *expr.Expr) *expr.Expr {
			if x.Op == expr.OpConstant && x.Value == starName {
				return expr.Column(starName)
			}
			return nil
		})
	case p.lambdas[at] && len(args) == 2 && args[0].GetColumnRef() != nil:
		of.Parameter, of.Condition = p.columnRef(args[0].GetColumnRef()).Name, p.expr(args[1])
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
