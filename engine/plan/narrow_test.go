//go:build cgo

package plan_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/mpga/mpga/engine/plan"
)

// Columns of derived tables that nobody asks for are not computed: neither are they in the plan,
// nor do they fail.
func TestNarrow(t *testing.T) {
	eng := openEngine(t)
	docs := map[string]plan.Table{"docs": {Source: docsTable()}}
	for _, tt := range []struct{ text, want, left, out string }{
		{"SELECT max(k) FROM (SELECT b AS k, count(*) AS n, sum(CAST(s AS INTEGER)) AS x FROM docs GROUP BY b)", "true", "key b", "sum("},
		{"SELECT sum(n) FROM (SELECT b, count(*) AS n, sum(CAST(s AS INTEGER)) AS x FROM docs GROUP BY b)", "4", "count(*)", "x:"},
		{"SELECT count(*) FROM (SELECT sum(CAST(s AS INTEGER)) AS x, b, max(y) AS y FROM docs GROUP BY b)", "3", "b", "max("},
		{"SELECT count(*) FROM (SELECT max(y) AS m, sum(CAST(s AS INTEGER)) FROM docs)", "1", "aggregate: max(y)", "sum("},
		{"SELECT max(m) FROM (SELECT b, s, max(x) AS m, min(CAST(s AS INTEGER)), grouping(b) AS g FROM docs GROUP BY CUBE (b, s))", "4", "max(x)", "min("},
		{"SELECT max(k) FROM (SELECT b AS k, sum(DISTINCT x) AS d, min(CAST(s AS INTEGER)) FROM docs GROUP BY b ORDER BY d)", "true", "sum(distinct x)", "min("},
		{"SELECT max(k) FROM (SELECT b AS k, list(x ORDER BY CAST(s AS INTEGER)) FROM docs GROUP BY b ORDER BY max(y))", "true", "max(y)", "in order of"},
		{"SELECT max(x) FROM (SELECT x, CAST(s AS INTEGER) AS z FROM docs ORDER BY y LIMIT 2)", "4", "order: y", "cast"},
		{"SELECT max(x) FROM (SELECT x, count(*) AS c FROM (SELECT x, y, max(CAST(s AS INTEGER)) AS z, min(b) AS w FROM docs GROUP BY x, y) GROUP BY x, w)", "4", "min(b)", "max(cast"},
		{"SELECT count(*) FROM (SELECT DISTINCT b, s FROM docs)", "4", "s", "aggregates"},
		{"WITH a AS (SELECT b, max(x) AS x, min(CAST(s AS INTEGER)) AS z FROM docs GROUP BY b HAVING count(*) > 0 LIMIT 9) SELECT sum(x) FROM a WHERE x > 1", "6", "filter: (count(*) > 0)", "min("},
	} {
		text, err := explained(eng, tt.text, docs)
		if err != nil || !strings.Contains(text, tt.left) || strings.Contains(text, tt.out) || strings.Contains(text, "INTEGER") {
			t.Errorf("%s: %v\n%s\nwant %q, and no %q", tt.text, err, text, tt.left, tt.out)
		}
		if got := one(t, eng, tt.text); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.text, got, tt.want)
		}
	}
}

// What a condition says of keys of a derived table is asked of the rows, where it is no other
// question.
func TestNarrowRows(t *testing.T) {
	eng := openEngine(t)
	docs := map[string]plan.Table{"docs": {Source: docsTable()}}
	for _, tt := range []struct {
		text, want, filter string // "" where there is none within
	}{
		{"SELECT sum(n) FROM (SELECT x, count(*) AS n FROM docs GROUP BY x) WHERE x > 1", "2", "(x > 1)"},
		{"SELECT sum(n) FROM (SELECT x + 1 AS k, count(*) AS n FROM docs WHERE y > 0 GROUP BY k) WHERE k > 2 AND n > 0", "2", "((y > 0) AND ((x + 1) > 2))"},
		{"SELECT sum(n) FROM (SELECT b, s, count(*) AS n FROM docs GROUP BY b, s) WHERE b IS NULL OR s = 'a'", "2", "((b IS NULL) OR (s = 'a'))"},
		{"SELECT count(*) FROM (SELECT s, x FROM (SELECT x, s, max(y) AS y FROM docs GROUP BY x, s) GROUP BY s, x) WHERE x IN (2, 4)", "2", "(x IN (2, 4))"},
		{"SELECT count(*) FROM (SELECT x FROM docs ORDER BY y) WHERE x < 4", "2", "(x < 4)"},
		{"SELECT count(*) FROM (SELECT x FROM docs ORDER BY y LIMIT 2) WHERE x < 4", "1", ""},
		{"SELECT count(*) FROM (SELECT 1 AS k, sum(x) FROM docs) WHERE k = 2", "0", ""},
		{"SELECT count(*) FROM (SELECT x, count(*) FROM docs GROUP BY ROLLUP (x)) WHERE x IS NULL", "2", ""},
		{"SELECT count(*) FROM (SELECT x, sum(y) AS y FROM docs GROUP BY x) WHERE y > 10 OR x = 1", "4", ""},
		{"SELECT count(*) FROM (SELECT x, sum(y) AS y FROM docs GROUP BY x) WHERE 10 / x > 3", "2", ""},
	} {
		text, err := explained(eng, tt.text, docs)
		steps := regexp.MustCompile(`(project|aggregate|order|first rows.*): `).Split(text, 4) // the first two are the statement's
		within, ok := steps[len(steps)-1], len(steps) == 4
		filter := strings.Contains(within, "filter: "+tt.filter+"\n")
		if tt.filter == "" {
			filter = !strings.Contains(within, "filter:")
		}
		if err != nil || !ok || !filter {
			t.Errorf("%s: %v\n%s\nwant filter %s", tt.text, err, text, tt.filter)
		}
		if got := one(t, eng, tt.text); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.text, got, tt.want)
		}
	}
}

// What is wrong in a column that nobody asks for is an error none the less.
func TestNarrowErrors(t *testing.T) {
	eng := openEngine(t)
	docs := map[string]plan.Table{"docs": {Source: docsTable()}}
	for text, want := range map[string]string{
		"SELECT b FROM (SELECT b, sum(z) FROM docs GROUP BY b)":              "does not exist",
		"SELECT b FROM (SELECT b, sum(s) FROM docs GROUP BY b)":              "sum",
		"SELECT b FROM (SELECT b, x + true AS w FROM docs LIMIT 1)":          "BOOLEAN",
		"SELECT b FROM (SELECT b, x FROM docs GROUP BY b)":                   "GROUP BY",
		"SELECT z FROM (SELECT b, sum(x) AS s FROM docs GROUP BY b LIMIT 1)": "does not exist",
	} {
		if _, err := ask(eng, text, docs); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want an error with %q", text, err, want)
		}
	}
}
