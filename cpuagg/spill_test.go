package cpuagg

import (
	"context"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/rowdata"
)

// tightMemory has nothing left: no task may borrow.
type tightMemory struct{ rowdata.Memory }

func (tightMemory) Left() int64 { return 0 }

// Would catch elements of a group that are lost, doubled or out of order when some are in sorted
// runs and the task is split then, or when the task takes more than its share of the memory.
func TestSplitCarriesRuns(t *testing.T) {
	t.Run("no memory left", func(t *testing.T) { testHeavyGroup(t, tightMemory{rowdata.GoMemory}) })
	t.Run("memory left", func(t *testing.T) { testHeavyGroup(t, rowdata.GoMemory) })
}

// testHeavyGroup lists the values of groups, one of which has most rows.
func testHeavyGroup(t *testing.T, m rowdata.Memory) {
	const heavyRows, others = 40_000, 30_000
	i64 := arrow.PrimitiveTypes.Int64
	schema := arrow.NewSchema([]arrow.Field{{Name: "k", Type: i64}, {Name: "v", Type: i64}}, nil)
	b, err := rowdata.Bind(query.Query{
		Keys:       []query.Key{{Column: "k"}},
		Aggregates: []query.Aggregate{{Func: query.List, Args: []string{"v"}}},
	}, schema, []rowdata.ColumnStats{{NoNulls: true}, {NoNulls: true}})
	if err != nil {
		t.Fatal(err)
	}
	var keys []uint64
	for range heavyRows {
		keys = append(keys, 0)
	}
	for i := range others {
		keys = append(keys, uint64(i+1)<<32)
	}
	for range heavyRows {
		keys = append(keys, 0)
	}
	var tiles []*rowdata.Tile
	for from := 0; from < len(keys); from += rowdata.TileRows {
		n := min(rowdata.TileRows, len(keys)-from)
		tile := &rowdata.Tile{Rows: n, Keys: keys[from : from+n], Valid: make([][]uint8, len(b.Columns))}
		for _, arg := range b.Args { // values and positions are the rows' numbers
			words := make([]uint64, n*arg.Words)
			for i := range n {
				words[i*arg.Words] = uint64(from + i)
			}
			tile.Args = append(tile.Args, words)
		}
		tiles = append(tiles, tile)
	}
	share := func() int64 { return 1 << 20 }
	opt := Options{NoDense: true, NoPreAgg: true, RadixBits: 1, WorkerBytes: share, Memory: m}
	run := NewRun(b, opt, new(memoryStore))
	groups, err := execute(t, run, [][]*rowdata.Tile{tiles})
	if err != nil {
		t.Fatal(err)
	}
	if c := run.Counters(); m.Left() == 0 && (c.Splits.Load() == 0 || c.Runs.Load() == 0) {
		t.Errorf("%d splits and %d sorted runs: the test reaches nothing", c.Splits.Load(), c.Runs.Load())
	}
	found, f := 0, &b.Folds[0]
	for _, g := range groups {
		for group := range g.Len {
			found++
			var values []uint64
			if runs := g.Runs(0, group); runs != nil {
				for e, err := range runs.Elements(context.Background()) {
					if err != nil {
						t.Fatal(err)
					}
					values = append(values, e[0])
				}
			} else {
				for e := f.Elements(g.States[0][group*f.Words:][:f.Words]); len(e) > 0; e = e[f.ElementWords:] {
					values = append(values, e[0])
				}
			}
			key := g.Keys[group*b.Keys.Words]
			want := []uint64{heavyRows + key>>32 - 1}
			if key == 0 {
				want = want[:0]
				for i := range uint64(heavyRows) {
					want = append(want, i)
				}
				for i := range uint64(heavyRows) {
					want = append(want, heavyRows+others+i)
				}
				if g.Runs(0, group) == nil {
					slices.Sort(values)
				}
			}
			if !slices.Equal(values, want) {
				t.Errorf("key %#x: %d elements, want %d", key, len(values), len(want))
			}
		}
	}
	if found != others+1 {
		t.Errorf("%d groups, want %d", found, others+1)
	}
}
