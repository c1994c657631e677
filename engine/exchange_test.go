package engine_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/engine/partial"
	"github.com/mpga/mpga/engine/query"
	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/recordreader"
)

// scattered returns the blobs of rows of a number and a text. Every seventh number is NULL.
func scattered(t *testing.T, eng *engine.Engine, number arrow.DataType, rows, partitions int) (*arrow.Schema, []partial.RowBlob) {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true}, {Name: "k", Type: number, Nullable: true},
	}, nil)
	var batches []arrow.RecordBatch
	for from := 0; from < rows; from += 100 {
		b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
		for i := from; i < min(from+100, rows); i++ {
			b.Field(0).(*array.StringBuilder).Append(fmt.Sprint("row ", i))
			text := fmt.Sprint(i)
			if i%7 == 0 {
				text = "(null)"
			}
			if err := b.Field(1).AppendValueFromString(text); err != nil {
				t.Fatal(err)
			}
		}
		batches = append(batches, b.NewRecordBatch())
		b.Release()
	}
	written := &memoryBlobs{source: number.String()}
	stats, err := eng.Statement(t.Context()).Scatter(t.Context(), scan.Batches(schema, batches), engine.ScatterOptions{
		RowsOptions: engine.RowsOptions{Columns: []int{0, 1}, Schema: schema, NewMap: func() engine.RowMap { return new(sameRows) }},
		Keys:        []int{1}, Options: partial.Options{Partitions: partitions, Run: number.String(), Create: written.create},
	})
	if err != nil || stats.RowsRead != int64(rows) {
		t.Fatalf("%d rows, %v", stats.RowsRead, err)
	}
	var blobs []partial.RowBlob
	for i, b := range written.list {
		blobs = append(blobs, partial.RowBlob{Blob: b, Run: number.String(), Partition: i, Partitions: partitions})
	}
	return schema, blobs
}

// received returns the rows of blobs as text.
func received(t *testing.T, eng *engine.Engine, schema *arrow.Schema, blobs []partial.RowBlob) (rows []string, err error) {
	t.Helper()
	splits, err := eng.Statement(t.Context()).Exchanged(schema, blobs).Splits(t.Context(), []int{1, 0})
	if err != nil {
		t.Fatal(err)
	}
	for _, split := range splits {
		reader, err := split.Open(t.Context(), scan.OpenOptions{})
		if err != nil {
			return nil, err
		}
		defer reader.Release()
		for {
			batch, err := recordreader.Next(reader)
			if err != nil {
				return nil, err
			}
			if batch == nil {
				break
			}
			for i := range int(batch.NumRows()) {
				rows = append(rows, batch.Column(0).ValueStr(i)+" "+batch.Column(1).ValueStr(i))
			}
		}
	}
	return rows, nil
}

// Would catch rows that are lost or come twice, equal keys of integers of other widths, or of NULL, that go to other
// partitions, and columns in another order than they are asked for.
func TestScatter(t *testing.T) {
	eng, err := engine.Open(engine.Options{Threads: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	const rows, partitions = 3000, 8
	var want []string
	for i := range rows {
		key := fmt.Sprint(i)
		if i%7 == 0 {
			key = "(null)"
		}
		want = append(want, fmt.Sprintf("%s row %d", key, i))
	}
	slices.Sort(want)
	var first [][]string // by partition
	for _, number := range []arrow.DataType{arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Int16, arrow.PrimitiveTypes.Uint32} {
		schema, blobs := scattered(t, eng, number, rows, partitions)
		var all []string
		for i := range blobs {
			got, err := received(t, eng, schema, blobs[i:i+1])
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(got)
			all = append(all, got...)
			if len(got) < rows/partitions/2 {
				t.Errorf("%s: partition %d has %d of %d rows", number, i, len(got), rows)
			}
			if len(first) == i {
				first = append(first, got)
			} else if !slices.Equal(got, first[i]) {
				t.Errorf("%s: partition %d has other keys than %s has there", number, i, arrow.PrimitiveTypes.Int64)
			}
		}
		slices.Sort(all)
		if !slices.Equal(all, want) {
			t.Errorf("%s: %d rows, want %d", number, len(all), len(want))
		}
	}
}

// Would catch blobs of states, of other partitions, runs or columns that are read as rows, and rows as states.
func TestExchangedRefused(t *testing.T) {
	eng, err := engine.Open(engine.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer eng.Close()
	schema, blobs := scattered(t, eng, arrow.PrimitiveTypes.Int64, 100, 2)
	other, _ := scattered(t, eng, arrow.PrimitiveTypes.Int32, 1, 1)
	states, err := partialOf(eng, "states", eng.Statement(t.Context()).Exchanged(schema, blobs), query.Query{Keys: []query.Key{{Column: "k"}}}, 2)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		schema *arrow.Schema
		change func(b *partial.RowBlob)
		want   string
	}{
		"another run":         {schema, func(b *partial.RowBlob) { b.Run = "x" }, "the rows are of the run int64, where x is asked for"},
		"another partition":   {schema, func(b *partial.RowBlob) { b.Partition = 1 }, "partition 0 of 2, where 1 of 2 is asked for"},
		"other partitions":    {schema, func(b *partial.RowBlob) { b.Partitions = 4 }, "partition 0 of 2, where 0 of 4 is asked for"},
		"states":              {schema, func(b *partial.RowBlob) { b.Blob = states[0] }, "unknown field"},
		"rows of other types": {other, func(*partial.RowBlob) {}, "rows of the columns"},
	} {
		b := blobs[0]
		c.change(&b)
		_, err := received(t, eng, c.schema, []partial.RowBlob{b})
		var of *partial.BlobError
		if !errors.As(err, &of) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	_, err = eng.Merge(t.Context(), [][]partial.Blob{{blobs[0].Blob, blobs[1].Blob}}, partial.MergeOptions{})
	if err == nil || !strings.Contains(err.Error(), "unknown field") {
		t.Errorf("rows merged as states: %v", err)
	}
}
