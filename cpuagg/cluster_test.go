package cpuagg

import (
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/rowtest"
	"github.com/mpga/mpga/internal/table"
)

// wordTile returns a tile of keys and arguments of one word, all 0.
func wordTile(b *rowdata.Bound, rows int) *rowdata.Tile {
	t := &rowdata.Tile{
		Rows:  rows,
		Keys:  make([]uint64, rows),
		Args:  make([][]uint64, len(b.Args)),
		Valid: make([][]uint8, len(b.Columns)),
	}
	for a := range t.Args {
		t.Args[a] = make([]uint64, rows)
	}
	return t
}

// clusteredTiles returns rows in the order of their keys, perKey rows to a key, in stretches of keys
// that lie far from each other, and what their groups come to.
func clusteredTiles(rng *rand.Rand, b *rowdata.Bound, stretches, keys, perKey int) ([]*rowdata.Tile, map[string]*answer) {
	var tiles []*rowdata.Tile
	want := map[string]*answer{}
	for s := range stretches {
		first := uint64(stretches-s)<<40 + rng.Uint64N(1000)
		for row := 0; row < keys*perKey; row += rowdata.TileRows {
			rows := min(rowdata.TileRows, keys*perKey-row)
			t := wordTile(b, rows)
			for i := range rows {
				t.Keys[i], t.Args[0][i] = first+3*uint64((row+i)/perKey), rng.Uint64N(100)
				text := rowtest.KeyText(&b.Keys, t.Keys[i:i+1])
				if want[text] == nil {
					want[text] = &answer{numbers: make([]uint64, 2*len(b.Columns))}
				}
				want[text].numbers[0]++
				want[text].numbers[1] += t.Args[0][i]
			}
			tiles = append(tiles, t)
		}
	}
	return tiles, want
}

// Would catch groups that are lost where a table moves to keys that lie elsewhere, a table that
// moves though its groups are as many as their rows, and an estimate that takes the first keys of
// sorted data for all keys.
func TestClusteredKeys(t *testing.T) {
	rng := rowtest.Rand(t)
	b := (&shape{intKey: true, columns: 1}).bind(t)
	for _, c := range []struct {
		name                    string
		stretches, keys, perKey int
		moves                   bool
	}{
		{"sorted, in stretches", 12, 20_000, 5, true},
		{"short stretches", 200, 300, 10, false},
		{"sorted keys that differ", 3, 30_000, 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			tiles, want := clusteredTiles(rng, b, c.stretches, c.keys, c.perKey)
			opt := Options{TotalRows: func() int64 { return int64(c.stretches * c.keys * c.perKey) }}
			run := NewRun(b, opt, new(memoryStore))
			w := run.NewWorker()
			for _, tile := range tiles {
				if err := w.Add(tile); err != nil {
					t.Fatal(err)
				}
			}
			if w.moved != c.moves {
				t.Errorf("the table moved: %v, want %v", w.moved, c.moves)
			}
			if _, groups, ok := run.Scatter(); c.moves && (!ok || groups < int64(len(want))/2 || groups > 2*int64(len(want))) {
				t.Errorf("%d groups are estimated (%v), there are %d", groups, ok, len(want))
			}
			w.Release()

			run = NewRun(b, opt, new(memoryStore))
			half := len(tiles) / 2
			groups, err := execute(t, run, [][]*rowdata.Tile{tiles[:half], tiles[half:]})
			if err != nil {
				t.Fatal(err)
			}
			checkGroups(t, b, groups, want)
		})
	}
}

// rangedBound is a query of one integer key below 2^24, with a count and a sum.
func rangedBound(t *testing.T) *rowdata.Bound {
	t.Helper()
	fields := []arrow.Field{{Name: "k", Type: arrow.PrimitiveTypes.Int64}, {Name: "v", Type: arrow.PrimitiveTypes.Int64}}
	q := query.Query{
		Keys:       []query.Key{{Column: "k"}},
		Aggregates: []query.Aggregate{{Func: query.Count, Args: []string{"v"}}, {Func: query.Sum, Args: []string{"v"}}},
	}
	b, err := rowdata.Bind(q, arrow.NewSchema(fields, nil), []rowdata.ColumnStats{{NoNulls: true, HasRange: true, Max: 1<<24 - 1}, {NoNulls: true}})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Would catch keys at the ends of a range that are lost or in two tasks, ranges that are taken though
// the keys are not spread over them, and a range with most rows that one worker aggregates alone.
func TestRangesOfKeys(t *testing.T) {
	b := rangedBound(t)
	const perKey = 6
	for _, c := range []struct {
		name   string
		first  func(stretch int) int // least key of a stretch
		count  int                   // stretches
		keys   int                   // of a stretch
		apart  int                   // keys that follow each other
		ranged bool
		heavy  bool
	}{
		{"in order", func(s int) int { return s * 400_000 }, 40, 10_000, 20, true, false},
		{"in reverse", func(s int) int { return 1<<24 - 1 - (s+1)*400_000 }, 40, 10_000, 20, true, false},
		{"far below the largest key", func(s int) int { return s % 2 * 600_000 }, 8, 20_000, 20, false, false},
		{"most in one range", func(s int) int { return s % 2 * 10_000_000 }, 240, 10_000, 2, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.heavy && testing.Short() {
				t.Skip("14 million rows")
			}
			rows := int64(c.count * c.keys * perKey)
			total := rows
			if !c.ranged {
				total /= 8 // the rows then seem to be a larger part of all, and their keys of few
			}
			run := NewRun(b, Options{TotalRows: func() int64 { return total }, Ranges: func() bool { return true }}, new(memoryStore))
			counts, sums := map[uint64]uint64{}, map[uint64]uint64{}
			tiles := make([][]*rowdata.Tile, 2)
			for s := range c.count {
				for from := 0; from < c.keys*perKey; from += rowdata.TileRows {
					n := min(rowdata.TileRows, c.keys*perKey-from)
					tile := wordTile(b, n)
					for i := range n {
						k := uint64(c.first(s) + (from+i)/perKey*c.apart)
						tile.Keys[i], tile.Args[0][i] = k, uint64(i%7)
						counts[k]++
						sums[k] += uint64(i % 7)
					}
					tiles[s/2%2] = append(tiles[s/2%2], tile)
				}
			}
			groups, err := execute(t, run, tiles)
			if err != nil {
				t.Fatal(err)
			}
			if run.scatter == nil || run.scatter.Ranged() != c.ranged {
				t.Errorf("partitions are ranges: %v, want %v", run.scatter != nil && run.scatter.Ranged(), c.ranged)
			}
			if split := run.Counters().Splits.Load() > 0; split != c.heavy {
				t.Errorf("a range was split: %v, want %v", split, c.heavy)
			}
			seen := 0
			for _, g := range groups {
				for i, k := range g.Keys {
					seen++
					if g.States[0][i] != counts[k] || g.States[1][2*i] != sums[k] {
						t.Fatalf("key %d: %d and %d, want %d and %d", k, g.States[0][i], g.States[1][2*i], counts[k], sums[k])
					}
				}
			}
			if seen != len(counts) {
				t.Errorf("%d groups, want %d", seen, len(counts))
			}
		})
	}
}

// Would catch keys of two fields that are looked for by the bits of one tile in the entries of
// another, in a worker whose groups are as many as their rows, and in one whose groups are few.
func TestSqueezedWorker(t *testing.T) {
	fields := []arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Uint32}, {Name: "b", Type: arrow.PrimitiveTypes.Uint32}}
	q := query.Query{Keys: []query.Key{{Column: "a"}, {Column: "b"}}, Aggregates: []query.Aggregate{{Func: query.CountStar}}}
	b, err := rowdata.Bind(q, arrow.NewSchema(fields, nil), []rowdata.ColumnStats{{NoNulls: true}, {NoNulls: true}})
	if err != nil {
		t.Fatal(err)
	}
	far := []uint64{0, 1<<b.Keys.Fields[0].Shift | 1<<b.Keys.Fields[1].Shift}
	if b.Keys.Words != 1 || !table.New(rowdata.GoMemory, &b.Keys, 0, false).FindDirect(far, make([]uint32, len(far))) {
		t.Fatalf("keys of %d words, which are not squeezed", b.Keys.Words)
	}
	rng := rowtest.Rand(t)
	for range 60 {
		run := NewRun(b, Options{}, new(memoryStore))
		want := map[uint64]uint64{}
		tiles := make([][]*rowdata.Tile, 1)
		perKey := 1 + rng.IntN(8)*rng.IntN(2)
		for range 2 + rng.IntN(30) {
			belowA, belowB := uint64(1)<<rng.IntN(12), uint64(1)<<rng.IntN(18)
			tile := wordTile(b, rowdata.TileRows)
			var key uint64
			for i := range tile.Keys {
				if i%perKey == 0 {
					key = rng.Uint64N(belowA)<<b.Keys.Fields[0].Shift | rng.Uint64N(belowB)<<b.Keys.Fields[1].Shift
				}
				tile.Keys[i] = key
				want[key]++
			}
			tiles[0] = append(tiles[0], tile)
		}
		groups, err := execute(t, run, tiles)
		if err != nil {
			t.Fatal(err)
		}
		seen := 0
		for _, g := range groups {
			for i, k := range g.Keys {
				seen++
				if g.States[0][i] != want[k] {
					t.Fatalf("the key %x has %d rows, want %d", k, g.States[0][i], want[k])
				}
			}
		}
		if seen != len(want) {
			t.Fatalf("%d groups, want %d", seen, len(want))
		}
	}
}
