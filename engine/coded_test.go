package engine_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/engine/scan/dataset"
	"github.com/mpga/mpga/internal/grouptest"
)

// Would catch keys that name other strings once they are dictionary arrays, NULLs that become the
// first string, and an array whose memory is not given back: of every case.
func TestCodedCases(t *testing.T) {
	part := newSeed(t) % 4 // so that many short tests take every case
	for i, c := range grouptest.Cases() {
		if testing.Short() && uint64(i)%4 != part {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			want, wantErr := grouptest.Oracle(c.Schema, c.Batches(), c.Query)
			eng := openChecked(t, engine.Options{Threads: 2, Device: "cpu"})
			result, err := eng.Statement(context.Background()).Groups(context.Background(), scan.Batches(c.Schema, c.Batches()), c.Query, engine.GroupsOptions{Coded: true})
			if err != nil {
				if wantErr == nil {
					t.Fatal(err)
				}
				return
			}
			defer result.Release()
			got, err := grouptest.ReadAll(result, len(c.Query.Keys))
			switch {
			case (err != nil) != (wantErr != nil):
				t.Fatalf("error %v, want %v", err, wantErr)
			case err != nil:
				return
			}
			fields := got.Schema.Fields()
			for i, f := range fields {
				if d, ok := f.Type.(*arrow.DictionaryType); ok {
					fields[i].Type = d.ValueType
				}
			}
			got.Schema = arrow.NewSchema(fields, nil)
			if err := grouptest.Equal(want, got); err != nil {
				t.Error(err)
			}
		})
	}
}

// Would catch batches with a dictionary each, which whoever groups them again would read anew.
func TestCodedDictionary(t *testing.T) {
	dict := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}
	schema := arrow.NewSchema([]arrow.Field{{Name: "s", Type: dict, Nullable: true}, {Name: "n", Type: arrow.PrimitiveTypes.Int64}}, nil)
	var texts, numbers []any
	for i := range 200_000 {
		texts, numbers = append(texts, []any{nil, "one", "a string of more than twelve bytes", ""}[i%4]), append(numbers, int64(i))
	}
	batch := grouptest.Batch(schema, grouptest.Array(dict, texts), grouptest.Array(arrow.PrimitiveTypes.Int64, numbers))
	eng := openChecked(t, engine.Options{Threads: 2, Device: "cpu"})
	q := query.Query{Keys: []query.Key{{Column: "s"}, {Column: "n"}}}
	result, err := eng.Statement(t.Context()).Groups(t.Context(), scan.Batches(schema, []arrow.RecordBatch{batch}), q, engine.GroupsOptions{Coded: true})
	if err != nil {
		t.Fatal(err)
	}
	defer result.Release()
	var first arrow.ArrayData
	batches := 0
	for result.Next() {
		batches++
		column := result.RecordBatch().Column(0).(*array.Dictionary)
		if first == nil {
			first = column.Dictionary().Data()
		}
		if column.Dictionary().Data() != first || column.Dictionary().Len() != 3 {
			t.Fatalf("batch %d has a dictionary of %d strings, of its own", batches, column.Dictionary().Len())
		}
	}
	if err := result.Err(); err != nil || batches < 2 {
		t.Errorf("%d batches, error %v", batches, err)
	}
}

// Would catch a key that is only counted and whose NULLs are lost, a key of another name that is
// counted, too, and groups that differ from the groups with values.
func TestCodedCounted(t *testing.T) {
	dict := &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "s", Type: dict, Nullable: true}, {Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	}, nil)
	texts, numbers := []any{"a", nil, "b", "b", "a", nil}, []any{int64(1), int64(2), nil, int64(4), nil, nil}
	batch := grouptest.Batch(schema, grouptest.Array(dict, texts), grouptest.Array(arrow.PrimitiveTypes.Int64, numbers))
	eng := openChecked(t, engine.Options{Threads: 2, Device: "cpu"})
	for _, counted := range []string{"s", "other"} {
		q := query.Query{Keys: []query.Key{{Column: "s"}, {Column: "n", Name: "other"}}}
		result, err := eng.Statement(t.Context()).Groups(t.Context(), scan.Batches(schema, []arrow.RecordBatch{batch}), q, engine.GroupsOptions{Coded: true, Counted: []string{counted}})
		if err != nil {
			t.Fatal(err)
		}
		rows, nulls := 0, 0
		for result.Next() {
			for i, column := range result.RecordBatch().Columns() {
				is := result.Schema().Field(i).Name == counted
				if _, ok := column.(*array.Boolean); ok != is {
					t.Errorf("%s is counted, column %d is %s", counted, i, column.DataType())
				}
				if is {
					rows, nulls = rows+column.Len(), nulls+column.NullN()
				}
			}
		}
		if err := result.Err(); err != nil {
			t.Fatal(err)
		}
		result.Release()
		if want := map[string]int{"s": 2, "other": 3}[counted]; rows != 6 || nulls != want {
			t.Errorf("%s: %d groups and %d NULLs, want 6 and %d", counted, rows, nulls, want)
		}
	}
}

// Would catch keys of which a device that decodes their pages tells other values, or whether they are NULL, than the
// CPU: as they are, and only counted.
func TestCodedDecoded(t *testing.T) {
	seed := newSeed(t)
	decoded, counting := 0, 0
	queries := 150
	if testing.Short() {
		queries = 50
	}
	for i := range queries {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		schema, batches := grouptest.RandomTable(rng, 1+rng.IntN(3000), pagedTypes...)
		q, counted := query.Query{Aggregates: []query.Aggregate{{Func: query.CountStar, Name: "n"}}}, []string(nil)
		for k := range 1 + rng.IntN(3) {
			key := query.Key{Column: schema.Field(rng.IntN(schema.NumFields())).Name, Name: fmt.Sprint("k", k)}
			q.Keys = append(q.Keys, key)
			if rng.IntN(2) == 0 {
				counted = append(counted, key.Name)
			}
		}
		path := writeRandomPages(t, rng, schema, batches, 1000)
		answer := func(eng *engine.Engine) (rows []string, stats engine.Stats) {
			src, err := dataset.Open(t.Context(), []string{path}, dataset.Options{})
			if err != nil {
				t.Fatal(err)
			}
			result, err := eng.Statement(t.Context()).Groups(t.Context(), src, q, engine.GroupsOptions{Coded: true, Counted: counted})
			if err != nil {
				t.Fatal(err)
			}
			defer result.Release()
			got, err := grouptest.ReadAll(result, len(q.Keys))
			if err != nil {
				t.Fatalf("query %d, %v, of which %v are counted, of %v: %v", i, q.Keys, counted, schema, err)
			}
			for _, row := range got.Cells {
				rows = append(rows, fmt.Sprint(row))
			}
			slices.Sort(rows)
			return rows, result.Stats()
		}
		want, _ := answer(openChecked(t, engine.Options{Threads: 2, Device: "cpu"}))
		got, stats := answer(hostDecoder(t, rng))
		if !slices.Equal(want, got) {
			t.Fatalf("query %d, %v, of which %v are counted, of %v, %+v: %v, want %v", i, q.Keys, counted, schema, stats.Device, got, want)
		}
		if stats.Device.Decoded > 0 {
			decoded++
			counting += min(len(counted), 1)
		}
	}
	if t.Logf("%d queries were decoded, %d with keys that are counted", decoded, counting); decoded == 0 || counting == 0 {
		t.Errorf("%d queries were decoded, %d with keys that are counted", decoded, counting)
	}
}
