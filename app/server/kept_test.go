package server_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/app/server"
	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/sink/text"
)

// keeping is a session of a server with a table of numbers n, from 0 on, and texts s, of which each
// tenth is NULL.
type keeping struct {
	*server.Session
	t      *testing.T
	server *server.Server
	temp   string
}

func newKeeping(t *testing.T, rows int, limits server.Limits) *keeping {
	t.Helper()
	k := &keeping{t: t, temp: t.TempDir()}
	var csv strings.Builder
	csv.WriteString("n,s\n")
	for n := range rows {
		s := ""
		if n%10 > 0 {
			s = fmt.Sprint("x", n%7)
		}
		fmt.Fprintf(&csv, "%d,%s\n", n, s)
	}
	file := filepath.Join(t.TempDir(), "t.csv")
	if err := os.WriteFile(file, []byte(csv.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	eng, err := engine.Open(engine.Options{Threads: 2, MemoryLimit: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	k.server, err = server.New(server.Options{
		Engine: eng, Tables: map[string]server.Table{"t": {Files: []string{file}}}, TempDir: k.temp, Limits: limits,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := k.server.Close(); err != nil {
			t.Error(err)
		}
		if left := k.server.Memory().Temporary; left != 0 {
			t.Errorf("%d bytes of results are left", left)
		}
		if files, _ := os.ReadDir(k.temp); len(files) != 0 {
			t.Errorf("files are left: %v", files)
		}
		if err := eng.Close(); err != nil {
			t.Error(err)
		}
	})
	if k.Session, err = k.server.NewSession(""); err != nil {
		t.Fatal(err)
	}
	return k
}

// keep runs a statement and keeps its result.
func (k *keeping) keep(text string) (status server.Status, kept *server.Kept) {
	k.t.Helper()
	st, err := k.Prepare(k.t.Context(), text)
	if err != nil {
		k.t.Fatal(err)
	}
	run, err := st.Run(k.t.Context())
	if err != nil {
		k.t.Fatal(err)
	}
	err = k.Keep(run)
	run.Release()
	if err != nil {
		k.t.Fatal(err)
	}
	return run.Status(), k.kept(run.ID)
}

// kept returns a result that the session keeps, and gives it back with the test.
func (k *keeping) kept(id int64) *server.Kept {
	k.t.Helper()
	kept, release, err := k.Kept(id)
	if err != nil {
		k.t.Fatal(err)
	}
	if err := release(); err != nil {
		k.t.Fatal(err)
	}
	return kept
}

// page returns rows as lines.
func page(t *testing.T, k *server.Kept, offset, limit int64) (lines []string) {
	t.Helper()
	err := k.Page(offset, limit, func(batch arrow.RecordBatch) error {
		for row := range int(batch.NumRows()) {
			var cells []string
			for _, column := range batch.Columns() {
				cell, valid := text.Appender(column)(nil, row)
				if !valid {
					cell = []byte("NULL")
				}
				cells = append(cells, string(cell))
			}
			lines = append(lines, strings.Join(cells, ","))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// Would catch a page that lacks rows or has others, at the edges of batches and of the result, in
// memory and in a file.
func TestKeptPages(t *testing.T) {
	const rows = 5000
	for name, limits := range map[string]server.Limits{"memory": {}, "file": {TemporaryBytes: 1}, "both": {TemporaryBytes: 30_000}} {
		t.Run(name, func(t *testing.T) {
			k := newKeeping(t, rows, limits)
			_, kept := k.keep("SELECT n, s FROM t ORDER BY n")
			if kept.Rows != rows || !kept.Whole {
				t.Fatalf("%d rows, whole %v", kept.Rows, kept.Whole)
			}
			all := page(t, kept, 0, rows)
			for _, p := range []struct{ offset, limit, first, want int64 }{
				{0, 1, 0, 1}, {0, rows + 1, 0, rows}, {rows - 1, 10, rows - 1, 1}, {rows, 10, 0, 0}, {rows + 5, 10, 0, 0}, {-1, 10, 0, 0},
				{1000, 0, 0, 0}, {2040, 20, 2040, 20}, {17, 1<<63 - 1, 17, rows - 17},
			} {
				got := page(t, kept, p.offset, p.limit)
				if int64(len(got)) != p.want {
					t.Errorf("%d rows from %d: got %d", p.limit, p.offset, len(got))
				}
				for i, line := range got {
					if line != all[p.first+int64(i)] || !strings.HasPrefix(line, fmt.Sprint(p.first+int64(i), ",")) {
						t.Fatalf("row %d from %d: %s", i, p.offset, line)
					}
				}
			}
		})
	}
}

// Would catch rows in a wrong order, NULLs that are not last, and orders that are mixed up.
func TestKeptOrder(t *testing.T) {
	k := newKeeping(t, 3000, server.Limits{TemporaryBytes: 1})
	_, kept := k.keep("SELECT n, s FROM t")
	for _, by := range []struct {
		order       server.Order
		first, last string
	}{
		{server.Order{Column: 0}, "0,NULL", "2999,x3"},
		{server.Order{Column: 0, Descending: true}, "2999,x3", "0,NULL"},
		{server.Order{Column: 1}, ",x0", ",NULL"},
		{server.Order{Column: 1, Descending: true}, ",x6", ",NULL"},
	} {
		for range 2 { // sorted, and as it is kept
			ordered, release, err := kept.Ordered(t.Context(), by.order)
			if err != nil {
				t.Fatal(err)
			}
			lines := page(t, ordered, 0, ordered.Rows)
			if err := release(); err != nil {
				t.Fatal(err)
			}
			if len(lines) != 3000 || !strings.HasSuffix(lines[0], by.first) || !strings.HasSuffix(lines[2999], by.last) {
				t.Errorf("%+v: %d rows, from %s to %s", by.order, len(lines), lines[0], lines[len(lines)-1])
			}
		}
	}
	if _, _, err := kept.Ordered(t.Context(), server.Order{Column: 2}); err == nil {
		t.Error("a column that is not there orders the rows")
	}
}

// Would catch results without a bound: of one, and of their number.
func TestKeptLimits(t *testing.T) {
	k := newKeeping(t, 100_000, server.Limits{ResultBytes: 10_000, Results: 2})
	first, kept := k.keep("SELECT n FROM t")
	if kept.Whole || kept.Rows == 0 || kept.Rows == 100_000 || first.State != server.Done {
		t.Errorf("kept %d rows, whole %v, and the run is %s", kept.Rows, kept.Whole, first.State)
	}
	second, _ := k.keep("SELECT count(*) FROM t")
	k.keep("SELECT sum(n) FROM t")
	if _, _, err := k.Kept(first.ID); err == nil {
		t.Error("a third result does not take the place of the first")
	}
	k.kept(second.ID)
}

// Would catch a result that one session sees of another.
func TestKeptIsOwn(t *testing.T) {
	k := newKeeping(t, 10, server.Limits{})
	status, _ := k.keep("SELECT n FROM t")
	other, err := k.server.NewSession("")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := other.Kept(status.ID); err == nil {
		t.Error("a session sees the result of another")
	}
}
