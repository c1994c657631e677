//go:build cgo

package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mpga/mpga/engine/plan"
)

// Would catch numbers with a fraction that are read by their digits alone, constants that are keys
// of all grouping sets, groups of no rows whose aggregates the schema says are never NULL, and
// constants that are taken for others.
func TestConstants(t *testing.T) {
	eng := openEngine(t)
	tables := map[string]plan.Table{"docs": {Source: docsTable()}}
	for text, want := range map[string]string{
		"SELECT x FROM docs ORDER BY y LIMIT 1.4":                                            "[[1]]",
		"SELECT x FROM docs ORDER BY y LIMIT '2' OFFSET NULL":                                "[[1] [4]]",
		"SELECT 2.0 AS k, count(*) FROM docs GROUP BY 2.0":                                   "[[2 4]]",
		"SELECT count(*) FROM docs GROUP BY 0.5":                                             "[[4]]",
		"SELECT 'x' AS k, count(*), grouping(k) FROM docs GROUP BY ROLLUP (k)":               "[[NULL 4 1] [x 4 0]]",
		"SELECT k || '!', 'x', count(*) FROM (SELECT 'x' AS k FROM docs) GROUP BY CUBE (k)":  "[[NULL x 4] [x! x 4]]",
		"SELECT k, count(*) * 2 FROM (SELECT 2 AS k FROM docs) GROUP BY ROLLUP (k)":          "[[2 8] [NULL 8]]",
		"SELECT b, sum(0.5), max('x') FROM docs WHERE x > 9 GROUP BY CUBE (b) ORDER BY 2, 3": "[[NULL NULL NULL]]",
		"SELECT 1, 'x' FROM docs WHERE x > 9 GROUP BY ALL":                                   "[]",
	} {
		answersInAnyOrder(t, eng, tables, text, want)
	}
	for text, want := range map[string]string{
		"SELECT x FROM docs ORDER BY 'y'":       "a constant orders nothing",
		"SELECT x FROM docs ORDER BY 1.0":       "a constant orders nothing",
		"SELECT list(x ORDER BY 'y') FROM docs": "a constant orders nothing",
		"SELECT x FROM docs LIMIT 'many'":       "LIMIT takes a number of rows",
		"SELECT x FROM docs OFFSET -0.6":        "OFFSET takes a number of rows",
		"SELECT x FROM docs LIMIT x":            "LIMIT takes a number of rows",
		"SELECT x FROM docs LIMIT '1 day'":      "LIMIT takes a number of rows",
		"SELECT count(*) FROM docs LIMIT 2":     "",
	} {
		_, err := ask(eng, text, tables)
		if got := fmt.Sprint(err); want == "" && err != nil || !strings.Contains(got, want) {
			t.Errorf("%s: got the error %v, want %q", text, err, want)
		}
	}
}
