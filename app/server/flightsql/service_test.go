//go:build cgo

package flightsql

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	fsql "github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/mpga/mpga/app/server"
	"github.com/mpga/mpga/engine"
)

// host is a service that listens, whose table t has a million rows unless the test says otherwise: n
// from 0 on, k = n%1000 and s, a text.
type host struct {
	core    *server.Server
	address string
}

// hostOptions change what a test's host is.
type hostOptions struct {
	rows   int // of t; 0 for 1,000,000
	limits server.Limits
	tokens string // lines of a name and a token

	arrival, idle time.Duration // as in Options
}

// newHost starts a host, which ends with the test.
func newHost(t testing.TB, opt hostOptions) *host {
	t.Helper()
	temp := t.TempDir()
	eng, err := engine.Open(engine.Options{Threads: 2, MemoryLimit: 512 << 20, Device: "cpu", TempDir: temp})
	if err != nil {
		t.Fatal(err)
	}
	logger := slog.New(bugLog{t})
	options := server.Options{
		Engine: eng, TempDir: temp, Logger: logger, Limits: opt.limits,
		Tables: map[string]server.Table{"t": {Files: []string{tableFile(t, opt.rows)}}},
	}
	core, err := server.New(options)
	if err != nil {
		t.Fatal(err)
	}
	var tokens server.Tokens
	if opt.tokens != "" {
		if tokens, err = server.ReadTokens(strings.NewReader(opt.tokens)); err != nil {
			t.Fatal(err)
		}
	}
	service, err := New(Options{
		Server: core, Version: "test", Logger: logger, Tokens: tokens, ArrivalTime: opt.arrival, ConnectionIdle: opt.idle,
	})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	service.Serve(l)
	h := &host{core: core, address: l.Addr().String()}
	t.Cleanup(func() {
		if err := errors.Join(service.Stop(), core.Close(), eng.Close()); err != nil {
			t.Error(err)
		}
		if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
			t.Errorf("left in the directory of temporary files: %v, %v", left, err)
		}
	})
	return h
}

// bugLog fails a test when the service tells of a bug.
type bugLog struct{ t testing.TB }

func (bugLog) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelError }
func (l bugLog) Handle(_ context.Context, r slog.Record) error {
	text := r.Message
	r.Attrs(func(a slog.Attr) bool { text += "\n" + a.String(); return true })
	l.t.Error(text)
	return nil
}
func (l bugLog) WithAttrs([]slog.Attr) slog.Handler { return l }
func (l bugLog) WithGroup(string) slog.Handler      { return l }

// tableFile writes the table t.
func tableFile(t testing.TB, rows int) string {
	t.Helper()
	if rows == 0 {
		rows = 1_000_000
	}
	path := filepath.Join(t.TempDir(), "t.arrow")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "n", Type: arrow.PrimitiveTypes.Int64}, {Name: "k", Type: arrow.PrimitiveTypes.Int64},
		{Name: "s", Type: arrow.BinaryTypes.String},
	}, nil)
	w, err := ipc.NewFileWriter(file, ipc.WithSchema(schema))
	if err != nil {
		t.Fatal(err)
	}
	const batchRows = 100_000
	for from := 0; from < rows; from += batchRows {
		b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
		for n := from; n < min(from+batchRows, rows); n++ {
			b.Field(0).(*array.Int64Builder).Append(int64(n))
			b.Field(1).(*array.Int64Builder).Append(int64(n % 1000))
			b.Field(2).(*array.StringBuilder).Append(fmt.Sprintf("text %d", n))
		}
		batch := b.NewRecordBatch()
		err := w.Write(batch)
		batch.Release()
		b.Release()
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), file.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

// dial connects a client, which is closed with the test.
func (h *host) dial(t testing.TB, options ...grpc.DialOption) *fsql.Client {
	t.Helper()
	options = append(options, grpc.WithTransportCredentials(insecure.NewCredentials()))
	c, err := fsql.NewClient(h.address, nil, nil, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() }) // some tests have closed it
	return c
}

// ask returns the rows of a statement's result, as text: values with a space between, rows with a comma.
func ask(ctx context.Context, c *fsql.Client, text string) (string, error) {
	info, err := c.Execute(ctx, text)
	if err != nil {
		return "", err
	}
	return rowsOfInfo(ctx, c, info)
}

func rowsOfInfo(ctx context.Context, c *fsql.Client, info *flight.FlightInfo) (string, error) {
	r, err := c.DoGet(ctx, info.GetEndpoint()[0].GetTicket())
	if err != nil {
		return "", err
	}
	defer r.Release()
	var rows []string
	for r.Next() {
		b := r.RecordBatch()
		for row := range int(b.NumRows()) {
			var values []string
			for _, column := range b.Columns() {
				values = append(values, column.ValueStr(row))
			}
			rows = append(rows, strings.Join(values, " "))
		}
	}
	return strings.Join(rows, ", "), r.Err()
}

// lives checks that the host still answers, and that nothing is left of what was asked before.
func (h *host) lives(t testing.TB) {
	t.Helper()
	c, err := fsql.NewClient(h.address, nil, nil, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if got, err := ask(ctx, c, "SELECT 1"); err != nil || got != "1" {
		t.Errorf("afterwards: %q, %v", got, err)
	}
	h.rests(t)
}

// rests waits until no statement runs or waits.
func (h *host) rests(t testing.TB) {
	t.Helper()
	for until := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		counts := h.core.Counts()
		if counts.Running == 0 && counts.Waiting == 0 {
			return
		}
		if time.Now().After(until) {
			t.Fatalf("statements are left: %+v", counts)
		}
	}
}

// wantCode checks the code of an error, which must have a message.
func wantCode(t testing.TB, what string, err error, want ...codes.Code) {
	t.Helper()
	got := status.Convert(err)
	for _, code := range want {
		if got.Code() == code && (code == codes.OK || got.Message() != "") {
			return
		}
	}
	t.Errorf("%s: got %v, want one of %v", what, err, want)
}

// Would catch a value that a statement or its data made bad, told as an unknown fault of the server: a driver takes
// that as a reason to try again.
func TestValueErrors(t *testing.T) {
	h := newHost(t, hostOptions{rows: 100})
	c, ctx := h.dial(t), t.Context()
	for _, text := range []string{
		"make_date(2147483647, 12, 31)", "make_date(2001, 2, n)", "CAST(s AS INTEGER)", "CAST(n * 1000 AS TINYINT)",
		"CAST('x' || n AS DATE)", "strptime(s, '%Y-%m-%d')", "strptime('2001-02-30', '%Y-%m-%d')", "n * 9223372036854775807",
		"abs(-9223372036854775808 + n)", "chr(n - 100)", "repeat(s, 1000000000)", "lpad(s, 1000000000, '')",
		"regexp_matches(s, '(' || n)", "regexp_replace(s, 't', '\\' || '9')", "s LIKE 'x\\' ESCAPE '\\'",
		"DATE '1000000-01-01' + CAST(n * 21000000 AS INTEGER)", "round(CAST(n + 9.99 AS DECIMAL(2, 1)))", "1 << (n + 63)",
		"CAST('infinity' AS TIMESTAMP) - (TIMESTAMP '2000-01-01' + INTERVAL 1 DAY * n)",
	} {
		for _, statement := range []string{
			"SELECT " + text + " FROM t", "SELECT max(n) FROM t GROUP BY " + text,
			"SELECT n FROM t WHERE " + text + " IS NOT NULL",
		} {
			if got, err := ask(ctx, c, statement); err != nil {
				wantCode(t, statement, err, codes.InvalidArgument)
			} else {
				t.Errorf("%s: no error but %.60q", statement, got)
			}
		}
	}
	for _, statement := range []string{
		"SELECT make_date(2147483647, 12, 31)", "SELECT sum(n + 9223372036854775700 - 0) FROM t",
	} {
		_, err := ask(ctx, c, statement)
		wantCode(t, statement, err, codes.InvalidArgument)
	}
	h.rests(t)
}
