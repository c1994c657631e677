//go:build cgo

package plan_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/engine"
)

// engineOf returns an engine of some threads.
func engineOf(t *testing.T, threads int) *engine.Engine {
	t.Helper()
	eng, err := engine.Open(engine.Options{Threads: threads})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := eng.Close(); err != nil {
			t.Error(err)
		}
	})
	return eng
}

// sampled returns the values of a that a statement over keyedTable has.
func sampled(t *testing.T, eng *engine.Engine, text string) (list []int64) {
	t.Helper()
	q, result := open(t, eng, keyedTable(20_000), text)
	defer q.Close()
	defer result.Release()
	for result.Next() {
		list = append(list, result.RecordBatch().Column(0).(*array.Int64).Int64Values()...)
	}
	if err := result.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

// Would catch a sample that threads decide, one of other rows than its seed says, and one of too many or too few rows.
func TestSamples(t *testing.T) {
	one, many := engineOf(t, 1), engineOf(t, 4)
	for sample, bounds := range map[string][2]int{
		"10% (bernoulli, SEED)": {3700, 4300}, "system(1%) REPEATABLE (SEED)": {300, 500}, "100 (reservoir, SEED)": {100, 100},
		"reservoir(29.5%) REPEATABLE (SEED)": {11_800, 11_800}, "0% (system, SEED)": {0, 0}, "100% (bernoulli, SEED)": {40_000, 40_000},
		"50000 ROWS (reservoir, SEED)": {40_000, 40_000}, "(7 ROWS) REPEATABLE (SEED)": {7, 7},
	} {
		before := ""
		for seed := range 3 {
			of := strings.ReplaceAll(sample, "SEED", strconv.Itoa(seed))
			want := sampled(t, one, "SELECT a FROM t TABLESAMPLE "+of+" ORDER BY a")
			if n := len(want); n < bounds[0] || n > bounds[1] {
				t.Errorf("%s: %d rows, want %v", of, n, bounds)
			}
			for range 3 {
				got := sampled(t, many, "SELECT a FROM t WHERE a >= 0 USING SAMPLE "+of+" ORDER BY a")
				if fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("%s: another sample of %d and %d rows", of, len(want), len(got))
				}
			}
			if text := fmt.Sprint(want); text == before && bounds[0] > 0 && bounds[1] < 40_000 {
				t.Errorf("%s: the same sample as of another seed", of)
			} else {
				before = text
			}
		}
	}
	first := sampled(t, one, "SELECT a FROM t USING SAMPLE 1000 ORDER BY a")
	if again := sampled(t, one, "SELECT a FROM t USING SAMPLE 1000 ORDER BY a"); fmt.Sprint(again) == fmt.Sprint(first) {
		t.Error("two samples without a seed are the same")
	}
}
