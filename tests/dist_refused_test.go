package tests

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/distributed"
	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/internal/vfs"
	"github.com/mpga/mpga/internal/vfs/faultfs"
)

// refusedDir is a directory with an input and a plan over it, whose partials are done.
type refusedDir struct {
	*distJob
	dir string
}

// newRefusedDir makes a plan, and does its partials. Plans of two names differ in the place of their output
// alone.
func newRefusedDir(ctx context.Context, t *testing.T, eng *engine.Engine, dir, output string) *refusedDir {
	t.Helper()
	for i := range 2 {
		name := filepath.Join(dir, "in", fmt.Sprintf("%d.csv", i))
		if _, err := os.Stat(name); err != nil {
			csvFile(t, name, 40, func(row int) string { return fmt.Sprintf("%d,%d,s%d", row%17, row, i) })
		}
	}
	j, err := planDist(ctx, eng, faultfs.Unsynced{FS: vfs.OS}, dir, distributed.Request{
		Statement: "SELECT k, count(*) AS n, first(s) AS s FROM t GROUP BY k", Tables: map[string]plan.Table{"t": {Files: []string{filepath.Join(dir, "in")}}},
		Work: filepath.Join(dir, "work"), Output: filepath.Join(dir, output), Splits: 2, Partitions: 4, Merges: 2, Combines: -1,
	})
	if err != nil {
		t.Fatal(err)
	}
	d := &refusedDir{j, dir}
	for n := range j.plan.Splits {
		d.done(t, distTask{distributed.StagePartial, n})
	}
	return d
}

// done does a task.
func (d *refusedDir) done(t *testing.T, task distTask) {
	t.Helper()
	if _, err := d.do(t.Context(), task); err != nil {
		t.Fatalf("%s: %v", task, err)
	}
}

// merged does the merges, and returns the directory.
func (d *refusedDir) merged(t *testing.T) *refusedDir {
	t.Helper()
	for n := range d.plan.Merges {
		d.done(t, distTask{distributed.StageMerge, n})
	}
	return d
}

// one returns the one file of the work directory that a pattern matches.
func (d *refusedDir) one(t *testing.T, pattern string) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(d.plan.Work, pattern))
	if err != nil || len(names) != 1 {
		t.Fatalf("%s: %q, %v", pattern, names, err)
	}
	return names[0]
}

// change rewrites a file.
func (d *refusedDir) change(t *testing.T, name string, with func(text []byte) []byte) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err == nil {
		err = os.WriteFile(name, with(text), 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// replaced returns a function that replaces a part of a text, which must have it.
func replaced(t *testing.T, old, with string) func([]byte) []byte {
	return func(text []byte) []byte {
		if !bytes.Contains(text, []byte(old)) {
			t.Errorf("no %q in %s", old, text)
		}
		return bytes.Replace(text, []byte(old), []byte(with), 1)
	}
}

func half(text []byte) []byte { return text[:len(text)/2] }

// What does not suit a plan is refused by name, with exit code 2 where no attempt mends it and 1 where one
// may: another version, another input, blobs and manifests that are damaged or another plan's, tasks that
// there are not, and stages out of order. Nothing is committed. Would catch a result that is made of something
// else than the plan says, a panic, and a scheduler that tries for ever what cannot work.
func TestDistRefused(t *testing.T) {
	partial := func(n int) []string { return taskArgs("PLAN", distTask{distributed.StagePartial, n}) }
	merge := func(n int) []string { return taskArgs("PLAN", distTask{distributed.StageMerge, n}) }
	commit := taskArgs("PLAN", distTask{distributed.StageCommit, 0})
	again := func(t *testing.T, d *refusedDir) { // the partials are to be done
		t.Helper()
		if err := os.RemoveAll(filepath.Join(d.plan.Work, "partial")); err != nil {
			t.Fatal(err)
		}
	}
	in := func(d *refusedDir) string { return filepath.Join(d.dir, "in", "1.csv") }
	planFile := func(d *refusedDir) string { return filepath.Join(d.plan.Work, "plan.json") }
	for _, c := range []struct {
		name   string
		before func(t *testing.T, d *refusedDir)
		args   []string
		code   int
		want   []string // parts of the message; IN, WORK and OUT stand for places
	}{
		{"a plan of another version", func(t *testing.T, d *refusedDir) {
			d.change(t, planFile(d), replaced(t, `"version": "devel"`, `"version": "v9.1"`))
		}, partial(0), 2, []string{"PLAN", "v9.1", "plan again"}},
		{"a plan of another format", func(t *testing.T, d *refusedDir) {
			d.change(t, planFile(d), replaced(t, `"format": 2`, `"format": 1`))
		}, merge(0), 2, []string{"PLAN", "format 1"}},
		{"a plan edited by hand", func(t *testing.T, d *refusedDir) {
			d.change(t, planFile(d), replaced(t, "count(*)", "sum(v)"))
		}, partial(0), 2, []string{"PLAN", "it was changed after it was made"}},
		{"a plan of other splits", func(t *testing.T, d *refusedDir) {
			d.change(t, planFile(d), replaced(t, `"last": 1`, `"last": 0`))
		}, partial(0), 2, []string{"PLAN", "it was changed after it was made"}},
		{"a plan that is cut off", func(t *testing.T, d *refusedDir) { d.change(t, planFile(d), half) }, commit, 2, []string{"PLAN", "cut off"}},
		{"an empty plan", func(t *testing.T, d *refusedDir) {
			d.change(t, planFile(d), func([]byte) []byte { return nil })
		}, commit, 2, []string{"PLAN"}},
		{"a plan of another work directory", func(t *testing.T, d *refusedDir) {
			d.change(t, planFile(d), replaced(t, "/work/"+d.plan.ID, "/work/"))
		}, commit, 2, []string{"PLAN", "another plan's"}},
		{"no plan", func(t *testing.T, d *refusedDir) { remove(t, planFile(d)) }, commit, 1, []string{"PLAN", "no such file"}},

		{"an input of another size", func(t *testing.T, d *refusedDir) {
			again(t, d)
			d.change(t, in(d), func(text []byte) []byte { return append(text, "1,2,x\n"...) })
		}, partial(1), 2, []string{"IN/1.csv", "is not what it was", "it had", "plan again"}},
		{"an input of another time", func(t *testing.T, d *refusedDir) {
			again(t, d)
			later := time.Now().Add(time.Hour)
			if err := os.Chtimes(in(d), later, later); err != nil {
				t.Fatal(err)
			}
		}, partial(1), 2, []string{"IN/1.csv", "it was changed at", "plan again"}},
		{"an input that is gone", func(t *testing.T, d *refusedDir) {
			again(t, d)
			remove(t, in(d))
		}, partial(1), 2, []string{"IN/1.csv", "no such file"}},
		{"an input that is a directory now", func(t *testing.T, d *refusedDir) {
			again(t, d)
			remove(t, in(d))
			if err := os.Mkdir(in(d), 0o777); err != nil {
				t.Fatal(err)
			}
		}, partial(1), 2, []string{"IN/1.csv"}},

		{"a pack that is cut off", func(t *testing.T, d *refusedDir) { d.change(t, d.one(t, "partial/00001.*.pack"), half) },
			merge(0), 2, []string{"remove WORK, and plan again", "WORK/partial/00001.", ".pack", "has", "were written"}},
		{"a pack with a bit that is flipped", func(t *testing.T, d *refusedDir) {
			d.change(t, d.one(t, "partial/00001.*.pack"), func(text []byte) []byte {
				text[len(text)/8] ^= 4
				return text
			})
		}, merge(0), 2, []string{"remove WORK, and plan again", "WORK/partial/00001.", ".pack, partition 0"}},
		{"a pack that is missing", func(t *testing.T, d *refusedDir) { remove(t, d.one(t, "partial/00000.*.pack")) },
			merge(1), 2, []string{"remove WORK, and plan again", "WORK/partial/00000.", ".pack", "a pack is missing"}},
		{"a pack of another plan", func(t *testing.T, d *refusedDir) {
			other := newRefusedDir(t.Context(), t, d.eng, d.dir, "ou2")
			d.change(t, d.one(t, "partial/00001.*.pack"), func(text []byte) []byte { return readFile(t, other.one(t, "partial/00001.*.pack")) })
		}, merge(0), 2, []string{"remove WORK, and plan again", "WORK/partial/00001.", ".pack, partition"}},
		{"a pack of another split", func(t *testing.T, d *refusedDir) {
			d.change(t, d.one(t, "partial/00001.*.pack"), func([]byte) []byte { return readFile(t, d.one(t, "partial/00000.*.pack")) })
		}, merge(0), 2, []string{"remove WORK, and plan again", "WORK/partial/00001.", ".pack, partition"}},
		{"a manifest of another plan", func(t *testing.T, d *refusedDir) {
			d.change(t, d.one(t, "partial/00001.*.json"), replaced(t, d.plan.ID, "0123456789abcdef"))
		}, merge(0), 2, []string{"remove WORK, and plan again", "partial/00001.", ".json is of plan 0123456789abcdef"}},
		{"a manifest of another task", func(t *testing.T, d *refusedDir) {
			d.change(t, d.one(t, "partial/00001.*.json"), replaced(t, `"task":1`, `"task":0`))
		}, merge(0), 2, []string{"remove WORK, and plan again", "partial/00001.", "says that it is partial/00000."}},
		{"a manifest that is cut off", func(t *testing.T, d *refusedDir) { d.change(t, d.one(t, "partial/00001.*.json"), half) },
			merge(0), 2, []string{"remove WORK, and plan again", "WORK/partial/00001.", ".json is damaged"}},
		{"a manifest of other sizes", func(t *testing.T, d *refusedDir) {
			d.change(t, d.one(t, "partial/00001.*.json"), replaced(t, `"blobs":[`, `"blobs":[1`))
		}, merge(0), 2, []string{"remove WORK, and plan again", "partial/00001.", "blobs"}},

		{"a seal that is cut off", func(t *testing.T, d *refusedDir) {
			d.done(t, distTask{distributed.StageMerge, 0})
			d.change(t, d.one(t, "sealed/partial.json"), half)
		}, merge(1), 2, []string{"remove WORK, and plan again", "WORK/sealed/partial.json"}},
		{"a seal of another plan", func(t *testing.T, d *refusedDir) {
			d.done(t, distTask{distributed.StageMerge, 0})
			d.change(t, d.one(t, "sealed/partial.json"), replaced(t, `"plan":"`+d.plan.ID, `"plan":"0123456789abcdef`))
		}, merge(1), 2, []string{"remove WORK, and plan again", "WORK/sealed/partial.json", "0123456789abcdef"}},
		{"a seal that lacks an attempt", func(t *testing.T, d *refusedDir) {
			d.done(t, distTask{distributed.StageMerge, 0})
			d.change(t, d.one(t, "sealed/partial.json"), func(text []byte) []byte {
				return append(text[:bytes.Index(text, []byte(`,{"plan"`))], "]}"...)
			})
		}, merge(1), 2, []string{"remove WORK, and plan again", "WORK/sealed/partial.json"}},
		{"a seal with an attempt twice", func(t *testing.T, d *refusedDir) {
			d.done(t, distTask{distributed.StageMerge, 0})
			d.change(t, d.one(t, "sealed/partial.json"), func(text []byte) []byte {
				first, second := bytes.Index(text, []byte(`{"plan"`))+1, bytes.Index(text, []byte(`,{"plan"`))
				first += bytes.Index(text[first:], []byte(`{"plan"`))
				return append(append(append([]byte{}, text[:second+1]...), text[first:second]...), "]}"...)
			})
		}, merge(1), 2, []string{"remove WORK, and plan again", "WORK/sealed/partial.json"}},
		{"an empty seal", func(t *testing.T, d *refusedDir) {
			d.done(t, distTask{distributed.StageMerge, 0})
			d.change(t, d.one(t, "sealed/partial.json"), func([]byte) []byte { return nil })
		}, commit, 2, []string{"remove WORK, and plan again", "WORK/sealed/partial.json"}},

		{"merges that overlap", func(t *testing.T, d *refusedDir) {
			for _, of := range []distributed.Range{{First: 0, Last: 2}, {First: 1, Last: 3}} {
				if _, err := d.tasks().MergeRange(t.Context(), of); err != nil {
					t.Fatal(err)
				}
			}
		}, commit, 1, []string{"overlap"}},
		{"a merge of partitions that there are not", func(t *testing.T, d *refusedDir) {
			d.merged(t)
			name := d.one(t, "merge/00002-00003.*.json")
			d.change(t, name, replaced(t, `"last":3`, `"last":9`))
			if err := os.Rename(name, strings.Replace(name, "00002-00003", "00002-00009", 1)); err != nil {
				t.Fatal(err)
			}
		}, commit, 2, []string{"remove WORK, and plan again", "merge/00002-00009."}},
		{"a merge of another plan", func(t *testing.T, d *refusedDir) {
			d.merged(t).change(t, d.one(t, "merge/00002-00003.*.json"), replaced(t, d.plan.ID, "0123456789abcdef"))
		}, commit, 2, []string{"remove WORK, and plan again", "merge/00002-00003.", "is of plan 0123456789abcdef"}},
		{"rows of a merge that are gone", func(t *testing.T, d *refusedDir) {
			d.merged(t)
			remove(t, d.one(t, "merge/00002-00003.*/part-*"))
		}, commit, 2, []string{"remove WORK, and plan again", "WORK/merge/00002-00003."}},
		{"rows of a merge that are cut off", func(t *testing.T, d *refusedDir) {
			d.merged(t).change(t, d.one(t, "merge/00002-00003.*/part-*"), half)
		}, commit, 2, []string{"remove WORK, and plan again", "WORK/merge/00002-00003.", "were written"}},
		{"rows of a merge with a bit that is flipped", func(t *testing.T, d *refusedDir) {
			d.merged(t).change(t, d.one(t, "merge/00002-00003.*/part-*"), func(text []byte) []byte {
				text[len(text)/2] ^= 1
				return text
			})
		}, commit, 2, []string{"remove WORK, and plan again", "WORK/merge/00002-00003.", "has the SHA-256"}},
		{"a note of a commit that is cut off", func(t *testing.T, d *refusedDir) {
			d.merged(t).done(t, distTask{distributed.StageCommit, 0})
			d.change(t, filepath.Join(d.plan.Work, "committed.json"), half)
		}, commit, 2, []string{"remove WORK, and plan again", "WORK/committed.json"}},

		{"a merge before the partials", func(t *testing.T, d *refusedDir) { remove(t, d.one(t, "partial/00001.*.json")) },
			merge(0), 1, []string{"an earlier stage is not done", "partial: 1 of 2", ": 1"}},
		{"a commit before the merges", func(t *testing.T, d *refusedDir) {}, commit, 1, []string{"an earlier stage is not done", "merge: 4 of 4 partitions", "0, 1, 2, 3"}},
		{"a commit before one merge", func(t *testing.T, d *refusedDir) { d.done(t, distTask{distributed.StageMerge, 0}) },
			commit, 1, []string{"merge: 2 of 4 partitions", "2, 3"}},
		{"a commit before all", func(t *testing.T, d *refusedDir) { again(t, d) }, commit, 1, []string{"partial: 2 of 2", "0, 1"}},
		{"a status that waits too long", func(t *testing.T, d *refusedDir) {},
			[]string{"dist", "status", "--plan", "PLAN", "--wait", "merge", "--timeout", "10ms"}, 1, []string{"merge", "10ms"}},
		{"a wait for no stage", func(t *testing.T, d *refusedDir) {}, []string{"dist", "status", "--plan", "PLAN", "--wait", "combine"}, 2, []string{"combine"}},
		{"an output that is there", func(t *testing.T, d *refusedDir) {
			d.merged(t)
			csvFile(t, filepath.Join(d.plan.Output.Path, "part-00000.csv"), 1, func(int) string { return "" })
		}, commit, 2, []string{"OUT", "file already exists"}},

		{"a split too many", func(t *testing.T, d *refusedDir) {}, partial(2), 2, []string{"the plan's last split is 1"}},
		{"a split below 0", func(t *testing.T, d *refusedDir) {}, partial(-1), 2, []string{"-1"}},
		{"splits beyond numbers", func(t *testing.T, d *refusedDir) {},
			[]string{"dist", "partial", "--plan", "PLAN", "--split", "0..9223372036854775807"}, 2, []string{"9223372036854775807"}},
		{"no split", func(t *testing.T, d *refusedDir) {}, []string{"dist", "partial", "--plan", "PLAN"}, 2, []string{"--split is missing"}},
		{"a node of no tree", func(t *testing.T, d *refusedDir) {}, taskArgs("PLAN", distTask{distributed.StageCombine, 0}), 2, []string{"task 0 of stage combine, which has 0"}},
		{"a merge too many", func(t *testing.T, d *refusedDir) {}, merge(2), 2, []string{"task 2 of stage merge, which has 2"}},
		{"a partition too many", func(t *testing.T, d *refusedDir) {}, []string{"dist", "merge", "--plan", "PLAN", "--partition", "2..4"}, 2, []string{"partitions 2..4 of 4"}},
		{"partitions backwards", func(t *testing.T, d *refusedDir) {}, []string{"dist", "merge", "--plan", "PLAN", "--partition", "2..1"}, 2, []string{"2..1"}},
		{"a merge of two kinds", func(t *testing.T, d *refusedDir) {}, []string{"dist", "merge", "--plan", "PLAN", "--partition", "2", "--task", "0"}, 2, []string{"--task or --partition"}},
		{"a merge of nothing", func(t *testing.T, d *refusedDir) {}, []string{"dist", "merge", "--plan", "PLAN"}, 2, []string{"--task or --partition"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			eng := openEngine(t, 1)
			d := newRefusedDir(t.Context(), t, eng, t.TempDir(), "out")
			c.before(t, d)
			plan := planFile(d)
			args := make([]string, len(c.args))
			for i, arg := range c.args {
				args[i] = strings.ReplaceAll(arg, "PLAN", plan)
			}
			there := treeOf(t, d.dir)
			p := runProcess(t, args...)
			places := strings.NewReplacer("PLAN", plan, "IN", filepath.Join(d.dir, "in"), "WORK", d.plan.Work, "OUT", d.plan.Output.Path)
			for _, part := range c.want {
				if part = places.Replace(part); !strings.Contains(p.stderr, part) {
					t.Errorf("want %q in the message", part)
				}
			}
			if p.code != c.code || p.stdout != "" || strings.Count(p.stderr, "\n") != 1 {
				t.Errorf("exit code %d and one line, want %d: %s", p.code, c.code, p)
			}
			if t.Failed() {
				t.Log(p)
			}
			for _, name := range treeOf(t, d.dir) {
				if !strings.Contains(name, "/sealed/") && !strings.Contains(strings.Join(there, "\n")+"\n", name+"\n") {
					t.Errorf("%s is there", name)
				}
			}
		})
	}
}

func remove(t *testing.T, name string) {
	t.Helper()
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
}

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// What cannot be planned is refused with exit code 2 and the reason, and no plan is written.
func TestDistPlanRefused(t *testing.T) {
	dir := t.TempDir()
	csvFile(t, filepath.Join(dir, "in", "0.csv"), 10, func(row int) string { return fmt.Sprintf("%d,%d,x", row, row) })
	csvFile(t, filepath.Join(dir, "there", "part-00000.csv"), 10, func(row int) string { return fmt.Sprintf("%d,%d,x", row, row) })
	if err := os.WriteFile(filepath.Join(dir, "there", "_manifest.json"), []byte("{}"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("in", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader("k,v\n1,2\n"))
	}))
	defer server.Close()
	const groups = "SELECT k, count(*) FROM '@IN/*.csv' GROUP BY k"
	for _, c := range []struct {
		name string
		args []string // --output is added where there is none
		code int
		want string
	}{
		{"ROLLUP", []string{"SELECT k, count(*) FROM '@IN/*.csv' GROUP BY ROLLUP (k)"}, 2, "ROLLUP"},
		{"a window", []string{"SELECT n, count(*) FROM (SELECT k, rank() OVER (ORDER BY k) AS n FROM '@IN/*.csv') GROUP BY n"}, 2, "window functions"},
		{"rows in order first", []string{"SELECT count(*) FROM (SELECT k FROM '@IN/*.csv' ORDER BY k LIMIT 3)"}, 2, "is made before the statement"},
		{"an aggregate in order", []string{"SELECT k, list(v ORDER BY s) FROM '@IN/*.csv' GROUP BY k"}, 2, "a step before its groups"},
		{"no groups", []string{"SELECT k, v FROM '@IN/*.csv'"}, 2, "no groups"},
		{"no table", []string{"SELECT 1 AS one"}, 2, ""},
		{"EXPLAIN", []string{"EXPLAIN " + groups}, 2, ""},
		{"DESCRIBE", []string{"DESCRIBE '@IN/0.csv'"}, 2, ""},
		{"no SQL", []string{"SELEC"}, 2, ""},
		{"an unknown column", []string{"SELECT z, count(*) FROM '@IN/*.csv' GROUP BY z"}, 2, "z"},
		{"standard input", []string{"SELECT count(*) FROM '-'"}, 2, "standard input"},
		{"a signed URL", []string{"SELECT count(*) FROM '@WEB/x.csv?X-Amz-Signature=sesame'"}, 2, "@WEB/x.csv?X-Amz-Signature=*** has parameters or a user"},
		{"no file", []string{"SELECT count(*) FROM '@IN/*.parquet'"}, 1, "no file matches"},
		{"no output", []string{groups, "--output", ""}, 2, "--output"},
		{"the standard output", []string{groups, "--output", "-"}, 2, ""},
		{"a device", []string{groups, "--output", "/dev/null"}, 2, "/dev/null"},
		{"an output that is there", []string{groups, "--output", "@DIR/there"}, 2, "--overwrite"},
		{"a plan in the place of the output", []string{groups, "-o", "@DIR/x.csv", "--output", "@DIR/x.csv"}, 2, "the plan @DIR/x.csv is in the place of the output"},
		{"a plan in the place of the output, written otherwise", []string{groups, "-o", "@DIR/in/../x.csv", "--output", "@DIR/x.csv"}, 2, "is in the place of the output"},
		{"a plan behind a link", []string{groups, "-o", "@DIR/link/x.csv", "--output", "@DIR/in/x.csv"}, 2, "is in the place of the output"},
		{"a plan in the output", []string{groups, "-o", "@DIR/out/plan.json", "--output", "@DIR/out"}, 2, "the plan @DIR/out/plan.json is in the place of"},
		{"a work directory in the output", []string{groups, "--work", "@DIR/out/work", "--output", "@DIR/out"}, 2, "the work directory @DIR/out/work/"},
		{"the output as work directory", []string{groups, "--work", "@DIR/out", "--output", "@DIR/out"}, 2, "the work directory @DIR/out/"},
		{"three partitions", []string{groups, "--partitions", "3"}, 2, "a power of two"},
		{"too many partitions", []string{groups, "--partitions", "4096"}, 2, "2048"},
		{"splits below 0", []string{groups, "--splits", "-1"}, 2, "-1 splits"},
		{"merges below 0", []string{groups, "--merges", "-1"}, 2, "-1 merges"},
		{"nodes below 0", []string{groups, "--combines", "-2"}, 2, "-2 nodes"},
		{"splits of no size", []string{groups, "--split-bytes", "many"}, 2, "--split-bytes"},
		{"rejects", []string{groups, "--ignore-errors", "--rejects", "@DIR/rejects.csv"}, 2, "--rejects"},
		{"a limit of rejects", []string{groups, "--max-rejects", "1%"}, 2, "--max-rejects is not of a distributed query"},
		{"folders of no column", []string{groups, "--partition-by", "z"}, 2, "z"},
		{"two statements", []string{groups, groups}, 2, ""},
		{"a step of no job", []string{groups, "--step", "x"}, 2, "--step"},
		{"no job", []string{"@DIR/none.yaml"}, 1, "none.yaml"},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := []string{"dist", "plan", "--work", filepath.Join(dir, "work"), "-o", filepath.Join(dir, "plan.json")}
			places := strings.NewReplacer("@IN", filepath.Join(dir, "in"), "@DIR", dir, "@WEB", server.URL)
			for _, arg := range c.args {
				args = append(args, places.Replace(arg))
			}
			if !strings.Contains(strings.Join(args, " "), "--output") {
				args = append(args, "--output", filepath.Join(dir, "out"))
			}
			before := treeOf(t, dir)
			p := runProcess(t, args...)
			if p.code != c.code || p.stdout != "" || !strings.Contains(p.stderr, places.Replace(c.want)) || strings.Contains(p.stderr, "sesame") {
				t.Errorf("want exit code %d and %q: %s", c.code, c.want, p)
			}
			if after := treeOf(t, dir); len(after) != len(before) {
				t.Errorf("there is %q, and was %q", after, before)
			}
		})
	}
}
