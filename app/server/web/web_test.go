package web_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/parquet/file"

	"github.com/mpga/mpga/app/server"
	"github.com/mpga/mpga/app/server/web"
	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/internal/vfs"
)

// site is a server of HTTP, and a client of it that keeps cookies.
type site struct {
	t      *testing.T
	url    string
	client *http.Client
}

const evil = `<script>alert("x")</script>`

// newSite starts a server with the tables t, of 250 rows, and evil.
func newSite(t *testing.T, tokens string, change func(*web.Options)) *site {
	t.Helper()
	listener := httptest.NewServer(newService(t, tokens, change).Handler())
	t.Cleanup(listener.Close)
	s := &site{t: t, url: listener.URL}
	return s.another()
}

// newService returns a service, which ends with the test, of the tables that newSite has.
func newService(t *testing.T, tokens string, change func(*web.Options)) *web.Service {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	rows := "day,n,s\n"
	for n := range 250 {
		rows += fmt.Sprintf("2001-01-%02d,%d,%s\n", n%28+1, n, strings.Repeat("a", n%3))
	}
	tables := map[string]server.Table{
		"t":  {Files: []string{write("t.csv", rows)}},
		evil: {Files: []string{write("evil.csv", `"`+strings.ReplaceAll(evil, `"`, `""`)+"\",n\n<b>,1\n")}},
	}
	eng, err := engine.Open(engine.Options{Threads: 2, MemoryLimit: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	core, err := server.New(server.Options{Engine: eng, Tables: tables, TempDir: dir, Record: true})
	if err != nil {
		t.Fatal(err)
	}
	options := web.Options{Server: core, Version: "test"}
	if tokens != "" {
		if options.Tokens, err = server.ReadTokens(strings.NewReader(tokens)); err != nil {
			t.Fatal(err)
		}
	}
	if change != nil {
		change(&options)
	}
	service := web.New(options)
	t.Cleanup(func() {
		for _, err := range []error{service.Stop(t.Context()), core.Close(), eng.Close()} {
			if err != nil {
				t.Error(err)
			}
		}
	})
	return service
}

// another returns another client of the same server.
func (s *site) another() *site {
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return &site{t: s.t, url: s.url, client: &http.Client{Jar: jar}}
}

// ask sends a request, with a body as JSON if it is not nil.
func (s *site) ask(path string, body any, headers ...string) (status int, answer string, header http.Header) {
	s.t.Helper()
	method, reader := http.MethodGet, io.Reader(nil)
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			s.t.Fatal(err)
		}
		method, reader = http.MethodPost, bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, reader)
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		}
	}
	response, err := s.client.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return response.StatusCode, string(text), response.Header
}

// get sends a request whose answer is good, and decodes the answer.
func (s *site) get(path string, body, into any) {
	s.t.Helper()
	status, text, _ := s.ask(path, body)
	if status/100 != 2 {
		s.t.Fatalf("%s: %d %s", path, status, text)
	}
	if into != nil {
		if err := json.Unmarshal([]byte(text), into); err != nil {
			s.t.Fatalf("%s: %v in %s", path, err, text)
		}
	}
}

type object = map[string]any

// run runs a statement to its end.
func (s *site) run(text string) (id int, status struct {
	State, Error, Summary string
	Rows                  int
	Result                struct {
		Rows    int
		Columns []struct {
			Name, Type   string
			Number, Date bool
		}
	}
}) {
	s.t.Helper()
	var started struct{ ID int }
	s.get("/api/statements", object{"text": text}, &started)
	for status.State != "done" && status.State != "failed" && status.State != "cancelled" {
		s.get(fmt.Sprint("/api/runs/", started.ID), nil, &status)
		time.Sleep(2 * time.Millisecond)
	}
	return started.ID, status
}

// rows is a page of a result.
type rows struct {
	Rows  int
	Cells [][]*string
}

// A page's statements make tables and views of its session, which it then lists.
func TestOwnTables(t *testing.T) {
	s := newSite(t, "", nil)
	s.get("/api/session", object{}, nil)
	for _, c := range []struct {
		text string
		rows int
	}{
		{"CREATE TABLE own AS SELECT day, n FROM t WHERE n < 7", 1}, {"CREATE VIEW seen AS SELECT n FROM own", 0},
		{"SELECT * FROM seen", 7}, {"DROP TABLE own", 0},
	} {
		if _, status := s.run(c.text); status.State != "done" || status.Result.Rows != c.rows {
			t.Errorf("%s: %+v", c.text, status)
		}
	}
	var answer struct {
		Tables []struct {
			Name, Error string
			Temporary   bool
		}
	}
	s.get("/api/tables", nil, &answer)
	last := answer.Tables[len(answer.Tables)-1]
	if last.Name != "seen" || !last.Temporary || !strings.Contains(last.Error, "view seen: no table is named own") {
		t.Errorf("the tables: %+v", answer.Tables)
	}
}

// Would catch a result with wrong types, rows or orders, and a page that is not one.
func TestStatement(t *testing.T) {
	s := newSite(t, "", nil)
	s.get("/api/session", object{}, nil)
	id, status := s.run("SELECT day, n, s, CAST(NULL AS DOUBLE) AS nothing FROM t ORDER BY n")
	if status.State != "done" || status.Result.Rows != 250 {
		t.Fatalf("%+v", status)
	}
	columns := status.Result.Columns
	if columns[0].Type != "DATE" || !columns[0].Date || columns[1].Type != "BIGINT" || !columns[1].Number || columns[2].Number || !columns[3].Number {
		t.Errorf("columns: %+v", columns)
	}
	for path, want := range map[string]string{
		"?offset=0&limit=1":                                 "2001-01-01 0 NULL NULL",
		"?offset=249&limit=100":                             "2001-01-26 249 NULL NULL",
		"?offset=0&limit=1&sort=1&descending=true":          "2001-01-26 249 NULL NULL",
		"?offset=1&limit=1&sort=2":                          "",
		"?offset=5000&limit=10":                             "",
		"?offset=2&limit=1&sort=1&descending=false&other=1": "2001-01-03 2 aa NULL",
	} {
		var page rows
		s.get(fmt.Sprint("/api/results/", id, path), nil, &page)
		if page.Rows != 250 || len(page.Cells) > 1 {
			t.Errorf("%s: %d rows of %d", path, len(page.Cells), page.Rows)
		}
		got := ""
		for _, row := range page.Cells {
			for _, cell := range row {
				if cell == nil {
					got += " NULL"
				} else {
					got += " " + *cell
				}
			}
		}
		if want != "" && strings.TrimSpace(got) != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	for _, path := range []string{"?offset=x", "?sort=9", "?limit=1.5", "/file?format=exe", "/chart?kind=pie&x=0&y=1",
		"/chart?kind=bar&x=0&y=2", "/chart?kind=bar&x=0", "/chart?kind=line&x=0&by=9&y=1",
		"/chart?kind=line&x=0&by=2&y=1&y=1"} {
		if status, text, _ := s.ask(fmt.Sprint("/api/results/", id, path), nil); status/100 != 4 || !strings.Contains(text, `"message"`) {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
	if status, _, _ := s.another().ask(fmt.Sprint("/api/results/", id), nil); status != http.StatusConflict {
		t.Errorf("a browser without a session: %d", status)
	}
	for _, want := range []int{http.StatusOK, http.StatusNotFound} { // the second time, it is gone
		if status, _, _ := s.ask(fmt.Sprint("/api/results/", id, "/drop"), object{}); status != want {
			t.Errorf("dropping a result: %d, want %d", status, want)
		}
	}
	if status, _, _ := s.ask("/api/results/999", nil); status != http.StatusNotFound {
		t.Errorf("a result that is not there: %d", status)
	}
}

// Would catch a page of long texts in many columns that is larger than W5 says, and texts that are cut
// though they have room.
func TestPageBytes(t *testing.T) {
	s := newSite(t, "", nil)
	s.get("/api/session", object{}, nil)
	long := strings.Repeat("é", 1500)
	id, status := s.run("SELECT n" + strings.Repeat(", '"+long+"'", 40) + " FROM t")
	if status.State != "done" {
		t.Fatalf("%+v", status)
	}
	if _, answer, _ := s.ask(fmt.Sprint("/api/results/", id, "?limit=1000"), nil); len(answer) > 9<<20 || !utf8.ValidString(answer) {
		t.Errorf("a page of %d bytes", len(answer))
	}
	var page rows
	s.get(fmt.Sprint("/api/results/", id, "?limit=10"), nil, &page)
	if got := *page.Cells[0][1]; len(page.Cells) != 10 || got != long[:2000]+"…" {
		t.Errorf("%d rows, and a text of %d bytes", len(page.Cells), len(got))
	}
}

// Would catch a place of an error that a browser, which counts UTF-16, shows elsewhere.
func TestWrongStatement(t *testing.T) {
	s := newSite(t, "", nil)
	s.get("/api/session", object{}, nil)
	for text, at := range map[string]int{"SELECT '🙂é', delya FROM t": 14, "SELECT n,,n FROM t": 9, "SELECT n FROM": 13} {
		status, answer, _ := s.ask("/api/statements", object{"text": text})
		var wrong struct{ Error struct{ At int } }
		if err := json.Unmarshal([]byte(answer), &wrong); err != nil || status != http.StatusUnprocessableEntity || wrong.Error.At != at {
			t.Errorf("%s: %d %s, want it at %d", text, status, answer, at)
		}
	}
	if status, answer, _ := s.ask("/api/statements", object{"text": "SELECT n FROM t WHERE n = ?"}); status != http.StatusBadRequest {
		t.Errorf("parameters: %d %s", status, answer)
	}
	if status, _, _ := s.ask("/api/statements", object{"text": strings.Repeat("x", 1<<20)}); status != http.StatusRequestEntityTooLarge {
		t.Errorf("a large request: %d", status)
	}
	_, failed := s.run("SELECT CAST(s AS BIGINT) FROM t")
	if failed.State != "failed" || failed.Error == "" {
		t.Errorf("%+v", failed)
	}
}

// Would catch files of results that no reader takes.
func TestFiles(t *testing.T) {
	s := newSite(t, "", nil)
	s.get("/api/session", object{}, nil)
	id, _ := s.run("SELECT n, s FROM t ORDER BY n")
	file := func(format string) []byte {
		status, text, header := s.ask(fmt.Sprint("/api/results/", id, "/file?sort=0&descending=true&format=", format), nil)
		if status != http.StatusOK || !strings.HasPrefix(header.Get("Content-Disposition"), "attachment") {
			t.Fatalf("%s: %d %v", format, status, header)
		}
		return []byte(text)
	}
	lines, err := csv.NewReader(bytes.NewReader(file("csv"))).ReadAll()
	if err != nil || len(lines) != 251 || lines[1][0] != "249" {
		t.Errorf("CSV: %d lines, %v", len(lines), err)
	}
	reader, err := ipc.NewReader(bytes.NewReader(file("arrows")))
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Release()
	n := int64(0)
	for reader.Next() {
		n += reader.RecordBatch().NumRows()
	}
	if n != 250 || reader.Err() != nil {
		t.Errorf("Arrow: %d rows, %v", n, reader.Err())
	}
	checkParquet(t, file("parquet"))
}

func checkParquet(t *testing.T, text []byte) {
	t.Helper()
	reader, err := file.NewParquetReader(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if reader.NumRows() != 250 {
		t.Errorf("Parquet: %d rows", reader.NumRows())
	}
}

// Would catch a run that is not listed, explained, drawn, reported or cancelled.
func TestRuns(t *testing.T) {
	s := newSite(t, "", nil)
	s.get("/api/session", object{}, nil)
	id, status := s.run("SELECT s, sum(n) FROM t GROUP BY s")
	if !strings.Contains(status.Summary, "of the workers' time") {
		t.Errorf("summary: %q", status.Summary)
	}
	for path, want := range map[string]string{
		"/api/runs":                               `"state":"done"`,
		fmt.Sprint("/api/runs/", id, "/plan"):     "scan",
		fmt.Sprint("/api/runs/", id, "/timeline"): "worker 0",
		fmt.Sprint("/api/runs/", id, "/report"):   "of the workers",
		"/api/samples":                            `"resident":`,
		"/api/tables":                             `"name":"n","type":"BIGINT"`,
		"/api/functions":                          `"name":"date_trunc"`,
	} {
		if code, text, _ := s.ask(path, nil); code != http.StatusOK || !strings.Contains(text, want) {
			t.Errorf("%s: %d, no %q in %.300s", path, code, want, text)
		}
	}
	if code, text, _ := s.ask("/api/explain", object{"text": "SELECT n FROM t"}); code != http.StatusOK || !strings.Contains(text, "project: n int64") {
		t.Errorf("explain: %d %s", code, text)
	}
	if code, _, _ := s.ask(fmt.Sprint("/api/runs/", id, "/cancel"), object{}); code != http.StatusOK {
		t.Errorf("cancel: %d", code)
	}
	if code, _, _ := s.ask("/api/runs/77", nil); code != http.StatusNotFound {
		t.Errorf("a run that is not there: %d", code)
	}
}

// Would catch a line of the first rows in place of the first x, a second key that is no series, and what is not drawn
// but not said.
func TestCharts(t *testing.T) {
	s := newSite(t, "", nil)
	s.get("/api/session", object{}, nil)
	var chart struct {
		Picture, Note string
		Values        [][]*string
	}
	id, status := s.run("SELECT 3000 - i AS x, [i] AS l, i % 10 AS k, i AS n FROM range(3000) r(i)")
	if status.State != "done" {
		t.Fatalf("%+v", status)
	}
	draw := func(query string) {
		t.Helper()
		chart.Values = nil
		s.get(fmt.Sprint("/api/results/", id, "/chart?", query), nil, &chart)
	}
	draw("kind=line&x=0&y=3")
	if len(chart.Values) != 2000 || *chart.Values[0][0] != "1" || !strings.Contains(chart.Note, "2,000 rows of 3,000") {
		t.Errorf("%d values from %s: %q", len(chart.Values), *chart.Values[0][0], chart.Note)
	}
	draw("kind=scatter&x=0&y=3")
	if *chart.Values[0][0] != "3000" {
		t.Errorf("points begin at %s", *chart.Values[0][0])
	}
	draw("kind=line&x=0&by=2&y=3")
	if n := strings.Count(chart.Picture, "<polyline"); n != 8 || !strings.Contains(chart.Note, "Of 10 values") {
		t.Errorf("%d lines of 10 values: %q", n, chart.Note)
	}
	if len(chart.Values[0]) != 3 {
		t.Errorf("%d cells of x, by and y", len(chart.Values[0]))
	}
}

// Would catch a file that is taken where none may come, by somebody without a session, or larger than allowed, and one
// that statements do not read.
func TestUploads(t *testing.T) {
	dir := t.TempDir()
	allowed, err := server.Allow(vfs.OS, dir)
	if err != nil {
		t.Fatal(err)
	}
	uploads, err := allowed.Uploads(2 << 20)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = uploads.Close(), allowed.Close() }()
	s := newSite(t, "", func(o *web.Options) { o.Uploads = uploads })
	refused := newSite(t, "", nil)
	refused.get("/api/session", object{}, nil)
	code, text, _ := refused.ask("/api/uploads/a.csv", "x")
	if code != http.StatusForbidden || !strings.Contains(text, "--uploads") {
		t.Errorf("of a server without uploads: %d %s", code, text)
	}
	if code, _, _ := s.ask("/api/uploads/a.json", "x"); code != http.StatusConflict {
		t.Errorf("without a session: %d", code)
	}
	s.get("/api/session", object{}, nil)
	var taken struct{ Name string }
	s.get("/api/uploads/a.json", object{"n": strings.Repeat("a", 3<<19)}, &taken) // more than other bodies may have
	if taken.Name != "uploads/a.json" {
		t.Errorf("taken as %q", taken.Name)
	}
	code, text, _ = s.ask("/api/uploads/b.json", object{"n": strings.Repeat("a", 1<<20)})
	if code != http.StatusRequestEntityTooLarge {
		t.Errorf("beyond the limit: %d %s", code, text)
	}
	if code, _, _ := s.ask("/api/uploads/c.json", object{}, "Sec-Fetch-Site", "cross-site"); code != http.StatusForbidden {
		t.Errorf("from another site: %d", code)
	}
	if list, err := os.ReadDir(filepath.Join(dir, server.UploadsDir)); err != nil || len(list) != 1 {
		t.Errorf("files: %v, %v", list, err)
	}
}

// Would catch names and values that become markup in what the server draws. W3.
func TestEscapes(t *testing.T) {
	s := newSite(t, "", nil)
	s.get("/api/session", object{}, nil)
	quoted := `"` + strings.ReplaceAll(evil, `"`, `""`) + `"`
	id, status := s.run("SELECT " + quoted + ", n AS " + quoted[:len(quoted)-1] + `2" FROM ` + quoted)
	if status.State != "done" {
		t.Fatalf("%+v", status)
	}
	var chart struct{ Picture string }
	s.get(fmt.Sprint("/api/results/", id, "/chart?kind=bar&x=0&y=1"), nil, &chart)
	_, report, header := s.ask(fmt.Sprint("/api/runs/", id, "/report"), nil)
	_, timeline, _ := s.ask(fmt.Sprint("/api/runs/", id, "/timeline"), nil)
	for name, text := range map[string]string{"chart": chart.Picture, "report": report, "timeline": timeline} {
		if strings.Contains(text, "<script>alert") || strings.Contains(text, "<b>") {
			t.Errorf("%s: %s", name, text)
		}
	}
	if !strings.Contains(chart.Picture, "&lt;b&gt;") {
		t.Errorf("the chart has no %q: %s", "<b>", chart.Picture)
	}
	for _, directive := range []string{"default-src 'none'", "script-src 'sha256-"} {
		if policy := header.Get("Content-Security-Policy"); !strings.Contains(policy, directive) || strings.Contains(policy, "script-src 'unsafe") {
			t.Errorf("the report's policy: %s", policy)
		}
	}
	_, index, header := s.ask("/", nil)
	if policy := header.Get("Content-Security-Policy"); !strings.Contains(policy, "script-src 'self';") || strings.Contains(policy, "unsafe") {
		t.Errorf("the page's policy: %s", policy)
	}
	if strings.Contains(index, "<script>") || strings.Contains(index, "http") {
		t.Errorf("the page has an inline script, or something of elsewhere")
	}
}
