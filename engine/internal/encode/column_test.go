package encode

import (
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/grouptest"
	"github.com/mpga/mpga/internal/rowdata"
	"github.com/mpga/mpga/internal/vector"
)

func columnOf(t *testing.T, dt arrow.DataType, nullable bool) *rowdata.Column {
	t.Helper()
	kind, err := rowdata.KindOf(dt)
	if err != nil {
		t.Fatal(err)
	}
	return &rowdata.Column{Name: "c", Type: rowdata.ValueType(dt), Kind: kind, Nullable: nullable}
}

// randomCells are values of a type, its extremes among them, and NULLs.
func randomCells(rng *rand.Rand, dt arrow.DataType, n int) []any {
	edges := grouptest.Edges(rowdata.ValueType(dt))
	cells := make([]any, n)
	for i := range cells {
		if rng.IntN(4) > 0 {
			cells[i] = edges[rng.IntN(len(edges))]
		}
	}
	return cells
}

// Would catch bits that move where neither end of a tile is at a byte's, and a NULL that is taken
// for none.
func TestExpandBits(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	bitmap := make([]byte, 20)
	for i := range bitmap {
		bitmap[i] = byte(rng.Uint32()) | byte(-(i % 2)) // every other byte full
	}
	for from := range 30 {
		for n := range 100 {
			out, all := make([]uint8, n), true
			got := expandBits(out, bitmap, from)
			for i, bit := range out {
				want := bitutil.BitIsSet(bitmap, from+i)
				all = all && want
				if (bit == 1) != want || bit > 1 {
					t.Fatalf("bit %d of %d from %d is %d, want %v", i, n, from, bit, want)
				}
			}
			if got != all {
				t.Fatalf("%d bits from %d: all set is %v, want %v", n, from, got, all)
			}
		}
	}
}

// Would catch a type that is read with the width, sign or offset of another, values of slices that
// are read from the array's start, NULLs that move, and results built in another form than the
// column's: every type goes from an array to words and back.
func TestColumnRoundTrip(t *testing.T) {
	for _, dt := range append(grouptest.Types(), grouptest.DictionaryTypes()...) {
		t.Run(dt.String(), func(t *testing.T) {
			mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
			defer mem.AssertSize(t, 0)
			rng := rand.New(rand.NewPCG(1, uint64(dt.ID())))
			r := &columnReader{col: columnOf(t, dt, true)}
			for _, n := range []int{0, 1, 7, 8, 9, 300} {
				whole := grouptest.Array(dt, randomCells(rng, dt, n))
				from := rng.IntN(n + 1)
				to := from + rng.IntN(n-from+1)
				part := array.NewSlice(whole, int64(from), int64(to))
				if err := r.reset(part); err != nil {
					t.Fatal(err)
				}
				cells := make([]any, part.Len())
				for i := range cells {
					cells[i] = grouptest.Value(part, i)
				}
				for at := 0; at < part.Len(); {
					rows := 1 + rng.IntN(part.Len()-at)
					checkTile(t, mem, r, at, rows, cells[at:at+rows])
					at += rows
				}
				part.Release()
				whole.Release()
			}
		})
	}
}

func checkTile(t *testing.T, mem memory.Allocator, r *columnReader, at, rows int, want []any) {
	t.Helper()
	words, err := r.natural(at, rows)
	if err != nil {
		t.Fatal(err)
	}
	valid, err := r.valid(at, rows)
	if err != nil {
		t.Fatal(err)
	}
	v := &vector.Vector{Kind: r.col.Kind, Words: words, Valid: valid}
	got, err := v.Array(mem, r.col.Type)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Release()
	if got.Len() != rows || !arrow.TypeEqual(got.DataType(), r.col.Type) {
		t.Fatalf("%d rows of %s, want %d of %s", got.Len(), got.DataType(), rows, r.col.Type)
	}
	for i, cell := range want {
		if got := grouptest.Value(got, i); fmt.Sprint(got) != fmt.Sprint(cell) {
			t.Fatalf("row %d of %d at %d: %v, want %v", i, rows, at, got, cell)
		}
	}
}

// Would catch words that are copied though the batch has them already: most columns are of eight
// bytes, and copying them costs as much as adding them up.
func TestColumnShares(t *testing.T) {
	for _, dt := range []arrow.DataType{
		arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Uint64, arrow.PrimitiveTypes.Float64,
		&arrow.TimestampType{Unit: arrow.Nanosecond}, &arrow.Decimal128Type{Precision: 38},
	} {
		arr := grouptest.Array(dt, randomCells(rand.New(rand.NewPCG(1, 1)), dt, 10))
		r := &columnReader{col: columnOf(t, dt, true)}
		if err := r.reset(arr); err != nil {
			t.Fatal(err)
		}
		words, err := r.natural(3, 5)
		width := 8 * r.col.Kind.Words()
		if err != nil || &rowdata.View[uint64](arr.Data().Buffers()[1].Bytes()[3*width:])[0] != &words[0] {
			t.Errorf("%s: the words are a copy, %v", dt, err)
		}
	}
}

// Would catch views that are read from the wrong place, or the long for the short.
func TestColumnViews(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	for _, c := range []struct{ column, views arrow.DataType }{
		{arrow.BinaryTypes.String, arrow.BinaryTypes.StringView}, {arrow.BinaryTypes.LargeBinary, arrow.BinaryTypes.BinaryView},
	} {
		mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
		r := &columnReader{col: columnOf(t, c.column, true)}
		cells := randomCells(rng, c.views, 200)
		arr := array.NewSlice(grouptest.Array(c.views, cells), 3, 190)
		if err := r.reset(arr); err != nil {
			t.Fatal(err)
		}
		for at := 0; at < arr.Len(); {
			rows := 1 + rng.IntN(arr.Len()-at)
			checkTile(t, mem, r, at, rows, cells[3+at:3+at+rows])
			at += rows
		}
		mem.AssertSize(t, 0)
	}
}

// Would catch batches that break what the schema or the statistics promise and are read all the
// same.
func TestColumnReset(t *testing.T) {
	text, i64 := arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int64
	dict := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: text}
	for _, c := range []struct {
		name string
		col  *rowdata.Column
		arr  arrow.Array
		want string // in the error; "" for none
	}{
		{"another type", columnOf(t, i64, true), grouptest.Array(arrow.PrimitiveTypes.Int32, []any{int64(1)}), "type int32, the schema says int64"},
		{"another unit", columnOf(t, &arrow.TimestampType{Unit: arrow.Second}, true),
			grouptest.Array(&arrow.TimestampType{Unit: arrow.Millisecond}, []any{int64(1)}), "timestamp[ms]"},
		{"a dictionary of another type", columnOf(t, i64, true), grouptest.Array(dict, []any{"a"}), "utf8"},
		{"a dictionary of the type", columnOf(t, text, true), grouptest.Array(dict, []any{"a"}), ""},
		{"plain values where the schema has a dictionary", columnOf(t, dict, true), grouptest.Array(text, []any{"a"}), ""},
		{"NULLs against the promise", columnOf(t, i64, false), grouptest.Array(i64, []any{int64(1), nil}), "has NULLs"},
		{"no NULLs as promised", columnOf(t, i64, false), grouptest.Array(i64, []any{int64(1), int64(2)}), ""},
		{"NULLs in the dictionary against the promise", columnOf(t, text, false),
			grouptest.DictionaryArray(dict, []any{int64(0), int64(1)}, []any{"a", nil}), "has NULLs"},
	} {
		err := (&columnReader{col: c.col}).reset(c.arr)
		if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
}

// Would catch a dictionary that is read past its end, and one that is refused for the index of a
// NULL, which may be anything.
func TestColumnDictionaryIndexes(t *testing.T) {
	for _, index := range []arrow.DataType{
		arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Uint8, arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Uint16,
		arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Uint64,
	} {
		for _, value := range []arrow.DataType{arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int32} {
			dt := &arrow.DictionaryType{IndexType: index, ValueType: value}
			values := randomCells(rand.New(rand.NewPCG(2, 2)), value, 2)
			bad := []int64{2, 100}
			if !arrow.IsUnsignedInteger(index.ID()) {
				bad = append(bad, -1)
			}
			for _, b := range bad {
				r := &columnReader{col: columnOf(t, dt, true)}
				arr := grouptest.DictionaryArray(dt, []any{int64(0), int64(1), b}, values)
				if err := r.reset(arr); err != nil {
					t.Fatal(err)
				}
				r.valid(0, 3)
				if _, err := r.natural(0, 3); !errors.Is(err, scan.ErrCorrupt) {
					t.Errorf("%s: index %d gives %v", dt, b, err)
				}
				if _, err := r.natural(0, 2); err != nil {
					t.Errorf("%s: the rows before it give %v", dt, err)
				}
			}
		}
	}
	dt := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}
	indexes := array.NewData(arrow.PrimitiveTypes.Int32, 2, []*memory.Buffer{
		memory.NewBufferBytes([]byte{0b01}), memory.NewBufferBytes([]byte{1, 0, 0, 0, 99, 99, 99, 99}),
	}, nil, 1, 0)
	arr := array.NewDictionaryArray(dt, array.MakeFromData(indexes), grouptest.Array(dt.ValueType, []any{"a", "b"}))
	r := &columnReader{col: columnOf(t, dt, true)}
	if err := r.reset(arr); err != nil {
		t.Fatal(err)
	}
	if words, err := r.natural(0, 2); err != nil || string(rowdata.AsBytes2(words[:2]).Bytes()) != "b" {
		t.Errorf("a NULL with an index beyond the dictionary: %v", err)
	}
}

// Would catch a reader that goes on with the dictionary of the batch before.
func TestColumnDictionaryChanges(t *testing.T) {
	dt := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}
	r := &columnReader{col: columnOf(t, dt, true)}
	mem := memory.NewGoAllocator()
	for _, cells := range [][]any{{"a", "b"}, {"b", "a", nil}, {"b", "a"}, {nil}} {
		arr := grouptest.Array(dt, cells)
		for range 2 {
			if err := r.reset(arr); err != nil {
				t.Fatal(err)
			}
			checkTile(t, mem, r, 0, len(cells), cells)
		}
	}
	if err := r.reset(grouptest.Array(dt.ValueType, []any{"plain"})); err != nil {
		t.Fatal(err)
	}
	checkTile(t, mem, r, 0, 1, []any{"plain"})
}

// Would catch decimals of 18 digits whose upper word is dropped though it counts.
func TestColumnNarrowDecimals(t *testing.T) {
	dt := &arrow.Decimal128Type{Precision: 18}
	wide := new(big.Int).Lsh(big.NewInt(1), 64)
	for _, c := range []struct {
		cells []any
		ok    bool
	}{
		{[]any{big.NewInt(-1), big.NewInt(1 << 62)}, true},
		{[]any{big.NewInt(5), wide}, false},
		{[]any{new(big.Int).Neg(wide), big.NewInt(5)}, false},
	} {
		r := &columnReader{col: columnOf(t, dt, true)}
		if err := r.reset(grouptest.Array(dt, c.cells)); err != nil {
			t.Fatal(err)
		}
		if _, err := r.natural(0, 2); (err == nil) != c.ok || err != nil && !errors.Is(err, scan.ErrCorrupt) {
			t.Errorf("%v: error %v", c.cells, err)
		}
	}
}
