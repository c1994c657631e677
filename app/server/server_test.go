//go:build cgo

package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/plan"
)

// open returns a server whose table t is a file of the numbers 1 to 1000 in n, and n%7 in k, and an
// empty directory for its temporary files.
func open(t *testing.T, set func(o *Options)) (*Server, string) {
	t.Helper()
	temp := t.TempDir()
	eng, err := engine.Open(engine.Options{Threads: 2, MemoryLimit: 1 << 30, Device: "cpu", TempDir: temp})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := eng.Close(); err != nil {
			t.Error(err)
		}
	})
	file := filepath.Join(t.TempDir(), "t.csv")
	var text strings.Builder
	text.WriteString("n,k\n")
	for n := 1; n <= 1000; n++ {
		fmt.Fprintf(&text, "%d,%d\n", n, n%7)
	}
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	opt := Options{Engine: eng, TempDir: temp, Tables: map[string]Table{"t": {Files: []string{file}}}}
	if set != nil {
		set(&opt)
	}
	s, err := New(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
			t.Errorf("left in the directory of temporary files: %v, %v", left, err)
		}
	})
	return s, temp
}

func newTestSession(t *testing.T, s *Server, client string) *Session {
	t.Helper()
	session, err := s.NewSession(client)
	if err != nil {
		t.Fatal(err)
	}
	return session
}

// ask returns the rows of a statement as text.
func ask(session *Session, text string) (string, error) {
	st, err := session.Prepare(context.Background(), text)
	if err != nil {
		return "", err
	}
	return run(st)
}

func run(st *Statement) (string, error) {
	r, err := st.Run(context.Background())
	if err != nil {
		return "", err
	}
	defer r.Release()
	var rows []string
	for r.Next() {
		batch := r.RecordBatch()
		for row := range int(batch.NumRows()) {
			var cells []string
			for _, c := range batch.Columns() {
				cells = append(cells, strings.Clone(c.ValueStr(row)))
			}
			rows = append(rows, strings.Join(cells, " "))
		}
	}
	return strings.Join(rows, ", "), r.Err()
}

// wantRows checks the rows of a statement.
func wantRows(t *testing.T, session *Session, text, want string) {
	t.Helper()
	if got, err := ask(session, text); err != nil || got != want {
		t.Errorf("%s: got %q, %v, want %q", text, got, err, want)
	}
}

// numbers returns an Arrow stream of the numbers from one to another.
func numbers(name string, from, to int64) io.Reader {
	schema := arrow.NewSchema([]arrow.Field{{Name: name, Type: arrow.PrimitiveTypes.Int64}}, nil)
	var b bytes.Buffer
	w := ipc.NewWriter(&b, ipc.WithSchema(schema))
	for at := from; at <= to; at += 1000 {
		of := array.NewInt64Builder(memory.DefaultAllocator)
		for n := at; n <= min(at+999, to); n++ {
			of.Append(n)
		}
		column := of.NewArray()
		if err := w.Write(array.NewRecordBatch(schema, []arrow.Array{column}, int64(column.Len()))); err != nil {
			panic(err)
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return &b
}

// A statement runs any number of times, also after its session was asked for others, and is
// forgotten with them where there are too many. R4.
func TestStatements(t *testing.T) {
	s, _ := open(t, func(o *Options) { o.Limits.Statements = 2 })
	session := newTestSession(t, s, "")
	st, err := session.Prepare(context.Background(), "SELECT k, sum(n) FROM main.t WHERE n > ? GROUP BY k ORDER BY k LIMIT 2")
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(st.Schema(), st.Parameters); !strings.Contains(got, "sum(n)") || !strings.Contains(got, "[int64]") {
		t.Errorf("before values: %s", got)
	}
	if _, err := run(st); err == nil || !strings.Contains(err.Error(), "values that are given: 0") {
		t.Errorf("without values: %v", err)
	}
	value := func(text string) []plan.Parameter {
		return []plan.Parameter{{Type: arrow.PrimitiveTypes.Int64, Text: text}}
	}
	if err := st.Bind(context.Background(), [][]plan.Parameter{value("998"), value("999")}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got, err := run(st); err != nil || got != "5 999, 6 1000, 6 1000" {
			t.Errorf("got %q, %v", got, err)
		}
	}
	if same, err := session.Statement(st.Handle); err != nil || same != st {
		t.Errorf("the statement is not found: %v", err)
	}
	for range 2 {
		wantRows(t, session, "SELECT count(*) FROM t", "1000")
	}
	if _, err := session.Statement(st.Handle); !errors.Is(err, ErrUnknown) {
		t.Errorf("the oldest of too many statements: %v", err)
	}
}

// Would catch a run that plans the statement again while another run of the statement goes on, and a plan
// that is closed while a run uses it, or kept once no run does.
func TestRunsShareAPlan(t *testing.T) {
	s, _ := open(t, func(o *Options) { o.Limits.ClientWaiting = 100 })
	session := newTestSession(t, s, "")
	st, err := session.Prepare(context.Background(), "SELECT k, sum(n) FROM t GROUP BY k ORDER BY k LIMIT 2")
	if err != nil {
		t.Fatal(err)
	}
	want, err := run(st)
	if err != nil || st.ready != nil {
		t.Fatalf("alone: %q, %v; a plan is kept: %t", want, err, st.ready != nil)
	}
	first, err := st.prepareRun(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 32 {
		all.Go(func() {
			if got, err := run(st); err != nil || got != want {
				t.Errorf("at once: %q, %v; alone %q", got, err, want)
			}
		})
	}
	second, err := st.prepareRun(t.Context(), nil)
	if err != nil || second != first && time.Since(first.at) < freshMax {
		t.Errorf("another plan for another run, error %v", err)
	}
	all.Wait()
	if err := errors.Join(first.release(), second.release()); err != nil {
		t.Error(err)
	}
	if n := first.Count(); n != 0 {
		t.Errorf("%d runs hold the plan in the end", n)
	}
}

// A session's statements and tables are nobody else's, and a client finds its session again by the
// token. R1.
func TestSessionsApart(t *testing.T) {
	s, _ := open(t, nil)
	a, b := newTestSession(t, s, "ann"), newTestSession(t, s, "bob")
	if _, err := a.Ingest(context.Background(), "mine", IngestMode{Create: true}, numbers("x", 1, 10)); err != nil {
		t.Fatal(err)
	}
	wantRows(t, a, "SELECT sum(x) FROM mine", "55")
	wantRows(t, a, "SELECT sum(x) FROM mpga.temp.mine", "55")
	for _, text := range []string{"SELECT sum(x) FROM mine", "SELECT sum(x) FROM temp.mine"} {
		if got, err := ask(b, text); err == nil {
			t.Errorf("%s: %s by another session", text, got)
		}
	}
	if _, err := ask(a, "SELECT sum(x) FROM main.mine"); err == nil {
		t.Error("a temporary table is in the schema of the server's")
	}
	st, err := a.Prepare(context.Background(), "SELECT 1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Statement(st.Handle); !errors.Is(err, ErrUnknown) {
		t.Errorf("another session has the statement: %v", err)
	}
	release := a.Hold()
	if _, ok := s.Adopt(st.Handle, "ann"); ok {
		t.Error("a session that is used is adopted")
	}
	release()
	if got, ok := s.Adopt(st.Handle, "ann"); !ok || got != a {
		t.Error("a session whose connection is gone is not adopted")
	}
	if _, ok := s.Adopt(st.Handle, "bob"); ok {
		t.Error("another client adopts a session")
	}
	if _, ok := s.Session(a.Token(), "bob"); ok {
		t.Error("another client has a session by its token")
	}
	if got, ok := s.Session(a.Token(), "ann"); !ok || got != a {
		t.Error("a client does not find its session")
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	if _, ok := s.Session(a.Token(), "ann"); ok {
		t.Error("a session that has ended is found")
	}
	if _, err := a.Prepare(context.Background(), "SELECT 1"); !errors.Is(err, ErrUnknown) {
		t.Errorf("a session that has ended prepares: %v", err)
	}
	if _, err := a.Ingest(context.Background(), "x", IngestMode{Create: true}, numbers("x", 1, 2)); !errors.Is(err, ErrUnknown) {
		t.Errorf("a session that has ended takes rows: %v", err)
	}
}

// A session that nobody holds ends by itself, with its tables.
func TestSessionIdle(t *testing.T) {
	s, _ := open(t, func(o *Options) { o.Limits.SessionIdle = 20 * time.Millisecond })
	used, idle := newTestSession(t, s, ""), newTestSession(t, s, "")
	release := used.Hold()
	if _, err := idle.Ingest(context.Background(), "x", IngestMode{Create: true}, numbers("x", 1, 10)); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, "the idle session ends", func() bool { return s.Counts().Sessions == 1 })
	if held := s.Memory().Temporary; held != 0 {
		t.Errorf("%d B of temporary tables are left", held)
	}
	wantRows(t, used, "SELECT 1", "1")
	release()
	waitUntil(t, "the other session ends", func() bool { return s.Counts().Sessions == 0 })
}

// A run ends by its limits, by its client and by the server, and says why.
func TestRunEnds(t *testing.T) {
	s, _ := open(t, func(o *Options) { o.Limits.StallTime, o.Limits.Queries = 50*time.Millisecond, 1 })
	session := newTestSession(t, s, "ann")
	begin := func() *Run {
		st, err := session.Prepare(context.Background(), "SELECT n FROM t")
		if err != nil {
			t.Fatal(err)
		}
		r, err := st.Run(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if !r.Next() {
			t.Fatal(r.Err())
		}
		return r
	}
	r := begin()
	<-r.Ended() // nobody takes rows
	r.Release()
	if !errors.Is(r.Err(), ErrStalled) || r.Status().State != Failed {
		t.Errorf("stalled: %v, %s", r.Err(), r.Status().State)
	}
	r = begin()
	r.Cancel()
	r.Release()
	if !errors.Is(r.Err(), ErrCancelled) || r.Status().State != Cancelled {
		t.Errorf("cancelled: %v, %s", r.Err(), r.Status().State)
	}
	r = begin()
	r.Release()
	if !errors.Is(r.Err(), ErrCancelled) || r.Status().State != Cancelled {
		t.Errorf("released early: %v, %s", r.Err(), r.Status().State)
	}
	r = begin()
	if err := session.Close(); err != nil {
		t.Error(err)
	}
	<-r.Ended()
	r.Release()
	if !errors.Is(r.Err(), ErrCancelled) {
		t.Errorf("the session has ended: %v", r.Err())
	}
	totals := s.Totals()
	if totals.Failed != 1 || totals.Cancelled != 3 || totals.Done != 0 {
		t.Errorf("counted %+v", totals)
	}
	if runs := s.Runs("ann"); len(runs) != 4 || runs[0] != r || len(s.Runs("bob")) != 0 {
		t.Errorf("%d runs are remembered", len(runs))
	}
}

// A client that takes no rows gives its place up, and goes on when it takes rows again. R3.
func TestRunYields(t *testing.T) {
	s, _ := open(t, func(o *Options) { o.Limits.Queries = 1 })
	slow, other := newTestSession(t, s, "slow"), newTestSession(t, s, "other")
	st, err := slow.Prepare(context.Background(), "SELECT n FROM t WHERE n > ?")
	if err != nil {
		t.Fatal(err)
	}
	none := []plan.Parameter{{Type: arrow.PrimitiveTypes.Int64, Text: "0"}}
	if err := st.Bind(context.Background(), [][]plan.Parameter{none, none}); err != nil {
		t.Fatal(err)
	}
	r, err := st.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	if !r.Next() {
		t.Fatal(r.Err())
	}
	wantRows(t, other, "SELECT 1", "1") // which needs no place
	wantRows(t, other, "SELECT count(*) FROM t", "1000")
	if running, _ := s.queue.counts(); running != 0 {
		t.Errorf("%d places are taken while the client takes no rows", running)
	}
	if !r.Next() {
		t.Fatal(r.Err())
	}
	if running, _ := s.queue.counts(); running != 1 { // R2
		t.Errorf("%d places are taken by the client that takes rows again", running)
	}
	for r.Next() {
	}
	if r.Err() != nil || r.Status().Rows != 2000 {
		t.Errorf("the slow client: %v, %d rows", r.Err(), r.Status().Rows)
	}
}

// A statement that runs for too long is ended.
func TestQueryTime(t *testing.T) {
	s, _ := open(t, nil)
	st, err := newTestSession(t, s, "").Prepare(context.Background(), "SELECT n FROM t")
	if err != nil {
		t.Fatal(err)
	}
	s.opt.Limits.QueryTime = time.Millisecond // also bounds how long a statement is prepared
	r, err := st.Run(context.Background())
	if err == nil {
		r.Next()
		<-r.Ended()
		r.Release()
		err = r.Err()
	}
	if !errors.Is(err, ErrTime) || !strings.Contains(err.Error(), "QueryTime") {
		t.Errorf("got %v", err)
	}
}

// A server that drains lets runs end, refuses others, and waits no longer than it is told.
func TestDrain(t *testing.T) {
	s, _ := open(t, nil)
	session := newTestSession(t, s, "")
	st, err := session.Prepare(context.Background(), "SELECT n FROM t")
	if err != nil {
		t.Fatal(err)
	}
	r, err := st.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	s.Drain(short)
	if _, err := st.Run(context.Background()); !errors.Is(err, ErrDraining) {
		t.Errorf("a run begins: %v", err)
	}
	if _, err := session.Prepare(context.Background(), "SELECT 1"); !errors.Is(err, ErrDraining) {
		t.Errorf("a statement is prepared: %v", err)
	}
	if _, err := s.NewSession(""); !errors.Is(err, ErrDraining) {
		t.Errorf("a session begins: %v", err)
	}
	for r.Next() {
	}
	r.Release()
	if r.Err() != nil || r.Status().Rows != 1000 {
		t.Errorf("the run that went on: %v, %d rows", r.Err(), r.Status().Rows)
	}
	s.Drain(context.Background())
}

// Would catch too many sessions, and limits that are none.
func TestLimits(t *testing.T) {
	s, _ := open(t, func(o *Options) { o.Limits.Sessions = 1 })
	first := newTestSession(t, s, "")
	release := first.Hold()
	if _, err := s.NewSession(""); !errors.Is(err, ErrBusy) {
		t.Errorf("a second session: %v", err)
	}
	release()
	newTestSession(t, s, "") // in place of the first, which nobody uses
	if _, err := first.Prepare(context.Background(), "SELECT 1"); !errors.Is(err, ErrUnknown) {
		t.Errorf("the session that made room: %v", err)
	}
	_, err := New(Options{Limits: Limits{Queries: -1, QueryTime: -1, TemporaryBytes: -1}})
	for _, want := range []string{"Queries (-1)", "QueryTime (-1ns)", "TemporaryBytes (-1)"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// Would catch a client's COPY that writes a file on the server's machine.
func TestCopyRefused(t *testing.T) {
	s, _ := open(t, nil)
	session := newTestSession(t, s, "")
	path := filepath.Join(t.TempDir(), "x.csv")
	for _, text := range []string{"COPY (SELECT 1) TO '" + path + "'", "/* a */ copy x to '" + path + "'", "COPY x FROM '" + path + "'"} {
		if _, err := session.Prepare(context.Background(), text); err == nil || !strings.Contains(err.Error(), "COPY writes files") {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file is there: %v", err)
	}
}
