package engine_test

import (
	"testing"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/grouptest"
	"github.com/mpga/mpga/internal/testknobs"
)

// Would catch a device that waits for its copies, and readers that wait for a slow link where the CPU could aggregate:
// while all tiles are under way, readers aggregate rows themselves, for MP-EGA as for auto.
func TestCoprocess(t *testing.T) {
	schema, batches := deviceTable(400_000, 50)
	q := query.Query{Keys: []query.Key{{Column: "k"}}, Aggregates: []query.Aggregate{{Func: query.Sum, Args: []string{"v"}}, {Func: query.CountStar}}}
	want, err := grouptest.Oracle(schema, batches, q)
	if err != nil {
		t.Fatal(err)
	}
	for _, algorithm := range []string{"auto", "mp-ega"} {
		knobs := testknobs.Engine{BatchRows: 2000, Device: testknobs.Device{TileRows: 4000, Groups: 50, BytesPerSecond: 40e6}}
		eng := openChecked(t, testknobs.With(engine.Options{Threads: 3, Device: "host:16MiB", Algorithm: algorithm}, knobs))
		got, stats, err := answerWithStats(eng, scan.Batches(schema, batches), q)
		if err == nil {
			err = grouptest.Equal(want, got)
		}
		if err != nil {
			t.Fatalf("%s: %v", algorithm, err)
		}
		d := stats.Device
		if stats.Route != "cpu and device" || d.Tiles == 0 || d.Rows == 0 || d.Rows >= stats.RowsRead {
			t.Errorf("%s: %s has %d tiles of %d rows, of %d in all: not both sides work", algorithm, stats.Route, d.Tiles, d.Rows, stats.RowsRead)
		}
		if d.Overlap <= 0 {
			t.Errorf("%s: copies and kernels do not overlap: %+v", algorithm, d)
		}
	}
}
