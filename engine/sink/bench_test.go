package sink

import (
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/sink/sinktest"
)

// The time to write a row of one column, by one thread.
func BenchmarkWrite(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, column := range []struct {
		name  string
		typ   arrow.DataType
		value func() string
	}{
		{"100 strings", arrow.BinaryTypes.String, func() string { return fmt.Sprintf("id%03d", r.IntN(100)) }},
		{"many strings", arrow.BinaryTypes.String, func() string { return fmt.Sprintf("id%010d", r.IntN(100_000_000)) }},
		{"long strings", arrow.BinaryTypes.String, func() string { return fmt.Sprintf("https://example.com/%d", r.IntN(1000)) }},
		{"100 integers", arrow.PrimitiveTypes.Int32, func() string { return fmt.Sprint(r.IntN(100)) }},
		{"many integers", arrow.PrimitiveTypes.Int64, func() string { return fmt.Sprint(r.Int64()) }},
		{"doubles", arrow.PrimitiveTypes.Float64, func() string { return fmt.Sprint(r.Float64()) }},
		{"decimals", &arrow.Decimal128Type{Precision: 15, Scale: 2}, func() string { return fmt.Sprint(r.IntN(10_000_000)) }},
	} {
		schema := sinktest.SchemaOf([]arrow.DataType{column.typ})
		builder := array.NewRecordBuilder(memory.DefaultAllocator, schema)
		for range 1 << 15 {
			sinktest.Check(b, builder.Field(0).AppendValueFromString(column.value()))
		}
		batch := builder.NewRecordBatch()
		for _, format := range []Format{Parquet, CSV, JSON} {
			b.Run(column.name+" as "+string(format), func(b *testing.B) {
				w, err := Create(b.Context(), "-", schema, Options{Format: format, Threads: 1, Stdout: io.Discard})
				sinktest.Check(b, err)
				for b.Loop() {
					sinktest.Check(b, w.Write(batch))
				}
				sinktest.Check(b, w.Commit())
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(batch.NumRows()), "ns/row")
			})
		}
	}
}
