package engine_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/internal/grouptest"
	"github.com/mpga/mpga/internal/testknobs"
	"github.com/mpga/mpga/kernels/hostdevice"
)

// changeoverQuery returns a query of a table, most of which devices have without sorting.
func changeoverQuery(rng *rand.Rand, schema *arrow.Schema) query.Query {
	q := pagedQuery(rng, schema)
	q.Aggregates = slices.DeleteFunc(q.Aggregates, func(a query.Aggregate) bool {
		return slices.Contains([]query.Func{query.Median, query.QuantileDisc, query.CountDistinct}, a.Func)
	})
	if len(q.Aggregates) == 0 {
		q.Aggregates = []query.Aggregate{{Func: query.CountStar, Name: "n"}}
	}
	return q
}

// Would catch rows that are lost or taken twice, and workers that two goroutines use, where a query that the CPU has
// begun goes on with devices: batches and pages, few and many groups, devices that fail.
func TestDeviceChangeover(t *testing.T) {
	seed := newSeed(t)
	queries := 300
	if testing.Short() {
		queries = 60
	}
	// Chance decides what becomes of a query: as many are asked as give some of each kind.
	changed, divided, failed, asked := 0, 0, 0, 0
	for ; asked < queries || changed < queries/8 || divided == 0 || failed == 0; asked++ {
		if asked == 20*queries {
			t.Fatalf("%d of %d queries changed over, %d of them in the middle of their rows; devices of %d failed: want more", changed, asked, divided, failed)
		}
		rng := rand.New(rand.NewPCG(seed, uint64(asked)))
		schema, batches := grouptest.RandomTable(rng, grouptest.RandomRows(rng)/4, pagedTypes...)
		q := changeoverQuery(rng, schema)
		want, err := grouptest.Oracle(schema, batches, q)
		if err != nil {
			continue
		}
		src := scan.Batches(schema, batches)
		if rng.IntN(2) == 0 {
			path := writeRandomPages(t, rng, schema, batches, 100)
			if src, err = dataset.Open(t.Context(), []string{path}, dataset.Options{}); err != nil {
				t.Fatal(err)
			}
		}
		var fail func(hostdevice.Call) error
		if rng.IntN(2) == 0 {
			fail = hostdevice.FailNth(1+rng.Int64N(60), false, errors.New("boom"))
		}
		eng := openChecked(t, testknobs.With(engine.Options{Threads: 1 + rng.IntN(4), MemoryLimit: 16 << 30}, testknobs.Engine{
			BatchRows: 100, TableGroups: []int{0, 0, 64}[rng.IntN(3)], Device: testknobs.Device{
				AutoHostBytes: []int64{4 << 20, 64 << 20}[rng.IntN(2)], ChangeAfter: 1 + rng.Int64N(6),
				TileRows: []int{0, 500}[rng.IntN(2)], Groups: []int64{0, 10, 1 << 30}[rng.IntN(3)], Fail: fail, RadixBits: []int{0, 3}[rng.IntN(2)],
			},
		}))
		got, stats, err := answerWithStats(eng, src, q)
		if err == nil {
			err = grouptest.Equal(want, got)
		}
		if err != nil {
			t.Fatalf("query %d, %v over %v of %v, %+v: %v", asked, q.Aggregates, q.Keys, schema, stats.Device, err)
		}
		switch d := stats.Device; {
		case d.Devices == "": // it was not to be, or came too late
		case d.Reason != "":
			failed++
		default:
			changed++
			if d.Rows > 0 && d.Rows < stats.RowsRead {
				divided++
			}
		}
	}
	t.Logf("%d of %d queries changed over, %d of them in the middle of their rows; devices of %d failed", changed, asked, divided, failed)
}
