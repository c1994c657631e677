package encode

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/digits"
	"github.com/mpga/mpga/internal/grouptest"
	"github.com/mpga/mpga/internal/rowdata"
)

// edgeDoubles are in ascending order; the last is NaN.
var edgeDoubles = []float64{
	math.Inf(-1), -math.MaxFloat64, -1.5, -1, -0x1p-1022, -math.SmallestNonzeroFloat64, 0,
	math.SmallestNonzeroFloat64, 0x1p-1022, 1, 1.5, math.MaxFloat64, math.Inf(1), math.NaN(),
}

// Would catch an order that puts negative numbers backwards or NaN first, and values that do not
// come back from it.
func TestOrderFloat(t *testing.T) {
	for i, a := range edgeDoubles {
		word := orderFloat(math.Float64bits(a))
		if got := math.Float64frombits(Unorder(word, rowdata.Float64)); got != a && !(got != got && a != a) {
			t.Errorf("%g comes back as %g", a, got)
		}
		for j, b := range edgeDoubles {
			if got := cmp.Compare(word, orderFloat(math.Float64bits(b))); got != cmp.Compare(i, j) {
				t.Errorf("%g and %g are ordered %d", a, b, got)
			}
		}
	}
	if orderFloat(1<<63) != orderFloat(0) {
		t.Error("-0 is not 0")
	}
	for _, nan := range []uint64{0x7FF8000000000001, 0xFFF8000000000000, 0x7FF0000000000001, math.MaxUint64} {
		if orderFloat(nan) != math.MaxUint64 {
			t.Errorf("the NaN %x is ordered as %x", nan, orderFloat(nan))
		}
	}
	rng := rand.New(rand.NewPCG(7, 7))
	for range 10_000 {
		a, b := math.Float64frombits(rng.Uint64()), math.Float64frombits(rng.Uint64())
		if a != a || b != b {
			continue
		}
		wa, wb := orderFloat(math.Float64bits(a)), orderFloat(math.Float64bits(b))
		if cmp.Compare(wa, wb) != cmp.Compare(a, b) || Unorder(wa, rowdata.Float64) != math.Float64bits(a) {
			t.Fatalf("%g and %g are ordered as %x and %x", a, b, wa, wb)
		}
	}
}

// Would catch signs that are not turned, or not turned back.
func TestOrderIntegers(t *testing.T) {
	ints := []int64{math.MinInt64, math.MinInt64 + 1, -1, 0, 1, math.MaxInt64}
	for _, a := range ints {
		for _, b := range ints {
			words := []uint64{uint64(a), uint64(b)}
			out := make([]uint64, 2)
			Order(out, words, rowdata.Int64)
			if cmp.Compare(out[0], out[1]) != cmp.Compare(a, b) || Unorder(out[0], rowdata.Int64) != uint64(a) {
				t.Errorf("%d and %d are ordered as %x", a, b, out)
			}
			pair := []uint64{uint64(b), uint64(a)}
			Order(out, pair, rowdata.Int128)
			UnorderValue(out, rowdata.Int128)
			if out[0] != pair[0] || out[1] != pair[1] {
				t.Errorf("%x comes back as %x", pair, out)
			}
		}
	}
}

// Would catch hashes that tell values apart which count(distinct) takes for one.
func TestHashValues(t *testing.T) {
	hash := func(kind rowdata.Kind, words ...uint64) uint64 {
		var out [1]uint64
		hashValues(out[:], words, kind)
		return out[0]
	}
	if hash(rowdata.Float64, 0) != hash(rowdata.Float64, 1<<63) {
		t.Error("0 and -0 have two hashes")
	}
	if hash(rowdata.Float64, 0x7FF8000000000001) != hash(rowdata.Float64, math.MaxUint64) {
		t.Error("two NaNs have two hashes")
	}
	if hash(rowdata.Int128, 1, 2) == hash(rowdata.Int128, 2, 1) {
		t.Error("the words of a pair can change places")
	}
	const long = "more than twelve bytes"
	if hash(rowdata.Bytes, grouptest.Words(long)...) != hash(rowdata.Bytes, grouptest.Words(string([]byte(long)))...) {
		t.Error("a string's hash follows from its address")
	}
}

// Would catch a 128-bit integer that is rounded twice or loses its sign.
func TestDoubleOf128(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	words := []uint64{0, 1, math.MaxUint64, 1 << 63, 1<<63 - 1, 1 << 62, 1<<53 + 1, rng.Uint64(), rng.Uint64()}
	for _, low := range words {
		for _, high := range words {
			v := new(big.Int).Lsh(big.NewInt(int64(high)), 64)
			v.Add(v, new(big.Int).SetUint64(low))
			if got := digits.Integer([]uint64{low, high}); got.Cmp(v) != 0 {
				t.Errorf("%x %x is the integer %s, want %s", high, low, got, v)
			}
			want, _ := new(big.Float).SetInt(v).Float64()
			if got := digits.Double128(low, high, 0); got != want {
				t.Errorf("%s is the double %g, want %g", v, got, want)
			}
		}
	}
}

// Would catch decimals whose scale is applied the wrong way or not at all.
func TestToDouble(t *testing.T) {
	for _, c := range []struct {
		dt    arrow.DataType
		words []uint64
		want  float64
	}{
		{arrow.PrimitiveTypes.Int64, []uint64{math.MaxUint64}, -1},
		{arrow.PrimitiveTypes.Uint64, []uint64{math.MaxUint64}, 0x1p64},
		{&arrow.Decimal64Type{Precision: 18, Scale: 2}, []uint64{12345}, 123.45},
		{&arrow.Decimal128Type{Precision: 38, Scale: -2}, []uint64{5, 0}, 500},
		{&arrow.Decimal128Type{Precision: 38, Scale: 19}, []uint64{0, 1}, 1.8446744073709551616},
		{&arrow.Decimal64Type{Precision: 16, Scale: 16}, []uint64{9219130277633667}, 0.9219130277633667},
	} {
		var out [1]uint64
		Doubles(out[:], c.words, columnOf(t, c.dt, false))
		if got := math.Float64frombits(out[0]); math.Abs(got-c.want) > 0 {
			t.Errorf("%x of %s: %g, want %g", c.words, c.dt, got, c.want)
		}
	}
}

// Would catch values outside a promised range that wrap into another's code: the first such row is
// named, whatever lies before it.
func TestPackIntegersOutside(t *testing.T) {
	for _, width := range []int{1, 2} {
		for _, nulls := range []bool{false, true} {
			f := &rowdata.KeyField{Kind: rowdata.Int64, Bits: 8, Shift: 3, Base: -100, Span: 200, Nullable: true, NullBit: -1}
			low, high := int64(-101), int64(101)
			words := []uint64{5, 100, uint64(low), uint64(high)}
			var valid []uint8
			if nulls {
				valid = []uint8{1, 0, 0, 1}
			}
			want := 2
			if nulls {
				want = 3
			}
			if got := packIntegers(make([]uint64, width*len(words)), width, f, words, valid); got != want {
				t.Errorf("width %d, NULLs %v: row %d is outside, want %d", width, nulls, got, want)
			}
			if got := packIntegers(make([]uint64, width*2), width, f, words[:2], nil); got != -1 {
				t.Errorf("width %d: row %d is outside a range that has it", width, got)
			}
		}
	}
}

// Would catch keys that are not taken from the batch though they could be, keys that are taken
// though they need packing, and packed keys that are written over a batch's: a tile without NULLs
// comes before one with a NULL.
func TestSharedKeys(t *testing.T) {
	const second = rowdata.TileRows
	i64, text := arrow.PrimitiveTypes.Int64, arrow.BinaryTypes.String
	for _, c := range []struct {
		name   string
		dt     arrow.DataType
		stats  rowdata.ColumnStats
		null   bool // row second is NULL
		shared [2]bool
	}{
		{"integers", i64, rowdata.ColumnStats{NoNulls: true}, false, [2]bool{true, true}},
		{"integers in a range", i64, rowdata.ColumnStats{NoNulls: true, HasRange: true, Min: 0, Max: 1 << 40}, false, [2]bool{}},
		{"integers with NULLs", i64, rowdata.ColumnStats{}, true, [2]bool{}},
		{"doubles", arrow.PrimitiveTypes.Float64, rowdata.ColumnStats{NoNulls: true}, false, [2]bool{}},
		{"strings", text, rowdata.ColumnStats{}, true, [2]bool{true, false}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cells := make([]any, second+10)
			for i := range cells {
				switch {
				case c.null && i == second:
				case c.dt == text:
					cells[i] = "text"
				case c.dt == i64:
					cells[i] = int64(i)
				default:
					cells[i] = float64(i)
				}
			}
			schema := arrow.NewSchema([]arrow.Field{{Name: "k", Type: c.dt, Nullable: true}}, nil)
			b, err := rowdata.Bind(query.Query{Keys: []query.Key{{Column: "k"}}}, schema, []rowdata.ColumnStats{c.stats})
			if err != nil {
				t.Fatal(err)
			}
			column := grouptest.Array(c.dt, cells)
			e := NewEncoder(b, NewInterners(b))
			if err := e.SetBatch(array.NewRecordBatch(schema, []arrow.Array{column}, int64(len(cells))), 0); err != nil {
				t.Fatal(err)
			}
			for i, from := range []int{0, second} {
				tile, err := e.Encode(from, len(cells))
				if err != nil {
					t.Fatal(err)
				}
				if shared := &tile.Keys[0] == &e.words[0][0]; shared != c.shared[i] {
					t.Errorf("tile %d: shared is %v, want %v", i, shared, c.shared[i])
				}
			}
			if !array.Equal(column, grouptest.Array(c.dt, cells)) {
				t.Error("the batch has changed")
			}
		})
	}
}

// Would catch group numbers that are not the packed keys, that are made where the keys have NULLs
// or several columns, or that stay from the tile before; and values outside their range that get
// through, at either end.
func TestEncodeGroups(t *testing.T) {
	i64 := arrow.PrimitiveTypes.Int64
	for _, c := range []struct {
		name    string
		keys    int
		cells   []any // of the first key
		numbers bool  // by group
		outside bool
	}{
		{"one column", 1, []any{int64(-3), int64(5), int64(0), int64(-3)}, true, false},
		{"NULL", 1, []any{int64(-3), nil, int64(0)}, false, false},
		{"two columns", 2, []any{int64(-3), int64(5)}, false, false},
		{"above", 1, []any{int64(6)}, true, true},
		{"below", 1, []any{int64(5), int64(-4)}, true, true},
		{"far above", 1, []any{int64(math.MaxInt64)}, true, true},
		{"far below", 1, []any{int64(math.MinInt64)}, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var q query.Query
			var fields []arrow.Field
			var columns []arrow.Array
			var stats []rowdata.ColumnStats
			for i := range c.keys {
				name := fmt.Sprint("k", i)
				q.Keys = append(q.Keys, query.Key{Column: name})
				fields = append(fields, arrow.Field{Name: name, Type: i64, Nullable: true})
				columns = append(columns, grouptest.Array(i64, c.cells))
				stats = append(stats, rowdata.ColumnStats{HasRange: true, Min: -3, Max: 5})
			}
			schema := arrow.NewSchema(fields, nil)
			b, err := rowdata.Bind(q, schema, stats)
			if err != nil {
				t.Fatal(err)
			}
			batch := array.NewRecordBatch(schema, columns, int64(len(c.cells)))
			var tiles [2]*rowdata.Tile
			for dense := range tiles {
				e := NewEncoder(b, NewInterners(b))
				e.Dense = dense == 1
				if err := e.SetBatch(batch, 0); err != nil {
					t.Fatal(err)
				}
				if tiles[dense], err = e.Encode(0, len(c.cells)); (err != nil) != c.outside {
					t.Fatalf("error %v, want one: %v", err, c.outside)
				}
			}
			if c.outside {
				return
			}
			if tiles[0].Groups != nil || (tiles[1].Groups != nil) != c.numbers {
				t.Fatalf("groups %v and %v, want the second: %v", tiles[0].Groups, tiles[1].Groups, c.numbers)
			}
			for i, g := range tiles[1].Groups {
				if uint64(g) != tiles[0].Keys[i] {
					t.Errorf("row %d: group %d, key %d", i, g, tiles[0].Keys[i])
				}
			}
		})
	}
}
