package server

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/scan/dataset"
)

// Meaning is what a client says of a statement beside its text. The zero value says nothing.
type Meaning struct {
	// Names are tables of this statement alone, by their names in it. They hide other tables.
	Names map[string]Named

	// Dir is the client's working directory, for a server of UserFiles: relative names of files begin
	// there. The default is the working directory of the server.
	Dir string

	// Record keeps when the workers and devices did what, for people to look at, also where
	// Options.Record does not.
	Record bool
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
