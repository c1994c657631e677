package rollup

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/sql"
)

// Would catch groups of a roll-up that are made of its results, where GROUP BY and the aggregates are of the rows that it
// has read: a statement says of the roll-up what it says of the files.
func TestGroupedTable(t *testing.T) {
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-seed=%d", seed)
	h := newHistory(t, rand.New(rand.NewPCG(seed, 6)))
	for h.lake != nil || strings.Contains(h.opt.Statement, " u") {
		h = newHistory(t, h.rng)
	}
	for range 10 {
		h.writeFile("t", h.newName())
	}
	h.opt.Statement = "SELECT k, s AS name, v > 4 AS large, " + aggregates + " FROM t GROUP BY k, s, v > 4"
	_, err := Run(t.Context(), h.eng, h.opt)
	check(t, err)
	for _, statement := range []string{
		"SELECT k, s, " + aggregates + " FROM t GROUP BY k, s ORDER BY k, s",
		"SELECT s, count(DISTINCT v), median(v) FROM t GROUP BY s ORDER BY s",
		"SELECT t.s AS x, SUM(V) AS y, count(*) FROM t AS t GROUP BY t.s HAVING count(*) > 2 AND sum(v) > 1 ORDER BY count(*) DESC, x",
		"SELECT sum(v) / count(*) AS mean, count(DISTINCT k + v) FROM t",
		"SELECT v > 4 AS large, list(v) FROM t GROUP BY ALL ORDER BY 1",
		"SELECT v > 4, round(sum(v) / count(*), 3) + 1, first(v) FROM t GROUP BY 1 ORDER BY 1 LIMIT 1",
		"SELECT k, sum(v) FILTER (WHERE v > 3) FROM t WHERE k IN (1, 2, 5) OR s LIKE 'z%' AND NOT (k % 2 = 0) GROUP BY k ORDER BY k",
		"SELECT s, sum(v) FROM t WHERE s <> 'it''s' AND k BETWEEN 2 AND 7 GROUP BY s ORDER BY sum(v), s",
		"SELECT sum(y) FROM (SELECT k, sum(v) AS y FROM t GROUP BY k)",
		"SELECT x.k, y FROM (SELECT k, sum(v) AS y FROM t GROUP BY k) x JOIN (SELECT k, count(*) + sum(v) FROM t GROUP BY k) z USING (k) ORDER BY k",
	} {
		answer := func(name, statement string) []byte {
			t.Helper()
			path := filepath.Join(h.dir, name+".csv")
			if err := h.write(statement, plan.Options{Tables: h.opt.Tables, Deterministic: true}, path); err != nil {
				t.Fatalf("%s: %v", statement, err)
			}
			text, err := os.ReadFile(path)
			check(t, err)
			return text
		}
		// Names of results are those of the statement as it is written.
		rolled := strings.ReplaceAll(statement, "FROM t", "FROM rollup('"+h.opt.State+"')")
		if want, got := answer("want", statement), answer("got", rolled); !bytes.Equal(got, want) {
			t.Errorf("%s\n%.1500q\nwant\n%.1500q", rolled, got, want)
		}
	}
	for statement, want := range map[string]string{
		"SELECT max(v) FROM r":                                     "the roll-up has no max(v)",
		"SELECT v, sum(v) FROM r GROUP BY v":                       "v is no key of the roll-up: its keys are k, name, large",
		"SELECT name, sum(v) FROM r GROUP BY k":                    "name is a key that GROUP BY does not have",
		"SELECT k, sum(v) FROM r WHERE n > 1 GROUP BY k":           "WHERE of groups of a roll-up has keys and constants alone",
		"SELECT k, sum(v) FROM r GROUP BY ROLLUP (k)":              "grouping sets of a roll-up",
		"SELECT *, sum(v) FROM r GROUP BY 1":                       "name its keys",
		"SELECT k, sum(v) FROM r WHERE k = ? GROUP BY k":           "keys and constants alone",
		"SELECT v FROM r":                                          `column "v" does not exist`,
		"SELECT k, sum(v) FROM r JOIN r AS q USING (k) GROUP BY 1": `column "v" does not exist`,
	} {
		s, err := sql.Parse(strings.ReplaceAll(statement, "FROM r", "FROM rollup('"+h.opt.State+"')"))
		check(t, err)
		tables := map[string]plan.Table{"r": {Rollup: &plan.Rollup{Dir: h.opt.State}}}
		if _, err = plan.Prepare(t.Context(), h.plain, s, plan.Options{Tables: tables}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", statement, err, want)
		}
	}
	s, err := sql.Parse("SELECT r.s, sum(r.v) FROM r WHERE r.k > 2 GROUP BY r.s")
	check(t, err)
	tables := map[string]plan.Table{"R": {Rollup: &plan.Rollup{Dir: h.opt.State}}}
	q, err := plan.Prepare(t.Context(), h.plain, s, plan.Options{Tables: tables})
	check(t, err)
	q.Close()
}
