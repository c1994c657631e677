package tests

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mpga/mpga/tests/peer"
)

// documentedRow finds the example of a call and its result, which end a row of a table of docs/sql.md.
var documentedRow = regexp.MustCompile("\\| `([^`]*)` = `[^`]*` \\|$")

// documentedTable has the rows that docs/sql.md names for its aggregates.
const documentedTable = "SELECT * FROM (VALUES (1, 10, 'a', true), (2, 30, 'b', true), (4, 20, 'b', false), (NULL, 40, NULL, NULL)) v(x, y, s, b)"

// documentedAlone are examples of what DuckDB does not have, or has otherwise, as SEMANTICS.md says.
var documentedAlone = map[string]bool{
	"SELECT dow(DATE '2020-02-03')": true, "SELECT doy(DATE '2020-02-03')": true, // parts of dates that are no functions
	"SELECT array_cross_product([1, 0, 0], [0, 1, 0])": true, // an array, where mpga has a list
	"SELECT set_bit('0110'::BIT, 0, 1)":                true, // a BIT, where results have its text
	"SELECT bitstring('1010', 7)":                      true,
}

// documentedSince2 are examples that DuckDB has from 2.0.0 on, or otherwise before.
var documentedSince2 = map[string]bool{
	// The driver of DuckDB 1.5.5 has no names of fields that are empty, and other forms of structs, maps and JSON.
	"SELECT invoke(lambda x, y: x * y, 3, 4)": true,
	"SELECT list_zip([1, 2], [3])":            true, "SELECT {'a': 1, 'b': 'x'}": true, "SELECT row(1, 'x')": true, "SELECT MAP {'a': 1}": true,
	`SELECT json_extract('{"a": [1, 2]}', '$.a[1]')`: true, `SELECT '{"a": {"b": 1}}' -> 'a'`: true,
	"SELECT map_from_entries([('a', 1)])": true, "SELECT map_entries(MAP {'a': 1})": true,
	"SELECT array_cross_product([1, 0, 0], [0, 1, 0])": true, "SELECT struct_values({'a': 1, 'b': 'x'})": true,
	`SELECT json_structure('{"a": [1, 2.5]}')`: true, "SELECT to_json({'a': 1, 'b': [true, NULL]})": true,
	`SELECT json_merge_patch('{"a": 1, "b": 2}', '{"b": null, "c": 3}')`: true, "SELECT json_object('a', 1, 'b', NULL)": true,
	"SELECT json_array(1, 'x', NULL)": true, "SELECT '[1, 2]'::JSON": true, "SELECT json(' [1, 2] ')": true,
	"SELECT set_bit('0110'::BIT, 0, 1)": true, "SELECT bitstring('1010', 7)": true,
	"SELECT binom(5, 2)": true, "SELECT round_even(2.5, 0)": true, "SELECT overlay('group' PLACING 'o' FROM 2 FOR 3)": true,
}

// Would catch an example of docs/sql.md that DuckDB answers otherwise, which the document says that it does not. That
// mpga answers as written is another test's.
func TestDocumentedFunctions(t *testing.T) {
	s := openSQL(t)
	s.add(t, "docs", documentedTable)
	text, err := os.ReadFile("../docs/sql.md")
	if err != nil {
		t.Fatal(err)
	}
	checked, from, section := 0, "", ""
	for line := range strings.SplitSeq(string(text), "\n") {
		if strings.HasPrefix(line, "## ") {
			from, section = "", line
		}
		if line == "## Aggregates" {
			from = " FROM docs"
		}
		match := documentedRow.FindStringSubmatch(line)
		if match == nil {
			continue
		}
		example := strings.ReplaceAll(match[1], `\|`, "|")
		if section == "## Window functions" {
			example = strings.Replace(example, ")", ") OVER (ORDER BY y)", 1)
			from = " FROM docs QUALIFY y = 30 AND row_number() OVER (ORDER BY y) > 0"
		}
		s.checkDocumented(t, "SELECT "+example+from)
		checked++
	}
	if checked < 100 {
		t.Errorf("%d examples are found in docs/sql.md: its rows have another form", checked)
	}
}

// documentedStatement finds the statements of the command's examples.
var documentedStatement = regexp.MustCompile(`mpga sql (?:-[^ ]+ )*"((?:SELECT|FROM|WITH) [^"]*)"`)

// Would catch an example of a document, over the flights, that DuckDB answers otherwise.
func TestDocumentedStatements(t *testing.T) {
	s := openSQL(t)
	flights, err := filepath.Abs("testdata/flights-2001.parquet")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, file := range append(files, "../README.md") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range documentedStatement.FindAllStringSubmatch(string(text), -1) {
			statement := strings.ReplaceAll(match[1], "tests/testdata/flights-2001.parquet", flights)
			if statement != match[1] {
				s.checkDocumented(t, statement)
				checked++
			}
		}
	}
	if checked == 0 {
		t.Error("no document has a statement over the flights")
	}
}

// checkDocumented holds mpga to DuckDB's answer, which there is.
func (s *sqlTables) checkDocumented(t *testing.T, statement string) {
	t.Helper()
	statement = strings.ReplaceAll(statement, " approx_count_distinct(", " count(DISTINCT ") // whose estimates differ
	if s.python == nil && documentedSince2[statement] {
		return
	}
	want, err := s.theirs(statement)
	if err != nil && s.python != nil && !errors.As(err, new(*peer.EngineError)) {
		t.Fatalf("%s\n%v", statement, err)
	}
	if err == nil {
		err = s.compare(statement, want)
	}
	if (err != nil) != documentedAlone[statement] {
		t.Errorf("%s\n%v", statement, err)
	}
}
