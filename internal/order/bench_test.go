package order

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/internal/store"
	"github.com/mpga/mpga/internal/vfs"
)

// The time to order a million rows of a key, a string and two numbers, in batches as results come.
func BenchmarkOrder(b *testing.B) {
	const rows, batchRows = 1 << 20, 1 << 15
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "k", Type: arrow.PrimitiveTypes.Int64, Nullable: true}, {Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true}, {Name: "x", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
	}, nil)
	rng := rand.New(rand.NewPCG(1, 2))
	var batches []arrow.RecordBatch
	for range rows / batchRows {
		build := array.NewRecordBuilder(memory.DefaultAllocator, schema)
		for range batchRows {
			k := rng.Int64N(1 << 40)
			build.Field(0).(*array.Int64Builder).Append(k)
			build.Field(1).(*array.StringBuilder).Append(fmt.Sprintf("id%010d", rng.IntN(rows)))
			build.Field(2).(*array.Int64Builder).Append(k % 1000)
			build.Field(3).(*array.Float64Builder).Append(rng.Float64())
		}
		batches = append(batches, build.NewRecordBatch())
	}
	number, text := []Key{{Column: 0}}, []Key{{Column: 1}}
	for _, c := range []struct {
		name  string
		by    By
		bytes int64
	}{
		{"number", By{Keys: number}, 1 << 30},
		{"string", By{Keys: text}, 1 << 30},
		{"few values then number", By{Keys: []Key{{Column: 2}, {Column: 0}}}, 1 << 30},
		{"number on disk", By{Keys: number}, 16 << 20},
		{"limit 10", By{Keys: number, Limited: true, Limit: 10}, 1 << 30},
		{"limit 100,000", By{Keys: number, Limited: true, Limit: 100_000}, 1 << 30},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				in, err := array.NewRecordReader(schema, batches)
				if err != nil {
					b.Fatal(err)
				}
				r, err := New(b.Context(), in, c.by, Options{Bytes: c.bytes, Temp: store.NewTemp(vfs.OS, b.TempDir(), math.MaxInt64)}, nil)
				if err != nil {
					b.Fatal(err)
				}
				in.Release()
				for r.Next() {
				}
				if r.Err() != nil {
					b.Fatal(r.Err())
				}
				r.Release()
			}
			b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
		})
	}
}
