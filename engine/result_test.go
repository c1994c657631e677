package engine_test

import (
	"context"
	"errors"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/mpga/mpga/engine"
	"github.com/mpga/mpga/internal/testknobs"
)

// allOf reads a result by a range loop, and checks that an error comes last and without a batch.
func allOf(t *testing.T, result *engine.Result, each func(arrow.RecordBatch)) (rows int64, err error) {
	t.Helper()
	for batch, failed := range result.All() {
		if err != nil {
			t.Fatalf("a step after the error %v", err)
		}
		if err = failed; err != nil {
			if batch != nil {
				t.Errorf("a batch with the error %v", err)
			}
			continue
		}
		for i := range int(batch.NumRows()) {
			rows += batch.Column(1).(*array.Int64).Value(i)
		}
		each(batch)
	}
	return rows, err
}

// Would catch a loop that loses batches where another one broke off, that gives a retained batch's
// memory away, or that keeps memory of the result.
func TestAllBreaks(t *testing.T) {
	for breakAt := range 8 {
		eng := openChecked(t, testknobs.With(engine.Options{Threads: 3}, scatterKnobs))
		result := mustAggregate(t, eng, &madeSource{splits: 3, batches: 2, rows: 300, groups: 100}, madeQuery)
		var rows int64
		var kept arrow.RecordBatch
		step := 0
		for batch, err := range result.All() {
			if err != nil {
				t.Fatal(err)
			}
			for i := range int(batch.NumRows()) {
				rows += batch.Column(1).(*array.Int64).Value(i)
			}
			if kept == nil {
				batch.Retain()
				kept = batch
			}
			if step++; step > breakAt {
				break
			}
		}
		if breakAt%2 == 0 {
			rest, err := allOf(t, result, func(arrow.RecordBatch) {})
			if rows += rest; err != nil || rows != 1800 {
				t.Errorf("%d rows with those after the break, %v; want 1800", rows, err)
			}
		}
		result.Release()
		if got := kept.Column(1).(*array.Int64).Value(0); got != 18 {
			t.Errorf("a batch that was retained counts %d, want 18", got)
		}
		kept.Release()
	}
}

// Would catch an error that a loop over a result does not see, sees twice, or takes for the end.
func TestAllErrors(t *testing.T) {
	errSource := errors.New("the disk is on fire")
	eng := openChecked(t, testknobs.With(engine.Options{Threads: 2}, scatterKnobs))
	src := &madeSource{splits: 2, batches: 3, rows: 100, groups: 10}
	src.hook = func(_ context.Context, split, batch int, _ memory.Allocator) (arrow.RecordBatch, error) {
		if split == 1 && batch == 1 {
			return nil, errSource
		}
		return nil, nil
	}
	result := mustAggregate(t, eng, src, madeQuery)
	if _, err := allOf(t, result, func(arrow.RecordBatch) {}); !errors.Is(err, errSource) {
		t.Errorf("of a source that fails: %v", err)
	}
	result.Release()

	gone := errors.New("the user is gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	result, err := eng.Aggregate(ctx, &madeSource{splits: 3, batches: 6, rows: 200, groups: 300}, madeQuery)
	if err != nil {
		t.Fatal(err)
	}
	defer result.Release()
	batches := 0
	if _, err := allOf(t, result, func(arrow.RecordBatch) {
		if batches++; batches == 2 {
			cancel(gone)
		}
	}); !errors.Is(err, gone) || batches < 2 {
		t.Errorf("cancelled at the second of %d batches: %v", batches, err)
	}
}
