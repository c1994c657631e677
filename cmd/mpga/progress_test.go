package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mpga/mpga/engine"
)

func TestPlainLine(t *testing.T) {
	for _, c := range []struct {
		p    engine.Progress
		want string
	}{
		{engine.Progress{Phase: engine.PhasePartition, Fraction: 0.25, RowsRead: 1234, RowsTotal: 5000, BytesRead: 3 << 20,
			BytesTotal: 12 << 20, Elapsed: 2 * time.Second, Reading: 2 * time.Second, PhaseLeft: 6 * time.Second, Left: -1},
			"partition  25%  1,234 of 5,000 rows, 3.0 MiB of 12 MiB, 617 rows/s, 1.5 MiB/s, about 6s left to partition"},
		{engine.Progress{Phase: engine.PhaseProcess, Fraction: 0.5, RowsRead: 9_000_000, RowsTotal: -1, BytesRead: 6 << 20,
			BytesTotal: -1, Elapsed: 6 * time.Second, Reading: 3 * time.Second, PhaseLeft: -1, Left: -1},
			"process    50%  9,000,000 rows, 6.0 MiB, 3 M rows/s, 2.0 MiB/s"},
		{engine.Progress{Phase: engine.PhasePartition, Fraction: 0.5, RowsRead: 3, RowsTotal: 4, BytesTotal: -1, PhaseLeft: 2 * time.Second, Left: -1},
			"partition  50%  3 of 4 rows, 0 B, about 2s left to partition"},
		{engine.Progress{Phase: engine.PhasePartition, Fraction: -1, RowsTotal: -1, BytesTotal: -1, PhaseLeft: -1, Left: -1},
			"partition  --%  0 rows, 0 B"},
		{engine.Progress{Phase: engine.PhaseProcess, Fraction: 1, RowsRead: 10, RowsTotal: 10, BytesTotal: -1, Groups: 7,
			Elapsed: 1234567 * time.Nanosecond, Done: true},
			"process   100%  10 of 10 rows, 0 B, 7 groups, done in 1.23ms"},
	} {
		if got := plainLine(c.p); got != c.want {
			t.Errorf("got  %q\nwant %q", got, c.want)
		}
	}
}

func TestJSONLine(t *testing.T) {
	got := jsonLine(engine.Progress{Phase: engine.PhasePartition, Fraction: -1, RowsRead: 5, RowsTotal: -1, BytesTotal: 9, Elapsed: 1500 * time.Millisecond, Reading: 500 * time.Millisecond, PhaseLeft: 2 * time.Second, Left: -1})
	want := `{"phase":"partition","fraction":null,"rows_read":5,"rows_total":null,"bytes_read":0,"bytes_total":9,"groups":0,"elapsed_seconds":1.5,"rows_per_second":10,"phase_left_seconds":2,"left_seconds":null,"done":false}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// Would catch a terminal flooded with lines, or a query whose last line is missing.
func TestLineProgress(t *testing.T) {
	var out bytes.Buffer
	p, err := newProgress("plain", &out, false)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 35 {
		p.update(engine.Progress{Elapsed: time.Duration(i) * 100 * time.Millisecond, Done: i == 34})
	}
	p.close()
	if lines := strings.Count(out.String(), "\n"); lines != 5 { // at 0, 1, 2 and 3 s, and at the end
		t.Errorf("got %d lines, want 5:\n%s", lines, out.String())
	}
}

// seen keeps what is shown.
type seen []engine.Progress

func (s *seen) update(p engine.Progress) { *s = append(*s, p) }
func (s *seen) close()                   {}

// Would catch lines of two queries that take turns, of which one knows nothing; and a query that is
// never shown once another has ended.
func TestOneProgress(t *testing.T) {
	var got seen
	o := &oneProgress{to: &got}
	o.update(engine.Progress{Fraction: -1, RowsRead: 1})
	for i := range int64(3) {
		o.update(engine.Progress{Fraction: 0.1, RowsRead: 10 + i})
		o.update(engine.Progress{Fraction: -1, RowsRead: 2 + i})
	}
	o.update(engine.Progress{Fraction: 1, RowsRead: 20, Done: true})
	o.update(engine.Progress{Fraction: -1, RowsRead: 5})
	var rows []int64
	for _, p := range got {
		rows = append(rows, p.RowsRead)
	}
	if want := []int64{1, 10, 11, 12, 20, 5}; !slices.Equal(rows, want) {
		t.Errorf("got %v, want %v", rows, want)
	}
}

// Would catch a bar where no terminal is.
func TestAutoProgress(t *testing.T) {
	p, err := newProgress("auto", new(bytes.Buffer), false)
	if _, off := p.(noProgress); !off || err != nil {
		t.Errorf("got %T, %v", p, err)
	}
}

// Would catch a bar of short work, also where what is short ends late.
func TestBarDelay(t *testing.T) {
	var out bytes.Buffer
	p, err := newProgress("bar", &out, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range []engine.Progress{{}, {Elapsed: barDelay - 1}, {Elapsed: time.Hour, Done: true}} {
		p.update(u)
	}
	p.close()
	p.update(engine.Progress{Elapsed: barDelay})
	if out.Len() > 0 {
		t.Errorf("got %q", &out)
	}
}

func TestRoundTime(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 999: "999ns", 12345: "12.3µs", 1999999999: "2s", 83456 * time.Millisecond: "1m23.5s",
	} {
		if got := roundTime(d); got != want {
			t.Errorf("roundTime(%d): got %s, want %s", int64(d), got, want)
		}
	}
}
