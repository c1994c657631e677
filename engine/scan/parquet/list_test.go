package parquet

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"

	"github.com/mpga/mpga/engine/scan/internal/reserve"
	"github.com/mpga/mpga/engine/scan/internal/scantest"
)

// readLists reads pages of an optional list of optional 32-bit integers, n rows at once.
func readLists(mem memory.Allocator, rows, n int, pages ...page) (got []string, err error) {
	var chunk []byte
	for _, p := range pages {
		chunk = appendPage(chunk, p)
	}
	from := newChunkPages(bytes.NewReader(chunk), 0, int64(len(chunk)), compress.Codecs.Uncompressed, 0, 1, reserve.New(mem, nil))
	values := newCopied[int32](arrow.PrimitiveTypes.Int32, mem, int32Form)
	c := &listColumn{pages: from, mem: mem, of: listElement{slot: 2}, most: 3,
		flat: &flatColumn{pages: from, values: values, levelMax: 1, mem: mem, rows: math.MaxInt64}}
	defer func() { err = errors.Join(err, c.close()) }()
	for len(got) < rows {
		a, err := c.read(context.Background(), int64(min(n, rows-len(got))), nil)
		if err != nil {
			return got, err
		}
		for i := range a.Len() {
			got = append(got, scantest.ValueText(a, i))
		}
		a.Release()
	}
	return got, nil
}

// listPage is a page of version 1 with levels, each packed, and values.
func listPage(repetition, definition []uint32, values ...int32) page {
	var data []byte
	for _, levels := range [][]byte{appendPacked(nil, repetition, 1), appendPacked(nil, definition, 2)} {
		data = append(binary.LittleEndian.AppendUint32(data, uint32(len(levels))), levels...)
	}
	for _, v := range values {
		data = binary.LittleEndian.AppendUint32(data, uint32(v))
	}
	return rawV1(len(repetition), data, parquet.Encodings.Plain, parquet.Encodings.RLE)
}

// A row goes on in the page behind it; NULL lists and empty ones have no elements, and are told apart; wherever reads
// end.
func TestListPages(t *testing.T) {
	pages := []page{
		listPage([]uint32{0, 1, 0, 0, 0}, []uint32{3, 2, 0, 1, 3}, 1, 2),
		listPage([]uint32{1, 1}, []uint32{3, 3}, 3, 4),
		listPage([]uint32{1, 0, 0}, []uint32{2, 1, 2}),
		listPage([]uint32{0}, []uint32{3}, 5),
	}
	want := []string{"[1,null]", "NULL", "[]", "[2,3,4,null]", "[]", "[null]", "[5]"}
	for n := 1; n <= len(want); n++ {
		mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
		got, err := readLists(mem, len(want), n, pages...)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%d at once: %q, %v", n, got, err)
		}
		mem.AssertSize(t, 0)
	}
}

// S3: pages that contradict themselves, or a row group, are errors.
func TestListPagesDamaged(t *testing.T) {
	short := listPage([]uint32{0}, []uint32{3}, 5)
	short.data = short.data[:6]
	for want, pages := range map[string][]page{
		"begins within a row":       {listPage([]uint32{1, 0}, []uint32{3, 3}, 1, 2)},
		"without definition levels": {short},
		"fewer rows":                {listPage([]uint32{0, 1}, []uint32{3, 3}, 1, 2)},
		"":                          {listPage([]uint32{0, 0}, []uint32{3, 3}, 1)},
	} {
		mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
		if got, err := readLists(mem, 2, 2, pages...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v", want, got, err)
		}
		mem.AssertSize(t, 0)
	}
}

// S3: any pages are lists or an error.
func FuzzListPages(f *testing.F) {
	one := listPage([]uint32{0, 1, 0, 0, 0}, []uint32{3, 2, 0, 1, 3}, 1, 2)
	f.Add(one.data, 5, one.data, 5, uint8(0), uint8(2))
	f.Add([]byte{2, 3, 9, 9}, 2, []byte(nil), 0, uint8(1), uint8(1))
	f.Fuzz(func(t *testing.T, first []byte, values int, second []byte, more int, version, n uint8) {
		mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
		defer mem.AssertSize(t, 0)
		pages := []page{rawV1(values&0xffff, first, parquet.Encodings.Plain, parquet.Encodings.RLE), rawV1(more&0xffff, second, parquet.Encodings.Plain, parquet.Encodings.RLE)}
		if version%2 == 1 {
			pages[0] = page{kind: pageV2, values: values & 0xffff, levels: first[:len(first)/2], data: first[len(first)/2:]}
		}
		_, _ = readLists(mem, 1000, 1+int(n), pages...)
	})
}
