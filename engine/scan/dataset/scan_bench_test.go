package dataset

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"

	"github.com/mpga/mpga/engine/scan/internal/scantest"
)

// The axis is the column's type: plain pages, snappy.
func BenchmarkParquet(b *testing.B) {
	const rows = 1 << 20
	types := []arrow.DataType{arrow.FixedWidthTypes.Boolean, arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int32, arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Uint64,
		arrow.PrimitiveTypes.Float64, arrow.FixedWidthTypes.Date32, &arrow.TimestampType{Unit: arrow.Microsecond},
		&arrow.Decimal128Type{Precision: 7, Scale: 2}, &arrow.Decimal128Type{Precision: 15, Scale: 2}, &arrow.Decimal128Type{Precision: 38, Scale: 2}, arrow.BinaryTypes.String}
	var fields []arrow.Field
	var columns []arrow.Array
	for i, typ := range types {
		builder := array.NewBuilder(memory.DefaultAllocator, typ)
		for r := range rows {
			_ = builder.AppendValueFromString(benchValue(typ, r))
		}
		fields = append(fields, arrow.Field{Name: fmt.Sprint("c", i), Type: typ})
		columns = append(columns, builder.NewArray())
	}
	batch := array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, rows)
	for _, dictionary := range []bool{false, true} {
		data := scantest.EncodeParquet(b, rows/4, []arrow.RecordBatch{batch}, parquet.WithCompression(compress.Codecs.Snappy), parquet.WithDictionaryDefault(dictionary))
		src := mustOpen(b, Options{}, scantest.WriteFile(b, b.TempDir(), "f.parquet", data))
		for i, typ := range types {
			b.Run(fmt.Sprintf("dictionary=%v/%s", dictionary, typ), func(b *testing.B) { scantest.BenchScan(b, src, []int{i}, 0) })
		}
		b.Run(fmt.Sprintf("dictionary=%v/int64+int64", dictionary), func(b *testing.B) { scantest.BenchScan(b, src, []int{3, 4}, 0) })
	}
}

// The axes are the codec and how many rows are NULL: integers in plain pages.
func BenchmarkParquetCodecs(b *testing.B) {
	const rows = 1 << 20
	schema := arrow.NewSchema([]arrow.Field{{Name: "i", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)
	for _, codec := range []compress.Compression{compress.Codecs.Uncompressed, compress.Codecs.Snappy, compress.Codecs.Zstd,
		compress.Codecs.Gzip, compress.Codecs.Brotli, compress.Codecs.Lz4Raw} {
		for _, nulls := range []int{0, 10} {
			builder := array.NewInt64Builder(memory.DefaultAllocator)
			rng := rand.New(rand.NewPCG(8, 0))
			for range rows {
				if rng.IntN(100) < nulls {
					builder.AppendNull()
				} else {
					builder.Append(rng.Int64N(1_000_000))
				}
			}
			batch := array.NewRecordBatch(schema, []arrow.Array{builder.NewArray()}, rows)
			data := scantest.EncodeParquet(b, rows/4, []arrow.RecordBatch{batch}, parquet.WithCompression(codec), parquet.WithDictionaryDefault(false))
			src := mustOpen(b, Options{}, scantest.WriteFile(b, b.TempDir(), "f.parquet", data))
			b.Run(fmt.Sprintf("%s/nulls=%d%%", codec, nulls), func(b *testing.B) { scantest.BenchScan(b, src, []int{0}, 0) })
		}
	}
}

func benchValue(typ arrow.DataType, r int) string {
	switch typ.ID() {
	case arrow.BOOL:
		return fmt.Sprint(r%3 == 0)
	case arrow.INT8:
		return fmt.Sprint(r % 100)
	case arrow.DATE32:
		return fmt.Sprintf("20%02d-%02d-%02d", r%90+10, r%12+1, r%28+1)
	case arrow.TIMESTAMP:
		return fmt.Sprintf("2024-01-%02d 10:%02d:00", r%28+1, r%60)
	case arrow.DECIMAL128:
		return fmt.Sprintf("%d.%02d", r%1000, r%100)
	case arrow.STRING:
		return fmt.Sprint("name ", r%1000)
	}
	return fmt.Sprint(r * 7 % 1_000_003)
}

// The axes are which columns of the text are converted, and whether the strings are quoted.
func BenchmarkCSV(b *testing.B) {
	for _, quote := range []string{"", "\""} {
		var text strings.Builder
		text.WriteString("id,name,amount,day,flag,at,key\n")
		for i := range 500_000 {
			fmt.Fprintf(&text, "%d,%sname%d%s,%d.%02d,2024-01-%02d,%v,2024-01-01 10:%02d:00,%sk%09d%s\n",
				i, quote, i%500, quote, i%777, i%100, i%28+1, i%3 == 0, i%60, quote, i*7919%1_000_003, quote)
		}
		src := mustOpen(b, Options{}, scantest.WriteFile(b, b.TempDir(), "f.csv", []byte(text.String())))
		for _, columns := range [][]int{{}, {0}, {1}, {2}, {3}, {5}, {6}, {0, 1}, {0, 1, 2, 3, 4, 5, 6}} {
			b.Run(fmt.Sprintf("quoted=%v/columns=%v", quote != "", columns), func(b *testing.B) { scantest.BenchScan(b, src, columns, int64(text.Len())) })
		}
	}
}

// The axis is which columns of the text are converted.
func BenchmarkJSON(b *testing.B) {
	var text strings.Builder
	for i := range 500_000 {
		fmt.Fprintf(&text, `{"id":%d,"name":"name%d","amount":%d.%02d,"day":"2024-01-%02d","flag":%v,"at":"2024-01-01T10:%02d:00","key":"k%09d"}`+"\n",
			i, i%500, i%777, i%100, i%28+1, i%3 == 0, i%60, i*7919%1_000_003)
	}
	src := mustOpen(b, Options{}, scantest.WriteFile(b, b.TempDir(), "f.ndjson", []byte(text.String())))
	for _, columns := range [][]int{{}, {0}, {1}, {2}, {3}, {5}, {6}, {0, 1}, {0, 1, 2, 3, 4, 5, 6}} {
		b.Run(fmt.Sprintf("columns=%v", columns), func(b *testing.B) { scantest.BenchScan(b, src, columns, int64(text.Len())) })
	}
}
