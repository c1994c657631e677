package rollup

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/vfs"
)

// aggregates are what roll-ups that are read as tables have, by their names.
const aggregates = `count(*) AS n, sum(v) AS sv, avg(v) AS av, count(DISTINCT v) AS dv, median(v) AS m,
	quantile_disc(v, 0.9) AS q, list(v) AS l, first(v) AS f, last(v) AS la, string_agg(s, ',') AS a, mode(s) AS mo,
	stddev(v) AS sd, arg_max(s, v) AS am, max(v, 2) AS m2, sum(v) FILTER (WHERE v > 3) AS fv,
	round(sum(v) / count(*), 3) AS r, count(DISTINCT k + v) AS dk`

// Would catch coarser groups of a roll-up that are not those of the rows: by any of its keys, with a condition of them,
// NULL and NaN among keys and values, states in many partitions, a key of an expression.
func TestTable(t *testing.T) {
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-seed=%d", seed)
	rng := rand.New(rand.NewPCG(seed, 5))
	h := newHistory(t, rng)
	for range 20 {
		h.writeFile("t", h.newName())
	}
	keys := []string{"k", "s", "v", "h"}
	h.opt.Statement = "SELECT k, s, v, v > 4 AS h, " + aggregates + " FROM t GROUP BY k, s, v, h"
	_, err := Run(t.Context(), h.eng, h.opt)
	check(t, err)
	filters := []string{"", "k > 3", "s <> 'a' AND k IS NOT NULL", "v IS NULL OR v > 5", "h", "k IN (1, 2) OR s LIKE 'z%'",
		"k > 100", "k + v < 9"}
	answer := func(name, statement string) []byte {
		t.Helper()
		path := filepath.Join(h.dir, name+".csv")
		if err := h.write(statement, plan.Options{Tables: h.opt.Tables, Deterministic: true}, path); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
		text, err := os.ReadFile(path)
		check(t, err)
		return text
	}
	for range 60 {
		rng.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
		by := slices.Sorted(slices.Values(keys[:rng.IntN(len(keys)+1)]))
		filter := filters[rng.IntN(len(filters))]
		list, groups, where, args := "", "", "", ""
		if len(by) > 0 {
			list, groups = strings.Join(by, ", ")+", ", " GROUP BY "+strings.Join(by, ", ")
		}
		if filter != "" {
			where = " WHERE (" + strings.Replace(filter, "h", "v > 4", 1) + ")"
			args = ", filter = '" + strings.ReplaceAll(filter, "'", "''") + "'"
		}
		names := make([]string, 0, len(by))
		for _, k := range by {
			names = append(names, "'"+k+"'")
		}
		order := " ORDER BY " + list + "n, f"
		full := strings.Replace("SELECT "+list+aggregates+" FROM t"+where+groups, "h, ", "v > 4 AS h, ", 1) + order
		coarser := fmt.Sprintf("SELECT %sn, sv, av, dv, m, q, l, f, la, a, mo, sd, am, m2, fv, r, dk "+
			"FROM rollup('%s', by = [%s]%s)%s", list, h.opt.State, strings.Join(names, ", "), args, order)
		if want, got := answer("want", full), answer("got", coarser); !bytes.Equal(got, want) {
			t.Fatalf("%s\n%.1500q\n%s\n%.1500q", coarser, got, full, want)
		}
	}
}

// Would catch a table of a roll-up whose groups are stale, rows that HAVING of the roll-up leaves out, and a key that
// is NULL in coarser groups and taken to be never NULL.
func TestTableOfNights(t *testing.T) {
	o := daily(t, vfs.OS, "SELECT coalesce(k, 0) AS k, v % 2 AS odd, sum(v) AS sv FROM t GROUP BY ALL "+
		"HAVING sum(v) > 60", 3)
	eng := open(t, vfs.OS, 1)
	read := func(statement string) string {
		t.Helper()
		h := &history{t: t, plain: eng}
		path := filepath.Join(t.TempDir(), "out.csv")
		check(t, h.write(strings.ReplaceAll(statement, "DIR", o.State), plan.Options{}, path))
		text, err := os.ReadFile(path)
		check(t, err)
		return string(text)
	}
	for day := range 3 {
		_, err := Run(t.Context(), eng, o)
		check(t, err)
		got := read("SELECT odd, k IS NULL AS none, sv FROM rollup('DIR', by = 'odd') ORDER BY ALL")
		n := day + 3 // days; of each an even and an odd half
		want := "odd,none,sv\n"
		for odd := range 2 {
			want += fmt.Sprintf("%d,true,%d\n", odd, 25*n*(n-1)+(20+5*odd)*n)
		}
		if got != want {
			t.Errorf("day %d: %q, want %q", day, got, want)
		}
		addDay(t, filepath.Dir(o.State), n)
	}
	got := read("WITH r AS (SELECT * FROM rollup('DIR', by = 'odd')) SELECT count(*) FROM r a JOIN r b USING (odd)")
	if got != "count(*)\n2\n" {
		t.Errorf("a roll-up that is joined to itself: %q", got)
	}
	sets := o
	sets.State += ".sets"
	sets.Statement = "SELECT k, sum(v) AS sv, count(*) AS n FROM t WHERE v < 0 GROUP BY ROLLUP (k)"
	_, err := Run(t.Context(), eng, sets)
	check(t, err)
	want(t, sets, "k,sv,n\n,,0\n")
	if got := read("SELECT * FROM rollup('DIR.sets')"); got != "k,sv,n\n,,0\n" {
		t.Errorf("grouping sets of no rows: %q", got)
	}
	s, err := sql.Parse("SELECT * FROM rollup('" + sets.State + "', by = 'k')")
	check(t, err)
	_, err = plan.Prepare(t.Context(), eng, s, plan.Options{})
	says(t, "coarser groups of grouping sets", err, ErrStatement, "several grouping sets")
	distinct := o
	distinct.State, distinct.Statement = o.State+".distinct", "SELECT DISTINCT k FROM t"
	_, err = Run(t.Context(), eng, distinct)
	check(t, err)
	for args, want := range map[string]string{"by = []": "has no aggregates", "by = 'kk'": "did you mean k?; there are k",
		"filter = 'k > ?'": "parameters", "filter = ' '": "filter = 'condition'", "filter = 'v > 1'": "the keys are k"} {
		s, err = sql.Parse("SELECT * FROM rollup('" + distinct.State + "', " + args + ")")
		check(t, err)
		if _, err = plan.Prepare(t.Context(), eng, s, plan.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
	_, err = Forget(vfs.OS, o.State, "test")
	check(t, err)
	s, err = sql.Parse("SELECT * FROM rollup('" + o.State + "')")
	check(t, err)
	_, err = plan.Prepare(t.Context(), eng, s, plan.Options{})
	if err == nil || !strings.Contains(err.Error(), "has no state of a roll-up") {
		t.Errorf("a state that is forgotten: %v", err)
	}
	late := o
	late.Statement = "SELECT k, sv FROM (SELECT k, sum(v) AS sv FROM rollup('" + o.State + "') GROUP BY k)"
	_, err = Run(t.Context(), eng, late)
	says(t, "a roll-up of a roll-up", err, ErrStatement, "reads another roll-up")
}
