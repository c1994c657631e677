package text

import (
	"bytes"
	"cmp"
	"flag"
	"io"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine/sink/sinktest"
	"github.com/mpga/mpga/internal/timeformat"
)

var rewrite = flag.Bool("rewrite", false, "renew the golden files")

var pairSchema = arrow.NewSchema([]arrow.Field{
	{Name: "k", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
}, nil)

// encoder is what CSVEncoder, JSONEncoder and TableEncoder have in common.
type encoder interface {
	Write(arrow.RecordBatch) error
	Close() error
}

// written returns the text that an encoder makes of batches.
func written(t testing.TB, start func(to io.Writer) (encoder, error), batches ...arrow.RecordBatch) string {
	t.Helper()
	var out bytes.Buffer
	enc, err := start(&out)
	sinktest.Check(t, err)
	for _, b := range batches {
		sinktest.Check(t, enc.Write(b))
	}
	sinktest.Check(t, enc.Close())
	return out.String()
}

func csvText(t testing.TB, delimiter byte, header bool, schema *arrow.Schema, batches ...arrow.RecordBatch) string {
	t.Helper()
	return written(t, func(to io.Writer) (encoder, error) { return NewCSV(to, schema, delimiter, header) }, batches...)
}

func jsonText(t testing.TB, schema *arrow.Schema, batches ...arrow.RecordBatch) string {
	t.Helper()
	return written(t, func(to io.Writer) (encoder, error) { return NewJSON(to, schema) }, batches...)
}

func tableText(t testing.TB, opt TableOptions, schema *arrow.Schema, batches ...arrow.RecordBatch) string {
	t.Helper()
	opt.RowsShown, opt.CellWidth = cmp.Or(opt.RowsShown, 40), cmp.Or(opt.CellWidth, 48)
	return written(t, func(to io.Writer) (encoder, error) { return NewTable(to, schema, opt) }, batches...)
}

// Catches NULL and "" written alike, and quotes that are missing or too many.
func TestCSVText(t *testing.T) {
	b := array.NewRecordBuilder(memory.DefaultAllocator, pairSchema)
	for i, s := range []string{"", "plain", "a,b", `say "hi"`, "two\nlines", `"`, "tab\t"} {
		b.Field(0).(*array.StringBuilder).Append(s)
		b.Field(1).(*array.Int64Builder).Append(int64(-i))
	}
	b.Field(0).AppendNull()
	b.Field(1).AppendNull()
	batch := b.NewRecordBatch()
	want := "k,n\n\"\",0\nplain,-1\n\"a,b\",-2\n\"say \"\"hi\"\"\",-3\n\"two\nlines\",-4\n\"\"\"\",-5\ntab\t,-6\n,\n"
	if got := csvText(t, ',', true, pairSchema, batch); got != want {
		t.Errorf("%q\nwant\n%q", got, want)
	}
	want = "\"\"|0\nplain|-1\na,b|-2\n\"say \"\"hi\"\"\"|-3\n\"two\nlines\"|-4\n\"\"\"\"|-5\ntab\t|-6\n|\n"
	if got := csvText(t, '|', false, pairSchema, batch); got != want {
		t.Errorf("%q\nwant\n%q", got, want)
	}
	if got := csvText(t, '\t', true, pairSchema); got != "k\tn\n" {
		t.Errorf("no rows: %q", got)
	}
}

// Catches digits, points and signs out of place, against the library's own conversion.
func TestDecimalText(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 20_000 {
		hi, lo := int64(r.Uint64())>>r.IntN(64), r.Uint64()>>r.IntN(64)
		if r.IntN(2) == 0 {
			hi = int64(lo) >> 63
		}
		scale := r.IntN(39)
		n := decimal128.New(hi, lo)
		got := string(appendDecimal(nil, hi, lo, scale))
		digits := new(big.Int).Abs(n.BigInt()).String()
		if len(digits) <= scale {
			digits = strings.Repeat("0", scale+1-len(digits)) + digits
		}
		want := digits[:len(digits)-scale]
		if scale > 0 {
			want += "." + digits[len(digits)-scale:]
		}
		if n.Sign() < 0 {
			want = "-" + want
		}
		if got != want {
			t.Fatalf("%d * 2^64 + %d, scale %d: %s, want %s", hi, lo, scale, got, want)
		}
		if big := string(appendBig(nil, n.BigInt(), scale)); big != want {
			t.Fatalf("256 bits: %s, want %s", big, want)
		}
	}
	if got := string(appendDecimal(nil, 0, 12, -3)); got != "12000" {
		t.Error(got)
	}
}

// Catches what the readers of other tools would not take for the same number or moment.
func TestScalarText(t *testing.T) {
	ny := &arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "America/New_York"}
	cases := []struct{ got, want string }{
		{string(appendFloat(nil, 1, 64)), "1.0"},
		{string(appendFloat(nil, 0.1, 64)), "0.1"},
		{string(appendFloat(nil, float64(float32(0.1)), 32)), "0.1"},
		{string(appendFloat(nil, 1e20, 64)), "100000000000000000000.0"},
		{string(appendFloat(nil, 1e21, 64)), "1e+21"},
		{string(appendFloat(nil, 1e-7, 64)), "1e-07"},
		{string(appendFloat(nil, math.Copysign(0, -1), 64)), "-0.0"},
		{string(appendFloat(nil, math.Inf(-1), 64)), "-Infinity"},
		{string(timeformat.AppendDate(nil, 0)), "1970-01-01"},
		{string(timeformat.AppendDate(nil, -1)), "1969-12-31"},
		{string(timeformat.AppendDate(nil, -719529)), "0002-12-31 (BC)"},
		{string(timeformat.AppendDate(nil, 3_000_000)), "10183-09-21"},
		{string(appendTime(nil, 86399, arrow.Second)), "23:59:59"},
		{string(appendTime(nil, 1, arrow.Nanosecond)), "00:00:00.000000001"},
		{string(appendTime(nil, 500_000, arrow.Microsecond)), "00:00:00.5"},
		{string(appendDuration(nil, -93_784_500, arrow.Millisecond)), "-1 day -02:03:04.5"},
		{string(appendDuration(nil, math.MinInt64, arrow.Second)), "-106751991167300 days -15:30:08"},
		{string(appendDuration(nil, math.MinInt64, arrow.Nanosecond)), "-106751 days -23:47:16.854775808"},
		{string(appendTimestamp(nil, -1, arrow.Millisecond, nil)), "1969-12-31T23:59:59.999"},
		{string(appendTimestamp(nil, 0, arrow.Second, zoneOf(&arrow.TimestampType{TimeZone: "UTC"}))), "1970-01-01T00:00:00Z"},
		{string(appendTimestamp(nil, 0, arrow.Second, zoneOf(&arrow.TimestampType{TimeZone: "+05:30"}))), "1970-01-01T05:30:00+05:30"},
		{string(appendTimestamp(nil, 0, arrow.Second, zoneOf(&arrow.TimestampType{TimeZone: "no/where"}))), "1970-01-01T00:00:00Z"},
		{string(appendTimestamp(nil, 0, arrow.Nanosecond, zoneOf(ny))), "1969-12-31T19:00:00-05:00"},
		{string(appendBlob(nil, []byte("a\\\x00\xff~"))), `a\x5C\x00\xFF~`},
		{string(appendJSONString(nil, []byte("a\"\\\n\r\t\x01\x7fü\xff"))), `"a\"\\\n\r\t\u0001\u007Fü` + "\uFFFD\""},
	}
	for i, c := range cases {
		if c.got != c.want {
			t.Errorf("case %d: %s, want %s", i, c.got, c.want)
		}
	}
}

// Catches a change in how tables look: alignment, cuts, escapes, wide runes, the foot.
func TestTables(t *testing.T) {
	types := []arrow.DataType{
		arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Float64,
		&arrow.Decimal128Type{Precision: 15, Scale: 2}, &arrow.TimestampType{Unit: arrow.Millisecond},
		arrow.ListOf(arrow.PrimitiveTypes.Int32), arrow.BinaryTypes.Binary,
	}
	schema := sinktest.SchemaOf(types)
	rows := `[
		{"c00": "plain", "c01": 1, "c02": 1.5, "c03": "12.30", "c04": "2001-02-03 04:05:06.7", "c05": [1, null], "c06": "AAE="},
		{"c00": "日本語", "c01": -12345, "c02": 1e300, "c03": "-0.05", "c04": "1969-12-31 00:00:00", "c05": [], "c06": "aGk="},
		{"c00": "\u001b[31mred\u202e\n", "c01": null, "c02": null, "c03": null, "c04": null, "c05": null, "c06": null},
		{"c00": "NULL", "c01": 9223372036854775807, "c02": 0, "c03": "0", "c04": "9999-12-31 23:59:59.999", "c05": [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20], "c06": ""},
		{"c00": "a string that is much longer than the cell that it is put in", "c01": 0, "c02": -0.5, "c03": "1", "c04": null, "c05": [7], "c06": ""}
	]`
	batch, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(rows))
	sinktest.Check(t, err)
	many := make([]arrow.RecordBatch, 2469)
	for i := range many {
		many[i] = batch
	}
	golden(t, "all", tableText(t, TableOptions{RowsShown: -1, CellWidth: 24}, schema, batch))
	golden(t, "some", tableText(t, TableOptions{RowsShown: 3}, schema, many...))
	golden(t, "color", tableText(t, TableOptions{RowsShown: 3, Color: true}, schema, batch))
	golden(t, "empty", tableText(t, TableOptions{}, schema))
	golden(t, "one", tableText(t, TableOptions{}, schema, batch.NewSlice(0, 1)))
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "table_"+name+".txt")
	if *rewrite {
		sinktest.Check(t, os.MkdirAll("testdata", 0o777))
		sinktest.Check(t, os.WriteFile(path, []byte(got), 0o666))
		return
	}
	want, err := os.ReadFile(path)
	sinktest.Check(t, err)
	if got != string(want) {
		t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
	}
}

func BenchmarkText(b *testing.B) {
	schema := sinktest.SchemaOf([]arrow.DataType{
		arrow.PrimitiveTypes.Int64, arrow.BinaryTypes.String, arrow.PrimitiveTypes.Float64,
		&arrow.Decimal128Type{Precision: 12, Scale: 2}, arrow.FixedWidthTypes.Date32, &arrow.TimestampType{Unit: arrow.Microsecond},
	})
	batch := sinktest.RandomBatch(b, schema, 10_000, rand.New(rand.NewPCG(1, 1)))
	for format, encode := range map[string]func(){
		"csv":  func() { csvText(b, ',', true, schema, batch) },
		"json": func() { jsonText(b, schema, batch) },
	} {
		b.Run(format, func(b *testing.B) {
			for b.Loop() {
				encode()
			}
			b.ReportMetric(float64(b.N)*float64(batch.NumRows()*batch.NumCols())/b.Elapsed().Seconds()/1e6, "Mvalues/s")
		})
	}
}
