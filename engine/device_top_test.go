package engine_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/testknobs"
)

// topQuery returns a query of least and greatest values; one aggregate in eight asks for more than a device keeps.
func topQuery(rng *rand.Rand, schema *arrow.Schema) query.Query {
	q := query.Query{Overflow: query.OverflowWiden}
	for range rng.IntN(3) {
		q.Keys = append(q.Keys, query.Key{Column: schema.Field(rng.IntN(schema.NumFields())).Name, Name: fmt.Sprintf("k%d", len(q.Keys))})
	}
	for range 1 + rng.IntN(3) {
		a := query.Aggregate{Func: query.MinN, Name: fmt.Sprintf("a%d", len(q.Aggregates)), Length: 1 + rng.IntN(7)}
		switch a.Args = []string{schema.Field(rng.IntN(schema.NumFields())).Name}; rng.IntN(16) {
		case 0:
			a.Length = 8 + rng.IntN(10)
		case 1:
			a.Func, a.Length = query.Count, 0
		case 2:
			a.Func, a.Length = query.Max, 0
		case 3, 4, 5, 6, 7, 8, 9:
			a.Func = query.MaxN
		}
		q.Aggregates = append(q.Aggregates, a)
	}
	return q
}

// The least and the greatest values are found by devices, of every type, in one table or by partitions, and merged with
// the values of rows that the CPU has.
func TestDeviceTop(t *testing.T) {
	queries := 300
	if testing.Short() {
		queries = 100
	}
	whole, divided, tables := 0, 0, 0
	force := func(rng *rand.Rand, k *testknobs.Device) { k.Groups = []int64{0, 10, 1 << 30}[rng.IntN(3)] }
	answerOnDevices(t, queries, topQuery, force, func(stats engine.Stats) {
		switch d := stats.Device; {
		case d.Finisher != "" || d.Rows == 0:
		case d.RowsBack > 0:
			divided++
		case stats.Route == "device":
			whole++
		default:
			tables++
		}
	})
	if t.Logf("%d queries were the devices' alone, %d were divided, %d had groups on both sides", whole, divided, tables); (whole == 0 || divided == 0) && !testing.Short() {
		t.Errorf("of %d queries %d were the devices' alone, and %d were divided", queries, whole, divided)
	}
}

// Values that a device found are merged with the values of other processes.
func TestDeviceTopPartial(t *testing.T) {
	schema, batches := deviceTable(5000, 700)
	checkDevicePartial(t, schema, batches, query.Query{Keys: []query.Key{{Column: "k"}}, Aggregates: []query.Aggregate{
		{Func: query.MinN, Args: []string{"v"}, Length: 3}, {Func: query.MaxN, Args: []string{"v"}, Length: 2},
	}})
}
