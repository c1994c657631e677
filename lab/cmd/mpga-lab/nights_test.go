package main

import (
	"os"
	"path/filepath"
	"testing"
)

// Catches days that are missing, too many, or other ones than before.
func TestDays(t *testing.T) {
	dir := t.TempDir()
	f := nightsFlags{days: 2, nights: 1, rows: 50, groups: 10}
	var first []byte
	for _, days := range []int{2, 3, 2} {
		if err := f.setDays(t.Context(), dir, days); err != nil {
			t.Fatal(err)
		}
		found, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil || len(found) != days {
			t.Errorf("%d days: %q, %v", days, found, err)
		}
		text, err := os.ReadFile(found[0])
		if err != nil || len(text) == 0 || first != nil && string(text) != string(first) {
			t.Errorf("%d days: the first is another one: %v", days, err)
		}
		first = text
	}
	if err := sameLines(filepath.Join(dir, "00000.parquet"), filepath.Join(dir, "00001.parquet")); err == nil {
		t.Error("two days have the same rows")
	}
}
