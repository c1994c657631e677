//go:build cgo

package sql

import (
	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/expr"
)

// subqueryKinds are the kinds of subqueries by the parser's names.
var subqueryKinds = map[pg.SubLinkType]SubqueryKind{
	pg.SubLinkType_EXPR_SUBLINK: ScalarSubquery, pg.SubLinkType_EXISTS_SUBLINK: ExistsSubquery,
	pg.SubLinkType_ANY_SUBLINK: AnySubquery, pg.SubLinkType_ALL_SUBLINK: AllSubquery,
}

// subquery reads a statement within an expression.
func (p *statements) subquery(link *pg.SubLink) *expr.Expr {
	p.take(link, "sub_link_type", "testexpr", "oper_name", "subselect")
	at := p.offset(link.GetLocation())
	if link.GetSubLinkType() == pg.SubLinkType_ARRAY_SUBLINK {
		return p.arrayOfRows(at, link)
	}
	kind, ok := subqueryKinds[link.GetSubLinkType()]
	if !ok {
		p.fail(at, "not supported: this subquery")
	}
	of := &Subquery{Kind: kind, Operator: "="}
	if len(link.GetOperName()) > 0 {
		of.Operator = lastName(link.GetOperName())
		if of.Operator == "!=" {
			of.Operator = "<>"
		}
		if !isComparison(of.Operator) {
			p.fail(at, "not supported: operator %s before ANY and ALL", of.Operator)
		}
	}
	x := &expr.Expr{Op: expr.OpSubquery, Name: string(kind), Value: of, At: at}
	if test := link.GetTestexpr(); test != nil {
		nodes := []*pg.Node{test}
		if row := test.GetRowExpr(); row != nil {
			p.take(row, "args", "row_format")
			nodes = row.GetArgs()
		}
		x.Args = p.exprs(nodes)
	}
	of.Compared = len(x.Args)
	of.Query = p.statement(link.GetSubselect().GetSelectStmt(), p.ctes)
	of.text = p.subqueryText(of, x)
	p.subqueries = append(p.subqueries, of.Query)
	return x
}

// arrayOfRows reads ARRAY(SELECT a ...): the list of the values in the order of the rows, which is empty without rows.
func (p *statements) arrayOfRows(at int, link *pg.SubLink) *expr.Expr {
	rows := p.statement(link.GetSubselect().GetSelectStmt(), p.ctes)
	value := &expr.Expr{Op: expr.OpCall, Name: ColumnsCall, At: at} // of several columns there are several lists
	value.Value = &Columns{IsStar: true, Star: Item{At: at}}
	list := &expr.Expr{Op: expr.OpAggregate, Name: query.List.String(), Args: []*expr.Expr{value}, At: at}
	of := &Subquery{Kind: ScalarSubquery, Operator: "=", Query: &Select{
		Text: p.text, Items: []Item{{Expr: list, At: at}}, From: &Derived{At: at, Query: rows},
	}}
	x := &expr.Expr{Op: expr.OpSubquery, Name: string(ScalarSubquery), Value: of, At: at}
	of.text = "ARRAY" + p.subqueryText(of, x)
	p.subqueries = append(p.subqueries, of.Query)
	return callAt(at, "coalesce", x, callAt(at, "list_value"))
}

// isComparison says whether an operator compares values.
func isComparison(sign string) bool {
	switch sign {
	case "=", "<>", "<", "<=", ">", ">=":
		return true
	}
	return false
}

// subqueryText returns a subquery as SQL, for people: the statement is as it is written.
func (p *statements) subqueryText(of *Subquery, x *expr.Expr) string {
	i := p.at[int32(x.At)]
	for p.token(i).Token != pg.Token_ASCII_40 && p.token(i).Token != 0 {
		i++
	}
	first, depth := i, 0
	for ; i < len(p.tokens); i++ {
		if t := p.tokens[i].Token; t == pg.Token_ASCII_40 {
			depth++
		} else if t == pg.Token_ASCII_41 {
			if depth--; depth == 0 {
				break
			}
		}
	}
	text := p.text[p.token(first).Start:p.token(i).End]
	switch of.Kind {
	case ScalarSubquery:
		return text
	case ExistsSubquery:
		return "EXISTS" + text
	}
	left := x.Args[0].String()
	if len(x.Args) > 1 {
		left = expr.Call("", x.Args...).String()
	}
	if of.IsIn() {
		return "(" + left + " IN " + text + ")"
	}
	return "(" + left + " " + of.Operator + " " + string(of.Kind) + text + ")"
}
