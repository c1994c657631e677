//go:build cgo

package sql

import (
	"errors"
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
	r := &Recursion{At: at, Name: itself.with.Name, All: stmt.GetAll(), Key: itself.key, Columns: itself.columns}
	r.Anchor = p.statement(stmt.GetLarg(), p.ctes)
	within := maps.Clone(p.ctes)
	if within == nil {
		within = map[string]*named{}
	}
	within[strings.ToLower(r.Name)] = &named{columns: itself.columns, with: itself.with, within: r, key: r.Key}
	r.Step = p.statement(stmt.GetRarg(), within)
	s.Items = []Item{{}}
	if r.uses == 0 && r.Key != nil {
		p.fail(at, "USING KEY: the statement behind the last UNION of WITH RECURSIVE %s does not read it", r.Name)
	}
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

// keyText is what stands in the parentheses of USING KEY, and its place.
type keyText struct {
	text string
	at   int
}

// usingKeys takes USING KEY (...), which stands behind a name of WITH RECURSIVE, out of the tokens.
func (s *script) usingKeys() {
	var kept []*pg.ScanToken
	for i := 0; i < len(s.tokens); i++ {
		end := -1
		if s.tokens[i].Token == pg.Token_USING && s.isWord(i+1, "key") && s.token(i+2).Token == pg.Token_ASCII_40 {
			end = s.closing(i + 3)
		}
		if end < 0 || s.token(end+1).Token != pg.Token_AS || len(kept) == 0 {
			s.at[s.tokens[i].Start] = len(kept)
			kept = append(kept, s.tokens[i])
			continue
		}
		name := len(kept) - 1
		for name > 0 && kept[name].Token != pg.Token_ASCII_40 && kept[len(kept)-1].Token == pg.Token_ASCII_41 {
			name-- // to the parenthesis of the names of columns
		}
		if kept[name].Token == pg.Token_ASCII_40 {
			name--
		}
		from := int(s.tokens[i+2].End)
		s.keys[int(kept[max(name, 0)].Start)] = keyText{s.text[from:s.tokens[end].Start], from}
		i = end
	}
	s.tokens = kept
}

// keyOf reads what stands behind the name of WITH at a place in USING KEY: columns, and aggregates; nil of none.
func (p *statements) keyOf(at int) []Item {
	of, ok := p.keys[at]
	if !ok {
		return nil
	}
	s, err := ParseItems(of.text)
	var failed *Error
	switch {
	case errors.As(err, &failed):
		p.fail(of.at, "USING KEY: %s", failed.Message)
	case err != nil:
		p.fail(of.at, "USING KEY: %v", err)
	case s.subqueries != nil:
		p.fail(of.at, "not supported: a subquery in USING KEY")
	}
	s.move(of.at)
	return s.Items
}
