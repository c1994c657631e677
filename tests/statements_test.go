package tests

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mpga/mpga/tests/peer"
)

var rewriteStatements = flag.Bool("rewrite-statements", false, "write testdata/statements anew; needs -duckdb-python")

// A record of a file in testdata/statements: its kind, the statement, and behind ---- a line for each row or the error.
//
//	query    mpga answers with the rows of DuckDB 2.0.0: in their order if the statement has one, else sorted
//	other    mpga answers with these rows, and DuckDB with others, or an error: SEMANTICS.md says why
//	error    both have an error; the text is mpga's
//	refused  DuckDB answers, and mpga has this error
//
// A record without a kind is a new one, to which -rewrite-statements gives one; it makes no record `other`.
type record struct {
	comment         string // the lines with # before it
	kind, statement string
	answer          []string
}

var recordKinds = []string{"query", "other", "error", "refused"}

// Would catch a statement of DuckDB's language that is answered otherwise than it was, or refused in other words.
func TestStatements(t *testing.T) {
	s := openSQL(t)
	for _, r := range readRecords(t, "testdata/statements/tables.txt") {
		name, query, _ := strings.Cut(strings.TrimPrefix(r.statement, "TABLE "), " AS ")
		s.add(t, name, query)
	}
	files, err := filepath.Glob("testdata/statements/*/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	counts := map[string]int{}
	for _, file := range files {
		records := readRecords(t, file)
		for i := range records {
			r := &records[i]
			want := *r
			if *rewriteStatements {
				r.kind, r.answer = s.written(t, *r)
			} else if err := s.holdRecord(*r); err != nil {
				t.Errorf("%s: %s\n%v", file, r.statement, err)
			}
			counts[r.kind]++
			if want.kind != "" && want.kind != r.kind {
				t.Logf("%s: %s, now %s\n%s", want.kind, r.statement, r.kind, strings.Join(r.answer, "\n"))
			}
		}
		if *rewriteStatements {
			writeRecords(t, file, records)
		}
	}
	t.Log(counts)
}

// readRecords returns the records of a file, which empty lines separate.
func readRecords(t *testing.T, file string) (records []record) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for block := range strings.SplitSeq(strings.Trim(string(text), "\n"), "\n\n") {
		var r record
		lines := strings.Split(strings.Trim(block, "\n"), "\n")
		for len(lines) > 0 && strings.HasPrefix(lines[0], "#") {
			r.comment += lines[0] + "\n"
			lines = lines[1:]
		}
		if len(lines) > 0 && slices.Contains(recordKinds, lines[0]) {
			r.kind, lines = lines[0], lines[1:]
		}
		if end := slices.Index(lines, "----"); end >= 0 {
			lines, r.answer = lines[:end], lines[end+1:]
		}
		r.statement = strings.Join(lines, "\n")
		records = append(records, r)
	}
	return records
}

func writeRecords(t *testing.T, file string, records []record) {
	t.Helper()
	var text strings.Builder
	for i, r := range records {
		if i > 0 {
			text.WriteString("\n")
		}
		fmt.Fprintf(&text, "%s%s\n%s\n----\n", r.comment, r.kind, r.statement)
		for _, line := range r.answer {
			fmt.Fprintln(&text, line)
		}
	}
	if err := os.WriteFile(file, []byte(text.String()), 0o666); err != nil {
		t.Fatal(err)
	}
}

// holdRecord compares mpga's answer with the one of a record.
func (s *sqlTables) holdRecord(r record) error {
	got, err := s.ours(r.statement)
	switch {
	case r.kind == "":
		return errors.New("a record without a kind: -rewrite-statements gives it one")
	case r.kind == "error" || r.kind == "refused":
		if err == nil {
			return fmt.Errorf("mpga has the answer %s, and had the error %s", firstRows(nil, got), strings.Join(r.answer, "\n"))
		}
		if text := s.errorLines(err); !slices.Equal(text, r.answer) {
			return fmt.Errorf("mpga has the error\n%s\nand had\n%s", strings.Join(text, "\n"), strings.Join(r.answer, "\n"))
		}
		return nil
	case err != nil:
		return fmt.Errorf("mpga has the error %w", err)
	}
	want := make([][]any, len(r.answer))
	for i, line := range r.answer {
		want[i] = readCells(line)
	}
	for i, row := range got {
		got[i] = readCells(rowLine(row))
	}
	return sameCells(want, got, isOrdered(r.statement))
}

// written asks both, and returns the kind of a record and its lines.
func (s *sqlTables) written(t *testing.T, r record) (kind string, answer []string) {
	t.Helper()
	if s.python == nil {
		t.Fatal("-rewrite-statements needs -duckdb-python")
	}
	want, wantErr := s.theirs(r.statement)
	if wantErr != nil && !errors.As(wantErr, new(*peer.EngineError)) {
		t.Fatalf("%s\n%v", r.statement, wantErr)
	}
	got, gotErr := s.ours(r.statement)
	var wrong error
	switch {
	case gotErr != nil && wantErr != nil:
		return "error", s.errorLines(gotErr)
	case gotErr != nil:
		return "refused", s.errorLines(gotErr)
	case wantErr != nil:
		wrong = fmt.Errorf("DuckDB has the error %w, mpga the answer %s", wantErr, firstRows(nil, got))
	default:
		_, wrong = s.holdTo(r.statement, want)
	}
	switch kind = "query"; {
	case wrong != nil && r.kind == "other":
		kind = "other"
	case wrong != nil:
		kind = ""
		t.Errorf("%s\n%v", r.statement, wrong)
	}
	if !isOrdered(r.statement) {
		got = sortedCells(got)
	}
	for _, row := range got {
		answer = append(answer, rowLine(row))
	}
	return kind, answer
}

// errorLines returns the text of an error as the lines of a record, none of them empty.
func (s *sqlTables) errorLines(err error) []string {
	text := strings.ReplaceAll(err.Error(), s.dir, "DIR")
	return slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool { return strings.TrimSpace(line) == "" })
}

// rowLine writes a row as a line of a record; floats have ten digits.
func rowLine(row []any) string {
	texts := make([]string, len(row))
	for i, cell := range row {
		texts[i] = fmt.Sprint(cell)
		switch v := cell.(type) {
		case nil:
			texts[i] = "NULL"
		case float64:
			texts[i] = strconv.FormatFloat(v+0, 'g', 10, 64)
		case string:
			if v == "" || v == "NULL" || !utf8.ValidString(v) || strings.ContainsAny(v, "\t\n\\\"") {
				texts[i] = strconv.Quote(v)
			}
		}
	}
	return strings.Join(texts, "\t")
}

// readCells reads a line of a record: cells are texts, and numbers with a fraction float64.
func readCells(line string) []any {
	texts := strings.Split(line, "\t")
	cells := make([]any, len(texts))
	for i, text := range texts {
		cells[i] = text
		if f, err := strconv.ParseFloat(text, 64); err == nil && (math.Trunc(f) != f || strings.Contains(text, "e")) {
			cells[i] = f
		}
	}
	return cells
}
