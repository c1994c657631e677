package parquet

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/pierrec/lz4/v4"
)

// compactField writes a field of a structure: its number in a byte of its own, for fields apart.
func compactField(before, id, typ int, value ...byte) []byte {
	if delta := id - before; delta > 0 && delta < 16 {
		return append([]byte{byte(delta<<4 | typ)}, value...)
	}
	return append(binary.AppendVarint([]byte{byte(typ)}, int64(id)), value...)
}

// schemaElementOf writes an element: a leaf of INT32, or a group of a number of children; with a logical type of a
// number, if it is not 0.
func schemaElementOf(name string, leaf bool, children, logical int) (out []byte) {
	before := 0
	add := func(id, typ int, value ...byte) {
		out = append(out, compactField(before, id, typ, value...)...)
		before = id
	}
	if leaf {
		add(1, 5, binary.AppendVarint(nil, 1)...)
	}
	add(3, 5, binary.AppendVarint(nil, 1)...) // OPTIONAL
	add(4, compactBinary, append(binary.AppendUvarint(nil, uint64(len(name))), name...)...)
	if !leaf {
		add(5, 5, binary.AppendVarint(nil, int64(children))...)
	}
	if logical > 0 {
		add(10, compactStruct, append(compactField(0, logical, compactStruct, 0), 0)...)
	}
	return append(out, 0)
}

func footerOf(elements ...[]byte) (out []byte) {
	out = append(out, compactField(0, 1, 5, binary.AppendVarint(nil, 1)...)...)
	out = append(out, compactField(1, 2, compactList, listHeader(len(elements))...)...)
	out = append(out, bytes.Join(elements, nil)...)
	out = append(out, compactField(2, 3, compactInt64, 0)...)
	out = append(out, compactField(3, 4, compactList, compactStruct)...)
	return append(out, 0)
}

// Would catch a logical type of a newer format, or a group without fields, that costs all columns of a file, a footer
// that is changed without need, and damage that is not found.
func TestRepairSchema(t *testing.T) {
	root := func(n int) []byte { return schemaElementOf("root", false, n, 0) }
	a, b := schemaElementOf("a", true, 0, 0), schemaElementOf("b", true, 0, 0)
	empty := schemaElementOf("e", false, 0, 0)
	many, more := [][]byte{root(20)}, [][]byte{root(21)}
	for range 20 {
		many, more = append(many, a), append(more, a)
	}
	for name, c := range map[string]struct{ footer, want []byte }{
		"nothing to repair":  {footerOf(root(2), a, b), footerOf(root(2), a, b)},
		"a newer type":       {footerOf(root(2), a, schemaElementOf("b", true, 0, 99)), footerOf(root(2), a, b)},
		"a known type":       {footerOf(root(1), schemaElementOf("b", true, 0, 11)), footerOf(root(1), schemaElementOf("b", true, 0, 11))},
		"an empty group":     {footerOf(root(3), a, empty, b), footerOf(root(2), a, b)},
		"groups of nothing":  {footerOf(root(2), a, schemaElementOf("g", false, 1, 0), schemaElementOf("h", false, 1, 0), empty), footerOf(root(1), a)},
		"a group beside one": {footerOf(root(1), schemaElementOf("g", false, 2, 0), a, empty), footerOf(root(1), schemaElementOf("g", false, 1, 0), a)},
		"a long list":        {footerOf(append(more, empty)...), footerOf(many...)},
		"too few elements":   {footerOf(root(5), a, empty), footerOf(root(5), a, empty)},
		"too many elements":  {footerOf(root(1), a, empty), footerOf(root(1), a, empty)},
		"no footer":          {[]byte{1, 2, 3}, []byte{1, 2, 3}},
	} {
		got, _ := repairSchema(c.footer)
		if !bytes.Equal(got, c.want) {
			t.Errorf("%s: %x, want %x", name, got, c.want)
		}
	}
	repaired, _ := repairSchema(footerOf(root(3), a, empty, schemaElementOf("b", true, 0, 99)))
	meta, err := metadata.NewFileMetaData(repaired, nil)
	if err != nil || meta.Schema.NumColumns() != 2 {
		t.Errorf("%v, %v", meta, err)
	}
}

// Would catch blocks of Hadoop's that are put together wrongly, a block alone that is taken for them, and lengths that
// lead beyond the page.
func TestLZ4(t *testing.T) {
	plain := bytes.Repeat([]byte("four score and seven "), 400)
	block := func(text []byte) []byte {
		out := make([]byte, lz4.CompressBlockBound(len(text)))
		n, err := lz4.CompressBlock(text, out, nil)
		if err != nil {
			t.Fatal(err)
		}
		return out[:n]
	}
	framed := func(parts ...[]byte) (out []byte) {
		for _, p := range parts {
			packed := block(p)
			out = binary.BigEndian.AppendUint32(out, uint32(len(p)))
			out = append(binary.BigEndian.AppendUint32(out, uint32(len(packed))), packed...)
		}
		return out
	}
	for name, packed := range map[string][]byte{
		"one block alone": block(plain), "a block of Hadoop's": framed(plain), "blocks of Hadoop's": framed(plain[:5000], plain[5000:]),
	} {
		out := make([]byte, len(plain))
		if err := decodeLZ4(out, packed); err != nil || !bytes.Equal(out, plain) {
			t.Errorf("%s: %v", name, err)
		}
		for cut := range 12 {
			if err := decodeLZ4(make([]byte, len(plain)), packed[:cut]); err == nil {
				t.Errorf("%s: the first %d bytes are enough", name, cut)
			}
		}
		if err := decodeLZ4(make([]byte, len(plain)-1), packed); err == nil {
			t.Errorf("%s: fewer bytes are enough", name)
		}
	}
}

// Would catch a timestamp of a day that nanoseconds do not reach, one before 1970 that is rounded towards it, and one
// that becomes another since it does not fit.
func TestInt96(t *testing.T) {
	int96 := func(day, nanos int64) []byte {
		return binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint64(nil, uint64(nanos)), uint32(day))
	}
	for _, c := range []struct{ day, nanos, want int64 }{
		{julianEpoch, 0, 0}, {julianEpoch, 1999, 1}, {julianEpoch - 1, 86_399_999_999_999, -1}, {julianEpoch, -1, -1},
		{5_373_484, 0, 253_402_214_400_000_000}, // 9999-12-31
		{1_721_426, 0, -62_135_596_800_000_000}, // 0001-01-01
	} {
		out := make([]int64, 1)
		if int96Micros(out, int96(c.day, c.nanos)); out[0] != c.want {
			t.Errorf("day %d, %d ns: %d, want %d", c.day, c.nanos, out[0], c.want)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("a day beyond TIMESTAMP has no error")
		}
	}()
	int96Micros(make([]int64, 1), int96(-108_302_820, 0))
}
