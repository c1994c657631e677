//go:build cgo

package plan

import (
	"context"
	"testing"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/sql"
)

// Would catch statistics of a statement without groups that say nothing of what was read, or count
// it otherwise than those of a statement with groups.
func TestStats(t *testing.T) {
	file := writeDays(t)
	eng, err := engine.Open(engine.Options{Threads: 2, Device: "cpu"})
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	stats := func(text string) engine.Stats {
		t.Helper()
		s, err := sql.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		q, err := Prepare(context.Background(), eng, s, Options{Tables: map[string]Table{"days": {Files: []string{file}}}})
		if err != nil {
			t.Fatal(err)
		}
		defer q.Close()
		if _, err := q.Explain(context.Background()); err != nil { // whose sample counts for nothing
			t.Fatal(err)
		}
		r, err := q.Run(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		defer r.Release()
		if got := r.Stats(); got.Route != "" {
			t.Errorf("%s: before the first batch: %+v", text, got)
		}
		for r.Next() {
		}
		if r.Err() != nil {
			t.Fatal(r.Err())
		}
		return r.Stats()
	}
	want := stats("SELECT v0, count(*) FROM days WHERE id < 6000 GROUP BY v0")
	if want.Filter == nil || want.Filter.RowsKept != 6000 || want.Filter.RowsTested != 8000 {
		t.Errorf("%d of %d rows are kept, want 6000 of 8000", want.Filter.RowsKept, want.Filter.RowsTested)
	}
	for _, text := range []string{ // of a lower limit, rows may be left out
		"SELECT v0 FROM days WHERE id < 6000",
		"SELECT v0 FROM days WHERE id < 6000 ORDER BY v0",
		"SELECT v0 + 1 FROM days WHERE id < 6000 ORDER BY 1 LIMIT 10000",
		"SELECT sum(v) FROM (SELECT v0 AS v FROM days WHERE id < 6000 ORDER BY v LIMIT 10000)",
		"SELECT max(n) FROM (SELECT v0, count(*) AS n FROM days WHERE id < 6000 GROUP BY v0)",
	} {
		got := stats(text)
		if got.Route != "cpu" || got.RowsRead != want.RowsRead || got.BytesRead != want.BytesRead || got.Elapsed <= 0 || got.MemoryLimit <= 0 {
			t.Errorf("%s: %+v, want what %+v says of reading", text, got, want)
		}
	}
	rows := stats("SELECT v0 FROM days WHERE id < 6000")
	if rows.Splits != want.Splits || rows.Filter == nil || rows.Filter.RowsKept != 6000 || rows.ResultBatches == 0 || rows.Table != "" {
		t.Errorf("%+v, want %d splits and 6000 rows kept", rows, want.Splits)
	}
	if few := stats("SELECT v0, v1 FROM days LIMIT 5"); few.BytesRead <= 0 || few.BytesRead >= stats("SELECT v0, v1 FROM days").BytesRead {
		t.Errorf("of the first rows, %d B were read", few.BytesRead)
	}
	one := stats("SELECT id % 9 AS k FROM days ORDER BY k LIMIT 5") // no statistics say which row groups are passed over
	if late := stats("SELECT id % 9 AS k, v0 FROM days ORDER BY k LIMIT 5"); one.BytesRead <= 0 || late.BytesRead <= one.BytesRead {
		t.Errorf("%d B were read of the order's column, %d B with another that was read late", one.BytesRead, late.BytesRead)
	}
}
