//go:build cgo

package plan_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/testknobs"
)

// recursions are statements of WITH RECURSIVE, with the number and the sum of their rows.
var recursions = []struct{ text, want string }{
	{"r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 50)", "50 1275"},
	{"r(n) AS (SELECT 1 UNION SELECT (n * 7) % 101 FROM r)", "100 5050"},
	{"r(n) AS (SELECT 0 UNION SELECT (2 * n + k) % 3000 FROM r, (VALUES (0), (1)) v(k))", "3000 4498500"},
	{"r(n, s) AS (SELECT 0, 'zero' UNION SELECT n % 20 + 1, repeat('long ', n % 9) FROM r)", "22 211"},
	{"r(n, m) AS (SELECT 1, NULL::INTEGER UNION SELECT n, nullif(n + coalesce(m, 0), 4) FROM r WHERE m IS NULL OR m < 6)", "4 4"},
	{"v AS (SELECT a, (a + 1) % 9 AS b FROM t), r(n) AS (SELECT 4 UNION SELECT b FROM r JOIN v ON a = n)", "9 36"},
	{"r(n) AS (SELECT 1 UNION ALL SELECT max(n) + count(*) FROM r WHERE n < 9 HAVING max(n) < 9)", "9 45"},
	{"r(n) AS (WITH RECURSIVE i(k) AS (SELECT 2 UNION ALL SELECT k + 1 FROM i WHERE k < 4) SELECT k FROM i UNION ALL " +
		"(WITH RECURSIVE j(k) AS (SELECT n FROM r WHERE n < 100 UNION ALL SELECT k * 10 FROM j WHERE k < 100) SELECT k FROM j WHERE k > 100))",
		"6 909"},
	{"r(n) AS (SELECT 1 UNION ALL (WITH w AS MATERIALIZED (SELECT n + 1 AS m FROM r WHERE n < 5) SELECT a.m FROM w a, w b WHERE a.m = b.m))", "5 15"},
}

// Would catch rows of an iteration before the last one, rows that are told to be new twice or not at all once they are on
// disk, and memory or files of iterations that nobody gives back.
func TestRecursion(t *testing.T) {
	tables := map[string]plan.Table{"t": {Source: keyedTable(9)}}
	for _, knobs := range []testknobs.Engine{{}, {SpillAll: true, MemoryBytes: 2 << 20}} {
		eng := openWith(t, 2, knobs)
		for _, c := range recursions {
			text := "WITH RECURSIVE " + c.text + " SELECT count(*), sum(n) FROM r"
			rows, err := ask(eng, text, tables)
			if got := fmt.Sprint(rows); err != nil || got != "[["+c.want+"]]" {
				t.Errorf("%s\nspilled %v: got %s, %v; want %s", text, knobs.SpillAll, got, err, c.want)
			}
		}
	}
}

// Would catch a recursion that goes on when nobody wants more of its rows, and one that takes a parameter of its step for
// NULL.
func TestRecursionEnds(t *testing.T) {
	eng, err := engine.Open(engine.Options{Threads: 2, MemoryLimit: 1 << 30, MaxRecursion: 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := eng.Close(); err != nil {
			t.Error(err)
		}
	})
	const endless = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT n FROM r"
	answers(t, eng, nil, endless+" LIMIT 3", "[[1] [2] [3]]")
	if _, err := ask(eng, endless, nil); !errors.Is(err, engine.ErrRecursion) {
		t.Errorf("got %v, want an ErrRecursion", err)
	}
	s, err := sql.Parse("WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < ?) SELECT n FROM r")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := askOf(eng, s, plan.Options{Parameters: []plan.Parameter{{Type: arrow.PrimitiveTypes.Int64, Text: "3"}}})
	if err != nil || !slices.EqualFunc(rows, []string{"1", "2", "3"}, func(row []string, want string) bool { return row[0] == want }) {
		t.Errorf("with a parameter: got %v, %v", rows, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	q, err := prepare(eng, endless, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	r, err := q.Run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	left := errors.New("the caller has left")
	if r.Next() {
		cancel(left)
	}
	for r.Next() {
	}
	if err := r.Err(); !errors.Is(err, left) && !errors.Is(err, engine.ErrRecursion) {
		t.Errorf("got %v, want the cause of the end", err)
	}
}
