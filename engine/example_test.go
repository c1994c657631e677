package engine_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/partial"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/engine/sink"
	"github.com/mpga/mpga/internal/vfs"
)

// Record batches in memory are a source like any other.
func Example() {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "city", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "visits", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	}, nil)
	visits, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(`[
		{"city": "Ulm", "visits": 3}, {"city": "Jena", "visits": 5}, {"city": null, "visits": 2},
		{"city": "Ulm", "visits": null}, {"city": "Ulm", "visits": 4}]`))
	if err != nil {
		log.Fatal(err)
	}
	defer visits.Release()

	eng, err := engine.Open(engine.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer eng.Close()
	result, err := eng.Aggregate(context.Background(), scan.Batches(schema, []arrow.RecordBatch{visits}), query.Query{
		Keys: []query.Key{{Column: "city"}},
		Aggregates: []query.Aggregate{
			{Func: query.CountStar, Name: "rows"},
			{Func: query.Sum, Args: []string{"visits"}},
			{Func: query.Avg, Args: []string{"visits"}},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer result.Release()

	for batch, err := range result.All() {
		if err != nil {
			log.Fatal(err)
		}
		for row := range int(batch.NumRows()) {
			city, count, sum, avg := batch.Column(0), batch.Column(1), batch.Column(2), batch.Column(3)
			fmt.Println(city.ValueStr(row), count.ValueStr(row), sum.ValueStr(row), avg.ValueStr(row))
		}
	}

	// Unordered output:
	// Ulm 3 7 3.5
	// Jena 1 5 5
	// (null) 1 2 2
}

// A pattern names many files, which are read in parallel.
func ExampleEngine_Aggregate() {
	ctx := context.Background()
	eng, err := engine.Open(engine.Options{Threads: 2})
	if err != nil {
		log.Fatal(err)
	}
	defer eng.Close()

	flights, err := dataset.Open(ctx, []string{"../tests/testdata/flights-*.parquet"}, dataset.Options{})
	if err != nil {
		log.Fatal(err)
	}
	result, err := eng.Aggregate(ctx, flights, query.Query{Aggregates: []query.Aggregate{
		{Func: query.CountStar},
		{Func: query.CountDistinct, Args: []string{"origin"}},
		{Func: query.QuantileCont, Args: []string{"delay"}, Fraction: 0.9},
		{Func: query.ArgMax, Args: []string{"destination", "distance"}},
	}})
	if err != nil {
		log.Fatal(err)
	}
	defer result.Release()

	for result.Next() {
		for i, column := range result.RecordBatch().Columns() {
			fmt.Println(result.Schema().Field(i).Name, "=", column.ValueStr(0))
		}
	}
	if err := result.Err(); err != nil {
		log.Fatal(err)
	}
	fmt.Println("rows read:", result.Stats().RowsRead)

	// Output:
	// count(*) = 300000
	// count(distinct origin) = 228
	// quantile_cont(delay, 0.9) = 35
	// arg_max(destination, distance) = HNL
	// rows read: 300000
}

// A result streams to a file, which is there whole or not at all.
func ExampleResult() {
	dir, err := os.MkdirTemp("", "mpga-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "routes.parquet")
	if err := writeRoutes(context.Background(), path); err != nil {
		log.Fatal(err)
	}

	routes, err := dataset.Open(context.Background(), []string{path}, dataset.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(routes.Stats().Rows, "routes")
	for _, field := range routes.Schema().Fields() {
		fmt.Println(field.Name, field.Type)
	}

	// Output:
	// 3356 routes
	// origin large_utf8
	// destination large_utf8
	// flights int64
	// worst list<element: int64, nullable>
}

func writeRoutes(ctx context.Context, path string) (err error) {
	eng, err := engine.Open(engine.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, eng.Close()) }()
	flights, err := dataset.Open(ctx, []string{"../tests/testdata/flights-2001.parquet"}, dataset.Options{})
	if err != nil {
		return err
	}
	result, err := eng.Aggregate(ctx, flights, query.Query{
		Keys: []query.Key{{Column: "origin"}, {Column: "destination"}},
		Aggregates: []query.Aggregate{
			{Func: query.CountStar, Name: "flights"},
			{Func: query.MaxN, Args: []string{"delay"}, Length: 3, Name: "worst"},
		},
	})
	if err != nil {
		return err
	}
	defer result.Release()

	out, err := sink.Create(ctx, path, result.Schema(), sink.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Abort()) }() // does nothing after Commit
	for result.Next() {
		if err := out.Write(result.RecordBatch()); err != nil {
			return err
		}
	}
	if err := result.Err(); err != nil {
		return err
	}
	return out.Commit()
}

// Two sources, aggregated each for itself, as two processes would, and merged.
func ExampleEngine_Merge() {
	ctx := context.Background()
	eng, err := engine.Open(engine.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer eng.Close()
	folder, err := os.MkdirTemp("", "mpga-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)

	schema := arrow.NewSchema([]arrow.Field{{Name: "visits", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)
	q := query.Query{Aggregates: []query.Aggregate{{Func: query.Median, Args: []string{"visits"}}, {Func: query.List, Args: []string{"visits"}}}}
	var sources [][]partial.Blob
	for i, rows := range []string{`[{"visits": 3}, {"visits": 9}]`, `[{"visits": 5}]`} {
		visits, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(rows))
		if err != nil {
			log.Fatal(err)
		}
		path := filepath.Join(folder, fmt.Sprint(i))
		dir, err := partial.CreateDir(vfs.OS, path)
		if err != nil {
			log.Fatal(err)
		}
		if _, err := eng.Partial(ctx, scan.Batches(schema, []arrow.RecordBatch{visits}), q, partial.Options{Create: dir.Create}); err != nil {
			log.Fatal(err, dir.Abort())
		}
		if err := dir.Commit(); err != nil {
			log.Fatal(err)
		}
		blobs, err := partial.OpenDir(vfs.OS, path)
		if err != nil {
			log.Fatal(err)
		}
		sources = append(sources, blobs)
	}

	result, err := eng.Merge(ctx, sources, partial.MergeOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer result.Release()
	for result.Next() {
		fmt.Println(result.RecordBatch().Column(0), result.RecordBatch().Column(1))
	}
	if err := result.Err(); err != nil {
		log.Fatal(err)
	}
	// Output:
	// [5] [[3 9 5]]
}
