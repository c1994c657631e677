package server

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/scan/dataset"
)

// Names by which clients find tables: catalog.schema.table.
const (
	Catalog         = "mpga"
	MainSchema      = "main" // of the tables that all clients may read
	TemporarySchema = "temp" // of a session's own tables
)

// TableInfo is a table that a session may read.
type TableInfo struct {
	Name      string
	Temporary bool
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
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(s.tables)) {
		list = append(list, TableInfo{Name: name, Temporary: true})
	}
	return list
}

// TableSchema returns the columns of a table that the session may read.
func (s *Session) TableSchema(ctx context.Context, name string) (*arrow.Schema, error) {
	s.mu.Lock()
	own, ok := s.tables[name]
	s.mu.Unlock()
	if ok {
		return own.schema, nil
	}
	table, ok := s.server.opt.Tables[name]
	if !ok {
		return nil, fmt.Errorf("%w: no table is named %s", ErrUnknown, name)
	}
	opt := s.server.opt.Scan
	if table.Scan != nil {
		opt = *table.Scan
	}
	opt.Budget = s.server.opt.Engine.Budget()
	src, err := dataset.Open(ctx, table.Files, opt)
	if err != nil {
		return nil, fmt.Errorf("table %s: %w", name, err)
	}
	return src.Schema(), nil
}

// planTables returns what names stand for in the session's statements, and the temporary tables
// among them, held. R1.
func (s *Session) planTables() (tables map[string]plan.Table, held []*temporary) {
	tables = make(map[string]plan.Table)
	for name, t := range s.server.opt.Tables {
		scan := t.Scan
		if scan == nil {
			scan = &s.server.opt.Scan
		}
		tables[name] = plan.Table{Files: t.Files, Scan: scan, In: []string{Catalog, MainSchema}}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, t := range s.tables {
		t.retain()
		held = append(held, t)
		tables[name] = t.planTable()
	}
	return tables, held
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
