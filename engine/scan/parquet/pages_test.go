package parquet

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/klauspost/compress/snappy"

	"github.com/mpga/mpga/engine/scan/internal/decode"
	"github.com/mpga/mpga/engine/scan/internal/reserve"
)

// headerField is a field of Thrift's compact protocol.
type headerField struct {
	id    int
	value any // int, bool, string, float64, []headerField
}

func appendHeader(data []byte, fields []headerField) []byte {
	last := 0
	for _, f := range fields {
		var body []byte
		kind := 0
		switch v := f.value.(type) {
		case int:
			kind, body = 5, binary.AppendVarint(nil, int64(v))
		case bool:
			kind = map[bool]int{true: compactTrue, false: compactFalse}[v]
		case string:
			kind, body = compactBinary, append(binary.AppendUvarint(nil, uint64(len(v))), v...)
		case float64:
			kind, body = compactDouble, make([]byte, 8)
		case []headerField:
			kind, body = compactStruct, appendHeader(nil, v)
		}
		if delta := f.id - last; delta > 0 && delta < 16 {
			data = append(data, byte(delta<<4|kind))
		} else {
			data = binary.AppendVarint(append(data, byte(kind)), int64(f.id))
		}
		data, last = append(data, body...), f.id
	}
	return append(data, compactStop)
}

func headerV1(size, fileBytes, values int, more ...headerField) []headerField {
	inner := []headerField{{1, values}, {2, int(parquet.Encodings.Plain)}, {3, int(parquet.Encodings.RLE)}, {4, int(parquet.Encodings.RLE)}}
	return append([]headerField{{1, int(pageV1)}, {2, size}, {3, fileBytes}}, append(more, headerField{5, inner})...)
}

func headerV2(size, fileBytes, values, definition, repetition int, more ...headerField) []headerField {
	inner := append([]headerField{{1, values}, {2, 0}, {3, values}, {4, int(parquet.Encodings.RLEDict)}, {5, definition}, {6, repetition}}, more...)
	return []headerField{{1, int(pageV2)}, {2, size}, {3, fileBytes}, {8, inner}}
}

func TestPageHeader(t *testing.T) {
	statistics := headerField{99, []headerField{{1, "largest"}, {2, "smallest"}, {3, 0}, {7, true}, {40, 1.5}}}
	cases := []struct {
		name   string
		fields []headerField
		want   pageHeader
		err    string
	}{
		{"version 1", headerV1(10, 5, 3), pageHeader{kind: pageV1, bytes: 10, fileBytes: 5, values: 3, levels: parquet.Encodings.RLE}, ""},
		{"crc", headerV1(10, 5, 3, headerField{4, -1}), pageHeader{kind: pageV1, bytes: 10, fileBytes: 5, values: 3, levels: parquet.Encodings.RLE, crc: 1<<32 - 1, checked: true}, ""},
		{"unknown fields", append(headerV1(10, 5, 3), statistics), pageHeader{kind: pageV1, bytes: 10, fileBytes: 5, values: 3, levels: parquet.Encodings.RLE}, ""},
		{"version 2", headerV2(10, 5, 3, 2, 1), pageHeader{kind: pageV2, bytes: 10, fileBytes: 5, values: 3, encoding: parquet.Encodings.RLEDict, definition: 2, repetition: 1}, ""},
		{"stored", headerV2(10, 5, 3, 2, 0, headerField{7, false}), pageHeader{kind: pageV2, bytes: 10, fileBytes: 5, values: 3, encoding: parquet.Encodings.RLEDict, definition: 2, stored: true}, ""},
		{"compressed", headerV2(10, 5, 3, 2, 0, headerField{7, true}), pageHeader{kind: pageV2, bytes: 10, fileBytes: 5, values: 3, encoding: parquet.Encodings.RLEDict, definition: 2}, ""},
		{"dictionary", []headerField{{1, 2}, {2, 8}, {3, 8}, {7, []headerField{{1, 2}, {2, 0}, {3, true}}}}, pageHeader{kind: pageDictionary, bytes: 8, fileBytes: 8, values: 2}, ""},
		{"index", []headerField{{1, 1}, {2, 8}, {3, 8}}, pageHeader{kind: pageIndex, bytes: 8, fileBytes: 8}, ""},

		{"nothing", nil, pageHeader{}, "kind -9223372036854775808"},
		{"kind", []headerField{{1, 7}, {2, 8}, {3, 8}}, pageHeader{}, "kind 7"},
		{"no structure", []headerField{{1, 0}, {2, 8}, {3, 8}}, pageHeader{}, "kind 0 with structure 0"},
		{"other structure", append([]headerField{{1, 2}}, headerV1(10, 5, 3)[1:]...), pageHeader{}, "kind 2 with structure 5"},
		{"negative size", headerV1(-1, 5, 3), pageHeader{}, "-1 B"},
		{"negative values", headerV1(10, 5, -3), pageHeader{}, "-3 values"},
		{"long levels", headerV2(10, 5, 3, 3, 3), pageHeader{}, "levels of 3 B and 3 B in a page of 10 B, 5 B in the file"},
		{"negative levels", headerV2(10, 5, 3, -3, 3), pageHeader{}, "levels of 3 B and -3 B"},
	}
	for _, c := range cases {
		data := appendHeader(nil, c.fields)
		got, size, err := parsePageHeader(append(slices.Clone(data), 1, 2, 3))
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: got %v, want an error with %q", c.name, err, c.err)
			}
			continue
		}
		if err != nil || size != len(data) || got != c.want {
			t.Errorf("%s: got %+v, %d B, %v; want %+v, %d B", c.name, got, size, err, c.want, len(data))
		}
		for cut := range data {
			if _, _, err := parsePageHeader(data[:cut]); !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%s, cut to %d of %d B: %v", c.name, cut, len(data), err)
			}
		}
	}
	for name, data := range map[string][]byte{
		"unknown type": {0x1d, 0, 0},
		"long number":  append(append([]byte{0x15}, bytes.Repeat([]byte{0xff}, 10)...), 1),
		"deep":         bytes.Repeat([]byte{0x9c}, 100),
	} {
		if _, _, err := parsePageHeader(data); err == nil || errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// chunkOf writes pages of random bytes, each with a header.
func chunkOf(rng *rand.Rand, codec compress.Compression, pages int) (chunk []byte, want [][]byte) {
	for range pages {
		data := make([]byte, rng.IntN(1+rng.IntN(40_000)))
		for i := range data {
			data[i] = byte(rng.IntN(3))
		}
		packed := data
		if codec == compress.Codecs.Snappy {
			packed = snappy.Encode(nil, data)
		}
		crc := int(int32(crc32.ChecksumIEEE(packed)))
		name := strings.Repeat("x", rng.IntN(1+rng.IntN(60_000))) // as statistics may have
		chunk = append(appendHeader(chunk, headerV1(len(data), len(packed), 1, headerField{4, crc}, headerField{20, name})), packed...)
		want = append(want, data)
	}
	return chunk, want
}

// Pages and headers must be found wherever the window cuts them.
func TestChunkPages(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 0))
	for range 100 {
		for _, codec := range []compress.Compression{compress.Codecs.Uncompressed, compress.Codecs.Snappy} {
			chunk, want := chunkOf(rng, codec, rng.IntN(6))
			before := rng.IntN(100)
			file := slices.Concat(make([]byte, before), chunk, make([]byte, rng.IntN(100)))
			mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
			pages := newChunkPages(bytes.NewReader(file), int64(before), int64(before+len(chunk)), codec, 0, 1+rng.IntN(20_000), reserve.New(mem, nil))
			for i, w := range want {
				if p, err := pages.next(); err != nil || !bytes.Equal(p.data, w) {
					t.Fatalf("%s, page %d of %d: %d B, %v; want %d B", codec, i, len(want), len(p.data), err, len(w))
				}
			}
			if _, err := pages.next(); !errors.Is(err, io.EOF) {
				t.Fatalf("behind the last page: %v", err)
			}
			pages.close()
			mem.AssertSize(t, 0)
		}
	}
}

// S3: what a header claims and the chunk does not hold.
func TestChunkPagesCorrupt(t *testing.T) {
	data := bytes.Repeat([]byte("data"), 20)
	packed := snappy.Encode(nil, data)
	none, zipped := compress.Codecs.Uncompressed, compress.Codecs.Snappy
	cases := []struct {
		name   string
		codec  compress.Compression
		fields []headerField
		body   []byte
		want   string
	}{
		{"longer than the chunk", none, headerV1(100, 100, 1), data, "a page of 100 B where the column chunk has 80 B left"},
		{"two sizes", none, headerV1(81, 80, 1), data, "a page of 80 B that is said to have 81 B"},
		{"checksum", none, headerV1(80, 80, 1, headerField{4, 5}), data, "checksum"},
		{"decompressed size of snappy", zipped, headerV1(33*len(packed), len(packed), 1), packed, fmt.Sprintf("%d B are the most", 32*len(packed))},
		{"decompressed size of gzip", compress.Codecs.Gzip, headerV1(1<<30, 80, 1), data, "82560 B are the most"},
		{"decompressed size of brotli", compress.Codecs.Brotli, headerV1(1<<30, 80, 1), data, "20971520 B are the most"},
		{"decompressed size", zipped, headerV1(81, len(packed), 1), packed, "80 B that is said to have 81 B"},
		{"snappy", zipped, headerV1(80, len(packed), 1), append([]byte{80, 0xff}, packed[2:]...), "a SNAPPY page"},
		{"zstd", compress.Codecs.Zstd, headerV1(80, 80, 1), data, "a ZSTD page of 80 B"},
		{"gzip", compress.Codecs.Gzip, headerV1(80, 80, 1), data, "a GZIP page of 80 B"},
		{"brotli", compress.Codecs.Brotli, headerV1(80, 80, 1), data, "a BROTLI page of 80 B"},
		{"lz4", compress.Codecs.Lz4Raw, headerV1(80, 80, 1), data, "a LZ4_RAW page of 80 B"},
		{"header", none, nil, nil, "a page header"},
	}
	for _, c := range cases {
		chunk := append(appendHeader(nil, c.fields), c.body...)
		mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
		pages := newChunkPages(bytes.NewReader(chunk), 0, int64(len(chunk)), c.codec, 20<<20, 100, reserve.New(mem, nil))
		if _, err := pages.next(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want an error with %q", c.name, err, c.want)
		}
		pages.close()
		mem.AssertSize(t, 0)
	}
	pages := newChunkPages(bytes.NewReader(nil), 0, 100, none, 0, 10, reserve.New(memory.DefaultAllocator, nil))
	defer pages.close()
	if _, err := pages.next(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a chunk behind the end of the file: %v", err)
	}
}

// brokenDisk is a file that cannot be read.
type brokenDisk struct{}

var errDisk = errors.New("input/output error")

func (brokenDisk) ReadAt([]byte, int64) (int, error) { return 0, errDisk }

// Would catch a user sent to look for damage in a file that was not read.
func TestReadErrorIsNotCorrupt(t *testing.T) {
	mem := memory.DefaultAllocator
	c := &flatColumn{
		pages:  newChunkPages(brokenDisk{}, 0, 100, compress.Codecs.Snappy, 0, 10, reserve.New(mem, nil)),
		values: newViews(arrow.BinaryTypes.String, mem), mem: mem,
	}
	if _, err := c.read(context.Background(), 1, nil); !errors.Is(err, errDisk) || errors.Is(err, decode.ErrCorrupt) {
		t.Errorf("got %v", err)
	}
	if err := c.close(); err != nil {
		t.Error(err)
	}
}

// S3: any chunk gives pages or an error.
func FuzzChunkPages(f *testing.F) {
	chunk, _ := chunkOf(rand.New(rand.NewPCG(7, 0)), compress.Codecs.Snappy, 2)
	f.Add(chunk[:min(len(chunk), 300)], uint8(compress.Codecs.Snappy), uint16(20))
	f.Add(appendHeader(nil, headerV2(10, 5, 3, 2, 1)), uint8(compress.Codecs.Zstd), uint16(1))
	f.Fuzz(func(t *testing.T, chunk []byte, codec uint8, ahead uint16) {
		mem := memory.NewCheckedAllocator(memory.DefaultAllocator)
		defer mem.AssertSize(t, 0)
		pages := newChunkPages(bytes.NewReader(chunk), 0, int64(len(chunk)), compress.Compression(codec%8), 0, 1+int(ahead), reserve.New(mem, nil))
		defer pages.close()
		if p, err := pages.next(); err == nil && len(p.data) > pageBytesMin {
			t.Fatalf("a page of %d B", len(p.data))
		}
	})
}
