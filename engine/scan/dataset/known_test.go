package dataset

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/csv"
	"github.com/mpga/mpga/engine/scan/internal/scantest"
)

// Would catch a file of a table that has other columns, types, formats of dates or folders' values where
// it is opened alone, by what is known of the table, than where it is opened with the others.
func TestKnown(t *testing.T) {
	many := func(line string) string { return strings.Repeat(line, 20) }
	for _, c := range []struct {
		name  string
		files map[string]string
		opt   Options
	}{
		{"numbers that become floats", map[string]string{"a.csv": "k,v\n" + many("1,2\n"), "b.csv": "k,v\n" + many("1,2.5\n"), "c.csv": "k,v\nx,1\n"}, Options{}},
		{"days first, as one file alone says", map[string]string{"a.csv": "d,v\n01/02/2025,1\n", "b.csv": "d,v\n31/12/2025,1\n"}, Options{}},
		{"a column of NULLs", map[string]string{"a.csv": "k,v\n,1\n", "b.csv": "k,v\n7,1\n"}, Options{}},
		{"another order of columns", map[string]string{"a.csv": "k,v\n1,x\n", "b.csv": "v,k\ny,2\n"}, Options{}},
		{"given types", map[string]string{"a.csv": "zip,v\n12,1\n", "b.csv": "zip,v\n34,1\n"}, Options{CSV: csv.Options{Types: map[string]arrow.DataType{"zip": arrow.BinaryTypes.String}}}},
		{"keys that other objects have", map[string]string{"a.json": "{\"a\":1}\n", "b.json": "{\"b\":\"x\",\"a\":2.5}\n", "c.json": "{\"c\":null}\n"}, Options{}},
		{"folders of numbers and words", map[string]string{"k=1/a.csv": "v\n1\n", "k=x/b.csv": "v\n2\n"}, Options{}},
		{"folders of dates", map[string]string{"d=2025-01-01/a.csv": "v\n1\n", "d=__HIVE_DEFAULT_PARTITION__/b.csv": "v\n2\n"}, Options{}},
		{"names of files", map[string]string{"a.csv": "v\n1\n", "b.csv": "v\n2\n"}, Options{Filename: true}},
		{"CSV and JSON", map[string]string{"a.csv": "v,w\n1,2025-01-01\n", "b.json": "{\"v\":2,\"w\":\"2025-01-01\"}\n"}, Options{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range c.files {
				path := filepath.Join(dir, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
					t.Fatal(err)
				}
				scantest.WriteFile(t, filepath.Dir(path), filepath.Base(path), []byte(text))
			}
			whole, known, err := OpenKnown(t.Context(), []string{dir}, c.opt)
			if err != nil {
				t.Fatal(err)
			}
			want := rowsOfAll(t, whole)
			ids, err := Identities(t.Context(), []string{dir}, c.opt)
			if err != nil {
				t.Fatal(err)
			}
			opt := travelled(t, c.opt, known)
			var got []string
			for _, id := range ids {
				part, err := Open(t.Context(), []string{id.Path}, opt)
				if err != nil {
					t.Fatal(err)
				}
				if got, want := scantest.SchemaText(part.Schema()), scantest.SchemaText(whole.Schema()); got != want {
					t.Fatalf("%s: %s, the table has %s", id.Path, got, want)
				}
				got = append(got, rowsOfAll(t, part)...)
			}
			scantest.SameRows(t, got, want)
		})
	}
}

// travelled returns options that have been JSON, with what is known of a table.
func travelled(t *testing.T, opt Options, known *Known) (back Options) {
	t.Helper()
	opt.Known = known
	text, err := json.Marshal(opt)
	if err == nil {
		err = json.Unmarshal(text, &back)
	}
	if err != nil {
		t.Fatal(err)
	}
	return back
}

func rowsOfAll(t *testing.T, src scan.Source) []string {
	t.Helper()
	rows, err := scantest.ReadAll(src, scantest.AllColumns(src.Schema()), scan.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// Would catch a file that is read though its columns have changed since the table was opened.
func TestKnownChanged(t *testing.T) {
	dir := t.TempDir()
	path := scantest.WriteFile(t, dir, "a.csv", []byte("k,v\n1,2\n"))
	_, known, err := OpenKnown(t.Context(), []string{path}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"k,w\n1,2\n", "k\n1\n", "k,v\n1,x\n"} {
		scantest.WriteFile(t, dir, "a.csv", []byte(text))
		src, err := Open(t.Context(), []string{path}, Options{Known: known})
		if err == nil { // another type is an error of whoever reads the column
			_, err = scantest.ReadAll(src, scantest.AllColumns(src.Schema()), scan.OpenOptions{})
		}
		if err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
