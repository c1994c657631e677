package cpuagg

import (
	"testing"

	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/table"
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
		for _, p := range r.pages.Store.(*memoryStore).passes {
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

// Would catch a dense table that takes the code of a NULL, the largest, for one beyond its end, or
// that lists groups no row was in.
func TestDenseTable(t *testing.T) {
	for _, bits := range []int{1, 2, 9, 16} {
		l := &rowdata.KeyLayout{Words: 1, Bits: bits}
		b := &rowdata.Bound{Keys: *l, Folds: []rowdata.Fold{{Kind: rowdata.FoldCount, Words: 1}}}
		w := &Worker{table: table.New(rowdata.GoMemory, l, 0, true), states: newStates(rowdata.GoMemory, b)}
		last := uint64(1)<<bits - 1
		keys := []uint64{last, 0, last, last / 2}
		gids := make([]uint32, len(keys))
		w.table.FindUnhashed(keys, make([]uint64, len(keys)), gids)
		w.states.grow(w.table.Len)
		w.states.accumulateFold(&b.Folds[0], w.states.words[0], gids, [3][]uint64{})
		w.pack()
		g := &Groups{table: w.table, states: w.states}
		g.finish()
		want := map[uint64]uint64{last: 2}
		want[0]++
		want[last/2]++
		if g.Len != len(want) {
			t.Fatalf("%d bits: %d groups, want %d", bits, g.Len, len(want))
		}
		for i, key := range g.Keys {
			if g.States[0][i] != want[key] {
				t.Errorf("%d bits, key %d: %d rows, want %d", bits, key, g.States[0][i], want[key])
			}
		}
	}
}
