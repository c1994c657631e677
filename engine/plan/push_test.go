//go:build cgo

package plan_test

import (
	"testing"

	"github.com/mpga/mpga/engine/plan"
)

// Would catch a part of a condition that goes below computed columns, and is an error there for a row that a part
// before it leaves out.
func TestErrorsBehindConditions(t *testing.T) {
	const from = " FROM (SELECT s, n + 0 AS k FROM t UNION ALL SELECT s, n FROM t) WHERE "
	eng := openEngine(t)
	const rows = "WITH t AS (SELECT * FROM (VALUES ('abc', 3), ('12', 2), ('x', 1)) v(s, n)) "
	for text, fails := range map[string]bool{
		"SELECT s" + from + "k = 2 AND CAST(s AS INTEGER) > 5":             false,
		"SELECT s" + from + "s < 'a' AND CAST(s AS INTEGER) > 5 AND k = 2": false,
		"SELECT s" + from + "CAST(s AS INTEGER) > 5 AND k = 2":             true,
	} {
		rows, err := answeredWith(eng, rows+text, plan.Options{})
		if (err != nil) != fails || !fails && len(rows) != 2 {
			t.Errorf("%s: %q, %v", text, rows, err)
		}
	}
}
