//go:build cgo

package plan_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/sql"
)

// textBytesMax is the longest text that is read.
const textBytesMax = 256 << 10

// growths make a longer expression of another, n times as long or as deep.
var growths = []func(x string, n int) string{
	func(x string, n int) string { return strings.Repeat("(", n) + x + strings.Repeat(")", n) },
	func(x string, n int) string { return strings.Repeat("abs(", n) + x + strings.Repeat(")", n) },
	func(x string, n int) string { return strings.Repeat("- ", n) + x },
	func(x string, n int) string { return x + strings.Repeat(" + 1", n) },
	func(x string, n int) string { return "coalesce(" + x + repeated(n, ", b + #") + ")" },
	func(x string, n int) string { return "CASE " + x + repeated(n, " WHEN # THEN b") + " END" },
	func(x string, n int) string {
		return strings.Repeat("CASE WHEN b = 1 THEN ", n) + x + strings.Repeat(" ELSE 2 END", n)
	},
	func(x string, n int) string { return "CAST(" + x + " IN (0" + repeated(n, ", #") + ") AS BIGINT)" },
	func(x string, n int) string {
		return "CAST(" + x + " > 0" + repeated(n, " OR b = # AND a < #") + " AS BIGINT)"
	},
	func(x string, n int) string { return strings.Repeat("/*", n) + strings.Repeat("*/", n) + x },
	func(x string, n int) string { return x + repeated(n, " -- line #\n") },
	func(x string, n int) string { return x + " + length('" + strings.Repeat("''", n) + "')" },
}

// statements make a statement of an expression over a and b, with n elements or levels.
var statements = []func(x string, n int) string{
	func(x string, n int) string { return "SELECT " + x + repeated(n, ", b + #") + " FROM t" },
	func(x string, n int) string { return "SELECT sum(" + x + ")" + repeated(n, ", max(b + #)") + " FROM t" },
	func(x string, n int) string { return "SELECT b FROM t ORDER BY " + x + repeated(n, ", b + # DESC") },
	func(x string, n int) string { return "SELECT count(*) FROM t GROUP BY " + x + repeated(n, ", b + #") },
	func(x string, n int) string {
		return "SELECT b FROM t WHERE " + x + " > 0" + repeated(n, " AND b <> # + 1")
	},
	func(x string, n int) string {
		return "SELECT a FROM t GROUP BY a HAVING sum(" + x + ") > 0" + repeated(n, " OR min(b + #) > 0")
	},
	func(x string, n int) string {
		return strings.Repeat("SELECT * FROM (", n) + "SELECT " + x + " AS x FROM t" + strings.Repeat(")", n)
	},
	func(x string, n int) string {
		return "WITH w AS (SELECT " + x + " AS b, a FROM t)" + repeated(n, ", w# AS (SELECT b FROM w)") + " SELECT b FROM w"
	},
	func(x string, n int) string {
		return "SELECT " + x + " AS x0" + repeated(n, ", x0 + # AS x0#") + " FROM t"
	},
}

// repeated repeats a text with the numbers from 0 on in place of #.
func repeated(n int, format string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.ReplaceAll(format, "#", fmt.Sprint(i)))
	}
	return b.String()
}

// longStatement returns the statement of some steps, of three bytes each: what grows, and how far.
func longStatement(steps []byte) string {
	x, text := "b", "SELECT b FROM t"
	for ; len(steps) >= 3 && len(text) <= textBytesMax; steps = steps[3:] {
		kind, n := int(steps[0])%(len(growths)+len(statements)), int(steps[1])<<8|int(steps[2])
		if kind < len(growths) {
			x = growths[kind](x, n)
			text = "SELECT " + x + " FROM t"
			continue
		}
		return statements[kind-len(growths)](x, n)
	}
	return text
}

// Any statement of up to 256 kB is read and planned, or refused, in work that grows with its text. Would catch a step
// that takes the square of it: the bound on the looks at the context does not hold then, or the timeout is met.
func FuzzLongStatements(f *testing.F) {
	for kind := range len(growths) + len(statements) {
		for _, n := range []int{3, 150, 1500} {
			f.Add([]byte{byte(kind), byte(n >> 8), byte(n)})
		}
	}
	f.Add([]byte{4, 0, 9, 6, 0, 50, 8, 0, 90, 13, 4, 0})
	f.Add([]byte{0, 0, 200, 1, 0, 200, 6, 0, 20, 18, 0, 49})
	eng := openEngine(f)
	tables := map[string]plan.Table{"t": {Source: keyedTable(10)}}
	f.Fuzz(func(t *testing.T, steps []byte) {
		text := longStatement(steps)
		reading, planning := looksOf(t.Context(), math.MaxInt64), looksOf(t.Context(), math.MaxInt64)
		st, err := sql.ParseContext(reading, text)
		if err == nil {
			var q *plan.Query
			if q, err = plan.Prepare(planning, eng, st, plan.Options{Tables: tables}); err == nil {
				q.Close()
			}
		}
		if err == nil && len(text) > textBytesMax {
			t.Errorf("a text of %d bytes is not refused", len(text))
		}
		most := int64(100 + len(text)) // a look for each item of a list, and for 256 nodes that are bound
		if taken := reading.taken.Load() + planning.taken.Load(); taken > most {
			t.Errorf("%.60s, %d bytes: the context was looked at %d times, more than %d", text, len(text), taken, most)
		}
	})
}
