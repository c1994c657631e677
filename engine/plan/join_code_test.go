//go:build cgo

package plan_test

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/grouptest"
	"github.com/mpga/mpga/internal/testknobs"
)

// dimensionFields are the columns of tables that t is joined with: two keys, then values.
var dimensionFields = []arrow.Field{
	{Name: "k", Type: arrow.PrimitiveTypes.Int64}, {Name: "l", Type: arrow.PrimitiveTypes.Int16},
	{Name: "a", Type: arrow.PrimitiveTypes.Int32},
	{Name: "w", Type: arrow.BinaryTypes.String}, {Name: "m", Type: &arrow.Decimal128Type{Precision: 9, Scale: 2}},
	{Name: "f", Type: arrow.PrimitiveTypes.Float64}, {Name: "day2", Type: arrow.FixedWidthTypes.Date32},
	{Name: "odd", Type: arrow.FixedWidthTypes.Date64}, // devices do not have it
}

// dimension returns a table whose columns have a prefix and a NULL at times. The first key of its rows is unique, or
// both keys together are.
func dimension(rng *rand.Rand, prefix string, both bool) scan.Source {
	rows := rng.IntN(8) * rng.IntN(150)
	cells := make([][]any, len(dimensionFields))
	seen := map[[2]int64]bool{}
	repeats := rng.IntN(4) == 0
	for range rows {
		key := [2]int64{rng.Int64N(1200) - 600, 0}
		if both {
			key = [2]int64{rng.Int64N(200) - 100, rng.Int64N(20) - 10}
		}
		if !both && rng.IntN(40) == 0 {
			key[0] = []int64{math.MaxInt64, math.MinInt64, math.MaxInt32, math.MinInt32}[rng.IntN(4)]
		}
		if seen[key] && !repeats {
			continue
		}
		seen[key] = true
		row := []any{
			key[0], key[1], rng.Int64N(50) - 10, []any{"", "a", "é", "text 1", "a longer text of many bytes"}[rng.IntN(5)],
			big.NewInt(rng.Int64N(1e6)), rng.NormFloat64(), rng.Int64N(20000), rng.Int64N(100) * 86400e3,
		}
		for c := range row {
			if rng.IntN(12) == 0 {
				row[c] = nil
			}
			cells[c] = append(cells[c], row[c])
		}
	}
	fields, columns := make([]arrow.Field, len(dimensionFields)), make([]arrow.Array, len(dimensionFields))
	for i, f := range dimensionFields {
		if both && i == 0 { // two keys in one word
			f.Type = arrow.PrimitiveTypes.Int32
		}
		columns[i] = grouptest.Array(f.Type, cells[i])
		f.Name, f.Nullable = prefix+f.Name, true
		fields[i] = f
	}
	schema := arrow.NewSchema(fields, nil)
	batch := grouptest.Batch(schema, columns...)
	var batches []arrow.RecordBatch
	for from := int64(0); from < batch.NumRows(); from += 100 {
		batches = append(batches, batch.NewSlice(from, min(from+100, batch.NumRows())))
	}
	return scan.Batches(schema, batches)
}

// joined returns a statement that joins t with tables x, y and z, and how many keys it has.
func (r codedStatements) joined() (text string, keys int) {
	values := []string{"xa", "xw", "xm", "xf", "xday2", "xa + i2", "xa * i1", "CASE WHEN xw = 'a' THEN i1 ELSE xa END"}
	if r.IntN(12) == 0 { // a side that nobody reads
		kind := r.pick("", "LEFT ", "RIGHT ", "FULL ", "FULL ")
		return "SELECT i2 AS c0, count(*) AS c1, sum(i1) AS c2 FROM t " + kind + "JOIN x ON i1 = xk GROUP BY 1", 1
	}
	if r.IntN(6) == 0 { // rows of a build side by whether they have partners
		of := r.pick("i0", "i1", "i2") + " = xk" + r.pick("", "", " AND i2 > xa", " AND "+r.condition(0))
		return "SELECT " + r.pick("xw", "xa % 3", "xday2") + " AS c0, count(*) AS c1, sum(xa) AS c2 FROM x WHERE " +
			r.pick("", "NOT ") + "EXISTS (SELECT 1 FROM t WHERE " + of + ") GROUP BY 1", 1
	}
	from := "t " + r.pick("", "", "", "LEFT ", "LEFT ", "RIGHT ", "FULL ") + "JOIN x ON " + r.pick("i0", "i1", "i2", "i1 + 1") + " = xk" +
		r.pick("", "", "", " AND xa > i2", " AND xw LIKE 'a%'", " AND d0 < xf")
	if r.IntN(2) == 0 {
		from += r.pick(" ", " LEFT ") + "JOIN y ON " + r.pick("i1 = yk AND i2 = yl", "xa = yk", "xa = yk AND i2 = yl")
		values = append(values, "ya", "yw", "ym", "yodd")
	}
	var where []string
	if r.IntN(2) == 0 {
		where = append(where, r.condition(1))
	}
	if r.IntN(3) == 0 {
		where = append(where, r.pick("", "NOT ")+"EXISTS (SELECT 1 FROM z WHERE zk = i1"+r.pick("", " AND za > i2")+")")
	}
	if r.IntN(4) == 0 {
		where = append(where, r.pick("xw <> 'é'", "xa IS NULL OR xa > 3", "xw IN ('a', 'text 1')", "xm > n0"))
	}
	var list, groups []string
	for range r.IntN(3) {
		list = append(list, r.pick("xa", "xw", "i1", "s", "xday2", "xa % 3", "xw LIKE '%e%'", "year(xday2)"))
	}
	keys = len(list)
	for range 1 + r.IntN(3) {
		v := values[r.IntN(len(values))]
		list = append(list, r.pick("count(*)", "count("+v+")", "sum("+r.exact()+")", "max(i1)", "min("+v+")",
			"sum("+r.pick("xa", "xm", "xa * i2", "n0 * xm")+")", "count(*) FILTER (WHERE "+r.condition(0)+")"))
	}
	if r.IntN(5) == 0 {
		list = append(list, r.notOnDevice())
	}
	for i := range list {
		list[i] += fmt.Sprintf(" AS c%d", i)
		if i < keys {
			groups = append(groups, fmt.Sprint(i+1))
		}
	}
	text = "SELECT " + strings.Join(list, ", ") + " FROM " + from
	if len(where) > 0 {
		text += " WHERE (" + strings.Join(where, ") AND (") + ")"
	}
	if keys > 0 {
		text += " GROUP BY " + strings.Join(groups, ", ")
	}
	return text, keys
}

// Would catch a row that a device joins with another partner than the CPU, or with none, or with one of a key that is
// NULL or out of range, a condition that it asks of other columns, and strings and values of other rows.
func TestDeviceJoins(t *testing.T) {
	statements := 240
	if testing.Short() {
		statements = 60
	}
	var decoded, failed int
	for i := range statements {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(uint64(i), 67))
			path := codedFile(t, rng)
			text, keys := codedStatements{rng}.joined()
			stats, ok := sameOnDevice(t, rng, path, text, keys, map[string]plan.Table{
				"x": {Source: dimension(rng, "x", false)}, "y": {Source: dimension(rng, "y", strings.Contains(text, "yl"))},
				"z": {Source: dimension(rng, "z", false)},
			}, randomFault(rng))
			switch {
			case !ok:
				failed++
			case stats.Device.Decoded > 0:
				decoded++
			}
		})
	}
	t.Logf("%d of %d statements were decoded; %d failed", decoded, statements, failed)
	if decoded < statements/6 {
		t.Errorf("%d of %d statements were decoded; want more", decoded, statements)
	}
}

// kept returns a statement whose build side is rows of t, joined with x at times, and how many keys it has.
func (r codedStatements) kept() (text string, keys int) {
	columns := []string{"i0", "i1", "i2", "i3", "n0", "d0", r.exact() + " AS v", r.condition(1) + " AS c"}
	from := "t"
	if r.IntN(2) == 0 {
		from += r.pick(" ", " LEFT ") + "JOIN x ON " + r.pick("i0", "i1", "i2") + " = xk"
		columns = append(columns, "xa", "xw", "xday2", "xm", "xf")
	}
	if r.IntN(3) == 0 {
		columns = append(columns, "s")
	}
	if r.IntN(3) > 0 {
		from += " WHERE " + r.condition(1)
	}
	of := "(SELECT " + strings.Join(columns, ", ") + " FROM " + from + ") s"
	list := []string{"bl"}
	for range 1 + r.IntN(4) {
		c := columns[r.IntN(len(columns))]
		if _, name, named := strings.Cut(c, " AS "); named {
			c = name
		}
		list = append(list, r.pick("count(", "min(", "max(")+c+")", "count(*)")
	}
	text = "SELECT " + strings.Join(list, ", ") + " FROM b " + r.pick("", "", "LEFT ") + "JOIN " + of +
		" ON bk = " + r.pick("i0", "i1", "i2", "v") + r.pick("", "", " AND bl = i3") + " GROUP BY 1"
	return text, 1
}

// Would catch rows of a build side that a device decodes and brings back wrongly, in another type, twice or not at all, where
// the device fails, too.
func TestDeviceBuildSides(t *testing.T) {
	statements := 200
	if testing.Short() {
		statements = 50
	}
	var many [dimensionMany][2]any
	for i := range many {
		many[i] = [2]any{int64(i%1200 - 600), int64(i % 7)}
	}
	decoded := 0
	for i := range statements {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(uint64(i), 71))
			path := codedFile(t, rng)
			text, keys := codedStatements{rng}.kept()
			var cells [2][]any
			for _, row := range many {
				cells[0], cells[1] = append(cells[0], row[0]), append(cells[1], row[1])
			}
			of := arrow.PrimitiveTypes.Int64
			schema := arrow.NewSchema([]arrow.Field{{Name: "bk", Type: of}, {Name: "bl", Type: of}}, nil)
			batch := grouptest.Batch(schema, grouptest.Array(of, cells[0]), grouptest.Array(of, cells[1]))
			tables := map[string]plan.Table{
				"b": {Source: scan.Batches(schema, []arrow.RecordBatch{batch})}, "x": {Source: dimension(rng, "x", false)},
			}
			if _, ok := sameOnDevice(t, rng, path, text, keys, tables, randomFault(rng)); !ok {
				return
			}
			eng, tables := openCoded(t, path, tables, cmp.Or(*sizeDevice, "host:64MiB"), testknobs.Engine{})
			if strings.Contains(analyzed(t, eng, tables, text), "ran, decode of the build side: the device") {
				decoded++
			}
		})
	}
	t.Logf("the build sides of %d of %d statements were decoded", decoded, statements)
	if decoded < statements/4 && *sizeDevice == "" { // tables are too small for GPUs
		t.Errorf("the build sides of %d of %d statements were decoded; want more", decoded, statements)
	}
}

// dimensionMany is more rows than t has, so that t is the build side.
const dimensionMany = 20_000

// Would catch devices that are left alone though they are open, and the CPU is expected to take much longer for a build
// side; and devices that take part before they are open, where nobody has asked for them.
func TestAutoBuildSides(t *testing.T) {
	const rows = 1_100_000
	var columns [2][]int64
	for i := range int64(rows) {
		columns[0], columns[1] = append(columns[0], i*7919%rows), append(columns[1], i*104729%1_000_003)
	}
	fields := []arrow.Field{{Name: "k", Type: arrow.PrimitiveTypes.Int64}, {Name: "v", Type: arrow.PrimitiveTypes.Int64}}
	arrays := make([]arrow.Array, len(columns))
	for i, values := range columns {
		b := array.NewInt64Builder(memory.DefaultAllocator)
		b.AppendValues(values, nil)
		arrays[i] = b.NewArray()
	}
	schema := arrow.NewSchema(fields, nil)
	path := filepath.Join(t.TempDir(), "t.parquet")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	properties := parquet.NewWriterProperties(parquet.WithDictionaryDefault(false), parquet.WithMaxRowGroupLength(100_000))
	w, err := pqarrow.NewFileWriter(schema, file, properties, pqarrow.DefaultWriterProps())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Write(grouptest.Batch(schema, arrays...)), w.Close()); err != nil {
		t.Fatal(err)
	}
	var many []any
	for i := range dimensionMany {
		many = append(many, int64(i*50))
	}
	of := arrow.NewSchema([]arrow.Field{{Name: "bk", Type: arrow.PrimitiveTypes.Int64}}, nil)
	batch := grouptest.Batch(of, grouptest.Array(arrow.PrimitiveTypes.Int64, many))
	tables := map[string]plan.Table{"b": {Source: scan.Batches(of, []arrow.RecordBatch{batch})}}
	knobs := testknobs.Engine{Device: testknobs.Device{AutoHostBytes: 256 << 20, CPUSlower: 1000}}
	for _, open := range []bool{false, true} {
		eng, tables := openCoded(t, path, tables, "auto", knobs)
		if open {
			if err := eng.WarmDevices(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		told := analyzed(t, eng, tables, "SELECT count(*) FROM b JOIN (SELECT k FROM t WHERE v < 5000) ON bk = k")
		if strings.Contains(told, "ran, decode of the build side: the device") != open {
			t.Errorf("the devices are open: %v\n%s", open, told)
		}
	}
}
