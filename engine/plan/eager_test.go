//go:build cgo

package plan_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/rules"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/sql"
)

// Would catch groups that are made below a join and are other groups than those above it: of rows with several partners
// and with none, of keys that are NULL, of aggregates that are counted once a group, of expressions of either side.
func TestGroupsBelowJoins(t *testing.T) {
	const from = ` FROM (SELECT k % 40 AS k, v % 3 AS m, TRY_CAST(v AS INTEGER) AS v FROM l) a`
	statements := []struct {
		text  string
		fires bool
	}{
		{"SELECT r.s, count(*), count(a.v), sum(a.v), min(a.v), max(a.v), avg(a.v)" +
			from + " JOIN r ON a.k = r.k GROUP BY 1", true},
		{"SELECT r.s, a.m, bool_and(a.v > 5), bit_xor(a.v), sum(a.v * 2.5)" +
			from + ", r WHERE a.k = r.k GROUP BY 1, 2", true},
		{"SELECT DISTINCT a.m, upper(r.s) AS s, r.k" + from + " JOIN r ON a.k = r.k", true},
		{"SELECT a.m + 1, r.s, count(*) FILTER (WHERE a.v > 9)" +
			from + " JOIN r ON a.k IS NOT DISTINCT FROM r.k GROUP BY 1, 2", true},
		{"SELECT r.s, count(*)" + from + " JOIN r ON a.k = r.k AND a.m = r.v % 3 WHERE a.v % 7 < 5 GROUP BY ALL", true},
		{"SELECT r.s, a.m, count(*)" + from + " JOIN r ON a.k = r.k GROUP BY ROLLUP (r.s, a.m)", true},
		{"SELECT r.s, count(*), sum(b.c)" + from +
			", r, (SELECT m, TRY_CAST(count(*) AS INTEGER) AS c FROM (SELECT v % 3 AS m FROM l) GROUP BY m) b " +
			"WHERE a.k = r.k AND a.m = b.m GROUP BY 1", true},
		{"SELECT r.s, sum(CASE WHEN r.v % 3 = 1 THEN a.v END), sum(CASE WHEN r.v > 3 THEN a.v ELSE 0 END), " +
			"min(CASE WHEN r.v < 9 THEN a.v END), count(CASE WHEN r.v % 2 = 0 THEN a.m END), sum(a.v)" +
			from + ", r WHERE a.k = r.k GROUP BY 1", true},
		{"SELECT r.v % 5, sum(CASE WHEN r.s = 'a' THEN 1 ELSE 0 END), max(CASE WHEN r.k IS NULL THEN a.v::DOUBLE END)" +
			from + ", r WHERE a.k IS NOT DISTINCT FROM r.k GROUP BY 1", true},
		{"SELECT r.s, sum(CASE WHEN r.v > a.m THEN a.v END)" + from + ", r WHERE a.k = r.k GROUP BY 1", false},
		{"SELECT r.s, sum(CASE WHEN r.v > 3 THEN a.v ELSE 1 END)" + from + ", r WHERE a.k = r.k GROUP BY 1", false},
		{"SELECT r.s, min(CASE WHEN r.v > 3 THEN a.v ELSE 0 END)" + from + ", r WHERE a.k = r.k GROUP BY 1", false},
		{"SELECT r.s, sum(a.w) FROM (SELECT k % 40 AS k, v * 100000000000 AS w FROM l) a, r " +
			"WHERE a.k = r.k GROUP BY 1", false},
		{"SELECT r.s, sum(r.v)" + from + " JOIN r ON a.k = r.k GROUP BY 1", false},
		{"SELECT r.k, count(*)" + from + " JOIN r ON a.k = r.k GROUP BY 1", false},
		{"SELECT r.s, count(*)" + from + " LEFT JOIN r ON a.k = r.k GROUP BY 1", false},
		{"SELECT r.s, count(*)" + from + " JOIN r ON a.k = r.k AND a.v < r.v GROUP BY 1", false},
		{"SELECT r.s, count(DISTINCT a.m), list(a.m ORDER BY a.m)" + from + " JOIN r ON a.k = r.k GROUP BY 1", false},
		{"SELECT r.s, sum(CAST(a.v AS VARCHAR)::INTEGER)" + from + " JOIN r ON a.k = r.k GROUP BY 1", false},
	}
	rng := rand.New(rand.NewPCG(5, 6))
	eng := openEngine(t)
	tables := map[string]plan.Table{
		"l": {Source: source(rng, makeSide(rng, 3000, 200, 0.1))},
		"r": {Source: uncounted{source(rng, makeSide(rng, 120, 50, 0.2))}},
	}
	for _, s := range statements {
		rows, plan := checkRule(t, eng, s.text, tables, rules.EagerGroups)
		if rows < 2 {
			t.Errorf("%s: %d rows", s.text, rows)
		}
		if fired := strings.Contains(plan, string(rules.EagerGroups)); fired != s.fires {
			t.Errorf("%s: the rule was used: %v\n%s", s.text, fired, plan)
		}
	}
}

// checkRule compares the rows of a statement, in any order, with its rows without a rule. It returns how many they are,
// and the plan.
func checkRule(
	t *testing.T, eng *engine.Engine, text string, tables map[string]plan.Table, rule plan.Rule,
) (rows int, explained string) {
	t.Helper()
	with, err := answeredWith(eng, text, plan.Options{Tables: tables})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	without, err := answeredWith(eng, text, plan.Options{Tables: tables, Without: []plan.Rule{rule}})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	if !slices.Equal(with, without) {
		t.Errorf("%s: %q, without the rule %q", text, with, without)
	}
	if explained, err = explainedWith(eng, text, plan.Options{Tables: tables}); err != nil {
		t.Errorf("%s: %v", text, err)
	}
	return len(with), explained
}

// uncounted is a source that does not know how many rows it has.
type uncounted struct{ scan.Source }

func (s uncounted) Stats() scan.Stats {
	of := s.Source.Stats()
	of.Rows = -1
	return of
}

// answeredWith returns the rows of a statement, sorted.
func answeredWith(eng *engine.Engine, text string, opt plan.Options) (rows []string, err error) {
	s, err := sql.Parse(text)
	if err != nil {
		return nil, err
	}
	cells, err := askOf(eng, s, opt)
	for _, row := range cells {
		rows = append(rows, strings.Join(row, " | "))
	}
	slices.Sort(rows)
	return rows, err
}
