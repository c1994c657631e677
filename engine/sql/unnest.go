//go:build cgo

package sql

import (
	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/mpga/mpga/internal/expr"
)

// unnestCall returns the call of unnest that an element of FROM is; nil where it is something else.
func unnestCall(node *pg.Node) *pg.FuncCall {
	list := node.GetRangeFunction().GetFunctions()
	if len(list) != 1 {
		return nil
	}
	call := list[0].GetList().GetItems()[0].GetFuncCall()
	if call == nil || lastName(call.GetFuncname()) != UnnestCall || len(call.GetArgs()) != 1 {
		return nil
	}
	return call
}

// unnested returns the list whose elements a call of unnest has, by recursive := true or max_depth := n behind it.
func (p *statements) unnested(args []*pg.Node) *expr.Expr {
	list, levels := p.expr(args[0]), int64(1)
	for _, node := range args[1:] {
		named := node.GetNamedArgExpr()
		if named == nil {
			p.fail(list.At, "unnest takes one list")
		}
		p.take(named, "name", "arg")
		value := p.expr(named.GetArg())
		depth, isDepth := value.Value.(int64)
		switch isAll, isBool := value.Value.(bool); {
		case named.GetName() == "recursive" && isBool && isAll:
			levels = 0
		case named.GetName() == "recursive" && isBool:
		case named.GetName() == "max_depth" && isDepth && depth > 0:
			levels = depth
		default:
			p.fail(value.At, "unnest: want recursive := true, or max_depth := n with a number from 1 on")
		}
	}
	return callAt(list.At, expr.Flattened, list, expr.Constant(levels))
}

// unnest reads unnest(list) AS t(name), alone or behind a table, which is nil where it is alone.
func (p *statements) unnest(f From, r *pg.RangeFunction, call *pg.FuncCall) From {
	p.take(r, "functions", "alias", "lateral") // which it is without the word, too
	p.take(call, "funcname", "args")
	at := p.offset(call.GetLocation())
	u := &Unnest{At: at, Input: f, List: p.expr(call.GetArgs()[0]), Name: UnnestCall, Alias: UnnestCall}
	if alias := r.GetAlias(); alias != nil {
		p.take(alias, "aliasname", "colnames")
		u.Alias, u.Name = alias.GetAliasname(), alias.GetAliasname()
		if names := alias.GetColnames(); len(names) > 1 {
			p.fail(at, "not supported: %d names of columns behind unnest, which has one", len(names))
		} else if len(names) == 1 {
			u.Name = names[0].GetString_().GetSval()
		}
	}
	return u
}
