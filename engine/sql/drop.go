//go:build cgo

package sql

import (
	"context"

	pg "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"
)

// ParseDrop reads a statement DROP TABLE or DROP VIEW of one table or view, which a session has made.
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
	isView := drop.GetRemoveType() == pg.ObjectType_OBJECT_VIEW
	if drop == nil || !isView && drop.GetRemoveType() != pg.ObjectType_OBJECT_TABLE || len(drop.GetObjects()) != 1 {
		const why = "not supported: a statement without a result, but for DROP TABLE and DROP VIEW of one table or view"
		return nil, errorAt(text, int(s.tokens[0].Start), why)
	}
	defer caught(&read, &err)
	p := &statements{ctx: context.Background(), script: s, taken: map[proto.Message]bool{}}
	p.take(drop, "objects", "remove_type", "missing_ok", "behavior") // nothing depends on a table
	p.checkTaken(drop)
	parts := words(drop.GetObjects()[0].GetList().GetItems())
	before := 1 // index of the token before the name
	if drop.GetMissingOk() {
		before = 3 // IF EXISTS
	}
	parts = s.spelledParts(int(s.token(before+1).Start), parts)
	last := len(parts) - 1
	return &Drop{Table: parts[last], In: parts[:last], View: isView, IfExists: drop.GetMissingOk()}, nil
}
