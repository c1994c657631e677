package cpuagg

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/partition"
)

// keyLayout is a layout of whole words, with strings at the given words.
func keyLayout(words int, longs ...int) *rowdata.KeyLayout {
	return &rowdata.KeyLayout{Words: words, Bits: 64 * words, Longs: longs}
}

// keyText returns the text that tells two packed keys apart.
func keyText(l *rowdata.KeyLayout, key []uint64) string {
	var b strings.Builder
	for w := 0; w < l.Words; w++ {
		if slices.Contains(l.Longs, w) {
			v := rowdata.AsBytes2(key[w : w+2])
			if *v == rowdata.NullBytes() {
				b.WriteString("NULL ")
			} else {
				fmt.Fprintf(&b, "%q ", v.Bytes())
			}
			w++
			continue
		}
		fmt.Fprintf(&b, "%x ", key[w])
	}
	return b.String()
}

// randomKeys makes rows keys of at most distinct values a field; long lets strings lie outside.
func randomKeys(rng *rand.Rand, l *rowdata.KeyLayout, rows, distinct int, long bool, batch *arena) []uint64 {
	keys := make([]uint64, rows*l.Words)
	for i := range rows {
		key := keys[i*l.Words : (i+1)*l.Words]
		for w := range key {
			key[w] = uint64(rng.IntN(distinct)) << (w * 7 % 60)
		}
		for _, w := range l.Longs {
			n := rng.IntN(distinct)
			switch {
			case n == 0:
				*rowdata.AsBytes2(key[w : w+2]) = rowdata.NullBytes()
			case long && n%2 == 0:
				*rowdata.AsBytes2(key[w : w+2]) = batch.value(fmt.Sprintf("%04d, a longer string%s", n, strings.Repeat(".", n%9)))
			default:
				*rowdata.AsBytes2(key[w : w+2]) = batch.value(fmt.Sprint(n)[:min(12, len(fmt.Sprint(n)))])
			}
		}
	}
	return keys
}

// checkedTable is a table beside a Go map that knows what it must answer.
type checkedTable struct {
	*table
	model map[string]uint32
}

// find looks keys up in both, at most a tile of them.
func (c *checkedTable) find(t *testing.T, keys []uint64, rows int) {
	t.Helper()
	hashes, gids := make([]uint64, rows), make([]uint32, rows)
	long := hashKeys(c.layout, keys, c.seed, hashes)
	c.table.find(keys, hashes, gids, long)
	c.check(t, keys, gids)
}

// findUnhashed is find for keys that are hashed only if that is needed.
func (c *checkedTable) findUnhashed(t *testing.T, keys []uint64, rows int) {
	t.Helper()
	gids := make([]uint32, rows)
	c.table.findUnhashed(keys, make([]uint64, rows), gids)
	c.check(t, keys, gids)
}

// check compares the groups of keys with the model's, which learns of new ones.
func (c *checkedTable) check(t *testing.T, keys []uint64, gids []uint32) {
	t.Helper()
	for i, g := range gids {
		text := keyText(c.layout, keys[i*c.layout.Words:(i+1)*c.layout.Words])
		want, ok := c.model[text]
		if !ok {
			want = uint32(len(c.model))
			c.model[text] = want
		}
		if g != want {
			t.Fatalf("key %s: group %d, want %d", text, g, want)
		}
	}
	if c.groups != len(c.model) {
		t.Fatalf("%d groups, want %d", c.groups, len(c.model))
	}
}

// checkKeys compares the keys that the table has kept.
func (c *checkedTable) checkKeys(t *testing.T) {
	t.Helper()
	for text, g := range c.model {
		if got := keyText(c.layout, c.key(int(g))); got != text {
			t.Fatalf("group %d has the key %s, want %s", g, got, text)
		}
	}
}

// Would catch keys lost or split into two groups while the table grows and rehashes, for every
// width with code of its own; strings compared by address, or kept as an address of the batch;
// tiles of short strings that do not find what tiles of long ones have left in the same table.
func TestTableAgainstMap(t *testing.T) {
	rng := newRand(t)
	layouts := []*rowdata.KeyLayout{
		keyLayout(0), keyLayout(1), keyLayout(2), keyLayout(2, 0), keyLayout(3), keyLayout(3, 1), keyLayout(4, 0, 2),
		keyLayout(5, 0), keyLayout(6, 4), keyLayout(7, 1, 3, 5), keyLayout(8), keyLayout(8, 0, 6), keyLayout(9), keyLayout(9, 7), keyLayout(12, 2),
	}
	for _, l := range layouts {
		t.Run(fmt.Sprintf("%d words, strings at %v", l.Words, l.Longs), func(t *testing.T) {
			table := newTable(rowdata.GoMemory, l, partition.Seed(rng.IntN(2)), false)
			for range 2 { // again after a reset
				c := &checkedTable{table, map[string]uint32{}}
				for range 8 {
					var batch arena
					rows := 1 + rng.IntN(1000)
					distinct := []int{2, 30, 3000}[rng.IntN(3)]
					c.find(t, randomKeys(rng, l, rows, distinct, rng.IntN(2) == 0, &batch), rows)
					batch.poison()
				}
				c.checkKeys(t)
				table.reset(0)
			}
			runtime.KeepAlive(table)
		})
	}
}

// Would catch a table at a load factor of 1, in which a search does not end, and slots whose
// number is not a power of two.
func TestTableGrows(t *testing.T) {
	for _, words := range []int{1, 2} {
		c := &checkedTable{newTable(rowdata.GoMemory, keyLayout(words), 0, false), map[string]uint32{}}
		for n := 0; n < 1<<16; {
			rows := min(rowdata.TileRows, n+1)
			keys := make([]uint64, rows*words)
			for i := range rows {
				keys[i*words] = uint64(n + i)
			}
			c.find(t, keys, rows)
			n += rows
			if len(c.slots) < 2*c.groups || len(c.slots)&(len(c.slots)-1) != 0 {
				t.Fatalf("%d slots for %d groups", len(c.slots), c.groups)
			}
		}
		c.checkKeys(t)
	}
}

// Would catch keys taken for equal because slot and salt are: with one-word keys, whose hash is a
// bijection, whole sets of them collide in both, also after the table has grown.
func TestTableOfCollidingKeys(t *testing.T) {
	c := &checkedTable{newTable(rowdata.GoMemory, keyLayout(1), 0, false), map[string]uint32{}}
	const saltEnd = 53 // hash bits from here on are in neither slot nor salt
	for n := range 4 {
		keys := make([]uint64, 500)
		for i := range keys {
			keys[i] = partition.Unmix64(uint64(500*n+i)<<saltEnd | 12345)
		}
		c.find(t, keys, len(keys))
		c.find(t, keys, len(keys))
	}
	c.checkKeys(t)
}

// Would catch wide keys and strings that are told apart by their hashes alone: here all hashes are
// one number.
func TestTableOfEqualHashes(t *testing.T) {
	rng := newRand(t)
	for _, l := range []*rowdata.KeyLayout{keyLayout(2), keyLayout(2, 0), keyLayout(8), keyLayout(9), keyLayout(9, 3)} {
		var batch arena
		const rows = 300
		keys := randomKeys(rng, l, rows, 50, true, &batch)
		table := newTable(rowdata.GoMemory, l, 0, false)
		table.reserve(2 * rows)
		hashes, gids := make([]uint64, rows), make([]uint32, rows)
		model := map[string]uint32{}
		for range 2 {
			table.find(keys, hashes, gids, len(l.Longs) > 0)
			for i, g := range gids {
				text := keyText(l, keys[i*l.Words:(i+1)*l.Words])
				if want, ok := model[text]; ok && want != g {
					t.Fatalf("key %s: groups %d and %d", text, want, g)
				}
				model[text] = g
			}
			if table.groups != len(model) {
				t.Fatalf("%d words, strings at %v: %d groups, want %d", l.Words, l.Longs, table.groups, len(model))
			}
		}
		batch.poison()
	}
}

// Would catch hashes that depend on where a string lies, or on the rows beside it.
func TestHashKeysOfStrings(t *testing.T) {
	l := keyLayout(5, 0, 3)
	var a, b arena
	row := func(batch *arena, x, y string) []uint64 {
		vx, vy := batch.value(x), batch.value(y)
		return []uint64{vx[0], vx[1], 7, vy[0], vy[1]}
	}
	long, short := strings.Repeat("x", 40), "short"
	for _, c := range [][2]string{{short, short}, {short, long}, {long, short}, {long, long}} {
		var alone, beside [3]uint64
		if got, want := hashKeys(l, row(&a, c[0], c[1]), 9, alone[:1]), c != [2]string{short, short}; got != want {
			t.Errorf("%q: long is %v", c, got)
		}
		tile := slices.Concat(row(&b, long, long), row(&b, c[0], c[1]), row(&b, short, short))
		hashKeys(l, tile, 9, beside[:])
		if alone[0] != beside[1] {
			t.Errorf("%q: hash %x alone, %x in a tile", c, alone[0], beside[1])
		}
	}
}

// Would catch a dense table that takes the code of a NULL, the largest, for one beyond its end, or
// that lists groups no row was in.
func TestDenseTable(t *testing.T) {
	for _, bits := range []int{1, 2, 9, 16} {
		l := &rowdata.KeyLayout{Words: 1, Bits: bits}
		table := newTable(rowdata.GoMemory, l, 0, true)
		last := uint64(1)<<bits - 1
		keys := []uint64{last, 0, last, last / 2}
		gids := make([]uint32, len(keys))
		table.find(keys, make([]uint64, len(keys)), gids, false)
		g := &Groups{table: table, states: newStates(rowdata.GoMemory, &rowdata.Bound{
			Keys: *l, Folds: []rowdata.Fold{{Kind: rowdata.FoldCount, Words: 1}},
		})}
		g.states.grow(table.groups)
		g.states.accumulateFold(&g.states.bound.Folds[0], g.states.words[0], gids, [3][]uint64{})
		g.table.pack(g.states)
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

// Would catch keys of a dense table that are not seen, be it that others were seen twice or that
// all but a NULL were; and a count of keys that leaves some out.
func TestDenseSeesAll(t *testing.T) {
	stats := []rowdata.ColumnStats{{HasRange: true, Min: -1, Max: 3}, {HasRange: true, NoNulls: true, Max: 2}}
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "a", Type: arrow.PrimitiveTypes.Int64, Nullable: true}, {Name: "b", Type: arrow.PrimitiveTypes.Int64},
	}, nil)
	b, err := rowdata.Bind(query.Query{Keys: []query.Key{{Column: "a"}, {Column: "b"}}}, schema, stats)
	if err != nil {
		t.Fatal(err)
	}
	l := &b.Keys
	tab := newTable(rowdata.GoMemory, l, 0, true)
	var keys []uint64
	for a := range uint64(6) { // the last is NULL
		for k := range uint64(3) {
			keys = append(keys, a<<l.Fields[0].Shift|k<<l.Fields[1].Shift)
		}
	}
	if l.Codes() != len(keys) {
		t.Fatalf("%d codes, want %d", l.Codes(), len(keys))
	}
	gids := make([]uint32, 2)
	for i, k := range keys {
		if tab.unseen != len(keys)-i {
			t.Errorf("%d keys are unseen after %d of %d", tab.unseen, i, len(keys))
		}
		tab.find([]uint64{k, keys[0]}, make([]uint64, 2), gids, false)
		if gids[0] != uint32(k) || tab.seen[k] == 0 {
			t.Errorf("key %d has group %d, seen: %d", k, gids[0], tab.seen[k])
		}
	}
	if tab.unseen != 0 {
		t.Errorf("%d keys are unseen in the end", tab.unseen)
	}
}
