package tests

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/plan"
	"github.com/mpga/mpga/engine/sink"
	"github.com/mpga/mpga/engine/sink/sinktest"
	"github.com/mpga/mpga/engine/sink/text"
	mpgasql "github.com/mpga/mpga/engine/sql"
	"github.com/mpga/mpga/internal/timeformat"
)

// namedFormats are the formats that are written and read.
var namedFormats = []sink.Format{sink.Parquet, sink.Arrow, sink.CSV, sink.TSV, sink.JSON}

// numbered returns rows of an id, a value and another number.
func numbered(values arrow.Array) arrow.RecordBatch {
	ids := array.NewInt64Builder(memory.DefaultAllocator)
	for i := range values.Len() {
		ids.Append(int64(i))
	}
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64}, {Name: "v", Type: values.DataType(), Nullable: true},
	}, nil)
	return array.NewRecordBatch(schema, []arrow.Array{ids.NewArray(), values}, int64(values.Len()))
}

// stringsOf are strings that look like values of other types.
func stringsOf(values ...string) arrow.Array {
	b := array.NewStringBuilder(memory.DefaultAllocator)
	b.AppendNull()
	b.AppendValues(values, nil)
	return b.NewArray()
}

// written writes rows, reads them, and compares the texts of all values. It returns the type that they come back as.
func written(t *testing.T, what string, batch arrow.RecordBatch, from string, opt sink.Options) arrow.DataType {
	t.Helper()
	path := filepath.Join(t.TempDir(), "out."+string(opt.Format))
	if err := write(path, opt, batch); err != nil {
		t.Errorf("%s: %v", what, err)
		return nil
	}
	eng, err := engine.Open(engine.Options{Threads: 2, Device: "cpu"})
	sinktest.Check(t, err)
	defer eng.Close()
	statement, err := mpgasql.Parse(fmt.Sprintf("SELECT id, v FROM "+from+" ORDER BY id", path))
	sinktest.Check(t, err)
	query, err := plan.Prepare(context.Background(), eng, statement, plan.Options{})
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return nil
	}
	defer query.Close()
	result, err := query.Run(context.Background())
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return nil
	}
	defer result.Release()
	want := text.Appender(batch.Column(1))
	row := 0
	for ; result.Next(); row += int(result.RecordBatch().NumRows()) {
		got := text.Appender(result.RecordBatch().Column(1))
		for i := range int(result.RecordBatch().NumRows()) {
			is, valid := got(nil, i)
			was, wasValid := want(nil, row+i)
			if valid != wasValid || valid && !sameText(is, was) {
				t.Errorf("%s, row %d: %q (%v), want %q (%v); read as %s",
					what, row+i, is, valid, was, wasValid, result.Schema().Field(1).Type)
				return nil
			}
		}
	}
	if err := result.Err(); err != nil || row != int(batch.NumRows()) {
		t.Errorf("%s: %d rows, want %d, %v", what, row, batch.NumRows(), err)
	}
	return result.Schema().Field(1).Type
}

// sameText says whether two texts are of one value: floats of other types have other texts.
func sameText(a, b []byte) bool {
	x, errX := strconv.ParseFloat(string(a), 64)
	y, errY := strconv.ParseFloat(string(b), 64)
	return string(a) == string(b) || errX == nil && errY == nil && x == y && bytes.ContainsAny(b, "e.")
}

// readAlike says whether SQL reads a type in the unit and the zone in which it is written.
func readAlike(typ arrow.DataType) bool {
	switch t := typ.(type) {
	case *arrow.TimestampType:
		return t.Unit != arrow.Nanosecond && (t.TimeZone == "" || t.TimeZone == "UTC")
	case *arrow.Time64Type:
		return t.Unit != arrow.Nanosecond
	}
	return typ.ID() != arrow.DURATION && typ.ID() != arrow.DECIMAL256
}

// isBytes says whether values of a type are bytes, which texts of rows have in a way of their own.
func isBytes(typ arrow.DataType) bool {
	switch typ.ID() {
	case arrow.BINARY, arrow.LARGE_BINARY, arrow.BINARY_VIEW, arrow.FIXED_SIZE_BINARY:
		return true
	}
	return false
}

// Would catch a format in which values of a type come back as others: digits that an inferred type loses, and types of
// folders that nobody knows when they are read.
func TestTypesComeBack(t *testing.T) {
	rng := rand.New(rand.NewPCG(*seedFlag, 41))
	for _, typ := range sinktest.FlatTypes {
		if !readAlike(typ) {
			continue
		}
		rows := sinktest.RandomBatch(t, sinktest.SchemaOf([]arrow.DataType{typ}), 60, rng)
		batch := numbered(rows.Column(0))
		for _, format := range namedFormats {
			what, from := fmt.Sprintf("-seed=%d, %s as %s", *seedFlag, typ, format), "'%s'"
			isText := format != sink.Parquet && format != sink.Arrow
			if isText && isBytes(typ) {
				continue
			}
			if d, ok := typ.(arrow.DecimalType); ok && isText { // numbers with fractions are DOUBLE
				reader := map[sink.Format]string{sink.JSON: "read_json", sink.CSV: "read_csv", sink.TSV: "read_csv"}[format]
				from = fmt.Sprintf("%s('%%s', columns = {'id': 'BIGINT', 'v': 'DECIMAL(%d, %d)'})", reader, d.GetPrecision(), d.GetScale())
			}
			written(t, what, batch, from, sink.Options{Format: format})
			if opt := (sink.Options{Format: format, PartitionBy: []string{"v"}}); opt.Format != sink.TSV {
				comeBack(t, what+" folders", batch, opt)
			}
		}
	}
}

// comeBack is written for folders, whose types come back, too. Types that name no folders are passed over.
func comeBack(t *testing.T, what string, batch arrow.RecordBatch, opt sink.Options) {
	t.Helper()
	typ := batch.Column(1).DataType()
	switch id := typ.ID(); {
	case id == arrow.BOOL, id == arrow.DATE32, arrow.IsInteger(id):
	case id == arrow.DATE64:
		typ = arrow.FixedWidthTypes.Date32
	case id == arrow.TIMESTAMP:
		typ = &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: typ.(*arrow.TimestampType).TimeZone}
	case id == arrow.STRING, id == arrow.LARGE_STRING, id == arrow.STRING_VIEW:
		typ = arrow.BinaryTypes.String
	case arrow.IsDecimal(id):
		d := typ.(arrow.DecimalType)
		typ = &arrow.Decimal128Type{Precision: d.GetPrecision(), Scale: d.GetScale()}
	default:
		return
	}
	if got := written(t, what, batch, "'%s'", opt); got != nil && !arrow.TypeEqual(got, typ) {
		t.Errorf("%s: read as %s, want %s", what, got, typ)
	}
}

// Would catch infinite dates and moments, and dates of far years, that come back as other values.
func TestFarTimesComeBack(t *testing.T) {
	days := []arrow.Date32{
		timeformat.InfiniteDays, -timeformat.InfiniteDays, -719163, -735514, 2932897, 3786795, 40000000, 0,
	}
	dates := array.NewDate32Builder(memory.DefaultAllocator)
	dates.AppendNull()
	dates.AppendValues(days, nil)
	moments := array.NewTimestampBuilder(memory.DefaultAllocator, &arrow.TimestampType{Unit: arrow.Microsecond})
	moments.AppendNull()
	moments.AppendValues([]arrow.Timestamp{timeformat.InfiniteTime, -timeformat.InfiniteTime}, nil)
	for _, day := range days[2:] {
		moments.Append(arrow.Timestamp(day)*86_400_000_000 + 12_345)
	}
	for _, batch := range []arrow.RecordBatch{numbered(dates.NewArray()), numbered(moments.NewArray())} {
		typ := batch.Column(1).DataType()
		for _, format := range namedFormats {
			what := fmt.Sprintf("%s as %s", typ, format)
			if got := written(t, what, batch, "'%s'", sink.Options{Format: format}); got != nil && !arrow.TypeEqual(got, typ) {
				t.Errorf("%s: read as %s", what, got)
			}
			if format != sink.TSV {
				comeBack(t, what+" folders", batch, sink.Options{Format: format, PartitionBy: []string{"v"}})
			}
		}
	}
}

// Would catch strings of folders that become numbers, dates or truth values.
func TestStringsOfFoldersComeBack(t *testing.T) {
	for _, values := range [][]string{
		{"1", "2"}, {"01234", "1234"}, {"+1", "1"}, {"-0", "0", "-1"}, {"1e5", "100000"}, {"2024-01-02"}, {"true", "false"},
		{"2024-01-02 03:04:05"}, {"", " 1", "1 "}, {"NULL", "null"}, {"99999999999999999999999999999999999999"}, {},
	} {
		comeBack(t, fmt.Sprintf("%q", values), numbered(stringsOf(values...)), sink.Options{Format: sink.Parquet, PartitionBy: []string{"v"}})
	}
}
