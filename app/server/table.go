package server

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/app/temporary"
	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/engine/sql"
)

// Names by which clients find tables: catalog.schema.table.
const (
	Catalog         = temporary.Catalog
	MainSchema      = "main"           // of the tables that all clients may read
	TemporarySchema = temporary.Schema // of a session's own tables
)

// TableInfo is a table that a session may read.
type TableInfo struct {
	Name      string
	Temporary bool
	View      bool
}

// Schema returns the name of the table's schema.
func (t TableInfo) Schema() string {
	if t.Temporary {
		return TemporarySchema
	}
	return MainSchema
}

// Tables returns the tables that the session may read, sorted by schema and name.
func (s *Session) Tables() []TableInfo {
	var list []TableInfo
	for _, name := range slices.Sorted(maps.Keys(s.server.opt.Tables)) {
		list = append(list, TableInfo{Name: name})
	}
	for _, own := range s.tables.List() {
		list = append(list, TableInfo{Name: own.Name, Temporary: true, View: own.View})
	}
	return list
}

// HasTable says whether the session has a table or a view of its own of a name.
func (s *Session) HasTable(name string) bool { return s.tables.Has(name) }

// TableSchema returns the columns of a table that the session may read.
func (s *Session) TableSchema(ctx context.Context, name string) (*arrow.Schema, error) {
	tables, held := s.planTables()
	defer func() {
		for _, t := range held {
			_ = t.Release() // another error of removing a file is told when the name goes
		}
	}()
	table, ok := tables[name]
	switch {
	case !ok:
		return nil, fmt.Errorf("%w: no table is named %s", ErrUnknown, name)
	case table.Source != nil:
		return table.Source.Schema(), nil
	case table.View != nil || table.Rollup != nil:
		opt := plan.Options{Tables: tables, Scan: s.server.clientScan("")}
		statement, what := table.View, "view"
		if statement == nil {
			statement, what = &sql.Select{Items: []sql.Item{{}}, From: &sql.Table{Name: name}}, "roll-up"
		}
		query, err := plan.Prepare(ctx, s.server.opt.Engine, statement, opt)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", what, name, err)
		}
		defer query.Close()
		return query.Schema(), nil
	}
	opt := *table.Scan
	opt.Budget = s.server.opt.Engine.Budget()
	src, err := dataset.Open(ctx, table.Files, opt)
	if err != nil {
		return nil, fmt.Errorf("table %s: %w", name, err)
	}
	return src.Schema(), nil
}

// planTables returns what names stand for in the session's statements, and the temporary tables
// among them, held. R1.
func (s *Session) planTables() (tables map[string]plan.Table, held []*temporary.Table) {
	tables = make(map[string]plan.Table)
	for name, t := range s.server.opt.Tables {
		scan := t.Scan
		if scan == nil {
			scan = &s.server.opt.Scan
		}
		made := plan.Table{Files: t.Files, Scan: scan, In: []string{Catalog, MainSchema}}
		if t.Rollup != "" {
			made.Rollup = &plan.Rollup{Dir: t.Rollup}
		}
		tables[name] = made
	}
	return tables, s.tables.PlanTables(tables)
}

// isServers says whether a name is one of the server's tables, however it is spelled.
func (s *Server) isServers(name string) bool {
	for own := range s.opt.Tables {
		if strings.EqualFold(own, name) {
			return true
		}
	}
	return false
}

// clientScan says how files are read that clients name; dir is the working directory of the client,
// or "". R1.
func (s *Server) clientScan(dir string) dataset.Options {
	opt := s.opt.Scan
	opt.FS, opt.Stdin = s.opt.Files, noStdin{}
	switch files := s.opt.Files.(type) {
	case nil:
		opt.FS = noFiles{}
	case UserFiles:
		opt.FS = files.in(dir)
	}
	return opt
}

// noStdin is the standard input of clients.
type noStdin struct{}

func (noStdin) Read([]byte) (int, error) {
	return 0, fmt.Errorf("%w: a server has no standard input for its clients", ErrForbidden)
}

var _ io.Reader = noStdin{}
