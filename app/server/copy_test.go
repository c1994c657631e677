//go:build cgo

package server

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mpga/mpga/internal/knob"
	"github.com/mpga/mpga/internal/vfs"
)

// COPY, and a statement whose client asks for files, write whole files where the client stands, or none. Would catch a
// file beside the server, rows of names that mean another table, and what is left of a run that fails.
func TestCopy(t *testing.T) {
	dir := t.TempDir()
	s, _ := open(t, func(o *Options) { o.Files = NewUserFiles(vfs.OS) })
	session := newTestSession(t, s, "")
	write := func(text string, m Meaning) error {
		m.Dir = dir
		st, err := session.PrepareText(context.Background(), text, m)
		if err != nil {
			return err
		}
		rows, err := st.Execute(context.Background())
		if err == nil && rows != 2 {
			t.Errorf("%s: %d rows", text, rows)
		}
		return err
	}
	csv := &Output{To: "out.csv", Options: map[string][]string{"header": {"false"}}}
	if err := write("COPY (SELECT i FROM range(2) t(i)) TO 'in.csv'", Meaning{}); err != nil {
		t.Error(err)
	}
	named := map[string]Named{"x": {Files: []string{"in.csv"}}}
	if err := write("SELECT i + 1 AS i FROM x ORDER BY i", Meaning{Names: named, Output: csv}); err != nil {
		t.Error(err)
	}
	for name, want := range map[string]string{"in.csv": "i\n0\n1\n", "out.csv": "1\n2\n"} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	for _, c := range []struct {
		text string
		to   *Output
		want string
	}{
		{"COPY (SELECT 1 AS a) TO 'x.xls'", nil, "x.xls"},
		{"COPY (SELECT 1 AS a) TO 'x.csv' (NOSUCH 1)", nil, "not supported: NOSUCH of COPY"},
		{"COPY (SELECT i * 9223372036854775807 AS i FROM range(3) t(i)) TO 'x.csv'", nil, "overflow"},
		{"SELECT 1 AS a", &Output{To: "x"}, "names no format"},
		{"DROP TABLE IF EXISTS y", &Output{To: "x.csv"}, "have no rows"},
		{"CREATE TABLE y AS SELECT 1", &Output{To: "x.csv"}, "have no rows"},
	} {
		if err := write(c.text, Meaning{Output: c.to}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.text, err, c.want)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// A server whose clients are not its user writes nothing that they ask for.
func TestOutputRefused(t *testing.T) {
	s, _ := open(t, nil)
	m := Meaning{Output: &Output{To: filepath.Join(t.TempDir(), "x.csv")}}
	if _, err := newTestSession(t, s, "").PrepareText(context.Background(), "SELECT 1 AS a", m); err == nil ||
		!strings.Contains(err.Error(), "write no files") {
		t.Error(err)
	}
}

// Errors name options in the words of whoever starts the server.
func TestWords(t *testing.T) {
	s, _ := open(t, func(o *Options) {
		o.Word = func(n knob.Name) string { return "the knob " + n.String() }
		o.Limits.QueryTime = time.Nanosecond
	})
	if _, err := ask(newTestSession(t, s, ""), "SELECT sum(i) FROM range(100) t(i)"); err == nil ||
		!strings.Contains(err.Error(), "(the knob QueryTime)") {
		t.Error(err)
	}
}
