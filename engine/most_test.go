package engine_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/grouptest"
	"github.com/mpga/mpga/internal/invariants"
	"github.com/mpga/mpga/internal/testknobs"
)

// Would catch a group among the n with the largest counts that is missing, also where many have the
// n-th largest count, a group with another group's key or sum, statistics that do not count the
// groups left out, and groups that nobody leaves out.
func TestGroupsMost(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "s", Type: arrow.BinaryTypes.String}, {Name: "v", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	}, nil)
	const groups = 3000
	name := func(i int) string { return fmt.Sprintf("a group of some length, %d", i*7919%groups) }
	var texts, values []any
	counts := map[string]int64{} // of values: a row in nine has none
	for i := range groups {
		for range 1 + i%50 + i/2900*i%40 {
			texts, values = append(texts, name(i)), append(values, any(int64(i)))
			if len(values)%9 == 0 {
				values[len(values)-1] = nil
				continue
			}
			counts[name(i)]++
		}
	}
	sorted := make([]int64, 0, groups)
	for i := range groups {
		sorted = append(sorted, counts[name(i)])
	}
	slices.Sort(sorted)
	slices.Reverse(sorted)
	batch := grouptest.Batch(schema,
		grouptest.Array(schema.Field(0).Type, texts), grouptest.Array(schema.Field(1).Type, values))
	q := query.Query{Keys: []query.Key{{Column: "s"}}, Aggregates: []query.Aggregate{
		{Func: query.Sum, Args: []string{"v"}}, {Func: query.Count, Args: []string{"v"}}}}
	for _, knobs := range []testknobs.Engine{
		{}, {ResultRows: 100, TableGroups: 64, RadixBits: 4}, {SpillAll: true, ResultRows: 7},
	} {
		for i, n := range []int{1, 1, 10, 10, 100, 100, groups, 2 * groups}[:invariants.Fewer(8, 3)] {
			ties := i%2 == 0
			eng := openChecked(t, testknobs.With(engine.Options{Threads: 2, Device: "cpu", TempDir: t.TempDir()}, knobs))
			result, err := eng.Statement(t.Context()).Groups(t.Context(), scan.Batches(schema, []arrow.RecordBatch{batch}), q,
				engine.GroupsOptions{Most: &engine.Most{N: n, Count: 1, Ties: ties}})
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]int64{}
			for result.Next() {
				keys := result.RecordBatch().Column(0).(*array.String)
				sums, of := result.RecordBatch().Column(1).(*array.Int64), result.RecordBatch().Column(2).(*array.Int64)
				for i := range keys.Len() {
					got[keys.Value(i)] = of.Value(i)
					if of.Value(i) > 0 && name(int(sums.Value(i)/of.Value(i))) != keys.Value(i) {
						t.Errorf("%q has the sum %d of %d values", keys.Value(i), sums.Value(i), of.Value(i))
					}
				}
			}
			if err := result.Err(); err != nil {
				t.Fatal(err)
			}
			result.Release()
			if stats := result.Stats(); stats.Groups != groups {
				t.Errorf("%+v, n = %d: statistics tell of %d groups, there are %d", knobs, n, stats.Groups, groups)
			}
			least := sorted[min(n, groups)-1]
			wanted := sorted
			if !ties {
				wanted = sorted[:min(n, groups)]
			}
			equal := 0 // groups that are wanted with the n-th largest count
			for _, count := range wanted {
				if count == least {
					equal++
				}
			}
			for s, count := range counts {
				found, ok := got[s]
				if count > least && !ok || ok && found != count {
					t.Errorf("%+v, %d, ties %v: %q has the count %d, want %d (%d at least)", knobs, n, ties, s, found, count, least)
				}
				if ok && count == least {
					equal--
				}
			}
			if equal > 0 {
				t.Errorf("%+v, %d, ties %v: %d groups more should have the count %d", knobs, n, ties, equal, least)
			}
			if !ties && n == 1 && len(got) > groups/100 {
				t.Errorf("%+v: %d of %d groups are left for one", knobs, len(got), groups)
			}
			if n == 10 && len(got) > groups/2 {
				t.Errorf("%+v: %d of %d groups are left for n = %d", knobs, len(got), groups, n)
			}
		}
	}
}
