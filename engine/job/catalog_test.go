package job

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func loadCatalog(t *testing.T, text string) (*Catalog, string, error) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "tables.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := LoadCatalog(path)
	return c, dir, err
}

// Tables have files, which begin at the catalog's folder, and how they are read.
func TestCatalog(t *testing.T) {
	c, dir, err := loadCatalog(t, `
tables:
  - name: sales
    files: [sales/*.csv, /abs/x.csv, "s3://bucket/x"]
    input: {delimiter: ";", types: {zip: string}}
  - name: Flights 2001
    files: [flights.parquet]
  - {name: guests, rollup: states/guests}
`)
	if err != nil {
		t.Fatal(err)
	}
	sales, flights := c.Tables[0], c.Tables[1]
	if got := strings.Join(sales.Files, " "); got != filepath.Join(dir, "sales/*.csv")+" /abs/x.csv s3://bucket/x" {
		t.Errorf("files: %s", got)
	}
	if got := c.Tables[2].Rollup; got != filepath.Join(dir, "states/guests") {
		t.Errorf("roll-up: %s", got)
	}
	if sales.Scan.CSV.Delimiter != ';' || sales.Scan.CSV.Types["zip"] == nil || flights.Scan.CSV.Delimiter != 0 || flights.Name != "Flights 2001" {
		t.Errorf("got %+v", c.Tables)
	}
}

// Errors of a catalog say where they stand.
func TestCatalogErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                    "tables",
		"tables: []":          "one table at least",
		"tables:\n - name: a": "name the files to read, or a roll-up",
		"tables:\n - name: a\n   files: x\n   rollup: y":                 "4:12: tables[0].rollup: a table has files",
		"tables:\n - name: a\n   rollup: y\n   input: {quote: \"'\"}":    "a roll-up has no files to read",
		"tables:\n - files: [x]":                                         "name",
		"tables:\n - name: a\n   files: [x]\n - name: A\n   files: [y]":  "4:10: tables[1].name: two tables are named A",
		"tables:\n - name: a\n   files: [x]\n   input: {delimeter: x}":   "delimiter",
		"tables:\n - name: a\n   files: [x]\n   input: {quote: xx}":      "tables[0].input.quote",
		"tables:\n - name: a\n   files: [x]\n   input: {rejects: r.csv}": "not supported",
		"tables:\n - name: a\n   files: [x]\n   input: {max_rejects: 1}": "tables[0].input: max_rejects: not supported",
		"tables:\n - name: a\n   files: [x]\n   input: {optional: yes}":  "tables[0].input: optional: not supported",
		"sources: {}": "tables",
	} {
		_, _, err := loadCatalog(t, text)
		if list := (Errors)(nil); !errors.As(err, &list) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
	if _, err := LoadCatalog(filepath.Join(t.TempDir(), "missing.yaml")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}
