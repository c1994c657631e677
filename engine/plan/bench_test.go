//go:build cgo

package plan_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/sql"
)

// The time to read and plan a statement over a table that is open. What grows with the square of
// the number of aggregates shows in that of many.
func BenchmarkPrepare(b *testing.B) {
	const few = `SELECT upper(s) AS k, b, sum(x * (1 - y)) AS a, sum(x * (1 - y) * (1 + y)) AS c, avg(x), count(*) FILTER (WHERE x > 1)
		FROM docs WHERE y <= 30 AND s LIKE 'a%' GROUP BY k, b HAVING count(*) > 0 ORDER BY a DESC, k LIMIT 10`
	sums := make([]string, 1000)
	for i := range sums {
		sums[i] = fmt.Sprintf("sum(x + %d)", i)
	}
	b.Run("few", func(b *testing.B) { benchmarkPrepare(b, few) })
	b.Run("many", func(b *testing.B) { benchmarkPrepare(b, "SELECT "+strings.Join(sums, ", ")+" FROM docs") })
}

func benchmarkPrepare(b *testing.B, text string) {
	eng := openEngine(b)
	tables := map[string]plan.Table{"docs": {Source: docsTable()}}
	for b.Loop() {
		s, err := sql.Parse(text)
		if err != nil {
			b.Fatal(err)
		}
		q, err := plan.Prepare(context.Background(), eng, s, plan.Options{Tables: tables})
		if err != nil {
			b.Fatal(err)
		}
		q.Close()
	}
}
