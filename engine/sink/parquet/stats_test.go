package parquet

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"

	"github.com/mpga/mpga/engine/sink/sinktest"
)

// Catches minima and maxima that are not those of the values, as a library's buffer that is used
// again would make them: readers leave out row groups by them.
func TestParquetStatistics(t *testing.T) {
	schema := sinktest.SchemaOf([]arrow.DataType{
		&arrow.Decimal128Type{Precision: 38, Scale: 6}, &arrow.Decimal64Type{Precision: 18}, arrow.BinaryTypes.String,
		&arrow.FixedSizeBinaryType{ByteWidth: 3},
	})
	r := rand.New(rand.NewPCG(8, 9))
	var batches []arrow.RecordBatch
	for range 6 {
		batches = append(batches, sinktest.RandomBatch(t, schema, 700, r))
	}
	f, err := file.OpenParquetFile(writeAll(t, Options{RowGroupRows: 1500}, schema, batches...), false)
	sinktest.Check(t, err)
	defer f.Close()
	for g := range f.NumRowGroups() {
		for c := range schema.NumFields() {
			chunk, err := f.RowGroup(g).MetaData().ColumnChunk(c)
			sinktest.Check(t, err)
			stats, err := chunk.Statistics()
			sinktest.Check(t, err)
			if stats == nil || !stats.HasMinMax() {
				t.Fatalf("row group %d, column %d has no statistics", g, c)
			}
			low, high := chunkRange(t, f.RowGroup(g), c)
			if !bytes.Equal(stats.EncodeMin(), low) || !bytes.Equal(stats.EncodeMax(), high) {
				t.Errorf("row group %d, column %d: [%x, %x], want [%x, %x]", g, c, stats.EncodeMin(), stats.EncodeMax(), low, high)
			}
		}
	}
}

// chunkRange returns the least and the greatest value of a column chunk.
func chunkRange(t *testing.T, group *file.RowGroupReader, column int) (low, high []byte) {
	t.Helper()
	reader, err := group.Column(column)
	sinktest.Check(t, err)
	compare := bytes.Compare
	var values [][]byte
	read := func(n int, err error) int { sinktest.Check(t, err); return n }
	levels := make([]int16, group.NumRows())
	switch r := reader.(type) {
	case *file.ByteArrayColumnChunkReader:
		out := make([]parquet.ByteArray, group.NumRows())
		_, n, err := r.ReadBatch(group.NumRows(), out, levels, nil)
		for _, v := range out[:read(n, err)] {
			values = append(values, bytes.Clone(v))
		}
	case *file.Int64ColumnChunkReader:
		out := make([]int64, group.NumRows())
		_, n, err := r.ReadBatch(group.NumRows(), out, levels, nil)
		word := func(v int64) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(v)) }
		numbers := out[:read(n, err)]
		return word(slices.Min(numbers)), word(slices.Max(numbers))
	case *file.FixedLenByteArrayColumnChunkReader:
		out := make([]parquet.FixedLenByteArray, group.NumRows())
		_, n, err := r.ReadBatch(group.NumRows(), out, levels, nil)
		for _, v := range out[:read(n, err)] {
			values = append(values, bytes.Clone(v))
		}
		if column == 0 { // decimals, with a sign
			compare = func(a, b []byte) int {
				if a[0]>>7 != b[0]>>7 {
					return int(b[0]>>7) - int(a[0]>>7)
				}
				return bytes.Compare(a, b)
			}
		}
	default:
		t.Fatalf("%T", r)
	}
	low, high = values[0], values[0]
	for _, v := range values {
		if compare(v, low) < 0 {
			low = v
		}
		if compare(v, high) > 0 {
			high = v
		}
	}
	return low, high
}
