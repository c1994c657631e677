//go:build cgo

package plan_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// Would catch a file in the SELECT behind IN of PIVOT that is taken for a column, or for no table.
func TestPivotInFile(t *testing.T) {
	eng, dir := openEngine(t), t.TempDir()
	for name, text := range map[string]string{"sales.csv": "k,v\n1,10\n2,20\n2,5\n3,40\n", "keys.csv": "k\n2\n3\n9\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	sales, keys := filepath.Join(dir, "sales.csv"), filepath.Join(dir, "keys.csv")
	for text, want := range map[string]string{
		"PIVOT '" + sales + "' ON k IN (SELECT k FROM '" + keys + "' WHERE k < 9) USING sum(v)": "[[25 40]]",
		"PIVOT '" + sales + "' ON k IN (SELECT k FROM '" + keys + "' WHERE k > 2) USING max(v)": "[[40 NULL]]",
	} {
		rows, err := ask(eng, text, nil)
		if got := fmt.Sprint(rows); err != nil || got != want {
			t.Errorf("%s: got %s, %v; want %s", text, got, err, want)
		}
	}
}
