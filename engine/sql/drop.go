//go:build cgo

package sql

import (
	"context"
	"slices"

	pg "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"
)

// ParseDrop reads a statement DROP TABLE of one table, which a session has made.
func ParseDrop(text string) (read *Drop, err error) {
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
	defer caught(&read, &err)
	p := &statements{ctx: context.Background(), script: s, taken: map[proto.Message]bool{}}
	p.take(drop, "objects", "remove_type", "missing_ok", "behavior") // nothing depends on a table
	p.checkTaken(drop)
	parts := words(drop.GetObjects()[0].GetList().GetItems())
	before := pg.Token_TABLE
	if drop.GetMissingOk() {
		before = pg.Token_EXISTS
	}
	i := slices.IndexFunc(s.tokens, func(t *pg.ScanToken) bool { return t.Token == before })
	parts = s.spelledParts(int(s.token(i+1).Start), parts)
	last := len(parts) - 1
	return &Drop{Table: parts[last], In: parts[:last], IfExists: drop.GetMissingOk()}, nil
}
