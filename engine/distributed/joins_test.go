package distributed

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/internal/workdir"
	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/sink"
	"github.com/mpga/mpga/internal/grouptest"
)

// joinTables writes tables of two files, of five row groups and of one file.
func joinTables(t *testing.T, dir string) map[string]plan.Table {
	t.Helper()
	writeSmall(t, filepath.Join(dir, "in"))
	writeGroups(t, filepath.Join(dir, "groups.parquet"))
	return map[string]plan.Table{
		"t": {Files: []string{filepath.Join(dir, "in")}}, "parts": {Files: []string{filepath.Join(dir, "groups.parquet")}},
		"one": {Files: []string{filepath.Join(dir, "in", "0.csv")}},
	}
}

// Would catch rows of a join that several parts have or none, as of a side whose rows without a partner are kept,
// subqueries and domains that see the rows of one part alone, inputs of unions that each part reads again,
// and states that parts make of another form, as their statistics say of other columns that they have no NULL.
func TestJoinsInParts(t *testing.T) {
	seed := newSeed(t)
	for i, statement := range []string{
		"SELECT one.s, count(*) AS n, sum(id) AS v FROM parts JOIN one ON code = k GROUP BY one.s",
		"SELECT k, count(*) AS n, count(id) AS v FROM one LEFT JOIN parts ON code = k + 40 GROUP BY k",
		"SELECT k, count(*) AS n, count(id) AS v FROM one RIGHT JOIN parts ON code = k AND v > 3 GROUP BY k",
		"SELECT code, count(*) AS n FROM parts SEMI JOIN t ON code = k GROUP BY code",
		"SELECT code, count(*) AS n FROM parts ANTI JOIN t ON code = k AND v < 5 GROUP BY code",
		"SELECT k, sum(id) AS n FROM parts ASOF JOIN one ON code >= k GROUP BY k",
		"SELECT k, count(*) AS n FROM parts, one WHERE code BETWEEN k AND k + 2 GROUP BY k",
		"SELECT code, count(*) AS n FROM parts WHERE code NOT IN (SELECT k FROM t WHERE v > 4) GROUP BY code",
		"SELECT code, count(*) AS n FROM parts WHERE id > (SELECT avg(v) FROM t) GROUP BY code",
		"SELECT code, count(*) AS n FROM parts p WHERE id % 9 < (SELECT count(*) FROM t WHERE v < p.code) GROUP BY code",
		"SELECT code, sum((SELECT max(v) FROM t WHERE k < p.code)) AS n FROM parts p JOIN one ON code = one.k GROUP BY code",
		"SELECT a.code, count(*) AS n FROM parts a JOIN parts b ON a.code = b.id GROUP BY a.code",
		"WITH w AS (SELECT k, sum(v) AS v FROM t GROUP BY k) SELECT a.v, count(*) AS n FROM parts JOIN w a ON code = a.k JOIN w b ON id = b.v GROUP BY a.v",
		"SELECT k, count(*) AS n FROM (SELECT k FROM t UNION ALL SELECT code FROM parts UNION ALL SELECT 7 UNION ALL SELECT max(v) FROM one) GROUP BY k",
		"SELECT u.k, count(*) AS n FROM (SELECT k FROM t UNION ALL SELECT code FROM parts) u JOIN one ON u.k = one.k GROUP BY u.k",
		"SELECT k * 100 + e AS g, count(*) AS n, first(v) AS f FROM t, unnest([5, k]) u(e) GROUP BY g",
		"SELECT k * 100 + e + 1 AS w, count(*) AS n FROM (SELECT k, unnest([v, 1]) AS e FROM t WHERE v > 2) WHERE e < 9 GROUP BY w",
		"SELECT k FROM t UNION SELECT code FROM parts",
		"SELECT k FROM t INTERSECT SELECT code FROM parts",
		"SUMMARIZE parts",
		"SELECT n, count(*) AS c FROM (SELECT code, count(*) AS n FROM parts WHERE id > 3 GROUP BY code) GROUP BY n",
		"SELECT code, rank() OVER (ORDER BY count(*), code) AS n FROM parts WHERE id < 177 GROUP BY code QUALIFY n < 9",
		"SELECT k, sum(n) AS n FROM (SELECT code, max(id) AS n FROM parts GROUP BY code) LEFT JOIN one ON code = k GROUP BY k",
		"SELECT k, sum(n) AS n FROM (SELECT code, max(id) AS n FROM parts GROUP BY code) FULL JOIN t ON code = k GROUP BY k",
		"SELECT code, n FROM (SELECT code, sum(id) AS n FROM parts GROUP BY code ORDER BY n, code LIMIT 4) WHERE n % 2 = 0",
		"SELECT code FROM (SELECT code, count(*) AS n FROM parts GROUP BY code) WHERE n > (SELECT avg(k) FROM one) AND code IN (SELECT v FROM t)",
		"WITH w AS (SELECT code, max(id) AS n FROM parts GROUP BY code) SELECT a.code, count(*) AS n FROM w a JOIN w b ON a.n = b.n GROUP BY a.code",
		"SELECT k, sum(n) AS n FROM (SELECT code % 8 AS k, count(*) AS n FROM parts GROUP BY ALL UNION ALL SELECT k, v FROM one) GROUP BY k",
		"SELECT code FROM parts EXCEPT SELECT k FROM t",
		"SELECT id % 7 AS k, list(code) AS n, first(code) AS f, mad(code) AS m FROM parts GROUP BY k",
		"SELECT code, CAST(histogram(id % 3) AS VARCHAR) AS h, CAST(max(to_months(CAST(id % 5 AS INTEGER))) AS VARCHAR) AS i FROM parts GROUP BY code",
		"SELECT n, count(*) AS c FROM parts JOIN (SELECT k, rank() OVER (ORDER BY k) AS n FROM (SELECT DISTINCT k FROM t)) w ON code = k GROUP BY n",
	} {
		t.Run(statement, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, uint64(i)))
			dir := t.TempDir()
			tables, eng := joinTables(t, dir), open(t, 1+rng.IntN(3))
			keys := 1
			want, err := atOnce(t, eng, statement, plan.Options{Tables: tables, Deterministic: true}, keys)
			check(t, err)
			p, err := New(t.Context(), eng, quick, Request{
				Statement: statement, Tables: tables, Deterministic: true, Version: "test", Output: filepath.Join(dir, "out"),
				Layout: sink.Options{Format: sink.Arrow, Manifest: true, FS: quick}, Work: filepath.Join(dir, "work"),
				Splits: 2 + rng.IntN(6), Partitions: 1 << rng.IntN(4), Merges: 1 + rng.IntN(4), Combines: rng.IntN(3) - 1,
			})
			check(t, err)
			if len(p.Splits) < 2 && !strings.Contains(statement, "one LEFT JOIN") {
				t.Errorf("%d splits: nothing is divided", len(p.Splits))
			}
			check(t, runAll(t, rng, newTasks(eng, quick, dir, p)))
			got, err := grouptest.ReadAll(readOutput(t, filepath.Join(dir, "out")), keys)
			check(t, err)
			if err := grouptest.Equal(want, got); err != nil {
				t.Errorf("%d splits, %d partitions: %v", len(p.Splits), p.Partitions, err)
			}
		})
	}
}

// Would catch a task that joins its rows with others than the plan was made for. R3.
func TestWholeInputChanged(t *testing.T) {
	dir := t.TempDir()
	tables, eng := joinTables(t, dir), open(t, 1)
	p, err := New(t.Context(), eng, quick, Request{
		Statement: "SELECT v, count(*) AS n FROM parts JOIN one ON code = k GROUP BY v", Tables: tables, Version: "test",
		Output: filepath.Join(dir, "out"), Layout: sink.Options{FS: quick}, Work: filepath.Join(dir, "work"), Splits: 2,
	})
	check(t, err)
	tasks := newTasks(eng, quick, dir, p)
	_, err = tasks.Partial(t.Context(), 0)
	check(t, err)
	check(t, os.WriteFile(filepath.Join(dir, "in", "0.csv"), []byte("k,v,s\n1,2,3\n"), 0o666))
	if _, err = tasks.Partial(t.Context(), 1); !errors.Is(err, ErrPlan) || !strings.Contains(err.Error(), "0.csv is not what it was") {
		t.Errorf("%v; want the input's change", err)
	}
	check(t, os.Remove(filepath.Join(dir, "in", "0.csv")))
	if _, err = tasks.Partial(t.Context(), 1); !errors.Is(err, ErrPlan) {
		t.Errorf("%v; want ErrPlan, since the input is gone", err)
	}
}

// Would catch a list that is planned by what a split knows of NULLs: here the first file has one, and the second none.
func TestListsOfSplits(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "in")
	check(t, os.MkdirAll(in, 0o777))
	schema := arrow.NewSchema([]arrow.Field{{Name: "u", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)
	for name, text := range map[string]string{"0": `[{"u": 1}, {"u": null}]`, "1": `[{"u": 2}, {"u": 3}]`} {
		batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(text))
		check(t, err)
		rows, err := array.NewRecordReader(schema, []arrow.RecordBatch{batch})
		check(t, err)
		check(t, workdir.WriteRows(t.Context(), filepath.Join(in, name+".parquet"), schema, sink.Options{}, rows))
		batch.Release()
	}
	eng := open(t, 1)
	r := smallRequest(quick, dir)
	r.Statement, r.Output = "SELECT list(u) AS l, count(*) AS n FROM t", filepath.Join(dir, "out.csv")
	tasks := newSmall(t, eng, quick, r)
	doUntil(t, tasks, "")
	got, err := os.ReadFile(r.Output)
	check(t, err)
	if want := "l,n\n\"[1, NULL, 2, 3]\",4\n"; string(got) != want {
		t.Errorf("%q, want %q", got, want)
	}
}
