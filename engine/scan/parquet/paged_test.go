package parquet

import (
	"math"
	"testing"

	"github.com/apache/arrow-go/v18/parquet/compress"

	"github.com/mpga/mpga/engine/scan/internal/reserve"
	"github.com/mpga/mpga/internal/vfs"
)

// Would catch a footer with an absurd size that makes a query ask for absurd memory.
func TestPagedColumnSize(t *testing.T) {
	file, err := Open(vfs.OS, "../../../tests/testdata/flights-2001.parquet", reserve.New(reserve.GoHeap, nil))
	if err != nil {
		t.Fatal(err)
	}
	for _, codec := range []compress.Compression{compress.Codecs.Uncompressed, compress.Codecs.Snappy, compress.Codecs.Zstd, compress.Codecs.Brotli} {
		for _, unpacked := range []int64{math.MinInt64, -1, 0, 1 << 20, 1 << 50, math.MaxInt64} {
			chunk := file.groups[0].chunks[file.leaves[0]]
			chunk.codec, chunk.unpacked = codec, unpacked
			c, err := file.pagedColumn(0, &chunk)
			if err != nil {
				t.Fatal(err)
			}
			if most := max(chunk.bytes, 1<<40); c.Bytes < 0 || c.Bytes > most || c.Unpacked < 0 || c.Unpacked > most {
				t.Errorf("%s, %d B decompressed: %+v", codec, unpacked, c)
			}
			if codec == compress.Codecs.Snappy && c.Unpacked > 32*chunk.bytes {
				t.Errorf("%d B of snappy are believed to have %d B", chunk.bytes, c.Unpacked)
			}
		}
	}
}
