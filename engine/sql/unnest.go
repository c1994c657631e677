//go:build cgo

package sql

import (
	pg "github.com/pganalyze/pg_query_go/v6"
)

// fromUnnest reads what stands behind the table: unnest(list) AS t(name).
func (p *statements) fromUnnest(f From, rest []*pg.Node) From {
	r := rest[0].GetRangeFunction()
	var call *pg.FuncCall
	if list := r.GetFunctions(); len(list) == 1 {
		call = list[0].GetList().GetItems()[0].GetFuncCall()
	}
	if len(rest) > 1 || call == nil || lastName(call.GetFuncname()) != UnnestCall || r.GetOrdinality() ||
		len(call.GetArgs()) != 1 {
		at := 0
		if v := rest[len(rest)-1].GetRangeVar(); v != nil {
			at = p.offset(v.GetLocation())
		} else if call != nil {
			at = p.offset(call.GetLocation())
		}
		p.fail(at, "not supported: more than one table, but for unnest(list) AS t(name) behind a table")
	}
	p.take(r, "functions", "alias")
	p.take(call, "funcname", "args")
	u := &Unnest{Input: f, List: p.expr(call.GetArgs()[0]), Name: UnnestCall}
	if alias := r.GetAlias(); alias != nil {
		p.take(alias, "aliasname", "colnames")
		u.Alias, u.Name = alias.GetAliasname(), alias.GetAliasname()
		if names := alias.GetColnames(); len(names) > 1 {
			p.fail(p.offset(call.GetLocation()), "not supported: %d names of columns behind unnest, which has one", len(names))
		} else if len(names) == 1 {
			u.Name = names[0].GetString_().GetSval()
		}
	}
	return u
}
