//go:build cgo

package plan_test

import (
	"context"
	"fmt"
	"hash/crc32"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/plan"
)

// Would catch a plan that keeps a part of one of its runs, which another run finds: a bound of a sort,
// groups that are rows of the result, counts of rows. A seventh of the statements of testdata/plans is
// planned once, and four runs at once, 32 of the last, have the rows and the statistics of a run alone.
func TestTogether(t *testing.T) {
	tables := writePlanTables(t)
	tables["orders_json"] = plan.Table{Files: []string{"orders.json"}}
	eng, err := engine.Open(engine.Options{Threads: 4, MemoryLimit: 2 << 30})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := eng.Close(); err != nil {
			t.Error(err)
		}
	}()
	statements := append(planStatements(t),
		"SELECT customer.city, sum(total), count(DISTINCT id) FROM orders_json WHERE id > 10 GROUP BY ROLLUP (customer.city)",
		"SELECT * FROM (SELECT page, list(visitor ORDER BY seconds, visitor) AS l FROM visits GROUP BY page) ORDER BY page LIMIT 3",
		"SUMMARIZE visits",
		"SELECT page, sum(DISTINCT visitor), min(seconds) FROM visits WHERE seconds > 3 GROUP BY page",
	)
	for n, text := range statements {
		q, err := prepareWith(eng, text, plan.Options{Tables: tables})
		if err != nil {
			continue // testdata/plans has errors, too
		}
		want, err := runOnce(q, text)
		together := 4
		if n == len(statements)-1 {
			together = 32
		}
		var all sync.WaitGroup
		for i := range together {
			all.Go(func() {
				if i%8 == 3 {
					if _, gotErr := q.Analyze(context.Background()); (gotErr == nil) != (err == nil) {
						t.Errorf("%s: analyzed: %v; alone %v", text, gotErr, err)
					}
				}
				got, gotErr := runOnce(q, text)
				if got != want || (gotErr == nil) != (err == nil) { // an error may be of any row
					t.Errorf("%s: among %d runs %.300s, error %v; alone %.300s, error %v", text, together, got, gotErr, want, err)
				}
			})
		}
		all.Wait()
		q.Close()
	}
}

// planStatements returns a seventh of the statements of testdata/plans, by their texts: a further statement changes
// nothing of the choice among the others, some of which take minutes.
func planStatements(t *testing.T) (list []string) {
	datadriven.Walk(t, planFiles, func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(_ *testing.T, d *datadriven.TestData) string {
			if crc32.ChecksumIEEE([]byte(d.Input))%7 == 0 {
				list = append(list, d.Input)
			}
			return d.Expected
		})
	})
	return list
}

// aFraction finds numbers whose last digits depend on which rows were added up first.
var aFraction = regexp.MustCompile(`\d+\.\d{9,}`)

// runOnce runs a plan, and returns its rows in any order, and statistics. Of a limited number of rows,
// which may be any, it returns the number.
func runOnce(q *plan.Query, text string) (string, error) {
	r, err := q.Run(context.Background())
	if err != nil {
		return "", err
	}
	defer r.Release()
	rows, err := rowsOf(r)
	if err != nil {
		return "", err
	}
	stats := r.Stats()
	counted := fmt.Sprintf("%d rows in order; %d read in %d splits", len(rows), stats.RowsRead, stats.Splits)
	if stats.Filter != nil {
		counted += fmt.Sprintf("; %d left by the filter", stats.Filter.RowsKept)
	}
	if strings.Contains(text, "LIMIT") {
		return fmt.Sprintf("%d rows", len(rows)), nil
	}
	lines := make([]string, len(rows))
	for i, cells := range rows {
		lines[i] = aFraction.ReplaceAllStringFunc(strings.Join(cells, "|"), func(n string) string { return n[:10] })
	}
	slices.Sort(lines)
	return counted + ":\n" + strings.Join(lines, "\n"), nil
}
