//go:build cgo

package plan_test

import (
	"context"
	"errors"
	"regexp"
	"testing"

	"github.com/dustin/go-humanize"

	"github.com/mpga/mpga/app/gen"
	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/testknobs"
)

// tempLimitAdvised finds the limit that an error advises.
var tempLimitAdvised = regexp.MustCompile(`a TempLimit of about ([0-9.]+ [KMG]?i?B) would do`)

// Would catch an advice of the temp limit that does not suffice: who follows the advice of an
// error gets an answer, whichever step of the statement has met the limit, early or late.
func TestTempLimitAdvice(t *testing.T) {
	src, err := gen.Pairs(gen.PairsOptions{Rows: 400_000, Groups: 300_000, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	tables := map[string]plan.Table{"t": {Source: src}}
	run := func(text string, limit int64) (stored int64, err error) {
		opt := engine.Options{Threads: 1, TempDir: t.TempDir(), TempLimit: limit}
		eng, err := engine.Open(testknobs.With(opt, testknobs.Engine{MemoryBytes: 4 << 20}))
		if err != nil {
			t.Fatal(err)
		}
		defer eng.Close()
		s, err := sql.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		stats, err := readAll(eng, s, plan.Options{Tables: tables})
		return stats.SpilledStored, err
	}
	for _, text := range []string{
		"SELECT key, count(*), sum(value) FROM t GROUP BY key",
		"SELECT key, list(value), median(value) FROM t GROUP BY key",
		"SELECT DISTINCT key, value FROM t",
		"SELECT count(DISTINCT key), count(DISTINCT value) FROM t",
		"SELECT median(value) FROM t",
		"SELECT key || 'abcdefghijklmnop' AS k, count(*) FROM t GROUP BY k",
		"SELECT * FROM t ORDER BY value",
		"SELECT key, count(*) AS c FROM t GROUP BY key ORDER BY c, key",
		"SELECT key, list(value ORDER BY value DESC) FROM t GROUP BY key",
		"SELECT c, count(*) FROM (SELECT key, count(*) AS c FROM t GROUP BY key) GROUP BY c",
	} {
		for _, limit := range []int64{1 << 10, 100 << 10, 1 << 20} {
			_, err := run(text, limit)
			if err == nil {
				continue // less is spilled
			}
			advised := tempLimitAdvised.FindStringSubmatch(err.Error())
			if !errors.Is(err, engine.ErrTempLimit) || advised == nil {
				t.Errorf("%s\nwith %d B: %v", text, limit, err)
				continue
			}
			enough, err := humanize.ParseBytes(advised[1])
			if err != nil {
				t.Fatal(err)
			}
			stored, err := run(text, int64(enough))
			if err != nil {
				t.Errorf("%s\nwith the %s that were advised for %d B: %v", text, advised[1], limit, err)
			}
			t.Logf("%s: %d B stored, %s advised for %s", text, stored, advised[1], humanize.IBytes(uint64(limit)))
		}
	}
}

// readAll reads a statement's result to its end.
func readAll(eng *engine.Engine, s *sql.Select, opt plan.Options) (stats engine.Stats, err error) {
	q, err := plan.Prepare(context.Background(), eng, s, opt)
	if err != nil {
		return stats, err
	}
	defer q.Close()
	r, err := q.Run(context.Background())
	if err != nil {
		return stats, err
	}
	defer r.Release()
	for r.Next() {
	}
	return r.Stats(), r.Err()
}
