//go:build cgo

package sql

import (
	"cmp"
	"strings"

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

// unnest reads unnest(list) AS t(name) behind a table.
func (p *statements) unnest(f From, r *pg.RangeFunction, call *pg.FuncCall) From {
	p.take(r, "functions", "alias", "lateral") // which it is without the word, too
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

// listRows reads unnest([a, b]): a table with a row for each element of a list that is written out.
func (p *statements) listRows(call *pg.FuncCall, alias Alias) *Derived {
	at, list := p.offset(call.GetLocation()), call.GetArgs()[0].GetAArrayExpr()
	p.take(call, "funcname", "args")
	p.take(list, "elements")
	var rows []*pg.Node
	for _, x := range list.GetElements() {
		row := &pg.List{Items: []*pg.Node{x}}
		rows = append(rows, &pg.Node{Node: &pg.Node_List{List: row}})
	}
	if rows == nil {
		p.fail(at, "not supported: unnest of an empty list")
	}
	q := &Select{Text: p.text, Items: []Item{{}}, From: p.values(rows)}
	var texts []string // of the elements
	switch of := q.From.(type) {
	case *Values:
		for _, row := range of.Rows {
			texts = append(texts, row[0].String())
		}
	case *SetOperation:
		for _, row := range of.Queries {
			texts = append(texts, row.Items[0].Expr.String())
		}
	}
	for _, below := range q.Below() {
		q.height = max(q.height, below.height+1)
	}
	if alias.Name == listTable {
		alias.Columns = []string{"unnest(list_value(" + strings.Join(texts, ", ") + "))"}
	}
	if len(alias.Columns) == 0 {
		alias.Columns = []string{cmp.Or(alias.Name, UnnestCall)}
	}
	return &Derived{At: at, Query: q, Alias: alias}
}

// unnestItem reads unnest([a, b]) in an item: a column of a table that is joined with the statement's.
func (p *statements) unnestItem(call *pg.FuncCall) *expr.Expr {
	at := p.offset(call.GetLocation())
	d := p.listRows(call, Alias{Name: listTable})
	if p.unnested != nil {
		p.fail(at, "not supported: a second list for unnest")
	}
	p.unnested = d
	return p.column(at, []string{listTable, d.Alias.Columns[0]}, true)
}

// listTable is the name of the table of the elements of unnest([a, b]) behind SELECT. No table has such a name.
const listTable = "\x00list"

// joinUnnested joins the elements of unnest([a, b]) behind SELECT with what stands behind FROM. They are made behind
// groups and window functions in DuckDB.
func (p *statements) joinUnnested(s *Select) {
	d := p.unnested
	if d == nil {
		return
	}
	name := d.Alias.Columns[0]
	for i := range s.Items {
		it := &s.Items[i]
		switch {
		case it.Expr == nil && it.Of != nil:
		case it.Expr == nil && it.Star == nil:
			it.Star = &Star{Exclude: []string{name}}
		case it.Expr == nil:
			p.fail(d.At, "not supported: unnest beside * EXCLUDE, REPLACE and RENAME")
		case it.Expr.First(func(x *expr.Expr) bool { return x.Op == expr.OpAggregate || x.Op == expr.OpWindow }) != nil:
			p.fail(d.At, "not supported: unnest beside an aggregate or a window function")
		}
	}
	s.From, p.unnested = joinedWith(s.From, d), nil
}
