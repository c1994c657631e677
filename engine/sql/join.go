//go:build cgo

package sql

import (
	pg "github.com/pganalyze/pg_query_go/v6"

	"github.com/mpga/mpga/internal/expr"
)

// tablesMax bounds the tables of one FROM, and the joins of a text.
const tablesMax = 100

// from reads FROM: tables behind commas are all pairs of their rows, and unnest makes rows of a list of what
// stands before it.
func (p *statements) from(clause []*pg.Node) From {
	var f From
	for i, node := range clause {
		call := unnestCall(node)
		switch {
		case call != nil:
			f = p.unnest(f, node.GetRangeFunction(), call)
		case i == 0:
			f = p.fromOne(node)
		default:
			one := p.fromOne(node)
			if u, ok := one.(*Unnest); ok && u.Input == nil { // range of columns
				u.Input, f = f, u
				continue
			}
			f = joinedWith(f, one)
		}
	}
	p.checkTables(f)
	return f
}

// joinedWith returns all pairs of the rows of what stands on both sides of a comma. The left side may be nil.
func joinedWith(left, right From) From {
	if left == nil {
		return right
	}
	return &Join{At: right.Place(), Kind: InnerJoin, Left: left, Right: right}
}

// checkTables refuses a FROM of too many tables.
func (p *statements) checkTables(f From) {
	tables := 0
	eachOf(f, func(f From) {
		if tables++; tables > tablesMax {
			p.fail(f.Place(), "not supported: a FROM of more than %d tables", tablesMax)
		}
	})
}

// joinKinds are the kinds of joins by the parser's names.
var joinKinds = map[pg.JoinType]JoinKind{
	pg.JoinType_JOIN_INNER: InnerJoin, pg.JoinType_JOIN_LEFT: LeftJoin,
	pg.JoinType_JOIN_RIGHT: RightJoin, pg.JoinType_JOIN_FULL: FullJoin,
}

// join reads a JOIN.
func (p *statements) join(e *pg.JoinExpr) From {
	if sampled := p.sampled(e); sampled != nil {
		return sampled
	}
	if a := e.GetAlias(); a != nil {
		p.take(e, "jointype", "is_natural", "larg", "rarg", "using_clause", "quals", "alias")
		of := &pg.JoinExpr{
			Jointype: e.GetJointype(), IsNatural: e.GetIsNatural(), Larg: e.GetLarg(), Rarg: e.GetRarg(),
			UsingClause: e.GetUsingClause(), Quals: e.GetQuals(),
		}
		alias := p.tableAlias(a)
		q := &Select{Text: p.text, Items: []Item{{}}, From: p.join(of)}
		return &Derived{At: q.From.Place(), Query: q, Alias: alias}
	}
	p.take(e, "jointype", "is_natural", "larg", "rarg", "using_clause", "quals")
	kind, ok := joinKinds[e.GetJointype()]
	if !ok {
		p.unsupportedClause(pg.Token_JOIN, "this JOIN")
	}
	left, isAsof := e.GetLarg(), false
	for before := left.GetJoinExpr(); before != nil; before = left.GetJoinExpr() { // of SEMI, ANTI and ASOF
		name := before.GetRarg().GetRangeVar()
		word := p.joinWords[p.offset(name.GetLocation())-len(joinWordBefore)]
		if word == "" || name.GetRelname() != joinWordName || before.GetJointype() != pg.JoinType_JOIN_INNER {
			break
		}
		p.take(before, "jointype", "larg", "rarg")
		p.take(name, "relname")
		left = before.GetLarg()
		if word == asof {
			isAsof = true
			break
		}
		if kind != InnerJoin {
			p.unsupportedClause(pg.Token_JOIN, "this JOIN")
		}
		kind = JoinKind(word)
	}
	if call := unnestCall(e.GetRarg()); call != nil {
		if isAsof {
			kind = asof
		}
		return p.unnestJoin(e, kind, left, call)
	}
	j := &Join{
		Kind: kind, Asof: isAsof, Natural: e.GetIsNatural(), Left: p.fromOne(left), Right: p.fromOne(e.GetRarg()),
	}
	j.At = j.Right.Place()
	j.Using = words(e.GetUsingClause())
	j.On = p.optional(e.GetQuals())
	if j.Asof && j.On == nil && j.Using == nil {
		p.fail(j.At, "not supported: ASOF JOIN without ON and USING")
	}
	return j
}

// unnestJoin reads a join with a call of unnest, which has a list of each row of the table before it.
func (p *statements) unnestJoin(e *pg.JoinExpr, kind JoinKind, left *pg.Node, call *pg.FuncCall) From {
	at := p.offset(call.GetLocation())
	isPlain := isTrue(e.GetQuals()) && e.GetUsingClause() == nil && !e.GetIsNatural()
	switch {
	case kind != InnerJoin && kind != LeftJoin:
		p.fail(at, "not supported: %s JOIN with unnest, which has a list of each row before it; "+
			"want JOIN or LEFT JOIN", kind)
	case e.GetUsingClause() != nil || e.GetIsNatural():
		p.fail(at, "not supported: USING and NATURAL with unnest; write ON, and a name as in unnest(list) AS u(element)")
	case kind == LeftJoin && !isPlain:
		p.fail(at, "not supported: LEFT JOIN unnest(list) ON another condition than true; "+
			"unnest a list of the elements that fulfil it: list_filter(list, lambda x: ...)")
	}
	u := p.unnest(p.fromOne(left), e.GetRarg().GetRangeFunction(), call).(*Unnest)
	switch {
	case !isPlain: // a condition on the rows
		one := &Derived{At: at, Query: &Select{Text: p.text, Items: []Item{{Expr: expr.Constant(int64(1)), At: at}}}}
		return &Join{Kind: SemiJoin, Left: u, Right: one, At: at, On: p.optional(e.GetQuals())}
	case kind == LeftJoin: // a row without elements has one, which is NULL
		list, null := u.List, expr.Constant(nil)
		isFull := callAt(list.At, ">", callAt(list.At, "len", list), expr.Constant(int64(0)))
		u.List = callAt(list.At, "case", isFull, list, callAt(list.At, "list_value", null))
	}
	if constant := e.GetQuals().GetAConst(); constant != nil {
		p.taken[constant] = true
	}
	return u
}

// isTrue says whether the condition of a join is missing, or the word TRUE.
func isTrue(condition *pg.Node) bool {
	return condition == nil || condition.GetAConst().GetBoolval().GetBoolval()
}
