//go:build cgo

package server

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/mpga/mpga/engine/sql"
)

// define runs statements that change what a session has.
func define(t *testing.T, session *Session, texts ...string) (rows int64) {
	t.Helper()
	for _, text := range texts {
		st, err := session.Prepare(context.Background(), text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if rows, err = st.Execute(context.Background()); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	return rows
}

// Tables and views of a session are made, read, replaced and dropped, in memory and in files, and leave nothing. R6.
func TestDefine(t *testing.T) {
	for name, memory := range map[string]int64{"memory": 1 << 20, "files": 1} {
		t.Run(name, func(t *testing.T) {
			s, temp := open(t, func(o *Options) { o.Limits.TemporaryBytes = memory })
			session := newTestSession(t, s, "")
			if _, err := session.Ingest(context.Background(), "x", IngestMode{Create: true}, numbers("v", 1, 3000)); err != nil {
				t.Fatal(err)
			}
			if rows := define(t, session, "CREATE TEMP TABLE y AS SELECT v, v % 7 AS k FROM x WHERE v > 1000"); rows != 2000 {
				t.Errorf("%d rows are made", rows)
			}
			wantRows(t, session, "SELECT count(*), min(v), max(k) FROM Y", "2000 1001 6")
			define(t, session, "CREATE VIEW w (a) AS SELECT sum(v) FROM y", "DROP TABLE x")
			wantRows(t, session, "SELECT a FROM mpga.temp.w", "4001000")
			define(t, session, "CREATE OR REPLACE TABLE y AS SELECT v FROM y WHERE v < 1003", "CREATE TABLE IF NOT EXISTS y AS SELECT 1 AS v")
			wantRows(t, session, "SELECT a FROM w", "2003")
			define(t, session, "DROP TABLE y")
			got, err := ask(session, "SELECT a FROM w")
			if err == nil || !strings.Contains(err.Error(), "view w: no table is named y") {
				t.Errorf("a view of a table that is gone: %s, %v", got, err)
			}
			define(t, session, "DROP VIEW w", "DROP VIEW IF EXISTS w")
			if files, _ := filepath.Glob(filepath.Join(temp, ".mpga-serve*", "*")); len(files) > 0 || s.Memory().Temporary != 0 {
				t.Errorf("left: %v, and %d B", files, s.Memory().Temporary)
			}
		})
	}
}

// Names that are taken, or are not there, are refused where the statement is prepared, or where it runs.
func TestDefineRefused(t *testing.T) {
	s, _ := open(t, nil)
	session := newTestSession(t, s, "")
	define(t, session, "CREATE TABLE mine AS SELECT 1 AS a", "CREATE VIEW seen AS SELECT a FROM mine")
	for text, want := range map[string]string{
		"CREATE TABLE Mine AS SELECT 2":                       "a table is named mine",
		"CREATE VIEW mine AS SELECT 2":                        "mine is a table, and no view",
		"CREATE OR REPLACE TABLE seen AS SELECT 2":            "seen is a view, and no table",
		"CREATE TABLE t AS SELECT 2":                          "t is a table that is given",
		"CREATE TABLE mpga.main.n AS SELECT 2":                "not in mpga.main",
		"CREATE TABLE n AS SELECT b FROM mine":                `column "b" does not exist`,
		"CREATE VIEW n AS SELECT b FROM mine":                 `column "b" does not exist`,
		"CREATE OR REPLACE TABLE IF NOT EXISTS n AS SELECT 2": "do not stand in one statement",
		"DROP TABLE mien":                                     "did you mean mine",
		"DROP TABLE seen":                                     "seen is a view, and no table",
		"DROP VIEW mine":                                      "mine is a table, and no view",
		"DROP TABLE a.b.c":                                    "not in a.b",
		"INSERT INTO mine VALUES (1)":                         "CREATE OR REPLACE TABLE",
	} {
		st, err := session.Prepare(context.Background(), text)
		if err == nil {
			_, err = st.Execute(context.Background())
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
	_, err := session.Prepare(context.Background(), "CREATE TABLE mine AS SELECT 2")
	var at *sql.Error
	if !errors.As(err, &at) || !errors.Is(err, ErrExists) || at.Offset != len("CREATE TABLE ") {
		t.Errorf("a name that is taken: %v", err)
	}
	define(t, session, "CREATE OR REPLACE VIEW seen AS SELECT a FROM seen")
	if got, err := ask(session, "SELECT a FROM seen"); err == nil || !strings.Contains(err.Error(), "reads itself") {
		t.Errorf("a view of itself: %s, %v", got, err)
	}
}

// A run reads the table that was there when it began, also once the table is dropped, and a statement of one session
// makes, replaces and reads a table while another does.
func TestDefineAtOnce(t *testing.T) {
	for name, memory := range map[string]int64{"memory": 1 << 20, "files": 1} {
		t.Run(name, func(t *testing.T) {
			s, _ := open(t, func(o *Options) { o.Limits.TemporaryBytes = memory })
			session := newTestSession(t, s, "")
			_, err := session.Ingest(context.Background(), "source", IngestMode{Create: true}, numbers("v", 1, 5000))
			if err != nil {
				t.Fatal(err)
			}
			define(t, session, "CREATE TABLE x AS FROM source")
			st, err := session.Prepare(context.Background(), "SELECT v FROM x")
			if err != nil {
				t.Fatal(err)
			}
			r, err := st.Run(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			defer r.Release()
			define(t, session, "DROP TABLE x")
			for r.Next() {
			}
			if r.Err() != nil || r.Status().Rows != 5000 {
				t.Errorf("a run of a dropped table: %v, %d rows", r.Err(), r.Status().Rows)
			}
			define(t, session, "CREATE TABLE x AS FROM source")
			var all sync.WaitGroup
			for i := range 4 {
				all.Go(func() {
					for range 10 {
						text := fmt.Sprintf("CREATE OR REPLACE TABLE x AS SELECT v + %d AS v FROM x", i)
						st, err := session.Prepare(context.Background(), text)
						if err == nil {
							_, err = st.Execute(context.Background())
						}
						if err != nil {
							t.Error(err)
						}
						if got, err := ask(session, "SELECT count(*) FROM x"); err != nil || got != "5000" {
							t.Errorf("%s rows, %v", got, err)
						}
					}
				})
			}
			all.Wait()
		})
	}
}

// A DROP and a view have no rows, and what has been made is told by one. Would catch a page that cannot show them.
func TestDefineAnswers(t *testing.T) {
	s, _ := open(t, nil)
	session := newTestSession(t, s, "")
	for _, c := range []struct{ text, want string }{
		{"CREATE TABLE x AS VALUES (1), (2), (3)", "3"}, {"CREATE VIEW w AS FROM x", ""}, {"DROP TABLE x", ""},
	} {
		if got, err := ask(session, c.text); err != nil || got != c.want {
			t.Errorf("%s: %q, %v, want %q", c.text, got, err, c.want)
		}
	}
}
