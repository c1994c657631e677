package dataset

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mpga/mpga/internal/vfs"
)

// patternTree is a tree of files, with names that have characters of patterns.
var patternTree = []string{
	"a/1.csv", "a/2.csv", "a/10.csv", "a/b/3.csv", "a/b/c/4.csv", "b/x/5.csv", "a/[x].csv", "a/.h/6.csv", "a/.7.csv",
	"a/_8.csv", "a/q?.csv", "c{d}/8.csv", "a/B.csv", "a/!.csv", "a/^.csv", "a/-.csv", "a/b/_tmp/9.csv", "a/b/c/d/e/f/7.csv",
}

// patternCases say what patterns find in patternTree. DuckDB 2.0.0 finds the same, but for names that begin with a dot
// or an underscore, which it finds, too, and for a folder that matches, where it finds nothing.
var patternCases = map[string]string{
	"**/*.csv":           "a/!.csv a/-.csv a/1.csv a/10.csv a/2.csv a/B.csv a/[x].csv a/^.csv a/b/3.csv a/b/c/4.csv a/b/c/d/e/f/7.csv a/q?.csv b/x/5.csv c{d}/8.csv",
	"a/b/**":             "a/b/3.csv a/b/c/4.csv a/b/c/d/e/f/7.csv",
	"a/**/c/*.csv":       "a/b/c/4.csv",
	"**/c/**":            "error: ** stands twice",
	"a/[!1].csv":         "a/!.csv a/-.csv a/2.csv a/B.csv a/^.csv",
	"a/[^1].csv":         "a/1.csv a/^.csv",
	"a/[12].csv":         "a/1.csv a/2.csv",
	"a/[1-3].csv":        "a/1.csv a/2.csv",
	"a/[!a-z].csv":       "a/!.csv a/-.csv a/1.csv a/2.csv a/B.csv a/^.csv",
	"a/[1-].csv":         "a/-.csv a/1.csv",
	"a/[-].csv":          "a/-.csv",
	"a/[]1].csv":         "a/1.csv",
	"a/[1":               "error: a [ of the pattern is not closed",
	"a/[[]x].csv":        "a/[x].csv",
	`a/\[x\].csv`:        "a/[x].csv",
	"a/q[?].csv":         "a/q?.csv",
	"a/[x].csv":          "a/[x].csv",
	"a/q?.csv":           "a/q?.csv",
	"c{d}/*.csv":         "c{d}/8.csv",
	"a/{1,2}.csv":        "error: no such file",
	"a/{1,2}*.csv":       "error: no file matches",
	"a/.h/*.csv":         "a/.h/6.csv",
	"a/.*":               "a/.7.csv a/.h/6.csv",
	"a/_*.csv":           "a/_8.csv",
	"**/6.csv":           "error: no file matches",
	"*/*.csv":            "a/!.csv a/-.csv a/1.csv a/10.csv a/2.csv a/B.csv a/[x].csv a/^.csv a/q?.csv c{d}/8.csv",
	"./a/*1*.csv":        "a/1.csv a/10.csv",
	"a//?.csv":           "a/!.csv a/-.csv a/1.csv a/2.csv a/B.csv a/^.csv",
	"a/b**/*.csv":        "a/b/3.csv",
	"a**/1.csv":          "a/1.csv",
	"b/../a/1?.csv":      "a/10.csv",
	"b/*":                "b/x/5.csv", // of a folder
	"b/**":               "b/x/5.csv",
	"nothing/**/*.csv":   "error: no file matches",
	"a/1.csv/*.csv":      "error: not a directory",
	"**/**/4.csv":        "error: ** stands twice",
	"a/b/c/**/*.parquet": "error: no file matches",
}

// Would catch ** that finds one level of folders, [!1] that finds the opposite, names with characters of patterns that
// nobody can read, and a file that is found twice.
func TestPatterns(t *testing.T) {
	dir := t.TempDir()
	for _, name := range patternTree {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("v\n1\n"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	for text, want := range patternCases {
		for _, prefix := range []string{"", dir + "/"} {
			names, err := expand(t.Context(), vfs.OS, prefix+text)
			for i := range names {
				names[i] = strings.TrimPrefix(names[i], prefix)
			}
			got := strings.Join(names, " ")
			if err != nil {
				got = "error: " + err.Error()
			}
			if message, isError := strings.CutPrefix(want, "error: "); got != want && !(isError && err != nil && strings.Contains(got, message)) {
				t.Errorf("%s: %s, want %s", prefix+text, got, want)
			}
			if prefix != "" || err != nil || strings.Contains(text, ".") && strings.HasPrefix(text, ".") || strings.Contains(text, "//") || strings.Contains(text, "..") || text == "a/[x].csv" {
				continue
			}
			for _, name := range patternTree { // the same by names alone, as in stores
				p, err := parsePattern(text)
				if takes := err == nil && p.takes(strings.Split(name, "/")); takes != slices.Contains(names, name) {
					t.Errorf("%s takes the object %s: %v", text, name, takes)
				}
			}
		}
	}
}
