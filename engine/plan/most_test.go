//go:build cgo

package plan_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/scan"
)

// Would catch a group that the engine leaves out though ORDER BY and LIMIT ask for it: one that
// HAVING leaves while it leaves out groups before it, one that stands behind OFFSET, one of many
// with equal counts, the last of an ascending order, and one ordered by another aggregate.
func TestMostGroups(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "k", Type: arrow.PrimitiveTypes.Int32}, {Name: "d", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
	}, nil)
	build := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer build.Release()
	keys, values := build.Field(0).(*array.Int32Builder), build.Field(1).(*array.Int32Builder)
	for k := range int32(500) {
		for i := range 1 + k*k%23 {
			keys.Append(k)
			if values.Append(i % 7); i%5 == 4 {
				values.AppendNull()
				keys.Append(k)
			}
		}
	}
	tables := map[string]plan.Table{"t": {Source: scan.Batches(schema, []arrow.RecordBatch{build.NewRecordBatch()})}}
	eng := openEngine(t)
	for _, text := range []string{
		"SELECT k, count(*) AS c FROM t GROUP BY k ORDER BY c DESC, k",
		"SELECT k, count(d) AS c FROM t GROUP BY k ORDER BY c DESC, k DESC",
		"SELECT k FROM t GROUP BY k ORDER BY count(*) DESC, k",
		"SELECT k, count(*) AS c FROM t GROUP BY k ORDER BY c, k",
		"SELECT k, count(*) AS c FROM t GROUP BY k HAVING c < 9 ORDER BY c DESC, k",
		"SELECT k, count(*) AS c FROM t GROUP BY ROLLUP (k) ORDER BY c DESC, k NULLS FIRST",
		"SELECT k, count(DISTINCT d) AS c FROM t GROUP BY k ORDER BY c DESC, k",
		"SELECT k, count(DISTINCT d) AS c, count(*) AS n FROM t GROUP BY k ORDER BY n DESC, k",
		"SELECT k, count(*) AS c, sum(d) AS s FROM t GROUP BY k ORDER BY s DESC, c DESC, k",
		"SELECT k, count(*) + k AS c FROM t GROUP BY k ORDER BY c DESC, k",
	} {
		all, err := ask(eng, text, tables)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		for _, window := range [][2]int{{10, 0}, {3, 40}, {1, 0}, {0, 3}, {100, 0}, {256, 200}, {300, 0}, {10, 495}} {
			text := fmt.Sprintf("%s LIMIT %d OFFSET %d", text, window[0], window[1])
			got, err := ask(eng, text, tables)
			want := all[min(window[1], len(all)):min(window[1]+window[0], len(all))]
			if err != nil || !slices.EqualFunc(got, want, slices.Equal) {
				t.Errorf("%s: got %v, %v, want %v", text, got, err, want)
			}
		}
	}
}
