//go:build cgo

package mpga_test

import (
	"context"
	"fmt"
	"log"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga"
	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/scan"
)

// A statement over record batches and a file.
func ExampleQuery() {
	ctx := context.Background()
	eng, err := engine.Open(engine.Options{Device: "cpu"})
	if err != nil {
		log.Fatal(err)
	}
	defer eng.Close()
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "code", Type: arrow.BinaryTypes.String}, {Name: "city", Type: arrow.BinaryTypes.String},
	}, nil)
	cities, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(
		`[{"code": "ATL", "city": "Atlanta"}, {"code": "ORD", "city": "Chicago"}]`))
	if err != nil {
		log.Fatal(err)
	}
	defer cities.Release()
	tables := mpga.Tables{
		"cities":  {Source: scan.Batches(schema, []arrow.RecordBatch{cities})},
		"flights": {Files: []string{"tests/testdata/flights-2001.parquet"}},
	}
	result, err := mpga.Query(ctx, eng, `
		SELECT city, count(*) AS flights FROM flights JOIN cities ON origin = code GROUP BY city ORDER BY city`, tables)
	if err != nil {
		log.Fatal(err)
	}
	defer result.Release()
	for batch, err := range result.All() {
		if err != nil {
			log.Fatal(err)
		}
		for row := range int(batch.NumRows()) {
			fmt.Println(batch.Column(0).ValueStr(row), batch.Column(1).ValueStr(row))
		}
	}
	// Output:
	// Atlanta 12289
	// Chicago 16698
}

// Would catch errors that do not point at the statement, and a result that loses the error of its rows, or what it holds.
func TestQueryErrors(t *testing.T) {
	ctx := context.Background()
	eng, err := engine.Open(engine.Options{Threads: 2, Device: "cpu"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := eng.Close(); err != nil {
			t.Error(err)
		}
	}()
	for text, want := range map[string]string{
		"SELEC 1":                           "did you mean SELECT?",
		"SELECT nothing FROM range(3) t(i)": `column "nothing" does not exist`,
		"SELECT i FROM t":                   "no table is named t",
	} {
		if _, err := mpga.Query(ctx, eng, text, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	result, err := mpga.Query(ctx, eng, "SELECT 9223372036854775807 + i AS x FROM range(3) t(i)", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer result.Release()
	for _, err = range result.All() {
	}
	if err == nil || !strings.Contains(err.Error(), "overflow") {
		t.Errorf("the rows end with %v", err)
	}
}
