//go:build cgo

package sql

import (
	"maps"
	"strings"

	pg "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// recursion reads the UNION of a statement of WITH RECURSIVE into the FROM of a statement: what stands before the last
// UNION is the anchor, and what stands behind it may read the statement itself. It returns false, and has read nothing,
// of another set operation. A UNION whose last statement does not read itself is an ordinary one.
func (p *statements) recursion(s *Select, stmt *pg.SelectStmt, itself *named) bool {
	at, byName := p.setWord(stmt.GetRarg())
	if setKinds[stmt.GetOp()] != Union || byName {
		return false
	}
	p.take(stmt, append([]protoreflect.Name{"op", "all", "larg", "rarg"}, endClauses...)...)
	r := &Recursion{At: at, Name: itself.with.Name, All: stmt.GetAll()}
	r.Anchor = p.statement(stmt.GetLarg(), p.ctes)
	within := maps.Clone(p.ctes)
	if within == nil {
		within = map[string]*named{}
	}
	within[strings.ToLower(r.Name)] = &named{columns: itself.columns, with: itself.with, within: r}
	r.Step = p.statement(stmt.GetRarg(), within)
	s.Items = []Item{{}}
	if r.uses == 0 {
		s.Distinct = !r.All
		s.From = &SetOperation{At: at, Kind: Union, All: true, Queries: []*Select{r.Anchor, r.Step}}
		return true
	}
	s.From = r
	const behind = "not supported: %s behind the UNION of WITH RECURSIVE %s; write it behind the SELECT that reads %[2]s"
	switch {
	case len(stmt.GetSortClause()) > 0:
		p.fail(at, behind, "ORDER BY", r.Name)
	case stmt.GetLimitCount() != nil:
		p.fail(at, behind, "LIMIT", r.Name)
	case stmt.GetLimitOffset() != nil:
		p.fail(at, behind, "OFFSET", r.Name)
	}
	return true
}
