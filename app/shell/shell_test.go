//go:build cgo

package shell

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mpga/mpga/app/temporary"
	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/sink"
	"github.com/mpga/mpga/engine/sql"
)

// typedLines are the lines of a person, with ^C for a line that is given up, and what was asked of a
// completer.
type typedLines struct {
	lines      []string
	prompts    []string
	remembered []string
	before     func(line string) // called before a line is returned
}

func (l *typedLines) Line(_ context.Context, prompt string) (string, error) {
	l.prompts = append(l.prompts, prompt)
	if len(l.lines) == 0 {
		return "", io.EOF
	}
	line := l.lines[0]
	l.lines = l.lines[1:]
	if l.before != nil {
		l.before(line)
	}
	if line == "^C" {
		return "", ErrAborted
	}
	return line, nil
}

func (l *typedLines) Remember(text string) { l.remembered = append(l.remembered, text) }

// session has an engine, and keeps what a shell prints and reports.
type session struct {
	opt    Options
	lines  *typedLines
	out    bytes.Buffer
	errors []error
}

func newSession(t *testing.T, lines ...string) *session {
	t.Helper()
	eng, err := engine.Open(engine.Options{Threads: 2, Device: "cpu"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := eng.Close(); err != nil {
			t.Error(err)
		}
	})
	file := filepath.Join(t.TempDir(), "in.csv")
	if err := os.WriteFile(file, []byte("city,n\nUlm,1\nUlm,2000\nBonn,5\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	store := temporary.NewStore(temporary.Options{Engine: eng, Dir: t.TempDir()})
	t.Cleanup(func() {
		if err := store.Close(); err != nil || store.MemoryBytes() != 0 || store.DiskBytes() != 0 {
			t.Errorf("%d B in memory and %d B on disk are left, %v", store.MemoryBytes(), store.DiskBytes(), err)
		}
	})
	s := &session{lines: &typedLines{lines: lines}}
	s.opt = Options{
		Engine: eng, Store: store, In: s.lines, Out: &s.out, Interactive: true,
		Plan:   plan.Options{Tables: map[string]plan.Table{"t": {Files: []string{file}}}},
		Sink:   sink.Options{Format: sink.CSV},
		Report: func(err error) { s.errors = append(s.errors, err) },
	}
	return s
}

// run runs the shell to its end.
func (s *session) run(t *testing.T) *Shell {
	t.Helper()
	shell := New(s.opt)
	if err := shell.Run(t.Context()); err != nil {
		t.Errorf("Run: %v", err)
	}
	return shell
}

func (s *session) check(t *testing.T, want string, errs ...string) {
	t.Helper()
	if got := s.out.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if len(s.errors) != len(errs) {
		t.Fatalf("errors: %v, want %q", s.errors, errs)
	}
	for i, err := range s.errors {
		if !strings.Contains(err.Error(), errs[i]) {
			t.Errorf("error %d: got %v, want %s", i, err, errs[i])
		}
	}
}

// Would catch a statement that ends too early or too late, lines that are lost or kept after Ctrl-C or
// an error, and a prompt that does not say whether a statement goes on.
func TestStatements(t *testing.T) {
	s := newSession(t, "select city, -- ;", "  sum(n) as n from t", "group by 1 order by 1; select ';' as a;", "",
		"select given up", "^C", "select 1", "as b;-- done", "/* open", "; */ select 2 as c;", "select nothing", "from t; select 3 as never;", "select 4 as d;")
	s.run(t)
	s.check(t, "city,n\nBonn,5\nUlm,2001\na\n;\nb\n1\nc\n2\nd\n4\n\n", `column "nothing" does not exist`)
	var at *sql.Error
	if !errors.As(s.errors[0], &at) || !strings.HasSuffix(strings.Split(s.errors[0].Error(), "\n")[2], "       ^") {
		t.Errorf("the error does not point at its place: %v", s.errors[0])
	}
	more, first := " ...> ", "mpga> "
	want := []string{first, more, more, first, first, more, first, more, first, more, first, more, first, first}
	if !slices.Equal(s.lines.prompts, want) {
		t.Errorf("prompts: %q, want %q", s.lines.prompts, want)
	}
	if n := len(s.lines.remembered); n != 6 || s.lines.remembered[1] != "select ';' as a;" {
		t.Errorf("remembered: %q", s.lines.remembered)
	}
}

func TestVerbs(t *testing.T) {
	s := newSession(t, ".mode json", "describe t;", "summarize select n from t;", "explain select count(*) from t;")
	s.run(t)
	for _, want := range []string{
		`{"column_name":"n","column_type":"BIGINT","null":"YES","key":null,"default":null,"extra":null}`,
		`"min":"1","max":"2000","approx_unique":3,`, "aggregate: count(*)\n",
	} {
		if !strings.Contains(s.out.String(), want) {
			t.Errorf("%s is not in\n%s", want, &s.out)
		}
	}
	s.check(t, s.out.String())
}

func TestCommands(t *testing.T) {
	s := newSession(t, ".tables", ".mode tabel", ".mode markdown", ".separators on", "select max(n) from t;", ".separators perhaps",
		".tabels", ".frobnicate", ".schema t;", ".mode csv", ".maxrows many", ".timer on", ".timer off", ".open", ".mode parquet", ".quit", ".tables")
	file := s.opt.Plan.Tables["t"].Files[0]
	s.run(t)
	s.check(t, "t  "+file+"\n| max(n) |\n|--:|\n| 2,000 |\n"+
		"| column_name | column_type | null | key | default | extra |\n|---|---|---|---|---|---|\n| city | VARCHAR | YES |  |  |  |\n| n | BIGINT | YES |  |  |  |\n",
		"did you mean table?", "want on or off", "no command is named .tabels; did you mean .tables", ".help lists the commands", "want a number of rows",
		"want the names of files", "not for a terminal")
	if s.lines.remembered[0] != ".tables" || len(s.lines.lines) != 1 {
		t.Errorf("remembered %q, left %q", s.lines.remembered, s.lines.lines)
	}
}

// Files are looked at when they become tables. Would catch a table of a file that is not there, one that is lost by
// another that cannot be read, and an error that points at a statement that nobody wrote.
func TestTablesOfFiles(t *testing.T) {
	s := newSession(t, ".open nothing.csv", ".table 't' nothing.csv", "select count(*) as n from t;", ".table 'two words' FILE",
		"select max(n) as m from \"two words\";", ".open FILE", "drop table if exists mine;", "create table mine as select 1 as one;", ".table mine FILE")
	file := s.opt.Plan.Tables["t"].Files[0]
	for i, line := range s.lines.lines {
		s.lines.lines[i] = strings.ReplaceAll(line, "FILE", file)
	}
	s.opt.Files = []string{file}
	s.run(t)
	s.check(t, "\"in\" has 2 columns\nn\n3\n\"two words\" has 2 columns\nm\n2000\n\"in\" has 2 columns\n1 row in mine\n\n",
		"nothing.csv: no such file", "nothing.csv: no such file", "mine is a table or a view")
	if text := s.errors[0].Error(); strings.Contains(text, "\n") {
		t.Errorf("the error has lines: %q", text)
	}
	s = newSession(t, ".quit")
	s.opt.Files = []string{"nothing.csv"}
	if err := New(s.opt).Run(t.Context()); err == nil || !strings.Contains(err.Error(), "nothing.csv: no such file") {
		t.Errorf("a shell begins without its table: %v", err)
	}
}

// Words of other shells are commands where a statement may begin, and words within one.
func TestWordsOfOtherShells(t *testing.T) {
	for _, leave := range []string{"quit", "EXIT;", "\\q", ".exit", " quit ; "} {
		s := newSession(t, leave, "select 1 as a;")
		s.run(t)
		s.check(t, "")
	}
	s := newSession(t, "\\dt", "\\d t", "\\d;", "help", "select 1 as", "quit", ";", "help me;", "\\nosuch", "SHOW TABLES;")
	file := s.opt.Plan.Tables["t"].Files[0]
	s.run(t)
	text := s.out.String()
	tables, rest, _ := strings.Cut(text, "column_name,")
	_, rest, _ = strings.Cut(rest, "n,BIGINT,YES,,,\n")
	if tables != "t  "+file+"\n" || !strings.HasPrefix(rest, "t  "+file+"\n.help") || !strings.HasSuffix(text, "quit\n1\nname\nt\n\n") {
		t.Errorf("got\n%s", text)
	}
	s.check(t, text, "a statement begins with", "no command is named \\nosuch")
}

// A file that results go to holds the last of them, whole; .output alone shows results again.
func TestOutput(t *testing.T) {
	dir := t.TempDir()
	to := filepath.Join(dir, "out file.json")
	s := newSession(t, ".output '"+to+"'", "select 1 as a;", "select n from t where n > 2 order by 1;", ".output", "select 2 as b;", ".output x.unknown")
	s.run(t)
	s.check(t, "1 row to "+to+"\n2 rows to "+to+"\nb\n2\n\n", "the ending names no format")
	if got, err := os.ReadFile(to); err != nil || string(got) != "{\"n\":5}\n{\"n\":2000}\n" {
		t.Errorf("the file: %q, %v", got, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// Would catch an interrupt that ends the shell, that is lost while a statement runs, and that a later
// statement gets.
func TestInterrupt(t *testing.T) {
	s := newSession(t, "select 1 as a;", "select count(*) from t;", "select 2 as b;")
	interrupts := make(chan os.Signal, 1)
	s.opt.Interrupts = interrupts
	s.lines.before = func(line string) {
		if strings.HasSuffix(line, "a;") {
			interrupts <- os.Interrupt // no statement runs: it is of the past
		}
	}
	begun := 0
	s.opt.Progress = func(bool) func() { // while a statement runs
		if begun++; begun == 2 {
			interrupts <- os.Interrupt
			for len(interrupts) > 0 { // until it is heard
			}
		}
		return func() {}
	}
	s.opt.Plan.Tables["t"] = plan.Table{Files: slices.Repeat(s.opt.Plan.Tables["t"].Files, 2000)}
	s.run(t)
	s.check(t, "a\n1\nb\n2\n\n", errCancelled.Error())
}

// Would catch a script that goes on after an error, an error without its line, and a last statement
// that needs a semicolon.
func TestScript(t *testing.T) {
	for _, c := range []struct{ script, out, err string }{
		{"select 1 as a;\n-- the end", "a\n1\n", ""},
		{"select 1 as a", "a\n1\n", ""},
		{"", "", ""},
		{"select 1 as a;\n\nselect\n b;\nselect 2 as c;", "a\n1\n", "line 3: column \"b\" does not exist"},
		{".mode json\n.moed csv\nselect 1;", "", "line 2: no command is named .moed; did you mean .mode?"},
		{"select 1 as a; .mode json", "a\n1\n", "line 1: syntax error"},
		{"select '" + strings.Repeat("x", statementBytesMax), "", "line 1: a statement is longer than 512 KiB"},
		{strings.Repeat("select\n", statementBytesMax/7+1), "", "line 1: a statement is longer"},
	} {
		s := newSession(t)
		s.opt.In, s.opt.Interactive = PlainLines(strings.NewReader(c.script)), false
		err := New(s.opt).Run(t.Context())
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%.60q: got %v, want %s", c.script, err, c.err)
		}
		s.check(t, c.out)
	}
}

// Completion knows the lines before, commands and their arguments.
func TestComplete(t *testing.T) {
	s := newSession(t)
	shell := New(s.opt)
	check := func(line string, start int, want ...string) {
		t.Helper()
		if at, got := shell.Complete(t.Context(), line, len(line)); at != start || !slices.Equal(got, want) {
			t.Errorf("%s: from %d %q, want from %d %q", line, at, got, start, want)
		}
	}
	check("select ci", 7, "city")
	check(".ma", 0, ".maxrows")
	check(".mode c", 6, "csv")
	check(".timer ", 7, "on", "off")
	check(".schema t", 8, "t")
	dir := filepath.Dir(s.opt.Plan.Tables["t"].Files[0])
	check(".open "+dir+"/i", 6, dir+"/in.csv")
	check("select * from '"+dir+"/i", 15, dir+"/in.csv'")
	if err := shell.take(t.Context(), "select n from t"); err != nil {
		t.Fatal(err)
	}
	check("where ci", 6, "city")
	check(".ma", 1) // within a statement it is no command
}

// A result that is longer than the screen goes through the pager, whole, and a shorter one does not.
func TestPager(t *testing.T) {
	to := filepath.Join(t.TempDir(), "paged")
	s := newSession(t, "select 1 as a;", "select n from t order by n;", ".pager off", "select n from t order by n;", ".pager exit 127", "select n from t;",
		".pager head -1 >"+to+"2", "select n from t order by n;")
	s.opt.Screen = func() (columns, lines int) { return 80, 3 }
	s.opt.Pager = "cat >" + to
	s.run(t)
	s.check(t, "a\n1\nn\n1\n5\n2000\n\n", "(.pager off shows results without it)")
	for name, want := range map[string]string{to: "n\n1\n5\n2000\n", to + "2": "n\n"} {
		if got, err := os.ReadFile(name); err != nil || string(got) != want {
			t.Errorf("the pager got %q, %v, want %q", got, err, want)
		}
	}
}
