package peer

import "strings"

// Settings returns the statements with which DuckDB is measured: what does not fit memory goes into
// dir, and rows come in any order, which is what the other engines promise of groups.
func Settings(dir string) []string {
	return []string{
		"SET temp_directory = " + Literal(dir+"/duckdb.tmp"),
		"SET preserve_insertion_order = false",
	}
}

// Literal quotes text for SQL.
func Literal(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
