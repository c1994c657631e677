package distributed

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/sink"
	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/grouptest"
	"github.com/mpga/mpga/internal/vfs"
)

var seedFlag = flag.Uint64("seed", 0, "replays a random test; 0 is another seed each time")

func newSeed(t *testing.T) uint64 {
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("-seed=%d", seed)
	return seed
}

// Would catch an aggregate, or a type of keys, whose states a split, a pack, a tree or a commit changes:
// each of the common cases, cut at random, is what one run makes of it, to the bit.
func TestCases(t *testing.T) {
	seed := newSeed(t)
	asked := 0
	for i, c := range grouptest.Cases() {
		if testing.Short() && (uint64(i)+seed)%12 != 0 {
			continue
		}
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		statement, ok := statementOf(c.Query)
		if !ok {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			if checkCase(t, rng, c.Schema, c.Batches(), c.Query, statement) {
				asked++
			}
		})
	}
	if want := len(grouptest.Cases()) / 2; asked < want && !testing.Short() {
		t.Errorf("%d cases were answered in parts, want %d at least", asked, want)
	}
}

// TestRandomTables is TestCases for random tables and queries.
func TestRandomTables(t *testing.T) {
	seed := newSeed(t)
	queries := 60
	if testing.Short() {
		queries = 6
	}
	for i := range queries {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		schema, batches := grouptest.RandomTable(rng, grouptest.RandomRows(rng))
		q := grouptest.RandomQuery(rng, schema)
		statement, ok := statementOf(q)
		if !ok {
			continue
		}
		t.Run(fmt.Sprint(i), func(t *testing.T) { checkCase(t, rng, schema, batches, q, statement) })
	}
}

// statementOf writes a query as SQL; ok is false where SQL has no such query.
func statementOf(q query.Query) (text string, ok bool) {
	quote := func(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
	var items, keys []string
	for i, k := range q.Keys {
		items = append(items, quote(k.Column)+" AS "+quote(k.ResultName()))
		keys = append(keys, fmt.Sprint(i+1))
	}
	for _, a := range q.Aggregates {
		if a.By != "" {
			return "", false
		}
		plain := a
		plain.Descending = false
		plain.Args = nil
		for _, arg := range a.Args {
			plain.Args = append(plain.Args, quote(arg))
		}
		call := plain.String()
		if a.Distinct && (a.Func == query.List || a.Func == query.StringAgg) {
			order := " ORDER BY " + quote(a.Args[0])
			if a.Descending {
				order += " DESC"
			}
			call = strings.TrimSuffix(call, ")") + order + ")"
		}
		items = append(items, call+" AS "+quote(a.ResultName()))
	}
	text = "SELECT " + strings.Join(items, ", ") + " FROM input"
	if len(keys) > 0 {
		text += " GROUP BY " + strings.Join(keys, ", ")
	}
	return text, len(items) > 0
}

// writeInput writes batches as files of Arrow IPC. A file is a split: its batches are small, and read together.
// TestCutsWithinFiles has splits within a file.
func writeInput(t *testing.T, rng *rand.Rand, dir string, schema *arrow.Schema, batches []arrow.RecordBatch) {
	t.Helper()
	n := 1 + rng.IntN(3)
	for _, f := range schema.Fields() {
		if f.Type.ID() == arrow.DICTIONARY { // of which a file has one
			n = len(batches)
		}
	}
	for i := range n {
		part := batches[len(batches)*i/n : len(batches)*(i+1)/n]
		file, err := os.Create(filepath.Join(dir, fmt.Sprintf("%d.arrow", i)))
		check(t, err)
		w, err := ipc.NewFileWriter(file, ipc.WithSchema(schema), ipc.WithDictionaryDeltas(false))
		check(t, err)
		for _, b := range part {
			for from := int64(0); from < b.NumRows(); {
				to := min(b.NumRows(), from+1+rng.Int64N(b.NumRows()))
				slice := b.NewSlice(from, to)
				check(t, w.Write(slice))
				slice.Release()
				from = to
			}
		}
		check(t, errors.Join(w.Close(), file.Close()))
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// open returns an engine that is closed with the test.
func open(t *testing.T, threads int) *engine.Engine {
	t.Helper()
	eng, err := engine.Open(engine.Options{Threads: threads, Device: "cpu", TempDir: t.TempDir()})
	check(t, err)
	t.Cleanup(func() { check(t, eng.Close()) })
	return eng
}

// newTasks returns the tasks of a plan in this process.
func newTasks(eng *engine.Engine, fsys vfs.FS, dir string, p *Plan) *Tasks {
	layout := p.Output.Options
	layout.FS, layout.Allocator, layout.Budget = fsys, eng.Allocator(), eng.Budget()
	return Tasks{Plan: p, Engine: eng, FS: fsys, Layout: layout}.Open()
}

// runAll does all tasks of a plan, in a random order within a stage, some of them twice.
func runAll(t *testing.T, rng *rand.Rand, tasks *Tasks) error {
	t.Helper()
	for _, stage := range tasks.Plan.Stages {
		order := rng.Perm(stage.Tasks)
		if stage.Tasks > 1 {
			order = append(order, order[0])
		}
		for _, n := range order {
			var err error
			switch stage.Name {
			case StagePartial:
				_, err = tasks.Partial(t.Context(), n)
			case StageCombine:
				_, err = tasks.Combine(t.Context(), n)
			case StageMerge:
				_, err = tasks.Merge(t.Context(), n)
			case StageCommit:
				_, err = tasks.Commit(t.Context())
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// checkCase answers a query in parts and at once. It returns false where neither has an answer.
func checkCase(t *testing.T, rng *rand.Rand, schema *arrow.Schema, batches []arrow.RecordBatch, q query.Query, statement string) bool {
	t.Helper()
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in"), filepath.Join(dir, "out")
	check(t, os.Mkdir(in, 0o777))
	writeInput(t, rng, in, schema, batches)
	tables := map[string]plan.Table{"input": {Files: []string{in}}}
	eng := open(t, 1+rng.IntN(3))
	want, wantErr := atOnce(t, eng, statement, plan.Options{Tables: tables, Overflow: q.Overflow, Deterministic: true}, len(q.Keys))
	r := Request{
		Statement: statement, Tables: tables, Overflow: q.Overflow, Deterministic: true, Version: "test",
		Output: out, Layout: sink.Options{Format: sink.Arrow, Manifest: true, FS: quick}, Work: filepath.Join(dir, "work"),
		Splits: 1 + rng.IntN(6), Partitions: 1 << rng.IntN(7), Merges: 1 + rng.IntN(4), Combines: rng.IntN(4) - 1,
	}
	p, err := New(t.Context(), eng, quick, r)
	if err == nil {
		err = runAll(t, rng, newTasks(eng, quick, dir, p))
	}
	if (err != nil) != (wantErr != nil) {
		t.Fatalf("%s: in parts: %v; at once: %v", statement, err, wantErr)
	}
	if err != nil {
		return false
	}
	got, err := grouptest.ReadAll(readOutput(t, out), len(q.Keys))
	check(t, err)
	if err := grouptest.Equal(want, got); err != nil {
		t.Errorf("%s: %d splits, %d partitions, %d merges, %d nodes: %v", statement, len(p.Splits), p.Partitions, len(p.Merges), p.Combines, err)
	}
	return true
}

// atOnce answers a statement in one run.
func atOnce(t *testing.T, eng *engine.Engine, statement string, opt plan.Options, keys int) (*grouptest.Rows, error) {
	t.Helper()
	parsed, err := sql.Parse(statement)
	check(t, err)
	opt.OneStep = true
	q, err := plan.Prepare(context.Background(), eng, parsed, opt)
	if err != nil {
		return nil, err
	}
	defer q.Close()
	result, err := q.Run(t.Context())
	if err != nil {
		return nil, err
	}
	defer result.Release()
	return grouptest.ReadAll(result, keys)
}

// readOutput reads the files of an output, in the order of the manifest.
func readOutput(t *testing.T, dir string) array.RecordReader {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "part-*.arrow"))
	check(t, err)
	slices.Sort(files)
	var all []arrow.RecordBatch
	var schema *arrow.Schema
	for _, name := range files {
		file, err := os.Open(name)
		check(t, err)
		r, err := ipc.NewFileReader(file)
		check(t, err)
		schema = r.Schema()
		for i := range r.NumRecords() {
			b, err := r.RecordBatch(i)
			check(t, err)
			b.Retain()
			all = append(all, b)
		}
		check(t, errors.Join(r.Close(), file.Close()))
	}
	reader, err := array.NewRecordReader(schema, all)
	check(t, err)
	return reader
}
