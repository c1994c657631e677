//go:build cgo

package plan_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/internal/grouptest"
	"github.com/mpga/mpga/internal/testknobs"
	"github.com/mpga/mpga/kernels/hostdevice"
)

// codedFields are the columns of the files that coded statements are asked of: i numbers, d doubles, n
// decimals, and others.
var codedFields = []arrow.Field{
	{Name: "i0", Type: arrow.PrimitiveTypes.Int64}, {Name: "i1", Type: arrow.PrimitiveTypes.Int32}, {Name: "i2", Type: arrow.PrimitiveTypes.Int8},
	{Name: "i3", Type: arrow.PrimitiveTypes.Uint16}, {Name: "i4", Type: arrow.PrimitiveTypes.Uint32},
	{Name: "d0", Type: arrow.PrimitiveTypes.Float64}, {Name: "d1", Type: arrow.PrimitiveTypes.Float32},
	{Name: "n0", Type: &arrow.Decimal128Type{Precision: 12, Scale: 2}}, {Name: "n1", Type: &arrow.Decimal128Type{Precision: 6, Scale: 1}},
	{Name: "day", Type: arrow.FixedWidthTypes.Date32}, {Name: "at", Type: &arrow.TimestampType{Unit: arrow.Millisecond}},
	{Name: "s", Type: arrow.BinaryTypes.String}, {Name: "u", Type: arrow.PrimitiveTypes.Uint64},
	{Name: "b", Type: arrow.BinaryTypes.Binary},
}

// codedStatements draws statements with expressions, most of which devices have instructions for.
type codedStatements struct{ *rand.Rand }

func (r codedStatements) pick(list ...string) string { return list[r.IntN(len(list))] }

func (r codedStatements) number(depth int) string {
	if depth == 0 {
		return r.pick("i0", "i1", "i2", "i3", "i4", "1", "7", "-3", "i1", "i2")
	}
	a, b := r.number(depth-1), r.number(depth-1)
	switch r.IntN(9) {
	case 0, 1:
		return fmt.Sprintf("(%s %s %s)", a, r.pick("+", "-"), b)
	case 2:
		return fmt.Sprintf("(%s * %s)", a, r.pick("2", "-1", "i2", b))
	case 3:
		return fmt.Sprintf("(%s %s %s)", a, r.pick("%", "//"), r.pick("7", "100", "i2", "-1"))
	case 4:
		return fmt.Sprintf("CASE WHEN %s THEN %s ELSE %s END", r.condition(depth-1), a, b)
	case 5:
		return fmt.Sprintf("%s(%s, %s)", r.pick("coalesce", "nullif"), a, b)
	case 6:
		return fmt.Sprintf("CAST(%s AS %s)", a, r.pick("BIGINT", "INTEGER", "SMALLINT"))
	case 7:
		return "(-" + a + ")"
	}
	return a
}

// exact is a value of which sums are exact.
func (r codedStatements) exact() string {
	if r.IntN(4) == 0 {
		return r.pick("n0", "n1", "n0 * (1 - n1)", "n0 + n1", "-n0", "n1 * 2", "CASE WHEN n1 > 1.5 THEN n1 END",
			"n0 * n0", "n0 * n1 * n1 - n0", "n0::DECIMAL(25, 4)")
	}
	return r.number(r.IntN(3))
}

// value is of any kind.
func (r codedStatements) value() string {
	if r.IntN(4) == 0 {
		return r.pick("d0", "d1", "d0 + d1", "d0 * 2", "d0 / i1", "-d1", "CAST(i0 AS DOUBLE) - d0", "n1 / 2")
	}
	return r.exact()
}

// notOnDevice is an aggregate that devices do not have, so that they only decode its rows.
func (r codedStatements) notOnDevice() string {
	return r.pick("sum(n0 * n0)", "sum(n0 * n1 * n1 - n0)", "list(i2 ORDER BY i2)", "mode(i3 ORDER BY i3)",
		"sum(DISTINCT i2)", "string_agg(s, ',' ORDER BY s)", "approx_count_distinct(i1)", "max(n0 * n0)",
		"median(n0::DECIMAL(25, 4))")
}

func (r codedStatements) condition(depth int) string {
	if depth > 0 && r.IntN(2) == 0 {
		a, b := r.condition(depth-1), r.condition(depth-1)
		return r.pick("("+a+" AND "+b+")", "("+a+" OR "+b+")", "(NOT "+a+")", "("+a+") IS NOT FALSE")
	}
	sign := r.pick("=", "<>", "<", "<=", ">", ">=")
	switch r.IntN(11) {
	case 9, 10:
		text := "'" + r.pick("", "a", "e", "x", "é", "0", "long", "text 1", "m") + "'"
		return r.pick("s = "+text, "s <> "+text, "s < "+text, "s >= "+text, text+" <= s", "s > "+text, "s IN ("+text+", 'a', NULL)",
			"s LIKE '%"+strings.Trim(text, "'")+"%'", "s NOT LIKE '%"+strings.Trim(text, "'")+"'", "starts_with(s, "+text+")", "contains(s, "+text+")",
			"s IS DISTINCT FROM "+text, "s BETWEEN 'a' AND "+text, "s IS NULL", "ends_with(s, "+text+")", "b = "+text+"::BLOB")
	case 8:
		return fmt.Sprintf("i0 BETWEEN %d AND %d", r.IntN(1000)-700, r.IntN(1000))
	case 0:
		return fmt.Sprintf("d0 %s %s", sign, r.pick("0.5", "d1", "i1", "'nan'::DOUBLE"))
	case 1:
		return fmt.Sprintf("n0 %s %s", sign, r.pick("1.5", "n1", "0", "i1"))
	case 2:
		return r.pick("day >= DATE '2000-01-01'", "day IS NULL", "at < TIMESTAMP '2001-01-01 00:00:00'", "s IS NOT NULL", "day BETWEEN DATE '1990-01-01' AND DATE '2040-01-01'")
	case 3:
		return r.number(1) + " IN (1, 2, 7, NULL, 100)"
	case 4:
		return r.number(1) + " BETWEEN -100 AND i1"
	case 5:
		return r.number(0) + r.pick(" IS NULL", " IS NOT NULL", " IS DISTINCT FROM i2")
	}
	return fmt.Sprintf("%s %s %s", r.number(1), sign, r.number(0))
}

// statement returns a statement and how many keys it has.
func (r codedStatements) statement() (text string, keys int) {
	var list []string
	for range min(r.IntN(8), 1) * (1 + r.IntN(3)) {
		list = append(list, r.pick("i1", "i2", "s", "day", "i3 % 5", r.number(1), r.condition(0), "year(day)", "date_trunc('month', at)", "day::TIMESTAMP",
			"extract(hour FROM at)", "date_trunc('week', day)", "at::DATE"))
	}
	keys = len(list)
	for range 1 + r.IntN(4) {
		v, x := r.value(), r.exact()
		list = append(list, r.pick("count(*)", "sum("+x+")", "sum("+x+")", "min("+v+")", "max("+v+")", "avg("+x+")", "count("+v+")", "count(s)",
			"stddev(i2)", "stddev(n1)", "sum("+x+") FILTER (WHERE "+r.condition(0)+")", "count(DISTINCT "+v+")", "median("+v+")",
			"count(DISTINCT s)", r.pick("min(s)", "max(s)", "min(b)", "max(b)"), "max(s) FILTER (WHERE "+r.condition(0)+")",
			"quantile_disc("+v+", 0.3) FILTER (WHERE "+r.condition(0)+")"))
	}
	if r.IntN(5) == 0 {
		list = append(list, r.notOnDevice())
	}
	var groups []string
	for i := range list {
		list[i] += fmt.Sprintf(" AS c%d", i)
		if i < keys {
			groups = append(groups, fmt.Sprint(i+1))
		}
	}
	where := ""
	if r.IntN(4) > 0 {
		where = " WHERE " + r.condition(2)
	}
	text = "SELECT " + strings.Join(list, ", ") + " FROM t" + where
	if keys > 0 {
		text += " GROUP BY " + strings.Join(groups, ", ")
	}
	return text, keys
}

// codedFile writes a file of random rows.
func codedFile(t *testing.T, rng *rand.Rand) string {
	t.Helper()
	rows := 1 + rng.IntN(8000)
	columns := make([]arrow.Array, len(codedFields))
	fields := make([]arrow.Field, len(codedFields))
	for i, f := range codedFields {
		_, batches := grouptest.RandomTable(rng, rows, f.Type)
		cells := make([]any, 0, rows)
		for _, b := range batches {
			for row := range int(b.NumRows()) {
				cells = append(cells, grouptest.Value(b.Column(0), row))
			}
		}
		if rng.IntN(2) == 0 && arrow.IsInteger(f.Type.ID()) { // which overflow less
			for row, c := range cells {
				if v, ok := c.(int64); ok {
					cells[row] = v % 1000
				}
			}
		}
		if f.Name == "i0" && rng.IntN(2) == 0 { // of which the page index leaves rows out
			slices.SortFunc(cells, func(a, b any) int {
				x, _ := a.(int64)
				y, _ := b.(int64)
				return cmp.Compare(x, y)
			})
		}
		f.Nullable = true
		fields[i], columns[i] = f, grouptest.Array(f.Type, cells)
	}
	schema := arrow.NewSchema(fields, nil)
	path := filepath.Join(t.TempDir(), "t.parquet")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w, err := pqarrow.NewFileWriter(schema, file, parquet.NewWriterProperties(
		parquet.WithCompression([]compress.Compression{compress.Codecs.Uncompressed, compress.Codecs.Snappy}[rng.IntN(2)]),
		parquet.WithDictionaryDefault(rng.IntN(2) == 0), parquet.WithDataPageSize(4<<10),
		parquet.WithMaxRowGroupLength([]int64{100, 3000, 1 << 20}[rng.IntN(3)]), parquet.WithStoreDecimalAsInteger(rng.IntN(2) == 0),
		parquet.WithPageIndexEnabled(rng.IntN(2) == 0),
	), pqarrow.DefaultWriterProps())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.WriteBuffered(grouptest.Batch(schema, columns...)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// answerCoded returns the groups of a statement.
func answerCoded(
	ctx context.Context, eng *engine.Engine, tables map[string]plan.Table, text string, keys int,
) (*grouptest.Rows, engine.Stats, error) {
	q, err := prepareWith(eng, text, plan.Options{Tables: tables})
	if err != nil {
		return nil, engine.Stats{}, err
	}
	defer q.Close()
	r, err := q.Run(ctx)
	if err != nil {
		return nil, engine.Stats{}, err
	}
	defer r.Release()
	r.Retain() // for its statistics
	rows, err := grouptest.ReadAll(r, keys)
	return rows, r.Stats(), err
}

// openCoded returns an engine with a device, and tables, and t of a file.
func openCoded(
	t *testing.T, path string, dimensions map[string]plan.Table, device string, knobs testknobs.Engine,
) (*engine.Engine, map[string]plan.Table) {
	t.Helper()
	eng, err := engine.Open(testknobs.With(engine.Options{Device: device, Threads: 2}, knobs))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := eng.Close(); err != nil {
			t.Error(err)
		}
	})
	src, err := dataset.Open(t.Context(), []string{path}, dataset.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tables := maps.Clone(dimensions)
	tables["t"] = plan.Table{Source: src}
	return eng, tables
}

// analyzed returns what EXPLAIN ANALYZE says of a statement.
func analyzed(t *testing.T, eng *engine.Engine, tables map[string]plan.Table, text string) string {
	t.Helper()
	q, err := prepareWith(eng, text, plan.Options{Tables: tables})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	told, err := q.Analyze(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return told
}

// sameOnDevice answers a statement on the CPU and with a device, and compares. It returns what the device has done; ok
// is false where both ended with an error. fail is what a device of the CPU fails with; nil for nothing.
func sameOnDevice(
	t *testing.T, rng *rand.Rand, path, text string, keys int, dimensions map[string]plan.Table,
	fail func(hostdevice.Call) error,
) (stats engine.Stats, ok bool) {
	t.Helper()
	open := func(device string, knobs testknobs.Engine) (*engine.Engine, map[string]plan.Table) {
		return openCoded(t, path, dimensions, device, knobs)
	}
	cpu, tables := open("cpu", testknobs.Engine{})
	want, wantStats, wantErr := answerCoded(t.Context(), cpu, tables, text, keys)
	device, tables := open(cmp.Or(*sizeDevice, "host:64MiB"), testknobs.Engine{Device: testknobs.Device{
		TileRows: []int{0, 0, 1000}[rng.IntN(3)], Groups: []int64{0, 10, 1 << 30}[rng.IntN(3)], Count: 1 + rng.IntN(2), Fail: fail,
	}})
	got, stats, err := answerCoded(t.Context(), device, tables, text, keys)
	if fail != nil && err != nil && strings.Contains(err.Error(), "the input can be read once only") {
		return stats, false // rows that are chosen once, or are the groups of another step
	}
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%s: error %v, want %v", text, err, wantErr)
	}
	if err != nil {
		return stats, false
	}
	for _, row := range want.Cells {
		for c := keys; c < len(row); c++ {
			if v, ok := row[c].(float64); ok { // of stddev
				row[c] = grouptest.Approx{Value: v, Tolerance: 1e-12 * math.Abs(v)}
			}
		}
	}
	if err := grouptest.Equal(want, got); err != nil {
		t.Fatalf("%s, %+v: %v", text, stats.Device, err)
	}
	tested, wantTested := stats.Filter, wantStats.Filter
	if stats.RowsRead != wantStats.RowsRead ||
		tested != nil && wantTested != nil && len(dimensions) == 0 && fail == nil &&
			tested.RowsTested != wantTested.RowsTested {
		t.Fatalf("%s: %d rows read, %+v; want %d, %+v", text, stats.RowsRead, tested, wantStats.RowsRead, wantTested)
	}
	return stats, true
}

// randomFault returns what a device of the CPU fails with at one of its calls; nil mostly.
func randomFault(rng *rand.Rand) func(hostdevice.Call) error {
	if rng.IntN(3) > 0 {
		return nil
	}
	return hostdevice.FailNth(1+rng.Int64N(200), rng.IntN(2) == 0, errors.New("boom"))
}

// Would catch a condition or an expression that a device computes otherwise than the CPU, rows that pass
// there and not here, an overflow that only one of them notices, and statistics that do not add up.
func TestDeviceCode(t *testing.T) {
	statements := 600
	if testing.Short() {
		statements = 80
	}
	var decoded, filtered, failed, forCPU int
	for i := range statements {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(uint64(i), 61))
			path := codedFile(t, rng)
			text, keys := codedStatements{rng}.statement()
			stats, ok := sameOnDevice(t, rng, path, text, keys, map[string]plan.Table{}, randomFault(rng))
			switch {
			case !ok:
				failed++
			case stats.Device.Decoded > 0:
				decoded++
				if strings.Contains(text, "WHERE") {
					filtered++
				}
				if stats.Device.Finisher != "" {
					forCPU++
				}
			}
		})
	}
	t.Logf("%d of %d statements were decoded, %d with conditions, %d for the CPU; %d failed",
		decoded, statements, filtered, forCPU, failed)
	if decoded < statements/4 || filtered < statements/8 || forCPU < statements/40 || failed == 0 {
		t.Errorf("%d of %d statements were decoded, %d with conditions, %d for the CPU, and %d failed; want more",
			decoded, statements, filtered, forCPU, failed)
	}
}

// Strings that are only compared are to be UTF-8 on devices, too, and the error has the CPU's words.
func TestDeviceCodeText(t *testing.T) {
	for _, bad := range []string{"", "\xff", "ab\xc3", "\xed\xa0\x80", "é\xe2\x82"} {
		schema := arrow.NewSchema([]arrow.Field{{Name: "k", Type: arrow.PrimitiveTypes.Int32}, {Name: "s", Type: arrow.BinaryTypes.String}}, nil)
		keys, texts := make([]any, 3000), make([]any, 3000)
		for i := range keys {
			keys[i], texts[i] = int64(i%7), fmt.Sprint("text é ", i%50)
		}
		if bad != "" {
			texts[1234] = bad
		}
		path := filepath.Join(t.TempDir(), "t.parquet")
		file, err := os.Create(path)
		if err != nil {
			t.Fatal(err)
		}
		w, err := pqarrow.NewFileWriter(schema, file, parquet.NewWriterProperties(), pqarrow.DefaultWriterProps())
		if err == nil {
			err = errors.Join(w.WriteBuffered(grouptest.Batch(schema, grouptest.Array(schema.Field(0).Type, keys), grouptest.Array(schema.Field(1).Type, texts))), w.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
		var errs []string
		for _, name := range []string{"cpu", cmp.Or(*sizeDevice, "host:64MiB")} {
			eng, err := engine.Open(engine.Options{Device: name, Threads: 2})
			if err != nil {
				t.Fatal(err)
			}
			src, err := dataset.Open(t.Context(), []string{path}, dataset.Options{})
			if err != nil {
				t.Fatal(err)
			}
			tables := map[string]plan.Table{"t": {Source: src}}
			_, stats, err := answerCoded(t.Context(), eng, tables, "SELECT k, count(*) FROM t WHERE s <> 'a' GROUP BY k", 1)
			errs = append(errs, fmt.Sprint(err))
			if name != "cpu" && (stats.Device.Decoded > 0) != (bad == "") {
				t.Errorf("%q: %d rows were decoded", bad, stats.Device.Decoded)
			}
			if err := eng.Close(); err != nil {
				t.Error(err)
			}
		}
		if errs[0] != errs[1] || (errs[0] == "<nil>") != (bad == "") {
			t.Errorf("%q: errors %s", bad, errs)
		}
	}
}
