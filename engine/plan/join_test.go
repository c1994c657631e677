//go:build cgo

package plan_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/testknobs"
)

// sideRow is a row of one side of a join; a key of -1 is NULL.
type sideRow struct{ key, value int64 }

// text is the row's second key, a string that is no copy of the first.
func (r sideRow) text() string { return fmt.Sprintf("a long text of key %d", r.key%97) }

// makeSide returns rows whose keys are below a number, NULL in a tenth, and one key in a part of the rows.
func makeSide(rng *rand.Rand, rows, keys int, heavy float64) []sideRow {
	list := make([]sideRow, rows)
	for i := range list {
		list[i] = sideRow{rng.Int64N(int64(keys)), int64(i)}
		if rng.IntN(10) == 0 {
			list[i].key = -1
		} else if rng.Float64() < heavy {
			list[i].key = 7
		}
	}
	return list
}

// source returns the rows as batches of some rows each.
func source(rng *rand.Rand, rows []sideRow) scan.Source {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "k", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "v", Type: arrow.PrimitiveTypes.Int64},
	}, nil)
	var batches []arrow.RecordBatch
	for len(rows) > 0 {
		build := array.NewRecordBuilder(memory.DefaultAllocator, schema)
		n := min(1+rng.IntN(900), len(rows))
		for _, r := range rows[:n] {
			if r.key < 0 {
				build.Field(0).AppendNull()
				build.Field(1).AppendNull()
			} else {
				build.Field(0).(*array.Int64Builder).Append(r.key)
				build.Field(1).(*array.StringBuilder).Append(r.text())
			}
			build.Field(2).(*array.Int64Builder).Append(r.value)
		}
		rows = rows[n:]
		batches = append(batches, build.NewRecordBatch())
	}
	return scan.Batches(schema, batches)
}

// joinPairs returns the rows of a join, as values of both sides, -1 for NULL, by a loop over the rows of each key.
func joinPairs(kind sql.JoinKind, left, right []sideRow, holds func(l, r sideRow) bool) [][2]int64 {
	byKey := map[int64][]int{}
	for i, r := range right {
		byKey[r.key] = append(byKey[r.key], i)
	}
	var pairs [][2]int64
	found := make([]bool, len(right))
	for _, l := range left {
		partners := 0
		for _, i := range byKey[l.key] {
			if l.key < 0 || !holds(l, right[i]) {
				continue
			}
			partners++
			found[i] = true
			if kind != sql.SemiJoin && kind != sql.AntiJoin {
				pairs = append(pairs, [2]int64{l.value, right[i].value})
			}
		}
		isAlone := kind == sql.LeftJoin || kind == sql.FullJoin || kind == sql.AntiJoin
		if partners > 0 && kind == sql.SemiJoin || partners == 0 && isAlone {
			pairs = append(pairs, [2]int64{l.value, -1})
		}
	}
	for i, is := range found {
		if !is && (kind == sql.RightJoin || kind == sql.FullJoin) {
			pairs = append(pairs, [2]int64{-1, right[i].value})
		}
	}
	return pairs
}

var joinKinds = []sql.JoinKind{sql.InnerJoin, sql.LeftJoin, sql.RightJoin, sql.FullJoin, sql.SemiJoin, sql.AntiJoin}

// randomSides returns sides of some sizes at most, the second one up to three times as large, or the first.
func randomSides(rng *rand.Rand, sizes []int) (left, right []sideRow) {
	keys, heavy := 1+rng.IntN(2000), []float64{0, 0, 0.02, 0.9}[rng.IntN(4)]
	left = makeSide(rng, rng.IntN(sizes[rng.IntN(len(sizes))]+1), keys, heavy/20)
	right = makeSide(rng, rng.IntN(3*sizes[rng.IntN(len(sizes))]+1), keys, heavy)
	if rng.IntN(2) == 0 {
		left, right = right, left
	}
	return left, right
}

// randomCondition returns a condition of a join by keys, and what it says beside the equality of k.
func randomCondition(rng *rand.Rand) (on string, holds func(l, r sideRow) bool) {
	on, holds = "l.k = r.k", func(_, _ sideRow) bool { return true }
	if rng.IntN(2) == 0 {
		on += " AND l.s = r.s"
	}
	if rng.IntN(2) == 0 {
		on += " AND l.v % 5 <= r.v % 5"
		holds = func(l, r sideRow) bool { return l.value%5 <= r.value%5 }
	}
	return on, holds
}

// Would catch pairs that are lost or doubled, and rows without a partner that are not told from others, in memory, in
// partitions, in partitions that are scattered again, and in rounds over the rows of one key: joins of random tables,
// of each kind, with and without a further condition, have the pairs of a loop over their rows.
func TestJoins(t *testing.T) {
	seen := map[string]bool{"in partitions by hash": false, "scattered again": false, "more for keys of many rows": false}
	seeds := uint64(160)
	if testing.Short() {
		seeds = 48
	}
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(seed, 43))
		kind := joinKinds[seed%uint64(len(joinKinds))]
		knobs := testknobs.Engine{}
		sizes := []int{1, 40, 700, 4000}
		if rng.IntN(4) > 0 {
			knobs = testknobs.Engine{SpillAll: rng.IntN(3) > 0, RadixBits: 1 + rng.IntN(3), MemoryBytes: 1 << 20}
		}
		left, right := randomSides(rng, sizes)
		if seed%5 == 1 { // a build side that is nearly one key, and larger than a task
			knobs = testknobs.Engine{SpillAll: true, RadixBits: 2, MemoryBytes: 1 << 20}
			left, right = makeSide(rng, 13_000, 500, 0.0007), makeSide(rng, 12_000, 500, 0.9)
		}
		on, holds := randomCondition(rng)
		columns := "l.v AS a, r.v AS b"
		if kind == sql.SemiJoin || kind == sql.AntiJoin {
			columns = "l.v AS a, CAST(NULL AS BIGINT) AS b"
		}
		text := fmt.Sprintf("SELECT %s FROM l %s JOIN r ON %s", columns, kind, on)
		isKept := rng.IntN(4) == 0
		if isKept && (knobs.MemoryBytes == 0 || knobs.SpillAll) { // without a file they need memory beside the join's
			text = "WITH l AS MATERIALIZED (FROM l), r AS MATERIALIZED (FROM r) " + text
		}
		t.Run(fmt.Sprintf("%d/%s", seed, kind), func(t *testing.T) {
			tables := map[string]plan.Table{"l": {Source: source(rng, left)}, "r": {Source: source(rng, right)}}
			opt := engine.Options{Threads: 1 + rng.IntN(3), TempDir: t.TempDir()}
			knobs.MemoryBytes = knobs.MemoryBytes / 2 * int64(1+opt.Threads) // each thread has a task at once
			eng, err := engine.Open(testknobs.With(opt, knobs))
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := eng.Close(); err != nil {
					t.Error(err)
				}
			}()
			got, analyzed := readPairs(t, eng, text, plan.Options{Tables: tables})
			for what := range seen {
				seen[what] = seen[what] || strings.Contains(analyzed, what)
			}
			if want := joinPairs(kind, left, right, holds); !samePairs(got, want) {
				t.Errorf("%s, %d and %d rows, knobs %+v: %d rows, want %d", text, len(left), len(right), knobs, len(got), len(want))
			}
		})
	}
	for what, is := range seen {
		if !is {
			t.Errorf("no join was %s", what)
		}
	}
}

// samePairs sorts lists of pairs, and compares them.
func samePairs(got, want [][2]int64) bool {
	slices.SortFunc(got, func(a, b [2]int64) int { return slices.Compare(a[:], b[:]) })
	slices.SortFunc(want, func(a, b [2]int64) int { return slices.Compare(a[:], b[:]) })
	return slices.Equal(got, want)
}

// readPairs returns the rows of a statement of two columns of integers, -1 for NULL, and what another run of it did.
func readPairs(t *testing.T, eng *engine.Engine, text string, opt plan.Options) ([][2]int64, string) {
	pairs, analyzed, err := tryPairs(eng, text, opt)
	if err != nil {
		t.Fatal(err)
	}
	return pairs, analyzed
}

// tryPairs is readPairs of a statement that may fail.
func tryPairs(eng *engine.Engine, text string, opt plan.Options) (pairs [][2]int64, analyzed string, err error) {
	q, err := prepareWith(eng, text, opt)
	if err != nil {
		return nil, "", err
	}
	defer q.Close()
	r, err := q.Run(context.Background())
	if err != nil {
		return nil, "", err
	}
	defer r.Release()
	for r.Next() {
		batch := r.RecordBatch()
		for i := range int(batch.NumRows()) {
			pair := [2]int64{-1, -1}
			for j := range pair {
				if column := batch.Column(j).(*array.Int64); column.IsValid(i) {
					pair[j] = column.Value(i)
				}
			}
			pairs = append(pairs, pair)
		}
	}
	if err := r.Err(); err != nil {
		return nil, "", err
	}
	analyzed, err = q.Analyze(context.Background())
	return pairs, analyzed, err
}

// Would catch a join whose sides are in partitions, which hand their rows over, and whose rows two places of a plan
// read: a subquery that is asked for the rows around it, and these rows.
func TestSpilledJoinReadTwice(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	tables := map[string]plan.Table{
		"l": {Source: source(rng, makeSide(rng, 2000, 300, 0))}, "r": {Source: source(rng, makeSide(rng, 900, 300, 0))},
	}
	const text = "SELECT v AS a, k AS b FROM (SELECT l.* FROM l LEFT JOIN (SELECT DISTINCT k AS rk FROM r) ON k = rk " +
		"WHERE rk IS NULL OR v % 3 = 0) WHERE NOT EXISTS (SELECT 1 FROM (SELECT s AS zs, k AS zk FROM r) z WHERE zs = s AND zk = k)"
	var want [][2]int64
	for _, knobs := range []testknobs.Engine{{}, {SpillAll: true}} {
		for _, without := range [][]plan.Rule{nil, {"domains of subqueries", "conditions of joins", "outer joins", "push filters"}} {
			eng, err := engine.Open(testknobs.With(engine.Options{Threads: 2, TempDir: t.TempDir()}, knobs))
			if err != nil {
				t.Fatal(err)
			}
			got, _ := readPairs(t, eng, text, plan.Options{Tables: tables, Without: without})
			if err := eng.Close(); err != nil {
				t.Error(err)
			}
			if want == nil {
				want = got
			}
			if !samePairs(got, want) || len(got) == 0 {
				t.Errorf("%+v, without %q: %d rows, want %d", knobs, without, len(got), len(want))
			}
		}
	}
}
