package tests

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mpga/mpga/tests/peer"
)

var rewriteSemantics = flag.Bool("rewrite-semantics", false, "write testdata/semantics.txt anew, with the answers of both; needs -duckdb-python")

// semanticsFile has the questions of SEMANTICS.md as statements, one in a line, and below each what DuckDB 2.0.0 and
// mpga answer.
const semanticsFile = "testdata/semantics.txt"

// valuesTable finds the table of constants of a statement.
var valuesTable = regexp.MustCompile(`\(VALUES .*\) v\([a-z, ]+\)$`)

// Would catch an answer at the edges that changes, here or in DuckDB 2.0.0: what SEMANTICS.md says of both is asked of
// both. Without -duckdb-python mpga alone is asked.
func TestSQLSemantics(t *testing.T) {
	s := openSQL(t)
	for name, file := range map[string]string{"nan": "testdata/nan.parquet", "onetext": "testdata/one-text.parquet"} {
		path, err := filepath.Abs(file)
		if err != nil {
			t.Fatal(err)
		}
		s.addFile(t, name, path)
	}
	text, err := os.ReadFile(semanticsFile)
	if err != nil {
		t.Fatal(err)
	}
	var rewritten strings.Builder
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	for i, line := range lines {
		statement, ok := strings.CutPrefix(line, "SELECT ")
		if !ok {
			if strings.HasPrefix(line, "#") {
				fmt.Fprintln(&rewritten, line)
			}
			continue
		}
		statement = "SELECT " + s.withTable(t, statement)
		theirs, ours := s.bothAnswers(t, statement)
		fmt.Fprintln(&rewritten, line)
		answers := []string{"    DuckDB  " + theirs}
		if ours != theirs {
			answers = append(answers, "    mpga    "+ours)
		}
		fmt.Fprintln(&rewritten, strings.Join(answers, "\n"))
		var want []string
		for _, l := range lines[i+1:] {
			if !strings.HasPrefix(l, "    ") {
				break
			}
			want = append(want, l)
		}
		if s.python == nil && len(want) > 0 {
			known := strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(want[len(want)-1], "    DuckDB"), "    mpga"))
			want, answers = []string{known}, []string{ours}
		}
		if !*rewriteSemantics && strings.Join(want, "\n") != strings.Join(answers, "\n") {
			t.Errorf("%s\n%s\nand in %s\n%s", line, strings.Join(answers, "\n"), semanticsFile, strings.Join(want, "\n"))
		}
	}
	if *rewriteSemantics {
		if s.python == nil {
			t.Fatal("-rewrite-semantics needs -duckdb-python")
		}
		if err := os.WriteFile(semanticsFile, []byte(rewritten.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// withTable returns a statement with a table of both in place of its table of constants, which mpga does not have.
func (s *sqlTables) withTable(t *testing.T, statement string) string {
	t.Helper()
	values := valuesTable.FindString(statement)
	if values == "" {
		return statement
	}
	s.add(t, "v", "SELECT * FROM "+values)
	return strings.Replace(statement, values, "v", 1)
}

// bothAnswers returns the answers of DuckDB and mpga as texts. Numbers have the digits in which both agree.
func (s *sqlTables) bothAnswers(t *testing.T, statement string) (theirs, ours string) {
	t.Helper()
	text := func(table [][]any, err error) string {
		if err != nil {
			return "an error"
		}
		for _, row := range table {
			for i, cell := range row {
				if f, ok := cell.(float64); ok && !math.IsNaN(f) && !math.IsInf(f, 0) {
					row[i] = fmt.Sprintf("%.10g", f+0)
				}
			}
		}
		return fmt.Sprint(table)
	}
	want, err := s.theirs(statement)
	if err != nil && s.python != nil && !errors.As(err, new(*peer.EngineError)) {
		t.Fatalf("%s\n%v", statement, err)
	}
	return text(want, err), text(s.ours(statement))
}
