//go:build cgo

package server

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Rows are added, replaced and refused as the mode says, in memory and in files, whatever the
// limit of the memory. R5.
func TestIngest(t *testing.T) {
	for name, memory := range map[string]int64{"memory": 1 << 20, "files": 1, "both": 20_000} {
		t.Run(name, func(t *testing.T) {
			s, temp := open(t, func(o *Options) { o.Limits.TemporaryBytes = memory })
			session := newTestSession(t, s, "")
			ctx := context.Background()
			put := func(mode IngestMode, rows io.Reader, wantRows int64, wantErr error) {
				t.Helper()
				n, err := session.Ingest(ctx, "x", mode, rows)
				if n != wantRows || !errors.Is(err, wantErr) || (err == nil) != (wantErr == nil) {
					t.Errorf("%+v: got %d rows, %v; want %d, %v", mode, n, err, wantRows, wantErr)
				}
			}
			create, add, replace := IngestMode{Create: true}, IngestMode{Append: true}, IngestMode{Create: true, Replace: true}
			put(add, numbers("v", 1, 10), 0, ErrUnknown)
			put(create, numbers("v", 1, 3000), 3000, nil)
			wantRows(t, session, "SELECT count(*), sum(v), max(v) FROM x", "3000 4501500 3000")
			put(create, numbers("v", 1, 10), 0, ErrExists)
			put(add, numbers("v", 3001, 4000), 1000, nil)
			wantRows(t, session, "SELECT count(*), sum(v), max(v) FROM x", "4000 8002000 4000")
			put(add, numbers("w", 1, 10), 0, ErrExists) // other columns
			put(add, numbers("v", 1, 0), 0, nil)        // no batch
			wantRows(t, session, "SELECT count(*), sum(v), max(v) FROM x", "4000 8002000 4000")
			put(replace, numbers("v", 1, 10), 10, nil)
			wantRows(t, session, "SELECT count(*), sum(v), max(v) FROM x", "10 55 10")
			if held := s.Memory().Temporary; held < 0 || held > memory {
				t.Errorf("%d B of temporary tables are in memory, where %d may be", held, memory)
			}
			if err := session.Drop("x", false); err != nil {
				t.Error(err)
			}
			if err := session.Drop("x", true); err != nil {
				t.Error(err)
			}
			if err := session.Drop("x", false); !errors.Is(err, ErrUnknown) {
				t.Errorf("dropped twice: %v", err)
			}
			if files, _ := filepath.Glob(filepath.Join(temp, ".mpga-serve*", "*")); len(files) > 0 || s.Memory().Temporary != 0 {
				t.Errorf("left: %v, and %d B", files, s.Memory().Temporary)
			}
		})
	}
}

// A stream that is cut short or wrong leaves the table that was there, and nothing else. R5.
func TestIngestBroken(t *testing.T) {
	whole, err := io.ReadAll(numbers("v", 1, 5000))
	if err != nil {
		t.Fatal(err)
	}
	for name, memory := range map[string]int64{"memory": 1 << 20, "files": 1} {
		t.Run(name, func(t *testing.T) {
			s, temp := open(t, func(o *Options) { o.Limits.TemporaryBytes = memory })
			session := newTestSession(t, s, "")
			ctx := context.Background()
			if _, err := session.Ingest(ctx, "x", IngestMode{Create: true}, numbers("v", 1, 10)); err != nil {
				t.Fatal(err)
			}
			before, _ := filepath.Glob(filepath.Join(temp, ".mpga-serve*", "*"))
			for _, cut := range []int{0, 1, 7, 100, len(whole) / 2, len(whole) - 300} {
				_, err := session.Ingest(ctx, "x", IngestMode{Replace: true}, bytes.NewReader(whole[:cut]))
				if err == nil {
					t.Errorf("cut at %d of %d: no error", cut, len(whole))
				}
			}
			if _, err := session.Ingest(ctx, "x", IngestMode{Replace: true}, strings.NewReader("no stream of Arrow's at all")); err == nil {
				t.Error("text: no error")
			}
			wantRows(t, session, "SELECT count(*), sum(v) FROM x", "10 55")
			after, _ := filepath.Glob(filepath.Join(temp, ".mpga-serve*", "*"))
			if len(after) != len(before) {
				t.Errorf("files %v, and %v before", after, before)
			}
		})
	}
}

// A run reads the table that was there when it began, also when another has taken its name; the
// next run of the same statement reads that one.
func TestReplacedWhileRead(t *testing.T) {
	for name, memory := range map[string]int64{"memory": 1 << 20, "files": 1} {
		t.Run(name, func(t *testing.T) {
			s, _ := open(t, func(o *Options) { o.Limits.TemporaryBytes = memory })
			session := newTestSession(t, s, "")
			ctx := context.Background()
			if _, err := session.Ingest(ctx, "x", IngestMode{Create: true}, numbers("v", 1, 5000)); err != nil {
				t.Fatal(err)
			}
			st, err := session.Prepare(ctx, "SELECT v FROM x")
			if err != nil {
				t.Fatal(err)
			}
			r, err := st.Run(ctx)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Release()
			if _, err := session.Ingest(ctx, "x", IngestMode{Replace: true}, numbers("v", 1, 2)); err != nil {
				t.Fatal(err)
			}
			for r.Next() {
			}
			if r.Err() != nil || r.Status().Rows != 5000 {
				t.Errorf("the first run: %v, %d rows", r.Err(), r.Status().Rows)
			}
			if got, err := run(st); err != nil || got != "1, 2" {
				t.Errorf("the next run: %q, %v", got, err)
			}
		})
	}
}

// Would catch a client that replaces or hides a table of the server, and names that are none.
func TestIngestNames(t *testing.T) {
	s, _ := open(t, nil)
	session := newTestSession(t, s, "")
	for name, want := range map[string]error{"t": ErrExists, "T": ErrExists, "": ErrUnknown, "a\x00b": ErrUnknown} {
		if _, err := session.Ingest(context.Background(), name, IngestMode{Create: true, Replace: true}, numbers("v", 1, 2)); !errors.Is(err, want) {
			t.Errorf("%q: got %v, want %v", name, err, want)
		}
	}
	if _, err := session.Ingest(context.Background(), `we"ird 名`, IngestMode{Create: true}, numbers("v", 1, 2)); err != nil {
		t.Error(err)
	}
	wantRows(t, session, `SELECT count(*) FROM "we""ird 名"`, "2")
}

// What a server that was killed has left is removed by the next.
func TestKilledServer(t *testing.T) {
	s, temp := open(t, func(o *Options) { o.Limits.TemporaryBytes = 1 })
	left := filepath.Join(temp, ".mpga-serve.0123456789abcdef.tmp")
	if err := os.Mkdir(left, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(left, "1.arrow"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	session := newTestSession(t, s, "")
	if _, err := session.Ingest(context.Background(), "x", IngestMode{Create: true}, numbers("v", 1, 10)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("the directory is left: %v", err)
	}
	wantRows(t, session, "SELECT sum(v) FROM x", "55")
}

// nullable returns a stream of one value, NULL, in the column of numbers.
func nullable(name string) io.Reader {
	schema := arrow.NewSchema([]arrow.Field{{Name: name, Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)
	of := array.NewInt64Builder(memory.DefaultAllocator)
	of.AppendNull()
	column := of.NewArray()
	var b bytes.Buffer
	w := ipc.NewWriter(&b, ipc.WithSchema(schema))
	if err := errors.Join(w.Write(array.NewRecordBatch(schema, []arrow.Array{column}, 1)), w.Close()); err != nil {
		panic(err)
	}
	return &b
}

// Would catch NULLs that are appended to a column without any: a file of the rows refused them, after
// the rows before had been given back.
func TestIngestNullsLater(t *testing.T) {
	for _, memory := range []int64{1 << 20, 70_000, 1} {
		s, _ := open(t, func(o *Options) { o.Limits.TemporaryBytes = memory })
		session := newTestSession(t, s, "")
		for _, rows := range []io.Reader{numbers("v", 1, 8000), nullable("v"), numbers("v", 1, 2000), nullable("v")} {
			if _, err := session.Ingest(context.Background(), "x", IngestMode{Create: true, Append: true}, rows); err != nil {
				t.Errorf("%d B: %v", memory, err)
			}
		}
		wantRows(t, session, "SELECT count(*), count(v), sum(v) FROM x", "10002 10000 34005000")
	}
}

// Would catch rows of a table that count no more once others are appended.
func TestAppendsCount(t *testing.T) {
	s, temp := open(t, func(o *Options) { o.Limits.TemporaryBytes = 100_000 })
	session := newTestSession(t, s, "")
	for range 5 {
		if _, err := session.Ingest(context.Background(), "x", IngestMode{Create: true, Append: true}, numbers("v", 1, 4000)); err != nil {
			t.Fatal(err)
		}
	}
	if files, _ := filepath.Glob(filepath.Join(temp, ".mpga-serve*", "*.arrow")); len(files) == 0 {
		t.Errorf("160 kB of appended rows are in memory, where 100 kB may be: %d B are counted", s.Memory().Temporary)
	}
	for _, path := range []string{filepath.Join(temp, ".mpga-serve*"), filepath.Join(temp, ".mpga-serve*", "*.arrow")} {
		names, _ := filepath.Glob(path)
		for _, name := range names {
			if info, err := os.Stat(name); err != nil || info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s: others may read it: %v, %v", name, info.Mode(), err)
			}
		}
	}
	wantRows(t, session, "SELECT count(*) FROM x", "20000")
	if err := session.Drop("x", false); err != nil {
		t.Error(err)
	}
	if memory, disk := s.spilled.MemoryBytes(), s.spilled.DiskBytes(); memory != 0 || disk != 0 {
		t.Errorf("%d B of memory and %d B of disk are counted at the end", memory, disk)
	}
}

// A limit of the disk is an error of the client that meets it.
func TestTempLimit(t *testing.T) {
	s, _ := open(t, func(o *Options) { o.Limits.TemporaryBytes, o.TempLimit = 1, 50_000 })
	session := newTestSession(t, s, "")
	if _, err := session.Ingest(context.Background(), "x", IngestMode{Create: true}, numbers("v", 1, 8000)); !errors.Is(err, ErrBusy) {
		t.Errorf("64 kB where 50 kB may be: %v", err)
	}
	if _, err := session.Ingest(context.Background(), "x", IngestMode{Create: true}, numbers("v", 1, 4000)); err != nil {
		t.Error(err)
	}
	wantRows(t, session, "SELECT count(*) FROM x", "4000")
}

// Rows that are appended to a table which is dropped meanwhile do not bring it back.
func TestAppendToDropped(t *testing.T) {
	s, _ := open(t, nil)
	session := newTestSession(t, s, "")
	if _, err := session.Ingest(context.Background(), "x", IngestMode{Create: true}, numbers("v", 1, 10)); err != nil {
		t.Fatal(err)
	}
	from, to := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		_, err := session.Ingest(context.Background(), "x", IngestMode{Append: true}, from)
		ended <- err
	}()
	rows, err := io.ReadAll(numbers("v", 1, 10))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := to.Write(rows[:100]); err != nil { // the append has begun
		t.Fatal(err)
	}
	if err := session.Drop("x", false); err != nil {
		t.Error(err)
	}
	if _, err := to.Write(rows[100:]); err != nil {
		t.Error(err)
	}
	if err := errors.Join(to.Close(), <-ended); !errors.Is(err, ErrUnknown) {
		t.Errorf("the append: %v", err)
	}
	if got, err := ask(session, "SELECT count(*) FROM x"); err == nil {
		t.Errorf("the table is back: %s rows", got)
	}
}
