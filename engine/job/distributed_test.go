package job

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/distributed"
	"github.com/mpga/mpga/internal/vfs"
)

// nightly has a step of clauses and a step of SQL.
const nightly = `
steps:
  - name: cities
    from: in/*.csv
    input: {types: {city: string}}
    by: city, n % 2 as odd
    agg: [sum(n) as total, "list(n) as all"]
    where: n > 0
    having: count(*) > 0
    order_by: total desc, city, odd
    limit: 5
    output: out/cities.csv
  - name: cubes
    from: in/*.csv
    sql: SELECT city, sum(n) FROM input GROUP BY ROLLUP (city)
    output: {path: out/cubes, manifest: true}
  - name: lenient
    from: in/*.csv
    input: {rejects: out/rejects.csv}
    agg: count(*)
    output: out/n.csv
`

// Would catch a step whose distributed run reads, asks or writes something else than the job does.
func TestDistributed(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "in", "a.csv"), "city,n\nUlm,1\nJena,2\n7,3\n")
	writeFile(t, filepath.Join(dir, "in", "b.csv"), "city,n\nUlm,4\nUlm,0\n8,5\nJena,\n")
	j := reparsed(t, dir, nightly)
	j.Steps = j.Steps[:1]
	if _, err := j.Run(context.Background(), Options{}); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "out", "cities.csv")
	want := readFile(t, out)
	if err := os.Remove(out); err != nil {
		t.Fatal(err)
	}
	r, err := j.Distributed("")
	if err != nil {
		t.Fatal(err)
	}
	r.Work, r.Version, r.Splits, r.Partitions = filepath.Join(dir, "work"), "test", 2, 4
	if err := distribute(t, r); err != nil {
		t.Fatal(err)
	}
	if got := readFile(t, out); got != want {
		t.Errorf("in parts: %s\nby the job: %s", got, want)
	}
}

// distribute carries a request out in this process.
func distribute(t *testing.T, r distributed.Request) error {
	t.Helper()
	eng, err := engine.Open(engine.Options{Threads: 1, Device: "cpu"})
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	p, err := distributed.New(t.Context(), eng, vfs.OS, r)
	if err != nil {
		return err
	}
	tasks := distributed.Tasks{Plan: p, Engine: eng, FS: vfs.OS, Layout: p.Output.Options}.Open()
	for i := range p.Splits {
		if _, err := tasks.Partial(t.Context(), i); err != nil {
			return err
		}
	}
	for i := range p.Merges {
		if _, err := tasks.Merge(t.Context(), i); err != nil {
			return err
		}
	}
	_, err = tasks.Commit(t.Context())
	return err
}

// Would catch steps that are taken for others, or planned though they cannot be.
func TestDistributedRefused(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "in", "a.csv"), "city,n\nUlm,1\n")
	j := reparsed(t, dir, nightly)
	for step, want := range map[string]string{
		"":        "3 steps, of which a plan takes one: cities, cubes, lenient",
		"city":    "no step city; it has cities, cubes, lenient",
		"lenient": "rejects",
		"cubes":   "grouping sets",
	} {
		r, err := j.Distributed(step)
		if err == nil {
			r.Work, r.Version = filepath.Join(dir, "work"), "test"
			err = distribute(t, r)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("step %q: %v, want %q", step, err, want)
		}
	}
}
