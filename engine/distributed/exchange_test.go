package distributed

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/internal/workdir"
	"github.com/mpga/mpga/engine/partial"
	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/sink"
	"github.com/mpga/mpga/engine/sql"
)

// Would catch rows that two tasks join or none: of each kind of join, over keys that are NULL, of several joins by
// the same keys, of tables read whole below and beside the sides, of windows, of sides without rows, and statements
// that make rows.
func TestExchange(t *testing.T) {
	seed := newSeed(t)
	for i, c := range []struct {
		statement string
		broadcast int64
	}{
		{"SELECT code, count(*) AS n, sum(v) AS v, sum(id) AS i FROM parts JOIN t ON code = k GROUP BY code", 1},
		{"SELECT code, k, count(*) AS n, sum(v) AS v FROM parts LEFT JOIN t ON code = k GROUP BY code, k", 1},
		{"SELECT code, k, count(*) AS n, sum(id) AS v FROM parts RIGHT JOIN t ON code = k AND id > 30 GROUP BY code, k", 1},
		{"SELECT code, k, count(*) AS n, sum(id) AS v FROM parts FULL JOIN t ON code = k + 40 GROUP BY code, k", 1 << 20},
		{"SELECT count(*) AS n, sum(id) AS v FROM parts FULL JOIN t ON code = nullif(k, 3)", 1},
		{"SELECT code, count(*) AS n FROM parts SEMI JOIN t ON code = k AND id > v GROUP BY code", 1},
		{"SELECT k, count(*) AS n FROM t SEMI JOIN parts ON code = k AND id > 77 GROUP BY k", 1},
		{"SELECT code, count(*) AS n FROM parts ANTI JOIN t ON code = k AND v < 5 GROUP BY code", 1},
		{"SELECT k, count(*) AS n FROM t ANTI JOIN parts ON code = nullif(k, 4) GROUP BY k", 1},
		{"SELECT k, sum(id) AS n FROM parts ASOF JOIN t ON code = k AND id >= v GROUP BY k", 1},
		{"SELECT a.code, count(*) AS n FROM parts a JOIN parts b ON a.code = b.id GROUP BY a.code", 1},
		{"SELECT t.s, one.s AS o, count(*) AS n FROM parts JOIN t ON code = t.k JOIN one ON t.k = one.k GROUP BY ALL", 1},
		{"SELECT count(*) AS n, sum(one.v) AS v FROM parts FULL JOIN t ON code = t.k LEFT JOIN one ON code = one.k", 1},
		{"SELECT one.v, count(*) AS n FROM parts JOIN t ON code = t.k JOIN one ON t.v = one.v GROUP BY one.v", 500},
		{"SELECT one.v, count(*) AS n FROM parts JOIN one ON id = one.v JOIN t ON code = t.k GROUP BY one.v", 500},
		{"SELECT t.v, count(*) AS n FROM parts JOIN t ON code = t.k AND id % 7 = t.v % 7 AND t.s = concat('s', id % 2) GROUP BY t.v", 1},
		{"SELECT count(*) AS n FROM parts WHERE code IN (SELECT k FROM t WHERE v > 4)", 1},
		{"SELECT code, count(*) AS n FROM parts JOIN t ON code = k WHERE v < 0 GROUP BY code", 1},
		{"SELECT code, count(*) AS n FROM parts FULL JOIN t ON code = k WHERE v IS NULL GROUP BY code HAVING n > 3 ORDER BY n, code LIMIT 4", 1},
		{"SELECT code, k, count(*) AS n FROM parts FULL JOIN (SELECT * FROM one WHERE v > 99) e ON code = k GROUP BY ALL", 1},
		{"SELECT count(*) AS n FROM empty a FULL JOIN empty b ON a.k = b.k", 1},
		{"SELECT u.k, count(*) AS n FROM (SELECT k FROM t UNION ALL SELECT code FROM parts) u FULL JOIN one ON u.k = one.v GROUP BY u.k", 1},
		{"SELECT u.k, count(*) AS n FROM (SELECT k FROM none UNION ALL SELECT 7) u FULL JOIN t ON u.k = t.k GROUP BY u.k", 1},
		{"SELECT n, count(*) AS c FROM (SELECT row_number() OVER (PARTITION BY code ORDER BY id) AS n FROM parts) GROUP BY n", 1},
		{"SELECT code, sum(r) AS r FROM (SELECT code, id - lag(id) OVER (PARTITION BY code % 5, code ORDER BY id) AS r FROM parts) GROUP BY code", 1},
		{"SELECT s, max(n) AS m FROM (SELECT s, count(*) OVER (PARTITION BY s, k) AS n, rank() OVER (PARTITION BY k ORDER BY v) AS r FROM t) GROUP BY s", 1},
		{"SELECT code, max(n) AS m FROM (SELECT code, count(*) OVER (PARTITION BY code) AS n FROM parts JOIN t ON code = k) GROUP BY code", 1},
		{"SELECT w.code, sum(t.v) AS v FROM (SELECT code, id, max(id) OVER (PARTITION BY code) AS m FROM parts) w JOIN t ON w.code = t.k WHERE id = m GROUP BY w.code", 1},
		{"SELECT id, code, row_number() OVER (PARTITION BY code ORDER BY id) AS n FROM parts", 1},
		{"SELECT DISTINCT ON (code) code, id FROM parts ORDER BY code, id DESC", 1},
		{"SELECT id, code FROM parts QUALIFY row_number() OVER (PARTITION BY code ORDER BY id) <= 2", 1},
		{"SELECT id, sum(id) OVER (PARTITION BY code ORDER BY id) AS n FROM parts ORDER BY n, id LIMIT 20 OFFSET 3", 1},
		{"SELECT DISTINCT count(*) OVER (PARTITION BY code) AS n FROM parts WHERE id > 77", 1},
		{"SELECT id, code, k, v FROM parts FULL JOIN t ON id = v", 1},
		{"SELECT id, s FROM parts JOIN t ON id = v WHERE code > 9 ORDER BY id, s", 1 << 20},
		{"SELECT id, rank() OVER (ORDER BY id) AS n FROM parts JOIN t ON id = v AND s = 's0'", 1 << 20},
		{"SELECT id, s FROM parts JOIN t ON id = v ORDER BY id, s LIMIT 7", 1},
	} {
		t.Run(c.statement, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, uint64(i)))
			dir := t.TempDir()
			tables, eng := joinTables(t, dir), open(t, 1+rng.IntN(3))
			check(t, os.WriteFile(filepath.Join(dir, "empty.csv"), []byte("k,v\n"), 0o666))
			tables["empty"] = plan.Table{Files: []string{filepath.Join(dir, "empty.csv")}}
			answerTo(t, eng, "SELECT k, v FROM t WHERE k < 0", tables, filepath.Join(dir, "none.parquet"), sink.Parquet)
			tables["none"] = plan.Table{Files: []string{filepath.Join(dir, "none.parquet")}}
			want := linesAtOnce(t, eng, c.statement, tables, filepath.Join(dir, "once.csv"))
			r := Request{
				Statement: c.statement, Tables: tables, Deterministic: true, Version: "test", BroadcastBytes: c.broadcast,
				Output: filepath.Join(dir, "out.csv"), Layout: sink.Options{FS: quick}, Work: filepath.Join(dir, "work"),
				Splits: 2 + rng.IntN(6), Partitions: 1 << rng.IntN(4), Merges: 1 + rng.IntN(4), Combines: rng.IntN(5) - 1,
			}
			if isDirectory := rng.IntN(2) == 0; isDirectory {
				r.Output, r.Layout.Format, r.Layout.Manifest = filepath.Join(dir, "out"), sink.CSV, true
			}
			fsys := newBucket()
			if !r.Layout.Manifest && rng.IntN(2) == 0 { // files of a directory go there by a link
				r.Work = bucketURL + "work"
			}
			p, err := New(t.Context(), eng, fsys, r)
			check(t, err)
			if p.Exchange == nil {
				t.Fatal("no rows change tasks")
			}
			text, err := p.Encode()
			check(t, err)
			if p, err = Decode(text, "test"); err != nil {
				t.Fatal(err)
			}
			check(t, runAll(t, rng, newTasks(eng, fsys, dir, p)))
			if fsys.opened != 0 || fsys.uploads != 0 {
				t.Errorf("%d objects and %d uploads are open", fsys.opened, fsys.uploads)
			}
			if got := sortedLines(t, r.Output); !slices.Equal(got, want) {
				t.Errorf("%d splits, %+v, %d merges: %d rows\n%s\nwant %d\n%s", len(p.Splits), p.Exchange.Sides, len(p.Merges),
					len(got), strings.Join(got, "\n"), len(want), strings.Join(want, "\n"))
			}
		})
	}
}

// exchangeTasks plans a join whose rows change tasks, and writes them.
func exchangeTasks(t *testing.T, dir, output string) *Tasks {
	t.Helper()
	tables, eng := joinTables(t, dir), open(t, 1)
	p, err := New(t.Context(), eng, quick, Request{
		Statement: "SELECT s, count(*) AS n, sum(id) AS v FROM parts FULL JOIN t ON code = k GROUP BY s", Tables: tables, Version: "test",
		Output: filepath.Join(dir, output), Layout: sink.Options{FS: quick}, Work: filepath.Join(dir, "work"), Splits: 3, Partitions: 4, Combines: 2,
	})
	check(t, err)
	tasks := newTasks(eng, quick, dir, p)
	for split := range p.Splits {
		_, err := tasks.Partial(t.Context(), split)
		check(t, err)
	}
	return tasks
}

// Would catch rows of a damaged pack that are taken for others, wherever the damage is, a pack of another attempt or
// task in the place of the sealed one, and damage that does not say what to remove. R3.
func TestExchangeDamage(t *testing.T) {
	tasks := exchangeTasks(t, t.TempDir(), "out.csv")
	s, err := tasks.sealed(t.Context(), StagePartial)
	check(t, err)
	join := func() error {
		check(t, os.RemoveAll(tasks.work.Path(StageCombine)))
		for node := range tasks.Plan.Combines {
			if _, err := tasks.Combine(t.Context(), node); err != nil {
				return err
			}
		}
		return nil
	}
	check(t, join())
	path := func(i int) string { return tasks.work.Path(s.Attempts[i].name() + packSuffix) }
	for i := range s.Attempts {
		text, err := os.ReadFile(path(i))
		check(t, err)
		for at := i; at < len(text); at += 1 + len(text)/40 {
			damaged := slices.Clone(text)
			damaged[at] ^= 1 << (at % 8)
			check(t, os.WriteFile(path(i), damaged, 0o666))
			if isUnused(text, at) {
				continue
			}
			if err := join(); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "; remove "+tasks.Plan.Work) {
				t.Errorf("pack %d, byte %d of %d: %v", i, at, len(text), err)
			}
		}
		check(t, os.WriteFile(path(i), text[:len(text)-1], 0o666))
		says(t, "a shorter pack", join(), ErrDamaged, "where")
		check(t, os.WriteFile(path(i), text, 0o666))
	}
	check(t, join())
	first := s.Attempts[0]
	other := &manifest{Plan: first.Plan, Stage: StagePartial, Task: 0, Attempt: newAttempt()}
	_, err = tasks.pack(&manifest{Plan: first.Plan, Stage: StagePartial, Task: 99, Attempt: newAttempt()}, func(opt partial.Options) (engine.Stats, error) {
		opt.Run = other.run()
		return tasks.writeSent(t.Context(), 0, opt)
	})
	check(t, err)
	names, err := filepath.Glob(tasks.work.Path(StagePartial + "/00099.*" + packSuffix))
	check(t, err)
	text, err := os.ReadFile(names[0])
	check(t, err)
	check(t, os.WriteFile(path(0), text, 0o666))
	says(t, "a pack of another attempt", join(), ErrDamaged, "the rows are of the run")
}

// isUnused says whether a byte is one of the last four of a frame's header, which nobody reads.
func isUnused(pack []byte, at int) bool {
	for from := max(at-39, 0); from <= at-36; from++ {
		if string(pack[from:from+4]) == "MPGF" {
			return true
		}
	}
	return false
}

// Would catch tasks that send rows by another plan than the plan's, whose partners would not meet. R3.
func TestExchangeOfAnotherPlan(t *testing.T) {
	dir := t.TempDir()
	tasks := exchangeTasks(t, dir, "out.csv")
	_, err := tasks.Combine(t.Context(), 0)
	check(t, err)
	for name, change := range map[string]func(e *Exchange){
		"other columns": func(e *Exchange) { e.Sides[0].Schema = e.Sides[1].Schema },
		"other keys":    func(e *Exchange) { e.Sides[1].Keys[0] = "key 2" },
		"another side":  func(e *Exchange) { e.Sides = e.Sides[:1] },
	} {
		p := *tasks.Plan
		e := *p.Exchange
		e.Sides = slices.Clone(e.Sides)
		for i := range e.Sides {
			e.Sides[i].Keys = slices.Clone(e.Sides[i].Keys)
		}
		change(&e)
		p.Exchange = &e
		_, err := newTasks(tasks.Engine, quick, dir, &p).divide(t.Context())
		says(t, name, err, ErrPlan, "and a task would send")
	}
}

// linesAtOnce returns the sorted lines of the answer of one run.
func linesAtOnce(t *testing.T, eng *engine.Engine, statement string, tables map[string]plan.Table, path string) []string {
	t.Helper()
	answerTo(t, eng, statement, tables, path, sink.CSV)
	return sortedLines(t, path)
}

// answerTo writes the answer of one run to a file.
func answerTo(t *testing.T, eng *engine.Engine, statement string, tables map[string]plan.Table, path string, format sink.Format) {
	t.Helper()
	parsed, err := sql.Parse(statement)
	check(t, err)
	q, err := plan.Prepare(context.Background(), eng, parsed, plan.Options{Tables: tables, Deterministic: true})
	check(t, err)
	defer q.Close()
	result, err := q.Run(t.Context())
	check(t, err)
	check(t, workdir.WriteRows(t.Context(), path, result.Schema(), sink.Options{FS: quick, Format: format}, result))
}

// sortedLines returns the lines of a file of CSV, or of all files of a directory, without headers.
func sortedLines(t *testing.T, path string) (lines []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(path, "part-*.csv"))
	check(t, err)
	if !strings.HasSuffix(path, ".csv") && files == nil {
		return nil
	}
	if files == nil {
		files = []string{path}
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		check(t, err)
		lines = append(lines, strings.Split(strings.TrimSpace(string(text)), "\n")[1:]...)
	}
	slices.Sort(lines)
	return lines
}
