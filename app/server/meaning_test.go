package server

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/vfs"
)

// sessionOf returns a session of a server, and reads numbers from a statement.
func sessionOf(t *testing.T, opt Options) (session *Session, answer func(text string, m Meaning) (string, error)) {
	t.Helper()
	eng, err := engine.Open(engine.Options{Device: "cpu"})
	if err != nil {
		t.Fatal(err)
	}
	opt.Engine = eng
	s, err := New(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := eng.Close(); err != nil {
			t.Error(err)
		}
	})
	if session, err = s.NewSession(""); err != nil {
		t.Fatal(err)
	}
	return session, func(text string, m Meaning) (out string, err error) {
		ctx := context.Background()
		parse := func(ctx context.Context) (*sql.Select, error) { return sql.ParseContext(ctx, text) }
		st, err := session.PrepareParsed(ctx, text, parse, m)
		if err != nil {
			return "", err
		}
		run, err := st.Run(ctx)
		if err != nil {
			return "", err
		}
		defer run.Release()
		for run.Next() {
			for _, c := range run.RecordBatch().Columns() {
				out += c.String()
			}
		}
		return out, run.Err()
	}
}

// TestMeaning reads files by names that a client gives them for one statement, where the client stands.
func TestMeaning(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a.csv": "x\n1\n", "b.csv": "x\n2\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	session, answer := sessionOf(t, Options{Files: NewUserFiles(vfs.OS), Tables: map[string]Table{"t": {Files: []string{filepath.Join(dir, "a.csv")}}}})
	for _, c := range []struct {
		text    string
		meaning Meaning
		want    string // or a part of the error
	}{
		{"SELECT sum(x) FROM t", Meaning{}, "[1]"},
		{"SELECT sum(x) FROM t", Meaning{Names: map[string]Named{"T": {Files: []string{filepath.Join(dir, "b.csv")}}}}, "[2]"},
		{"SELECT sum(x) FROM t", Meaning{Names: map[string]Named{"t": {Files: []string{"*.csv"}}}, Dir: dir}, "[3]"},
		{"SELECT sum(x) FROM 'b.csv'", Meaning{Dir: dir}, "[2]"},
		{"SELECT sum(x) FROM 'b.csv'", Meaning{}, "no such file"},
		{"SELECT sum(x) FROM t", Meaning{Names: map[string]Named{"t": {Table: "python_1"}}}, "which the session does not have"},
	} {
		got, err := answer(c.text, c.meaning)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s, %+v: %s; want %s", c.text, c.meaning, got, c.want)
		}
	}
	if _, err := session.Prepare(context.Background(), "SELECT sum(x) FROM '-'"); err == nil {
		t.Error("a client reads the standard input of the server")
	}
}

// TestUserFilesAreRead refuses whatever writes.
func TestUserFilesAreRead(t *testing.T) {
	dir := t.TempDir()
	files := NewUserFiles(vfs.OS).in(dir)
	if _, err := files.Create(filepath.Join(dir, "x"), 0o600); err == nil {
		t.Error("a file is made")
	}
	if err := files.Remove(dir); err == nil {
		t.Error("a directory is removed")
	}
	if _, err := files.Upload("s3://bucket/x"); err == nil {
		t.Error("an object is made")
	}
}

// TestNoMeaningOpensFiles keeps a client from the files of a server that lets it read none. R1.
func TestNoMeaningOpensFiles(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.csv")
	if err := os.WriteFile(file, []byte("x\n1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, answer := sessionOf(t, Options{})
	got, err := answer("SELECT x FROM t", Meaning{Names: map[string]Named{"t": {Files: []string{file}}}, Dir: filepath.Dir(file)})
	if err == nil || !strings.Contains(err.Error(), "reads no files") {
		t.Errorf("%q, %v; want that the server reads no files", got, err)
	}
}
