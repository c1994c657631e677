//go:build cgo

package sql

import (
	pg "github.com/pganalyze/pg_query_go/v6"
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
		case i == 0:
			f = p.fromOne(node)
		case call != nil:
			f = p.unnest(f, node.GetRangeFunction(), call)
		default:
			right := p.fromOne(node)
			f = &Join{At: right.Place(), Kind: InnerJoin, Left: f, Right: right}
		}
	}
	p.checkTables(f)
	return f
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
	p.take(e, "jointype", "is_natural", "larg", "rarg", "using_clause", "quals")
	kind, ok := joinKinds[e.GetJointype()]
	if !ok {
		p.unsupportedClause(pg.Token_JOIN, "this JOIN")
	}
	left := e.GetLarg()
	if before := left.GetJoinExpr(); before != nil { // of SEMI and ANTI
		name := before.GetRarg().GetRangeVar()
		word := p.offset(name.GetLocation()) - len(oneSidedBefore)
		if of, ok := p.oneSided[word]; ok && name.GetRelname() == oneSidedName {
			p.take(before, "jointype", "larg", "rarg")
			p.take(name, "relname")
			left, kind = before.GetLarg(), of
		}
	}
	j := &Join{Kind: kind, Natural: e.GetIsNatural(), Left: p.fromOne(left), Right: p.fromOne(e.GetRarg())}
	j.At = j.Right.Place()
	j.Using = words(e.GetUsingClause())
	j.On = p.optional(e.GetQuals())
	return j
}
