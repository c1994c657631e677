package server

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/engine/sql"
)

// Meaning is what a client says of a statement beside its text. The zero value says nothing.
type Meaning struct {
	// Names are tables of this statement alone, by their names in it. They hide other tables.
	Names map[string]Named

	// Dir is the client's working directory, for a server of UserFiles: relative names of files begin
	// there. The default is the working directory of the server.
	Dir string

	// Record keeps when the workers and devices did what, for people to look at, also where
	// Options.Record does not, and the plan with what its operators did.
	Record bool

	// Output writes the rows of a statement to files; nil for the client itself.
	Output *Output
}

// Named is what a name stands for: a temporary table of the session, or files.
type Named struct {
	Table string   // "" of files
	Files []string // patterns
}

// apply adds the named tables to a session's tables, in place of tables whose names are the same but
// for case. R1: files are read as files that the statement itself names.
func (m *Meaning) apply(tables map[string]plan.Table, scan dataset.Options) error {
	named := make(map[string]plan.Table, len(m.Names))
	for _, name := range slices.Sorted(maps.Keys(m.Names)) {
		of := m.Names[name]
		if len(of.Files) > 0 {
			named[name] = plan.Table{Files: of.Files, Scan: &scan}
			continue
		}
		t, ok := tables[of.Table]
		if !ok {
			return fmt.Errorf("%w: %s stands for the table %s, which the session does not have", ErrUnknown, name, of.Table)
		}
		t.In = nil
		named[name] = t
	}
	for name := range named {
		maps.DeleteFunc(tables, func(other string, _ plan.Table) bool { return strings.EqualFold(name, other) })
	}
	maps.Copy(tables, named)
	return nil
}

// check refuses a view of names that mean something in the statement alone that makes the view.
func (m *Meaning) check(c *sql.Create) error {
	if !c.View {
		return nil
	}
	for _, of := range c.Query.Leaves() {
		table, ok := of.(*sql.Table)
		if !ok || len(table.In) > 0 {
			continue
		}
		for name := range m.Names {
			if strings.EqualFold(name, table.Name) {
				const why = "a view cannot read %s: %s is there for this statement alone; CREATE TABLE keeps its rows"
				return c.Query.ErrorAt(table.At, fmt.Sprintf(why, name, name))
			}
		}
	}
	return nil
}
