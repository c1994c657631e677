// Command library aggregates record batches of its own, with the engine and nothing else. TestSizes
// measures the program.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	schema := arrow.NewSchema([]arrow.Field{{Name: "k", Type: arrow.PrimitiveTypes.Int64}, {Name: "v", Type: arrow.PrimitiveTypes.Int64}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	for i := range int64(1000) {
		b.Field(0).(*array.Int64Builder).Append(i % 7)
		b.Field(1).(*array.Int64Builder).Append(i)
	}
	eng, err := engine.Open(engine.Options{})
	if err != nil {
		return err
	}
	defer eng.Close()
	result, err := eng.Aggregate(context.Background(), scan.Batches(schema, []arrow.RecordBatch{b.NewRecordBatch()}), query.Query{
		Keys: []query.Key{{Column: "k"}}, Aggregates: []query.Aggregate{{Func: query.Sum, Args: []string{"v"}}},
	})
	if err != nil {
		return err
	}
	defer result.Release()
	for batch, err := range result.All() {
		if err != nil {
			return err
		}
		fmt.Println(batch)
	}
	return nil
}
