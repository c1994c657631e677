package engine_test

import (
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/internal/grouptest"
	"github.com/mpga/mpga/internal/testknobs"
)

// partsTable has keys and values of every width that rows on a device can have: strings that do not
// fit their words, a decimal of two words, NULLs.
func partsTable(rows int) (*arrow.Schema, []arrow.RecordBatch) {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "n", Type: arrow.PrimitiveTypes.Int32},
		{Name: "k", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "t", Type: arrow.BinaryTypes.String},
		{Name: "v", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
		{Name: "f", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
		{Name: "d", Type: &arrow.Decimal128Type{Precision: 30, Scale: 2}},
	}, nil)
	rng := rand.New(rand.NewPCG(18, 19))
	var batches []arrow.RecordBatch
	for from := 0; from < rows; from += 500 {
		columns := make([][]any, schema.NumFields())
		for range min(500, rows-from) {
			g := rng.Int64N(1000)
			row := []any{g*4_000_000 - 1<<31, g << 40, strings.Repeat("key ", int(g%9)) + fmt.Sprint(g), fmt.Sprint("a long enough text ", rng.IntN(40)),
				rng.Int64N(100) - 50, float64(rng.IntN(9)) / 4, new(big.Int).Lsh(big.NewInt(rng.Int64()-1<<62), 20)}
			for c, cell := range row {
				if schema.Field(c).Nullable && rng.IntN(12) == 0 {
					cell = nil
				}
				columns[c] = append(columns[c], cell)
			}
		}
		var arrays []arrow.Array
		for c, cells := range columns {
			arrays = append(arrays, grouptest.Array(schema.Field(c).Type, cells))
		}
		batches = append(batches, grouptest.Batch(schema, arrays...))
	}
	return schema, batches
}

// partsQueries are of folds that no device has, or of keys that none can tell apart.
var partsQueries = []query.Query{
	{Keys: []query.Key{{Column: "n"}}, Aggregates: []query.Aggregate{
		{Func: query.Median, Args: []string{"f"}}, {Func: query.Mode, Args: []string{"v"}}, {Func: query.Sum, Args: []string{"v"}}, {Func: query.CountStar},
	}},
	{Keys: []query.Key{{Column: "k"}}, Aggregates: []query.Aggregate{
		{Func: query.CountDistinct, Args: []string{"s"}}, {Func: query.List, Args: []string{"t"}}, {Func: query.Min, Args: []string{"d"}},
	}},
	{Keys: []query.Key{{Column: "s"}}, Aggregates: []query.Aggregate{
		{Func: query.Sum, Args: []string{"v"}}, {Func: query.Avg, Args: []string{"f"}}, {Func: query.Max, Args: []string{"t"}}, {Func: query.First, Args: []string{"s"}},
	}},
	{Keys: []query.Key{{Column: "s"}, {Column: "k"}, {Column: "n"}, {Column: "d"}}, Aggregates: []query.Aggregate{
		{Func: query.Mode, Args: []string{"t"}}, {Func: query.ApproxCountDistinct, Args: []string{"v"}}, {Func: query.Sum, Args: []string{"d"}},
	}},
	{Keys: []query.Key{{Column: "n"}, {Column: "k"}}, Deterministic: true, Aggregates: []query.Aggregate{
		{Func: query.Sum, Args: []string{"f"}}, {Func: query.ArgMax, Args: []string{"t", "v"}}, {Func: query.Corr, Args: []string{"f", "v"}},
	}},
}

// arrowFile writes batches to a file, whose strings lie in memory that the engine gives back.
func arrowFile(t *testing.T, schema *arrow.Schema, batches []arrow.RecordBatch) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "table.arrow")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w, err := ipc.NewFileWriter(f, ipc.WithSchema(schema))
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range batches {
		if err := w.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

// What devices cannot aggregate they partition, and the CPU aggregates: any fold, of any key, from
// memory and from disk, by one device and by two.
func TestDeviceParts(t *testing.T) {
	const rows = 6000
	schema, batches := partsTable(rows)
	file := arrowFile(t, schema, batches)
	for i, q := range partsQueries {
		want, err := grouptest.Oracle(schema, batches, q)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			knobs    testknobs.Engine
			fromFile bool
		}{
			{testknobs.Engine{NoDense: true}, true},
			{testknobs.Engine{NoDense: true, RadixBits: 9, Device: testknobs.Device{TileRows: 700, Streams: 2}}, true},
			{testknobs.Engine{NoDense: true, SpillAll: true, ForceSplits: 1, MemoryBytes: 8 << 20, Device: testknobs.Device{TileRows: 900, Count: 2}}, true},
			{testknobs.Engine{NoDense: true, Device: testknobs.Device{TileRows: 32, Streams: 1, Groups: 1}}, false},
		} {
			t.Run(fmt.Sprintf("%d/%+v", i, c.knobs), func(t *testing.T) {
				opt := engine.Options{Threads: 3, Device: "host:4MiB", TempDir: t.TempDir()}
				onDevice(t, &opt)
				eng := openChecked(t, testknobs.With(opt, c.knobs))
				src := scan.Batches(schema, batches)
				if c.fromFile {
					if src, err = dataset.Open(t.Context(), []string{file}, dataset.Options{}); err != nil {
						t.Fatal(err)
					}
				}
				result := mustAggregate(t, eng, src, q)
				defer result.Release()
				got, err := grouptest.ReadAll(result, len(q.Keys))
				if err == nil {
					err = grouptest.Equal(want, got)
				}
				if err != nil {
					t.Fatal(err)
				}
				s := result.Stats()
				d := s.Device
				if !slices.Equal(d.Routes, []string{"partitions for the CPU"}) || d.Finisher == "" || d.Rows != rows || d.RowsBack != rows || s.RowsScattered != rows {
					t.Errorf("route %s: %+v", s.Route, d)
				}
				if c.knobs.SpillAll && s.SpilledBytes == 0 {
					t.Error("nothing was spilled")
				}
			})
		}
	}
}

// Whatever fails while a device partitions, the CPU answers, and no batch is kept.
func TestDevicePartsFaults(t *testing.T) {
	schema, batches := partsTable(2000)
	file := arrowFile(t, schema, batches)
	q := partsQueries[2]
	want, err := grouptest.Oracle(schema, batches, q)
	if err != nil {
		t.Fatal(err)
	}
	knobs := testknobs.Engine{Device: testknobs.Device{TileRows: 300, Streams: 2}}
	failEach(t, "parts", knobs, 3, func(t *testing.T, knobs testknobs.Engine) {
		eng := openChecked(t, testknobs.With(engine.Options{Threads: 2, Device: "host:2MiB"}, knobs))
		for range 2 {
			src, err := dataset.Open(t.Context(), []string{file}, dataset.Options{})
			if err != nil {
				t.Fatal(err)
			}
			got, err := answer(eng, src, q)
			if err == nil {
				err = grouptest.Equal(want, got)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	})
}
