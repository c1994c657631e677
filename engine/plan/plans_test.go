//go:build cgo

package plan_test

import (
	"context"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/cockroachdb/datadriven"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/grouptest"
)

// Would catch a statement that is planned in another way than before. testdata/plans has statements by
// the rewrite that they are of; what changed on purpose is renewed with -rewrite, and read as a diff.
//
//	explain|analyze [device=host:64MiB] [option=one-step] [without=shifted_sums]
//	SELECT ...
//	----
//	the plan, or the error
func TestPlans(t *testing.T) {
	tables := writePlanTables(t)
	engines := map[string]*engine.Engine{}
	open := func(device string) *engine.Engine {
		if engines[device] == nil {
			eng, err := engine.Open(engine.Options{
				Threads: 4, Device: device, MemoryLimit: 1 << 30, TempDir: "temp", TempLimit: 10 << 30,
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := eng.Close(); err != nil {
					t.Error(err)
				}
			})
			engines[device] = eng
		}
		return engines[device]
	}
	datadriven.Walk(t, planFiles, func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			device, opt := "cpu", plan.Options{Tables: tables}
			for _, arg := range d.CmdArgs {
				switch {
				case arg.Key == "device" && len(arg.Vals) == 1:
					device = arg.Vals[0]
				case arg.Key == "without" && len(arg.Vals) == 1:
					opt.Without = []plan.Rule{plan.Rule(strings.ReplaceAll(arg.Vals[0], "_", " "))}
				case arg.String() == "option=one-step":
					opt.OneStep = true
				default:
					d.Fatalf(t, "%s is not an argument", arg)
				}
			}
			tell := (*plan.Query).Explain
			if d.Cmd == "analyze" {
				tell = (*plan.Query).Analyze
			}
			text, err := toldWith(open(device), d.Input, opt, tell)
			if err != nil {
				return fmt.Sprintf("error: %v\n", err)
			}
			text = aTime.ReplaceAllString(text, "TIME")
			return ofAnyMachine.ReplaceAllString(text, "")
		})
	})
}

// Would catch a rule that no plan shows, one that is switched off and used, and one that EXPLAIN does not
// name: testdata/plans/rules has a statement for each rule, with it and without.
func TestRulesShown(t *testing.T) {
	for _, rule := range plan.Rules {
		var plans []string
		path := filepath.Join(planFiles, "rules", strings.ReplaceAll(string(rule), " ", "_"))
		datadriven.RunTest(t, path, func(_ *testing.T, d *datadriven.TestData) string {
			plans = append(plans, d.Expected)
			return d.Expected
		})
		if len(plans) != 2 || plans[0] == plans[1] {
			t.Errorf("%s: the plans with the rule and without are %q", rule, plans)
			continue
		}
		used := func(text string) bool {
			_, rest, _ := strings.Cut(text, "rules: ")
			line, _, _ := strings.Cut(rest, "\n")
			return slices.Contains(strings.Split(line, ", "), string(rule))
		}
		if !used(plans[0]) || used(plans[1]) {
			t.Errorf("%s: used with it: %t, without: %t", rule, used(plans[0]), used(plans[1]))
		}
	}
}

// planFiles is the folder of the statements and their plans: tests change to folders of their own.
var planFiles, _ = filepath.Abs("testdata/plans")

// ofAnyMachine finds what plans say of the machine that they are made on, and aTime how long operators took.
var (
	ofAnyMachine = regexp.MustCompile(`; the cache asks for [^\n]*|; [^\n]* of the process were resident at most`)
	aTime        = regexp.MustCompile(`\d+(\.\d+)?(ns|µs|ms|s)\b`)
)

// explainedWith returns the plan of a statement as text.
func explainedWith(eng *engine.Engine, text string, opt plan.Options) (string, error) {
	return toldWith(eng, text, opt, (*plan.Query).Explain)
}

// toldWith returns what tell says of a statement.
func toldWith(
	eng *engine.Engine, text string, opt plan.Options, tell func(*plan.Query, context.Context) (string, error),
) (string, error) {
	q, err := prepareWith(eng, text, opt)
	if err != nil {
		return "", err
	}
	defer q.Close()
	return tell(q, context.Background())
}

// planRows is the number of rows of the table sales.
const planRows = 40_000

// planSales has the rows of a shop: id ascends, and day with it; region has four values, customer many;
// quantity and note have NULLs.
func planSales() arrow.RecordBatch {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64},
		{Name: "day", Type: arrow.FixedWidthTypes.Date32},
		{Name: "at", Type: &arrow.TimestampType{Unit: arrow.Microsecond}},
		{Name: "region", Type: arrow.BinaryTypes.String},
		{Name: "customer", Type: arrow.BinaryTypes.String},
		{Name: "store", Type: arrow.PrimitiveTypes.Int16},
		{Name: "quantity", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
		{Name: "price", Type: &arrow.Decimal128Type{Precision: 9, Scale: 2}},
		{Name: "weight", Type: arrow.PrimitiveTypes.Float64},
		{Name: "paid", Type: arrow.FixedWidthTypes.Boolean},
		{Name: "note", Type: arrow.BinaryTypes.String, Nullable: true},
	}, nil)
	regions := []string{"east", "north", "south", "west"}
	first := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	cells := make([][]any, schema.NumFields())
	for i := range int64(planRows) {
		at := first.Add(time.Duration(i) * 13 * time.Minute)
		row := []any{
			i, at.Unix() / 86_400, at.UnixMicro(), regions[i*7%11%4], fmt.Sprintf("customer %05d", i*7919%9001), i % 40,
			i % 50, big.NewInt(100 + i*31%90_000), float64(i%997) / 8, i%3 == 0, fmt.Sprintf("note %d", i%2000),
		}
		if i%9 == 0 {
			row[6] = nil
		}
		if i%4 == 0 {
			row[10] = nil
		}
		for c := range cells {
			cells[c] = append(cells[c], row[c])
		}
	}
	arrays := make([]arrow.Array, len(cells))
	for c := range arrays {
		arrays[c] = grouptest.Array(schema.Field(c).Type, cells[c])
	}
	return grouptest.Batch(schema, arrays...)
}

// planOrders are the columns of the table orders, lists and structs among them.
var planOrders = arrow.NewSchema([]arrow.Field{
	{Name: "id", Type: arrow.PrimitiveTypes.Int64},
	{Name: "customer", Type: arrow.StructOf(
		arrow.Field{Name: "name", Type: arrow.BinaryTypes.String}, arrow.Field{Name: "city", Type: arrow.BinaryTypes.String},
	)},
	{Name: "items", Type: arrow.ListOf(arrow.PrimitiveTypes.Int64)},
	{Name: "total", Type: arrow.PrimitiveTypes.Float64},
}, nil)

// writePlanTables changes to a folder of its own, and writes the files there that the statements of
// testdata/plans read: sales.parquet, the same rows by year and month in folders, visits.csv, and
// the same orders as Parquet, with lists and structs, and as JSON. The table memory is the rows of sales, of which nothing is known before.
func writePlanTables(t *testing.T) map[string]plan.Table {
	t.Helper()
	t.Chdir(t.TempDir())
	sales := planSales()
	writeRows := func(path string, rows arrow.RecordBatch) {
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		file, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		w, err := pqarrow.NewFileWriter(rows.Schema(), file, parquet.NewWriterProperties(
			parquet.WithMaxRowGroupLength(10_000), parquet.WithCreatedBy("mpga"),
		), pqarrow.DefaultWriterProps())
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(rows); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	writeRows("sales.parquet", sales)
	for i := range int64(4) {
		writeRows(fmt.Sprintf("by-month/year=2024/month=%d/rows.parquet", i+1), sales.NewSlice(i*10_000, (i+1)*10_000))
	}
	var visits, orders strings.Builder
	visits.WriteString("day,page,visitor,seconds\n")
	for i := range 1000 {
		fmt.Fprintf(&visits, "2024-01-%02d,/%d,%d,%d.5\n", 1+i/50, i%17, i%211, i%60)
		fmt.Fprintf(&orders, `{"id": %d, "customer": {"name": "n%d", "city": "c%d"}, "items": [%d, %d], "total": %d.25}`+"\n",
			i, i%100, i%9, i%5, i%3, i%77)
	}
	for path, text := range map[string]string{"visits.csv": visits.String(), "orders.json": orders.String()} {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	nested, _, err := array.RecordFromJSON(memory.DefaultAllocator, planOrders, strings.NewReader(orders.String()), array.WithMultipleDocs())
	if err != nil {
		t.Fatal(err)
	}
	writeRows("orders.parquet", nested)
	return map[string]plan.Table{
		"sales":  {Files: []string{"sales.parquet"}},
		"months": {Files: []string{"by-month"}},
		"visits": {Files: []string{"visits.csv"}},
		"orders": {Files: []string{"orders.parquet"}},
		"memory": {Source: scan.Batches(sales.Schema(), []arrow.RecordBatch{sales.NewSlice(0, 20_000), sales.NewSlice(20_000, planRows)})},
	}
}
