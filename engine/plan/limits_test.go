//go:build cgo

package plan_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mpga/mpga/engine/plan"
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
