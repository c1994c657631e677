package cpuagg

import (
	"testing"

	"github.com/mpga/mpga/internal/rowdata"
)

// Would catch a worker that scatters rows for good once pre-aggregation has not paid: the data may
// change.
func TestWorkerTriesAgain(t *testing.T) {
	b := (&shape{intKey: true}).bind(t)
	r := NewRun(b, Options{NoDense: true, TableGroups: 64}, new(memoryStore))
	w := r.NewWorker()
	defer w.Release()
	tile := &rowdata.Tile{Rows: rowdata.TileRows, Keys: make([]uint64, rowdata.TileRows), Valid: make([][]uint8, len(b.Columns))}
	next := uint64(0)
	add := func() {
		for i := range tile.Keys {
			tile.Keys[i] = next << 32 // too far apart for a direct table
			next++
		}
		if err := w.Add(tile); err != nil {
			t.Fatal(err)
		}
		for _, p := range r.store.(*memoryStore).passes {
			clear(p.pages[Rows])
		}
	}
	add()
	if !w.scatterMode {
		t.Fatal("all keys differ, and the rows are not scattered")
	}
	first := r.counters.RowsPreAgg.Load()
	for range retryRows / rowdata.TileRows {
		add()
	}
	if w.scatterMode || r.counters.RowsPreAgg.Load() != first || r.counters.RowsScattered.Load() != retryRows {
		t.Errorf("after %d rows that were scattered: scatter mode %v", r.counters.RowsScattered.Load(), w.scatterMode)
	}
	add()
	if got := r.counters.RowsPreAgg.Load(); got != first+rowdata.TileRows {
		t.Errorf("%d rows went through the table, want %d", got, first+rowdata.TileRows)
	}
	if !w.scatterMode {
		t.Error("pre-aggregation does not pay again, and goes on")
	}
}
