package engine_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/internal/grouptest"
	"github.com/mpga/mpga/internal/invariants"
	"github.com/mpga/mpga/internal/testknobs"
)

// writeParquet writes batches to a file, and returns its name.
func writeParquet(t *testing.T, schema *arrow.Schema, batches []arrow.RecordBatch, opts ...parquet.WriterProperty) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "t.parquet")
	if err := os.WriteFile(path, parquetBytes(t, schema, batches, opts...), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// stringTable returns a table of a column s of plain strings, and an oracle's counts of them.
func stringTable(t *testing.T, values []string) (schema *arrow.Schema, batches []arrow.RecordBatch, q query.Query, want *grouptest.Rows) {
	t.Helper()
	schema = arrow.NewSchema([]arrow.Field{{Name: "s", Type: arrow.BinaryTypes.String}}, nil)
	b := array.NewStringBuilder(memory.DefaultAllocator)
	defer b.Release()
	b.AppendValues(values, nil)
	column := b.NewArray()
	defer column.Release()
	batch := array.NewRecordBatch(schema, []arrow.Array{column}, int64(len(values)))
	t.Cleanup(batch.Release)
	q = query.Query{Keys: []query.Key{{Column: "s"}}, Aggregates: []query.Aggregate{{Func: query.CountStar, Name: "n"}}}
	batches = []arrow.RecordBatch{batch}
	want, err := grouptest.Oracle(schema, batches, q)
	if err != nil {
		t.Fatal(err)
	}
	return schema, batches, q, want
}

var plainStrings = []parquet.WriterProperty{parquet.WithDictionaryDefault(false), parquet.WithCompression(compress.Codecs.Snappy)}

// Would catch rows of an emitted partition that come twice, or are lost, after a device has failed: the
// CPU must pack keys of strings as the device has, with NULLs, of several columns, one of them twice.
func TestDecodeStringsFaults(t *testing.T) {
	rng := rand.New(rand.NewPCG(43, 1))
	types := []arrow.DataType{arrow.PrimitiveTypes.Int64, arrow.BinaryTypes.String, arrow.BinaryTypes.Binary}
	schema, batches := grouptest.RandomTable(rng, 6000, types...)
	for schema.NumFields() < 3 {
		schema, batches = grouptest.RandomTable(rng, 6000, types...)
	}
	q := query.Query{Aggregates: []query.Aggregate{{Func: query.CountStar, Name: "n"}, {Func: query.Count, Args: []string{"c0"}, Name: "m"}}}
	for i, c := range []string{"c0", "c1", "c0", "c2"} {
		q.Keys = append(q.Keys, query.Key{Column: c, Name: fmt.Sprint("k", i)})
	}
	path := writeParquet(t, schema, batches, append(plainStrings, parquet.WithMaxRowGroupLength(500))...)
	decoded, failed := 0, 0
	for _, c := range []struct {
		count int
		more  []query.Aggregate
	}{
		{1, nil},
		{2, nil},
		{1, []query.Aggregate{{Func: query.Min, Args: []string{"c1"}, Name: "least"}, {Func: query.Max, Args: []string{"c2"}, Name: "greatest"}}},
		{2, []query.Aggregate{{Func: query.MaxN, Args: []string{"c1"}, Name: "greatest", Length: 3}, {Func: query.CountDistinct, Args: []string{"c2"}, Name: "differ"}}},
	} {
		q := q
		q.Aggregates = slices.Concat(q.Aggregates, c.more)
		want, err := grouptest.Oracle(schema, batches, q)
		if err != nil {
			t.Fatal(err)
		}
		knobs := testknobs.Engine{ResultRows: 50, Device: testknobs.Device{TileRows: 1000, Groups: 1 << 30, RadixBits: 3, Count: c.count, Streams: 2}}
		failEach(t, fmt.Sprint(c.count, " devices, ", len(c.more), " folds of strings"), knobs, 7, func(t *testing.T, knobs testknobs.Engine) {
			eng := openChecked(t, testknobs.With(engine.Options{Device: "host:64MiB", Threads: 3}, knobs))
			got, stats, err := answerFile(t, eng, path, q)
			if err == nil {
				err = grouptest.Equal(want, got)
			}
			if err != nil {
				t.Error(err)
			}
			if d := stats.Device; d != nil && d.Decoded > 0 {
				decoded++
				if d.Reason != "" {
					failed++
				}
			}
		})
	}
	if decoded == 0 || failed == 0 {
		t.Errorf("%d queries were decoded, %d of them until a device failed", decoded, failed)
	}
}

// Would catch row groups with and without dictionaries, of NULLs alone, of empty and of long strings, whose
// strings do not get the same numbers.
func TestDecodeStringsMixed(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true}, {Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	}, nil)
	s, n := array.NewStringBuilder(memory.DefaultAllocator), array.NewInt64Builder(memory.DefaultAllocator)
	const rows, groupRows = 30_000, 3000
	for i := range rows {
		switch group := i / groupRows % 4; {
		case group == 3 || i%17 == 0:
			s.AppendNull()
		case i%29 == 0:
			s.Append("")
		case group == 1:
			s.Append(fmt.Sprint(i % 5))
		case i%1001 == 0:
			s.Append(strings.Repeat(fmt.Sprint(i%7), 4500))
		default:
			s.Append(fmt.Sprintf("key %09d", i%4000))
		}
		if i%13 == 0 {
			n.AppendNull()
		} else {
			n.Append(int64(i%3) * (1 << 62))
		}
	}
	columns := []arrow.Array{s.NewArray(), n.NewArray()}
	batch := array.NewRecordBatch(schema, columns, rows)
	path := writeParquet(t, schema, []arrow.RecordBatch{batch}, parquet.WithCompression(compress.Codecs.Snappy),
		parquet.WithDictionaryPageSizeLimit(2000), parquet.WithMaxRowGroupLength(groupRows))
	for _, keys := range [][]string{{"s"}, {"s", "n"}, {"n", "s", "s"}} {
		q := query.Query{Aggregates: []query.Aggregate{
			{Func: query.CountStar, Name: "c"}, {Func: query.Count, Args: []string{"s"}, Name: "d"}, {Func: query.Min, Args: []string{"s"}, Name: "e"},
			{Func: query.Max, Args: []string{"s"}, Name: "f"}, {Func: query.CountDistinct, Args: []string{"s"}, Name: "g"},
			{Func: query.MinN, Args: []string{"s"}, Name: "h", Length: 2},
		}}
		for i, k := range keys {
			q.Keys = append(q.Keys, query.Key{Column: k, Name: fmt.Sprint("k", i)})
		}
		want, err := grouptest.Oracle(schema, []arrow.RecordBatch{batch}, q)
		if err != nil {
			t.Fatal(err)
		}
		for _, groups := range []int64{0, 1 << 30} {
			opt := engine.Options{Device: "host:1GiB", Threads: 3, MemoryLimit: 8 << 30}
			onDevice(t, &opt)
			eng := openChecked(t, testknobs.With(opt, testknobs.Engine{Device: testknobs.Device{Groups: groups}}))
			got, stats, err := answerFile(t, eng, path, q)
			if err == nil {
				err = grouptest.Equal(want, got)
			}
			if err != nil || stats.Device.Decoded == 0 {
				t.Errorf("%v, %d groups expected: %d rows were decoded, error %v", keys, groups, stats.Device.Decoded, err)
			}
		}
	}
}

// Would catch a device that does nothing where it has no room for pages of strings: it can partition.
func TestDecodeStringsRoom(t *testing.T) {
	if invariants.Race {
		t.Skip("a choice before any goroutine starts, of a table that takes minutes here")
	}
	values := make([]string, 400_000)
	for i := range values {
		values[i] = fmt.Sprintf("%060d", i*7919%len(values))
	}
	schema, batches, q, want := stringTable(t, values)
	path := writeParquet(t, schema, batches, plainStrings...) // one row group
	eng := openChecked(t, engine.Options{Device: "host:64MiB", Threads: 2, MemoryLimit: 8 << 30})
	got, stats, err := answerFile(t, eng, path, q)
	if err == nil {
		err = grouptest.Equal(want, got)
	}
	if err != nil || stats.Device.Decoded > 0 || stats.Device.Rows == 0 {
		t.Errorf("%d rows on the device, %d decoded there, error %v", stats.Device.Rows, stats.Device.Decoded, err)
	}
}

// Would catch one long string that counts as if all strings were as long, and one row group of few rows
// that counts as if all were like it.
func TestDecodeStringsLong(t *testing.T) {
	values := make([]string, 60_001)
	for i := range values {
		values[i] = fmt.Sprintf("%020d", i%20_000)
	}
	values[20_000], values[60_000] = strings.Repeat("x", 4000), strings.Repeat("y", 20_000)
	schema, batches, q, want := stringTable(t, values)
	path := writeParquet(t, schema, batches, append(plainStrings, parquet.WithMaxRowGroupLength(1000))...)
	eng := openChecked(t, testknobs.With(engine.Options{Device: "host:256MiB", Threads: 1, MemoryLimit: 8 << 30},
		testknobs.Engine{Device: testknobs.Device{TileRows: 1000}}))
	got, stats, err := answerFile(t, eng, path, q)
	if err == nil {
		err = grouptest.Equal(want, got)
	}
	if err != nil || stats.Device.Decoded != int64(len(values)) {
		t.Errorf("%d of %d rows were decoded, error %v", stats.Device.Decoded, len(values), err)
	}
}

// Would catch a tile that has room for the rows of a split, but not for their strings, which is found only
// when they have been read.
func TestDecodeStringsUneven(t *testing.T) {
	values := make([]string, 60_000)
	for i := range values {
		values[i] = fmt.Sprintf("%0*d", 8+48*(i/10_000%2), i%20_000) // ten row groups of short ones, ten of long ones
	}
	schema, batches, q, want := stringTable(t, values)
	path := writeParquet(t, schema, batches, append(plainStrings, parquet.WithMaxRowGroupLength(1000))...)
	eng := openChecked(t, testknobs.With(engine.Options{Device: "host:256MiB", Threads: 1, MemoryLimit: 8 << 30},
		testknobs.Engine{Device: testknobs.Device{TileRows: 5000}}))
	got, stats, err := answerFile(t, eng, path, q)
	if err == nil {
		err = grouptest.Equal(want, got)
	}
	if err != nil || stats.Device.Decoded != int64(len(values)) {
		t.Errorf("%d of %d rows were decoded, error %v", stats.Device.Decoded, len(values), err)
	}
}

// Would catch a query that waits for a sample that nobody has begun: in each tile few strings are new, until many
// strings differ.
func TestDecodeStringsSteady(t *testing.T) {
	values := make([]string, 600_000)
	if testing.Short() {
		values = values[:200_000]
	}
	for i := range values {
		values[i] = fmt.Sprintf("key %08d", i/2)
	}
	schema, batches, q, want := stringTable(t, values)
	path := writeParquet(t, schema, batches, parquet.WithDictionaryDefault(false), parquet.WithMaxRowGroupLength(20_000))
	opt := engine.Options{Device: "host:1GiB", Threads: 2, MemoryLimit: 8 << 30}
	onDevice(t, &opt)
	eng := openChecked(t, testknobs.With(opt, testknobs.Engine{Device: testknobs.Device{TileRows: 20_000}}))
	got, stats, err := answerFile(t, eng, path, q)
	if err == nil {
		err = grouptest.Equal(want, got)
	}
	if err != nil || stats.Device.NewStrings < int64(len(values)/3) {
		t.Errorf("%d strings got numbers, error %v", stats.Device.NewStrings, err)
	}
}
