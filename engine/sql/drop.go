//go:build cgo

package sql

import (
	pg "github.com/pganalyze/pg_query_go/v6"
)

// ParseDrop reads a statement DROP TABLE of one table, which a session has made.
func ParseDrop(text string) (*Drop, error) {
	s, err := newScript(text, "")
	if err != nil {
		return nil, err
	}
	tree, err := pg.Parse(s.parsed)
	if err != nil {
		return nil, s.syntaxError(err)
	}
	var drop *pg.DropStmt
	if stmts := tree.GetStmts(); len(stmts) == 1 {
		drop = stmts[0].GetStmt().GetDropStmt()
	}
	if drop == nil || drop.GetRemoveType() != pg.ObjectType_OBJECT_TABLE || len(drop.GetObjects()) != 1 {
		return nil, errorAt(text, int(s.tokens[0].Start), "not supported: a statement without a result, but for DROP TABLE of one table")
	}
	parts := drop.GetObjects()[0].GetList().GetItems()
	return &Drop{Table: parts[len(parts)-1].GetString_().GetSval(), IfExists: drop.GetMissingOk()}, nil
}
