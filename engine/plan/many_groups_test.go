//go:build cgo

package plan_test

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/scan"
)

// Would catch values that are counted by grouping twice where a device counts them, or on the CPU by sets, which
// take longer than that.
func TestDistinctOnDevice(t *testing.T) {
	const text = "SELECT a, count(DISTINCT b) AS n FROM t GROUP BY a ORDER BY a"
	tables := map[string]plan.Table{"t": {Source: keyedTable(20_000)}}
	var answers [][][]string
	for device, want := range map[string]string{"cpu": "merged: by the aggregation above", "host:64MiB": "device: host"} {
		eng, err := engine.Open(engine.Options{Device: device, Threads: 2})
		if err != nil {
			t.Fatal(err)
		}
		q, err := prepare(eng, text, tables)
		if err != nil {
			t.Fatal(err)
		}
		explained, err := q.Explain(t.Context())
		if steps := strings.Count(explained, "process: "); err != nil || (steps == 1) != (device != "cpu") || !strings.Contains(explained, want) {
			t.Errorf("%s: %d aggregations, %v:\n%s", device, steps, err, explained)
		}
		rows, err := ask(eng, text, tables)
		answers = append(answers, rows)
		q.Close()
		if err := errors.Join(err, eng.Close()); err != nil {
			t.Error(err)
		}
	}
	if !reflect.DeepEqual(answers[0], answers[1]) {
		t.Errorf("the CPU and the device have different answers: %v and %v", answers[0], answers[1])
	}
}

// Would catch groups that are lost, or come twice, where all threads make rows of them: the first
// batch, which decides that they do, among others; an error that another thread meets and the reader
// does not; and a result that is dropped while the threads are at work.
func TestManyGroups(t *testing.T) {
	const groups, perGroup = 400_000, 2
	schema := arrow.NewSchema([]arrow.Field{{Name: "k", Type: arrow.PrimitiveTypes.Int64}, {Name: "v", Type: arrow.PrimitiveTypes.Int64}}, nil)
	var batches []arrow.RecordBatch
	for at := 0; at < groups*perGroup; at += 1 << 16 {
		build := array.NewRecordBuilder(memory.DefaultAllocator, schema)
		keys, values := build.Field(0).(*array.Int64Builder), build.Field(1).(*array.Int64Builder)
		for i := at; i < min(at+1<<16, groups*perGroup); i++ {
			k := int64(i*7919) % groups
			keys.Append(k * 0x10001)
			if k == 123_456 {
				values.Append(math.MaxInt64 / 2)
			} else {
				values.Append(k)
			}
		}
		batches = append(batches, build.NewRecordBatch())
		build.Release()
	}
	tables := map[string]plan.Table{"t": {Source: scan.Batches(schema, batches)}}
	eng := openEngine(t)
	for text, want := range map[string]string{
		"SELECT count(*) AS n, sum(s) AS s FROM (SELECT k // 65537 + 1 AS s FROM t GROUP BY k)":                         "400000 80000200000",
		"SELECT count(*) AS n, sum(s) AS s FROM (SELECT sum(v) // 2 - 7 AS s FROM t GROUP BY k HAVING sum(v) < 200000)": "100000 4999250000",
		"SELECT count(*) AS n, sum(k) AS s FROM (SELECT k FROM t GROUP BY k HAVING count(*) > 2)":                       "0 NULL",
		"SELECT count(*) AS n, sum(s) AS s FROM (SELECT sum(v) * 2 AS s FROM t GROUP BY k)":                             "error",
	} {
		rows, err := ask(eng, text, tables)
		if want == "error" {
			if err == nil || !strings.Contains(err.Error(), "(sum(v) * 2): overflow") {
				t.Errorf("%s: %v, %v", text, rows, err)
			}
			continue
		}
		if err != nil || len(rows) != 1 || strings.Join(rows[0], " ") != want {
			t.Errorf("%s: %v, %v, want %s", text, rows, err, want)
		}
	}
	for range 20 {
		q, err := prepare(eng, "SELECT k, sum(v) // 3 AS s FROM t GROUP BY k HAVING sum(v) >= 0", tables)
		if err != nil {
			t.Fatal(err)
		}
		result, err := q.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !result.Next() {
			t.Error(result.Err())
		}
		result.Release()
		q.Close()
	}
}
