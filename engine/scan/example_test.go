//go:build cgo

package scan_test

import (
	"context"
	"fmt"
	"log"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga"
	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/scan"
)

// squares is a source of a program's own: numbers below a limit, and their squares.
type squares struct{ below int64 }

// rowsPerSplit is small, to have several splits. Some ten thousand rows are a good size.
const rowsPerSplit = 4

func (s squares) Schema() *arrow.Schema {
	return arrow.NewSchema([]arrow.Field{
		{Name: "n", Type: arrow.PrimitiveTypes.Int64}, {Name: "square", Type: arrow.PrimitiveTypes.Int64},
	}, nil)
}

func (s squares) Stats() scan.Stats { return scan.Stats{Rows: s.below, Bytes: -1} }

// Splits returns parts that threads read independently.
func (s squares) Splits(_ context.Context, columns []int) (splits []scan.Split, err error) {
	for from := int64(0); from < s.below; from += rowsPerSplit {
		splits = append(splits, part{s, columns, from, min(from+rowsPerSplit, s.below)})
	}
	return splits, nil
}

// part is the rows [from, to) of some columns.
type part struct {
	of       squares
	columns  []int
	from, to int64
}

func (p part) Position() uint64 { return uint64(p.from) }
func (p part) Rows() int64      { return p.to - p.from }
func (p part) Bytes() int64     { return 0 }
func (p part) Name() string     { return fmt.Sprintf("squares from %d", p.from) }

// Open returns a reader of the part's batches, which is one here.
func (p part) Open(context.Context, scan.OpenOptions) (array.RecordReader, error) {
	var fields []arrow.Field
	var arrays []arrow.Array
	for _, column := range p.columns {
		b := array.NewInt64Builder(memory.DefaultAllocator)
		defer b.Release()
		for n := p.from; n < p.to; n++ {
			b.Append([]int64{n, n * n}[column])
		}
		values := b.NewArray()
		defer values.Release()
		fields, arrays = append(fields, p.of.Schema().Field(column)), append(arrays, values)
	}
	schema := arrow.NewSchema(fields, nil)
	batch := array.NewRecordBatch(schema, arrays, p.to-p.from)
	defer batch.Release()
	return array.NewRecordReader(schema, []arrow.RecordBatch{batch})
}

// A source of a program's own is read as files are.
func ExampleSource() {
	ctx := context.Background()
	eng, err := engine.Open(engine.Options{Device: "cpu"})
	if err != nil {
		log.Fatal(err)
	}
	defer eng.Close()
	const query = "SELECT n % 3 AS k, sum(square) AS total FROM squares GROUP BY k ORDER BY k"
	result, err := mpga.Query(ctx, eng, query, mpga.Tables{"squares": {Source: squares{below: 10}}})
	if err != nil {
		log.Fatal(err)
	}
	defer result.Release()
	for batch, err := range result.All() {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(batch.Column(0), batch.Column(1))
	}
	// Output:
	// [0 1 2] [126 66 93]
}
