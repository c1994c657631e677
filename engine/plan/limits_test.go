//go:build cgo

package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/sql"
)

// Would catch expressions that double with each name that stands for them, until no memory holds them: of derived
// tables, which are run by themselves then, and of names within one statement, which is refused; and a statement that
// sorts all rows thousands of times.
func TestCostlyNames(t *testing.T) {
	eng := openEngine(t)
	tables := map[string]plan.Table{"t": {Source: keyedTable(10)}}
	derived := "SELECT b AS x FROM t"
	for range 40 {
		derived = "SELECT x - x AS x FROM (" + derived + ")"
	}
	rows, err := ask(eng, derived+" LIMIT 1", tables)
	if err != nil || len(rows) != 1 || rows[0][0] != "0" {
		t.Errorf("%v, %v", rows, err)
	}
	aliases := "SELECT b AS x0"
	for i := range 40 {
		aliases += fmt.Sprintf(", x%d + x%d AS x%d", i, i, i+1)
	}
	var orders, stars []string
	for i := range 65 {
		orders = append(orders, fmt.Sprintf("list(a ORDER BY b + %d)", i))
	}
	for range 17_000 {
		stars = append(stars, "*")
	}
	for text, want := range map[string]string{
		aliases + " FROM t": "with what its names stand for",
		"SELECT " + strings.Join(orders, ", ") + " FROM t": "more than 64 different ORDER BY in aggregates",
		"SELECT " + strings.Join(stars, ", ") + " FROM t":  "more than 32768",
	} {
		if _, err := ask(eng, text, tables); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %v, want %q", text, err, want)
		}
	}
}

// Statements of a quarter of a megabyte are parsed and planned, or refused, by their text alone. Would catch a list
// that is searched from its beginning for each element: the suite ends by its timeout then.
func TestLongStatements(t *testing.T) {
	eng := openEngine(t)
	tables := map[string]plan.Table{"t": {Source: keyedTable(10)}}
	list := func(n int, separator, format string) string {
		items := make([]string, n)
		for i := range items {
			items[i] = strings.ReplaceAll(format, "#", fmt.Sprint(i))
		}
		return strings.Join(items, separator)
	}
	for i, text := range []string{
		"SELECT " + list(20_000, ", ", "b + #") + " FROM t",
		"SELECT " + list(12_000, ", ", "sum(b + #)") + " FROM t",
		"SELECT " + list(3000, ", ", "count(DISTINCT b + #)") + " FROM t",
		"SELECT " + list(5000, ", ", "count(*) FILTER (WHERE b = #)") + " FROM t",
		"SELECT count(*) FROM t GROUP BY " + list(15_000, ", ", "b + #"),
		"SELECT b FROM t ORDER BY " + list(15_000, ", ", "b + #"),
		"SELECT a FROM t GROUP BY a HAVING " + list(6000, " OR ", "sum(b + #) > 0"),
		"SELECT count(*) FROM t WHERE " + list(8000, " AND ", "b <> # + 1"),
		"SELECT count(*) FROM t WHERE " + list(8000, " OR ", "b = # AND a > #"),
		"SELECT count(*) FROM t WHERE b IN (" + list(30_000, ", ", "#") + ")",
		"SELECT CASE " + list(8000, " ", "WHEN b = # THEN #") + " END FROM t",
		"SELECT b" + strings.Repeat(" + 1", 60_000) + " FROM t",
		"SELECT " + strings.Repeat("abs(", 50_000) + "b" + strings.Repeat(")", 50_000) + " FROM t",
		"SELECT " + strings.Repeat("(SELECT ", 20_000) + "1" + strings.Repeat(")", 20_000) + " FROM t",
		"SELECT * FROM " + strings.Repeat("(SELECT * FROM ", 10_000) + "t" + strings.Repeat(")", 10_000),
		strings.Repeat("/*", 60_000) + strings.Repeat("*/", 60_000) + "SELECT b FROM t",
		"SELECT b " + strings.Repeat("-", 200_000) + "\n FROM t",
		"SELECT b AS x0, " + list(5000, ", ", "x# + 1 AS x#1") + " FROM t",
	} {
		if testing.Short() && i%3 != 0 {
			continue
		}
		st, err := sql.Parse(text)
		if err != nil {
			continue // a text may be refused
		}
		if q, err := plan.Prepare(t.Context(), eng, st, plan.Options{Tables: tables}); err == nil {
			q.Close()
		}
	}
}
