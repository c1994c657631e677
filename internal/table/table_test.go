package table

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
	"github.com/mpga/mpga/internal/rowtest"
	"github.com/mpga/mpga/partition"
)

var (
	keyLayout = rowtest.KeyLayout
	keyText   = rowtest.KeyText
)

// randomKeys makes rows keys of at most distinct values a field; long lets strings lie outside.
func randomKeys(rng *rand.Rand, l *rowdata.KeyLayout, rows, distinct int, long bool, batch *rowtest.Arena) []uint64 {
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
				*rowdata.AsBytes2(key[w : w+2]) = batch.Value(fmt.Sprintf("%04d, a longer string%s", n, strings.Repeat(".", n%9)))
			default:
				*rowdata.AsBytes2(key[w : w+2]) = batch.Value(fmt.Sprint(n)[:min(12, len(fmt.Sprint(n)))])
			}
		}
	}
	return keys
}

// checkedTable is a table beside a Go map that knows what it must answer.
type checkedTable struct {
	*Table
	model map[string]uint32
}

// find looks keys up in both, at most a tile of them.
func (c *checkedTable) find(t *testing.T, keys []uint64, rows int) {
	t.Helper()
	hashes, numbers := make([]uint64, rows), make([]uint32, rows)
	long := Hash(c.Layout, keys, c.seed, hashes)
	c.Table.find(keys, hashes, numbers, long)
	c.check(t, keys, numbers)
}

// findUnhashed is find for keys that are hashed only if that is needed.
func (c *checkedTable) findUnhashed(t *testing.T, keys []uint64, rows int) {
	t.Helper()
	numbers := make([]uint32, rows)
	c.FindUnhashed(keys, make([]uint64, rows), numbers)
	c.check(t, keys, numbers)
}

// check compares the groups of keys with the model's, which learns of new ones.
func (c *checkedTable) check(t *testing.T, keys []uint64, numbers []uint32) {
	t.Helper()
	for i, g := range numbers {
		text := keyText(c.Layout, keys[i*c.Layout.Words:(i+1)*c.Layout.Words])
		want, ok := c.model[text]
		if !ok {
			want = uint32(len(c.model))
			c.model[text] = want
		}
		if g != want {
			t.Fatalf("key %s: group %d, want %d", text, g, want)
		}
	}
	if c.Len != len(c.model) {
		t.Fatalf("%d groups, want %d", c.Len, len(c.model))
	}
}

// checkKeys compares the keys that the table has kept.
func (c *checkedTable) checkKeys(t *testing.T) {
	t.Helper()
	for text, g := range c.model {
		if got := keyText(c.Layout, c.Key(int(g))); got != text {
			t.Fatalf("group %d has the key %s, want %s", g, got, text)
		}
	}
}

// Would catch keys lost or split into two groups while the table grows and rehashes, for every
// width with code of its own; strings compared by address, or kept as an address of the batch;
// tiles of short strings that do not find what tiles of long ones have left in the same table.
func TestTableAgainstMap(t *testing.T) {
	rng := rowtest.Rand(t)
	layouts := []*rowdata.KeyLayout{
		keyLayout(0), keyLayout(1), keyLayout(2), keyLayout(2, 0), keyLayout(3), keyLayout(3, 1), keyLayout(4, 0, 2),
		keyLayout(5, 0), keyLayout(6, 4), keyLayout(7, 1, 3, 5), keyLayout(8), keyLayout(8, 0, 6), keyLayout(9), keyLayout(9, 7), keyLayout(12, 2),
	}
	for _, l := range layouts {
		t.Run(fmt.Sprintf("%d words, strings at %v", l.Words, l.Longs), func(t *testing.T) {
			table := New(rowdata.GoMemory, l, partition.Seed(rng.IntN(2)), false)
			for range 2 { // again after a reset
				c := &checkedTable{table, map[string]uint32{}}
				for range 8 {
					var batch rowtest.Arena
					rows := 1 + rng.IntN(1000)
					distinct := []int{2, 30, 3000}[rng.IntN(3)]
					c.find(t, randomKeys(rng, l, rows, distinct, rng.IntN(2) == 0, &batch), rows)
					batch.Poison()
				}
				c.checkKeys(t)
				table.Reset(0)
			}
			runtime.KeepAlive(table)
		})
	}
}

// Would catch a table at a load factor of 1, in which a search does not end, and slots whose
// number is not a power of two.
func TestTableGrows(t *testing.T) {
	for _, words := range []int{1, 2} {
		c := &checkedTable{New(rowdata.GoMemory, keyLayout(words), 0, false), map[string]uint32{}}
		for n := 0; n < 1<<16; {
			rows := min(rowdata.TileRows, n+1)
			keys := make([]uint64, rows*words)
			for i := range rows {
				keys[i*words] = uint64(n + i)
			}
			c.find(t, keys, rows)
			n += rows
			if len(c.slots) < 2*c.Len || len(c.slots)&(len(c.slots)-1) != 0 {
				t.Fatalf("%d slots for %d groups", len(c.slots), c.Len)
			}
		}
		c.checkKeys(t)
	}
}

// Would catch keys taken for equal because slot and salt are: with one-word keys, whose hash is a
// bijection, whole sets of them collide in both, also after the table has grown.
func TestTableOfCollidingKeys(t *testing.T) {
	c := &checkedTable{New(rowdata.GoMemory, keyLayout(1), 0, false), map[string]uint32{}}
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
	rng := rowtest.Rand(t)
	for _, l := range []*rowdata.KeyLayout{keyLayout(2), keyLayout(2, 0), keyLayout(8), keyLayout(9), keyLayout(9, 3)} {
		var batch rowtest.Arena
		const rows = 300
		keys := randomKeys(rng, l, rows, 50, true, &batch)
		table := New(rowdata.GoMemory, l, 0, false)
		table.Reserve(2 * rows)
		hashes, numbers := make([]uint64, rows), make([]uint32, rows)
		model := map[string]uint32{}
		for range 2 {
			table.find(keys, hashes, numbers, len(l.Longs) > 0)
			for i, g := range numbers {
				text := keyText(l, keys[i*l.Words:(i+1)*l.Words])
				if want, ok := model[text]; ok && want != g {
					t.Fatalf("key %s: groups %d and %d", text, want, g)
				}
				model[text] = g
			}
			if table.Len != len(model) {
				t.Fatalf("%d words, strings at %v: %d groups, want %d", l.Words, l.Longs, table.Len, len(model))
			}
		}
		batch.Poison()
	}
}

// Would catch hashes that depend on where a string lies, or on the rows beside it.
func TestHashKeysOfStrings(t *testing.T) {
	l := keyLayout(5, 0, 3)
	var a, b rowtest.Arena
	row := func(batch *rowtest.Arena, x, y string) []uint64 {
		vx, vy := batch.Value(x), batch.Value(y)
		return []uint64{vx[0], vx[1], 7, vy[0], vy[1]}
	}
	long, short := strings.Repeat("x", 40), "short"
	for _, c := range [][2]string{{short, short}, {short, long}, {long, short}, {long, long}} {
		var alone, beside [3]uint64
		if got, want := Hash(l, row(&a, c[0], c[1]), 9, alone[:1]), c != [2]string{short, short}; got != want {
			t.Errorf("%q: long is %v", c, got)
		}
		tile := slices.Concat(row(&b, long, long), row(&b, c[0], c[1]), row(&b, short, short))
		Hash(l, tile, 9, beside[:])
		if alone[0] != beside[1] {
			t.Errorf("%q: hash %x alone, %x in a tile", c, alone[0], beside[1])
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
	tab := New(rowdata.GoMemory, l, 0, true)
	var keys []uint64
	for a := range uint64(6) { // the last is NULL
		for k := range uint64(3) {
			keys = append(keys, a<<l.Fields[0].Shift|k<<l.Fields[1].Shift)
		}
	}
	if l.Codes() != len(keys) {
		t.Fatalf("%d codes, want %d", l.Codes(), len(keys))
	}
	numbers := make([]uint32, 2)
	for i, k := range keys {
		if tab.unseen != len(keys)-i {
			t.Errorf("%d keys are unseen after %d of %d", tab.unseen, i, len(keys))
		}
		tab.find([]uint64{k, keys[0]}, make([]uint64, 2), numbers, false)
		if numbers[0] != uint32(k) || !tab.Seen(int(k)) {
			t.Errorf("key %d has group %d, seen: %d", k, numbers[0], tab.seen[k])
		}
	}
	if tab.unseen != 0 {
		t.Errorf("%d keys are unseen in the end", tab.unseen)
	}
}
