package peer_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/tests/peer"
	"github.com/mpga/mpga/tests/peer/peertest"
)

// A result of several types arrives whole, and is the answer that its values have. What it costs is
// told with it.
func TestAskTypes(t *testing.T) {
	p := peertest.Start(t)
	const query = `SELECT r AS i, sum(r)::HUGEINT AS h, r::DECIMAL(9, 2) / 4 AS d, r::FLOAT / 2 AS f, 'ab' AS s,
		NULL::INTEGER AS n,
		[r, 1] AS l, DATE '2001-02-03' AS dt, r::UTINYINT AS u, r > 1 AS b FROM range(4) t(r) GROUP BY r`
	var got peer.Answer
	reply, err := p.Ask(peer.Request{Engine: peer.DuckDB, Query: query}, func(r array.RecordReader) (err error) {
		got, err = peer.SumUp(r)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	whole := func(kind peer.Kind, n int64) peer.Total { return peer.Total{Kind: kind, Whole: n} }
	want := peer.Answer{Rows: 4, Totals: []peer.Total{whole(peer.Integers, 6), whole(peer.Integers, 6),
		{Kind: peer.Floats, Float: 1.5}, {Kind: peer.Floats, Float: 3}, whole(peer.Texts, 8), whole(peer.Integers, 0), {Kind: peer.Lists, Float: 10},
		whole(peer.Others, 4), whole(peer.Integers, 6), whole(peer.Others, 4)}}
	if !got.Equal(want) {
		t.Errorf("%s\nwant %s", got, want)
	}
	if reply.Rows != 4 || reply.Wall <= 0 || reply.CPU < 0 || reply.Bytes == 0 || !strings.HasPrefix(reply.Version, "2") {
		t.Errorf("the reply is %+v", reply)
	}
	if _, err := os.Stat("/proc/self/status"); err == nil {
		if after, err := p.Peak(); err != nil || reply.Peak < 1<<20 || after < reply.Peak {
			t.Errorf("resident sets of %d and later %d bytes, %v", reply.Peak, after, err)
		}
	}
}

// All engines that the Python has agree on a query, whether the result is sent or only read.
func TestEnginesAgree(t *testing.T) {
	p := peertest.Start(t)
	file := filepath.Join(t.TempDir(), "t.parquet")
	err := p.Run(peer.DuckDB,
		"COPY (SELECT r % 7 AS k, 's' || r % 3 AS s, r AS v FROM range(1000) t(r)) TO "+peer.Literal(file)+" (FORMAT parquet)",
		"CREATE VIEW t AS FROM read_parquet("+peer.Literal(file)+")")
	if err != nil {
		t.Fatal(err)
	}
	query := "SELECT k, s, sum(v), avg(v) FROM t GROUP BY k, s"
	contenders := []peer.Contender{p.Contender(peer.DuckDB, query)}
	for engine, c := range map[string]struct{ setup, query string }{
		peer.Polars: {fmt.Sprintf("t = pl.scan_parquet(%q)", file),
			"t.group_by('k', 's').agg(pl.col('v').sum(), pl.col('v').mean().alias('mean'))"},
		peer.ClickHouse: {"CREATE VIEW t AS SELECT * FROM file(" + peer.Literal(file) + ", Parquet)", query},
	} {
		if _, err := p.Version(engine); err != nil {
			t.Logf("without %s: %v", engine, err)
			continue
		}
		if err := p.Run(engine, c.setup); err != nil {
			t.Fatal(err)
		}
		contenders = append(contenders, p.Contender(engine, c.query))
	}
	samples, a, err := peer.Measure(t.Context(), contenders, 2, peer.Answer.Equal)
	if err != nil {
		t.Fatal(err)
	}
	if a.Rows != 21 || len(samples) != len(contenders) {
		t.Errorf("%s of %d engines", a, len(samples))
	}
}

// An engine's error has its text, and the process serves on.
func TestEngineError(t *testing.T) {
	p := peertest.Start(t)
	for _, c := range []struct{ engine, setup, query, want string }{
		{peer.DuckDB, "", "SELECT no_such_column", "no_such_column"},
		{peer.DuckDB, "SET no_such_setting = 1", "SELECT 1", "no_such_setting"},
		{peer.DuckDB, "", "SELECT error('at ' || r) FROM range(3) t(r) WHERE r = 2", "at 2"}, // while the result is read
		{"SQLite", "", "SELECT 1", "SQLite"},
	} {
		request := peer.Request{Engine: c.engine, Query: c.query}
		if c.setup != "" {
			request.Setup = []string{c.setup}
		}
		_, err := p.Ask(request, nil)
		var engineErr *peer.EngineError
		if !errors.As(err, &engineErr) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: %v", c.engine, c.query, err)
		}
		if reply, err := p.Ask(peer.Request{Engine: peer.DuckDB, Query: "SELECT 1"}, nil); err != nil || reply.Rows != 1 {
			t.Fatalf("after it: %v, %v", reply, err)
		}
	}
}

// A reader that stops early, or fails, leaves the next reply where it is expected.
func TestReadInPart(t *testing.T) {
	p := peertest.Start(t)
	stop := errors.New("enough")
	request := peer.Request{Engine: peer.DuckDB, Query: "SELECT r FROM range(3000000) t(r)"}
	_, err := p.Ask(request, func(array.RecordReader) error { return stop })
	if !errors.Is(err, stop) {
		t.Errorf("%v", err)
	}
	if reply, err := p.Ask(peer.Request{Engine: peer.DuckDB, Query: "SELECT 1"}, nil); err != nil || reply.Rows != 1 {
		t.Errorf("after it: %v, %v", reply, err)
	}
}

// A process that dies is an error of the request, with its last words, and of all that follow.
func TestProcessDies(t *testing.T) {
	p := peertest.Start(t)
	if _, err := p.Version(peer.Polars); err != nil {
		t.Skipf("Polars, whose statements are Python, is not there: %v", err)
	}
	err := p.Run(peer.Polars, "import os, sys\nprint('the end', file=sys.stderr, flush=True)\nos._exit(3)")
	if err == nil || !strings.Contains(err.Error(), "exit status 3") || !strings.Contains(err.Error(), "the end") {
		t.Errorf("%v", err)
	}
	_, again := p.Ask(peer.Request{Engine: peer.DuckDB, Query: "SELECT 1"}, nil)
	if again == nil || again.Error() != err.Error() {
		t.Errorf("after it: %v", again)
	}
}

// The end of the context ends a query that would run for hours.
func TestContextEnds(t *testing.T) {
	python := peertest.Python(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p, err := peer.Start(ctx, python, 1)
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(100*time.Millisecond, cancel)
	_, err = p.Ask(peer.Request{Engine: peer.DuckDB,
		Query: "SELECT count(*) FROM range(10000000) a, range(10000000) b WHERE (a.range + b.range) % 7 = 8"}, nil)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// What has no DuckDB 2 says what to install.
func TestNoDuckDB(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "python")
	if err := os.WriteFile(broken, []byte("#!/bin/sh\necho 'no such thing' >&2\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, python := range []string{"/no/such/python", broken} {
		_, err := peer.Start(t.Context(), python, 1)
		if !errors.Is(err, peer.ErrNoDuckDB) || !strings.Contains(err.Error(), "pip install") || !strings.Contains(err.Error(), "no such") {
			t.Errorf("%s: %v", python, err)
		}
	}
}
