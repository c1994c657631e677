package dataset

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/internal/scantest"
)

// below keeps the rows whose value in column 0, a 64-bit integer, is below a limit.
type below int64

func (below) Columns() []int { return []int{0} }

func (limit below) Select(_ context.Context, batch arrow.RecordBatch, selected []byte) (rows int, err error) {
	for i, v := range batch.Column(0).(*array.Int64).Int64Values() {
		keep := 0
		if v < int64(limit) {
			keep = 1
		}
		selected[i/8] |= byte(keep << (i % 8))
		rows += keep
	}
	return rows, nil
}

// The axis is how many of 1,000 rows a filter keeps: here and there, or in stretches. "late" reads
// columns that the filter does not need where it has kept rows; "after" decodes all and takes the
// rows.
func BenchmarkFilter(b *testing.B) {
	const rows = 1 << 20
	rng := rand.New(rand.NewPCG(1, 1))
	for _, order := range []string{"scattered", "in stretches"} {
		batch := scantest.SortedTable(rows)
		columns := batch.Columns()
		value := array.NewInt64Builder(memory.DefaultAllocator)
		for i := range rows {
			if order == "scattered" {
				value.Append(rng.Int64N(1000))
			} else {
				value.Append(int64(i / (rows/1000 + 1)))
			}
		}
		columns[0] = value.NewArray()
		batch = array.NewRecordBatch(batch.Schema(), columns, rows)
		data := scantest.EncodeParquet(b, rows, []arrow.RecordBatch{batch}, parquet.WithCompression(compress.Codecs.Snappy), parquet.WithDictionaryDefault(false),
			parquet.WithDataPageSize(128<<10))
		src := mustOpen(b, Options{}, scantest.WriteFile(b, b.TempDir(), "f.parquet", data))
		for _, keep := range []int64{0, 1, 10, 100, 500, 1000} {
			for _, how := range []string{"late", "after"} {
				from := src
				if how == "after" {
					from = struct{ scan.Source }{src}
				}
				filtered, err := scan.Filter(context.Background(), from, scan.Predicate{Rows: below(keep)})
				if err != nil {
					b.Fatal(err)
				}
				b.Run(fmt.Sprintf("%s/%d/%s", order, keep, how), func(b *testing.B) {
					scantest.BenchScan(b, filtered, []int{1, 2, 3, 4, 5, 6}, rows*6*8)
				})
			}
		}
	}
}
