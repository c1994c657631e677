package plan

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/mpga/mpga/engine/scan"
	"github.com/mpga/mpga/internal/grouptest"
	"github.com/mpga/mpga/internal/recordreader"
)

// Would catch a query that runs once for each of its readers, a batch that two readers get or none,
// and a reader that is opened after the end and runs the query again.
func TestSharedReaders(t *testing.T) {
	const readers, batches = 4, 100
	schema := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}}, nil)
	var runs, freed atomic.Int32
	source := &streamed{name: "numbers", schema: schema, readers: readers}
	source.run = func(context.Context) (array.RecordReader, error) {
		runs.Add(1)
		made := 0
		return recordreader.New(schema, func() (arrow.RecordBatch, error) {
			if made == batches {
				return nil, nil
			}
			made++
			return grouptest.Batch(schema, grouptest.Array(arrow.PrimitiveTypes.Int64, []any{int64(1) << (made % 50)})), nil
		}, func() { freed.Add(1) }), nil
	}
	splits, err := source.Splits(t.Context(), []int{0})
	if err != nil || len(splits) != readers {
		t.Fatalf("%d splits for %d readers, error %v", len(splits), readers, err)
	}
	var sum, want, rows atomic.Int64
	for i := range batches {
		want.Add(1 << ((i + 1) % 50))
	}
	read := func(split scan.Split) {
		reader, err := split.Open(t.Context(), scan.OpenOptions{})
		if err != nil {
			t.Error(err)
			return
		}
		defer reader.Release()
		for reader.Next() {
			rows.Add(1)
			sum.Add(reader.RecordBatch().Column(0).(*array.Int64).Value(0))
		}
		if err := reader.Err(); err != nil {
			t.Error(err)
		}
	}
	var wg sync.WaitGroup
	for _, split := range splits[1:] {
		wg.Go(func() { read(split) })
	}
	wg.Wait()
	read(splits[0])
	if runs.Load() != 1 || freed.Load() != 1 {
		t.Errorf("the query ran %d times, its result was released %d times", runs.Load(), freed.Load())
	}
	if rows.Load() != batches || sum.Load() != want.Load() {
		t.Errorf("%d batches with the sum %d, want %d with %d", rows.Load(), sum.Load(), batches, want.Load())
	}
}
