package relation_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/relation"
	"github.com/mpga/mpga/engine/scan"
)

// table makes a table of two columns, an integer and a text, and of the rows of a text in JSON.
func table(number, text, rows string) plan.Table {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: number, Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: text, Type: arrow.BinaryTypes.String, Nullable: true},
	}, nil)
	batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(rows))
	if err != nil {
		log.Fatal(err)
	}
	return plan.Table{Source: scan.Batches(schema, []arrow.RecordBatch{batch})}
}

// show prints the rows of a statement.
func show(rows relation.Rows) {
	ctx := context.Background()
	eng, err := engine.Open(engine.Options{Threads: 2, Device: "cpu"})
	if err != nil {
		log.Fatal(err)
	}
	defer eng.Close()
	q, err := rows.Prepare(ctx, eng, plan.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer q.Close()
	result, err := q.Run(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer result.Release()
	for result.Next() {
		batch := result.RecordBatch()
		for row := range int(batch.NumRows()) {
			var values []string
			for _, column := range batch.Columns() {
				values = append(values, column.ValueStr(row))
			}
			fmt.Println(strings.Join(values, " "))
		}
	}
	if err := result.Err(); err != nil {
		log.Fatal(err)
	}
}

// Tables of a database: visits, by the number of a city, and cities.
func tables() (visits, cities relation.Rows) {
	visits = relation.Table("v", table("city", "day", `[
		{"city": 1, "day": "Mon"}, {"city": 1, "day": "Tue"}, {"city": 2, "day": "Mon"}, {"city": 3, "day": "Mon"},
		{"city": 1, "day": "Mon"}]`))
	cities = relation.Table("c", table("id", "name", `[{"id": 1, "name": "Ulm"}, {"id": 2, "name": "Jena"}]`))
	return visits, cities
}

// Each visit with its city, and groups of both. A visit without a city is kept by a LEFT join.
func Example() {
	visits, cities := tables()
	show(visits.
		Join(relation.Left, cities, relation.Equal("v.city", "c.id")).
		GroupBy([]string{"coalesce(c.name, '?') AS name"}, "count(*) AS visits", "count(DISTINCT v.day) AS days").
		OrderBy("visits DESC, name"))

	// Output:
	// Ulm 3 2
	// ? 1 1
	// Jena 1 1
}

// The two cities with the most visits on each day, by a window over groups.
func ExampleRows_Window() {
	visits, cities := tables()
	show(visits.
		Join(relation.Inner, cities, relation.Equal("v.city", "c.id")).
		GroupBy([]string{"day", "name"}, "count(*) AS visits").
		Window("place", relation.Window{Call: "rank()", PartitionBy: []string{"day"}, OrderBy: []string{"visits DESC"}}).
		Where("place <= 2").
		OrderBy("day, place"))

	// Output:
	// Mon Ulm 2 1
	// Mon Jena 1 2
	// Tue Ulm 1 1
}

// The numbers of cities without a visit, and of visits without a city.
func ExampleRows_UnionAll() {
	visits, cities := tables()
	seen, known := visits.Select("city"), cities.Select("id")
	show(seen.Except(known).UnionAll(known.Except(seen)))

	// Output:
	// 3
}
