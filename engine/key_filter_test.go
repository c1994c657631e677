package engine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/invariants"
	"github.com/mpga/mpga/internal/rowcode"
	"github.com/mpga/mpga/internal/rowdata"
)

// sameRows is the RowMap that returns its batches.
type sameRows struct{ batch arrow.RecordBatch }

func (m *sameRows) Begin(_ context.Context, batch arrow.RecordBatch) error {
	m.batch = batch
	batch.Retain()
	return nil
}

func (m *sameRows) Next(context.Context) (arrow.RecordBatch, error) {
	batch := m.batch
	m.batch = nil
	return batch, nil
}

func (*sameRows) Release() {}

// keyArray returns keys as an array of int64 or of strings; -1 is NULL.
func keyArray(dt arrow.DataType, keys []int) arrow.Array {
	b := array.NewBuilder(memory.DefaultAllocator, dt)
	defer b.Release()
	for _, v := range keys {
		switch b := b.(type) {
		case *array.Int64Builder:
			b.Append(int64(v))
		case *array.StringBuilder:
			b.Append(fmt.Sprintf("key %d", v))
		case *array.Int32Builder:
			b.Append(int32(v))
		}
		if v < 0 {
			b.(interface{ SetNull(i int) }).SetNull(b.Len() - 1)
		}
	}
	return b.NewArray()
}

// Would catch a dictionary's entry that is taken for another one's, NULLs and values beyond the promised range that
// are found, a dictionary that is taken for the one of the batch before, and slices of arrays: rows of keys, plain, as
// dictionaries smaller and larger than a batch, are selected as by a map of the kept keys. Devices test one key alone.
func TestKeyFilter(t *testing.T) {
	for seed := range uint64(invariants.Fewer(96, 8)) {
		rng := rand.New(rand.NewPCG(seed, 7))
		dt := []arrow.DataType{arrow.PrimitiveTypes.Int64, arrow.BinaryTypes.String}[seed%2]
		keys := 1 + int(seed/2%2)
		nullsEqual := seed/4%2 == 1
		distinct := []int{3, 300, 90_000}[rng.IntN(3)]
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			eng := openChecked(t, engine.Options{Threads: 1, Device: "cpu"})
			filter, kept, release := keyFilter(t, eng, rng, dt, keys, distinct, nullsEqual)
			defer release()
			if _, err := filter.Code(&rowcode.Builder{}, make([]rowcode.Value, keys)); keys > 1 && err == nil {
				t.Error("a device looks for the first of two keys")
			}
			for range 6 {
				batch, rows := dictionaryBatch(rng, dt, keys, distinct)
				bits := make([]byte, len(rows)/8+1)
				n, err := filter.Select(context.Background(), batch, bits)
				batch.Release()
				if err != nil {
					t.Fatal(err)
				}
				for i, row := range rows {
					want := kept[row] && (nullsEqual || row[0] >= 0 && row[1] >= 0)
					if bitutil.BitIsSet(bits, i) && !want && dt.ID() == arrow.INT64 && keys > 1 && hasValues(kept, row) {
						continue // each of its keys is some row's
					}
					if bitutil.BitIsSet(bits, i) != want {
						t.Fatalf("row %d, keys %v: selected %v, want %v", i, row, !want, want)
					}
				}
				if n != bitutil.CountSetBits(bits, 0, len(rows)) {
					t.Errorf("%d rows selected, said %d", bitutil.CountSetBits(bits, 0, len(rows)), n)
				}
			}
		})
	}
}

// hasValues says whether one of the keys is the key of some kept row, at the same place.
func hasValues(kept map[[2]int]bool, row [2]int) bool {
	for k := range kept {
		if k[0] == row[0] || k[1] == row[1] {
			return true
		}
	}
	return false
}

// keyFilter returns the filter of a build side of random keys, and its keys; the second one is 0 where there is one.
func keyFilter(
	t *testing.T, eng *engine.Engine, rng *rand.Rand, dt arrow.DataType, keys, distinct int, nullsEqual bool,
) (filter *engine.KeyFilter, kept map[[2]int]bool, release func()) {
	columns, places := make([][]int, keys), []int{}
	fields, stats := make([]arrow.Field, keys), make([]scan.ColumnStats, keys)
	hasNulls, hasRange := rng.IntN(2) == 0, rng.IntN(4) > 0
	kept = map[[2]int]bool{}
	for range 1 + rng.IntN(distinct+40) { // of few keys each has all values
		var row [2]int
		for k := range keys {
			if row[k] = rng.IntN(distinct); hasNulls && rng.IntN(9) == 0 {
				row[k] = -1
			}
			columns[k] = append(columns[k], row[k])
		}
		kept[row] = true
	}
	var q query.Query
	arrays := make([]arrow.Array, keys)
	for k := range keys {
		places = append(places, k)
		fields[k] = arrow.Field{Name: fmt.Sprint("k", k), Type: dt, Nullable: true}
		q.Keys = append(q.Keys, query.Key{Column: fields[k].Name})
		stats[k] = scan.ColumnStats{NoNulls: !hasNulls}
		if dt.ID() == arrow.INT64 && hasRange {
			stats[k].HasRange, stats[k].Max = true, int64(distinct)
		}
		arrays[k] = keyArray(dt, columns[k])
		defer arrays[k].Release()
	}
	schema := arrow.NewSchema(fields, nil)
	bound, err := rowdata.Bind(q, schema, stats)
	if err != nil {
		t.Fatal(err)
	}
	batch := array.NewRecordBatch(schema, arrays, int64(len(columns[0])))
	defer batch.Release()
	side, err := eng.Statement(t.Context()).Hash(t.Context(), scan.Batches(schema, []arrow.RecordBatch{batch}), engine.HashedOptions{
		RowsOptions: engine.RowsOptions{
			Columns: places, Schema: schema, NewMap: func() engine.RowMap { return &sameRows{} },
		},
		Keys: bound, NullsEqual: slices.Repeat([]bool{nullsEqual}, keys), Asks: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	release = func() {
		if err := side.Release(); err != nil {
			t.Error(err)
		}
	}
	_, filter, ok := side.All().Predicate(places)
	if !ok {
		release()
		t.Skip("the build side is too large to ask")
	}
	return filter, kept, release
}

// dictionaryBatch returns a batch of keys, half of them of no build side, and its rows.
func dictionaryBatch(rng *rand.Rand, dt arrow.DataType, keys, distinct int) (batch arrow.RecordBatch, rows [][2]int) {
	rows = make([][2]int, 1+rng.IntN(2000))
	from := rng.IntN(3)
	arrays, fields := make([]arrow.Array, keys), make([]arrow.Field, keys)
	for k := range keys {
		entries := make([]int, 1+rng.IntN(2*len(rows)))
		for i := range entries {
			entries[i] = rng.IntN(2 * distinct)
		}
		codes, values := make([]int, from+len(rows)), make([]int, from+len(rows))
		for i := range codes {
			codes[i] = rng.IntN(len(entries))
			if values[i] = entries[codes[i]]; rng.IntN(9) == 0 {
				codes[i], values[i] = -1, -1
			}
		}
		whole := keyArray(dt, values)
		if rng.IntN(4) > 0 {
			of := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: dt}
			dictionary, indexes := keyArray(dt, entries), keyArray(of.IndexType, codes)
			whole.Release()
			whole = array.NewDictionaryArray(of, indexes, dictionary)
			dictionary.Release()
			indexes.Release()
		}
		arrays[k] = array.NewSlice(whole, int64(from), int64(len(values)))
		whole.Release()
		fields[k] = arrow.Field{Name: fmt.Sprint("k", k), Type: arrays[k].DataType(), Nullable: true}
		for i, v := range values[from:] {
			rows[i][k] = v
		}
	}
	batch = array.NewRecordBatch(arrow.NewSchema(fields, nil), arrays, int64(len(rows)))
	for _, a := range arrays {
		a.Release()
	}
	return batch, rows
}
