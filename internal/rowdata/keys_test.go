package rowdata

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
)

// keyColumn is a key column of a random layout, and a way to its values.
type keyColumn struct {
	Column
	value func(rng *rand.Rand) []uint64
}

func randomKeyColumn(rng *rand.Rand) keyColumn {
	types := []arrow.DataType{
		arrow.FixedWidthTypes.Boolean, arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Uint16, arrow.PrimitiveTypes.Int32,
		arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Uint64, arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64,
		arrow.FixedWidthTypes.Date32, &arrow.Decimal128Type{Precision: 18}, &arrow.Decimal128Type{Precision: 38},
		arrow.BinaryTypes.String,
	}
	dt := types[rng.IntN(len(types))]
	kind, err := KindOf(dt)
	if err != nil {
		panic(err)
	}
	c := keyColumn{Column: Column{Type: dt, Kind: kind, Nullable: rng.IntN(2) == 0}}
	if (dt.ID() == arrow.INT64 || dt.ID() == arrow.UINT64) && rng.IntN(4) > 0 {
		c.HasRange = true
		c.Min, c.Max = randomRange(rng)
		if c.Kind == Uint64 {
			c.Min, c.Max = max(c.Min, 0), max(c.Max, 0)
		}
	}
	if kind == Bytes && rng.IntN(3) == 0 {
		c.Interned = true
	}
	c.value = c.generator()
	return c
}

// randomRange returns a range at an edge of int64, or of a span at an edge of a field's width.
func randomRange(rng *rand.Rand) (least, most int64) {
	spans := []uint64{0, 1, 2, 254, 255, 256, math.MaxUint32 - 1, math.MaxUint32, math.MaxUint32 + 1, math.MaxInt64, math.MaxUint64 - 1, math.MaxUint64}
	span := spans[rng.IntN(len(spans))]
	starts := []int64{math.MinInt64, -1, 0, 1, math.MaxInt64 - 1, math.MaxInt64}
	least = starts[rng.IntN(len(starts))]
	if span > uint64(math.MaxInt64)-uint64(least) { // beyond the largest
		least = int64(uint64(math.MaxInt64) - span)
	}
	return least, int64(uint64(least) + span)
}

// generator returns values of a column, often the least and the greatest.
func (c *keyColumn) generator() func(rng *rand.Rand) []uint64 {
	switch {
	case c.Interned:
		return func(rng *rand.Rand) []uint64 { return []uint64{1 + uint64(rng.IntN(2)*(math.MaxUint32-1))} }
	case c.Kind == Bytes:
		return func(rng *rand.Rand) []uint64 {
			v := ToBytes2([]byte("twelve bytes")[:rng.IntN(13)])
			return v[:]
		}
	case c.Kind == Int128:
		return func(rng *rand.Rand) []uint64 { return []uint64{rng.Uint64(), rng.Uint64()} }
	}
	base, span, _ := keyRange(&c.Column)
	return func(rng *rand.Rand) []uint64 {
		codes := []uint64{0, span, span / 2, rng.Uint64() & span}
		code := codes[rng.IntN(len(codes))]
		return []uint64{uint64(base) + min(code, span)}
	}
}

// pack writes a field as the documentation of KeyField says.
func (f *KeyField) pack(key, v []uint64, null bool) {
	switch {
	case f.Interned:
		if !null {
			key[f.Word] |= v[0] << f.Shift
		}
	case null && f.Kind == Bytes:
		*AsBytes2(key[f.Word : f.Word+2]) = NullBytes()
	case null && f.NullBit >= 0:
		key[f.NullWord] |= 1 << f.NullBit
	case null:
		code, _ := f.NullCode()
		key[f.Word] |= code << f.Shift
	case f.Kind.Words() == 2:
		copy(key[f.Word:f.Word+2], v)
	default:
		key[f.Word] |= (v[0] - uint64(f.Base)) << f.Shift
	}
}

// Would catch fields that overlap, cross a word or have a bit too few for their NULL, values at
// the ends of a range that come back as others, and two rows of different values with the same
// packed key.
func TestKeyLayoutRoundTrip(t *testing.T) {
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 5))
		cols := make([]keyColumn, rng.IntN(9))
		list := make([]*Column, len(cols))
		for i := range cols {
			cols[i] = randomKeyColumn(rng)
			list[i] = &cols[i].Column
		}
		l := newKeyLayout(list)
		checkBits(t, &l)
		rows := map[string]string{}
		for range 50 {
			key := make([]uint64, l.Words)
			values, text := make([][]uint64, len(cols)), ""
			for i, c := range cols {
				if null := (c.Nullable || c.Interned) && rng.IntN(3) == 0; !null {
					values[i] = c.value(rng)
				}
				l.Fields[i].pack(key, values[i], values[i] == nil)
				text += fmt.Sprintf("%x ", values[i])
			}
			for i := range cols {
				checkField(t, &l.Fields[i], key, values[i])
			}
			if other, ok := rows[fmt.Sprint(key)]; ok && other != text {
				t.Fatalf("seed %d: %s and %s have one packed key", seed, other, text)
			}
			rows[fmt.Sprint(key)] = text
		}
		if t.Failed() {
			t.Fatalf("seed %d, fields %+v", seed, l.Fields)
		}
	}
}

func checkField(t *testing.T, f *KeyField, key, want []uint64) {
	t.Helper()
	if f.IsNull(key) != (want == nil) {
		t.Errorf("%+v, value %x: IsNull is %v", f, want, f.IsNull(key))
	}
	if want == nil {
		return
	}
	got := key[f.Word : f.Word+f.Kind.Words()]
	if f.Kind.Words() == 1 {
		got = []uint64{f.Value(key)}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%+v: value %x comes back as %x", f, want, got)
	}
}

// checkBits checks that fields and NULL bits share no bit and are counted right.
func checkBits(t *testing.T, l *KeyLayout) {
	t.Helper()
	used := make([]uint64, l.Words)
	take := func(word int, mask uint64) {
		if used[word]&mask != 0 {
			t.Errorf("fields overlap in word %d: %+v", word, l.Fields)
		}
		used[word] |= mask
	}
	for i := range l.Fields {
		f := &l.Fields[i]
		if int(f.Shift)+int(f.Bits) > 64 {
			t.Errorf("a field crosses a word: %+v", f)
		}
		for w := range f.Kind.Words() {
			take(f.Word+w, f.Mask()<<f.Shift)
		}
		if f.NullBit >= 0 {
			take(f.NullWord, 1<<f.NullBit)
		}
		if isLong := slices.Contains(l.Longs, f.Word) && f.Shift == 0; isLong != (f.Kind == Bytes) {
			t.Errorf("strings at %v, field %+v", l.Longs, f)
		}
	}
	n := 0
	for _, u := range used {
		n += bits.OnesCount64(u)
	}
	if n != l.Bits {
		t.Errorf("%d bits in use, Bits is %d", n, l.Bits)
	}
	if !slices.IsSorted(l.Longs) {
		t.Errorf("strings at %v", l.Longs)
	}
}

// Would catch layouts that are wider than they need be, or dense when the code of a NULL does not
// fit: the widths that people will meet.
func TestKeyLayoutWidths(t *testing.T) {
	column := func(dt arrow.DataType, nullable bool, limits ...int64) *Column {
		kind, err := KindOf(dt)
		if err != nil {
			t.Fatal(err)
		}
		c := &Column{Type: dt, Kind: kind, Nullable: nullable}
		if len(limits) == 2 {
			c.HasRange, c.Min, c.Max = true, limits[0], limits[1]
		}
		return c
	}
	i64, i32, u64 := arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Uint64
	boolean, text := arrow.FixedWidthTypes.Boolean, arrow.BinaryTypes.String
	for _, c := range []struct {
		name               string
		cols               []*Column
		words, bits, bytes int
		dense              bool
	}{
		{"none", nil, 0, 0, 0, false},
		{"bool", []*Column{column(boolean, false)}, 1, 1, 4, true},
		{"bool, NULL", []*Column{column(boolean, true)}, 1, 2, 4, true},
		{"one value", []*Column{column(i64, false, 5, 5)}, 1, 1, 4, true},
		{"one value, NULL", []*Column{column(i64, true, 5, 5)}, 1, 1, 4, true},
		{"2^16 values", []*Column{column(i64, false, 0, 1<<16-1)}, 1, 16, 4, true},
		{"2^16 values, NULL", []*Column{column(i64, true, 0, 1<<16-1)}, 1, 17, 4, false},
		{"2^32 values", []*Column{column(i64, false, -1<<31, 1<<31-1)}, 1, 32, 4, false},
		{"2^32 values, NULL", []*Column{column(i64, true, -1<<31, 1<<31-1)}, 1, 33, 8, false},
		{"int32", []*Column{column(i32, false)}, 1, 32, 4, false},
		{"all of int64", []*Column{column(i64, false)}, 1, 64, 8, false},
		{"all of int64, NULL", []*Column{column(i64, true)}, 2, 65, 16, false},
		{"all of int64 but one, NULL", []*Column{column(i64, true, math.MinInt64+1, math.MaxInt64)}, 1, 64, 8, false},
		{"uint64, int32, bool, NULLs", []*Column{column(u64, true), column(i32, true), column(boolean, true)}, 2, 100, 16, false},
		{"two int32", []*Column{column(i32, false), column(i32, false)}, 1, 64, 8, false},
		{"string", []*Column{column(text, true)}, 2, 128, 16, false},
		{"string, two int32", []*Column{column(i32, false), column(text, true), column(i32, false)}, 3, 192, 24, false},
	} {
		l := newKeyLayout(c.cols)
		if l.Words != c.words || l.Bits != c.bits || l.Bytes() != c.bytes && c.words > 0 || l.Dense() != c.dense {
			t.Errorf("%s: %d words, %d bits, %d B, dense %v; want %d, %d, %d, %v",
				c.name, l.Words, l.Bits, l.Bytes(), l.Dense(), c.words, c.bits, c.bytes, c.dense)
		}
	}
}

// Would catch keys that are equal by address only, that differ behind a string, and a Keep that
// leaves the key with the batch's memory.
func TestKeyLayoutEqual(t *testing.T) {
	l := &KeyLayout{Words: 6, Longs: []int{1, 3}}
	key := func(first uint64, a, b string, last uint64) []uint64 {
		va, vb := ToBytes2([]byte(a)), ToBytes2([]byte(b))
		return []uint64{first, va[0], va[1], vb[0], vb[1], last}
	}
	const long = "a string that is longer than 12 bytes"
	base := key(1, long, long, 2)
	for _, c := range []struct {
		key  []uint64
		want bool
	}{
		{key(1, long, long, 2), true},
		{key(0, long, long, 2), false},
		{key(1, long+"!", long, 2), false},
		{key(1, long, long[:36]+"!", 2), false},
		{key(1, long, "short", 2), false},
		{key(1, long, long, 3), false},
	} {
		if got := l.Equal(base, c.key); got != c.want {
			t.Errorf("%x and %x: Equal is %v", base, c.key, got)
		}
	}
	batch := []byte(long)
	v := ToBytes2(batch)
	kept := []uint64{1, v[0], v[1], v[0], v[1], 2}
	var h Heap
	l.Keep(kept, &h)
	clear(batch)
	if !l.Equal(base, kept) {
		t.Error("a key that was kept changes with its batch")
	}
}
